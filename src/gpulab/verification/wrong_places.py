"""Descriptions of where wrong points lie: in frames, at block edges, or at one point of each thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpulab.config import LaunchConfig
from gpulab.problems.base import Case, Problem

__all__ = ["place_of"]

Mask = npt.NDArray[np.bool_]


def place_of(
    problem: Problem,
    case: Case,
    launch: LaunchConfig,
    got: npt.NDArray[np.float32],
    wrong: Mask,
    never: Mask,
) -> str:
    """Return a sentence about what the wrong points have in common, or "" if they have nothing in common.

    wrong: the wrong points. never: those of them that the kernel did not write.
    """
    return (
        _frames(launch, wrong, never, case.written)
        or _block_edges(problem, case, launch, wrong)
        or _next_to_boundary(wrong, case.written)
        or _rest(problem, case, launch, wrong, never)
        or _point_of_thread(problem, case, launch, got, wrong, never)
        or _part_of_block(problem, case, launch, wrong, never)
    )


def _frames(launch: LaunchConfig, wrong: Mask, never: Mask, written: Mask) -> str:
    """Return a sentence if some frames are wrong and others are right."""
    if wrong.ndim != 3 or wrong.shape[0] < 5:
        return ""
    inner = np.flatnonzero(written.any(axis=(1, 2)))
    frames = np.flatnonzero(wrong.any(axis=(1, 2)))
    whole = 2 * np.count_nonzero(wrong) >= np.count_nonzero(written[frames])
    if len(frames) == len(inner) or not whole:
        return ""
    unwritten = np.array_equal(wrong, never)
    begins, ends = (
        ("does the loop over z start one frame late?", "does the loop over z stop one frame early?")
        if unwritten
        else ("are the right frames loaded before the loop over z?", "is its frame z + 1 the right one?")
    )
    state = "never written" if unwritten else "wrong"

    length = launch.config.tile[2]
    if 1 < length < len(inner):
        pieces = [inner[inner // length == number] for number in np.unique(inner // length)]
        for name, end, question in (("first", 0, begins), ("last", -1, ends)):
            if frames.tolist() == [piece[end] for piece in pieces]:
                return f"only the {name} frame of each piece of {length} frames is {state}; {question}"
    if frames.tolist() == [inner[0]]:
        return f"only the first inner frame is {state}; {begins}"
    if frames.tolist() == [inner[-1]]:
        return f"only the last inner frame is {state}; {ends}"
    correct = np.setdiff1d(inner, frames)
    if correct[0] == inner[0] and len(correct) <= 1 + len(inner) // 6:
        return (
            f"only {_frame_list(correct)} right; is everything that changes with z loaded or moved on in "
            "each round?"
        )
    if frames.tolist() == inner[: len(frames)].tolist() and len(frames) <= 2:
        return (
            f"only the first {len(frames)} inner frames are wrong; are the right frames loaded before the "
            "loop over z?"
        )
    steps = set(np.diff(frames).tolist())
    if len(frames) <= len(inner) // 2 and (len(frames) == 1 or (len(steps) == 1 and min(steps) > 1)):
        return f"only {_frame_list(frames)} wrong; does a part of the z axis begin or end there?"
    return ""


def _frame_list(frames: npt.NDArray[np.int64]) -> str:
    """Return some frames and a verb, such as `the frames z = 8, 16 are`."""
    if len(frames) == 1:
        return f"the frame z = {frames[0]} is"
    return f"the frames z = {', '.join(map(str, frames[:4]))}{', ...' if len(frames) > 4 else ''} are"


def _point_of_thread(
    problem: Problem,
    case: Case,
    launch: LaunchConfig,
    got: npt.NDArray[np.float32],
    wrong: Mask,
    never: Mask,
) -> str:
    """Return a sentence if exactly one, or all but one, of the points that each thread computes are wrong."""
    points = list(_points_of_threads(problem, case, launch))
    for mine, others, which in points:
        if not np.any(got[mine]) and np.any(got[others]):
            return f"every value of {which} is 0."
    for mine, others, which in points:
        if not np.any(wrong & others) and 2 * np.count_nonzero(wrong) >= np.count_nonzero(mine):
            if np.array_equal(wrong, never):
                return f"{which} is never written."
            return f"all wrong points are {which}."
    for mine, others, which in points:
        if not np.any(wrong & mine) and 2 * np.count_nonzero(wrong) >= np.count_nonzero(others):
            return f"only {which} is right."
    return ""


def _points_of_threads(
    problem: Problem, case: Case, launch: LaunchConfig
) -> Iterator[tuple[Mask, Mask, str]]:
    """Yield the n-th points of all threads along an axis, the other points, and their description.

    The points of a thread are neighbours, or as many points apart as the block has threads.
    """
    extents = problem.extents(case.shape)
    for axis, name in enumerate(problem.index_names[:-3:-1]):
        tile, threads = launch.config.tile[axis], launch.block[axis]
        position = np.arange(extents[axis])
        shape = [1] * case.written.ndim
        shape[-1 - axis] = -1
        for number in (position % tile, position // threads % tile) if tile > 1 else ():
            for point in range(tile):
                mine = np.broadcast_to((number == point).reshape(shape), case.written.shape) & case.written
                others = case.written & ~mine
                if np.any(mine) and np.any(others):
                    ordinal = ("first", "second", "third", "fourth")[point] if point < 4 else f"{point + 1}th"
                    yield (
                        mine,
                        others,
                        f"the {ordinal} of the {tile} points that a thread computes along {name}",
                    )


def _block_edges(problem: Problem, case: Case, launch: LaunchConfig, wrong: Mask) -> str:
    """Return a sentence if every wrong point lies on the edge of a block: the halo is not loaded."""
    if wrong.ndim != 3:
        return ""  # only a stencil has a halo
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


def _next_to_boundary(wrong: Mask, written: Mask) -> str:
    """Return a sentence if every wrong point has a neighbour that the kernel must not write."""
    near = np.zeros_like(wrong)
    for axis in (wrong.ndim - 1, wrong.ndim - 2):  # the plane; the frames have sentences of their own
        near |= ~np.roll(written, 1, axis) | ~np.roll(written, -1, axis)
    enough = np.count_nonzero(wrong) * 4 >= np.count_nonzero(written & near)
    if not enough or np.any(wrong & ~near) or not np.any(written & ~near):
        return ""
    return "all wrong points are next to the boundary; do the threads on the boundary load their points too?"


def _rest(problem: Problem, case: Case, launch: LaunchConfig, wrong: Mask, never: Mask) -> str:
    """Return a sentence if the wrong points were never written and fill the end of an axis."""
    if not np.array_equal(wrong, never):
        return ""
    first_written = np.argwhere(case.written).min(axis=0)
    for axis, start in enumerate(np.argwhere(wrong).min(axis=0)):
        end = [slice(None)] * wrong.ndim
        end[axis] = slice(int(start), None)
        filled = np.zeros_like(wrong)
        filled[tuple(end)] = case.written[tuple(end)]
        if start > first_written[axis] and np.array_equal(filled, wrong):
            name = problem.index_names[axis]
            exchanged = _exchanged(problem, case, launch, name, int(start))
            return (
                f"no point with {name} >= {int(start)} was written; does the launch cover the whole axis, "
                f"and does each thread compute as many points as --tile says?{exchanged}"
            )
    return ""


def _exchanged(problem: Problem, case: Case, launch: LaunchConfig, name: str, start: int) -> str:
    """Return a question if the points of an axis end at `start` because x and y are exchanged."""
    axis = {"x": 0, "y": 1}.get(name)
    if axis is None:
        return ""
    mine, other = (launch.block[n] * max(launch.config.tile[n], 1) for n in (axis, 1 - axis))
    extent = problem.extents(case.shape)[1 - axis]
    blocks = -(-extent // other)
    if start == blocks * mine:
        return " Are blockIdx.x and blockIdx.y exchanged?"
    return " Are x and y exchanged?" if start in (blocks * other, extent - 1) else ""


def _part_of_block(problem: Problem, case: Case, launch: LaunchConfig, wrong: Mask, never: Mask) -> str:
    """Return a sentence if only the first points of each block along an axis are written."""
    if not np.array_equal(wrong, never):
        return ""
    extents = problem.extents(case.shape)
    for axis, name in enumerate(problem.index_names[:-3:-1]):
        pitch = launch.block[axis] * max(launch.config.tile[axis], 1)
        place = np.arange(extents[axis]) % pitch
        others = tuple(each for each in range(wrong.ndim) if each != wrong.ndim - 1 - axis)
        first = int(place[wrong.any(axis=others)].min())
        shape = [1] * wrong.ndim
        shape[-1 - axis] = -1
        if first and np.array_equal(wrong, case.written & (place >= first).reshape(shape)):
            exchanged = first == launch.block[1 - axis]
            return (
                f"of the {pitch} points of each block along {name}, only the first {first} are written."
                + (" Are threadIdx.x and threadIdx.y exchanged?" if exchanged else "")
            )
    return ""
