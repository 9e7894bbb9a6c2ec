"""A requirement that a lab step must meet: a limit on a counter of one launch.

A kernel that gives correct values may still be the previous step under a new name. Each step therefore
states which metric it changes, and how far, relative to the step that it improves on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any

from gpulab.errors import ProblemError
from gpulab.problems.case import Block
from gpulab.problems.checked_facts import require_number_or_function
from gpulab.problems.code_line import CodeLine

__all__ = ["METRICS", "MISSED_REQUIREMENT", "PER", "Limit", "Requirement"]

# The value, or a function of the block and the tile of the launch that returns it.
Limit = float | Callable[[Block, Block], float]

MISSED_REQUIREMENT = "the values of {} are correct, but a requirement is not satisfied"

# Metrics that are computed from several counters, with the text that students read. `{work}` is the name of a
# unit of the problem's work.
METRICS: Mapping[str, str] = {
    "global_loads": "4-byte words that threads load from global memory, per {work}",
    "shared_loads": "4-byte words that threads load from shared and local memory, per {work}",
    "exchanged_values": "values that threads get from shared memory or from their warp, per {work}",
    "memory_accesses": "loads and stores of any width that threads execute, per {work}",
    "outputs_per_thread": "outputs that a thread computes",
    "outputs_per_block": "outputs that a block computes",
    "sectors_per_request": "32-byte sectors per 32 threads that load from global memory",
    "sectors_per_store": "32-byte sectors per 32 threads that store to global memory",
    "sectors_loaded": "32-byte sectors that loads touch in global memory, per {work}",
    "sectors_stored": "32-byte sectors that stores touch in global memory, per {work}",
    "load_requests": "requests of warps that load from global memory, per {work}",
    "store_requests": "requests of warps that store to global memory, per {work}",
    "passes_per_shared_access": "passes over the banks per access of a warp to shared memory",
    "shared_passes": "passes over the banks of shared memory, per {work}",
    "branches": "branches that a warp executes, per {work} of each of its threads",
    "barriers": "barriers (__syncthreads) that a block executes",
    "global_atomics": "atomic operations of threads on global memory, per {work}",
    "shared_atomics": "atomic operations of threads on shared memory, per {work}",
    "shuffles": "shuffles that a warp executes",
    "lane_exchanges": "shuffles, votes, matches and reductions that a warp executes",
    "registers": "registers per thread",
    "shared_bytes": "bytes of shared memory per block",
    "occupancy": "resident warps divided by the most that an SM can hold",
    "blocks": "blocks of the launch",
    "waves": "waves: blocks divided by the blocks that are resident on the whole GPU",
}
IN_INTERFACE = True  # see `CodeLine.of_caller`
PER = ("launch", "block", "warp", "thread", "work")  # what another counter may be divided by


def unknown_limit(block: Block, tile: Block) -> float:
    """Return NaN: the limit function of a requirement that was received from another process.

    Results computed in the other process carry their own limits, so this one is never needed.
    """
    del block, tile
    return nan


@dataclass(frozen=True)
class Requirement:
    """A limit on one metric, counted on one launch of the student's kernel.

    Attributes
    ----------
    measure : str
        A key of `gpulab.problems.METRICS`, or any counter: a property of `gpulab.Counters` such as
        "shared_load_bank_conflicts", or a metric name of Nsight Compute that `gpulab.counters` has.
    metric : str
        Name of the metric with its unit, as students read it. By default that of `METRICS`.
    at_most, at_least : float or callable, optional
        The largest or the smallest accepted value; exactly one of them. A function takes the block and the
        tile of the launch. The limit lies between the value that the step needs and the value of the
        baseline, so that different implementations of the step pass.
    relative : bool
        The limit is a factor of the value that the kernel of the step's baseline has on the same launch.
    per : {"launch", "block", "warp", "thread", "work"}
        What a counter that is no key of `METRICS` is divided by.
    baseline_value : float, optional
        The metric of the baseline kernel, for messages.
    array : str
        The input whose loads are counted; empty if loads of all arrays are. Loads of memory that is not an
        input, such as the output or a `__device__` variable, are counted for every input, because they may
        read a copy of it.
    baseline : str
        Name of the kernel that `baseline_value` belongs to.
    advice : str
        A sentence that says why the limit exists or what to do; empty if the metric says enough.

    Examples
    --------
    >>> from gpulab.problems import Requirement
    >>> Requirement("sectors_per_store", at_most=4.5, baseline_value=32).is_lower_bound
    False
    >>> Requirement("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", at_most=0.5, relative=True).limit(
    ...     (32, 8, 1), (1, 1, 1)
    ... )
    0.5
    """

    measure: str
    metric: str = ""
    at_most: Limit | None = None
    at_least: Limit | None = None
    relative: bool = False
    per: str = "launch"
    baseline_value: float | None = None
    array: str = ""
    baseline: str = "the previous step"
    advice: str = ""
    line: CodeLine = field(default_factory=CodeLine.of_caller, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (self.at_most is None) == (self.at_least is None):
            raise ProblemError(
                f"{self.line}: the requirement on {self.measure} needs at_most or at_least, one of them."
            )
        require_number_or_function(
            self.at_most if self.at_least is None else self.at_least,
            f"the limit on {self.measure}",
            self.line,
        )
        if self.per not in PER:
            raise ProblemError(
                f"{self.line}: the requirement on {self.measure} is per `{self.per}`; choose from "
                f"{', '.join(PER)}."
            )

    @property
    def is_lower_bound(self) -> bool:
        """True if the limit is the smallest accepted value."""
        return self.at_least is not None

    def limit(self, block: Block, tile: Block) -> float:
        """Return the limit for a launch.

        Parameters
        ----------
        block, tile : tuple of int
            The geometry of the launch, as (x, y, z).

        Returns
        -------
        float
            In the unit of the metric; a factor if the requirement is relative.
        """
        limit = self.at_most if self.at_least is None else self.at_least
        assert limit is not None
        return limit(block, tile) if callable(limit) else limit

    def title(self, work_unit: str) -> str:
        """Return the name of the metric with its unit.

        Parameters
        ----------
        work_unit : str
            The name of the problem's units of work, in the plural.

        Returns
        -------
        str
            As students read it.
        """
        if self.metric:
            return self.metric
        if self.measure in METRICS:
            return METRICS[self.measure].format(work=work_unit.removesuffix("s"))
        per = work_unit.removesuffix("s") if self.per == "work" else self.per
        return f"{self.measure.replace('_', ' ') if '__' not in self.measure else self.measure} per {per}"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without functions, because some cannot be pickled."""
        state = dict(self.__dict__)
        for name in ("at_most", "at_least"):
            if callable(state[name]):
                state[name] = unknown_limit
        return state
