"""Atomic operations on memory (PTX manual, sections 9.7.13.5 and 9.7.13.6).

The lanes execute one after the other, lowest first. Operations on global memory are atomic on the host too,
because another core may run another block. Shared memory belongs to one block, which runs on one core.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.addressing import address, host_pointers, state_space
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import BITS, REGISTER_TYPES, Builder, Value, suffix, vector
from gpulab.simt.instructions.arithmetic.formats import narrow, widen
from gpulab.simt.instructions.arithmetic.half import format_of, is_half
from gpulab.simt.ptx.syntax import Instruction, Mem, vector_elements

RMW = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg", "min": "min", "max": "max",
       "inc": "uinc_wrap", "dec": "udec_wrap"}  # fmt: skip
QUALIFIERS = (
    "{.relaxed|acquire|release|acq_rel}{.cta|cluster|gpu|sys}{.global|shared|shared::cta}{.L2::cache_hint}"
)


@handles(
    f"atom|red{QUALIFIERS}.add|min|max .u32|s32|u64|s64",
    f"atom|red{QUALIFIERS}.and|or|xor .b32|b64",
    f"atom|red{QUALIFIERS}.inc|dec .u32",
    f"atom|red{QUALIFIERS}.add .f32|f64",
    f"atom|red{QUALIFIERS}.add{{.noftz}} .f16|f16x2|bf16|bf16x2",
    f"atom|red{QUALIFIERS}.add.v2|v4 .f32",
    f"atom|red{QUALIFIERS}.add.noftz.v2|v4 .f16x2|bf16x2|f16|bf16",
    f"atom{QUALIFIERS}.exch .b32|b64",
    f"atom{QUALIFIERS}.cas .b16|b32|b64",
)
def atomic(cg: CodegenContext, item: Instruction) -> None:
    """Update one element of each lane, or a vector of elements; `atom` also returns the old values."""
    result = item.op == "atom"
    operands = item.operands[1:] if result else item.operands
    memory = operands[0]
    if not isinstance(memory, Mem):
        raise UnsupportedInstruction(item.text, item.line, "an operand that is not an address")
    operation = next(p for p in item.parts[1:] if p in RMW or p == "cas")
    space, ptx_type = state_space(item), item.parts[-1]
    ty = REGISTER_TYPES[ptx_type]
    count = next((int(p[1:]) for p in item.parts if p in ("v2", "v4")), 1)
    size = BITS[ty] // 8
    addresses = Value("i64", "varying", (cg.to_vector(address(cg, memory, space)),))
    pointers = host_pointers(cg, addresses, space, size * count, item, "updates").vector
    # By operand, a vector of lanes for each element; `cas` has two operands.
    operand_values = [
        [cg.to_vector(cg.operand(p, ty)) for p in vector_elements(o)]
        for o in operands[1 : 3 if operation == "cas" else 2]
    ]
    if any(len(parts) != count for parts in operand_values):
        raise UnsupportedInstruction(item.text, item.line, f"it takes {count} values")
    shared = space == "shared"

    def update(pointer: str, values: list[str]) -> str:
        return _update(cg.b, pointer, ty, operation, ptx_type, values, shared)

    old_values = lane_by_lane(cg, item, pointers, ty, operand_values, update)
    if result:
        for target, value in zip(vector_elements(item.operands[0]), old_values, strict=True):
            cg.assign(target, Value(ty, "varying", (value,)), item.predicate)


def lane_by_lane(
    cg: CodegenContext,
    item: Instruction,
    pointers: str,
    ty: str,
    operand_values: list[list[str]],
    update: Callable[[str, list[str]], str],
) -> list[str]:
    """Emit a loop over the active lanes; return the old values in memory, one vector for each element.

    Parameters
    ----------
    pointers : str
        Vector of the lanes' pointers.
    ty : str
        LLVM type of an element.
    operand_values : list of list of str
        By operand, a vector for each element.
    update : callable
        Emits the update of one element, given its pointer and its operands, and returns the old value.
    """
    b, full, count = cg.b, vector(ty), len(operand_values[0])

    # LLVM would store a whole vector for each access to an element that is not known at compile time.
    def in_memory(vector_type: str, value: str) -> str:
        slot = b.alloca(vector_type, "lanes")
        b.line(f"store {vector_type} {value}, ptr {slot}")
        return slot

    places = in_memory(vector("ptr"), pointers)
    operands = [[in_memory(full, part) for part in parts] for parts in operand_values]
    results = [in_memory(full, "zeroinitializer") for _ in range(count)]
    with cg.each_lane(cg.mask_bits(item.predicate)) as lane:
        pointer = b.value(f"load ptr, ptr {b.value(f'getelementptr ptr, ptr {places}, i32 {lane}')}")
        for number in range(count):
            values = [
                b.value(f"load {ty}, ptr {b.value(f'getelementptr {ty}, ptr {slots[number]}, i32 {lane}')}")
                for slots in operands
            ]
            element = pointer
            if number:
                element = b.value(f"getelementptr i8, ptr {pointer}, i64 {number * BITS[ty] // 8}")
            old = update(element, values)
            place = b.value(f"getelementptr {ty}, ptr {results[number]}, i32 {lane}")
            b.line(f"store {ty} {old}, ptr {place}")
    return [b.value(f"load {full}, ptr {slot}") for slot in results]


def _update(
    b: Builder, pointer: str, ty: str, operation: str, ptx_type: str, values: list[str], shared: bool
) -> str:
    """Emit one lane's update of one element; return the old value."""
    align = BITS[ty] // 8
    if shared:
        old = b.value(f"load {ty}, ptr {pointer}, align {align}")
        b.line(
            f"store {ty} {_combined(b, ty, operation, ptx_type, old, values)}, ptr {pointer}, align {align}"
        )
        return old

    if operation == "cas":
        pair = b.value(
            f"cmpxchg ptr {pointer}, {ty} {values[0]}, {ty} {values[1]} seq_cst seq_cst, align {align}"
        )
        return b.value(f"extractvalue {{ {ty}, i1 }} {pair}, 0")

    if not is_half(ptx_type):
        name = RMW[operation]
        if ty in ("float", "double"):
            name = "f" + name
        elif name in ("min", "max") and ptx_type[0] == "u":
            name = "u" + name
        return b.value(f"atomicrmw {name} ptr {pointer}, {ty} {values[0]} seq_cst, align {align}")

    # The host has no atomic addition of half-precision floats: repeat until no other core interferes.
    start = b.value(f"load atomic {ty}, ptr {pointer} monotonic, align {align}")
    entry, again, done = b.label, b.new_label("again"), b.new_label("swapped")
    b.jump(again)
    b.open(again)
    old, seen = b.name("old"), b.name("seen")
    head = len(b.lines)
    new = _combined(b, ty, operation, ptx_type, old, values)
    pair = b.value(f"cmpxchg ptr {pointer}, {ty} {old}, {ty} {new} seq_cst seq_cst, align {align}")
    b.line(f"{seen} = extractvalue {{ {ty}, i1 }} {pair}, 0")
    b.branch(b.value(f"extractvalue {{ {ty}, i1 }} {pair}, 1"), done, again)
    b.lines.insert(head, f"  {old} = phi {ty} [ {start}, %{entry} ], [ {seen}, %{b.label} ]")
    b.open(done)
    return old


def _combined(b: Builder, ty: str, operation: str, ptx_type: str, old: str, values: list[str]) -> str:
    """Return the value that an update stores."""
    value = values[0]
    if operation == "exch":
        return value
    if operation == "cas":
        return b.value(f"select i1 {b.value(f'icmp eq {ty} {old}, {value}')}, {ty} {values[1]}, {ty} {old}")
    if is_half(ptx_type):
        return _half_sum(b, ty, ptx_type, old, value)
    if ty in ("float", "double"):
        return b.value(f"fadd {ty} {old}, {value}")
    if operation in ("min", "max"):
        name = f"llvm.{'u' if ptx_type[0] == 'u' else 's'}{operation}.{suffix(ty)}"
        return b.call(name, ty, (ty, old), (ty, value))
    if operation == "inc":
        wraps = b.value(f"icmp uge {ty} {old}, {value}")
        return b.value(f"select i1 {wraps}, {ty} 0, {ty} {b.value(f'add {ty} {old}, 1')}")
    if operation == "dec":
        beyond = b.value(f"icmp ugt {ty} {old}, {value}")
        wraps = b.value(f"or i1 {beyond}, {b.value(f'icmp eq {ty} {old}, 0')}")
        return b.value(f"select i1 {wraps}, {ty} {value}, {ty} {b.value(f'sub {ty} {old}, 1')}")
    return b.value(f"{operation} {ty} {old}, {value}")


def _half_sum(b: Builder, ty: str, ptx_type: str, old: str, value: str) -> str:
    form = format_of(ptx_type)
    t, ft = ("i16", "float") if ty == "i16" else ("<2 x i16>", "<2 x float>")
    if ty != t:
        old, value = (b.value(f"bitcast {ty} {x} to {t}") for x in (old, value))
    x, y = (widen(b, t, v, form) for v in (old, value))
    made = narrow(b, ft, b.value(f"fadd {ft} {x}, {y}"), form)
    return b.value(f"bitcast {t} {made} to {ty}") if ty != t else made
