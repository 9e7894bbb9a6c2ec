"""Matrix products of a warp: `mma`, and `wmma` with its loads and stores (PTX manual, section 9.7.14).

The registers of a warp hold the matrices as `matrix_fragments` describes, which also has the accesses of a
`wmma.load` or `wmma.store`; `matrix_product` computes the products.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import address, check_access, state_space
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import PSEUDO_HANDLERS, handles
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.instructions.loads_stores import read, write
from gpulab.simt.instructions.matrix import (
    check_rows,
    load_rows,
    matrix_count,
    require_full_warp,
    row_addresses,
    transposed_matrix,
)
from gpulab.simt.instructions.matrix_fragments import (
    BITS,
    Fragment,
    FragmentAccess,
    Shape,
    accessed_fragment,
    fragment_of,
    wmma_fragment_of,
)
from gpulab.simt.instructions.matrix_product import MatrixProduct, Summation
from gpulab.simt.ptx.syntax import Imm, Instruction, Mem, Operand, vector_elements

I64 = vector("i64")
LARGE = ".m16n16k16|m32n8k16|m8n32k16"
SPACE = "{.global|shared|shared::cta}"
BYTES = ".s8|u8"


# -- products ------------------------------------------------------------------------------------


@handles(
    "mma.sync.aligned.m16n8k8|m16n8k16.row.col.f16.f16.f16.f16",
    "mma.sync.aligned.m16n8k8|m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k8|m16n8k16.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k4|m16n8k8.row.col.f32.tf32.tf32.f32",
    f"mma.sync.aligned.m8n8k16|m16n8k16|m16n8k32.row.col {{.satfinite}}.s32{BYTES}{BYTES}.s32",
    "mma.sync.aligned.m8n8k4|m16n8k4|m16n8k8|m16n8k16.row.col {.rn}.f64.f64.f64.f64",
)
def multiply(cg: CodegenContext, item: Instruction) -> None:
    """Multiply matrices whose fragments the manual defines."""
    d, a, b, c = (part for part in item.parts if part in BITS)
    _multiply(cg, item, (d, a, b, c), wmma=False)


@handles(
    f"wmma.mma.sync.aligned.row|col.row|col{LARGE}.f16|f32.f16|f32",
    f"wmma.mma.sync.aligned.row|col.row|col{LARGE}.f32.bf16.bf16.f32",
    "wmma.mma.sync.aligned.row|col.row|col.m16n16k8.f32.tf32.tf32.f32",
    f"wmma.mma.sync.aligned.row|col.row|col{LARGE} {{.satfinite}}.s32{BYTES}{BYTES}.s32",
    "wmma.mma.sync.aligned.row|col.row|col.m8n8k4 {.rn}.f64.f64.f64.f64",
)
def multiply_fragments(cg: CodegenContext, item: Instruction) -> None:
    """Multiply fragments that `wmma.load` has read."""
    types = [part for part in item.parts if part in BITS]
    if len(types) == 2:  # `.dtype.ctype`, with A and B of f16
        types = [types[0], "f16", "f16", types[1]]
    d, a, b, c = types
    _multiply(cg, item, (d, a, b, c), wmma=True)


def _multiply(cg: CodegenContext, item: Instruction, types: tuple[str, str, str, str], *, wmma: bool) -> None:
    """Pass the registers of the operands to the function of the product, and assign its result."""
    require_full_warp(cg, item)
    shape = Shape.of(item)
    find = wmma_fragment_of if wmma else fragment_of
    uses = zip(("c", "a", "b", "c"), types, item.operands, strict=True)
    operands = [(fragment := find(use, ty, shape), _registers(item, o, fragment)) for use, ty, o in uses]
    if wmma and shape.is_transposed:
        shape, operands = shape.transposed, [operands[at] for at in (0, 2, 1, 3)]

    values = [
        (vector(fragment.register_type), cg.to_vector(cg.operand(register, fragment.register_type)))
        for fragment, registers in operands[1:]
        for register in registers[: fragment.distinct_registers]
    ]
    d, a, b, c = (fragment.ty for fragment, _ in operands)
    summation = Summation.of(cg.launch_constants.module.architecture)
    if wmma and a == "tf32":  # the assembler generates HMMA.1684
        summation = replace(summation, operand_bytes=16)
    product = MatrixProduct(shape, a, b, c, d, "satfinite" in item.parts, summation)

    result, targets = operands[0]
    for register, value in zip(targets, product.call(cg.b, values), strict=True):
        cg.assign(register, Value(result.register_type, "varying", (value,)), item.predicate)


def _registers(item: Instruction, operand: Operand, fragment: Fragment) -> tuple[Operand, ...]:
    registers = vector_elements(operand)
    if len(registers) != fragment.registers:
        reason = f"{len(registers)} registers for a fragment of {fragment.registers}"
        raise UnsupportedInstruction(item.text, item.line, reason)
    return registers


# -- loads and stores ----------------------------------------------------------------------------


@handles(
    f"wmma.load.a|b.sync.aligned.row|col{LARGE}{SPACE}.f16|bf16|s8|u8",
    f"wmma.load.c.sync.aligned.row|col{LARGE}{SPACE}.f16|f32|s32",
    f"wmma.load.a|b.sync.aligned.row|col.m16n16k8{SPACE}.tf32",
    f"wmma.load.c.sync.aligned.row|col.m16n16k8{SPACE}.f32",
    f"wmma.load.a|b|c.sync.aligned.row|col.m8n8k4{SPACE}.f64",
)
def load_fragment(cg: CodegenContext, item: Instruction) -> None:
    """Load the fragment of a matrix with rows or columns at a fixed distance in memory."""
    require_full_warp(cg, item)
    fragment, layout = accessed_fragment(item)
    registers = _registers(item, item.operands[0], fragment)
    location = _Location(cg, item, item.operands[1:], fragment, layout)
    accesses = fragment.accesses(layout)
    if _loads_rows(item, fragment, accesses):
        values = [
            value
            for addresses, count in _rows(location, accesses)
            for value in load_rows(cg, item, addresses, count, transposed=accesses[0].transposed)
        ]
    else:
        values = _load_elements(cg, item, location, fragment, accesses)
    for number, value in enumerate(values):
        for register in registers[number :: fragment.distinct_registers]:
            cg.assign(register, Value(fragment.register_type, "varying", (value,)), item.predicate)


def _loads_rows(item: Instruction, fragment: Fragment, accesses: list[FragmentAccess]) -> bool:
    """Return True if the fragment is loaded as by `ldmatrix`."""
    narrow = fragment.use != "c" and BITS[fragment.ty] < 32 and accesses[0].size == 4
    return narrow and state_space(item) == "shared" and "load" in item.parts


def _rows(location: _Location, accesses: list[FragmentAccess]) -> Iterator[tuple[Value, int]]:
    """Yield the addresses of the rows of up to four blocks, 8 lanes for each, and the number of blocks."""
    for first in range(0, len(accesses), 4):
        group = accesses[first : first + 4]
        rows = [access.places[lane] for access in group for lane in range(0, WARP, 4)]
        yield location.addresses(tuple(rows * (WARP // len(rows)))), len(group)


def _load_elements(
    cg: CodegenContext,
    item: Instruction,
    location: _Location,
    fragment: Fragment,
    accesses: list[FragmentAccess],
) -> list[str]:
    b, space, full = cg.b, state_space(item), vector("i32")
    values = ["zeroinitializer"] * fragment.distinct_registers
    for access in accesses:
        ty = fragment.register_type if access.part is None else f"i{8 * access.size}"
        addresses = location.addresses(access.places)
        found = read(cg, addresses, space, ty, len(access.registers), access.size, item)
        for register, value in zip(access.registers, map(cg.to_vector, found), strict=True):
            if access.part is None:
                values[register] = transposed_matrix(cg, value) if access.transposed else value
                continue
            wide = b.value(f"zext {vector(ty)} {value} to {full}")
            wide = b.value(f"shl {full} {wide}, splat (i32 {8 * access.size * access.part})")
            values[register] = b.value(f"or {full} {values[register]}, {wide}")
    return values


@handles(
    f"wmma.store.d.sync.aligned.row|col{LARGE}{SPACE}.f16|f32|s32",
    f"wmma.store.d.sync.aligned.row|col.m16n16k8{SPACE}.f32",
    f"wmma.store.d.sync.aligned.row|col.m8n8k4{SPACE}.f64",
)
def store_fragment(cg: CodegenContext, item: Instruction) -> None:
    """Store the fragment of a result."""
    require_full_warp(cg, item)
    fragment, layout = accessed_fragment(item)
    registers = _registers(item, item.operands[1], fragment)
    location = _Location(cg, item, item.operands[::2], fragment, layout)
    ty = fragment.register_type
    for access in fragment.accesses(layout):
        values = [cg.to_vector(cg.operand(registers[number], ty)) for number in access.registers]
        if access.transposed:
            values = [transposed_matrix(cg, value) for value in values]
        parts = [Value(ty, "varying", (value,)) for value in values]
        write(cg, location.addresses(access.places), state_space(item), ty, access.size, parts, item)


class _Location:
    """A matrix in memory: the address of its first element, and the distance of its rows or columns."""

    def __init__(
        self,
        cg: CodegenContext,
        item: Instruction,
        operands: tuple[Operand, ...],
        fragment: Fragment,
        layout: str,
    ) -> None:
        memory = operands[0]
        if not isinstance(memory, Mem) or memory.rest:
            raise UnsupportedInstruction(item.text, item.line, "an operand that is not an address")
        packed = fragment.columns if layout == "row" else fragment.rows
        stride = cg.operand(operands[1] if len(operands) > 1 else Imm(packed), "i32")
        lanes = Value("i32", "varying", (cg.to_vector(stride),))
        distance = cg.convert(lanes, "i64", lambda t, r, o: f"zext {t} {r} to {o}")
        self.cg, self.by_rows, self.size = cg, layout == "row", BITS[fragment.ty] // 8
        self.base, self.distance = cg.to_vector(address(cg, memory, state_space(item))), distance.ref

    def addresses(self, places: tuple[tuple[int, int], ...]) -> Value:
        """Return the addresses of one element for each lane, given by row and column."""
        b = self.cg.b
        lines, inside = zip(*(place if self.by_rows else place[::-1] for place in places), strict=True)
        offset = b.value(f"mul {I64} {self.distance}, {_constants(lines)}")
        offset = b.value(f"add {I64} {offset}, {_constants(inside)}")
        offset = b.value(f"mul {I64} {offset}, splat (i64 {self.size})")
        return Value("i64", "varying", (b.value(f"add {I64} {self.base}, {offset}"),))


def _constants(numbers: Iterable[int]) -> str:
    return "<" + ", ".join(f"i64 {number}" for number in numbers) + ">"


def _touch(cg: CodegenContext, item: Instruction) -> None:
    """Check the addresses of a load or store whose values are not needed (see `simt.analysis.slicing`)."""
    touching = replace(item, parts=item.parts[1:])
    stores = touching.op == "stmatrix" or "store" in touching.parts
    space, action = state_space(touching), "writes" if stores else "reads"
    if touching.op != "wmma":
        addresses = row_addresses(cg, touching, item.operands[0])
        check_rows(cg, touching, addresses, matrix_count(touching), action)
        return

    fragment, layout = accessed_fragment(touching)
    location = _Location(cg, touching, item.operands, fragment, layout)
    accesses = fragment.accesses(layout)
    if _loads_rows(touching, fragment, accesses):
        for addresses, count in _rows(location, accesses):
            check_rows(cg, touching, addresses, count, action)
        return
    for access in accesses:
        check_access(cg, location.addresses(access.places), space, access.size, touching, action)


PSEUDO_HANDLERS["touch_matrix"] = _touch
