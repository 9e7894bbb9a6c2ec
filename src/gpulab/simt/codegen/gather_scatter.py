"""Reads and writes of 32 places at once, wherever these lie.

Where the processor has no instruction for it, LLVM makes 32 branches of each, and most of the time that
compiling takes goes there. So a kernel has one function for each type of element then, and calls it.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.ir import Builder, suffix, vector

__all__ = ["gather", "scatter"]

PLACES, LANES = vector("ptr"), vector("i1")


def gather(b: Builder, ty: str, each: str, mask: str) -> str:
    """Elements at `each` of 32 pointers; 0 for lanes that are not in `mask`, whose pointers are not used."""
    if jit.has_gather():
        return _gather(b, ty, each, mask)

    def body(b: Builder, names: list[str]) -> str:
        def all_of_them() -> str:
            found = "poison"
            for lane in range(WARP):
                place = b.value(f"extractelement {PLACES} {names[0]}, i64 {lane}")
                one = b.value(f"load {ty}, ptr {place}, align 1")
                found = b.value(f"insertelement {vector(ty)} {found}, {ty} {one}, i64 {lane}")
            return found

        near, far = _branches(b, names[1], all_of_them, lambda: _gather(b, ty, *names))
        return b.phi(vector(ty), near, far)

    return b.define(f"gather_{ty}", vector(ty), [(PLACES, each), (LANES, mask)], body)


def scatter(b: Builder, ty: str, each: str, value: str, mask: str) -> None:
    """Write elements to `each` of 32 pointers, but not of lanes outside `mask`; the last lane's stays."""
    if jit.has_gather():
        _scatter(b, ty, each, value, mask)
        return

    def body(b: Builder, names: list[str]) -> str:
        def all_of_them() -> str:
            for lane in range(WARP):
                place = b.value(f"extractelement {PLACES} {names[0]}, i64 {lane}")
                one = b.value(f"extractelement {vector(ty)} {names[1]}, i64 {lane}")
                b.line(f"store {ty} {one}, ptr {place}, align 1")
            return ""

        _branches(b, names[2], all_of_them, lambda: _scatter(b, ty, *names))
        return ""

    b.define(f"scatter_{ty}", "void", [(PLACES, each), (vector(ty), value), (LANES, mask)], body)


def _branches(
    b: Builder, mask: str, all_of_them: Callable[[], str], some: Callable[[], str]
) -> tuple[tuple[str, str], tuple[str, str]]:
    """What each way gives, and the label that it comes from: the whole warp is the common case."""
    full = b.value(f"icmp eq i32 {b.value(f'bitcast {LANES} {mask} to i32')}, -1")
    b.branch(full, "all", "some", likely=True)
    ends = []
    for label, make in (("all", all_of_them), ("some", some)):
        b.open(label)
        ends.append((make(), label))
        b.jump("done")
    b.open("done")
    return ends[0], ends[1]


def _gather(b: Builder, ty: str, each: str, mask: str) -> str:
    full = vector(ty)
    name = f"llvm.masked.gather.{suffix(full)}.v{WARP}p0"
    return b.call(name, full, (PLACES, each), (LANES, mask), (full, "zeroinitializer"))


def _scatter(b: Builder, ty: str, each: str, value: str, mask: str) -> str:
    name = f"llvm.masked.scatter.{suffix(vector(ty))}.v{WARP}p0"
    return b.call(name, "void", (vector(ty), value), (PLACES, each), (LANES, mask))
