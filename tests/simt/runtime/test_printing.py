"""Formatting of `printf` records."""

from __future__ import annotations

import struct

import pytest

from gpulab.simt.runtime.printing import format_record


def printed(text: str, *values: float) -> str:
    """Format `text` with ints of 4 bytes and doubles, each aligned to its size."""
    packed = b""
    for value in values:
        kind = "d" if isinstance(value, float) else "i"
        packed = packed.ljust(-(-len(packed) // struct.calcsize(kind)) * struct.calcsize(kind), b"\0")
        packed += struct.pack(kind, value)
    return format_record(text, packed, lambda address: f"<{address}>")


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("%a %a %A", (0.5, 3.0, -1.625), "0x1p-1 0x1.8p+1 -0X1.AP+0"),
        ("%a %10a|%-8a|", (0.0, 1.0, float("inf")), "0x0p+0     0x1p+0|inf     |"),
        ("%o %#o %#o %#x", (8, 8, 0, 255), "10 010 0 0xff"),
        ("%d %u %x", (-1, -1, -1), "-1 4294967295 ffffffff"),
        ("%hd %hhd %hhu", (70000, 300, -1), "4464 44 255"),
        ("%5d|%-5d|%05d|%+d|% d", (3, 3, 3, 3, 3), "    3|3    |00003|+3| 3"),
        ("%*d|%-*d|%.*f", (6, 3, 6, 3, 2, 3.14159), "     3|3     |3.14"),
        ("%f %.0f %e %g %G", (1.5, 2.5, 1.5e-7, 1e-7, 1e20), "1.500000 2 1.500000e-07 1e-07 1E+20"),
        ("%.*f|%.*d", (-1, 1.5, -2, 7), "1.500000|7"),
        ("%c%c 100%%", (111, 107), "ok 100%"),
        ("%d and nothing", (), "0 and nothing"),
    ],
)
def test_format_record(text: str, values: tuple[float, ...], expected: str) -> None:
    assert printed(text, *values) == expected


@pytest.mark.parametrize("text", ["%2000000000d", "%-*d", "%.2000000000f", "%.*d", "%99999999999999999999s"])
def test_width_and_precision_are_limited(text: str) -> None:
    values = (2_000_000_000, 1) if "*" in text else (1.0,) if "f" in text else (1,)
    assert len(printed(text, *values)) <= 5000
