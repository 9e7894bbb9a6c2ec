"""Hoist literal constants into a table, so that kernels that differ only in constants share compiled code.

A kernel that is compiled for another block or tile size has other constants: strides, tile sizes and offsets.
Most of them do not affect which code is generated. The code loads these from a table, which is filled in for
each kernel. Constants that do affect it remain literals and are part of the cache key: strides between the
lanes of a row (see `lane_shapes`), and all constants that `ptx.operands` does not offer for hoisting. The
sizes of the block are in the table, too; code is generated for one *class* of blocks (see `block_class`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.simt.analysis.basic_blocks import ControlFlow
from gpulab.simt.analysis.divergence import (
    WARP,
    DivergenceAnalysis,
    analyse,
    divergent_uses,
    row_width,
    rows_agree,
)
from gpulab.simt.ptx.flat_function import FlatFunction
from gpulab.simt.ptx.syntax import HoistedConstant, Imm, Instruction, Mem, Module, Operand, Vec

__all__ = ["READ_BY_RUNTIME", "SYMBOL", "ConstantTable", "LaunchConstants", "block_class", "hoist_constants"]

SYMBOL = "constants"  # name of the table in the code
READ_BY_RUNTIME = {"warp_count": "i32", "last_lanes": "i32", "shared_bytes": "i64"}  # entries of runtime.ll
Entry = tuple[str | int, ...]  # arguments of `LaunchConstants.value`


class ConstantTable:
    """The layout of a kernel's constant table, extended while code is generated.

    Attributes
    ----------
    literals : list of int
        Indices of the module's constants that remain literals in the code.
    entries : dict
        Index of each entry in the table.
    """

    def __init__(self) -> None:
        self.literals: list[int] = []
        self.entries: dict[Entry, int] = {(name,): index for index, name in enumerate(READ_BY_RUNTIME)}

    def address(self, *entry: str | int) -> str:
        """Return the address of an entry as an LLVM IR expression, adding the entry if it is new."""
        at = 8 * self.entries.setdefault(entry, len(self.entries))
        return f"getelementptr (i8, ptr @{SYMBOL}, i64 {at})"

    def definition(self) -> str:
        """Return the definition of the table in LLVM IR; no entry can be added afterwards."""
        return f"@{SYMBOL} = internal global [{len(self.entries)} x i64] zeroinitializer\n"


@dataclass(frozen=True)
class LaunchConstants:
    """Constants from a kernel's text and from its launch that generated code uses.

    Attributes
    ----------
    module : Module
        The PTX module, for its constants.
    block : tuple of int
        Block size.
    shared : dict of str to int
        Offset of each shared variable.
    shared_bytes : int
        Shared memory of a block.
    dynamic_bytes : int
        The part of `shared_bytes` that the launch requested.
    """

    module: Module
    block: tuple[int, int, int]
    shared: dict[str, int]
    shared_bytes: int
    dynamic_bytes: int

    def table(self, entries: Iterable[Entry]) -> npt.NDArray[np.uint64]:
        """Return the contents of a table with these entries."""
        return np.array([self.value(*entry) & ((1 << 64) - 1) for entry in entries], np.uint64)

    def value(self, name: str | int, *arguments: Any) -> int:
        """Return one entry.

        =================  ==================  ===========================================================
        name               arguments           value
        =================  ==================  ===========================================================
        "text"             index               a constant of the module
        "power"            index               2 to the power of a constant, 0 from 64 on
        "block"            axis                size of the block along an axis
        "warp_count"                           warps of a block
        "last_lanes"                           mask of the threads of the last warp
        "shared"           variable            offset of a shared variable
        "shared_bytes"                         shared memory of a block in bytes
        "dynamic_bytes"                        shared memory that the launch requested
        "shared_limit"     span, shift         number of places, in units of 1 << shift bytes, where an
                                               access of `span` bytes to shared memory can begin
        =================  ==================  ===========================================================
        """
        threads = prod(self.block)
        value: int
        match name:
            case "text":
                value = self.module.constants[arguments[0]]
            case "power":
                count = self.module.constants[arguments[0]] & 0xFFFFFFFF  # `shl` reads 32 bits
                value = 1 << count if count < 64 else 0
            case "block":
                value = self.block["xyz".index(arguments[0])]
            case "warp_count":
                value = -(-threads // WARP)
            case "last_lanes":
                value = (1 << threads % WARP) - 1 if threads % WARP else -1
            case "shared":
                value = self.shared[arguments[0]]
            case "shared_bytes":
                value = self.shared_bytes
            case "dynamic_bytes":
                value = self.dynamic_bytes
            case "shared_limit":
                span, shift = arguments
                value = (max(self.shared_bytes - span, -1) >> shift) + 1
            case _:
                raise KeyError(name)
        return value


def block_class(block: tuple[int, int, int]) -> tuple[Any, ...]:
    """Return the properties of a block that its code depends on if the sizes are in the table."""
    flat = tuple(size == 1 for size in block)
    return row_width(block), rows_agree(block), flat, prod(block) % WARP == 0


def hoist_constants(
    flat: FlatFunction, flow: ControlFlow, block: tuple[int, int, int], literals: Iterable[int]
) -> tuple[ControlFlow, DivergenceAnalysis, list[int]]:
    """Replace literals by entries of the constant table if that changes no register's kind.

    Parameters
    ----------
    flat, flow, block
        The kernel and the block size.
    literals : iterable of int
        Indices of constants that must remain literals.

    Returns
    -------
    tuple
        The control flow with hoisted constants, its analysis, and the indices of all remaining literals.
    """
    original, remaining = analyse(flat, flow, block), set(literals)
    while True:
        hoisted = _hoisted(flow, remaining)
        analysis = analyse(flat, hoisted, block)
        needed = _literals(divergent_uses(flat, flow, hoisted, analysis, block)) - remaining
        if not needed and _kinds(analysis) != _kinds(original):  # a constant has an effect through registers
            needed = _literals(i for b in flow.blocks for i in b.code if i.op == "mov") - remaining
        if not needed:
            return hoisted, analysis, sorted(_literals(i for b in hoisted.blocks for i in b.code))
        remaining |= needed


def _kinds(analysis: DivergenceAnalysis) -> dict[str, str]:
    return {name: shape.kind for name, shape in analysis.shapes.items()}


def _hoisted(flow: ControlFlow, literals: set[int]) -> ControlFlow:
    blocks = [
        replace(block, code=[_hoist_operands(item, literals) for item in block.code]) for block in flow.blocks
    ]
    return replace(flow, blocks=blocks)


def _hoist_operands(item: Instruction, literals: set[int]) -> Instruction:
    operands = tuple(_hoist(operand, literals) for operand in item.operands)
    if operands == item.operands:
        return item
    if item.op == "shl" and isinstance(operands[2], HoistedConstant):
        # A product with 2**n preserves affine values; a shift by an unknown amount does not.
        power = replace(operands[2], power=True)
        return replace(item, parts=("mul", "lo", f"u{item.parts[-1][1:]}"), operands=(*operands[:2], power))
    return replace(item, operands=operands)


def _hoist(operand: Operand, literals: set[int]) -> Operand:
    if isinstance(operand, Imm | Mem) and operand.constant_index >= 0:
        if operand.constant_index in literals:
            return operand
        constant = HoistedConstant(operand.constant_index)
        return constant if isinstance(operand, Imm) else replace(operand, offset=constant)
    return operand


def _literals(items: Iterable[Instruction]) -> set[int]:
    """Return the indices of the constants that are literals in these instructions."""
    return {index for item in items for index in _literal_indices(item.operands) if index >= 0}


def _literal_indices(operands: Iterable[Operand]) -> Iterator[int]:
    for operand in operands:
        if isinstance(operand, Imm):
            yield operand.constant_index
        elif isinstance(operand, Mem):
            if isinstance(operand.offset, int):
                yield operand.constant_index
            yield from _literal_indices((operand.base, *operand.rest))
        elif isinstance(operand, Vec):
            yield from _literal_indices(operand.parts)
