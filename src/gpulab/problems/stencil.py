"""The seven-point stencil of lab 1: each inner point from itself and its six neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

import numpy as np
import numpy.typing as npt

from gpulab.problems import (
    Argument,
    Block,
    Case,
    Input,
    Mistake,
    Output,
    PartialReference,
    Problem,
    Read,
    Requirement,
    Scalar,
    Shape,
    Size,
    Step,
    gamma,
)

__all__ = ["Stencil", "problem"]

# Share of the points with the values of a mistake that proves it although the kernel has others as well.
MOST_POINTS = 0.5
INNER = (slice(1, -1),) * 3
AXES = ("z", "y", "x")
WHOLE_WEIGHT = "the values are those of a weight 6 / (fac * fac) that is cut to a whole number: is it an int?"

Field = npt.NDArray[np.float64]

# Roundings on the longest path from an input to the result, for any way to write the formula. The sum of
# seven terms rounds at most 6 times. The centre's weight adds fac * fac (1), a division (2 ulp, thus 4
# roundings, for the approximate division of the CUDA C++ Programming Guide, "Intrinsic Functions"; 1 for
# the exact one), a second division or the square of a reciprocal (4) and the product (1).
ROUNDINGS = 16


def _halo(block: Block, tile: Block) -> float:
    """Return the halo points of a block's part of a frame, per point of that part."""
    x, y = (threads * max(points, 1) for threads, points in zip(block[:2], tile[:2], strict=True))
    return 2 * (x + y) / (x * y)


def _shared_plane_limit(block: Block, tile: Block) -> float:
    """Return the limit for a kernel that reads its neighbours in the plane from shared memory.

    The kernel loads each point of three frames once, and a halo around the middle frame. The naive kernel
    makes 7 loads per point, and 5 if frames roll through its registers: as many as a block of one row makes
    with a tile, because its halo has two points for each of its own.
    """
    halo = _halo(block, tile)
    return min(1.1 * (3 + 1.25 * halo) + 0.3, max(1.1 * (3 + halo) + 0.2, 4.75))


def _rolling_limit(block: Block, tile: Block) -> float:
    """Return the limit for a kernel that loads each frame once.

    The kernel makes one load per point, a halo, and a few loads of the first frames: two for each part of
    the z axis that the tile selects. A kernel that does not roll makes 3 loads and a halo.
    """
    first_frames = 2 / tile[2] if tile[2] else 0.0
    return min(1.15 * (1 + first_frames + 1.25 * _halo(block, tile)) + 0.5, 2.6 + _halo(block, tile))


def _rolling_or_reloading_limit(block: Block, tile: Block) -> float:
    """Return the limit for a kernel whose frames roll, and which may load a frame twice.

    A kernel may load a point into a register and once more into the shared tile.
    """
    return 2.6 + _halo(block, tile)


# Loads are limited for all arrays together, because a kernel may copy A0 and load from the copy.
_LOADS = "loads of A0, or of a copy in global memory, for each inner point"
_TWO_POINTS = Requirement(
    "outputs_per_thread",
    "points that a thread computes in a frame",
    at_least=1.7,
    baseline_value=1,
    advice="Is `--tile 1 2 0` in the first line of the cell?",
)
_WARP_OF_POINTS = Requirement(
    "outputs_per_block",
    "points that a block computes in a frame",
    at_least=32,
    baseline_value=1,
    baseline="a block of one thread",
    advice="The threads of a small block share few neighbours, so that the step saves few loads: take a "
    "larger --block.",
)
_BY_ALL_LANES = Requirement(
    "store_requests",
    "requests of warps that store to global memory, for each inner point",
    at_most=0.5,
    baseline_value=1,
    baseline="a kernel with one active thread in each warp",
    advice="Let each thread of the block compute points of its own.",
)
_STEPS = (
    Step("naive", "seven loads from global memory for each point", requirements=(_BY_ALL_LANES,)),
    Step(
        "opt_1",
        "neighbours in the plane come from a tile in shared memory",
        "naive",
        requirements=(
            Requirement("global_loads", _LOADS, at_most=_shared_plane_limit, baseline_value=7),
            # A block of one row shares its neighbours along x only.
            Requirement("exchanged_values", at_least=0.5, baseline_value=0),
            _WARP_OF_POINTS,
            _BY_ALL_LANES,
        ),
    ),
    Step(
        "opt_2",
        "frames roll through the block: each is loaded once",
        "opt_1",
        requirements=(
            Requirement("global_loads", _LOADS, at_most=_rolling_limit, baseline_value=3.3),
            _WARP_OF_POINTS,
            _BY_ALL_LANES,
        ),
    ),
    Step(
        "opt_3",
        "each thread computes two points of a frame",
        "opt_2",
        requirements=(
            _TWO_POINTS,
            Requirement("global_loads", _LOADS, at_most=_rolling_or_reloading_limit, baseline_value=3.3),
            _WARP_OF_POINTS,
            _BY_ALL_LANES,
        ),
    ),
    Step(
        "opt_4",
        "open: as fast as today's GPUs allow",
        "opt_3",
        is_open=True,
        requirements=(
            # Memory instructions limit this kernel on current GPUs before DRAM bandwidth does.
            Requirement(
                "memory_accesses",
                "loads and stores, of any width and of global, shared and local memory, for each inner point",
                at_most=5.5,
                baseline_value=9.5,
            ),
            # Two of the seven loads belong to the rolling frames; the other five may hit in the L1 cache.
            Requirement("global_loads", _LOADS, at_most=5.2, baseline_value=7, baseline="naive"),
            _WARP_OF_POINTS,
            _BY_ALL_LANES,
        ),
    ),
    Step(
        "opt_5",
        "open: two time steps in one pass, with the grid in between in shared memory",
        None,
        block=(32, 16, 1),
        is_open=True,
        requirements=(
            Requirement(
                "global_loads",
                _LOADS,
                at_most=5.2,
                baseline_value=49,
                baseline="a kernel that computes the first step anew for each of its uses",
            ),
            _WARP_OF_POINTS,
            _BY_ALL_LANES,
        ),
    ),
)


class Stencil(Problem):
    """`Anext = (sum of the six neighbours of A0) - 6 * A0 / (fac * fac)` on the inner points.

    A shape is (nx, ny, nz); the arrays are NumPy's (nz, ny, nx), float32, x fastest. The boundary
    of Anext is not written.

    Tolerance of a point: gamma(16) * (sum of |neighbours| + 6 * |A0| / fac**2), see
    `gpulab.problems.gamma` for the bound and `ROUNDINGS` for the count.
    """

    def __init__(
        self,
        steps: Sequence[Step] = _STEPS,
        reference: Callable[[float, Field], Field] | None = None,
        error_bound: Callable[[float, Field], Field] | None = None,
        mistakes: Callable[..., Iterator[Mistake]] | None = None,
        passes: int = 1,
    ) -> None:
        field = ("nz", "ny", "nx")
        size = Size(512, smallest=3)  # one inner point between two boundary points
        super().__init__(
            "stencil",
            kernel="block2D_{step}",
            # fac is far from 0 and 1, so that fac, fac * fac and their reciprocals differ clearly.
            arguments=(
                Scalar("fac", (1.5, 3.0)),
                Input("A0", field),
                Output("Anext", field),
                "nx",
                "ny",
                "nz",
            ),
            sizes={"nx": size, "ny": size, "nz": size},
            reference=reference or _reference,
            error_bound=error_bound or _error_bound,
            written=lambda nx, ny, nz: tuple(slice(1, extent - 1) for extent in (nz, ny, nx)),
            # Five additions, a product, a division and a subtraction for each inner point; not fac * fac.
            flops=lambda nx, ny, nz: 8 * passes * (nx - 2) * (ny - 2) * (nz - 2),
            work=lambda nx, ny, nz: (nx - 2) * (ny - 2) * (nz - 2),
            work_unit="inner points",
            mistakes=mistakes or _mistakes,
            steps=steps,
            block=(32, 8, 1),
            tile=(1, 1, 0),
        )

    def of_step(self, step: str) -> Problem:
        return two_steps if step == "opt_5" else self

    def check_shapes(self, variant: str, block: Block, tile: Block) -> tuple[Shape, ...]:
        """Return three shapes; four for opt_4 and opt_5. In each, nx, ny and nz are different.

        The first has several blocks and a remainder on each axis, and enough frames to expose a skipped last
        frame or a rolling error that grows. The second is a thin slab with one inner frame (nz = 3). The
        third is smaller than a block in x and y, and deep. The fourth has rows that all start on a multiple
        of 16 bytes, because open steps may use vector loads on such rows only.
        """
        x, y, z = (threads * points for threads, points in zip(block, tile, strict=True))
        several = (max(65, 2 * x + 1), max(47, 2 * y + 3), max(9, 2 * z + 3))
        if several[0] == several[1]:
            several = (several[0] + 4, several[1], several[2])
        thin = (max(33, x + 1), max(70, y + 6), 3)
        if thin[0] == thin[1]:
            thin = (thin[0] + 2, thin[1], 3)
        small = (7, 3, 20)  # an even number of inner frames; so small that an unguarded load leaves A0
        if variant not in ("opt_4", "opt_5"):
            return several, thin, small
        even = (several[0] + 3) // 4 * 4
        while even in several[1:]:
            even += 4
        return several, thin, small, (even, *several[1:])

    def counted_shape(self, variant: str, block: Block, tile: Block) -> Shape:
        del variant
        x, y = (threads * max(points, 1) for threads, points in zip(block[:2], tile[:2], strict=True))
        return -(-96 // x) * x, -(-64 // y) * y, 34

    def serial_work(self, shape: Shape) -> int:
        return shape[2] - 2  # a thread walks over the inner frames

    def reference_at(
        self, arguments: Sequence[Argument], indices: Sequence[npt.NDArray[np.int64]]
    ) -> PartialReference:
        A0 = arguments[1].value

        def values(at: Sequence[npt.NDArray[np.int64]]) -> tuple[Field, Field]:
            return A0[np.ix_(*at)].astype(np.float64), np.zeros(())  # A0 has no error

        return _partial_reference(float(arguments[0].value), A0.shape, indices, values)

    def reads(self, case: Case) -> Iterator[Read]:
        return _reads(float(case.value("fac")), case.value("A0").astype(np.float64), case.expected)

    def compulsory_bytes(self, shape: Shape) -> int:
        """Return the bytes of A0 without its edges, read once, and of Anext's inner points, written once."""
        nx, ny, nz = shape
        inner = (nx - 2) * (ny - 2) * (nz - 2)
        faces = 2 * ((nx - 2) * (ny - 2) + (nx - 2) * (nz - 2) + (ny - 2) * (nz - 2))
        return 4 * (2 * inner + faces)


class TwoSteps(Stencil):
    """Two time steps at once: the stencil of the stencil of A0.

    Points of the boundary keep A0's values in the grid between the steps; those of Anext are not written. The
    tolerance contains what the rounding errors of the first step grow to in the second.
    """

    def __init__(self) -> None:
        steps = [step for step in _STEPS if step.name == "opt_5"]
        super().__init__(steps, _two_references, _two_error_bounds, _two_step_mistakes, passes=2)

    def of_step(self, step: str) -> Problem:
        del step
        return self

    def reference_at(
        self, arguments: Sequence[Argument], indices: Sequence[npt.NDArray[np.int64]]
    ) -> PartialReference:
        A0 = arguments[1].value

        def values(at: Sequence[npt.NDArray[np.int64]]) -> tuple[Field, Field]:
            first = Stencil.reference_at(self, arguments, at)
            return np.where(first.written, first.expected, A0[np.ix_(*at)]), first.tolerance

        return _partial_reference(float(arguments[0].value), A0.shape, indices, values)

    def reads(self, case: Case) -> Iterator[Read]:
        del case
        return iter(())


def _partial_reference(
    fac: float,
    shape: tuple[int, ...],
    indices: Sequence[npt.NDArray[np.int64]],
    values: Callable[[Sequence[npt.NDArray[np.int64]]], tuple[Field, Field]],
) -> PartialReference:
    """Return the reference at some points, from the values at them and around them, and their errors."""
    weight = 6.0 / (fac * fac)
    centre, error = values(indices)
    expected, size, inherited = -weight * centre, weight * np.abs(centre), weight * error
    for axis, length in enumerate(shape):
        for step in (-1, 1):
            moved = list(indices)
            moved[axis] = np.clip(indices[axis] + step, 0, length - 1)
            neighbour, error = values(moved)
            expected += neighbour
            size += np.abs(neighbour)
            inherited = inherited + error

    inner = [(i > 0) & (i < length - 1) for i, length in zip(indices, shape, strict=True)]
    written = reduce(np.logical_and.outer, inner)
    tolerance = inherited + gamma(ROUNDINGS) * (size + inherited)
    return PartialReference(np.where(written, expected, 0.0), np.where(written, tolerance, 0.0), written)


def _reference(fac: float, A0: Field) -> Field:
    """Return the reference; the boundary is zero."""
    expected = np.zeros(A0.shape)
    expected[INNER] = _six_neighbours(A0)
    expected[INNER] -= 6.0 / (fac * fac) * A0[INNER]
    return expected


def _error_bound(fac: float, A0: Field) -> Field:
    """Return the tolerance: the same expression in absolute values, times gamma."""
    return _absolute(fac, np.abs(A0)) * gamma(ROUNDINGS)


def _absolute(fac: float, size: Field) -> Field:
    """Return the expression with a positive centre; the boundary is zero."""
    total = np.zeros(size.shape)
    total[INNER] = _six_neighbours(size)
    total[INNER] += 6.0 / (fac * fac) * size[INNER]
    return total


def _after_one_step(fac: float, A0: Field) -> Field:
    """Return the grid between two steps, whose boundary is A0's."""
    between = A0.astype(np.float64)
    between[INNER] = _reference(fac, between)[INNER]
    return between


def _two_references(fac: float, A0: Field) -> Field:
    return _reference(fac, _after_one_step(fac, A0))


def _two_error_bounds(fac: float, A0: Field) -> Field:
    """Return the error of the first step, carried through the second, and the second step's own."""
    inherited = _absolute(fac, _error_bound(fac, A0))
    return inherited + gamma(ROUNDINGS) * (_absolute(fac, np.abs(_after_one_step(fac, A0))) + inherited)


def _two_step_mistakes(fac: float, A0: Field) -> Iterator[Mistake]:
    between = _after_one_step(fac, A0)
    yield Mistake(between, "the values are those after one step: opt_5 computes two")
    without_boundary = np.zeros(A0.shape)
    without_boundary[INNER] = between[INNER]
    yield Mistake(
        _reference(fac, without_boundary),
        "the boundary of the grid between the steps is taken as 0: its values are A0's",
    )
    yield Mistake(A0, "the output is a copy of the input")


def _mistakes(fac: float, A0: Field) -> Iterator[Mistake]:
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
        yield Mistake(_padded(A0, _six_neighbours(A0) - wrong * A0[INNER]), description)

    yield Mistake(A0, "the output is a copy of the input")
    yield from _neighbour_mistakes(A0, weight)
    yield from _frame_mistakes(A0, _padded(A0, _six_neighbours(A0) - weight * A0[INNER]), weight)
    yield Mistake(
        _padded(A0, (_six_neighbours(A0) - 6.0 * A0[INNER]) / (fac * fac)),
        "the whole sum is divided by fac * fac: only the centre 6 * A0 is",
    )
    yield Mistake(
        _with_row_length(A0, A0.shape[1], weight),
        "the values are those of rows of ny points: x and y exchanged? The index of a point is "
        "x + nx * (y + ny * z)",
        MOST_POINTS,
    )


def _reads(fac: float, A0: Field, right: Field) -> Iterator[Read]:
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
    right = _six_neighbours(A0) - weight * A0[INNER]
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

    stale = _six_neighbours(A0) - weight * A0[1:2, 1:-1, 1:-1]
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


def _six_neighbours(A: Field) -> Field:
    """Return the sum of the six neighbours of each inner point."""
    total = A[1:-1, 1:-1, :-2] + A[1:-1, 1:-1, 2:]
    for part in (A[1:-1, :-2, 1:-1], A[1:-1, 2:, 1:-1], A[:-2, 1:-1, 1:-1], A[2:, 1:-1, 1:-1]):
        total += part
    return total


two_steps = TwoSteps()
problem = Stencil()
