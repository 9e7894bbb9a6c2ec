"""Numbers that stand apart from a kernel's code, so that kernels which differ in nothing else share it.

Blocks of other sizes make other kernels of a text: strides, tiles and offsets are compiled into it. Most
of these numbers need not be known when code is made: it reads them from a table, which is filled in for
each kernel. Those that decide what code is made stay in it, and are part of what it is made for: a stride by
which the lanes of a row differ (`shapes`), and all that stand where `operands` did not set them apart.
The block's sizes are in the table, too: code is made for blocks of one `kind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.basic_blocks import ControlFlow
from gpulab.simt.analysis.divergence import WARP, DivergenceAnalysis, analyse, divergent_uses, row_width
from gpulab.simt.ptx.inlining import FlatFunction
from gpulab.simt.ptx.syntax import HoistedConstant, Imm, Instruction, Mem, Module, Operand, Vec

__all__ = ["READ_BY_RUNTIME", "SYMBOL", "ConstantTable", "LaunchConstants", "block_class", "hoist_constants"]

SYMBOL = "numbers"  # the table's name in the code
READ_BY_RUNTIME = {"warp_count": "i32", "last_lanes": "i32", "shared_bytes": "i64"}  # runtime.ll does, too
Entry = tuple[str | int, ...]


class ConstantTable:
    """Which number stands where, while code is made. An entry is what `LaunchConstants.number` is asked.

    kept: the places of the text's numbers that stay in the code.
    """

    def __init__(self) -> None:
        self.kept: list[int] = []
        self.entries: dict[Entry, int] = {(name,): place for place, name in enumerate(READ_BY_RUNTIME)}

    def address(self, *entry: str | int) -> str:
        """Where the code finds an entry, as an address in LLVM IR."""
        at = 8 * self.entries.setdefault(entry, len(self.entries))
        return f"getelementptr (i8, ptr @{SYMBOL}, i64 {at})"

    def definition(self) -> str:
        """The table in LLVM IR; no entry can be added any more."""
        return f"@{SYMBOL} = global [{len(self.entries)} x i64] zeroinitializer\n"


@dataclass(frozen=True)
class LaunchConstants:
    """What code must know of a launch: it stands in the code, or in a table beside it.

    shared: where shared variables lie. shared_bytes: of a block's shared memory; dynamic_bytes: those among
    them that the launch asked for.
    """

    module: Module
    block: tuple[int, int, int]
    shared: dict[str, int]
    shared_bytes: int
    dynamic_bytes: int

    def table(self, entries: Iterable[Entry]) -> npt.NDArray[np.uint64]:
        """(entries,): what stands in a table with these entries."""
        return np.array([self.number(*entry) & ((1 << 64) - 1) for entry in entries], np.uint64)

    def number(self, name: str | int, *of: Any) -> int:
        """One entry: a number of the text, or one of the launch."""
        threads = prod(self.block)
        found: int
        match name:
            case "text":
                found = self.module.constants[of[0]]
            case "power":
                count = self.module.constants[of[0]] & 0xFFFFFFFF  # as `shl` reads it
                found = 1 << count if count < 64 else 0
            case "block":
                found = self.block["xyz".index(of[0])]
            case "warp_count":
                found = -(-threads // WARP)
            case "last_lanes":
                found = (1 << threads % WARP) - 1 if threads % WARP else -1
            case "shared":
                found = self.shared[of[0]]
            case "shared_bytes":
                found = self.shared_bytes
            case "dynamic_bytes":
                found = self.dynamic_bytes
            case "shared_limit":  # how many places an access to shared memory may begin at
                span, shift = of
                found = (max(self.shared_bytes - span, -1) >> shift) + 1
            case _:
                raise KeyError(name)
        return found


def block_class(block: tuple[int, int, int]) -> tuple[Any, ...]:
    """What code must know of a block whose sizes are in its table."""
    return row_width(block), tuple(size == 1 for size in block), prod(block) % WARP == 0


def hoist_constants(
    flat: FlatFunction, flow: ControlFlow, block: tuple[int, int, int], kept: Iterable[int]
) -> tuple[ControlFlow, DivergenceAnalysis, list[int]]:
    """The flow with numbers in place of literals, its analysis, and the places of the literals that stay.

    kept: such as must stay, whether they decide on what code is made or not.
    """
    whole, stay = analyse(flat, flow, block), set(kept)
    while True:
        apart = _without(flow, stay)
        analysis = analyse(flat, apart, block)
        deciding = _literals(divergent_uses(flat, flow, apart, analysis, block)) - stay
        if not deciding and _kinds(analysis) != _kinds(whole):  # a constant decides, through registers
            deciding = _literals(item for one in flow.blocks for item in one.code if item.op == "mov") - stay
        if not deciding:
            return apart, analysis, sorted(_literals(item for one in apart.blocks for item in one.code))
        stay |= deciding


def _kinds(analysis: DivergenceAnalysis) -> dict[str, str]:
    return {name: shape.kind for name, shape in analysis.shapes.items()}


def _without(flow: ControlFlow, kept: set[int]) -> ControlFlow:
    blocks = [replace(block, code=[_apart(item, kept) for item in block.code]) for block in flow.blocks]
    return replace(flow, blocks=blocks)


def _apart(item: Instruction, kept: set[int]) -> Instruction:
    operands = tuple(_number(operand, kept) for operand in item.operands)
    if operands == item.operands:
        return item
    if item.op == "shl" and isinstance(operands[2], HoistedConstant):
        # A product, which keeps rows where a shift by who knows how much cannot.
        power = replace(operands[2], power=True)
        return replace(item, parts=("mul", "lo", f"u{item.parts[-1][1:]}"), operands=(*operands[:2], power))
    return replace(item, operands=operands)


def _number(operand: Operand, kept: set[int]) -> Operand:
    if isinstance(operand, Imm) and operand.constant_index >= 0 and operand.constant_index not in kept:
        return HoistedConstant(operand.constant_index)
    if isinstance(operand, Mem) and operand.constant_index >= 0 and operand.constant_index not in kept:
        return replace(operand, offset=HoistedConstant(operand.constant_index))
    return operand


def _literals(items: Iterable[Instruction]) -> set[int]:
    """The places of numbers that stand in these instructions as literals."""
    return {place for item in items for place in _places(item.operands) if place >= 0}


def _places(operands: Iterable[Operand]) -> Iterator[int]:
    for operand in operands:
        if isinstance(operand, Imm):
            yield operand.constant_index
        elif isinstance(operand, Mem):
            if isinstance(operand.offset, int):
                yield operand.constant_index
            yield from _places((operand.base, *operand.rest))
        elif isinstance(operand, Vec):
            yield from _places(operand.parts)
