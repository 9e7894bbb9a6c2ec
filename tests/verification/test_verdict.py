"""Results of verification: the values of a wrong element as text."""

from __future__ import annotations

import math

import pytest

from gpulab.verification.verdict import Mismatch


@pytest.mark.parametrize(
    ("expected", "got", "texts"),
    [
        (0.5, 0.25, ("0.5", "0.25")),
        (0.123456789, 0.123456712, ("0.123456789", "0.123456712")),
        (12345678.0, 99999.0, ("12345678", "99999")),
        (0.0, 2142088898.0, ("0", "2142088898")),
        (3.0, math.nan, ("3", "nan")),
        (1e30, 2e30, ("1e+30", "2e+30")),
    ],
)
def test_values_are_shown_with_the_digits_that_tell_them_apart(
    expected: float, got: float, texts: tuple[str, str]
) -> None:
    assert Mismatch((0,), expected, got).texts == texts
