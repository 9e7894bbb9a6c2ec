"""Formats of the figures in tables."""

from __future__ import annotations

import pytest

from gpulab.views.tables.number_format import block_extents, byte_size, milliseconds, rate, ratio


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0.1234, "0.123"), (1.5, "1.50"), (12.34, "12.3"), (169.1, "169.1"), (12345.6, "12,346")],
)
def test_rate_has_three_significant_digits(value: float | None, shown: str) -> None:
    assert rate(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.01234, "0.0123"),
        (3.1, "3.10"),
        (99.94, "99.9"),
        (99.96, "100"),
        (0.0, "0.00"),
        (1234.5, "1,234"),
        (None, "-"),
    ],
)
def test_time_has_three_significant_digits(value: float | None, shown: str) -> None:
    assert milliseconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.384, "0.38"), (1.29, "1.29"), (9.996, "10.0"), (62.06, "62.1"), (1092.27, "1,092")],
)
def test_ratio_has_three_digits(value: float, shown: str) -> None:
    assert ratio(value) == shown


@pytest.mark.parametrize(
    ("nbytes", "shown"), [(0, "0 bytes"), (1023, "1023 bytes"), (227 << 10, "227 KiB"), (3 << 29, "1.5 GiB")]
)
def test_byte_size_uses_the_largest_unit_that_fits(nbytes: int, shown: str) -> None:
    assert byte_size(nbytes) == shown


@pytest.mark.parametrize(
    ("block", "shown"), [((32, 8, 1), "32x8"), ((8, 8, 4), "8x8x4"), ((64, 1, 1), "64x1"), ((16, 4), "16x4")]
)
def test_block_has_a_third_extent_only_if_it_is_not_1(block: tuple[int, ...], shown: str) -> None:
    assert block_extents(block) == shown
