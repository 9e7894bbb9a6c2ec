"""`cp.async`: asynchronous copies from global to shared memory (PTX manual, section 9.7.9.25.3).

A copy may complete at any time before the wait for it. The simulator completes it at once, so that the
waits have no effect on values.
"""

from __future__ import annotations

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
    """Report the group or the wait to the instrumentation; the copies are complete already."""
    cg.instrumentation.on_async_copy(cg, item)


@handles("cp.async.ca|cg.shared|shared::cta.global{.L2::cache_hint}{.L2::64B|L2::128B|L2::256B}")
def copy(cg: CodegenContext, item: Instruction) -> None:
    """Copy 4, 8 or 16 bytes of each lane; with an ignore count, fill the rest with zeros."""
    target, source, size = item.operands[:3]
    if not isinstance(target, Mem) or not isinstance(source, Mem) or size not in (Imm(4), Imm(8), Imm(16)):
        raise UnsupportedInstruction(item.text, item.line, "a size other than 4, 8 or 16 bytes")
    assert isinstance(size, Imm)
    size_bytes = int(size.value)
    rest = item.operands[3 : -1 if "L2::cache_hint" in item.parts else None]
    target_address, source_address = address(cg, target, "shared"), address(cg, source, "global")
    if rest and rest[0] != size:  # a source size equal to the size copies everything
        values = _read_part(cg, item, source_address, size_bytes, rest[0])
    else:
        values = read(cg, source_address, "global", "i32", size_bytes // 4, size_bytes, item)
    write(cg, target_address, "shared", "i32", size_bytes, values, item)


def _read_part(
    cg: CodegenContext, item: Instruction, source_address: Value, size: int, control: Operand
) -> list[Value]:
    """Read the first bytes of each lane's source; the others are 0.

    `control` is the number of bytes to read, or a predicate that is true for no bytes.
    """
    b = cg.b
    if isinstance(control, Reg) and cg.flat.registers.get(control.name) == "pred":

        def bytes_wanted(t: str, result: str, names: list[str]) -> str:
            return b.value(
                f"select {t} {names[0]}, {result} {const(result, 0)}, {result} {const(result, size)}"
            )

        counts = elementwise(cg, "i32", [cg.operand(control, "i1")], bytes_wanted)
    else:
        counts = cg.operand(control, "i32")
    full = vector("i32")
    count = cg.to_vector(counts)
    words = []
    for word in range(size // 4):
        flags = b.value(f"icmp ugt {full} {count}, splat (i32 {4 * word + 3})")
        value = _read_where(cg, item, flags, add_offset(cg, source_address, 4 * word), "i32")
        for byte in range(3):  # words of which only the first one to three bytes are read
            at = 4 * word + byte
            inside = b.value(f"icmp ugt {full} {count}, splat (i32 {at})")
            whole = b.value(f"xor {vector('i1')} {flags}, splat (i1 true)")
            alone = b.value(f"and {vector('i1')} {inside}, {whole}")
            part = _read_where(cg, item, alone, add_offset(cg, source_address, at), "i8")
            part = b.value(f"zext {vector('i8')} {part} to {full}")
            value = b.value(f"or {full} {value}, {b.value(f'shl {full} {part}, splat (i32 {8 * byte})')}")
        words.append(Value("i32", "varying", (value,)))
    return words


def _read_where(cg: CodegenContext, item: Instruction, flags: str, source_address: Value, ty: str) -> str:
    """Read an element of each lane in `flags`; the result is 0 for the other lanes."""
    size = 4 if ty == "i32" else 1
    wanted = cg.for_lanes(item, flags)
    assert wanted.predicate is not None
    (value,) = read(cg, source_address, "global", ty, 1, size, wanted)
    flags = cg.to_vector(cg.predicate(wanted.predicate))
    return cg.b.value(
        f"select {vector('i1')} {flags}, {vector(ty)} {cg.to_vector(value)}, {vector(ty)} zeroinitializer"
    )
