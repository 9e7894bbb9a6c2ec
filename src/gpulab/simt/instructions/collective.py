"""Between the lanes of a warp: shuffles, votes, matches and reductions (PTX manual, section 9.7.13)."""

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
EVERYONE = Value("i32", "uniform", ("-1",))


@handles("shfl.sync.up|down|bfly|idx .b32", "shfl.up|down|bfly|idx .b32")
def shuffle(cg: CodegenContext, item: Instruction) -> None:
    """Read another lane's register; where there is no such lane, one's own."""
    cg.instrumentation.on_warp_sync(cg, item)
    b = cg.b
    mode = next(p for p in item.parts if p in ("up", "down", "bfly", "idx"))
    targets = vector_elements(item.operands[0])
    source = cg.to_vector(cg.operand(item.operands[1], "i32"))
    amount, control = (cg.operand(o, "i32") for o in item.operands[2:4])
    step, limits = as_constant(amount), as_constant(control)
    if step is not None and limits is not None:
        lanes, inside = _source_lanes(mode, step, limits)
        got = b.pick("i32", source, WARP, lanes)
        good = "<" + ", ".join(f"i1 {'true' if yes else 'false'}" for yes in inside) + ">"
    else:
        got, good = _shuffled(cg, mode, source, cg.to_vector(amount), cg.to_vector(control))
    cg.assign(targets[0], Value("i32", "varying", (got,)), item.predicate)
    if len(targets) > 1:
        cg.assign(targets[1], Value("i1", "varying", (good,)), item.predicate)


def _source_lanes(mode: str, step: int, limits: int) -> tuple[list[int], list[bool]]:
    """For each lane, the lane it reads and whether that one was in its segment."""
    step, clamp, segment = step & 31, limits & 31, limits >> 8 & 31
    lanes, inside = [], []
    for lane in range(WARP):
        fixed = lane & segment
        most = fixed | clamp & ~segment
        wanted = {
            "up": lane - step,
            "down": lane + step,
            "bfly": lane ^ step,
            "idx": fixed | step & ~segment,
        }[mode]
        good = wanted >= most if mode == "up" else wanted <= most
        lanes.append(wanted & 31 if good else lane)
        inside.append(good)
    return lanes, inside


def _shuffled(cg: CodegenContext, mode: str, source: str, amount: str, control: str) -> tuple[str, str]:
    b, lane = cg.b, cg.lane_vector

    def op(text: str, x: str, y: str) -> str:
        return b.value(f"{text} {I32} {x}, {y}")

    clamp = op("and", control, "splat (i32 31)")
    segment = op("and", op("lshr", control, "splat (i32 8)"), "splat (i32 31)")
    fixed = op("and", lane, segment)
    amount = op("and", amount, "splat (i32 31)")
    others = op("xor", segment, "splat (i32 -1)")
    most = op("or", fixed, op("and", clamp, others))
    if mode == "up":
        wanted = op("sub", lane, amount)
    elif mode == "down":
        wanted = op("add", lane, amount)
    elif mode == "bfly":
        wanted = op("xor", lane, amount)
    else:
        wanted = op("or", fixed, op("and", amount, others))
    good = op("icmp sge" if mode == "up" else "icmp sle", wanted, most)
    chosen = b.value(f"select {I1} {good}, {I32} {wanted}, {I32} {lane}")
    chosen = op("and", chosen, "splat (i32 31)")
    b.line(f"store {I32} {source}, ptr {cg.scratch}, align 64")
    pointers = b.value(f"getelementptr i32, ptr {cg.scratch}, {I32} {chosen}")
    return gather(b, "i32", pointers, "splat (i1 true)"), good


def members(cg: CodegenContext, item: Instruction, place: int) -> Value:
    """The lanes that take part: those of the mask that are active."""
    b = cg.b
    given = cg.operand(item.operands[place], "i32") if len(item.operands) > place else EVERYONE
    here = cg.mask_bits(item.predicate)
    if given.kind == "uniform":
        return Value("i32", "uniform", (b.value(f"and i32 {given.ref}, {here}"),))
    return Value("i32", "varying", (b.value(f"and {I32} {cg.to_vector(given)}, {b.splat('i32', here)}"),))


@handles("vote.sync.all|any|uni .pred", "vote.sync.ballot .b32", "vote.all|any|uni .pred", "vote.ballot .b32")
def vote(cg: CodegenContext, item: Instruction) -> None:
    """all, any, uniform or ballot over the active lanes of the mask."""
    cg.instrumentation.on_warp_sync(cg, item)
    b = cg.b
    mode = next(p for p in item.parts if p in ("all", "any", "uni", "ballot"))
    flags = cg.pack_mask(cg.to_vector(cg.operand(item.operands[1], "i1")))
    among = members(cg, item, 2)
    one = among.kind == "uniform"
    t, flag = ("i32", "i1") if one else (I32, I1)
    yes = b.value(f"and {t} {flags if one else b.splat('i32', flags)}, {among.ref}")
    results = [yes]
    if mode in ("all", "uni"):
        results.append(b.value(f"icmp eq {t} {yes}, {among.ref}"))
    if mode in ("any", "uni"):
        results.append(b.value(f"icmp ne {t} {yes}, {'0' if one else 'zeroinitializer'}"))
    if mode == "uni":
        none = b.value(f"xor {flag} {results[2]}, {'true' if one else 'splat (i1 true)'}")
        results.append(b.value(f"or {flag} {results[1]}, {none}"))
    ty = "i32" if mode == "ballot" else "i1"
    cg.assign(item.operands[0], Value(ty, among.kind, (results[-1],)), item.predicate)


@handles("activemask .b32")
def active_mask(cg: CodegenContext, item: Instruction) -> None:
    cg.assign(item.operands[0], Value("i32", "uniform", (cg.mask_bits(item.predicate),)), item.predicate)


@handles("elect.sync")
def elect(cg: CodegenContext, item: Instruction) -> None:
    """The lowest lane of the mask is the leader: its number, and a predicate that only it has."""
    cg.instrumentation.on_warp_sync(cg, item)
    b = cg.b
    among = cg.to_vector(members(cg, item, 1))
    leader = b.call(f"llvm.cttz.{suffix(I32)}", I32, (I32, among), ("i1", "false"))
    mine = b.value(f"icmp eq {I32} {leader}, {cg.lane_vector}")
    results = Value("i32", "varying", (leader,)), Value("i1", "varying", (mine,))
    for target, value in zip(vector_elements(item.operands[0]), results, strict=False):
        cg.assign(target, value, item.predicate)


def group_by_group(
    cg: CodegenContext,
    left: str,
    ty: str,
    each: Callable[[str, str], tuple[str, str]],
    none: str = "zeroinitializer",
) -> str:
    """A vector found group after group: `each(first lane left, result)` gives (its group, new result)."""
    b = cg.b
    before, loop, done = b.new_label("groups"), b.new_label("group"), b.new_label("done")
    b.jump(before)
    b.open(before)
    b.branch(b.value(f"icmp ne i32 {left}, 0"), loop, done)
    with cg.side_block(loop):
        now, following, result = b.name("left"), b.name("left"), b.name("result")
        place = len(b.lines)
        lane = b.call("llvm.cttz.i32", "i32", ("i32", now), ("i1", "true"))
        group, found = each(lane, result)
        own = b.value(f"shl i32 1, {lane}")
        gone = b.value(f"xor i32 {b.value(f'or i32 {group}, {own}')}, -1")
        b.line(f"{following} = and i32 {now}, {gone}")
        b.branch(b.value(f"icmp ne i32 {following}, 0"), loop, done)
        b.lines[place:place] = [
            f"  {now} = phi i32 [ {left}, %{before} ], [ {following}, %{b.label} ]",
            f"  {result} = phi {ty} [ {none}, %{before} ], [ {found}, %{b.label} ]",
        ]
        last = b.label
    b.open(done)
    return b.phi(ty, (none, before), (found, last))


@handles("match.any|all.sync .b32|b64")
def match(cg: CodegenContext, item: Instruction) -> None:
    """The lanes of the mask that hold the same value; for `all`, the mask where every one does."""
    cg.instrumentation.on_warp_sync(cg, item)
    b, ty = cg.b, f"i{item.parts[-1][1:]}"
    values = cg.to_vector(cg.operand(item.operands[1], ty))
    among = cg.to_vector(members(cg, item, 2))
    full = vector(ty)

    def each(lane: str, result: str) -> tuple[str, str]:
        one = b.value(f"extractelement {full} {values}, i32 {lane}")
        same = b.value(f"icmp eq {full} {values}, {b.splat(ty, one)}")
        group = cg.pack_mask(same)
        return group, b.value(f"select {I1} {same}, {I32} {b.splat('i32', group)}, {I32} {result}")

    equal = group_by_group(cg, cg.mask_bits(item.predicate), I32, each)
    alike = b.value(f"and {I32} {equal}, {among}")
    targets = vector_elements(item.operands[0])
    if "any" in item.parts:
        cg.assign(targets[0], Value("i32", "varying", (alike,)), item.predicate)
        return
    every = b.value(f"icmp eq {I32} {alike}, {among}")
    mask = b.value(f"select {I1} {every}, {I32} {among}, {I32} zeroinitializer")
    results = Value("i32", "varying", (mask,)), Value("i1", "varying", (every,))
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
    """One value from all lanes of the mask."""
    cg.instrumentation.on_warp_sync(cg, item)
    b, name = cg.b, item.parts[2]
    if name in ("min", "max"):
        name = ("s" if signed(item.parts[-1]) else "u") + name
    values = cg.to_vector(cg.operand(item.operands[1], "i32"))

    def total(lanes: str) -> str:
        kept = b.value(
            f"select {I1} {cg.unpack_mask(lanes)}, {I32} {values}, {I32} splat (i32 {NEUTRAL[name]})"
        )
        return b.call(f"llvm.vector.reduce.{name}.{suffix(I32)}", "i32", (I32, kept))

    among = members(cg, item, 2)
    if among.kind == "uniform":
        cg.assign(item.operands[0], Value("i32", "uniform", (total(among.ref),)), item.predicate)
        return

    def each(lane: str, result: str) -> tuple[str, str]:
        group = b.value(f"extractelement {I32} {among.ref}, i32 {lane}")
        spread = b.splat("i32", total(group))
        return group, b.value(f"select {I1} {cg.unpack_mask(group)}, {I32} {spread}, {I32} {result}")

    made = group_by_group(cg, cg.mask_bits(item.predicate), I32, each)
    cg.assign(item.operands[0], Value("i32", "varying", (made,)), item.predicate)
