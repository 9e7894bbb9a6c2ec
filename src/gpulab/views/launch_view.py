"""`gpulab.show_counts`: the memory accesses of any launch, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpulab.errors import UsageError
from gpulab.views.counts_view import counts_view, drawings_view, totals_view
from gpulab.views.html import View, paragraph, stack

if TYPE_CHECKING:
    from gpulab.devices.base import Dim3, Kernel
    from gpulab.profiling.counts.cell_counts import LaunchReport

__all__ = ["line_view", "show_counts"]


def show_counts(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    line: int | None = None,
) -> View:
    """Show the memory accesses of a launch: the source with counts for each line, and drawings of a warp.

    The simulator executes the launch on copies of the arrays, even if the kernel was compiled for a GPU.

    Parameters
    ----------
    kernel : Kernel
        A kernel from `gpulab.kernel` or `Device.compile`.
    grid, block : int or tuple of int
        Blocks of the grid and threads of a block.
    args : sequence
        Device arrays and scalars, one for each parameter of the kernel.
    shared_mem : int
        Bytes of dynamic shared memory per block.
    line : int, optional
        Show only the accesses of this line of the kernel's text; the `%%cuda` line is line 1.

    Returns
    -------
    View
        Requests, sectors, bank conflicts, instructions and active lanes of each line.

    Raises
    ------
    UsageError
        If `kernel` is not a kernel, the number of arguments is wrong, or `line` accesses no memory.
    LaunchError
        If the launch fails; `MemoryFault` if a thread accesses memory outside its arrays.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> double = dev.compile("__global__ void twice(float* x) { x[threadIdx.x] *= 2; }")
    >>> print(gpulab.show_counts(double, 1, 32, (dev.zeros(32),), line=1).text.splitlines()[0])
    line 1:  __global__ void twice(float* x) { x[threadIdx.x] *= 2; }
    """
    from gpulab.profiling.counts.cell_counts import count_launch

    counts = count_launch(kernel, grid, block, args, shared_mem)
    if line is not None:
        return line_view(counts, line)
    if not counts.lines:
        return stack(
            totals_view(counts),
            paragraph("This kernel was loaded as PTX, so there is no source to show line by line.", dim=True),
        )
    return counts_view(counts)


def line_view(counts: LaunchReport, line: int) -> View:
    """Return one source line and drawings of its accesses; raise `UsageError` if it has none."""
    selected = next((each for each in counts.lines if each.number == line), None)
    if selected is None or not selected.accesses:
        others = ", ".join(str(each.number) for each in counts.lines if each.accesses) or "none"
        raise UsageError(
            f"line {line} accesses neither global nor shared memory in this launch. Lines that do: {others}. "
            "The %%cuda line is line 1."
        )
    return stack(
        paragraph(f"line {line}:  {selected.text.strip()}"),
        drawings_view(selected),
        paragraph(f"{counts.origin[0].upper()}{counts.origin[1:]}.", dim=True),
    )
