"""Hints on why values are wrong: only what the values themselves prove, and only where that is cheap."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpulab.config import LaunchConfig
from gpulab.problems.base import Case, Problem

__all__ = ["hint_for"]

Mask = npt.NDArray[np.bool_]


def hint_for(
    problem: Problem,
    case: Case,
    launch: LaunchConfig,
    got: npt.NDArray[np.float32],
    wrong: Mask,
    never: Mask,
    *,
    added: bool,
) -> str:
    """A sentence that names the likely cause, or "" when the values do not prove one.

    wrong: points that are not right. never: those of them that nobody wrote. added: whether a value
    was computed from what the output held before the launch.
    """
    written = case.written
    values = got[written]
    if np.array_equal(never, written):
        return "the kernel wrote no point at all; look at its bounds and at the array it writes to."
    if added:
        return "a value was added to what the output held before; set it, the output starts undefined."
    if not np.any(values):
        return "every value is 0."
    # A few points of a slip may be right by chance.
    slip = _slip(problem, case, got) if 2 * np.count_nonzero(wrong) > np.count_nonzero(written) else ""
    return (
        slip
        or _last_frame(wrong, written)
        or _block_edges(problem, case, launch, wrong)
        or _rest(problem, case, wrong, never)
    )


def _slip(problem: Problem, case: Case, got: npt.NDArray[np.float32]) -> str:
    """Whether the whole output is what one of the problem's common mistakes gives."""
    for slip in problem.mistakes(case):
        if slip.values.shape != got.shape:
            continue
        # The tolerance was made for the right expression, so a few points of a slip may miss it.
        room = 4 * case.tolerance + 1e-6 * np.abs(slip.values)
        fits = np.abs(got - slip.values) <= room
        if np.count_nonzero(fits & case.written) >= 0.999 * np.count_nonzero(case.written):
            return f"{slip.description}."
    return ""


def _last_frame(wrong: Mask, written: Mask) -> str:
    """All points of the last frame are wrong and no others: the loop over frames ends too early."""
    if wrong.ndim != 3 or wrong.shape[0] < 4:
        return ""
    last = np.zeros_like(wrong)
    last[-2] = written[-2]
    if not np.array_equal(wrong, last):
        return ""
    return "only the last inner frame is wrong; does the loop over z stop one frame early?"


def _block_edges(problem: Problem, case: Case, launch: LaunchConfig, wrong: Mask) -> str:
    """Every wrong point lies on the rim of a block: a halo that is not loaded."""
    extents = problem.extents(case.shape)
    rims: dict[str, Mask] = {}
    for axis, name in enumerate("xy"):
        pitch = launch.block[axis] * launch.config.tile[axis]
        if 3 <= pitch < extents[axis]:
            place = np.arange(extents[axis]) % pitch
            rim = (place == 0) | (place == pitch - 1)
            shape = [1] * wrong.ndim
            shape[wrong.ndim - 1 - axis] = -1
            rims[name] = np.broadcast_to(rim.reshape(shape), wrong.shape)
    if len(rims) == 2:
        rims["x and y"] = rims["x"] | rims["y"]
    for name, rim in rims.items():
        # A handful of stray points may lie on edges by chance; a missing halo takes a good part of them.
        enough = np.count_nonzero(wrong) * 4 >= np.count_nonzero(case.written & rim)
        if enough and not np.any(wrong & ~rim) and np.any(case.written & ~rim):
            return f"all wrong points lie on the edges of blocks along {name}; is the halo loaded there?"
    return ""


def _rest(problem: Problem, case: Case, wrong: Mask, never: Mask) -> str:
    """Every wrong point was never written, and they fill one end of an axis."""
    if not np.array_equal(wrong, never):
        return ""
    for axis, start in enumerate(np.argwhere(wrong).min(axis=0)):
        end = [slice(None)] * wrong.ndim
        end[axis] = slice(int(start), None)
        filled = np.zeros_like(wrong)
        filled[tuple(end)] = case.written[tuple(end)]
        if start > 1 and np.array_equal(filled, wrong):
            name = problem.index_names[axis]
            return (
                f"no point with {name} >= {int(start)} was written; does the launch cover the whole axis, "
                "and each thread as many points as --tile says?"
            )
    return ""
