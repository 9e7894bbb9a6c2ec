"""Gathers and scatters: loads and stores of 32 lanes at arbitrary addresses.

LLVM expands a gather to 32 branches if the processor has no instruction for it: no processor has one for
elements of one or two bytes. Each such access is therefore a call of one helper function per element type,
which has no branch for a lane.
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
        name = f"llvm.masked.gather.{suffix(vector(ty))}.v{WARP}p0"
        parameters = (POINTERS, pointers), (MASK, mask), (vector(ty), "zeroinitializer")
        return b.call(name, vector(ty), *parameters)

    def load_all(b: Builder, pointers: str) -> str:
        result = "poison"
        for lane in range(WARP):
            pointer = b.value(f"extractelement {POINTERS} {pointers}, i64 {lane}")
            element = b.value(f"load {ty}, ptr {pointer}, align 1")
            result = b.value(f"insertelement {vector(ty)} {result}, {ty} {element}, i64 {lane}")
        return result

    def body(b: Builder, names: list[str]) -> str:
        def load_some() -> str:
            loaded = load_all(b, _replaced(b, ty, *names))
            return b.value(f"select {MASK} {names[1]}, {vector(ty)} {loaded}, {vector(ty)} zeroinitializer")

        full, partial = _branch_on_full_mask(b, names[1], lambda: load_all(b, names[0]), load_some)
        return b.phi(vector(ty), full, partial)

    return b.define(f"gather_{ty}", vector(ty), [(POINTERS, pointers), (MASK, mask)], body)


def scatter(b: Builder, ty: str, pointers: str, value: str, mask: str) -> None:
    """Store an element through each of 32 pointers in `mask`; of equal pointers the highest lane wins."""
    if _has_instruction(ty):
        name = f"llvm.masked.scatter.{suffix(vector(ty))}.v{WARP}p0"
        b.call(name, "void", (vector(ty), value), (POINTERS, pointers), (MASK, mask))
        return

    def store_all(b: Builder, pointers: str, value: str) -> str:
        for lane in range(WARP):
            pointer = b.value(f"extractelement {POINTERS} {pointers}, i64 {lane}")
            element = b.value(f"extractelement {vector(ty)} {value}, i64 {lane}")
            b.line(f"store {ty} {element}, ptr {pointer}, align 1")
        return ""

    def body(b: Builder, names: list[str]) -> str:
        pointers, value, mask = names
        _branch_on_full_mask(
            b,
            mask,
            lambda: store_all(b, pointers, value),
            lambda: store_all(b, _replaced(b, ty, pointers, mask), value),
        )
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


def _replaced(b: Builder, ty: str, pointers: str, mask: str) -> str:
    """Return pointers, of which those outside `mask` refer to an element that nothing else uses.

    A branch for each lane would take several times as long, because masks are hard to predict.
    """
    unused = b.splat("ptr", b.alloca(ty, "unused"))
    return b.value(f"select {MASK} {mask}, {POINTERS} {pointers}, {POINTERS} {unused}")
