"""`cp.async`: copies from global to shared memory, made at once (PTX manual, section 9.7.9.25.3).

A copy may be complete at any time before it is waited for, so one that is complete at once is as good
as any; the waits then have nothing to wait for.
"""

from __future__ import annotations

from dataclasses import replace

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.addressing import add_offset, address
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise
from gpulab.simt.instructions.loads_stores import read, write
from gpulab.simt.ptx.syntax import Imm, Instruction, Mem, Operand, Reg


@handles("cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all")
def group(cg: CodegenContext, item: Instruction) -> None:
    """Every copy is complete already."""
    cg.instrumentation.on_async_copy(cg, item)


@handles("cp.async.ca|cg.shared|shared::cta.global{.L2::cache_hint}{.L2::64B|L2::128B|L2::256B}")
def copy(cg: CodegenContext, item: Instruction) -> None:
    target, source, size = item.operands[:3]
    if not isinstance(target, Mem) or not isinstance(source, Mem) or size not in (Imm(4), Imm(8), Imm(16)):
        raise UnsupportedInstruction(item.text, item.line, "a size other than 4, 8 or 16 bytes")
    assert isinstance(size, Imm)
    size_bytes = int(size.value)
    rest = item.operands[3 : -1 if "L2::cache_hint" in item.parts else None]
    to, place = address(cg, target, "shared"), address(cg, source, "global")
    if rest and rest[0] != size:  # the same number again stands for all of it
        values = _partly(cg, item, place, size_bytes, rest[0])
    else:
        values = read(cg, place, "global", "i32", size_bytes // 4, size_bytes, item)
    write(cg, to, "shared", "i32", size_bytes, values, item)


def _partly(cg: CodegenContext, item: Instruction, place: Value, size: int, control: Operand) -> list[Value]:
    """Only the first bytes are read, the others are 0. control: how many, or a predicate for none."""
    b = cg.b
    if isinstance(control, Reg) and cg.flat.registers.get(control.name) == "pred":

        def bytes_wanted(t: str, result: str, names: list[str]) -> str:
            return b.value(
                f"select {t} {names[0]}, {result} {const(result, 0)}, {result} {const(result, size)}"
            )

        many = elementwise(cg, "i32", [cg.operand(control, "i1")], bytes_wanted)
    else:
        many = cg.operand(control, "i32")
    full = vector("i32")
    count = cg.to_vector(many)
    found = []
    for word in range(size // 4):
        wanted = b.value(f"icmp ugt {full} {count}, splat (i32 {4 * word + 3})")
        value = _where(cg, item, wanted, add_offset(cg, place, 4 * word), "i32")
        for byte in range(3):  # a word of which only the first bytes are wanted
            at = 4 * word + byte
            inside = b.value(f"icmp ugt {full} {count}, splat (i32 {at})")
            whole = b.value(f"xor {vector('i1')} {wanted}, splat (i1 true)")
            alone = b.value(f"and {vector('i1')} {inside}, {whole}")
            part = _where(cg, item, alone, add_offset(cg, place, at), "i8")
            part = b.value(f"zext {vector('i8')} {part} to {full}")
            value = b.value(f"or {full} {value}, {b.value(f'shl {full} {part}, splat (i32 {8 * byte})')}")
        found.append(Value("i32", "varying", (value,)))
    return found


def _where(cg: CodegenContext, item: Instruction, wanted: str, place: Value, ty: str) -> str:
    """What the lanes in `wanted` read; 0 for the others."""
    b = cg.b
    if item.predicate is not None:
        wanted = b.value(f"and {vector('i1')} {wanted}, {cg.to_vector(cg.predicate(item.predicate))}")
    name = f"%wanted{b.count}"
    cg.flat.registers[name] = "pred"
    cg.assign(Reg(name), Value("i1", "varying", (wanted,)))
    size = 4 if ty == "i32" else 1
    (value,) = read(cg, place, "global", ty, 1, size, replace(item, predicate=Reg(name)))
    return b.value(
        f"select {vector('i1')} {wanted}, {vector(ty)} {cg.to_vector(value)}, {vector(ty)} zeroinitializer"
    )
