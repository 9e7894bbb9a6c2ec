"""Formatting of a kernel's `printf` on the host, from the arguments that the device packed."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

__all__ = ["format_record"]

_SPEC = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXcfFeEgGaAsp%])")
_HEX_FLOAT = re.compile(r"(-?0x[01])\.(\w+)(p[-+]\d+)")
_HAS_POINT = re.compile(r"\.")
MAX_FIELD = 4095  # characters of a width or precision; C guarantees no more for a conversion (C17, 7.21.6.1)


def format_record(text: str, arguments: bytes, string_at: Callable[[int], str]) -> str:
    """Return the text of one `printf`.

    Parameters
    ----------
    text : str
        The format string.
    arguments : bytes
        Integers of 4 or 8 bytes, doubles and pointers, each aligned to its size.
    string_at : callable
        Returns the C string at a device address, for `%s`.
    """
    at = 0

    def take(kind: str, size: int) -> int | float:
        nonlocal at
        at = -(-at // size) * size
        if at + size > len(arguments):
            return 0
        (value,) = struct.unpack_from("<" + kind, arguments, at)
        at += size
        return value  # type: ignore[no-any-return]

    def convert(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"

        if width == "*":
            width = str(take("i", 4))
            if width.startswith("-"):
                flags, width = flags + "-", width[1:]
        dotted = _HAS_POINT.search(match[0]) is not None
        if precision == "*":
            precision = str(take("i", 4))
            dotted = not precision.startswith("-")  # as if there were none
        width, precision = _limited(width), _limited(precision)
        spec = f"%{flags}{width or ''}{'.' + (precision or '0') if dotted else ''}"

        wide = length in ("l", "ll", "j", "z", "t")
        if kind in "di":
            value = take("q" if wide else "i", 8 if wide else 4)
            value = _narrow(int(value), length, True)
            return (spec + "d") % value
        if kind in "ouxX":
            value = take("Q" if wide else "I", 8 if wide else 4)
            bits = _narrow(int(value), length, False)
            if kind == "o" and "#" in flags:  # C writes 017 where Python writes 0o17
                return (f"%{flags.replace('#', '')}{width or ''}s") % (f"0{bits:o}" if bits else "0")
            return (spec + kind.replace("u", "d")) % bits
        if kind == "c":
            return (spec + "s") % chr(int(take("I", 4)) & 0xFF)
        if kind == "s":
            return (spec + "s") % string_at(int(take("Q", 8)))
        if kind == "p":
            return (spec + "s") % f"{int(take('Q', 8)):#x}"

        number = float(take("d", 8))
        if kind in "aA":
            digits = _hexadecimal(number)
            return (f"%{flags}{width or ''}s") % (digits if kind == "a" else digits.upper())
        return (spec + kind) % number

    return _SPEC.sub(convert, text)


def _limited(digits: str | None) -> str | None:
    """Return a width or precision, at most `MAX_FIELD`: the text of a larger one takes gigabytes."""
    return str(min(int(digits), MAX_FIELD)) if digits and digits.isdigit() else digits


def _hexadecimal(number: float) -> str:
    """Return a number as `0x1.8p+1`, with as few digits as needed, like `%a` in C."""
    match = _HEX_FLOAT.fullmatch(number.hex())
    if match is None:
        return str(number)  # inf or nan
    head, fraction, exponent = match.groups()
    fraction = fraction.rstrip("0")
    return f"{head}{'.' * bool(fraction)}{fraction}{exponent}"


def _narrow(value: int, length: str | None, is_signed: bool) -> int:
    """Truncate an integer to the type of a length modifier."""
    bits = {"hh": 8, "h": 16}.get(length or "")
    if bits is None:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if is_signed and value >> (bits - 1) else value
