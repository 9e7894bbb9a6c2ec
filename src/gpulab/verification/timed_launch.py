"""The values of a sample of blocks at the size that is timed.

A kernel could be correct at the small sizes of a check only. Simulating a whole launch at the size that is
timed would take too long, so some blocks of it run. The values that they write must be right, and they must
write all points that are theirs:

- The sample consists of columns: all blocks at one position (x, y) of the grid. By the block and tile of the
  header, a column must write the points of its box of the output. Some columns contain blocks by whose work
  the time of the launch is modelled.
- A kernel may distribute the points in another way, such as a loop over tiles. Points that a column left out
  are therefore looked for in the columns around it, and then in the whole grid: first of a launch that is
  short along axes without blocks, and then, if it executes few enough instructions, of the launch itself.
- Values are compared at random points of each box and at points that the blocks wrote elsewhere.

The blocks of a problem whose points cannot be computed one by one, or whose grid is its own, cannot be
checked alone. Such a problem runs a whole launch, at a size that is halved until that takes little time.

A sample is no proof: a kernel that leaves out a few blocks of a large grid may pass. It gains no points by
this, because without a GPU these depend on the counted launch, of which all values are compared. On a GPU,
the grader compares whole launches (see `gpulab.profiling.checked_launches`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from gpulab.config import LaunchConfig
from gpulab.errors import LaunchError, UsageError
from gpulab.gpus.limits import Limits
from gpulab.problems.base import Shape
from gpulab.profiling.counts.block_sampling import (
    FEWEST_MODELLED,
    MOST_MODELLED,
    sample_blocks,
)
from gpulab.profiling.counts.cell_counts import CellCount
from gpulab.verification.inputs import POISON
from gpulab.verification.partial_launch import (
    Index,
    PartialLaunch,
    blocks_of_launch_that_write,
    blocks_that_write,
)
from gpulab.verification.verdict import Mismatch, ShapeResult, Verdict
from gpulab.verification.verify import compare_launch

__all__ = ["TimedInputs", "compare_timed_launch", "with_timed_launches"]

FEWEST_COLUMNS, MOST_COLUMNS = 3, 16
MODELLED_COLUMNS = 5  # columns of blocks by whose work the time is modelled, besides one of the fewest
SAMPLED_INSTRUCTIONS = 1 << 20  # warp instructions after which no further column is sampled
LARGEST_COLUMN = 1 << 28  # units of work; a size with more work in a column is halved
WHOLE_WORK = 1 << 20  # units of work, or elements of an array, of a whole launch; a larger size is halved
COMPARED_POINTS, COMPARED_WORK = 1 << 14, 1 << 18  # upper bounds for a box; work as the problem counts it
SEARCHED_POINTS = 8  # points that a search in the whole grid looks for
SEARCHED_ELEMENTS = 1 << 24  # elements, in whole slices, that are searched for stores outside of the boxes
POINTS_ELSEWHERE = 64  # points that are compared outside of the boxes

Column = tuple[int, int]  # position (x, y) in the grid
Box = tuple[slice, ...]  # a part of the output


@dataclass(frozen=True)
class TimedInputs:
    """Sizes of the launches of which some blocks are checked, and the seed of inputs and blocks."""

    shapes: tuple[Shape, ...]
    seed: int


def with_timed_launches(verdict: Verdict, count: CellCount, inputs: TimedInputs) -> Verdict:
    """Return the verdict, or a wrong one if blocks of a timed launch compute wrong values.

    count: the kernel's counted launch.
    """
    config, limits = count.launch.config, count.recorded.kernel.device.spec
    rng = np.random.default_rng(inputs.seed)
    sampled = config.problem.samples_blocks
    for shape in inputs.shapes if sampled else inputs.shapes[:1]:
        try:
            launch = _affordable(config.at(shape, limits), limits, LARGEST_COLUMN if sampled else WHOLE_WORK)
        except UsageError:  # a kernel that cannot be launched at this size cannot be timed there either
            continue
        if sampled:
            result = compare_timed_launch(count, launch, rng)
        else:
            result = compare_launch(count.recorded.kernel, launch, rng)
        if not result.correct:
            reasons = tuple(f"at a size that is timed, {reason}" for reason in result.reasons)
            return replace(
                verdict,
                correct=False,
                results=(*verdict.results, replace(result, reasons=reasons)),
                reasons=(*verdict.reasons, *reasons),
            )
    return verdict


def compare_timed_launch(count: CellCount, launch: LaunchConfig, rng: np.random.Generator) -> ShapeResult:
    """Run a sample of the blocks of a launch and compare what they write with the reference."""
    sample = _SampledColumns(count, launch, rng)
    total = sample.problem.written_points(launch.shape)
    try:
        sample.run_columns()
        left_out = sample.left_out()
    except LaunchError as fault:
        message = f"{str(fault).strip()}{_repeated_stores(count)}"
        reason = f"{sample.size}: {message}"
        too_long = any(finding.kind == "too_long" for finding in fault.findings)
        return ShapeResult(
            launch.shape, correct=False, total=total, fault=message, too_long=too_long, reasons=(reason,)
        )
    reasons = [*sample.forbidden, *left_out, *sample.wrong()]
    return ShapeResult(
        launch.shape, correct=not reasons, total=total, first=sample.first, reasons=tuple(reasons)
    )


def _repeated_stores(count: CellCount) -> str:
    """Return a sentence if threads of the counted launch store each point several times, or ""."""
    config = count.launch.config
    stores = sum(
        site.counts["global"].threads
        for site in count.recorded.sites
        if site.access.action == "writes" and "global" in site.counts
    )
    times = stores / config.problem.written_points(count.launch.shape)
    if times < 2:
        return ""
    return (
        f" On the counted launch each point is stored {times:,.0f} times: does a thread compute only its own?"
    )


def _affordable(launch: LaunchConfig, limits: Limits, most: int) -> LaunchConfig:
    """Return the launch, with extents halved until the part that has to run has at most `most` units of work.

    This part is a column of the grid, or the whole launch of a problem whose blocks cannot be checked alone.
    """
    config, shape = launch.config, launch.shape
    problem = config.problem
    units = problem.shape_multiples(config.variant, config.block, config.tile)

    def cost(shape: Shape) -> float:
        if problem.samples_blocks:
            return problem.work(shape) / prod(config.at(shape, limits).grid[:2])
        return max(problem.work(shape), problem.largest_array(shape))

    while cost(shape) > most:
        halves = []
        for axis, (unit, size) in enumerate(zip(units, problem.sizes.values(), strict=True)):
            half = size.nearest(shape[axis] // 2, unit)
            halves.append((*shape[:axis], half, *shape[axis + 1 :]))
        smallest = min(halves, key=lambda shape: (cost(shape), max(shape)))
        if cost(smallest) >= cost(shape):
            break
        shape = smallest
    return config.at(shape, limits)


class _SampledColumns(PartialLaunch):
    """A launch of which some columns of blocks run; see the module.

    Attributes
    ----------
    first : Mismatch or None
        The first wrong point that was found.
    size : str
        The problem's size as text.
    """

    def __init__(self, count: CellCount, launch: LaunchConfig, rng: np.random.Generator) -> None:
        super().__init__(count, launch, rng)
        self.rng = rng
        self.size = self.problem.format_shape(launch.shape)
        self.first: Mismatch | None = None
        self._columns: list[Column] = []
        self._bits = self.output.view(np.uint32)

    def run_columns(self) -> None:
        """Run columns at random positions, some of them modelled, and at two corners.

        More columns run if their blocks are short.
        """
        width, height, _ = self.launch.grid
        positions = self.rng.integers((width, height), size=(MOST_COLUMNS, 2))
        drawn = [(int(x), int(y)) for x, y in positions]
        first, *modelled = self._modelled()
        columns = list(
            dict.fromkeys([first, (width - 1, height - 1), drawn[0], (0, 0), *modelled, *drawn[1:]])
        )
        self._columns = columns[:FEWEST_COLUMNS]
        self.run(self._blocks(self._columns))

        if len(self._missing(self._columns)):  # these columns need a search, which takes longer
            return
        each = max(self.instructions // len(self._columns), 1)
        more = columns[FEWEST_COLUMNS : min(SAMPLED_INSTRUCTIONS // each, MOST_COLUMNS)]
        self.run(self._blocks(more))
        self._columns += more

    def _modelled(self) -> list[Column]:
        """Return some columns with blocks by whose work the time is modelled.

        A kernel that does less in these blocks only would be modelled as a faster one.
        """
        grid = self.launch.grid
        (few,), (many,) = sample_blocks(grid, FEWEST_MODELLED), sample_blocks(grid, MOST_MODELLED)
        numbers = [self.rng.choice(few.numbers), *self.rng.choice(many.numbers, MODELLED_COLUMNS)]
        return [(int(number) % grid[0], int(number) // grid[0] % grid[1]) for number in numbers]

    def left_out(self) -> list[str]:
        """Return a sentence about points that no block writes; empty if there are none."""
        incomplete = [column for column in self._columns if len(self._missing([column]))]
        self.run(self._blocks(self._around(incomplete)))
        missing = self._missing(incomplete)
        if not len(missing):
            return []

        drawn = self.rng.permutation(len(missing))[:SEARCHED_POINTS]
        wanted = [_index(missing[number]) for number in np.sort(drawn)]
        self.run(list(blocks_that_write(wanted, self, self.rng)))
        never = [index for index in wanted if not self.is_written(index)]
        if never:
            self.run(list(blocks_of_launch_that_write(never, self)))
            never = [index for index in never if not self.is_written(index)]
        if not never:
            return []
        self.first = self._mismatch(never[0])
        total = sum(self._bits[self._required(column)].size for column in self._columns)
        about = len(missing) * len(never) // len(wanted)
        reason = (
            f"{self.size}: no block writes the point {self.problem.format_index(never[0])}; about {about:,} "
            f"of the {total:,} points that were looked at are not written"
        )
        return [reason]

    def wrong(self) -> list[str]:
        """Return sentences about wrong values, and about points of the boundary that were written."""
        elsewhere, boundary = self._elsewhere()
        meshes = [self._drawn_mesh(column) for column in self._columns]
        meshes += [[np.array([i]) for i in index] for index in elsewhere]
        wrong = [index for mesh in meshes for index in self._wrong_points(mesh)]
        reasons = []
        if wrong:
            self.first = first = self._mismatch(wrong[0])
            compared = sum(prod(len(indices) for indices in mesh) for mesh in meshes)
            expected, got = first.texts
            reasons.append(
                f"{self.size}: the value at {self.problem.format_index(wrong[0])} is wrong: expected "
                f"{expected}, got {got}; {len(wrong):,} of {compared:,} compared values "
                "are wrong"
            )
        if boundary:
            reasons.append(
                f"{self.size}: the kernel wrote the point {self.problem.format_index(boundary[0])} of the "
                "boundary; the boundary must stay unchanged"
            )
        return reasons

    def _blocks(self, columns: Sequence[Column]) -> Iterator[int]:
        """Yield the linear numbers of the blocks of some columns."""
        width, height, depth = self.launch.grid
        for x, y in columns:
            yield from range(y * width + x, width * height * depth, width * height)

    def _around(self, columns: Sequence[Column]) -> list[Column]:
        """Return some columns and those next to them."""
        width, height, _ = self.launch.grid
        steps = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
        near = dict.fromkeys((x + dx, y + dy) for x, y in columns for dx, dy in steps)
        return [(x, y) for x, y in near if 0 <= x < width and 0 <= y < height]

    def _box(self, column: Column) -> Box:
        """Return the output points of a column, by the block and tile of the header."""
        config = self.launch.config
        extents = self.problem.extents(self.launch.shape)[: self.output.ndim]
        parts = [slice(0, extent) for extent in extents]
        for axis, position in enumerate(column):
            length = config.block[axis] * config.tile[axis] or extents[axis]
            parts[axis] = slice(position * length, min((position + 1) * length, extents[axis]))
        return tuple(reversed(parts))

    @cached_property
    def _must_write(self) -> Box:
        """All points that a kernel must write."""
        return self.problem.written_box(self.launch.shape)

    @cached_property
    def _work_per_point(self) -> int:
        shape = self.launch.shape
        return self.problem.work(shape) // self.problem.written_points(shape)

    def _required(self, column: Column) -> Box:
        """Return those points of a column that a kernel must write."""
        parts = zip(self._box(column), self._must_write, strict=True)
        return tuple(
            slice(max(a.start, b.start), max(min(a.stop, b.stop), a.start, b.start)) for a, b in parts
        )

    def _missing(self, columns: Sequence[Column]) -> npt.NDArray[np.int64]:
        """Return the indices of required points that are not written, one in each row."""
        found = [np.empty((0, self.output.ndim), np.int64)]
        for column in columns:
            required = self._required(column)
            found.append(np.argwhere(self._bits[required] == POISON) + [part.start for part in required])
        return np.concatenate(found)

    def _elsewhere(self) -> tuple[list[Index], list[Index]]:
        """Return points that were written outside of the boxes, and points of the boundary."""
        boxes = [self._box(column) for column in self._columns]
        written = inside = 0
        for column, box in zip(self._columns, boxes, strict=True):
            is_written = self._bits[box] != POISON
            written += int(np.count_nonzero(is_written))
            required = zip(self._required(column), box, strict=True)
            part = tuple(slice(r.start - b.start, r.stop - b.start) for r, b in required)
            inside += int(np.count_nonzero(is_written[part]))
        if self.stored <= written == inside:  # each point of a box was stored once, and no other one
            return [], []

        found: list[Index] = []
        boundary: list[Index] = []
        first, *inner = self._must_write
        length = len(self._bits)
        most = min(SEARCHED_ELEMENTS * length // self._bits.size, length)
        ends, drawn = np.array([0, length - 1]), self.rng.choice(length, most, replace=False)
        for number in np.union1d(ends, drawn).tolist():
            outside = self._bits[number] != POISON
            if not outside.any():
                continue
            at_boundary = outside.copy()
            if first.start <= number < first.stop:
                at_boundary[tuple(inner)] = False
            boundary += [(number, *_index(rest)) for rest in np.argwhere(at_boundary)[:1]]
            for box in boxes:
                outside[box[1:]] &= not box[0].start <= number < box[0].stop
            rest = np.argwhere(outside & ~at_boundary)
            if len(rest):
                found.append((number, *_index(rest[self.rng.integers(len(rest))])))
        return [found[number] for number in self.rng.permutation(len(found))[:POINTS_ELSEWHERE]], boundary

    def _drawn_mesh(self, column: Column) -> list[npt.NDArray[np.int64]]:
        """Return indices of each axis of a box, at whose combinations values are compared."""
        points = min(COMPARED_POINTS, COMPARED_WORK // self._work_per_point)
        mesh = [np.arange(part.start, part.stop) for part in self._required(column)]
        shortest_first = sorted(range(len(mesh)), key=lambda axis: len(mesh[axis]))
        for left, axis in zip(range(len(mesh), 0, -1), shortest_first, strict=True):
            most = max(int(points ** (1 / left)), 1)
            if len(mesh[axis]) > most:
                mesh[axis] = np.sort(self.rng.choice(mesh[axis], most, replace=False))
            points //= max(len(mesh[axis]), 1)
        return mesh

    def _wrong_points(self, mesh: Sequence[npt.NDArray[np.int64]]) -> list[Index]:
        """Return the written points of a mesh with wrong values."""
        got = self.output[np.ix_(*mesh)]
        reference = self.problem.reference_at(self.inputs, mesh)
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are expected values here
            right = np.abs(got - reference.expected) <= reference.tolerance
        wrong = np.argwhere(~right & (got.view(np.uint32) != POISON))
        indices = np.stack([axis[at] for axis, at in zip(mesh, wrong.T, strict=True)], axis=1)
        return list(map(tuple, indices.tolist()))

    def _mismatch(self, index: Index) -> Mismatch:
        reference = self.problem.reference_at(self.inputs, [np.array([i]) for i in index])
        return Mismatch(index, float(reference.expected.item()), float(self.output[index]))


def _index(row: npt.NDArray[np.int64]) -> Index:
    return tuple(int(number) for number in row)
