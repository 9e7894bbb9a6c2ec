"""Matrix products of a warp: `mma`, and `wmma` with its loads and stores (PTX manual, section 9.7.14).

The registers of a warp hold the matrices as `matrix_fragments` describes; `matrix_product` computes the
products. A `wmma` load or store is one access for each register, or for each element if the elements of a
register are not neighbours in memory; each lane accesses its own elements.
"""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.addressing import address, state_space
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.instructions.loads_stores import read, write
from gpulab.simt.instructions.matrix import require_full_warp
from gpulab.simt.instructions.matrix_fragments import BITS, Fragment, Shape, accessed_fragment, fragment_of
from gpulab.simt.instructions.matrix_product import BUFFER_BYTES, PLACES, MatrixProduct, Summation
from gpulab.simt.ptx.syntax import Imm, Instruction, Mem, Operand, vector_elements

I64 = vector("i64")
LARGE = ".m16n16k16|m32n8k16|m8n32k16"
SPACE = "{.global|shared|shared::cta}"
BYTES = ".s8|u8"


# -- products ------------------------------------------------------------------------------------


@handles(
    "mma.sync.aligned.m16n8k8|m16n8k16.row.col.f16|f32.f16.f16.f16|f32",
    "mma.sync.aligned.m16n8k8|m16n8k16.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k4|m16n8k8.row.col.f32.tf32.tf32.f32",
    f"mma.sync.aligned.m8n8k16|m16n8k16|m16n8k32.row.col {{.satfinite}} .s32{BYTES}{BYTES}.s32",
    "mma.sync.aligned.m8n8k4|m16n8k4|m16n8k8|m16n8k16.row.col.f64.f64.f64.f64",
)
def multiply(cg: CodegenContext, item: Instruction) -> None:
    """Multiply matrices whose fragments the manual defines."""
    d, a, b, c = item.parts[-4:]
    _multiply(cg, item, (d, a, b, c), wmma=False)


@handles(
    f"wmma.mma.sync.aligned.row|col.row|col{LARGE}.f16|f32.f16|f32",
    f"wmma.mma.sync.aligned.row|col.row|col{LARGE}.f32.bf16.bf16.f32",
    "wmma.mma.sync.aligned.row|col.row|col.m16n16k8.f32.tf32.tf32.f32",
    f"wmma.mma.sync.aligned.row|col.row|col{LARGE}.s32{BYTES}{BYTES}.s32 {{.satfinite}}",
    "wmma.mma.sync.aligned.row|col.row|col.m8n8k4 {.rn} .f64.f64.f64.f64",
)
def multiply_fragments(cg: CodegenContext, item: Instruction) -> None:
    """Multiply fragments that `wmma.load` has read."""
    types = [part for part in item.parts[6:] if part in BITS]
    if len(types) == 2:  # `.dtype.ctype`, with A and B of f16
        types = [types[0], "f16", "f16", types[1]]
    d, a, b, c = types
    _multiply(cg, item, (d, a, b, c), wmma=True)


def _multiply(cg: CodegenContext, item: Instruction, types: tuple[str, str, str, str], *, wmma: bool) -> None:
    """Pass the registers of the operands to the function of the product, and assign its result."""
    require_full_warp(cg, item)
    builder, shape = cg.b, Shape.of(item)
    d, a, b, c = types
    fragments = [
        fragment_of(use, ty, shape, wmma=wmma) for use, ty in (("c", d), ("a", a), ("b", b), ("c", c))
    ]
    operands = [_registers(item, o, f) for o, f in zip(item.operands, fragments, strict=True)]

    for name, registers, fragment in zip("abc", operands[1:], fragments[1:], strict=True):
        ty = fragment.register_type
        for number, register in enumerate(registers[: fragment.distinct_registers]):
            value = cg.to_vector(cg.operand(register, ty))
            builder.line(f"store {vector(ty)} {value}, ptr {_place(cg, name, ty, number)}, align 64")
    summation = Summation.of(cg.launch_constants.module.architecture)
    saturates = "satfinite" in item.parts
    MatrixProduct(shape, a, b, c, d, saturates, summation).call(builder, _buffer(cg))

    ty = fragments[0].register_type
    for number, register in enumerate(operands[0]):
        value = builder.value(f"load {vector(ty)}, ptr {_place(cg, 'd', ty, number)}, align 64")
        cg.assign(register, Value(ty, "varying", (value,)), item.predicate)


def _registers(item: Instruction, operand: Operand, fragment: Fragment) -> tuple[Operand, ...]:
    registers = vector_elements(operand)
    if len(registers) != fragment.registers:
        reason = f"{len(registers)} registers for a fragment of {fragment.registers}"
        raise UnsupportedInstruction(item.text, item.line, reason)
    return registers


def _place(cg: CodegenContext, name: str, ty: str, register: int) -> str:
    size = WARP * (8 if ty == "double" else 4)
    return cg.b.value(f"getelementptr i8, ptr {_buffer(cg)}, i64 {PLACES[name] + register * size}")


def _buffer(cg: CodegenContext) -> str:
    return cg.buffer("matrices", BUFFER_BYTES)


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
    b, space = cg.b, state_space(item)
    fragment, _, size = accessed_fragment(item)
    registers = _registers(item, item.operands[0], fragment)
    base, distance = _location(cg, item, 1, fragment)
    for number in range(fragment.distinct_registers):
        ty, places = _accesses(cg, item, base, distance, number)
        parts = [cg.to_vector(read(cg, place, space, ty, 1, size, item)[0]) for place in places]
        value = parts[0]
        if len(parts) > 1:  # pack the elements into the register
            full, bits, value = vector("i32"), 32 // len(parts), "zeroinitializer"
            for at, part in enumerate(parts):
                wide = b.value(f"zext {vector(ty)} {part} to {full}")
                wide = b.value(f"shl {full} {wide}, splat (i32 {bits * at})")
                value = b.value(f"or {full} {value}, {wide}")
            ty = "i32"
        for register in registers[number :: fragment.distinct_registers]:
            cg.assign(register, Value(ty, "varying", (value,)), item.predicate)


@handles(
    f"wmma.store.d.sync.aligned.row|col{LARGE}{SPACE}.f16|f32|s32",
    f"wmma.store.d.sync.aligned.row|col.m16n16k8{SPACE}.f32",
    f"wmma.store.d.sync.aligned.row|col.m8n8k4{SPACE}.f64",
)
def store_fragment(cg: CodegenContext, item: Instruction) -> None:
    """Store the fragment of a result."""
    require_full_warp(cg, item)
    b, space = cg.b, state_space(item)
    fragment, _, size = accessed_fragment(item)
    registers = _registers(item, item.operands[1], fragment)
    base, distance = _location(cg, item, 0, fragment)
    for number, register in enumerate(registers):
        ty, places = _accesses(cg, item, base, distance, number)
        value = cg.to_vector(cg.operand(register, fragment.register_type))
        for at, place in enumerate(places):
            part = value
            if len(places) > 1:
                full, bits = vector("i32"), 32 // len(places)
                part = b.value(f"lshr {full} {value}, splat (i32 {bits * at})")
                part = b.value(f"trunc {full} {part} to {vector(ty)}")
            write(cg, place, space, ty, size, [Value(ty, "varying", (part,))], item)


def _location(cg: CodegenContext, item: Instruction, position: int, fragment: Fragment) -> tuple[str, str]:
    """Return the addresses of the first element, and the elements from one row or column to the next."""
    memory = item.operands[position]
    if not isinstance(memory, Mem) or memory.rest:
        raise UnsupportedInstruction(item.text, item.line, "an operand that is not an address")
    packed = fragment.columns if "row" in item.parts else fragment.rows
    stride = cg.operand(item.operands[2] if len(item.operands) > 2 else Imm(packed), "i32")
    lanes = Value("i32", "varying", (cg.to_vector(stride),))
    distance = cg.convert(lanes, "i64", lambda t, r, o: f"zext {t} {r} to {o}")
    return cg.to_vector(address(cg, memory, state_space(item))), distance.ref


def _accesses(
    cg: CodegenContext, item: Instruction, base: str, distance: str, register: int
) -> tuple[str, list[Value]]:
    """Return the LLVM type of the accesses for one register, and the lanes' addresses of each of them."""
    b = cg.b
    fragment, layout, _ = accessed_fragment(item)
    count, inner = fragment.accesses(layout), int(layout == "row")
    places = []
    for element in range(count):
        at = [fragment.element(register, lane, element) for lane in range(WARP)]
        offset = b.value(f"mul {I64} {distance}, {_constants([place[1 - inner] for place in at])}")
        offset = b.value(f"add {I64} {offset}, {_constants([place[inner] for place in at])}")
        offset = b.value(f"mul {I64} {offset}, splat (i64 {BITS[fragment.ty] // 8})")
        places.append(Value("i64", "varying", (b.value(f"add {I64} {base}, {offset}"),)))
    return fragment.register_type if count == 1 else f"i{BITS[fragment.ty]}", places


def _constants(numbers: list[int]) -> str:
    return "<" + ", ".join(f"i64 {number}" for number in numbers) + ">"
