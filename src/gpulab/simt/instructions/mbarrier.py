"""`mbarrier`: barriers that are objects in shared memory (PTX manual, section 9.7.13.15).

An object counts the pending arrivals of its phase and the bytes of pending transactions (copies by
`cp.async.bulk`). The phase is complete, and the next one starts, when both are 0. PTX does not specify the
layout of the object's 64 bits. From bit 0, these are the pending arrivals (20 bits), the arrivals that each
phase expects (20 bits), the pending bytes (22 bits, signed) and, in bit 63, the parity of the phase. The
`state` that an arrival returns is the object before it.

No instruction here blocks: a kernel polls in a loop, and such a loop yields to other lanes (see
`reconvergence.find_spin_loops`).
"""

from __future__ import annotations

from dataclasses import replace

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.addressing import add_offset, address, host_pointers, state_space
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Builder, Value, vector
from gpulab.simt.instructions.arithmetic.elementwise import const, elementwise
from gpulab.simt.instructions.atomics import lane_by_lane
from gpulab.simt.instructions.loads_stores import read, write
from gpulab.simt.ptx.syntax import Instruction, Mem, Operand
from gpulab.simt.runtime import layout

COUNT_BITS = 20
COUNT = (1 << COUNT_BITS) - 1
BYTES_AT = 2 * COUNT_BITS
BYTES = (1 << 22) - 1 << BYTES_AT
PHASE = -(1 << 63)
ZERO, ONE = (Value("i32", "uniform", (count,)) for count in "01")
SHARED = "{.shared|shared::cta} .b64"
CLUSTER = "{.shared|shared::cta|shared::cluster} .b64"  # without clusters, a block is a cluster of its own


def _object_address(cg: CodegenContext, item: Instruction, operand: int) -> Value:
    """Return the object's address in shared memory; a generic address must be in its window."""
    memory = item.operands[operand]
    if not isinstance(memory, Mem):
        raise UnsupportedInstruction(item.text, item.line, "an operand that is not an address")
    space = "shared" if "shared::cluster" in item.parts else state_space(item)
    addresses = address(cg, memory, space)
    return addresses if space == "shared" else add_offset(cg, addresses, -layout.SHARED_WINDOW)


@handles(f"mbarrier.init{SHARED}", f"mbarrier.inval{SHARED}")
def begin(cg: CodegenContext, item: Instruction) -> None:
    """Initialize an object with a thread count, or invalidate it."""
    b = cg.b

    def fresh(t: str, wide: str, names: list[str]) -> str:
        count = b.value(f"zext {t} {b.value(f'and {t} {names[0]}, {const(t, COUNT)}')} to {wide}")
        return b.value(f"or {wide} {count}, {b.value(f'shl {wide} {count}, {const(wide, COUNT_BITS)}')}")

    count = cg.operand(item.operands[1], "i32") if "init" in item.parts else ZERO
    value = elementwise(cg, "i64", [count], fresh)
    write(cg, _object_address(cg, item, 0), "shared", "i64", 8, [value], item)


@handles(
    f"mbarrier.arrive|arrive_drop{{.release|relaxed}}{{.cta|cluster}}{SHARED}",
    f"mbarrier.arrive|arrive_drop.noComplete{{.release}}{{.cta}}{SHARED}",
)
def arrive(cg: CodegenContext, item: Instruction) -> None:
    """Count an arrival of each lane; the result is the state before it."""
    count = cg.operand(item.operands[2], "i32") if len(item.operands) > 2 else ONE
    (state,) = _arrivals(cg, item, _object_address(cg, item, 1), count, drop="arrive_drop" in item.parts)
    cg.assign(item.operands[0], Value("i64", "varying", (state,)), item.predicate)


@handles(f"mbarrier.arrive|arrive_drop.expect_tx{{.release|relaxed}}{{.cta|cluster}}{CLUSTER}")
def arrive_and_expect(cg: CodegenContext, item: Instruction) -> None:
    """Add bytes to those that the phase waits for, then count an arrival of each lane."""
    expected = cg.operand(item.operands[2], "i32")
    drop = "arrive_drop" in item.parts
    (state,) = _arrivals(cg, item, _object_address(cg, item, 1), ONE, drop, expected)
    cg.assign(item.operands[0], Value("i64", "varying", (state,)), item.predicate)


@handles(f"mbarrier.expect_tx|complete_tx{{.relaxed}}{{.cta|cluster}}{CLUSTER}")
def transaction(cg: CodegenContext, item: Instruction) -> None:
    """Add bytes to those that the phase waits for, or subtract them."""

    def signed(t: str, _: str, names: list[str]) -> str:
        return cg.b.value(f"sub {t} {const(t, 0)}, {names[0]}") if "complete_tx" in item.parts else names[0]

    size = elementwise(cg, "i32", [cg.operand(item.operands[1], "i32")], signed)
    _arrivals(cg, item, _object_address(cg, item, 0), ZERO, False, size)


def complete_bytes(cg: CodegenContext, item: Instruction, barrier: Operand, size: Operand) -> None:
    """Subtract the bytes that each lane has copied from those that the object at `barrier` waits for."""
    parts = ("mbarrier", "complete_tx", "shared::cta", "b64")
    transaction(cg, replace(item, parts=parts, operands=(barrier, size)))


@handles(f"cp.async.mbarrier.arrive{{.noinc}}{SHARED}")
def arrive_after_copies(cg: CodegenContext, item: Instruction) -> None:
    """Count an arrival that waits for the thread's asynchronous copies, which are complete already."""
    cg.instrumentation.on_async_copy(cg, item)
    object_address = _object_address(cg, item, 0)
    if "noinc" in item.parts:
        _arrivals(cg, item, object_address, ONE, drop=False)
    else:  # the phase expects one more arrival, which occurs at once
        host_pointers(cg, object_address, "shared", 8, item, "updates")


def _arrivals(
    cg: CodegenContext,
    item: Instruction,
    object_address: Value,
    count: Value,
    drop: bool,
    expected: Value = ZERO,
) -> list[str]:
    """Emit the arrivals of the active lanes one after the other; return the state before each.

    expected: bytes that each lane adds to those that the phase waits for.
    """
    b = cg.b
    addresses = Value("i64", "varying", (cg.to_vector(object_address),))
    pointers = host_pointers(cg, addresses, "shared", 8, item, "updates").vector
    counts, sizes = (
        b.value(f"sext {vector('i32')} {cg.to_vector(value)} to {vector('i64')}")
        for value in (count, expected)
    )

    def update(pointer: str, values: list[str]) -> str:
        old = b.value(f"load i64, ptr {pointer}, align 8")
        b.line(f"store i64 {_after(b, old, *values, drop=drop)}, ptr {pointer}, align 8")
        return old

    return lane_by_lane(cg, item, pointers, "i64", [[counts], [sizes]], update)


def _after(b: Builder, before: str, count: str, size: str, *, drop: bool) -> str:
    """Return the state of the object after `count` more arrivals, waiting for `size` more bytes."""
    moved = b.value(f"add i64 {before}, {b.value(f'shl i64 {size}, {BYTES_AT}')}")
    left = b.value(f"and i64 {moved}, {BYTES}")
    old = b.value(f"or i64 {b.value(f'and i64 {before}, {~BYTES}')}, {left}")
    pending = b.value(f"and i64 {old}, {COUNT}")
    fewer = b.value(f"sub i64 {old}, {count}")
    expected = b.value(f"lshr i64 {old}, {COUNT_BITS}")
    if drop:
        expected = b.value(f"sub i64 {expected}, {count}")
        fewer = b.value(f"sub i64 {fewer}, {b.value(f'shl i64 {count}, {COUNT_BITS}')}")
    expected = b.value(f"and i64 {expected}, {COUNT}")
    both = b.value(f"or i64 {expected}, {b.value(f'shl i64 {expected}, {COUNT_BITS}')}")
    phase = b.value(f"and i64 {b.value(f'xor i64 {old}, {PHASE}')}, {PHASE}")
    arrived = b.value(f"icmp ule i64 {pending}, {count}")
    last = b.value(f"and i1 {arrived}, {b.value(f'icmp eq i64 {left}, 0')}")
    return b.value(f"select i1 {last}, i64 {b.value(f'or i64 {phase}, {both}')}, i64 {fewer}")


@handles(f"mbarrier.test_wait|try_wait{{.parity}}{{.acquire|relaxed}}{{.cta|cluster}}{SHARED}")
def test(cg: CodegenContext, item: Instruction) -> None:
    """Test whether a phase is complete: that of an arrival's state, or the one with a parity."""
    b = cg.b
    where = _object_address(cg, item, 1)
    (now,) = read(cg, where, "shared", "i64", 1, 8, item)
    cg.instrumentation.on_phase_test(cg, item, where)
    if "parity" in item.parts:

        def as_phase(t: str, wide: str, names: list[str]) -> str:
            return b.value(f"shl {wide} {b.value(f'zext {t} {names[0]} to {wide}')}, {const(wide, 63)}")

        expected_state = elementwise(cg, "i64", [cg.operand(item.operands[2], "i32")], as_phase)
    else:
        expected_state = cg.operand(item.operands[2], "i64")

    def differs(t: str, _flag: str, names: list[str]) -> str:
        return b.value(f"icmp slt {t} {b.value(f'xor {t} {names[0]}, {names[1]}')}, {const(t, 0)}")

    cg.assign(item.operands[0], elementwise(cg, "i1", [now, expected_state], differs), item.predicate)


@handles("mbarrier.pending_count .b64")
def pending_count(cg: CodegenContext, item: Instruction) -> None:
    """Return the number of pending arrivals in a state."""
    b = cg.b

    def make(t: str, narrow: str, names: list[str]) -> str:
        return b.value(f"trunc {t} {b.value(f'and {t} {names[0]}, {const(t, COUNT)}')} to {narrow}")

    state = cg.operand(item.operands[1], "i64")
    cg.assign(item.operands[0], elementwise(cg, "i32", [state], make), item.predicate)
