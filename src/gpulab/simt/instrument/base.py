"""What is recorded while a kernel runs. The values tier records nothing: it is `Instrumentation` itself.

An observer is chosen when the code is made, and asked at every place where something can be recorded;
what it emits there is part of the kernel's code, so that a tier costs nothing where it is not in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpulab.simt.codegen.ir import Value
from gpulab.simt.ptx.syntax import Instruction
from gpulab.simt.runtime.allocation import POISON

if TYPE_CHECKING:
    from gpulab.simt.analysis.control_flow import Block
    from gpulab.simt.codegen.context import CodegenContext
    from gpulab.simt.codegen.native import NativeKernel
    from gpulab.simt.runtime.allocation import Memory
    from gpulab.simt.runtime.launch import Worker

__all__ = ["INSTRUMENTATIONS", "Forms", "Instrumentation", "Recorder", "Touch", "observer"]


Forms = tuple[tuple[int, int, int], ...]  # see `Instrumentation.forms`: (row, bytes a lane, shift)


@dataclass(frozen=True)
class Touch:
    """One access of a warp to memory, before it is made; its addresses have not been checked yet.

    site: its number among `cg.accesses`. where: each lane's address in `space`. size: bytes a lane.
    action: "reads", "writes" or "updates" (an atomic). values: what a write is to leave there, element
    after element; its active lanes are `cg.mask_bits_of(item.predicate)`.
    """

    site: int
    where: Value
    space: str
    size: int
    action: str
    item: Instruction
    values: tuple[Value, ...] = ()


class Instrumentation:
    """Records nothing, and says when a tier is asked.

    runtime: LLVM IR that stands beside runtime.ll; every tier defines @sim_block_begins(ptr context),
    @sim_met(ptr context, i32 warps, i32 barrier), called when a barrier is lifted (-1: all that are
    left waited at the same `__syncthreads()`).
    well_up_to: lines of code that are compiled well; more of them are sooner run than compiled well.
    well_if_brief: the same for launches of few threads.
    values: whether what the kernel computes matters, or only where it goes and what it asks of memory.
    shared: whether kernels that differ in numbers share code (see `numbers`).
    forms: accesses to shared memory that a machine makes in another form than PTX, by their row in the PTX
    text: (bytes a lane, where it begins, in bytes from the address that PTX names); 0 bytes for one that is
    part of another's.
    """

    tier = "values"
    optimize_up_to_lines = optimize_small_up_to_lines = 1_000_000
    values = True
    shared = False
    forms: Mapping[int, tuple[int, int]] = {}
    runtime = """
define internal void @sim_block_begins(ptr %ctx) alwaysinline {
  ret void
}
define internal void @sim_met(ptr %ctx, i32 %warps, i32 %barrier) alwaysinline {
  ret void
}
"""

    def begin(self, cg: CodegenContext) -> None:
        """At the entry of the warp's function."""

    def block(self, cg: CodegenContext, block: Block) -> None:
        """At the head of a block of code."""

    def branch(self, cg: CodegenContext, block: Block, here: str, there: str) -> None:
        """At a branch at which lanes can part: the masks of those that go each way."""

    def access(self, cg: CodegenContext, touch: Touch) -> None:
        """Before an access, which may still turn out to be out of bounds."""

    def warp_sync(self, cg: CodegenContext, item: Instruction) -> None:
        """At a `.sync` instruction of a warp, whose last operand is the mask of the lanes it waits for."""

    def barrier(self, cg: CodegenContext, expected: str) -> None:
        """At a barrier of the block. expected: how many threads it waits for (an i32; 0: all of them)."""

    def arrive(self, cg: CodegenContext, barrier: str) -> None:
        """At a `bar.arrive`, with the number of the barrier."""

    def copies(self, cg: CodegenContext, item: Instruction) -> None:
        """Where asynchronous copies are put in a group, or waited for."""

    def fence(self, cg: CodegenContext, item: Instruction) -> None:
        """At a fence of memory."""


class Recorder:
    """The host's side of an observer, for one launch: it owns the memory that the code records into.

    cores: how many of the host's cores may share the launch; None: all of them. forms: for the observer.
    """

    tier = "values"
    forms: Forms = ()
    cores: int | None = None
    poison = POISON

    def prepare(self, native: NativeKernel, shared_bytes: int) -> None:
        """Before a launch of this code with so much shared memory for a block."""

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        """The allocations as running code searches them, each with the address of its shadow."""
        return memory.table()

    def attach(self, worker: Worker) -> None:
        """Give a worker what its code records into; again when its code has got more places to access."""


INSTRUMENTATIONS: dict[str, Callable[[], Instrumentation]] = {"values": Instrumentation}


def observer(tier: str, forms: Forms = ()) -> Instrumentation:
    found = INSTRUMENTATIONS[tier]()
    found.forms = {row: (size, shift) for row, size, shift in forms}
    return found
