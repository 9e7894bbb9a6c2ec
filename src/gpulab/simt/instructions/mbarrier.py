"""`mbarrier`: barriers that are objects in shared memory (PTX manual, section 9.7.13.15).

An object counts the arrivals that its phase still waits for; the one that comes last begins the next
phase. The 64 bits are ours to lay out: 20 for the arrivals pending, 20 for those that each phase expects,
and one for the parity of the phase. What an arrival gives as `state` is the object as it was before.

No instruction here blocks: a kernel polls in a loop, and such a loop yields to other lanes (see
`reconvergence.find_spin_loops`).
"""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.addressing import add_offset, address, host_pointers, state_space
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Builder, Value, vector
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise
from gpulab.simt.instructions.atomics import lane_by_lane
from gpulab.simt.instructions.loads_stores import read, write
from gpulab.simt.ptx.syntax import Instruction, Mem
from gpulab.simt.runtime import layout

COUNT_BITS = 20
COUNT = (1 << COUNT_BITS) - 1
PHASE = -(1 << 63)
NONE, ONE = (Value("i32", "uniform", (count,)) for count in "01")
SHARED = "{.shared|shared::cta} .b64"


def _place(cg: CodegenContext, item: Instruction, operand: int) -> Value:
    """The object's address in shared memory, where also a generic address must lie."""
    memory = item.operands[operand]
    if not isinstance(memory, Mem):
        raise UnsupportedInstruction(item.text, item.line, "an operand that is no address")
    space = state_space(item)
    where = address(cg, memory, space)
    return where if space == "shared" else add_offset(cg, where, -layout.SHARED_WINDOW)


@handles(f"mbarrier.init{SHARED}", f"mbarrier.inval{SHARED}")
def begin(cg: CodegenContext, item: Instruction) -> None:
    b = cg.b

    def fresh(t: str, wide: str, names: list[str]) -> str:
        count = b.value(f"zext {t} {b.value(f'and {t} {names[0]}, {const(t, COUNT)}')} to {wide}")
        return b.value(f"or {wide} {count}, {b.value(f'shl {wide} {count}, {const(wide, COUNT_BITS)}')}")

    count = cg.operand(item.operands[1], "i32") if "init" in item.parts else NONE
    value = elementwise(cg, "i64", [count], fresh)
    write(cg, _place(cg, item, 0), "shared", "i64", 8, [value], item)


@handles(
    f"mbarrier.arrive|arrive_drop{{.release|relaxed}}{{.cta|cluster}}{SHARED}",
    f"mbarrier.arrive|arrive_drop.noComplete{{.release}}{{.cta}}{SHARED}",
)
def arrive(cg: CodegenContext, item: Instruction) -> None:
    many = item.operands[2:]
    count = cg.operand(many[0], "i32") if many else ONE
    (state,) = _arrivals(cg, item, _place(cg, item, 1), count, drop="arrive_drop" in item.parts)
    cg.assign(item.operands[0], Value("i64", "varying", (state,)), item.predicate)


@handles(f"cp.async.mbarrier.arrive{{.noinc}}{SHARED}")
def arrive_after_copies(cg: CodegenContext, item: Instruction) -> None:
    """An arrival as soon as the thread's copies are complete: they are."""
    cg.instrumentation.on_async_copy(cg, item)
    place = _place(cg, item, 0)
    if "noinc" in item.parts:
        _arrivals(cg, item, place, ONE, drop=False)
    else:  # the phase expects one more, which comes at once
        host_pointers(cg, place, "shared", 8, item, "updates")


def _arrivals(cg: CodegenContext, item: Instruction, place: Value, count: Value, drop: bool) -> list[str]:
    """Lane after lane; gives the objects as each lane found them."""
    b = cg.b
    where = Value("i64", "varying", (cg.to_vector(place),))
    each = host_pointers(cg, where, "shared", 8, item, "updates").vector
    wide = b.value(f"zext {vector('i32')} {cg.to_vector(count)} to {vector('i64')}")

    def update(pointer: str, values: list[str]) -> str:
        old = b.value(f"load i64, ptr {pointer}, align 8")
        b.line(f"store i64 {_after(b, old, values[0], drop)}, ptr {pointer}, align 8")
        return old

    return lane_by_lane(cg, item, each, "i64", [[wide]], update)


def _after(b: Builder, old: str, count: str, drop: bool) -> str:
    """The object when `count` threads more have come."""
    pending = b.value(f"and i64 {old}, {COUNT}")
    fewer = b.value(f"sub i64 {old}, {count}")
    expected = b.value(f"lshr i64 {old}, {COUNT_BITS}")
    if drop:
        expected = b.value(f"sub i64 {expected}, {count}")
        fewer = b.value(f"sub i64 {fewer}, {b.value(f'shl i64 {count}, {COUNT_BITS}')}")
    expected = b.value(f"and i64 {expected}, {COUNT}")
    both = b.value(f"or i64 {expected}, {b.value(f'shl i64 {expected}, {COUNT_BITS}')}")
    phase = b.value(f"and i64 {b.value(f'xor i64 {old}, {PHASE}')}, {PHASE}")
    last = b.value(f"icmp ule i64 {pending}, {count}")
    return b.value(f"select i1 {last}, i64 {b.value(f'or i64 {phase}, {both}')}, i64 {fewer}")


@handles(f"mbarrier.test_wait|try_wait{{.parity}}{{.acquire|relaxed}}{{.cta|cluster}}{SHARED}")
def test(cg: CodegenContext, item: Instruction) -> None:
    """Whether a phase is complete: of an arrival's `state`, or the one of the given parity."""
    b = cg.b
    (now,) = read(cg, _place(cg, item, 1), "shared", "i64", 1, 8, item)
    if "parity" in item.parts:

        def as_phase(t: str, wide: str, names: list[str]) -> str:
            return b.value(f"shl {wide} {b.value(f'zext {t} {names[0]} to {wide}')}, {const(wide, 63)}")

        given = elementwise(cg, "i64", [cg.operand(item.operands[2], "i32")], as_phase)
    else:
        given = cg.operand(item.operands[2], "i64")

    def differs(t: str, _flag: str, names: list[str]) -> str:
        return b.value(f"icmp slt {t} {b.value(f'xor {t} {names[0]}, {names[1]}')}, {const(t, 0)}")

    cg.assign(item.operands[0], elementwise(cg, "i1", [now, given], differs), item.predicate)


@handles("mbarrier.pending_count .b64")
def pending_count(cg: CodegenContext, item: Instruction) -> None:
    b = cg.b

    def make(t: str, narrow: str, names: list[str]) -> str:
        return b.value(f"trunc {t} {b.value(f'and {t} {names[0]}, {const(t, COUNT)}')} to {narrow}")

    state = cg.operand(item.operands[1], "i64")
    cg.assign(item.operands[0], elementwise(cg, "i32", [state], make), item.predicate)
