"""Random sizes and seeds of a graded check, with the properties that the problem's own sizes have."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm, prod
from typing import TYPE_CHECKING

from gpulab.cell import require_kernel_cell
from gpulab.errors import UsageError
from gpulab.verification.check import CountedInputs
from gpulab.verification.timed_launch import TimedInputs

if TYPE_CHECKING:
    import numpy as np

    from gpulab.cell import Cell
    from gpulab.config import KernelConfig
    from gpulab.problems.base import Problem, Shape

__all__ = [
    "CheckInputs",
    "draw_check_inputs",
    "random_counted_shape",
    "random_seed",
    "random_shapes",
    "random_timed_shape",
]

# Points that an axis grows by at most. It also grows by at most half of its length, so that an axis that is
# shorter than a block stays shorter.
MAX_GROWTH = 12
# Units of work of a size of equal extents: on which the values are checked, unless the smallest such size has
# more, and of the largest one. A size between the two is counted instead, which is faster than a race check.
CHECKED_EQUAL_WORK, LARGEST_EQUAL_WORK = 1 << 20, 1 << 24
LARGEST_ARRAY = 1 << 22  # elements
ATTEMPTS = 50  # draws of a size with the wanted properties; a problem with few sizes may have none
TIMED_STEP, TIMED_STEPS = 32, 2  # a timed extent differs from the timing size by up to this many steps


@dataclass(frozen=True)
class CheckInputs:
    """Sizes and seeds of one check: of the values, of the counted launch, and of launches that are timed."""

    shapes: tuple[Shape, ...]
    seed: int
    counted: CountedInputs
    timed: TimedInputs


def draw_check_inputs(cell: Cell, rng: np.random.Generator) -> CheckInputs:
    """Return random sizes and seeds for a check of the cell."""
    shapes, seed = random_shapes(cell, rng), random_seed(rng)
    counted = CountedInputs(random_counted_shape(cell, rng), random_seed(rng))
    # Also at the exact size, which a kernel could recognise.
    published = require_kernel_cell(cell).config.timing_shape
    timed = TimedInputs((random_timed_shape(cell, rng), published), random_seed(rng))
    return CheckInputs(shapes, seed, counted, timed)


def random_seed(rng: np.random.Generator) -> int:
    """Return a random seed."""
    return int(rng.integers(1 << 63))


def random_shapes(cell: Cell, rng: np.random.Generator) -> tuple[Shape, ...]:
    """Return random sizes for a check of a kernel's values.

    The first ones are the check sizes of the cell's problem, changed at random: a kernel that is written for
    the published sizes fails. They keep the properties of these: several blocks with a remainder, a grid
    smaller than one block, a thin slab with an axis of minimal length, or multiples of what a kernel without
    guards needs. The last one has equal extents, which no published size has; where such a size would be too
    large for a race check, the counted launch has it.
    """
    config = require_kernel_cell(cell).config
    problem, units = config.problem, _units(config)
    if prod(units) == 1:
        shapes = [_enlarged(problem, shape, rng) for shape in config.check_shapes]
    else:
        shapes = [_multiple(problem, shape, units, rng) for shape in config.check_shapes]
    equal = None if _counts_equal_extents(config) else _equal_extents(problem, units, rng)
    return (*shapes, equal) if equal else tuple(shapes)


def random_counted_shape(cell: Cell, rng: np.random.Generator) -> Shape:
    """Return a random size for the launch whose traffic is counted: whole blocks, at times equal extents."""
    config = require_kernel_cell(cell).config
    shape = config.counted_shape
    points = config.problem.block_points(config.block, config.tile)
    units = tuple(lcm(unit, step) for unit, step in zip(_units(config), points, strict=True))
    side = lcm(*units)
    if side <= max(shape) and (rng.random() < 0.25 or _counts_equal_extents(config)):
        equal = (side * -(-max(shape[:2]) // side),) * len(shape)
        if _legal(config.problem, equal):
            return equal

    larger = []
    for extent, unit in zip(shape, units, strict=True):
        most = max(min(extent // 3, 48) // unit, 1)
        larger.append(extent + unit * int(rng.integers(0, most, endpoint=True)))
    other = config.problem.nearest_shape(larger, units)
    return other if _legal(config.problem, other) else shape


def random_timed_shape(cell: Cell, rng: np.random.Generator) -> Shape:
    """Return a random size near the one at which the cell's variant is timed."""
    config = require_kernel_cell(cell).config
    shape, units = [], _units(config)
    for extent, unit, size in zip(config.timing_shape, units, config.problem.sizes.values(), strict=True):
        step = lcm(unit, TIMED_STEP)
        drawn = extent + step * int(rng.integers(-TIMED_STEPS, TIMED_STEPS, endpoint=True))
        shape.append(drawn if size.smallest <= drawn <= size.largest else extent)
    drawn_shape = config.problem.nearest_shape(shape, units)
    try:
        return config.problem.checked_shape(drawn_shape)
    except UsageError:  # of extents that do not fit together
        return config.timing_shape


def _units(config: KernelConfig) -> Shape:
    return config.problem.shape_multiples(config.variant, config.block, config.tile)


def _counts_equal_extents(config: KernelConfig) -> bool:
    """Return True if the counted launch has equal extents, because they are too large for a race check."""
    counted = bool(config.problem.variants[config.variant].requirements)
    units = _units(config)
    return counted and lcm(*units) ** len(units) > CHECKED_EQUAL_WORK


def _legal(problem: Problem, shape: Shape) -> bool:
    """Return whether a problem has a size, and its arrays are not too large for a check."""
    try:
        return problem.largest_array(problem.checked_shape(shape)) <= LARGEST_ARRAY
    except UsageError:
        return False


def _growth(extent: int, rng: np.random.Generator) -> int:
    """Return the points to add to an axis; a multiple of 4 stays one, so that rows stay 16-byte aligned."""
    step = 4 if extent % 4 == 0 else 1
    return step * int(rng.integers(0, min(MAX_GROWTH, extent // 2) // step, endpoint=True))


def _enlarged(problem: Problem, shape: Shape, rng: np.random.Generator) -> Shape:
    """Return a larger shape whose axes all differ in length; axes of minimal length are kept."""
    for _ in range(ATTEMPTS):
        grown = [
            extent if extent == smallest > 1 else extent + _growth(extent, rng)
            for extent, smallest in zip(shape, problem.smallest_shape, strict=True)
        ]
        larger = problem.nearest_shape(grown, (1,) * len(grown))
        if larger != shape and len(set(larger)) >= len(set(shape)) and _legal(problem, larger):
            return larger
    return shape


def _multiple(problem: Problem, shape: Shape, units: Shape, rng: np.random.Generator) -> Shape:
    """Return another shape of multiples, of at most twice the work.

    Several multiples remain several, and equal extents, of a grid that fits only n = m, remain equal.
    """
    for _ in range(ATTEMPTS):
        other = []
        for extent, unit in zip(shape, units, strict=True):
            factor = extent // unit
            other.append(unit * max(factor + int(rng.integers(-1, 2)), min(factor, 2)))
        if len(shape) > 1 and shape[0] == shape[1]:
            side = lcm(units[0], units[1])
            other[0] = other[1] = side * (shape[0] // side + int(rng.integers(0, 2)))
        nearest = problem.nearest_shape(other, units)
        alike = len(set(nearest)) == len(set(shape))
        fits = prod(nearest) <= 2 * prod(shape) and _legal(problem, nearest)
        if alike and nearest != shape and fits:
            return nearest
    return shape


def _equal_extents(problem: Problem, units: Shape, rng: np.random.Generator) -> Shape | None:
    """Return a shape of equal extents; None if that would be too large for a check."""
    axes, side = len(units), lcm(*units)
    if side**axes > LARGEST_EQUAL_WORK:
        return None
    if side == 1:
        least = max(problem.smallest_shape) + 5
        shape = (int(rng.integers(least, max(40, least), endpoint=True)),) * axes
    else:
        most = max(round(CHECKED_EQUAL_WORK ** (1 / axes)) // side, 1)
        shape = (side * int(rng.integers(1, most, endpoint=True)),) * axes
    return shape if _legal(problem, shape) else None
