"""The names a notebook uses, and that asking for them loads no more than they need."""

from __future__ import annotations

import pytest

import gpulab


@pytest.mark.parametrize("name", gpulab.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert hasattr(gpulab, name)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = gpulab.nonsense


def test_dir_lists_the_public_names() -> None:
    assert set(gpulab.__all__) <= set(dir(gpulab))
