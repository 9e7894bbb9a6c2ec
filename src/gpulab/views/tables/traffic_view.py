"""`gpulab.traffic_table`: the memory requests of each version of a kernel, per unit of work."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpulab.errors import GpulabError
from gpulab.session import chosen_problem
from gpulab.views.html import View, paragraph, stack
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.session_kernels import unfinished_kernels

if TYPE_CHECKING:
    from gpulab.profiling.counts.version_traffic import VersionTraffic

__all__ = ["traffic_table"]


COUNTS = MappingProxyType(
    {
        "global_loads": "global loads",
        "load_sectors": "their sectors",
        "global_stores": "global stores",
        "shared_loads": "shared loads",
        "shared_stores": "shared stores",
    }
)  # headers of the columns


def _count_of(name: str, row: VersionTraffic) -> float:
    return row.per_work[name]


_COLUMNS = (
    Column("variant", "variant"),
    *(Column(header, partial(_count_of, name), "{:.1f}".format, "origin") for name, header in COUNTS.items()),
    Column("all requests", "requests", "{:.1f}".format, "origin"),
)


def traffic_table(problem: str = "") -> View:
    """Show requests and sectors of this session's kernels of a problem, per 32 units of work.

    A unit of work is one that the problem declares, such as a point or a multiply-add: 32 of them are
    the work of one warp instruction if each thread does one. Requests and sectors are counted by the
    simulator, at the size at which the memory-traffic requirements are counted. Kernels that are
    not correct are left out, and the caption names them.

    Parameters
    ----------
    problem : str
        Name of the problem. If omitted, that of the kernel cell that ran last.

    Returns
    -------
    View
        A table with one row for each version, or a line of text if none has run.

    Raises
    ------
    UsageError
        If there is no such problem.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.traffic_table("matmul")
    No kernel of matmul has run in this session yet. Run `%%cuda matmul.Ks` and the cells after it.
    """
    from gpulab import session
    from gpulab.cell import require_kernel_cell
    from gpulab.profiling.counts.version_traffic import LANES, baseline_traffic, counted_traffic

    chosen = chosen_problem(problem)
    rows: list[VersionTraffic] = []
    notes = dict.fromkeys(unfinished_kernels(chosen))
    for variant in chosen.variants:
        name = f"{chosen.name}.{variant}"
        cell = session.cell(name)
        try:
            if cell is not None and not session.found_incorrect(name):
                rows.append(counted_traffic(require_kernel_cell(cell), session.kernel(cell.name)))
        except GpulabError as error:
            notes[f"{variant}: {str(error).splitlines()[0].rstrip('.')}."] = None
    if rows and (shipped := baseline_traffic(chosen, {row.variant for row in rows})):
        rows.insert(0, shipped)
    notes |= {f"{row.origin[0].upper()}{row.origin[1:]}.": None for row in rows}

    if not rows and notes:
        return stack(*(paragraph(text, dim=True) for text in notes))
    if not rows:
        first = next(iter(chosen.variants))
        return paragraph(
            f"No kernel of {chosen.name} has run in this session yet. Run `%%cuda {chosen.name}.{first}` and "
            "the cells after it.",
            dim=True,
        )
    caption = f"Requests of warps, and sectors of 32 bytes, per {LANES} {chosen.work_unit}. {' '.join(notes)}"
    return table_view(_COLUMNS, rows, caption)
