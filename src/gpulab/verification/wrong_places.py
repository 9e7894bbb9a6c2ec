"""Descriptions of where wrong points lie: in frames, at block edges, or at one point of each thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.config import LaunchConfig
from gpulab.problems.base import Case, Problem

__all__ = ["WrongOutput", "place_of", "written_boundary"]

Mask = npt.NDArray[np.bool_]
Frames = npt.NDArray[np.int64]  # indices along z

MOST_RANGES = 3  # ranges that a sentence lists


@dataclass(frozen=True)
class WrongOutput:
    """The output of a launch with wrong points.

    Attributes
    ----------
    case : Case
        Inputs and reference.
    launch : LaunchConfig
        Problem, size, block and tile.
    values : ndarray of float32
        The output.
    wrong : ndarray of bool
        The wrong points.
    never : ndarray of bool
        The wrong points that the kernel did not write.
    """

    case: Case
    launch: LaunchConfig
    values: npt.NDArray[np.float32]
    wrong: Mask
    never: Mask

    @property
    def problem(self) -> Problem:
        """The problem that the kernel solves."""
        return self.launch.config.problem

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of the indices into the output."""
        return self.problem.index_names_of(self.wrong.ndim)

    @property
    def written(self) -> Mask:
        """The points that the kernel must write."""
        return self.case.written

    @cached_property
    def computed(self) -> Mask:
        """The wrong points that the kernel wrote."""
        return self.wrong & ~self.never

    @cached_property
    def only_unwritten(self) -> bool:
        """True if the kernel wrote none of the wrong points."""
        return not np.any(self.computed)

    @property
    def extents(self) -> tuple[int, int, int]:
        """Output points along x, y and z."""
        x, y, z = (*self.wrong.shape[::-1], 1, 1)[:3]
        return x, y, z

    @property
    def on_grid(self) -> bool:
        """True if the axes of the output are those of the grid, so that a block has a box of points."""
        return self.problem.follows_formula and self.problem.extents(self.case.shape) == self.extents

    def points_of_block(self, axis: int) -> int:
        """Return the points of a block along an axis, x first; those of one round of a loop over the axis."""
        return self.launch.block[axis] * max(self.launch.config.tile[axis], 1)

    def along(self, axis: int, places: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an array of one value for each point of an axis, x first, to broadcast over the output."""
        shape = [1] * self.wrong.ndim
        shape[-1 - axis] = -1
        return places.reshape(shape)


def place_of(output: WrongOutput) -> str:
    """Return a sentence about what the wrong points have in common, or "" if they have nothing in common."""
    if not output.on_grid:
        return _next_to_boundary(output.wrong, output.written) or _rest(output) or _written_ranges(output)
    return (
        _frames(output)
        or _block_edges(output)
        or _next_to_boundary(output.wrong, output.written)
        or _rest(output)
        or _diagonal_blocks(output)
        or _part_of_block(output)
        or _point_of_thread(output)
        or _written_ranges(output)
    )


def written_boundary(case: Case, names: Sequence[str], forbidden: Mask) -> str:
    """Return a sentence that names the faces of the boundary that a kernel wrote, or "".

    names: of the indices of the output. forbidden: the points of the boundary that the kernel wrote.
    """
    faces = []
    inner = tuple(slice(int(places.min()), int(places.max()) + 1) for places in np.nonzero(case.written))
    for axis, name in enumerate(names):
        for place in (*range(inner[axis].start), *range(inner[axis].stop, forbidden.shape[axis])):
            face = forbidden[(*inner[:axis], place, *inner[axis + 1 :])]
            if 2 * np.count_nonzero(face) > face.size:  # fewer points come from a wrong index
                faces.append(f"{name} = {place}")
    if not faces:
        return ""
    return (
        f"the points with {' or '.join(faces)} are on the boundary: the condition of the store must leave "
        "them out."
    )


def _frames(output: WrongOutput) -> str:
    """Return a sentence if some frames are wrong and others are right."""
    wrong, written, unwritten = output.wrong, output.written, output.only_unwritten
    if wrong.ndim != 3 or wrong.shape[0] < 5:
        return ""
    inner = np.flatnonzero(written.any(axis=(1, 2)))
    frames = np.flatnonzero(wrong.any(axis=(1, 2)))
    whole = 2 * np.count_nonzero(wrong) >= np.count_nonzero(written[frames])
    if len(frames) == len(inner) or not whole:
        return ""
    begins, ends = (
        ("does the loop over z start one frame late?", "does the loop over z stop one frame early?")
        if unwritten
        else ("are the right frames loaded before the loop over z?", "is its frame z + 1 the right one?")
    )
    state = "never written" if unwritten else "wrong"

    if sentence := _frames_of_pieces(output, inner, frames, state, (begins, ends)):
        return sentence
    if frames.tolist() == [inner[0]]:
        return f"only the first inner frame is {state}; {begins}"
    if frames.tolist() == [inner[-1]]:
        return f"only the last inner frame is {state}; {ends}"
    correct = np.setdiff1d(inner, frames)
    if correct[0] == inner[0] and len(correct) <= 1 + len(inner) // 6:
        if unwritten:
            return f"only {_frame_list(correct)} written; does the loop over z reach the others?"
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
        return f"only {_frame_list(frames)} {state}; does a part of the z axis begin or end there?"
    return ""


def _frames_of_pieces(
    output: WrongOutput, inner: Frames, frames: Frames, state: str, questions: tuple[str, str]
) -> str:
    """Return a sentence if the wrong frames, or the right ones, are at one end of the pieces of the z axis.

    inner, frames: all frames that the kernel writes, and the wrong ones. questions: about the first frame of
    a piece, and about the last one.
    """
    length = output.launch.config.tile[2]
    if not 1 < length < len(inner):
        return ""
    pieces = [inner[inner // length == number] for number in np.unique(inner // length)]
    firsts, lasts = ([int(piece[end]) for piece in pieces] for end in (0, -1))
    wrong = frames.tolist()
    # The first piece begins behind the boundary, and the last one ends before it: they may be right.
    for name, ends, inside, question in (
        ("first", firsts, firsts[1:], questions[0]),
        ("last", lasts, lasts[:-1], questions[1]),
    ):
        if wrong == ends or (len(inside) > 1 and wrong == inside):
            return f"only the {name} frame of each piece of {length} frames is {state}; {question}"
    if np.setdiff1d(inner, frames).tolist() == firsts:
        return (
            f"only the first frame of each piece of {length} frames is right; is everything that changes "
            "with z loaded or moved on in each round?"
        )
    return ""


def _frame_list(frames: Frames) -> str:
    """Return some frames and a verb, such as `the frames z = 8, 16 are`."""
    if len(frames) == 1:
        return f"the frame z = {frames[0]} is"
    return f"the frames z = {', '.join(map(str, frames[:4]))}{', ...' if len(frames) > 4 else ''} are"


def _point_of_thread(output: WrongOutput) -> str:
    """Return a sentence if exactly one, or all but one, of the points that each thread computes are wrong."""
    wrong, points = output.wrong, list(_points_of_threads(output))
    for mine, others, which in points:
        if not np.any(output.values[mine]) and np.any(output.values[others]):
            return f"every value of {which} is 0."
    for mine, others, which in points:
        if not np.any(wrong & others) and 2 * np.count_nonzero(wrong) >= np.count_nonzero(mine):
            if output.only_unwritten:
                return f"{which} is never written."
            return f"all wrong points are {which}."
    for mine, others, which in points:
        if not np.any(wrong & mine) and 2 * np.count_nonzero(wrong) >= np.count_nonzero(others):
            return f"only {which} is right."
    return ""


def _points_of_threads(output: WrongOutput) -> Iterator[tuple[Mask, Mask, str]]:
    """Yield the n-th points of all threads along an axis, the other points, and their description.

    The points of a thread are neighbours, or as many points apart as the block has threads.
    """
    written = output.written
    for axis, name in enumerate(output.index_names[:-3:-1]):
        tile, threads = output.launch.config.tile[axis], output.launch.block[axis]
        position = np.arange(output.extents[axis])
        for number in (position % tile, position // threads % tile) if tile > 1 else ():
            for point in range(tile):
                mine = written & output.along(axis, number == point)
                others = written & ~mine
                if np.any(mine) and np.any(others):
                    ordinal = ("first", "second", "third", "fourth")[point] if point < 4 else f"{point + 1}th"
                    yield (
                        mine,
                        others,
                        f"the {ordinal} of the {tile} points that a thread computes along {name}",
                    )


def _block_edges(output: WrongOutput) -> str:
    """Return a sentence if every wrong point lies on the edge of a block: the halo is not loaded."""
    wrong, written = output.wrong, output.written
    if wrong.ndim != 3:
        return ""  # whether the kernel of another output has a halo is not known
    edges: dict[str, Mask] = {}
    for axis, name in enumerate("xy"):
        pitch, extent = output.points_of_block(axis), output.extents[axis]
        if 3 <= pitch < extent:
            place = np.arange(extent) % pitch
            edge = (place == 0) | (place == pitch - 1)
            edges[name] = np.broadcast_to(output.along(axis, edge), wrong.shape)
    if len(edges) == 2:
        edges["x and y"] = edges["x"] | edges["y"]
    for name, edge in edges.items():
        # A few points may lie on edges by chance; a missing halo affects at least a quarter of an edge.
        enough = np.count_nonzero(wrong) * 4 >= np.count_nonzero(written & edge)
        if enough and not np.any(wrong & ~edge) and np.any(written & ~edge):
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


def _rest(output: WrongOutput) -> str:
    """Return a sentence if the wrong points were never written and fill the end of an axis."""
    if not output.only_unwritten:
        return ""
    wrong, written = output.wrong, output.written
    first_written = np.argwhere(written).min(axis=0)
    for axis, start in enumerate(np.argwhere(wrong).min(axis=0)):
        end = [slice(None)] * wrong.ndim
        end[axis] = slice(int(start), None)
        filled = np.zeros_like(wrong)
        filled[tuple(end)] = written[tuple(end)]
        if start > first_written[axis] and np.array_equal(filled, wrong):
            name = output.index_names[axis]
            question = _cause_of_rest(output, wrong.ndim - 1 - axis, int(start))
            return (
                f"no thread writes {output.case.output.name} where {name} >= {int(start)}: {question}"
                f"{_exchanged(output, name, int(start))}"
            )
    return ""


def _cause_of_rest(output: WrongOutput, axis: int, start: int) -> str:
    """Return a question about a kernel that writes nothing from a point of an axis, x first."""
    tile = output.launch.config.tile[axis]
    if output.on_grid and tile == 1 and start == output.launch.block[axis]:
        letter = "xyz"[axis]
        return f"is blockIdx.{letter} * BLOCK_{letter.upper()} missing in the index of a thread's point?"
    if output.on_grid and tile > 1 and start == output.launch.grid[axis] * output.launch.block[axis]:
        name = output.index_names[::-1][axis]
        return (
            f"each thread computes one point along {name}, but --tile gives it {tile}. Let it compute all "
            "of them, or correct --tile."
        )
    if output.on_grid and 1 < tile <= output.extents[axis] - start:
        return (
            "is the index of a thread's first point right, and does each thread compute as many points as "
            "--tile says?"
        )
    return "check the index of a thread's point, and the condition of the store."


def _exchanged(output: WrongOutput, name: str, start: int) -> str:
    """Return a question if the points of an axis end at `start` because x and y are exchanged."""
    axis = {"x": 0, "y": 1}.get(name)
    if axis is None or output.wrong.ndim == 1 or not output.on_grid:
        return ""
    mine, other = output.points_of_block(axis), output.points_of_block(1 - axis)
    extent = output.extents[1 - axis]
    blocks = -(-extent // other)
    if start == blocks * mine:
        return " Are blockIdx.x and blockIdx.y exchanged?"
    return " Are x and y exchanged?" if start in (blocks * other, extent - 1) else ""


def _diagonal_blocks(output: WrongOutput) -> str:
    """Return a sentence if only the blocks with the same number in x and in y write their points."""
    if not output.only_unwritten or output.wrong.ndim == 1:
        return ""
    x, y = (np.arange(output.extents[axis]) // output.points_of_block(axis) for axis in (0, 1))
    diagonal = output.along(0, x) == output.along(1, y)
    if not np.array_equal(output.wrong, output.written & ~diagonal):
        return ""
    return (
        "only the blocks with blockIdx.x = blockIdx.y write their points: is the index along x or that along "
        "y computed from the wrong one?"
    )


def _part_of_block(output: WrongOutput) -> str:
    """Return a sentence if only the first points of each block along an axis are written."""
    if not output.only_unwritten:
        return ""
    wrong = output.wrong
    for axis, name in enumerate(output.index_names[:-3:-1]):
        pitch = output.points_of_block(axis)
        place = np.arange(output.extents[axis]) % pitch
        first = int(place[wrong.any(axis=_other_axes(wrong.ndim, axis))].min())
        if first == output.launch.block[axis]:
            continue  # all later points of each thread, which are more than a part of the block
        if first and np.array_equal(wrong, output.written & output.along(axis, place >= first)):
            exchanged = first == output.launch.block[1 - axis]
            return (
                f"of the {pitch} points of each block along {name}, only the first {first} are written."
                + (" Are threadIdx.x and threadIdx.y exchanged?" if exchanged else "")
            )
    return ""


def _written_ranges(output: WrongOutput) -> str:
    """Return the indices along x and y at which points are written, if the others were never written."""
    if not output.only_unwritten:
        return ""

    right = output.written & ~output.wrong
    box, present, missing = np.ones(right.shape, np.bool_), [], []
    for axis, name in enumerate(output.index_names[:-3:-1]):
        others = _other_axes(right.ndim, axis)
        used = np.asarray(right.any(axis=others))
        unused = output.written.any(axis=others) & ~used
        box &= output.along(axis, used)
        if np.any(unused):
            present.append(f"{name} = {_ranges(np.flatnonzero(used))}")
            missing.append(f"{name} = {_ranges(np.flatnonzero(unused))}")

    if not np.array_equal(right, output.written & box):
        return ""
    shorter = len(" ".join(missing)) <= len(" ".join(present))
    where = f"no point is written at {' or '.join(missing)}" if shorter else ""
    where = where or f"points are written at {' and '.join(present)} only"
    return f"{where}; check the index of a thread's point, and the condition of the store."


def _other_axes(dimensions: int, axis: int) -> tuple[int, ...]:
    """Return the dimensions of the output except that of an axis, x first."""
    return tuple(each for each in range(dimensions) if each != dimensions - 1 - axis)


def _ranges(indices: npt.NDArray[np.int64]) -> str:
    """Return increasing indices as text, such as `1 to 7, 32 to 39`."""
    parts = np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
    texts = [f"{part[0]} to {part[-1]}" if len(part) > 1 else str(part[0]) for part in parts]
    return ", ".join(texts[:MOST_RANGES]) + (", ..." if len(texts) > MOST_RANGES else "")
