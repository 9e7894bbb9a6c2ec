"""The kernel of a cell above, judged again on sizes nobody has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpulab.errors import UsageError, WrongResult

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Device
    from gpulab.problems.base import Problem, Shape
    from gpulab.verification.check import CheckResult

__all__ = ["check_again", "fresh_shapes", "last_run"]

# Every variant of these problems takes any size. Kernels of the others may be written for multiples
# of a block, so they run at the problem's own sizes, on fresh values.
ANY_SIZE = frozenset({"stencil"})

MOST_ADDED = 12  # points on an axis, and at most half of its own: a size below a block stays below it


def last_run(name: str) -> Cell:
    """The kernel cell that ran last under this name, also when it did not compile.

    Raises `UsageError` when none has run.
    """
    from gpulab import session

    cell = session.cell(name)
    if cell is None:
        raise UsageError(
            f"there is no kernel `{name}` to check: run the cell that begins with `%%cuda {name}` first, and "
            "after a restart all cells above it."
        )
    return cell


def check_again(cell: Cell, device: Device) -> CheckResult:
    """Compile the cell's text and run it on fresh sizes and values; returns only when it is right.

    The text counts, not the kernel object that a notebook could have replaced. Raises `CompileError` when
    the compiler refuses it, and `WrongResult` with the reasons when anything is wrong, a fault included.
    """
    from gpulab.verification.check import check_cell

    result = check_cell(cell, device, shapes=fresh_shapes(cell, np.random.default_rng()))
    if not result.correct:
        raise WrongResult(
            "\n".join([f"{cell.header.name} is not right yet.", *result.reasons]), result.verdict
        )
    return result


def fresh_shapes(cell: Cell, rng: np.random.Generator) -> tuple[Shape, ...]:
    """The sizes that this cell's problem is checked at, each axis longer by a random number of points.

    A kernel fitted to the published sizes fails here. What those are there to show stays: several
    blocks with a rest, a grid smaller than a block, and the thin slab, whose shortest axis is kept.
    """
    from gpulab.problems import problem

    header = cell.header
    if not (header.problem and header.variant and header.block and header.tile):
        raise UsageError(f"`{header.name}` belongs to no problem, so there is nothing to check it against.")
    of = problem(header.problem)
    shapes = of.check_shapes(header.variant, header.block, header.tile)
    if of.name not in ANY_SIZE:
        return shapes
    return tuple(_grown(of, shape, rng) for shape in shapes)


def _added(number: int, rng: np.random.Generator) -> int:
    """How many points an axis grows by; rows that all start on 16 bytes go on doing so."""
    step = 4 if number % 4 == 0 else 1
    return step * int(rng.integers(0, min(MOST_ADDED, number // 2) // step, endpoint=True))


def _grown(of: Problem, shape: Shape, rng: np.random.Generator) -> Shape:
    """A longer shape whose axes all differ, as those of the check sizes do."""
    while True:
        longer = tuple(number if number == of.smallest else number + _added(number, rng) for number in shape)
        if longer != shape and len(set(longer)) == len(longer):
            return longer
