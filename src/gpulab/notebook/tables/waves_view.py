"""`gpulab.waves_table`: registers, resident blocks and waves of this session's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.session import chosen_problem, correct_kernel
from gpulab.views.html import View, paragraph, stack
from gpulab.views.tables.builder import Column, Footnotes, table_view
from gpulab.views.tables.number_format import extents, milliseconds, ratio
from gpulab.views.tables.session_kernels import unfinished_kernels

if TYPE_CHECKING:
    from gpulab.profiling.register_caps import CappedKernel

__all__ = ["waves_table"]


def waves_table(problem: str = "", caps: Sequence[int] = (0, 32), size: int | str | None = None) -> View:
    """Show registers, resident blocks, waves and times of this session's kernels, with limits on registers.

    Each kernel is compiled as its cell says, and again with at most so many registers per thread, as with
    nvcc's option ``-maxrregcount``. A kernel whose text uses `TILE_Z` is also shown with the z axis split
    into pieces of 64 frames. Kernels that are not correct are left out; a line below the table names them.

    Parameters
    ----------
    problem : str
        Name of the problem. If omitted, that of the kernel cell that ran last.
    caps : sequence of int
        Limits on registers; 0 stands for none.
    size : int or str, optional
        Size of the problem, such as 128 or "65x47x9". If omitted, the size at which the problem is timed.

    Returns
    -------
    View
        A table with one row for each kernel and limit; times in milliseconds, modelled, and on a GPU measured
        too, with the error of the model. A line of text if no kernel has been compiled.

    Raises
    ------
    UsageError
        If there is no such problem or size.

    See Also
    --------
    gpulab.occupancy : Resident blocks from registers, shared memory and threads.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.waves_table("matmul")
    No kernel of matmul was compiled in this session yet. Run its kernel cells.
    """
    from gpulab.notebook.tables.session_progress import progress_bar
    from gpulab.profiling.register_caps import capped_kernels

    chosen = chosen_problem(problem)
    shape = chosen.parse_shape(str(size)) if size is not None else None
    rows: list[CappedKernel] = []
    with progress_bar("timing") as progress:
        for number, variant in enumerate(chosen.variants):
            progress(number, len(chosen.variants), variant)
            found = correct_kernel(chosen, variant)
            if found is not None:
                kernel, cell = found
                rows += capped_kernels(cell, kernel.device, caps, shape)
    unfinished = unfinished_kernels(chosen)
    if not rows:
        none = f"No kernel of {chosen.name} was compiled in this session yet. Run its kernel cells."
        return stack(*(paragraph(note, dim=True) for note in unfinished or [none]))

    footnotes = Footnotes()
    table = table_view(_columns(footnotes), rows, _caption(rows), notes=unfinished)
    return stack(table, *map(paragraph, footnotes.lines()))


def _columns(footnotes: Footnotes) -> tuple[Column, ...]:
    def modelled(row: CappedKernel) -> str | None:
        if row.error:
            return f"not timed {footnotes.mark(row.error)}"
        return milliseconds(row.profile.time_ms) if row.profile else None

    return (
        Column("kernel", "variant"),
        Column("frames of a piece", lambda row: str(row.tile_z or "all")),
        Column("register cap", lambda row: str(row.cap or "none")),
        Column("modelled (ms)", modelled, str),
        Column("measured (ms)", "measured.median_ms", milliseconds, "measured.provenance", optional=True),
        Column("error", "error_percent", "{:+.0f} %".format, optional=True),
        Column("registers", "residency.registers", str),
        Column("resident", "residency.blocks_per_sm", str),
        Column("waves", "residency.waves", ratio),
        Column("bound by", "profile.bottleneck"),
        Column("spilled bytes", lambda row: row.spill_bytes or None, str, optional=True),
        Column("block", lambda row: extents(row.block[:2])),
        Column("blocks", lambda row: row.blocks or None, "{:,}".format),
    )


def _caption(rows: Sequence[CappedKernel]) -> str:
    timed = [row for row in rows if row.profile]
    origins = dict.fromkeys(
        str(time.provenance) for row in timed for time in (row.profile, row.measured) if time is not None
    )
    text = "Resident: blocks on an SM at once. Waves: blocks divided by the resident blocks of all SMs."
    return f"{text} Times: {'; '.join(origins)}." if origins else text
