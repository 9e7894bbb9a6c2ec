"""Loads, stores and transposes of 8x8 matrices of 16-bit elements in a warp's registers.

In a matrix of registers, lane 4 r + c holds elements (r, 2 c) and (r, 2 c + 1). Lanes 0 to 7 give the
addresses of the rows of the first matrix, lanes 8 to 15 those of the second, and so on (PTX manual,
sections 9.7.14.5.15 to 9.7.14.5.17).
"""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import address, host_pointers, state_space
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.gather_scatter import gather, scatter
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.ptx.syntax import Instruction, Mem, vector_elements

I16, I32, PTRS = vector("i16"), vector("i32"), vector("ptr")
COUNTS = {"x1": 1, "x2": 2, "x4": 4}


def _count(item: Instruction) -> int:
    return next(COUNTS[part] for part in item.parts if part in COUNTS)


MATRIX = ".sync.aligned.m8n8.x1|x2|x4{.trans}{.shared|shared::cta} .b16"


def _row_pointers(
    cg: CodegenContext, item: Instruction, memory: object, number: int, rows: list[int], action: str
) -> str:
    """Return, for each lane, a pointer to row `rows[lane]` of a matrix; its 16 bytes are checked."""
    if not isinstance(memory, Mem):
        raise UnsupportedInstruction(item.text, item.line, "an operand that is not an address")
    space = state_space(item)
    addresses = cg.to_vector(address(cg, memory, space))
    row_addresses = cg.b.pick("i64", addresses, WARP, [8 * number + row for row in rows])
    return host_pointers(cg, Value("i64", "varying", (row_addresses,)), space, 16, item, action).vector


def _offset_pointers(cg: CodegenContext, pointers: str, offsets: list[int]) -> str:
    steps = "<" + ", ".join(f"i64 {offset}" for offset in offsets) + ">"
    return cg.b.value(f"getelementptr i8, {PTRS} {pointers}, {vector('i64')} {steps}")


@handles(f"ldmatrix{MATRIX}")
def load_matrix(cg: CodegenContext, item: Instruction) -> None:
    """Load one, two or four matrices from shared memory."""
    b, mask = cg.b, cg.mask_vector(item.predicate)
    targets = vector_elements(item.operands[0])
    if len(targets) != _count(item):
        raise UnsupportedInstruction(item.text, item.line, f"{len(targets)} registers")
    values = []
    for number in range(len(targets)):
        if "trans" not in item.parts:
            pointers = _row_pointers(
                cg, item, item.operands[1], number, [i // 4 for i in range(WARP)], "reads"
            )
            values.append(
                gather(cg.b, "i32", _offset_pointers(cg, pointers, [4 * (i % 4) for i in range(WARP)]), mask)
            )
            continue
        pair = []
        for upper in (0, 1):
            rows = [2 * (i % 4) + upper for i in range(WARP)]
            pointers = _row_pointers(cg, item, item.operands[1], number, rows, "reads")
            part = gather(
                cg.b, "i16", _offset_pointers(cg, pointers, [2 * (i // 4) for i in range(WARP)]), mask
            )
            pair.append(b.value(f"zext {I16} {part} to {I32}"))
        values.append(b.value(f"or {I32} {pair[0]}, {b.value(f'shl {I32} {pair[1]}, splat (i32 16)')}"))
    for target, value in zip(targets, values, strict=True):
        cg.assign(target, Value("i32", "varying", (value,)), item.predicate)


@handles(f"stmatrix{MATRIX}")
def store_matrix(cg: CodegenContext, item: Instruction) -> None:
    """Store one, two or four matrices to shared memory."""
    b, mask = cg.b, cg.mask_vector(item.predicate)
    sources = vector_elements(item.operands[1])
    if len(sources) != _count(item):
        raise UnsupportedInstruction(item.text, item.line, f"{len(sources)} registers")
    for number, source in enumerate(sources):
        value = cg.to_vector(cg.operand(source, "i32"))
        if "trans" not in item.parts:
            pointers = _row_pointers(
                cg, item, item.operands[0], number, [i // 4 for i in range(WARP)], "writes"
            )
            scatter(
                cg.b, "i32", _offset_pointers(cg, pointers, [4 * (i % 4) for i in range(WARP)]), value, mask
            )
            continue
        for upper in (0, 1):
            rows = [2 * (i % 4) + upper for i in range(WARP)]
            pointers = _row_pointers(cg, item, item.operands[0], number, rows, "writes")
            moved = b.value(f"lshr {I32} {value}, splat (i32 {16 * upper})")
            part = b.value(f"trunc {I32} {moved} to {I16}")
            scatter(
                cg.b, "i16", _offset_pointers(cg, pointers, [2 * (i // 4) for i in range(WARP)]), part, mask
            )


@handles("movmatrix.sync.aligned.m8n8.trans.b16")
def transpose_matrix(cg: CodegenContext, item: Instruction) -> None:
    """Transpose a matrix that is distributed over the warp's registers."""
    b = cg.b
    source = cg.to_vector(cg.operand(item.operands[1], "i32"))
    halves = []
    for upper in (0, 1):
        lanes = [(2 * (i % 4) + upper) * 4 + i // 8 for i in range(WARP)]
        words = b.pick("i32", source, WARP, lanes)
        amounts = "<" + ", ".join(f"i32 {16 * (i // 4 % 2)}" for i in range(WARP)) + ">"
        moved = b.value(f"lshr {I32} {words}, {amounts}")
        halves.append(b.value(f"and {I32} {moved}, splat (i32 65535)"))
    result = b.value(f"or {I32} {halves[0]}, {b.value(f'shl {I32} {halves[1]}, splat (i32 16)')}")
    cg.assign(item.operands[0], Value("i32", "varying", (result,)), item.predicate)
