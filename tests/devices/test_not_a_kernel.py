"""A value that is not a kernel, where a function of a launch takes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gpulab

FUNCTIONS = (gpulab.sanitize, gpulab.counters, gpulab.benchmark, gpulab.profile, gpulab.show_counts)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("matmul.K1", r'is not a kernel but its name; take the kernel: gpulab\.kernel\("matmul\.K1"\)'),
        (None, "this is not a kernel but NoneType"),
    ],
)
def test_other_value_is_refused_in_one_sentence(
    function: Callable[..., Any], value: object, message: str
) -> None:
    with pytest.raises(gpulab.UsageError, match=message):
        function(value, 1, 64, ())
