"""What a lab's locked test cells call: the kernel of a cell above, judged again on sizes nobody has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpulab.errors import UsageError, WrongResult

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.problems.base import Problem, Shape

__all__ = ["fresh_shapes", "require_correct"]

# Every variant of these problems takes any size. Kernels of the others may be written for multiples
# of a block, so they run at the problem's own sizes, on fresh values.
ANY_SIZE = frozenset({"stencil"})

MOST_ADDED = 12  # points on an axis, and at most half of its own: a size below a block stays below it


def require_correct(name: str) -> None:
    """Compile and run the kernel cell `name` (`"stencil.opt_1"`) again; return only when it is right.

    The text is that of the cell last run under this name, not the kernel object that a notebook
    could have replaced. Inputs and sizes are new in every call.

    Raises `UsageError` when no such cell has run, `CompileError` when the compiler refuses its text,
    and `WrongResult` with the reasons when the check finds anything wrong, a fault included.
    """
    from gpulab.devices import open_device
    from gpulab.evidence.check import check_cell

    cell = _last_run(name)
    result = check_cell(cell, open_device(), shapes=fresh_shapes(cell, np.random.default_rng()))
    if not result.correct:
        raise WrongResult("\n".join([f"{name} is not right yet.", *result.reasons]), result.verdict)


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


def _grown(of: Problem, shape: Shape, rng: np.random.Generator) -> Shape:
    """A longer shape whose axes all differ, as those of the check sizes do."""
    while True:
        longer = tuple(
            number
            if number == of.smallest
            else number + int(rng.integers(0, min(MOST_ADDED, number // 2), endpoint=True))
            for number in shape
        )
        if longer != shape and len(set(longer)) == len(longer):
            return longer


def _last_run(name: str) -> Cell:
    """The kernel cell that ran last under this name, also when it did not compile."""
    from gpulab import registry

    cell = registry.cell(name)
    if cell is None:
        raise UsageError(
            f"there is no kernel `{name}` to check: run the cell that begins with `%%cuda {name}` first."
        )
    return cell
