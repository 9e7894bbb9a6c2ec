"""Recordings of launches on the simulator: what the model knows of a launch before a GPU's figures apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpulab.gpus.occupancy import Occupancy
from gpulab.model.coalescing import unique_per_request
from gpulab.model.compare_and_swap import loop_rows, tries
from gpulab.model.instruction_mix import machine_blocks
from gpulab.model.model_input import AccessSample
from gpulab.model.warp_timing import CodeBlock

if TYPE_CHECKING:
    from gpulab.compiler.sass.machine_counts import ExecutedInstruction
    from gpulab.compiler.sass.sass_code import MachineCode

__all__ = ["LaunchRecording", "TracedWave"]


@dataclass(frozen=True)
class TracedWave:
    """The requests of the warps of some blocks, from the beginning of each warp.

    Attributes
    ----------
    words, used : array
        The requested lines of each warp, as in `WaveTrace`.
    blocks : int
        Number of blocks.
    requests : int
        Largest number of requests of a warp.
    ended : bool
        True if most warps ended within the trace.
    sites : tuple
        For each site, the PTX row of its instruction, or None, and True for a part of a `wmma` fragment.
    """

    words: npt.NDArray[np.uint64]
    used: npt.NDArray[np.int64]
    blocks: int
    requests: int
    ended: bool
    sites: tuple[tuple[int | None, bool], ...]

    def block(self, number: int) -> TracedWave:
        """Return one of the blocks."""
        warps = len(self.used) // self.blocks
        part = slice(number * warps, (number + 1) * warps)
        return replace(
            self, words=np.ascontiguousarray(self.words[part]), used=self.used[part].copy(), blocks=1
        )


@dataclass(frozen=True)
class LaunchRecording:
    """The instructions and requests of a launch on the simulator; no latency or rate of the model is in it.

    Attributes
    ----------
    grid, block : tuple of int
    residency : Occupancy
        On the modelled GPU.
    registers : int
        Registers per thread.
    shared_bytes : int
        Shared memory of a block.
    machine_code : MachineCode or None
        None before compute capability 7.0.
    executed : sequence of ExecutedInstruction
        The instructions of `machine_code` with the executions by the blocks that ran.
    ptx_code : tuple of CodeBlock
        The code without machine code.
    scale : float
        Blocks of the grid for each block that ran.
    accesses : mapping of int to AccessSample
        By PTX row.
    waves : tuple of TracedWave
        The last one is evaluated. Empty for a GPU without caches.
    longer : mapping of int to TracedWave
        Blocks of the last wave by their number in it, traced for longer; empty if most warps of the wave
        end.
    block_numbers, block_work : tuple
        The linear indices of the blocks that ran, and the warp instructions of each, by PTX.
    array_bytes : int
        Total size of the arrays.
    description : str
        The blocks that ran.
    other_bytes : int
        Size of the other data that pass through L2 before each launch.
    working : array of int or None
        Linear indices of the blocks with work, in ascending order; None if all blocks have work.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    residency: Occupancy
    registers: int
    shared_bytes: int
    machine_code: MachineCode | None
    executed: Sequence[ExecutedInstruction]
    ptx_code: tuple[CodeBlock, ...]
    scale: float
    accesses: Mapping[int, AccessSample]
    waves: tuple[TracedWave, ...]
    block_numbers: tuple[int, ...]
    block_work: tuple[int, ...]
    array_bytes: int
    description: str
    other_bytes: int = 0
    longer: Mapping[int, TracedWave] = field(default_factory=dict)
    working: npt.NDArray[np.int64] | None = None

    @property
    def blocks(self) -> int:
        """Number of blocks with work."""
        return prod(self.grid) if self.working is None else len(self.working)

    @property
    def code(self) -> tuple[CodeBlock, ...]:
        """The code with its executions over the whole launch."""
        if self.machine_code is None:
            return self.ptx_code
        addresses = {
            row: float(unique_per_request(access.masks, access.addresses, access.width).mean())
            for row, access in self.accesses.items()
            if access.space == "const" and len(access.masks)
        }
        return tuple(machine_blocks(self.machine_code, self.executed, self.scale, addresses, self.tries))

    @cached_property
    def tries(self) -> dict[int, float]:
        """Iterations of the atomic operations that are loops in machine code, by PTX row."""
        rows = loop_rows(self.machine_code) if self.machine_code else frozenset()
        return {
            row: tries(one.masks, one.addresses, one.warps, -(-self.threads // 32))
            for row, one in self.accesses.items()
            if row in rows
        }

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.block)
