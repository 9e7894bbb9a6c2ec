"""Recorders: the host side of an instrumentation, one object per launch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpulab.simt.codegen.native import NativeKernel
from gpulab.simt.instrument.base import Forms
from gpulab.simt.runtime.allocation import Allocation, Memory
from gpulab.simt.runtime.host_memory import POISON
from gpulab.simt.runtime.worker import LaunchWorker

__all__ = ["Recorder", "RepeatRecorder"]


class Recorder:
    """Owner of the memory that instrumented code records into; this base class records nothing.

    Attributes
    ----------
    tier : str
        Name of the instrumentation that the kernel must be compiled with.
    forms : Forms
        See `Instrumentation.forms`.
    cores : int or None
        Number of host cores that may share the launch; None for all of them.
    poison : int
        Byte that shared memory is filled with before a block starts.
    local_poison : int
        The same for local memory; -1 if a block may find there what earlier blocks have left.
    repeats : bool
        The launch repeats another one for the sake of its recording. Otherwise all arrays of the device count
        as written, except in the racecheck tier, which records what the launch writes.
    spare_rows : int
        Rows of the table of allocations that the launch may add; see `shadow_of_block`.
    """

    tier = "values"
    forms: Forms = ()
    cores: int | None = None
    poison = POISON
    local_poison = -1
    repeats = False
    spare_rows = 0

    def prepare(self, native: NativeKernel, shared_bytes: int, params: bytes) -> None:
        """Prepare for a launch of `native` with `shared_bytes` of shared memory per block.

        `params` are the kernel's parameters, as the PTX manual lays them out.
        """

    def table(self, memory: Memory) -> npt.NDArray[np.uint64]:
        """Return the table of allocations that running code searches, with the addresses of their shadows."""
        return memory.table()

    def shadow_of_block(self, block: Allocation) -> int:  # noqa: ARG002
        """Return the address of the shadow of memory that a kernel allocates while it runs; 0 for none."""
        return 0

    def attach(self, worker: LaunchWorker) -> None:
        """Give a worker the memory that its code records into.

        Called again for the same worker if its code has gained access sites.
        """


class RepeatRecorder(Recorder):
    """Recorder of a launch that repeats another one with a given byte in unwritten local memory.

    Parameters
    ----------
    local_poison : int
        See `Recorder.local_poison`.
    """

    cores = 1
    repeats = True

    def __init__(self, local_poison: int) -> None:
        self.local_poison = local_poison
