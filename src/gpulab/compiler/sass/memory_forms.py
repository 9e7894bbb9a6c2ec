"""How the machine makes the memory accesses of a kernel's PTX: which ones it merges, and which it drops.

The assembler joins loads (and stores) of neighbouring words into one of 8 or 16 bytes; PTX names them one by
one. The joined instruction carries the PTX line of one of them, and the lines of the others are nowhere in
the machine code. Before a launch, whoever counts wavefronts asks here as what a PTX access must be counted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from gpulab.compiler.sass.disassembly import MachineCode

__all__ = ["SharedForm", "shared_forms", "unmade_loads"]

_ACCESS = re.compile(
    r"\s*(?:@!?%\w+\s+)?(ld|st)\.(?:volatile\.|relaxed\.\w+\.|weak\.)?shared\.(?:v([24])\.)?[a-z]+(\d+)\s"
)
_GLOBAL_LOAD = re.compile(r"\s*(?:@!?%\w+\s+)?ld\.(?:volatile\.|relaxed\.\w+\.|weak\.)?global\.")
_ADDRESS = re.compile(r"\[\s*([%$\w.]+)\s*(?:\+\s*(-?\d+))?\s*\]")


@dataclass(frozen=True)
class SharedForm:
    """An access as the machine makes it.

    row: the line of PTX it is counted at. width: bytes a lane moves. shift: bytes from the address that the
    PTX line names to the first one of the access.
    """

    row: int
    width: int
    shift: int = 0


@dataclass(frozen=True)
class _Access:
    row: int
    address: tuple[str, str]  # ld or st, and the register or variable with the address
    offset: int
    width: int


def shared_forms(code: MachineCode, ptx: str) -> Mapping[int, tuple[SharedForm, ...]]:
    """By line of PTX: how the machine makes its loads from and stores to shared memory.

    A line that is part of another one's access has no form at all. A line that the assembler copied (in a
    loop that it unrolled) can have several forms.
    """
    accesses = _accesses(ptx)
    made = defaultdict(set)
    for one in code.instructions:
        if one.op in ("LDS", "STS") and one.ptx_line in accesses:
            made[one.ptx_line].add(one.width)
    found: dict[int, tuple[SharedForm, ...]] = {}
    for row, access in accesses.items():
        near = [
            one for one in accesses.values() if one.address == access.address and one.width == access.width
        ]
        alone = {one.offset for one in near if one.row not in made}
        found[row] = tuple(
            SharedForm(row, width, _start(access, width, {one.offset for one in near}, alone) - access.offset)
            for width in sorted(made.get(row, ()))
        )
    return found


def _start(access: _Access, width: int, near: set[int], alone: set[int]) -> int:
    """Where an access of `width` bytes begins that holds this one and as many of the `near` ones as can be.

    alone: those that the machine has no instruction for.
    """
    size = access.width

    def held(start: int) -> tuple[int, int, bool]:
        places = set(range(start, start + width, size))
        return len(places & near), len(places & alone), start == access.offset

    return (
        max(range(access.offset - width + size, access.offset + 1, size), key=held)
        if width > size
        else access.offset
    )


def _accesses(ptx: str) -> dict[int, _Access]:
    found = {}
    for row, line in enumerate(ptx.split("\n"), 1):
        if (match := _ACCESS.match(line)) and (address := _ADDRESS.search(line)):
            width = int(match[3]) // 8 * int(match[2] or 1)
            found[row] = _Access(row, (match[1], address[1]), int(address[2] or 0), width)
    return found


def unmade_loads(code: MachineCode, ptx: str) -> frozenset[int]:
    """Lines of PTX that load from global memory and have no machine instruction.

    The assembler drops a load through the read-only path (`__ldg`) of a value that is in a register already.
    """
    made = {one.ptx_line for one in code.instructions}
    return frozenset(
        row for row, line in enumerate(ptx.split("\n"), 1) if row not in made and _GLOBAL_LOAD.match(line)
    )
