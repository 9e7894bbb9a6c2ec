"""Special registers: thread and block indices, lane masks and clocks."""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import lead_axis
from gpulab.simt.codegen.ir import Value, vector
from gpulab.simt.codegen.kernel_context import KernelContext

__all__ = ["read", "thread_indices"]


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
    b = cg.b
    precomputed = cg.specials.get(name)
    if precomputed is not None:
        return precomputed
    stem, _, axis = name[1:].partition(".")
    if stem == "ntid":
        return Value("i32", "uniform", (cg.constant("i32", "block", axis),))
    if stem in ("ctaid", "nctaid"):
        wide = cg.load_field(("ctaid_" if stem == "ctaid" else "grid_") + axis)
        return Value("i32", "uniform", (b.value(f"trunc i64 {wide} to i32"),))
    if stem == "warpid":
        return Value("i32", "uniform", ("%warp",))
    if stem == "nwarpid":
        return Value("i32", "uniform", (cg.constant("i32", "warp_count"),))
    if stem in ("smid", "gridid", "nsmid"):  # every block runs on SM 0
        return Value("i32", "uniform", ("1" if stem == "nsmid" else "0",))
    if stem in ("clock", "clock64", "globaltimer", "clock_hi", "globaltimer_lo", "globaltimer_hi"):
        now = b.call("llvm.readcyclecounter", "i64")
        if stem in ("clock64", "globaltimer"):
            return Value("i64", "uniform", (now,))
        half = b.value(f"lshr i64 {now}, 32") if stem.endswith("_hi") else now
        return Value("i32", "uniform", (b.value(f"trunc i64 {half} to i32"),))
    if stem.startswith("lanemask"):
        ty = vector("i32")
        own = b.value(f"shl {ty} splat (i32 1), {cg.lane_vector}")
        below = b.value(f"sub {ty} {own}, splat (i32 1)")
        through = b.value(f"or {ty} {own}, {below}")
        invert = {"lanemask_ge": below, "lanemask_gt": through}
        ref = {"lanemask_eq": own, "lanemask_lt": below, "lanemask_le": through}.get(stem)
        ref = ref or b.value(f"xor {ty} {invert[stem]}, splat (i32 -1)")
        return Value("i32", "varying", (ref,))
    if stem in ("dynamic_smem_size", "total_smem_size"):
        entry = "shared_bytes" if stem == "total_smem_size" else "dynamic_bytes"
        return Value("i32", "uniform", (cg.constant("i32", entry),))
    if "cluster" in stem:
        raise UnsupportedInstruction(name, cg.line, "thread block clusters")
    raise UnsupportedInstruction(name, cg.line, "a special register")
