"""Atomic operations on memory."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.access import address, locate, memory_type, space_of
from gpulab.simt.llvm import BITS, Value, vector
from gpulab.simt.ptx import Instruction, Mem
from gpulab.simt.values import Values, handles

ATOMIC_RMW = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg", "min": "min", "max": "max",
              "inc": "uinc_wrap", "dec": "udec_wrap"}  # fmt: skip


@handles("atom", "red")
def atomic(low: Values, item: Instruction) -> None:
    """Lane after lane, each one atomic on the host, since another core may run another block."""
    b = low.b
    result = item.op == "atom"
    operands = item.operands[1:] if result else item.operands
    memory = operands[0]
    assert isinstance(memory, Mem)
    operation = next((p for p in item.parts[1:] if p in ATOMIC_RMW or p == "cas"), None)
    space, ptx_type = space_of(item), item.parts[-1]
    ty = memory_type(item)
    if operation is None or ptx_type.startswith(("f16", "bf16")) or BITS[ty] < 32:
        raise UnsupportedInstruction(item.text, item.line)
    where = address(low, memory, space)
    where = Value("i64", "lanes", (low.lanes(where),))
    each = locate(low, where, space, BITS[ty] // 8, item, "updates").each
    values = [low.lanes(low.operand(o, ty)) for o in operands[1:]]
    mask = low.mask_bits_of(item.predicate)
    before, loop, done = b.new_label("atomic"), b.new_label("lane"), b.new_label("done")
    b.jump(before)
    b.open(before)
    b.branch(b.value(f"icmp ne i32 {mask}, 0"), loop, done)
    full = vector(ty)
    with low.aside(loop):
        left, got = b.name("left"), b.name("got")
        next_left, next_got = b.name("left"), b.name("got")
        b.line(f"{left} = phi i32 [ {mask}, %{before} ], [ {next_left}, %{loop} ]")
        b.line(f"{got} = phi {full} [ zeroinitializer, %{before} ], [ {next_got}, %{loop} ]")
        lane = b.call("llvm.cttz.i32", "i32", ("i32", left), ("i1", "true"))
        pointer = b.value(f"extractelement {vector('ptr')} {each}, i32 {lane}")
        value = b.value(f"extractelement {full} {values[0]}, i32 {lane}")
        size = BITS[ty] // 8
        if operation == "cas":
            swap = b.value(f"extractelement {full} {values[1]}, i32 {lane}")
            pair = b.value(f"cmpxchg ptr {pointer}, {ty} {value}, {ty} {swap} seq_cst seq_cst, align {size}")
            old = b.value(f"extractvalue {{ {ty}, i1 }} {pair}, 0")
        else:
            name = ATOMIC_RMW[operation]
            if ty in ("float", "double") and name != "xchg":
                name = "f" + name
            elif name in ("min", "max") and ptx_type[0] == "u":
                name = "u" + name
            old = b.value(f"atomicrmw {name} ptr {pointer}, {ty} {value} seq_cst, align {size}")
        b.line(f"{next_got} = insertelement {full} {got}, {ty} {old}, i32 {lane}")
        b.line(f"{next_left} = and i32 {left}, {b.value(f'sub i32 {left}, 1')}")
        b.branch(b.value(f"icmp ne i32 {next_left}, 0"), loop, done)
    b.open(done)
    merged = b.phi(full, ("zeroinitializer", before), (next_got, loop))
    if result:
        low.assign(item.operands[0], Value(ty, "lanes", (merged,)), item.predicate)
