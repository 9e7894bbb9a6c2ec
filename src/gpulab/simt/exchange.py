"""Between the lanes of a warp, and between a kernel and its host: shuffles, votes, printf, assert."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.llvm import Value, suffix, vector
from gpulab.simt.ptx import Instruction, Reg, Sym
from gpulab.simt.shapes import WARP
from gpulab.simt.values import Values, handles, parts_of

I32 = vector("i32")


@handles("membar", "fence", "prefetch", "prefetchu", "nanosleep", "discard", "applypriority")
def order(low: Values, item: Instruction) -> None:
    """A warp's accesses already happen in order."""


@handles("shfl")
def shuffle(low: Values, item: Instruction) -> None:
    """`shfl.sync`: read another lane's register (PTX ISA, "Data Movement: shfl.sync")."""
    b = low.b
    mode = next(p for p in item.parts if p in ("up", "down", "bfly", "idx"))
    targets = parts_of(item.operands[0])
    source = low.lanes(low.operand(item.operands[1], "i32"))
    amount = low.lanes(low.operand(item.operands[2], "i32"))
    control = low.lanes(low.operand(item.operands[3], "i32"))
    lane = low.lane_vector

    def op(text: str, x: str, y: str) -> str:
        return b.value(f"{text} {I32} {x}, {y}")

    clamp = op("and", control, "splat (i32 31)")
    segment = op("and", op("lshr", control, "splat (i32 8)"), "splat (i32 31)")
    fixed = op("and", lane, segment)
    amount = op("and", amount, "splat (i32 31)")
    most = op("or", fixed, op("and", clamp, op("xor", segment, "splat (i32 -1)")))
    if mode == "up":
        wanted = op("sub", lane, amount)
        good = op("icmp sge", wanted, most)
    elif mode == "down":
        wanted = op("add", lane, amount)
        good = op("icmp sle", wanted, most)
    elif mode == "bfly":
        wanted = op("xor", lane, amount)
        good = op("icmp sle", wanted, most)
    else:
        wanted = op("or", fixed, op("and", amount, op("xor", segment, "splat (i32 -1)")))
        good = op("icmp sle", wanted, most)
    chosen = b.value(f"select {vector('i1')} {good}, {I32} {wanted}, {I32} {lane}")
    chosen = op("and", chosen, "splat (i32 31)")
    b.line(f"store {I32} {source}, ptr {low.scratch}, align 64")
    pointers = b.value(f"getelementptr i32, ptr {low.scratch}, {I32} {chosen}")
    got = b.call(
        f"llvm.masked.gather.{suffix(I32)}.v{WARP}p0", I32, (vector("ptr"), pointers),
        (vector("i1"), "splat (i1 true)"), (I32, "zeroinitializer"),
    )  # fmt: skip
    low.assign(targets[0], Value("i32", "lanes", (got,)), item.predicate)
    if len(targets) > 1:
        low.assign(targets[1], Value("i1", "lanes", (good,)), item.predicate)


@handles("vote")
def vote(low: Values, item: Instruction) -> None:
    """`vote.sync`: all, any, uniform or ballot over the active lanes of the mask."""
    b = low.b
    mode = next(p for p in item.parts if p in ("all", "any", "uni", "ballot"))
    flags = low.bits_of(low.lanes(low.operand(item.operands[1], "i1")))
    members = (
        low.operand(item.operands[2], "i32") if len(item.operands) > 2 else Value("i32", "uniform", ("-1",))
    )
    here = low.mask_bits_of(item.predicate)
    if members.kind == "uniform":
        among = b.value(f"and i32 {members.ref}, {here}")
        yes = b.value(f"and i32 {flags}, {among}")
        results = {
            "ballot": yes,
            "any": b.value(f"icmp ne i32 {yes}, 0"),
            "all": b.value(f"icmp eq i32 {yes}, {among}"),
        }
        kind = "uniform"
    else:
        among = b.value(f"and {I32} {low.lanes(members)}, {b.splat('i32', here)}")
        yes = b.value(f"and {I32} {b.splat('i32', flags)}, {among}")
        results = {
            "ballot": yes,
            "any": b.value(f"icmp ne {I32} {yes}, zeroinitializer"),
            "all": b.value(f"icmp eq {I32} {yes}, {among}"),
        }
        kind = "lanes"
    if mode == "uni":
        ty = "i1" if kind == "uniform" else vector("i1")
        none = b.value(f"xor {ty} {results['any']}, {'true' if kind == 'uniform' else 'splat (i1 true)'}")
        results["uni"] = b.value(f"or {ty} {results['all']}, {none}")
    low.assign(
        item.operands[0], Value("i32" if mode == "ballot" else "i1", kind, (results[mode],)), item.predicate
    )


@handles("activemask")
def active_mask(low: Values, item: Instruction) -> None:
    low.assign(item.operands[0], Value("i32", "uniform", (low.mask(),)), item.predicate)


@handles("call")
def call(low: Values, item: Instruction) -> None:
    """The functions that NVRTC calls on behalf of `printf` and `assert`."""
    assert item.call is not None and isinstance(item.call.target, Sym)
    name = item.call.target.name
    values = [low.as_type(low.read(f"{a}+0"), "i64") for a in item.call.arguments]
    if name == "vprintf":
        _print(low, item, values)
        for result in item.call.results:
            low.assign(Reg(f"{result}+0"), Value("i32", "uniform", ("0",)), item.predicate)
    elif name == "__assertfail":
        b = low.b
        mask = low.mask_bits_of(item.predicate)
        fails, on = b.new_label("fails"), b.new_label("on")
        b.branch(b.value(f"icmp ne i32 {mask}, 0"), fails, on, likely=False)
        with low.aside(fails):
            message = values[0].ref if values[0].kind == "uniform" else "0"
            low.fault("assert", low.access("asserts", "", 0), mask, message)
        b.open(on)
    elif name != "__nanosleep":
        raise UnsupportedInstruction(f"call {name}", item.line)


def _print(low: Values, item: Instruction, values: list[Value]) -> None:
    """Each active lane appends its format and its arguments' bytes to the worker's print buffer."""
    b = low.b
    formats, arguments = low.lanes(values[0]), low.lanes(values[1])
    mask = low.mask_bits_of(item.predicate)
    before, loop, done = b.new_label("prints"), b.new_label("lane"), b.new_label("done")
    b.jump(before)
    b.open(before)
    b.branch(b.value(f"icmp ne i32 {mask}, 0"), loop, done)
    with low.aside(loop):
        left, rest = b.name("left"), b.name("left")
        b.line(f"{left} = phi i32 [ {mask}, %{before} ], [ {rest}, %{loop} ]")
        lane = b.call("llvm.cttz.i32", "i32", ("i32", left), ("i1", "true"))
        text = b.value(f"extractelement {vector('i64')} {formats}, i32 {lane}")
        packed = b.value(f"extractelement {vector('i64')} {arguments}, i32 {lane}")
        b.call(
            "sim_print", "void", ("ptr", "%ctx"), ("i32", "%warp"), ("i32", lane), ("i64", text), ("i64", packed),
            ("i64", str(low.local_bytes)),
        )  # fmt: skip
        b.line(f"{rest} = and i32 {left}, {b.value(f'sub i32 {left}, 1')}")
        b.branch(b.value(f"icmp ne i32 {rest}, 0"), loop, done)
    b.open(done)
