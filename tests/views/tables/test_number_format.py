"""Formats of the figures in tables."""

from __future__ import annotations

import pytest

from gpulab.views.tables.number_format import byte_size, milliseconds, rate


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0.1234, "0.123"), (1.5, "1.5"), (12.34, "12.3"), (169.1, "169.1"), (12345.6, "12,346")],
)
def test_rate_has_three_significant_digits(value: float | None, shown: str) -> None:
    assert rate(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.01234, "0.0123"), (3.14159, "3.14"), (99.94, "99.9"), (1234.5, "1,234"), (None, "-")],
)
def test_time_has_three_significant_digits(value: float | None, shown: str) -> None:
    assert milliseconds(value) == shown


@pytest.mark.parametrize(
    ("nbytes", "shown"), [(0, "0 bytes"), (1023, "1023 bytes"), (227 << 10, "227 KiB"), (3 << 29, "1.5 GiB")]
)
def test_byte_size_uses_the_largest_unit_that_fits(nbytes: int, shown: str) -> None:
    assert byte_size(nbytes) == shown
