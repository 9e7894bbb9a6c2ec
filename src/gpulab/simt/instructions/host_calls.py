"""Host calls (printf, assert), fences and hints. Fences are no-ops in the simulator's memory model."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import handles
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.ptx.syntax import Instruction, Reg, Sym


@handles("membar.cta|gl|sys", "fence{.sc|acq_rel|acquire|release}.cta|cluster|gpu|sys")
@handles("fence.mbarrier_init.release.cluster", "fence.proxy.async{.global|shared::cta|shared::cluster}")
def fence(cg: CodegenContext, item: Instruction) -> None:
    """Report the fence to the instrumentation; the accesses of a warp are executed in order anyway."""
    cg.instrumentation.on_fence(cg, item)


@handles("nanosleep.u32", "pmevent{.mask}")
@handles("prefetch{.global|local}.L1|L2", "prefetch.global.L2::evict_last|L2::evict_normal", "prefetchu.L1")
@handles("discard{.global}.L2", "applypriority{.global}.L2::evict_normal")
@handles("griddepcontrol.launch_dependents|wait", "setmaxnreg.inc|dec.sync.aligned.u32")
def hint(cg: CodegenContext, item: Instruction) -> None:
    """Emit nothing: the instruction has no effect on values."""


@handles(
    "createpolicy{.range|fractional|cvt}{.global}{.L2::evict_last|L2::evict_normal|L2::evict_first|L2}"
    "{.L2::evict_unchanged} .b64"
)
def cache_policy(cg: CodegenContext, item: Instruction) -> None:
    """Return 0 as the policy, which has no effect on values."""
    cg.assign(item.operands[0], Value("i64", "uniform", ("0",)), item.predicate)


@handles("brkpt")
def breakpoint_(cg: CodegenContext, item: Instruction) -> None:
    """End the launch, as a breakpoint does without a debugger."""
    _ends_launch(cg, item, "trap", "breakpoint")


def _ends_launch(cg: CodegenContext, item: Instruction, kind: str, action: str, detail: str = "0") -> None:
    b = cg.b
    mask = cg.mask_bits(item.predicate)
    fails, on = b.new_label("fails"), b.new_label("on")
    b.branch(b.value(f"icmp ne i32 {mask}, 0"), fails, on, likely=False)
    with cg.side_block(fails):
        cg.fault(kind, cg.add_site(action, "", 0), mask, detail)
    b.open(on)


@handles("call{.uni}")
def call(cg: CodegenContext, item: Instruction) -> None:
    """Call one of the functions that the simulator implements, such as those behind `printf` and `new`."""
    assert item.call is not None
    assert isinstance(item.call.target, Sym)
    name = item.call.target.name
    values = [cg.as_type(cg.read(f"{a}+0"), "i64") for a in item.call.arguments]
    if name == "vprintf":
        _print(cg, item, values)
        for result in item.call.results:
            cg.assign(Reg(f"{result}+0"), Value("i32", "uniform", ("0",)), item.predicate)
    elif name == "__assertfail":
        _ends_launch(cg, item, "assert", "asserts", values[0].ref if values[0].kind == "uniform" else "0")
    elif name in ("malloc", "free"):
        _call_heap(cg, item, values[0], frees=name == "free")
    elif name != "__nanosleep":
        raise UnsupportedInstruction(f"call {name}", item.line)


def _call_heap(cg: CodegenContext, item: Instruction, value: Value, *, frees: bool) -> None:
    """Allocate memory of the heap for each active lane, or free it; an address that is no block faults."""
    assert item.call is not None
    b, words, mask = cg.b, vector("i64"), cg.mask_bits(item.predicate)
    given = cg.to_vector(value)
    b.line(f"store {words} {given}, ptr {cg.scratch}, align 64")
    b.call("sim_heap", "void", ("ptr", "%ctx"), ("i32", str(int(frees))), ("ptr", cg.scratch), ("i32", mask))
    result = b.value(f"load {words}, ptr {cg.scratch}, align 64")
    if not frees:
        for target in item.call.results:
            cg.assign(Reg(f"{target}+0"), Value("i64", "varying", (result,)), item.predicate)
        return

    bad = cg.pack_mask(b.value(f"icmp eq {words} {result}, splat (i64 1)"))
    bad = b.value(f"and i32 {bad}, {mask}")
    wrong, on = b.new_label("wrong"), b.new_label("on")
    b.branch(b.value(f"icmp ne i32 {bad}, 0"), wrong, on, likely=False)
    with cg.side_block(wrong):
        lane = b.call("llvm.cttz.i32", "i32", ("i32", bad), ("i1", "true"))
        address = b.value(f"extractelement {words} {given}, i32 {lane}")
        cg.fault("invalid_free", cg.add_site("frees", "", 0), bad, address)
    b.open(on)


def _print(cg: CodegenContext, item: Instruction, values: list[Value]) -> None:
    """Append the format and the arguments of each active lane to the worker's print buffer."""
    b = cg.b
    formats, arguments = cg.to_vector(values[0]), cg.to_vector(values[1])
    with cg.each_lane(cg.mask_bits(item.predicate)) as lane:
        text = b.value(f"extractelement {vector('i64')} {formats}, i32 {lane}")
        packed = b.value(f"extractelement {vector('i64')} {arguments}, i32 {lane}")
        position = ("ptr", "%ctx"), ("i32", "%warp"), ("i32", lane)
        b.call("sim_print", "void", *position, ("i64", text), ("i64", packed), ("i64", str(cg.local_bytes)))
