"""Hints on the likely cause of a failure that the values alone do not explain, such as a memory fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from gpulab.config import LaunchConfig
from gpulab.errors import UsageError
from gpulab.finding import Finding, Index3
from gpulab.problems.base import Shape

__all__ = ["exchanged_axes", "place_of_access"]


def exchanged_axes(launch: LaunchConfig, is_correct: Callable[[Shape], bool]) -> str:
    """Return a hint if the kernel is correct as soon as two extents are equal, or "".

    is_correct: runs the kernel on another size. Both sizes that have the one or the other extent twice must
    be correct, so that a kernel that is correct by chance gives no hint.
    """
    config, shape = launch.config, launch.shape
    problem = config.problem
    for first, second in combinations(range(len(shape)), 2):
        # The smaller size first: most kernels fail on it, and it takes less time.
        extents = sorted((shape[first], shape[second]))
        equal = [
            tuple(extent if axis in (first, second) else other for axis, other in enumerate(shape))
            for extent in extents
        ]
        if extents[0] != extents[1] and all(_fits(launch, each) and is_correct(each) for each in equal):
            sizes = " and on ".join(map(problem.format_shape, equal))
            names = f"{problem.axes[first]} = {problem.axes[second]}"
            return (
                f"the kernel is correct on {sizes}, where {names}: are these two axes exchanged in an index "
                "or in a condition?"
            )
    return ""


def _fits(launch: LaunchConfig, shape: Shape) -> bool:
    """Return True if the kernel may be launched on a size."""
    try:
        launch.config.require_size(launch.config.problem.checked_shape(shape))
    except UsageError:
        return False
    return True


def place_of_access(launch: LaunchConfig, fault: Finding) -> str:
    """Return a hint from the places of the thread and of the element of an access outside an array, or "".

    A kernel may assign points to threads in any way, so the sentences name the usual one. Nothing is known of
    a thread that computes several points which are not adjacent.
    """
    if fault.block is None or fault.thread is None:
        return ""
    axes = [_Axis(launch, fault.block, fault.thread, number) for number in _axes_of_the_output(launch)]
    for axis in axes:
        if axis.points == 1 and axis.first >= axis.extent:
            return (
                f"{axis.assignment}, this thread has {axis.name} = {axis.first}, and the largest {axis.name} "
                f"is {axis.extent - 1}: is the access inside a condition on {axis.name}?"
            )
    if hint := _frame_of_access(launch, fault.index, axes):
        return hint
    for axis in axes:
        if axis.points == 1 and not axis.inner.start <= axis.first < axis.inner.stop:
            return (
                f"{axis.assignment}, this thread has {axis.name} = {axis.first}, which is on the boundary, "
                "where a neighbour is missing: is the access inside a condition that leaves the boundary out?"
            )
    return ""


def _axes_of_the_output(launch: LaunchConfig) -> tuple[int, ...]:
    """Return those of the axes x (0) and y (1) of the grid that are the last axes of the output, too."""
    problem = launch.config.problem
    output = problem.output_shape(launch.shape)[::-1]
    grid = problem.extents(launch.shape)
    return tuple(number for number in (0, 1) if number < len(output) and output[number] == grid[number])


class _Axis:
    """The points of a thread along x (number 0) or y (number 1), if they are adjacent."""

    def __init__(self, launch: LaunchConfig, block: Index3, thread: Index3, number: int) -> None:
        problem, letter = launch.config.problem, "xy"[number]
        self.name = problem.index_names[-1 - number]
        self.extent = problem.extents(launch.shape)[number]
        self.inner = problem.written_box(launch.shape)[-1 - number]
        self.points = launch.config.tile[number]
        self.first = (block[number] * launch.block[number] + thread[number]) * self.points
        index = f"blockIdx.{letter} * BLOCK_{letter.upper()} + threadIdx.{letter}"
        self.assignment = f"with {self.name} = {index}"  # of a thread with one point

    def is_near(self, place: int) -> bool:
        """Return True for the points of the thread and their neighbours."""
        return self.first - 1 <= place <= self.first + self.points


def _frame_of_access(launch: LaunchConfig, index: int | None, axes: Sequence[_Axis]) -> str:
    """Return a hint if an element next to the thread's points is in a frame that does not exist, or ""."""
    problem = launch.config.problem
    nx, ny, nz = problem.extents(launch.shape)
    if index is None or len(problem.index_names) != 3 or len(axes) != 2:
        return ""
    z, place = divmod(index, nx * ny)
    y, x = divmod(place, nx)
    if 0 <= z < nz or not (axes[0].is_near(x) and axes[1].is_near(y)):
        return ""
    return (
        f"the index {index} is that of x = {x}, y = {y}, z = {z}, and the frames are z = 0 to {nz - 1}: are "
        "the bounds of the loop over z right, and the frame of this access?"
    )
