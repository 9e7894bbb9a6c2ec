"""Special registers: thread and block indices, lane masks and clocks."""

from __future__ import annotations

from collections.abc import Callable

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import lead_axis, rows_agree
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.codegen.kernel_context import KernelContext

__all__ = ["GRID_BARRIER", "check", "read", "thread_indices"]

GRID_BARRIER = ("%envreg1", "%envreg2")  # the upper and the lower half of the address of the grid's barrier

Reader = Callable[[KernelContext, str], Value]


def thread_indices(cg: KernelContext, first: str) -> None:
    """Compute `%tid` and `%laneid` at the entry of the warp function; `first` is its first thread."""
    b = cg.b
    block = cg.launch_constants.block
    is_flat = {axis: size == 1 for axis, size in zip("xyz", block, strict=True)}
    lead = lead_axis(block)
    sizes = {axis: "1" if is_flat[axis] else cg.constant("i32", "block", axis) for axis in "xyz"}

    if cg.analysis.width:
        bases: dict[str, list[str]] = {axis: [] for axis in "xyz"}
        for row in range(cg.rows_per_warp):
            rest = b.value(f"add i32 {first}, {row * cg.width}") if row else first
            for axis in "xyz":
                bases[axis].append(b.value(f"urem i32 {rest}, {sizes[axis]}"))
                rest = b.value(f"udiv i32 {rest}, {sizes[axis]}")

        if block["xyz".index(lead)] == cg.threads:  # one row of threads, which the last warp exceeds
            bases[lead] = [
                b.value(f"add i32 {first}, {row * cg.width}") if row else first
                for row in range(cg.rows_per_warp)
            ]
        elif rows_agree(block):
            bases[lead] = ["0"] * cg.rows_per_warp

        for axis in "xyz":
            name = f"%tid.{axis}"
            if is_flat[axis]:
                cg.specials[name] = Value("i32", "uniform", ("0",))
            elif axis == lead:
                cg.specials[name] = Value("i32", "affine", tuple(bases[axis]), 1)
            elif cg.rows_per_warp == 1:
                cg.specials[name] = Value("i32", "uniform", (bases[axis][0],))
            else:
                cg.specials[name] = Value("i32", "affine", tuple(bases[axis]), 0)

        lanes = tuple(str(row * cg.width) for row in range(cg.rows_per_warp))
        cg.specials["%laneid"] = Value("i32", "affine", lanes, 1)
        return

    ty = vector("i32")
    linear = b.value(f"add {ty} {b.splat('i32', first)}, {cg.lane_vector}")
    for axis in "xyz":
        size = b.splat("i32", sizes[axis])
        index = b.value(f"urem {ty} {linear}, {size}")
        linear = b.value(f"udiv {ty} {linear}, {size}")
        zero = Value("i32", "uniform", ("0",))
        cg.specials[f"%tid.{axis}"] = zero if is_flat[axis] else Value("i32", "varying", (index,))
    cg.specials["%laneid"] = Value("i32", "varying", (cg.lane_vector,))


def read(cg: KernelContext, name: str) -> Value:
    """Return the value of a special register."""
    check(name, cg.line)
    return cg.specials.get(name) or _READERS[_stem(name)](cg, name)


def check(name: str, line: int) -> None:
    """Raise `UnsupportedInstruction` if the simulator does not have a special register."""
    stem = _stem(name)
    if stem not in _READERS and stem not in ("tid", "laneid"):
        reason = next((why for words, why in _REFUSED.items() if words in stem), "a special register")
        raise UnsupportedInstruction(name, line, reason)


def _stem(name: str) -> str:
    """Return the name of a register without its axis: "ctaid" for "%ctaid.x"."""
    return name[1:].partition(".")[0]


def _block_size(cg: KernelContext, name: str) -> Value:
    return Value("i32", "uniform", (cg.constant("i32", "block", name[-1]),))


def _of_grid(cg: KernelContext, name: str) -> Value:
    wide = cg.load_field(("ctaid_" if _stem(name) in ("ctaid", "clusterid") else "grid_") + name[-1])
    return Value("i32", "uniform", (cg.b.value(f"trunc i64 {wide} to i32"),))


def _warp(_cg: KernelContext, _name: str) -> Value:
    return Value("i32", "uniform", ("%warp",))


def _launch_constant(entry: str) -> Reader:
    return lambda cg, _: Value("i32", "uniform", (cg.constant("i32", entry),))


def _number(text: str) -> Reader:
    return lambda _cg, _name: Value("i32", "uniform", (text,))


def _clock(cg: KernelContext, name: str) -> Value:
    b = cg.b
    now = b.call("llvm.readcyclecounter", "i64")
    if name in ("%clock64", "%globaltimer"):
        return Value("i64", "uniform", (now,))
    half = b.value(f"lshr i64 {now}, 32") if name.endswith("_hi") else now
    return Value("i32", "uniform", (b.value(f"trunc i64 {half} to i32"),))


def _grid_barrier(cg: KernelContext, name: str) -> Value:
    """Return a half of the address of the grid's barrier, as cooperative_groups::this_grid() reads it."""
    b, address = cg.b, cg.load_field("grid_barrier")
    half = b.value(f"lshr i64 {address}, 32") if name == GRID_BARRIER[0] else address
    return Value("i32", "uniform", (b.value(f"trunc i64 {half} to i32"),))


def _lane_mask(cg: KernelContext, name: str) -> Value:
    b, ty = cg.b, vector("i32")
    own = b.value(f"shl {ty} splat (i32 1), {cg.lane_vector}")
    below = b.value(f"sub {ty} {own}, splat (i32 1)")
    through = b.value(f"or {ty} {own}, {below}")
    invert = {"%lanemask_ge": below, "%lanemask_gt": through}
    ref = {"%lanemask_eq": own, "%lanemask_lt": below, "%lanemask_le": through}.get(name)
    ref = ref or b.value(f"xor {ty} {invert[name]}, splat (i32 -1)")
    return Value("i32", "varying", (ref,))


_READERS: dict[str, Reader] = {
    "ntid": _block_size,
    "ctaid": _of_grid,
    "nctaid": _of_grid,
    # Each block is a cluster of its own.
    "clusterid": _of_grid,
    "nclusterid": _of_grid,
    **dict.fromkeys(("cluster_ctaid", "cluster_ctarank"), _number("0")),
    **dict.fromkeys(("cluster_nctaid", "cluster_nctarank"), _number("1")),
    "is_explicit_cluster": lambda _cg, _name: Value("i1", "uniform", ("false",)),
    "warpid": _warp,
    "nwarpid": _launch_constant("warp_count"),
    "smid": _number("0"),  # every block runs on SM 0
    "nsmid": _number("1"),
    "gridid": _number("0"),
    **dict.fromkeys((name[1:] for name in GRID_BARRIER), _grid_barrier),
    "total_smem_size": _launch_constant("shared_bytes"),
    "dynamic_smem_size": _launch_constant("dynamic_bytes"),
    **dict.fromkeys(
        ("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"), _clock
    ),
    **{f"lanemask_{relation}": _lane_mask for relation in ("eq", "lt", "le", "gt", "ge")},
}

# The reason why a register is refused, by a part of its name.
_REFUSED = {
    "envreg": "a register of the driver",
    "reserved_smem": "the layout of reserved shared memory",
    "pm": "a performance counter",
    "graph": "CUDA graphs",
}
