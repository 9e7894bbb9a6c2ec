"""Gathers and scatters: loads and stores of 32 lanes at arbitrary addresses.

LLVM expands a gather to 32 branches if the processor has no instruction for it: no processor has one for
elements of one or two bytes. The branches would dominate the compile time, so that each such access is a call
of one helper function per element type.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.ir import BITS, Builder, suffix, vector

__all__ = ["gather", "scatter"]

POINTERS, MASK = vector("ptr"), vector("i1")


def gather(b: Builder, ty: str, pointers: str, mask: str) -> str:
    """Load an element through each of 32 pointers; lanes outside `mask` give 0 and load nothing."""
    if _has_instruction(ty):
        return _gather(b, ty, pointers, mask)

    def body(b: Builder, names: list[str]) -> str:
        def load_all() -> str:
            result = "poison"
            for lane in range(WARP):
                pointer = b.value(f"extractelement {POINTERS} {names[0]}, i64 {lane}")
                element = b.value(f"load {ty}, ptr {pointer}, align 1")
                result = b.value(f"insertelement {vector(ty)} {result}, {ty} {element}, i64 {lane}")
            return result

        full, partial = _branch_on_full_mask(b, names[1], load_all, lambda: _gather(b, ty, *names))
        return b.phi(vector(ty), full, partial)

    return b.define(f"gather_{ty}", vector(ty), [(POINTERS, pointers), (MASK, mask)], body)


def scatter(b: Builder, ty: str, pointers: str, value: str, mask: str) -> None:
    """Store an element through each of 32 pointers in `mask`; of equal pointers the highest lane wins."""
    if _has_instruction(ty):
        _scatter(b, ty, pointers, value, mask)
        return

    def body(b: Builder, names: list[str]) -> str:
        def store_all() -> str:
            for lane in range(WARP):
                pointer = b.value(f"extractelement {POINTERS} {names[0]}, i64 {lane}")
                element = b.value(f"extractelement {vector(ty)} {names[1]}, i64 {lane}")
                b.line(f"store {ty} {element}, ptr {pointer}, align 1")
            return ""

        _branch_on_full_mask(b, names[2], store_all, lambda: _scatter(b, ty, *names))
        return ""

    b.define(f"scatter_{ty}", "void", [(POINTERS, pointers), (vector(ty), value), (MASK, mask)], body)


def _has_instruction(ty: str) -> bool:
    return BITS[ty] >= 32 and jit.has_gather()


def _branch_on_full_mask(
    b: Builder, mask: str, if_full: Callable[[], str], if_partial: Callable[[], str]
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Emit a branch on the common case of a full mask; return the value and the label of each side."""
    full = b.value(f"icmp eq i32 {b.value(f'bitcast {MASK} {mask} to i32')}, -1")
    b.branch(full, "all", "some", likely=True)
    ends = []
    for label, emit in (("all", if_full), ("some", if_partial)):
        b.open(label)
        ends.append((emit(), label))
        b.jump("done")
    b.open("done")
    return ends[0], ends[1]


def _gather(b: Builder, ty: str, pointers: str, mask: str) -> str:
    full = vector(ty)
    name = f"llvm.masked.gather.{suffix(full)}.v{WARP}p0"
    return b.call(name, full, (POINTERS, pointers), (MASK, mask), (full, "zeroinitializer"))


def _scatter(b: Builder, ty: str, pointers: str, value: str, mask: str) -> str:
    name = f"llvm.masked.scatter.{suffix(vector(ty))}.v{WARP}p0"
    return b.call(name, "void", (vector(ty), value), (POINTERS, pointers), (MASK, mask))
