"""Results of arithmetic that only a `selp` reads.

The assembler may turn such a selection into a predicate: lanes that select the other value do not compute
this one. The counters tier therefore counts the threads that select the first value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gpulab.simt.analysis.basic_blocks import Block, reads, writes
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.ptx.syntax import Instruction, Reg

__all__ = ["Selection", "lanes_with_first", "selections"]

ARITHMETIC = ("add", "sub", "mul", "fma", "mad")
FLOATS = ("f32", "f64")


class Selection(NamedTuple):
    """The selection that reads a result: its row in the PTX text, and if the result is its first value."""

    row: int
    first: bool


def selections(blocks: Sequence[Block]) -> dict[int, Selection]:
    """Return the selections by the rows of the arithmetic whose result they read, if nothing else does."""
    readers = Counter(name for block in blocks for item in block.code for name in reads(item))
    found = {}
    for block in blocks:
        computed: dict[str, int] = {}  # rows of arithmetic in the block, by the register of its result
        for item in block.code:
            if item.op == "selp" and item.predicate is None:
                for operand, first in zip(item.operands[1:3], (True, False), strict=True):
                    if isinstance(operand, Reg) and operand.name in computed and readers[operand.name] == 1:
                        found[computed[operand.name]] = Selection(item.row, first)
            for name in writes(item):
                computed.pop(name, None)
                if item.op in ARITHMETIC and item.parts[-1] in FLOATS and item.predicate is None:
                    computed[name] = item.row
    return found


def lanes_with_first(cg: CodegenContext, item: Instruction) -> str:
    """Return the active lanes that select the first value, as an i32."""
    choice = cg.pack_mask(cg.to_vector(cg.operand(item.operands[3], "i1")))
    return cg.b.value(f"and i32 {cg.mask()}, {choice}")
