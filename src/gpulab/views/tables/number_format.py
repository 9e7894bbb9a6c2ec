"""Formats of the figures in tables: times, rates, bytes, extents, and their provenance."""

from __future__ import annotations

from collections.abc import Sequence

from gpulab.provenance import Provenance

__all__ = [
    "MISSING",
    "block_extents",
    "block_name",
    "byte_size",
    "extents",
    "milliseconds",
    "number_of",
    "percentage",
    "provenance_text",
    "rate",
    "ratio",
]

MISSING = "-"  # a figure that is not known


def milliseconds(value: float | None) -> str:
    """Format a time with three significant digits: 0.0123, 3.10, 1,234."""
    if value is None:
        return MISSING
    return f"{value:,.0f}" if value >= 100 else _three_digits(value)


def rate(value: float | None) -> str:
    """Format a rate with three significant digits, or four from 100 on: 0.120, 12.3, 169.1, 1,234."""
    if value is None:
        return MISSING
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else _three_digits(value)


def ratio(value: float) -> str:
    """Format a speed-up or a number of waves with at most two decimals, three digits: 0.38, 62.1, 1,092."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _three_digits(value: float) -> str:
    """Format a number below 100 with three significant digits, zeros at the end included."""
    return f"{value:#.3g}".rstrip(".")


def percentage(fraction: float, digits: int = 0) -> str:
    """Format a fraction, 0 to 1, in percent: 25 %. digits: after the point."""
    return f"{100 * fraction:.{digits}f} %"


def extents(numbers: Sequence[int]) -> str:
    """Format a block, a tile or a size: 32x8x1."""
    return "x".join(map(str, numbers))


def block_extents(block: Sequence[int]) -> str:
    """Format a block; its z extent is left out if it is 1: 32x8, 8x8x4."""
    return extents(block[:2] if tuple(block[2:]) == (1,) else block)


def block_name(block: Sequence[int]) -> str:
    """Format a block of three extents without trailing ones: 32, 16x16, 8x8x4."""
    x, y, z = block
    return extents(block) if z > 1 else extents((x, y)) if y > 1 else str(x)


def byte_size(nbytes: int) -> str:
    """Format bytes in the largest binary unit that fits: 227 KiB, 139.8 GiB."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.4g} {name}"
    return f"{nbytes} bytes"


def number_of(count: int, noun: str) -> str:
    """Format a count with its noun: 1 lane, 32 lanes."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def provenance_text(provenance: Provenance) -> str:
    """Format a provenance; the simulator's own run time is marked as no indication of a GPU's."""
    caveat = " (unrelated to the time on a GPU)" if provenance.kind == "simulator wall time" else ""
    return f"{provenance}{caveat}"
