"""Launches of which only some blocks run, with values, on inputs that take little memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.config import LaunchConfig
from gpulab.problems.base import Argument
from gpulab.profiling.counts.cell_counts import CellCount
from gpulab.profiling.counts.counters import LaunchCount
from gpulab.verification.counted_launch import forbidden_stores
from gpulab.verification.inputs import POISON, draw_period, repeated_poison, repeated_values

__all__ = ["Index", "PartialLaunch", "blocks_of_launch_that_write", "blocks_that_write"]

SEARCH_PARTS = 16  # parts of the grid that a search runs one after the other
# Most warp instructions of a launch whose whole grid is searched with all axes at full length: about 15 s.
MOST_INSTRUCTIONS = 3 << 27

Index = tuple[int, ...]  # index of an output element, in array order


class PartialLaunch:
    """A launch of a counted kernel, of which some blocks run.

    Parameters
    ----------
    count : CellCount
        The kernel's counted launch. The blocks run in the same code, so that nothing is compiled.
    launch : LaunchConfig
        The launch.
    rng : numpy.random.Generator
        Draws the inputs, each of which repeats a pattern of random values.

    Attributes
    ----------
    inputs : tuple of Argument
        The arguments on the host, of the output only its shape; the kernel reads the same memory.
    output : ndarray
        The output in the simulator's memory. It held `POISON` before the first block ran.
    stored : int
        Words that the blocks stored to the output.
    instructions : int
        Warp instructions that they executed.
    forbidden : dict
        Sentences about stores to inputs and to constant memory, as keys.
    """

    def __init__(self, count: CellCount, launch: LaunchConfig, rng: np.random.Generator) -> None:
        self.count, self.launch = count, launch
        self.kernel = count.recorded.kernel
        self.problem = launch.config.problem
        period = draw_period(rng)
        arguments = self.problem.arguments(launch.shape, rng, repeated_values(period))
        self.inputs = tuple(map(_without_values, arguments))
        self._arguments: dict[str, Any] = {}
        for argument in self.inputs:
            value = argument.value
            if argument.role == "output":
                self._output_name = argument.name
                value = self.output = repeated_poison(value, period)
            if argument.role != "scalar":
                value = self.kernel.device.adopt(value)
            self._arguments[argument.name] = value
        self.stored = self.instructions = 0
        self.forbidden: dict[str, None] = {}
        self._ran: set[int] = set()

    def run(self, blocks: Iterable[int]) -> None:
        """Run those of some blocks, given by their linear numbers, that have not run yet.

        Raises `LaunchError`, also if a block executes far more instructions than its share of the work needs.
        """
        numbers = np.array([block for block in blocks if block not in self._ran], np.int64)
        if not len(numbers):
            return
        self._ran.update(numbers.tolist())
        recorded = self._record(numbers)
        counted = replace(self.count, launch=self.launch, arguments=self._arguments, recorded=recorded)
        for site in recorded.sites:
            if site.access.action in ("writes", "updates"):
                stores = counted.arrays_of(site).get(self._output_name)
                self.stored += stores.threads * site.access.size // 4 if stores else 0
        self.forbidden |= dict.fromkeys(forbidden_stores(counted).reasons)

    def _record(self, numbers: npt.NDArray[np.int64]) -> LaunchCount:
        from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder

        launch, flow = self.launch, self.kernel.flow
        recorder = CounterRecorder(self.count.recorded.samples[0][1].forms)
        self.kernel.record(
            recorder,
            launch.grid,
            launch.block,
            list(self._arguments.values()),
            launch.shared_mem,
            order=numbers,
            budget=launch.column_budget,
        )
        lengths = np.array([len(block.code) + 1 for block in flow.blocks])
        self.instructions += int(recorder.blocks()[:, 0] @ lengths)
        return LaunchCount(self.kernel, len(numbers), ((1.0, recorder),), None)

    @property
    def instructions_of_all_blocks(self) -> float:
        """Warp instructions of the whole launch, if its blocks are like those that have run."""
        return self.instructions / max(len(self._ran), 1) * prod(self.launch.grid)

    def is_written(self, index: Index) -> bool:
        """Return True if a block has written an element of the output."""
        return bool(self.output.view(np.uint32)[index] != POISON)

    def writes(self, numbers: npt.NDArray[np.int64], points: Iterable[Index]) -> set[Index]:
        """Run some blocks again and return those of the points that they write."""
        points = set(points)
        for index in points:
            self.output.view(np.uint32)[index] = POISON
        self._record(numbers)
        return {index for index in points if self.is_written(index)}


def _without_values(argument: Argument) -> Argument:
    """Return an output with its shape but without memory: an array takes as much as an input.

    The memory that a process may reserve is limited, and a search has two launches at a time.
    """
    if argument.role != "output":
        return argument
    nothing = np.zeros((), argument.value.dtype)
    return replace(argument, value=np.broadcast_to(nothing, argument.value.shape))


def blocks_that_write(
    points: Sequence[Index], launch: PartialLaunch, rng: np.random.Generator
) -> Iterator[int]:
    """Yield the numbers of the blocks of the whole grid that write some output elements.

    Axes that do not affect the grid, such as k of a matrix product, are reduced to their smallest length, so
    that even a whole launch takes little time. The blocks of a kernel that distributes its points along these
    axes, too, are `blocks_of_launch_that_write`. Raises `LaunchError`.
    """
    reduced = PartialLaunch(launch.count, _with_short_axes(launch), rng)
    lengths = reduced.output.shape
    # An axis of the smallest length has its written points in the middle.
    wanted = {
        tuple(
            i if length == whole else length // 2
            for i, length, whole in zip(point, lengths, launch.output.shape, strict=True)
        )
        for point in points
    }
    yield from _search(reduced, np.arange(prod(launch.launch.grid)), wanted)


def blocks_of_launch_that_write(points: Sequence[Index], launch: PartialLaunch) -> Iterator[int]:
    """Yield the numbers of the blocks that write some output elements, found on the launch itself.

    Yield none if the whole launch would execute more than `MOST_INSTRUCTIONS`. Raises `LaunchError`.
    """
    if launch.instructions_of_all_blocks <= MOST_INSTRUCTIONS:
        yield from _search(launch, np.arange(prod(launch.launch.grid)), set(points))


def _with_short_axes(partial: PartialLaunch) -> LaunchConfig:
    """Return the launch with the shortest axes that leave its grid as it is."""
    launch, problem, config = partial.launch, partial.problem, partial.launch.config
    units = problem.shape_multiples(config.variant, config.block, config.tile)
    for axis, (unit, size) in enumerate(zip(units, problem.sizes.values(), strict=True)):
        shortest = size.nearest(size.smallest, unit)
        shape = (*launch.shape[:axis], shortest, *launch.shape[axis + 1 :])
        shorter = config.at(shape, partial.kernel.device.spec)
        if shorter.grid == launch.grid:
            launch = shorter
    return launch


def _search(launch: PartialLaunch, blocks: npt.NDArray[np.int64], points: set[Index]) -> Iterator[int]:
    """Yield those of some blocks that write some points, by running ever smaller parts of the grid."""
    wanted = set(points)
    for part in np.array_split(blocks, min(SEARCH_PARTS, len(blocks))):
        if not wanted:
            return
        found = launch.writes(part, wanted)
        wanted -= found
        if found and len(part) == 1:
            yield int(part[0])
        elif found:
            yield from _search(launch, part, found)
