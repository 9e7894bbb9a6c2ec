"""Executing two warps of a block at once between two barriers.

The additions to a sum depend on each other. The host needs about eight independent operations to use its
units fully: two units start an operation in every cycle, and an operation takes four cycles. A warp that adds
to one sum of floats has four independent operations with AVX2, and two with AVX-512. Two warps have twice as
many, and load the elements that they both read only once.

If two neighbouring warps resume at the same complete barrier (see `suspension`), and straight-line code leads
from there to another complete barrier, their instructions alternate. The code only computes and loads, and
all loads are checked before the first of them. If the check fails, or if the second warp has to resume
elsewhere, the first one runs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gpulab.simt.analysis.basic_blocks import Block, reads, registers_of, writes
from gpulab.simt.analysis.divergence import WARP, lead_axis
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.addressing import address
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import lower_instruction
from gpulab.simt.codegen.ir import BITS, REGISTER_TYPES, Value
from gpulab.simt.codegen.joint_loads import ARITHMETIC, LoadSpan, SpanCheck, all_of, loads_parameter, may_join
from gpulab.simt.codegen.suspension import (
    BLOCKED,
    RESUME,
    SITE,
    STATE_BYTES,
    SuspendPoint,
    arrive,
    locate_save_area,
    save_registers,
    saved_register,
    warp_state,
)
from gpulab.simt.ptx.syntax import Instruction

__all__ = ["emit_pair", "pairs_at"]

INDEPENDENT = 8  # vector operations that the host executes at once: 2 units, 4 cycles each
LONG = 8  # operations; the processor overlaps shorter chains with what precedes and follows them
FLOATING = {"add", "sub", "mul", "fma", "mad"}


@dataclass
class _Member:
    """The attributes of `CodegenContext` that differ between the warps of a pair.

    Attributes
    ----------
    warp, state, area : str
        Its number, and pointers to its state and to its save area.
    slots, cache, vectors, prefetched
        Its values of the attributes of these names.
    pointers : dict
        Host pointers of the loads, by the identity of their span.
    """

    warp: str
    state: str
    area: str
    slots: dict[str, Value] = field(default_factory=dict)
    cache: dict[str, Value] = field(default_factory=dict)
    vectors: dict[Value, str] = field(default_factory=dict)
    prefetched: dict[tuple[int, str], set[int]] = field(default_factory=dict)
    pointers: dict[int, list[str]] = field(default_factory=dict)


def pairs_at(cg: CodegenContext, point: SuspendPoint) -> bool:
    """Return True if it pays to execute two warps at once from a suspend point to the next one."""
    if not (cg.pairs_warps and point.complete and cg.threads > WARP):
        return False
    block = cg.flow.blocks[point.target]
    following = _next_barrier(cg, block)
    return (
        following is not None
        and following.complete
        and block.warp_sync is None
        and not any((block.number, index) in cg.flow.widening_sites for index in range(len(block.code)))
        and all(_only_computes(cg, item) for item in block.code)
        and _waits_for_results(cg, block)
    )


def _next_barrier(cg: CodegenContext, block: Block) -> SuspendPoint | None:
    """Return the barrier to which the code of a block leads; None if it leads elsewhere."""
    if block.end == "jump":
        block = cg.flow.blocks[block.targets[0]]
        if block.code or block.number in cg.saved_before_loop:
            return None
    return next((p for p in cg.suspend_points if p.barrier is not None and p.barrier is block.barrier), None)


def _only_computes(cg: CodegenContext, item: Instruction) -> bool:
    """Return True for an instruction that computes or loads, without special registers of one warp."""
    computes = item.op in ARITHMETIC or loads_parameter(item) or may_join(item)
    return computes and cg.flat.registers.keys() | _common(cg) >= set(registers_of(item.operands))


def _common(cg: CodegenContext) -> set[str]:
    """Return special registers that have the same values in all warps of a block."""
    common = {"%laneid", *(f"%{size}.{axis}" for size in ("ntid", "ctaid", "nctaid") for axis in "xyz")}
    block = cg.launch_constants.block
    lead = lead_axis(block)
    if block["xyz".index(lead)] == cg.width:  # every row begins with index 0
        common.add(f"%tid.{lead}")
    return common


def _waits_for_results(cg: CodegenContext, block: Block) -> bool:
    """Return True if fewer floating-point operations are independent than the host can execute at once."""
    register_bytes = 64 if jit.has_gather() else 32
    depths: dict[str, int] = {}
    operations = longest = 0
    for item in block.code:
        depth = max((depths.get(name, 0) for name in reads(item)), default=0)
        result = writes(item)
        if item.op in FLOATING and item.parts[-1] in ("f32", "f64") and cg.shape(result[0]).kind == "varying":
            depth += 1
            operations += WARP * BITS[REGISTER_TYPES[item.parts[-1]]] // 8 // register_bytes
        depths |= dict.fromkeys(result, depth)
        longest = max(longest, depth)
    return longest >= LONG and operations < INDEPENDENT * longest


def emit_pair(cg: CodegenContext, point: SuspendPoint) -> None:
    """Emit the code of two warps after the barrier `point`; the block has been lowered for one warp."""
    b = cg.b
    block = cg.flow.blocks[point.target]
    alone = f"alone{point.number}"
    cg.invalidate_cache()
    b.open(f"pair{point.number}")
    loads = {
        index: cg.joint_loads[block.number, index]
        for index, item in enumerate(block.code)
        if item.op == "ld" and not loads_parameter(item)
    }
    batches = {load.batch.name: load.batch for load in loads.values() if load is not None}
    if None in loads.values() or len(batches) > 1:
        b.jump(alone)
        return

    following = _next_barrier(cg, block)
    assert following is not None
    members = _members(cg, point, following, alone)
    for member in members:
        with _lowering(cg, member):
            cg.cache = {name: saved_register(cg, name) for name in point.live}
    cg.block_number = block.number
    spans = [span for batch in batches.values() for span in batch.spans]
    shared = _shared(cg, spans)
    for cg.instruction_index, item in enumerate(block.code):
        cg.line = item.line
        load = loads.get(cg.instruction_index)
        if load is not None and not members[0].pointers:
            _check(cg, spans, shared, members, alone)
        for member in members:
            if load is not None and load.span in shared and member is not members[0]:
                member.cache |= {name: members[0].cache[name] for name in writes(item)}
                continue
            with _lowering(cg, member, spans):
                lower_instruction(cg, item)

    site = cg.barrier_sites[following.number]
    for member in members:
        with _lowering(cg, member):
            save_registers(cg, following.saved)
            b.line(f"store i32 {site}, ptr {warp_state(cg, SITE)}")
    b.line(f"store i32 {following.number}, ptr {members[0].state}")
    cg.store_field("running", b.value(f"zext i32 {members[1].warp} to i64"))
    with _lowering(cg, members[1]):
        arrive(cg, following, members[1].warp)


def _members(cg: CodegenContext, point: SuspendPoint, following: SuspendPoint, alone: str) -> list[_Member]:
    """Emit a branch to `alone` that is taken if the next warp cannot join; return the two warps."""
    b = cg.b
    number = b.value("add i32 %warp, 1")
    exists = b.value(f"icmp ult i32 {number}, {cg.constant('i32', 'warp_count')}")
    # The warps before the pair must have arrived at the same barrier as the pair will.
    first = b.value("icmp eq i32 %place, 0")
    agrees = b.value(f"or i1 {first}, {b.value(f'icmp eq i32 %place, {following.number}')}")
    some, both = b.new_label("some"), b.new_label("both")
    b.branch(b.value(f"and i1 {exists}, {agrees}"), some, alone, likely=True)

    b.open(some)
    resume = b.value(f"load i32, ptr {warp_state(cg, STATE_BYTES + RESUME)}")
    blocked = b.value(f"load i32, ptr {warp_state(cg, STATE_BYTES + BLOCKED)}")
    same = b.value(f"icmp eq i32 {resume}, {point.number}")
    free = b.value(f"icmp eq i32 {blocked}, 0")
    b.branch(b.value(f"and i1 {same}, {free}"), both, alone, likely=True)

    b.open(both)
    next_area, next_state = locate_save_area(cg, number), warp_state(cg, STATE_BYTES)
    return [_Member("%warp", cg.warp_state, cg.save_area), _Member(number, next_state, next_area)]


def _shared(cg: CodegenContext, spans: Iterable[LoadSpan]) -> list[LoadSpan]:
    """Return the loads that probably have the same addresses in all warps of the block.

    Their addresses are computed from numbers that all warps have in common, wherever these are assigned.
    """
    definitions: dict[str, list[Instruction]] = {}
    for item in (item for block in cg.flow.blocks for item in block.code):
        for name in writes(item):
            definitions.setdefault(name, []).append(item)

    common = _common(cg)

    def depends_on_warp(span: LoadSpan) -> bool:
        pending, seen = list(registers_of([span.memory])), set[str]()
        while pending:
            name = pending.pop()
            if name in seen or name in common:
                continue
            seen.add(name)
            sources = definitions.get(name, [])
            if not sources or not all(item.op in ARITHMETIC or loads_parameter(item) for item in sources):
                return True
            pending += (other for item in sources for other in reads(item))
        return False

    return [span for span in spans if not depends_on_warp(span)]


def _check(
    cg: CodegenContext, spans: list[LoadSpan], shared: list[LoadSpan], members: list[_Member], alone: str
) -> None:
    """Emit the check of all loads, and that both warps have the same addresses of `shared` loads."""
    b = cg.b
    bases: list[list[Value]] = []
    for member in members:
        with _lowering(cg, member):
            bases.append([address(cg, span.memory, span.space) for span in spans])

    checks: list[dict[int, SpanCheck]] = [{}, {}]
    good: list[str] = []
    for span, first, second in zip(spans, *bases, strict=True):
        checks[0][id(span)] = checks[1][id(span)] = span.check(cg, first)
        if span in shared:
            pairs = zip(first.refs, second.refs, strict=True)
            good += [b.value(f"icmp eq i64 {one}, {other}") for one, other in dict.fromkeys(pairs)]
        else:
            checks[1][id(span)] = span.check(cg, second)
    good += [check.inside for each in checks for check in each.values()]
    near = b.new_label("near")
    b.branch(all_of(b, dict.fromkeys(good)), near, alone, likely=True)

    b.open(near)
    for member, each in zip(members, checks, strict=True):
        member.pointers = {span: check.pointers() for span, check in each.items()}


@contextmanager
def _lowering(cg: CodegenContext, member: _Member, spans: Iterable[LoadSpan] = ()) -> Iterator[None]:
    """Let `cg` and the loads of `spans` refer to a warp of the pair."""
    before = cg.slots, cg.cache, cg.vectors, cg.prefetched, cg.warp_state, cg.save_area
    cg.slots, cg.cache, cg.vectors = member.slots, member.cache, member.vectors
    cg.prefetched, cg.warp_state, cg.save_area = member.prefetched, member.state, member.area
    for span in spans:
        span.pointers = member.pointers.get(id(span), [])
    yield
    member.cache, member.vectors = cg.cache, cg.vectors
    cg.slots, cg.cache, cg.vectors, cg.prefetched, cg.warp_state, cg.save_area = before
