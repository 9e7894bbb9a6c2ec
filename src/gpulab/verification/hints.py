"""Hints on the likely cause of wrong values. A hint is given only if the values prove it."""

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
    """Return a sentence that names the likely cause, or "" if the values do not prove one.

    wrong: the wrong points. never: those of them that the kernel did not write. added: True if a value was
    computed from the output's initial contents.
    """
    written = case.written
    values = got[written]
    if np.array_equal(never, written):
        return "the kernel wrote no point; check its bounds and the array that it writes."
    if added:
        return "a value was added to the output's initial contents, which are undefined; assign it instead."
    if not np.any(values):
        return "every value is 0."
    # A few points of a mistake may be right by chance.
    mistake = (
        _known_mistake(problem, case, got) if 2 * np.count_nonzero(wrong) > np.count_nonzero(written) else ""
    )
    return (
        mistake
        or _last_frame(wrong, written)
        or _block_edges(problem, case, launch, wrong)
        or _rest(problem, case, wrong, never)
    )


def _known_mistake(problem: Problem, case: Case, got: npt.NDArray[np.float32]) -> str:
    """Return the description of the problem's common mistake that gives this output, or ""."""
    for mistake in problem.mistakes(case):
        if mistake.values.shape != got.shape:
            continue
        # The tolerance belongs to the correct expression, so a few points of a mistake may exceed it.
        room = 4 * case.tolerance + 1e-6 * np.abs(mistake.values)
        fits = np.abs(got - mistake.values) <= room
        if np.count_nonzero(fits & case.written) >= 0.999 * np.count_nonzero(case.written):
            return f"{mistake.description}."
    return ""


def _last_frame(wrong: Mask, written: Mask) -> str:
    """Return a hint if exactly the last frame is wrong: the loop over frames ends too early."""
    if wrong.ndim != 3 or wrong.shape[0] < 4:
        return ""
    last = np.zeros_like(wrong)
    last[-2] = written[-2]
    if not np.array_equal(wrong, last):
        return ""
    return "only the last inner frame is wrong; does the loop over z stop one frame early?"


def _block_edges(problem: Problem, case: Case, launch: LaunchConfig, wrong: Mask) -> str:
    """Return a hint if every wrong point lies on the edge of a block: the halo is not loaded."""
    extents = problem.extents(case.shape)
    edges: dict[str, Mask] = {}
    for axis, name in enumerate("xy"):
        pitch = launch.block[axis] * launch.config.tile[axis]
        if 3 <= pitch < extents[axis]:
            position = np.arange(extents[axis]) % pitch
            edge = (position == 0) | (position == pitch - 1)
            shape = [1] * wrong.ndim
            shape[wrong.ndim - 1 - axis] = -1
            edges[name] = np.broadcast_to(edge.reshape(shape), wrong.shape)
    if len(edges) == 2:
        edges["x and y"] = edges["x"] | edges["y"]
    for name, edge in edges.items():
        # A few points may lie on edges by chance; a missing halo affects at least a quarter of an edge.
        enough = np.count_nonzero(wrong) * 4 >= np.count_nonzero(case.written & edge)
        if enough and not np.any(wrong & ~edge) and np.any(case.written & ~edge):
            return f"all wrong points lie on the edges of blocks along {name}; is the halo loaded there?"
    return ""


def _rest(problem: Problem, case: Case, wrong: Mask, never: Mask) -> str:
    """Return a hint if the wrong points were never written and fill the end of an axis."""
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
                "and does each thread compute as many points as --tile says?"
            )
    return ""
