"""Loads, stores and transposes of 8x8 matrices of 16-bit elements in a warp's registers.

In a matrix of registers, lane 4 r + c holds elements (r, 2 c) and (r, 2 c + 1), so that the registers of
lanes 0 to 31 are the matrix row by row. Lanes 0 to 7 give the addresses of the rows of the first matrix,
lanes 8 to 15 those of the second, and so on (PTX manual, sections 9.7.14.5.15 to 9.7.14.5.17). Each of these
lanes makes one access of 16 bytes.
"""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import address, check_access, host_pointers, state_space
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Builder, Value, vector
from gpulab.simt.ptx.syntax import Instruction, Mem, Operand, vector_elements

__all__ = [
    "check_rows",
    "load_rows",
    "matrix_count",
    "require_full_warp",
    "row_addresses",
    "transposed_matrix",
]

ROWS = 8  # rows of a matrix, each of eight 16-bit elements
ROW_BYTES = 16
I32, POINTERS = vector("i32"), vector("ptr")
ROW, MATRIX = vector("i16", ROWS), vector("i16", ROWS * ROWS)
TRANSPOSED = [ROWS * column + row for row in range(ROWS) for column in range(ROWS)]
COUNTS = {"x1": 1, "x2": 2, "x4": 4}
FORM = ".sync.aligned.m8n8.x1|x2|x4{.trans}{.shared|shared::cta} .b16"


def require_full_warp(cg: CodegenContext, item: Instruction) -> None:
    """Emit a fault unless all lanes of the warp, or none, execute an `.aligned` instruction."""
    if cg.all_active and item.predicate is None:
        return
    b, mask = cg.b, cg.mask_bits(item.predicate)
    site = cg.add_site("executes", "warp", 0)
    partial = b.value(f"icmp ne i32 {mask}, -1")
    if item.predicate is not None:
        partial = b.value(f"and i1 {partial}, {b.value(f'icmp ne i32 {mask}, 0')}")
    wrong, on = b.new_label("wrong"), b.new_label("on")
    b.branch(partial, wrong, on, likely=False)
    with cg.side_block(wrong):
        cg.fault("partial_warp", site, mask)
    b.open(on)


@handles(f"ldmatrix{FORM}")
def load_matrix(cg: CodegenContext, item: Instruction) -> None:
    """Load one, two or four matrices from shared memory."""
    targets = _registers(item, item.operands[0])
    require_full_warp(cg, item)
    addresses = row_addresses(cg, item, item.operands[1])
    values = load_rows(cg, item, addresses, len(targets), transposed="trans" in item.parts)
    for target, value in zip(targets, values, strict=True):
        cg.assign(target, Value("i32", "varying", (value,)), item.predicate)


def load_rows(
    cg: CodegenContext, item: Instruction, addresses: Value, count: int, *, transposed: bool
) -> list[str]:
    """Load matrices from memory, given the addresses of their rows by lane; return the registers."""
    b, result = cg.b, vector("i32", WARP * count)
    pointers = _row_pointers(cg, item, addresses, count, "reads")

    def load(b: Builder, names: list[str]) -> str:
        return _loaded_rows(b, names[0], count, transposed=transposed)

    name = f"load_rows_{count}{'_transposed' * transposed}"
    if item.predicate is None:
        matrices = b.define(name, result, [(POINTERS, pointers)], load)
    else:
        start, do, done = b.new_label("matrix"), b.new_label("load"), b.new_label("loaded")
        b.jump(start)
        b.open(start)
        b.branch(_executes(cg, item), do, done)
        with cg.side_block(do):
            loaded = b.define(name, result, [(POINTERS, pointers)], load)
            b.jump(done)
        b.open(done)
        matrices = b.phi(result, (loaded, do), ("zeroinitializer", start))
    if count == 1:
        return [matrices]
    return [
        b.pick("i32", matrices, WARP * count, list(range(first, first + WARP)))
        for first in range(0, WARP * count, WARP)
    ]


def _loaded_rows(b: Builder, pointers: str, count: int, *, transposed: bool) -> str:
    """Load the rows of `count` matrices; return their registers one after the other."""
    registers = []
    for number in range(count):
        places = [
            b.value(f"extractelement {POINTERS} {pointers}, i32 {ROWS * number + row}") for row in range(ROWS)
        ]
        rows = [b.value(f"load {ROW}, ptr {place}, align 2") for place in places]
        matrix = b.concat("i16", rows, ROWS)
        if transposed:
            matrix = b.pick("i16", matrix, ROWS * ROWS, TRANSPOSED)
        registers.append(b.value(f"bitcast {MATRIX} {matrix} to {I32}"))
    return b.concat("i32", registers, WARP)


def transposed_matrix(cg: CodegenContext, register: str) -> str:
    """Return the transpose of a matrix that is distributed over the lanes of a register."""
    b = cg.b
    matrix = b.value(f"bitcast {I32} {register} to {MATRIX}")
    return b.value(f"bitcast {MATRIX} {b.pick('i16', matrix, ROWS * ROWS, TRANSPOSED)} to {I32}")


@handles(f"stmatrix{FORM}")
def store_matrix(cg: CodegenContext, item: Instruction) -> None:
    """Store one, two or four matrices to shared memory."""
    b = cg.b
    sources = _registers(item, item.operands[1])
    require_full_warp(cg, item)
    registers = [cg.to_vector(cg.operand(source, "i32")) for source in sources]
    if "trans" in item.parts:
        registers = [transposed_matrix(cg, register) for register in registers]
    matrices = [b.value(f"bitcast {I32} {register} to {MATRIX}") for register in registers]
    addresses = row_addresses(cg, item, item.operands[0])
    pointers = _row_pointers(cg, item, addresses, len(sources), "writes", _words_by_row(cg, matrices))

    store, done = b.new_label("store"), b.new_label("stored")
    b.branch(_executes(cg, item), store, done)
    with cg.side_block(store):
        for number, matrix in enumerate(matrices):
            for row in range(ROWS):
                part = b.pick("i16", matrix, ROWS * ROWS, list(range(ROWS * row, ROWS * row + ROWS)))
                b.line(f"store {ROW} {part}, ptr {_pointer(cg, pointers, number, row)}, align 2")
        b.jump(done)
    b.open(done)


def matrix_count(item: Instruction) -> int:
    """Return the number of matrices of an `ldmatrix` or `stmatrix`."""
    return next(COUNTS[part] for part in item.parts if part in COUNTS)


def _registers(item: Instruction, operand: Operand) -> tuple[Operand, ...]:
    registers = vector_elements(operand)
    if len(registers) != matrix_count(item):
        raise UnsupportedInstruction(item.text, item.line, f"{len(registers)} registers")
    return registers


def _executes(cg: CodegenContext, item: Instruction) -> str:
    """Return an i1 that is true if the warp executes the instruction."""
    return cg.b.value(f"icmp ne i32 {cg.mask_bits(item.predicate)}, 0")


def row_addresses(cg: CodegenContext, item: Instruction, memory: Operand) -> Value:
    """Return the addresses that the lanes give."""
    if not isinstance(memory, Mem):
        raise UnsupportedInstruction(item.text, item.line, "an operand that is not an address")
    return Value("i64", "varying", (cg.to_vector(address(cg, memory, state_space(item))),))


def check_rows(cg: CodegenContext, item: Instruction, addresses: Value, count: int, action: str) -> None:
    """Check the rows of `count` matrices whose values are not needed."""
    check_access(cg, addresses, state_space(item), ROW_BYTES, _by_lanes_of(cg, item, count), action)


def _row_pointers(
    cg: CodegenContext,
    item: Instruction,
    addresses: Value,
    count: int,
    action: str,
    words: tuple[Value, ...] = (),
) -> str:
    """Check the rows of `count` matrices; return a vector of the pointers of the lanes that address them.

    `words` are the values to store: element n of each lane's row.
    """
    item = _by_lanes_of(cg, item, count)
    return host_pointers(cg, addresses, state_space(item), ROW_BYTES, item, action, words).vector


def _by_lanes_of(cg: CodegenContext, item: Instruction, count: int) -> Instruction:
    """Return the instruction for the lanes that address the rows of `count` matrices."""
    lanes = ROWS * count
    if lanes == WARP:
        return item
    flags = ", ".join(f"i1 {'true' if lane < lanes else 'false'}" for lane in range(WARP))
    return cg.for_lanes(item, f"<{flags}>")


def _words_by_row(cg: CodegenContext, matrices: list[str]) -> tuple[Value, ...]:
    """Return the values that the lanes with the addresses store, as two 64-bit words of each row."""
    b = cg.b
    rows = [b.value(f"bitcast {MATRIX} {matrix} to {vector('i64', 2 * ROWS)}") for matrix in matrices]
    rows = rows * (WARP // ROWS // len(rows))  # the remaining lanes store nothing
    every = b.concat("i64", rows, 2 * ROWS)
    parts = [b.pick("i64", every, 2 * WARP, list(range(word, 2 * WARP, 2))) for word in (0, 1)]
    return tuple(Value("i64", "varying", (part,)) for part in parts)


def _pointer(cg: CodegenContext, pointers: str, matrix: int, row: int) -> str:
    return cg.b.value(f"extractelement {vector('ptr')} {pointers}, i32 {ROWS * matrix + row}")


@handles("movmatrix.sync.aligned.m8n8.trans.b16")
def transpose_matrix(cg: CodegenContext, item: Instruction) -> None:
    """Transpose a matrix that is distributed over the warp's registers."""
    require_full_warp(cg, item)
    result = transposed_matrix(cg, cg.to_vector(cg.operand(item.operands[1], "i32")))
    cg.assign(item.operands[0], Value("i32", "varying", (result,)), item.predicate)
