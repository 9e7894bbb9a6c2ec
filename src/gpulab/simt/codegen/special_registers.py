"""Special registers: thread and block indices, lane masks, clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis.divergence import lead_axis
from gpulab.simt.codegen.ir import Value, vector

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import Values

__all__ = ["read", "thread_indices"]


def thread_indices(low: Values, first: str) -> None:
    """`%tid` for the rows of this warp, or for its lanes where there are no rows."""
    b = low.b
    block = low.launched.block
    ones = {axis: size == 1 for axis, size in zip("xyz", block, strict=True)}
    lead = lead_axis(block)
    sizes = {axis: "1" if ones[axis] else low.known("i32", "block", axis) for axis in "xyz"}
    if low.analysis.width:
        bases: dict[str, list[str]] = {axis: [] for axis in "xyz"}
        for row in range(low.rows):
            rest = b.value(f"add i32 {first}, {row * low.width}") if row else first
            for axis in "xyz":
                bases[axis].append(b.value(f"urem i32 {rest}, {sizes[axis]}"))
                rest = b.value(f"udiv i32 {rest}, {sizes[axis]}")
        if block["xyz".index(lead)] == low.threads:  # one row of threads: the last warp runs past its end
            bases[lead] = [
                b.value(f"add i32 {first}, {row * low.width}") if row else first for row in range(low.rows)
            ]
        for axis in "xyz":
            name = f"%tid.{axis}"
            if ones[axis]:
                low.specials[name] = Value("i32", "uniform", ("0",))
            elif axis == lead:
                low.specials[name] = Value("i32", "rows", tuple(bases[axis]), 1)
            elif low.rows == 1:
                low.specials[name] = Value("i32", "uniform", (bases[axis][0],))
            else:
                low.specials[name] = Value("i32", "rows", tuple(bases[axis]), 0)
        lanes = tuple(str(row * low.width) for row in range(low.rows))
        low.specials["%laneid"] = Value("i32", "rows", lanes, 1)
        return
    ty = vector("i32")
    linear = b.value(f"add {ty} {b.splat('i32', first)}, {low.lane_vector}")
    for axis in "xyz":
        size = b.splat("i32", sizes[axis])
        index = b.value(f"urem {ty} {linear}, {size}")
        linear = b.value(f"udiv {ty} {linear}, {size}")
        each = Value("i32", "lanes", (index,))
        low.specials[f"%tid.{axis}"] = Value("i32", "uniform", ("0",)) if ones[axis] else each
    low.specials["%laneid"] = Value("i32", "lanes", (low.lane_vector,))


def read(low: Values, name: str) -> Value:
    """The value of a special register."""
    b = low.b
    found = low.specials.get(name)
    if found is not None:
        return found
    stem, _, axis = name[1:].partition(".")
    if stem == "ntid":
        return Value("i32", "uniform", (low.known("i32", "block", axis),))
    if stem in ("ctaid", "nctaid"):
        wide = low.context(("ctaid_" if stem == "ctaid" else "grid_") + axis)
        return Value("i32", "uniform", (b.value(f"trunc i64 {wide} to i32"),))
    if stem == "warpid":
        return Value("i32", "uniform", ("%warp",))
    if stem == "nwarpid":
        return Value("i32", "uniform", (low.known("i32", "warp_count"),))
    if stem in ("smid", "gridid", "nsmid"):  # all blocks as on one processor
        return Value("i32", "uniform", ("1" if stem == "nsmid" else "0",))
    if stem in ("clock", "clock64", "globaltimer", "clock_hi", "globaltimer_lo", "globaltimer_hi"):
        now = b.call("llvm.readcyclecounter", "i64")
        if stem in ("clock64", "globaltimer"):
            return Value("i64", "uniform", (now,))
        half = b.value(f"lshr i64 {now}, 32") if stem.endswith("_hi") else now
        return Value("i32", "uniform", (b.value(f"trunc i64 {half} to i32"),))
    if stem.startswith("lanemask"):
        ty = vector("i32")
        one = b.value(f"shl {ty} splat (i32 1), {low.lane_vector}")
        below = b.value(f"sub {ty} {one}, splat (i32 1)")
        through = b.value(f"or {ty} {one}, {below}")
        invert = {"lanemask_ge": below, "lanemask_gt": through}
        ref = {"lanemask_eq": one, "lanemask_lt": below, "lanemask_le": through}.get(stem)
        ref = ref or b.value(f"xor {ty} {invert[stem]}, splat (i32 -1)")
        return Value("i32", "lanes", (ref,))
    if stem in ("dynamic_smem_size", "total_smem_size"):
        entry = "shared_bytes" if stem == "total_smem_size" else "dynamic_bytes"
        return Value("i32", "uniform", (low.known("i32", entry),))
    if "cluster" in stem:
        raise UnsupportedInstruction(name, low.line, "thread block clusters")
    raise UnsupportedInstruction(name, low.line, "a special register")
