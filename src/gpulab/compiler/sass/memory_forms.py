"""Shared-memory accesses of PTX as the machine code performs them: merged, or unchanged.

The assembler merges loads (and stores) of adjacent words into one access of 8 or 16 bytes. The merged
instruction refers to the PTX line of one of them; the lines of the others do not occur in the machine code.
The simulator executes PTX, so it needs the merged form to count wavefronts as the machine does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from gpulab.compiler.sass.sass_code import MachineCode

__all__ = ["SharedForm", "shared_forms"]

_ACCESS = re.compile(
    r"\s*(?:@!?%\w+\s+)?(ld|st)\.(?:volatile\.|relaxed\.\w+\.|weak\.)?shared\.(?:v([24])\.)?[a-z]+(\d+)\s"
)
_ADDRESS = re.compile(r"\[\s*([%$\w.]+)\s*(?:\+\s*(-?\d+))?\s*\]")


@dataclass(frozen=True)
class SharedForm:
    """A shared-memory access as the machine code performs it.

    Attributes
    ----------
    row : int
        The line of PTX at which it is counted.
    width : int
        Bytes per lane.
    shift : int
        Bytes from the address of the PTX line to the first byte of the access.
    """

    row: int
    width: int
    shift: int = 0


@dataclass(frozen=True)
class _SharedAccess:
    row: int
    address: tuple[str, str]  # "ld" or "st", and the register or variable that holds the address
    offset: int  # in bytes
    width: int  # in bytes per lane


def shared_forms(code: MachineCode, ptx: str) -> Mapping[int, tuple[SharedForm, ...]]:
    """Return, by line of PTX, the forms in which the machine code performs its shared-memory access.

    A line that was merged into the wide access of another line has no form. A line that the assembler copied,
    in an unrolled loop, can have several. A line without an instruction has its own form, because the
    instruction that merges accesses of several basic blocks can have another line.
    """
    accesses = _shared_accesses(ptx)
    widths = defaultdict(set)
    for instruction in code.instructions:
        if instruction.op in ("LDS", "STS") and instruction.ptx_line in accesses:
            widths[instruction.ptx_line].add(instruction.width)

    forms: dict[int, tuple[SharedForm, ...]] = {}
    covered: dict[tuple[tuple[str, str], int], set[int]] = defaultdict(set)
    for row, access in accesses.items():
        related = [
            other
            for other in accesses.values()
            if other.address == access.address and other.width == access.width
        ]
        offsets = {other.offset for other in related}
        merged = {other.offset for other in related if other.row not in widths}
        starts = {
            width: _first_offset(access, width, offsets, merged) for width in sorted(widths.get(row, ()))
        }
        forms[row] = tuple(SharedForm(row, width, start - access.offset) for width, start in starts.items())
        for width, start in starts.items():
            if width > access.width:
                covered[access.address, access.width].update(range(start, start + width, access.width))

    for row, access in accesses.items():
        if row not in widths and access.offset not in covered[access.address, access.width]:
            forms[row] = (SharedForm(row, access.width),)
    return forms


def _first_offset(access: _SharedAccess, width: int, offsets: set[int], merged: set[int]) -> int:
    """Return the offset at which a merged access of `width` bytes starts that includes `access`.

    It is the possible offset whose access covers most of the accesses at `offsets`, then most of those that
    have no machine instruction of their own (`merged`).
    """
    size = access.width

    def coverage(start: int) -> tuple[int, int, bool]:
        covered = set(range(start, start + width, size))
        return len(covered & offsets), len(covered & merged), start == access.offset

    if width <= size:
        return access.offset
    return max(range(access.offset - width + size, access.offset + 1, size), key=coverage)


def _shared_accesses(ptx: str) -> dict[int, _SharedAccess]:
    accesses = {}
    for row, line in enumerate(ptx.split("\n"), 1):
        if (match := _ACCESS.match(line)) and (address := _ADDRESS.search(line)):
            width = int(match[3]) // 8 * int(match[2] or 1)
            accesses[row] = _SharedAccess(row, (match[1], address[1]), int(address[2] or 0), width)
    return accesses
