"""Moves between registers, including packing and unpacking of vectors."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.addressing import add_offset
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import BITS, Value
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise, shifted_right, type_of
from gpulab.simt.ptx.syntax import HoistedConstant, Imm, Instruction, Mem, Operand, Reg, Vec

# The manual does not list 8-bit and half types; the inliner moves parameters of calls with them.
TYPES = ".pred|b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64"


@handles(f"mov {TYPES}")
def move(cg: CodegenContext, item: Instruction) -> None:
    """Move a scalar, pack a vector into a register, unpack one, or move a vector."""
    target, source = item.operands
    if isinstance(source, Vec) and isinstance(target, Vec):
        _move_elements(cg, item, target, source)
    elif isinstance(source, Vec):
        _pack(cg, item, target, source)
    elif isinstance(target, Vec):
        _unpack(cg, item, target, source)
    else:
        _move_scalar(cg, item, target, source)


def _move_scalar(cg: CodegenContext, item: Instruction, target: Operand, source: Operand) -> None:
    ty = type_of(item)
    if isinstance(source, Mem):  # `mov.u64 %rd1, variable+16`
        address = add_offset(cg, cg.operand(source.base, "i64"), source.offset)
        cg.assign(target, cg.as_type(address, ty), item.predicate)
        return
    if isinstance(target, Reg) and target.name in cg.flat.registers:
        ty = cg.register_type(target.name) if not isinstance(source, Imm | HoistedConstant) else ty
    cg.assign(target, cg.operand(source, ty), item.predicate)


@handles(f"mov .v2|v4|v8{TYPES}")
def move_vector(cg: CodegenContext, item: Instruction) -> None:
    target, source = item.operands
    if not isinstance(target, Vec) or not isinstance(source, Vec):
        raise UnsupportedInstruction(item.text, item.line, "it moves vectors")
    _move_elements(cg, item, target, source)


def _move_elements(cg: CodegenContext, item: Instruction, target: Vec, source: Vec) -> None:
    """Move element by element; all are read first, since a register may occur on both sides."""
    if len(target.parts) != len(source.parts):
        raise UnsupportedInstruction(item.text, item.line, "its vectors differ in length")
    ty = type_of(item)
    values = [cg.operand(part, ty) for part in source.parts]
    for part, value in zip(target.parts, values, strict=True):
        cg.assign(part, value, item.predicate)


def _part_bits(item: Instruction, count: int) -> int:
    """Return the bits of each of `count` parts of the instruction's type."""
    bits = BITS[type_of(item)]
    if bits % count or bits // count < 8:
        raise UnsupportedInstruction(item.text, item.line, f"{count} parts of {bits} bits")
    return bits // count


def _pack(cg: CodegenContext, item: Instruction, target: Operand, source: Vec) -> None:
    """Pack elements into a register, as in `mov.b64 %rd, {lo, hi}`."""
    bits = _part_bits(item, len(source.parts))
    values = [cg.operand(p, f"i{bits}") for p in source.parts]
    b = cg.b

    def make(t: str, result: str, names: list[str]) -> str:
        packed = ""
        for number, name in enumerate(names):
            wide = b.value(f"zext {t} {name} to {result}")
            if number:
                wide = b.value(f"shl {result} {wide}, {const(result, number * bits)}")
                wide = b.value(f"or {result} {packed}, {wide}")
            packed = wide
        return packed

    cg.assign(target, elementwise(cg, f"i{BITS[type_of(item)]}", values, make), item.predicate)


def _unpack(cg: CodegenContext, item: Instruction, target: Vec, source: Operand) -> None:
    ty = f"i{BITS[type_of(item)]}"
    bits = _part_bits(item, len(target.parts))
    value = cg.operand(source, ty)
    if value.kind == "affine":
        value = Value(ty, "varying", (cg.to_vector(value),))
    for number, part in enumerate(target.parts):

        def make(t: str, result: str, names: list[str], number: int = number) -> str:
            moved = names[0]
            if number:
                moved = shifted_right(cg, "lshr", t, moved, number * bits)
            return cg.b.value(f"trunc {t} {moved} to {result}")

        cg.assign(part, elementwise(cg, f"i{bits}", [value], make), item.predicate)
