"""Common mistakes of the stencil, and the uses of its input: the values and sentences of hints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from gpulab.problems import Mistake, Read

__all__ = ["INNER", "Field", "six_neighbours", "stencil_mistakes", "stencil_reads"]

# Share of the points with the values of a mistake that proves it although the kernel has others as well.
MOST_POINTS = 0.5
INNER = (slice(1, -1),) * 3
AXES = ("z", "y", "x")
WHOLE_WEIGHT = "the values are those of a weight 6 / (fac * fac) that is cut to a whole number: is it an int?"

Field = npt.NDArray[np.float64]


def stencil_mistakes(fac: float, A0: Field) -> Iterator[Mistake]:
    """Yield mistakes of `(sum of the six neighbours of A0) - 6 * A0 / (fac * fac)`, one by one."""
    weight = 6.0 / (fac * fac)
    for wrong, description in (
        (6.0 / fac, "the values are those of 6 * A0 / fac: divide by fac * fac"),
        (
            1.0 / (fac * fac),
            "the values are those of A0 / (fac * fac): the centre's weight is 6 / (fac * fac)",
        ),
        (6.0, "the values are those of 6 * A0: the centre is divided by fac * fac"),
        (
            6.0 * fac * fac,
            "the values are those of 6 * A0 * fac * fac: check the parentheses of 6 * A0 / (fac * fac)",
        ),
        (-weight, "the centre is added but must be subtracted"),
        (0.0, "the centre point itself is left out"),
        *((whole, WHOLE_WEIGHT) for whole in (float(int(weight)), float(6 // int(fac * fac)))),
    ):
        yield Mistake(_padded(A0, six_neighbours(A0) - wrong * A0[INNER]), description)
    yield Mistake(A0, "the output is a copy of the input")
    yield from _neighbour_mistakes(A0, weight)
    yield from _frame_mistakes(A0, _padded(A0, six_neighbours(A0) - weight * A0[INNER]), weight)
    yield Mistake(
        _padded(A0, (six_neighbours(A0) - 6.0 * A0[INNER]) / (fac * fac)),
        "the whole sum is divided by fac * fac: only the centre 6 * A0 is",
    )
    yield Mistake(
        _with_row_length(A0, A0.shape[1], weight),
        "the values are those of rows of ny points: x and y exchanged? The index of a point is "
        "x + nx * (y + ny * z)",
        MOST_POINTS,
    )


def stencil_reads(fac: float, A0: Field, right: Field) -> Iterator[Read]:
    """Yield the seven uses of A0, and that of a frame for its five values.

    right: the right output.
    """
    weight = 6.0 / (fac * fac)

    def of_frame(frame: Field) -> Field:
        """Return the terms of the points of one frame: four neighbours and the centre."""
        return sum(np.roll(frame, step, axis) for axis in (1, 2) for step in (1, -1)) - weight * frame

    def output(there: Field, factor: float, values: Field) -> Field:
        return right + factor * (values - there)

    frame_terms = of_frame(A0)
    yield Read(
        "the point itself and its four neighbours in the frame are",
        A0,
        AXES,
        lambda values: right + of_frame(values) - frame_terms,
    )
    yield Read("the point itself is", A0, AXES, partial(output, A0, -weight))
    for axis, name in enumerate(AXES):
        for step, sign in ((-1, "-"), (1, "+")):
            there = np.roll(A0, -step, axis)
            yield Read(f"the neighbour at {name} {sign} 1 is", there, AXES, partial(output, there, 1.0))


def _padded(A0: Field, values: Field) -> Field:
    """Return the values of inner points in an array with a boundary of zeros."""
    padded = np.zeros(A0.shape)
    padded[INNER] = values
    return padded


def _neighbour_mistakes(A0: Field, weight: float) -> Iterator[Mistake]:
    """Yield mistakes that leave a neighbour out, or take another one in its place."""
    names = ("z - 1", "z + 1", "y - 1", "y + 1", "x - 1", "x + 1")
    parts = [
        A0[tuple(side if axis == n else slice(1, -1) for n in range(3))]
        for axis in range(3)
        for side in (slice(None, -2), slice(2, None))
    ]
    right = six_neighbours(A0) - weight * A0[INNER]
    for name, part in zip(names, parts, strict=True):
        for values, description in (
            (right - part, f"the neighbour at {name} is left out"),
            (right - 2 * part, f"the neighbour at {name} is subtracted but must be added"),
            (
                right - part + A0[INNER],
                f"the centre is added in place of the neighbour at {name}"
                + (": do the frames roll in the right order?" if "z" in name else ""),
            ),
        ):
            yield Mistake(_padded(A0, values), description)
        for other, twice in zip(names, parts, strict=True):
            if other != name:
                description = f"the neighbour at {other} is added twice and the one at {name} is left out"
                yield Mistake(_padded(A0, right - part + twice), description)


def _frame_mistakes(A0: Field, right: Field, weight: float) -> Iterator[Mistake]:
    """Yield mistakes of kernels whose frames do not roll, or roll at the wrong time.

    right: the right output.
    """
    if len(A0) < 5:
        return
    below, above = A0[:-2, 1:-1, 1:-1], A0[2:, 1:-1, 1:-1]
    for name, stays in (("z - 1", below[:1] - below), ("z + 1", above[:1] - above)):
        description = f"the frame at {name} stays that of the first round: does it roll?"
        yield Mistake(_padded(A0, right[INNER] + stays), description)
    two_below = np.concatenate([below[:1], below[:-1]])
    two_above = np.concatenate([above[1:], above[-1:]])
    for name, right_one, shift in (
        ("z - 2", "z - 1", two_below - below),
        ("z + 2", "z + 1", two_above - above),
    ):
        description = (
            f"the frame at {name} is added in place of the one at {right_one}: do the frames roll at the "
            "wrong time?"
        )
        yield Mistake(_padded(A0, right[INNER] + shift), description, MOST_POINTS)
    stale = six_neighbours(A0) - weight * A0[1:2, 1:-1, 1:-1]
    yield Mistake(_padded(A0, stale), "the centre stays that of the first frame: does it roll?")
    for step, name in ((1, "z + 1"), (-1, "z - 1")):
        description = f"each frame has the values of {name}: do the frames roll at the wrong time?"
        yield Mistake(_padded(A0, np.roll(right, -step, axis=0)[INNER]), description, MOST_POINTS)


def _with_row_length(A0: Field, length: int, weight: float) -> Field:
    """Return the output of a kernel that takes rows of `length` points in frames of the right size."""
    flat, frame = A0.ravel(), A0[0].size
    total = -weight * flat
    for distance in (1, length, frame):
        total = total + np.roll(flat, distance) + np.roll(flat, -distance)
    return total.reshape(A0.shape)


def six_neighbours(A: Field) -> Field:
    """Return the sum of the six neighbours of each inner point."""
    total = A[1:-1, 1:-1, :-2] + A[1:-1, 1:-1, 2:]
    for part in (A[1:-1, :-2, 1:-1], A[1:-1, 2:, 1:-1], A[:-2, 1:-1, 1:-1], A[2:, 1:-1, 1:-1]):
        total += part
    return total
