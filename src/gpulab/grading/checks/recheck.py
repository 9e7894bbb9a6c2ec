"""Check of a kernel cell on sizes and inputs that its author has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.draws import random_generator

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Device
    from gpulab.problems.base import Problem, Shape
    from gpulab.verification.check import CheckResult

__all__ = ["last_cell", "last_result", "random_shapes", "recheck_cell"]

_RECHECKED: dict[str, CheckResult] = {}  # by the name of the kernel

# Every variant of these problems accepts any size. A kernel of another problem may require multiples of
# its block, so it runs at the problem's own sizes, on new inputs.
ANY_SIZE = frozenset({"stencil"})

# Points that an axis grows by at most. It also grows by at most half of its length, so that an axis that is
# shorter than a block stays shorter.
MAX_GROWTH = 12


def last_cell(name: str) -> Cell:
    """Return the kernel cell that ran last under this name, also if it did not compile.

    Raises `UsageError` if none has run.
    """
    from gpulab import session

    cell = session.cell(name)
    if cell is None:
        raise UsageError(
            f"no kernel `{name}` has run in this session: run the cell that begins with `%%cuda {name}`, and "
            "after a restart all cells above it."
        )
    return cell


def last_result(name: str) -> CheckResult | None:
    """Return the result of the last check of this kernel; None if it did not compile or was not checked."""
    return _RECHECKED.get(name)


def recheck_cell(cell: Cell, device: Device) -> CheckResult:
    """Compile a cell, check it on new sizes and inputs, and return the result if it is correct.

    Raises `CompileError` if the source does not compile, and `WrongResult` with the reasons if a value is
    wrong, the kernel faults or races, or a requirement of its step is not met.
    """
    from gpulab.verification.check import check_cell

    _RECHECKED.pop(cell.name, None)
    result = check_cell(cell, device, shapes=random_shapes(cell, random_generator(cell.name)))
    _RECHECKED[cell.name] = result
    if not result.correct:
        reasons = "\n".join([f"{cell.name} is not correct.", *result.reasons])
        raise WrongResult(reasons, result.verdict)
    return result


def random_shapes(cell: Cell, rng: np.random.Generator) -> tuple[Shape, ...]:
    """Return the check sizes of the cell's problem, each axis longer by a random number of points.

    A kernel that is written for the published sizes fails here. The properties of those sizes are kept:
    several blocks with a remainder, a grid smaller than one block, and a thin slab with an axis of minimal
    length.
    """
    from gpulab.cell import require_kernel_cell

    config = require_kernel_cell(cell).config
    problem, shapes = config.problem, config.check_shapes
    if problem.name not in ANY_SIZE:
        return shapes
    return tuple(_enlarged(problem, shape, rng) for shape in shapes)


def _growth(extent: int, rng: np.random.Generator) -> int:
    """Return the points to add to an axis; a multiple of 4 stays one, so that rows stay 16-byte aligned."""
    step = 4 if extent % 4 == 0 else 1
    return step * int(rng.integers(0, min(MAX_GROWTH, extent // 2) // step, endpoint=True))


def _enlarged(problem: Problem, shape: Shape, rng: np.random.Generator) -> Shape:
    """Return a larger shape whose axes all differ in length; axes of minimal length are kept."""
    while True:
        larger = tuple(
            extent if extent == problem.smallest else extent + _growth(extent, rng) for extent in shape
        )
        if larger != shape and len(set(larger)) == len(larger):
            return larger
