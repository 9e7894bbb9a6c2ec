"""`gpulab.show_counts`: the source with its heat and the drawings of a warp, for any launch from Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpulab.errors import UsageError
from gpulab.views.counts_view import counts_view, drawings_view, totals_view
from gpulab.views.html import View, paragraph, stack

if TYPE_CHECKING:
    from gpulab.devices.base import Dim3, Kernel
    from gpulab.profiling.counts.cell_counts import CellCounts

__all__ = ["line_view", "show_counts"]


def show_counts(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    line: int | None = None,
) -> View:
    """What a launch asks of memory, as a problem's kernel cell shows it: counted by the simulator.

    The launch is made on copies of the arrays, which stay as they are, on a GPU too.
    line: a line of the kernel's text, the `%%cuda` line being line 1; only its accesses are drawn then.

    Raises `UsageError` for what is no kernel, for another number of arguments than it has and for a line
    that accesses no global or shared memory; and what the launch raises.
    """
    from gpulab.profiling.counts.cell_counts import count_launch

    counts = count_launch(kernel, grid, block, args, shared_mem)
    if line is not None:
        return line_view(counts, line)
    if not counts.lines:
        return stack(
            totals_view(counts),
            paragraph("This kernel came as PTX, so there is no text of it to show line by line.", dim=True),
        )
    return counts_view(counts)


def line_view(counts: CellCounts, line: int) -> View:
    """One line of the text and the drawings of its accesses; `UsageError` when it has none."""
    found = next((one for one in counts.lines if one.number == line), None)
    if found is None or not found.accesses:
        drawn = ", ".join(str(one.number) for one in counts.lines if one.accesses) or "none does"
        raise UsageError(
            f"line {line} accesses neither global nor shared memory in this launch; lines that do: {drawn}. "
            "The %%cuda line is line 1."
        )
    return stack(
        paragraph(f"line {line}:  {found.text.strip()}"),
        drawings_view(found),
        paragraph(f"{counts.origin[0].upper()}{counts.origin[1:]}.", dim=True),
    )
