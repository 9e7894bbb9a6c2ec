"""Formatting of a kernel's `printf` on the host, from the arguments that the device packed."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

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
    packed = _PackedArguments(arguments)
    return _SPEC.sub(lambda match: _convert(match, packed, string_at), text)


class _PackedArguments:
    """The arguments of one `printf`, which are read one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offset = 0

    def read(self, kind: str) -> Any:
        """Return the next argument; 0 if there is none. kind: a format character of `struct`."""
        size = struct.calcsize(f"<{kind}")
        begin = -(-self._offset // size) * size
        self._offset = begin
        if begin + size > len(self._data):
            return 0
        self._offset += size
        return struct.unpack_from(f"<{kind}", self._data, begin)[0]


def _convert(match: re.Match[str], arguments: _PackedArguments, string_at: Callable[[int], str]) -> str:
    """Return the text of one conversion specification, such as `%-8.3f`."""
    flags, width, precision, length, kind = match.groups()
    if kind == "%":
        return "%"

    if width == "*":
        width = str(arguments.read("i"))
        if width.startswith("-"):
            flags, width = flags + "-", width[1:]
    dotted = _HAS_POINT.search(match[0]) is not None
    if precision == "*":
        precision = str(arguments.read("i"))
        dotted = not precision.startswith("-")  # as if there were none
    width, precision = _limited(width), _limited(precision)
    spec = f"%{flags}{width or ''}{'.' + (precision or '0') if dotted else ''}"

    wide = length in ("l", "ll", "j", "z", "t")
    if kind in "di":
        value = _narrow(arguments.read("q" if wide else "i"), length, True)
        return (spec + "d") % value
    if kind in "ouxX":
        bits = _narrow(arguments.read("Q" if wide else "I"), length, False)
        if kind == "o" and "#" in flags:  # C writes 017 where Python writes 0o17
            return (f"%{flags.replace('#', '')}{width or ''}s") % (f"0{bits:o}" if bits else "0")
        return (spec + kind.replace("u", "d")) % bits
    if kind == "c":
        return (spec + "s") % chr(arguments.read("I") & 0xFF)
    if kind == "s":
        return (spec + "s") % string_at(arguments.read("Q"))
    if kind == "p":
        return (spec + "s") % f"{arguments.read('Q'):#x}"

    number = float(arguments.read("d"))
    if kind in "aA":
        digits = _hexadecimal(number)
        return (f"%{flags}{width or ''}s") % (digits if kind == "a" else digits.upper())
    return (spec + kind) % number


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
