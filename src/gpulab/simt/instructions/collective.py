"""Warp-level instructions: shuffles, votes, matches and reductions (PTX manual, section 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.gather_scatter import gather
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Value, suffix, vector
from gpulab.simt.instructions.arithmetic.elementwise import as_constant, signed
from gpulab.simt.ptx.syntax import Instruction, vector_elements

I1, I32 = vector("i1"), vector("i32")
ALL_LANES = Value("i32", "uniform", ("-1",))


@handles("shfl.sync.up|down|bfly|idx .b32", "shfl.up|down|bfly|idx .b32")
def shuffle(cg: CodegenContext, item: Instruction) -> None:
    """Read another lane's register; a lane whose source is out of range reads its own."""
    cg.synchronize_warp(item)
    b = cg.b
    mode = next(p for p in item.parts if p in ("up", "down", "bfly", "idx"))
    targets = vector_elements(item.operands[0])
    source = cg.to_vector(cg.operand(item.operands[1], "i32"))
    amount, control = (cg.operand(o, "i32") for o in item.operands[2:4])
    step, limits = as_constant(amount), as_constant(control)
    if step is not None and limits is not None:
        lanes, inside = _source_lanes(mode, step, limits)
        values = b.pick("i32", source, WARP, lanes)
        in_range = "<" + ", ".join(f"i1 {'true' if yes else 'false'}" for yes in inside) + ">"
    else:
        values, in_range = _shuffle_varying(cg, mode, source, cg.to_vector(amount), cg.to_vector(control))
    cg.assign(targets[0], Value("i32", "varying", (values,)), item.predicate)
    if len(targets) > 1:
        cg.assign(targets[1], Value("i1", "varying", (in_range,)), item.predicate)


def _source_lanes(mode: str, step: int, limits: int) -> tuple[list[int], list[bool]]:
    """Return, for each lane, the source lane and whether it is in range."""
    step, clamp, segment = step & 31, limits & 31, limits >> 8 & 31
    lanes, inside = [], []
    for lane in range(WARP):
        fixed = lane & segment
        limit = fixed | clamp & ~segment
        target = {
            "up": lane - step,
            "down": lane + step,
            "bfly": lane ^ step,
            "idx": fixed | step & ~segment,
        }[mode]
        in_range = target >= limit if mode == "up" else target <= limit
        lanes.append(target & 31 if in_range else lane)
        inside.append(in_range)
    return lanes, inside


def _shuffle_varying(
    cg: CodegenContext, mode: str, source: str, amount: str, control: str
) -> tuple[str, str]:
    b, lane = cg.b, cg.lane_vector

    def op(text: str, x: str, y: str) -> str:
        return b.value(f"{text} {I32} {x}, {y}")

    clamp = op("and", control, "splat (i32 31)")
    segment = op("and", op("lshr", control, "splat (i32 8)"), "splat (i32 31)")
    fixed = op("and", lane, segment)
    amount = op("and", amount, "splat (i32 31)")
    others = op("xor", segment, "splat (i32 -1)")
    limit = op("or", fixed, op("and", clamp, others))
    if mode == "up":
        target = op("sub", lane, amount)
    elif mode == "down":
        target = op("add", lane, amount)
    elif mode == "bfly":
        target = op("xor", lane, amount)
    else:
        target = op("or", fixed, op("and", amount, others))
    in_range = op("icmp sge" if mode == "up" else "icmp sle", target, limit)
    chosen = b.value(f"select {I1} {in_range}, {I32} {target}, {I32} {lane}")
    chosen = op("and", chosen, "splat (i32 31)")
    b.line(f"store {I32} {source}, ptr {cg.scratch}, align 64")
    pointers = b.value(f"getelementptr i32, ptr {cg.scratch}, {I32} {chosen}")
    return gather(b, "i32", pointers, "splat (i1 true)"), in_range


def members(cg: CodegenContext, item: Instruction, position: int) -> Value:
    """Return the participating lanes: the active lanes of the mask operand."""
    b = cg.b
    mask = cg.operand(item.operands[position], "i32") if len(item.operands) > position else ALL_LANES
    active = cg.mask_bits(item.predicate)
    if mask.kind == "uniform":
        return Value("i32", "uniform", (b.value(f"and i32 {mask.ref}, {active}"),))
    lanes = b.value(f"and {I32} {cg.to_vector(mask)}, {b.splat('i32', active)}")
    return Value("i32", "varying", (lanes,))


@handles("vote.sync.all|any|uni .pred", "vote.sync.ballot .b32", "vote.all|any|uni .pred", "vote.ballot .b32")
def vote(cg: CodegenContext, item: Instruction) -> None:
    """Vote over the active lanes of the mask: all, any, uniform or ballot."""
    cg.synchronize_warp(item)
    b = cg.b
    mode = next(p for p in item.parts if p in ("all", "any", "uni", "ballot"))

    flags = cg.pack_mask(cg.to_vector(cg.operand(item.operands[1], "i1")))
    members_mask = members(cg, item, 2)
    is_uniform = members_mask.kind == "uniform"
    t, flag = ("i32", "i1") if is_uniform else (I32, I1)
    yes = b.value(f"and {t} {flags if is_uniform else b.splat('i32', flags)}, {members_mask.ref}")

    results = [yes]
    if mode in ("all", "uni"):
        results.append(b.value(f"icmp eq {t} {yes}, {members_mask.ref}"))
    if mode in ("any", "uni"):
        results.append(b.value(f"icmp ne {t} {yes}, {'0' if is_uniform else 'zeroinitializer'}"))
    if mode == "uni":
        none = b.value(f"xor {flag} {results[2]}, {'true' if is_uniform else 'splat (i1 true)'}")
        results.append(b.value(f"or {flag} {results[1]}, {none}"))

    ty = "i32" if mode == "ballot" else "i1"
    cg.assign(item.operands[0], Value(ty, members_mask.kind, (results[-1],)), item.predicate)


@handles("activemask .b32")
def active_mask(cg: CodegenContext, item: Instruction) -> None:
    cg.assign(item.operands[0], Value("i32", "uniform", (cg.mask_bits(item.predicate),)), item.predicate)


@handles("elect.sync")
def elect(cg: CodegenContext, item: Instruction) -> None:
    """Elect the lowest lane of the mask; return its number and a predicate that is true for it only."""
    cg.synchronize_warp(item)
    b = cg.b
    members_mask = cg.to_vector(members(cg, item, 1))
    leader = b.call(f"llvm.cttz.{suffix(I32)}", I32, (I32, members_mask), ("i1", "false"))
    is_leader = b.value(f"icmp eq {I32} {leader}, {cg.lane_vector}")
    results = Value("i32", "varying", (leader,)), Value("i1", "varying", (is_leader,))
    for target, value in zip(vector_elements(item.operands[0]), results, strict=False):
        cg.assign(target, value, item.predicate)


def group_by_group(
    cg: CodegenContext,
    left: str,
    ty: str,
    each: Callable[[str, str], tuple[str, str]],
    none: str = "zeroinitializer",
) -> str:
    """Emit a loop over groups of lanes.

    `each(lane, result)` emits the code for the group of the first lane that is left. It returns the lanes
    of the group as a mask, and the new result.
    """
    b = cg.b
    before, loop, done = b.new_label("groups"), b.new_label("group"), b.new_label("done")
    b.jump(before)
    b.open(before)
    b.branch(b.value(f"icmp ne i32 {left}, 0"), loop, done)
    with cg.side_block(loop):
        now, following, result = b.name("left"), b.name("left"), b.name("result")
        head = len(b.lines)
        lane = b.call("llvm.cttz.i32", "i32", ("i32", now), ("i1", "true"))
        group, found = each(lane, result)
        own = b.value(f"shl i32 1, {lane}")
        gone = b.value(f"xor i32 {b.value(f'or i32 {group}, {own}')}, -1")
        b.line(f"{following} = and i32 {now}, {gone}")
        b.branch(b.value(f"icmp ne i32 {following}, 0"), loop, done)
        b.lines[head:head] = [
            f"  {now} = phi i32 [ {left}, %{before} ], [ {following}, %{b.label} ]",
            f"  {result} = phi {ty} [ {none}, %{before} ], [ {found}, %{b.label} ]",
        ]
        last = b.label
    b.open(done)
    return b.phi(ty, (none, before), (found, last))


@handles("match.any|all.sync .b32|b64")
def match(cg: CodegenContext, item: Instruction) -> None:
    """Return the lanes of the mask with the same value; for `.all`, the mask if all values are equal."""
    cg.synchronize_warp(item)
    b, ty = cg.b, f"i{item.parts[-1][1:]}"
    values = cg.to_vector(cg.operand(item.operands[1], ty))
    members_mask = cg.to_vector(members(cg, item, 2))
    full = vector(ty)

    def each(lane: str, result: str) -> tuple[str, str]:
        current = b.value(f"extractelement {full} {values}, i32 {lane}")
        same = b.value(f"icmp eq {full} {values}, {b.splat(ty, current)}")
        group = cg.pack_mask(same)
        return group, b.value(f"select {I1} {same}, {I32} {b.splat('i32', group)}, {I32} {result}")

    equal = group_by_group(cg, cg.mask_bits(item.predicate), I32, each)
    equal_members = b.value(f"and {I32} {equal}, {members_mask}")
    targets = vector_elements(item.operands[0])
    if "any" in item.parts:
        cg.assign(targets[0], Value("i32", "varying", (equal_members,)), item.predicate)
        return
    all_equal = b.value(f"icmp eq {I32} {equal_members}, {members_mask}")
    mask = b.value(f"select {I1} {all_equal}, {I32} {members_mask}, {I32} zeroinitializer")
    results = Value("i32", "varying", (mask,)), Value("i1", "varying", (all_equal,))
    for target, value in zip(targets, results, strict=False):
        cg.assign(target, value, item.predicate)


NEUTRAL = {
    "add": 0,
    "or": 0,
    "xor": 0,
    "and": -1,
    "umin": -1,
    "umax": 0,
    "smin": (1 << 31) - 1,
    "smax": -(1 << 31),
}


@handles("redux.sync.add|min|max .u32|s32", "redux.sync.and|or|xor .b32")
def reduce(cg: CodegenContext, item: Instruction) -> None:
    """Reduce the values of the lanes of the mask."""
    cg.synchronize_warp(item)
    b, name = cg.b, item.parts[2]
    if name in ("min", "max"):
        name = ("s" if signed(item.parts[-1]) else "u") + name
    values = cg.to_vector(cg.operand(item.operands[1], "i32"))

    def total(lanes: str) -> str:
        selected = b.value(
            f"select {I1} {cg.unpack_mask(lanes)}, {I32} {values}, {I32} splat (i32 {NEUTRAL[name]})"
        )
        return b.call(f"llvm.vector.reduce.{name}.{suffix(I32)}", "i32", (I32, selected))

    members_mask = members(cg, item, 2)
    if members_mask.kind == "uniform":
        cg.assign(item.operands[0], Value("i32", "uniform", (total(members_mask.ref),)), item.predicate)
        return

    def each(lane: str, result: str) -> tuple[str, str]:
        group = b.value(f"extractelement {I32} {members_mask.ref}, i32 {lane}")
        spread = b.splat("i32", total(group))
        return group, b.value(f"select {I1} {cg.unpack_mask(group)}, {I32} {spread}, {I32} {result}")

    reduced = group_by_group(cg, cg.mask_bits(item.predicate), I32, each)
    cg.assign(item.operands[0], Value("i32", "varying", (reduced,)), item.predicate)
