"""`gpulab.ladder_table`: all versions of a problem's kernel, modelled on several GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.session import chosen_problem
from gpulab.views.html import View, paragraph, stack
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import block_extents, milliseconds, ratio
from gpulab.views.tables.residency_columns import RESIDENCY_COLUMNS, residency_caption
from gpulab.views.tables.session_kernels import unfinished_kernels
from gpulab.views.unfinished import keep_finished

if TYPE_CHECKING:
    from gpulab.problems.base import Problem
    from gpulab.profiling.version_times import VersionTime

__all__ = ["ladder_table"]


def ladder_table(
    problem: str = "",
    gpu: str | Sequence[str] = ("gtx280", "h200"),
    size: int | str | None = None,
    *,
    gpus: str | Sequence[str] | None = None,
) -> View:
    """Show the session's kernels of a problem on several GPUs: time, speed-up, and what bounds them.

    The speed-up is relative to the first version on the same GPU. Kernels that are not correct are left
    out; a line below the table names them. On a CUDA device, measured times are added, and the error of the
    model if the GPU is in the catalogue.

    Parameters
    ----------
    problem : str
        Name of the problem. If omitted, that of the kernel cell that ran last.
    gpu : str or sequence of str
        Keys of the catalogue GPUs for which times are modelled: "gtx280", "t10", "gtx480", "k40", "gtx1080",
        "v100", "t4", "rtx3090", "a100", "rtx4090", "h100" and "h200".
    size : int or str, optional
        Size of the problem, such as 128 or "65x47x9". If omitted, the size at which the problem is timed.
    gpus : str or sequence of str, optional
        Earlier name of `gpu`.

    Returns
    -------
    View
        A table with one row for each GPU and version, times in milliseconds, or a line of text if no kernel
        has been compiled.

    Raises
    ------
    UsageError
        If there is no such problem, GPU or size.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.ladder_table("matmul", gpu="h200")
    No kernel of matmul was compiled in this session yet. Run its kernel cells.
    """
    from gpulab.gpus.catalogue import gpu as gpu_named
    from gpulab.notebook.tables.session_progress import progress_bar
    from gpulab.profiling.version_times import (
        baseline_time,
        measured_versions,
        times_of_other_gpus,
        version_times,
    )

    chosen = chosen_problem(problem)
    shape = chosen.parse_shape(str(size)) if size is not None else None
    keys = gpu if gpus is None else gpus
    specs = {key: gpu_named(key) for key in ((keys,) if isinstance(keys, str) else keys)}
    measured = measured_versions(chosen, shape)
    rows: list[VersionTime] = []
    with keep_finished(lambda: _rows_view(chosen, rows)), progress_bar("modelling") as progress:
        for number, spec in enumerate(specs.values()):
            start = len(rows)
            progress(number, len(specs), spec.name)
            rows.extend(version_times(chosen, spec, shape, measured))
            if shipped := baseline_time(chosen, rows[start:], spec):
                rows.insert(start, shipped)
    rows += times_of_other_gpus(measured, {row.gpu for row in rows})
    return _rows_view(chosen, rows)


def _rows_view(chosen: Problem, rows: Sequence[VersionTime]) -> View:
    """Return the table, or a line of text if there are no rows."""
    unfinished = unfinished_kernels(chosen)
    if not rows:
        none = f"No kernel of {chosen.name} was compiled in this session yet. Run its kernel cells."
        return stack(*(paragraph(note, dim=True) for note in unfinished or [none]))

    sizes = dict.fromkeys(chosen.format_shape(row.shape) for row in rows)
    origins = dict.fromkeys(
        str(timed.provenance) for row in rows for timed in (row.modelled, row.measured) if timed is not None
    )
    notes = [f"{row.variant} on the {row.gpu}: {row.error}" for row in rows if row.error]
    notes += unfinished
    caption = f"{chosen.name} at {', '.join(sizes)}. Times: {'; '.join(origins)}."
    caption += residency_caption(row.residency for row in rows)
    return table_view(_columns(rows), rows, caption, notes=notes)


def _columns(rows: Sequence[VersionTime]) -> tuple[Column, ...]:
    first: dict[str, VersionTime] = {}
    for row in rows:
        first.setdefault(row.gpu, row)

    def speedup(row: VersionTime) -> float | None:
        before = first[row.gpu].time_ms
        return before / row.time_ms if before and row.time_ms else None

    return (
        Column("GPU", "gpu"),
        Column("variant", "variant"),
        Column("modelled (ms)", "modelled.time_ms", milliseconds, "modelled.provenance"),
        Column("measured (ms)", "measured.median_ms", milliseconds, "measured.provenance", optional=True),
        Column("error", "error_percent", "{:+.0f} %".format, optional=True),
        Column("speed-up", speedup, ratio),
        Column("bound by", "modelled.bottleneck"),
        *RESIDENCY_COLUMNS,
        Column("block", lambda row: block_extents(row.block)),
    )
