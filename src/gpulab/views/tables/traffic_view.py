"""`gpulab.traffic_table`: the memory requests of each version of a kernel, per unit of work."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from gpulab.errors import GpulabError
from gpulab.problems import problem as problem_named
from gpulab.views.html import View, paragraph, stack
from gpulab.views.tables.builder import Column, table_view

if TYPE_CHECKING:
    from gpulab.cell import KernelCell
    from gpulab.profiling.counts.metrics import Counters

__all__ = ["traffic_table"]

LANES = 32


class _VersionTraffic(NamedTuple):
    """The counts of one launch. work: units of 32 inner points or multiply-adds."""

    variant: str
    counters: Counters
    work: float

    def copies(self, count: str) -> int:
        """Return the requests or sectors that asynchronous copies read from global memory."""
        accesses = self.counters.accesses
        return sum(getattr(a, count) for a in accesses if (a.kind, a.space) == ("copy", "global"))

    @property
    def global_loads(self) -> int:
        return self.counters.global_load_requests + self.copies("requests")

    @property
    def load_sectors(self) -> int:
        return self.counters.global_load_sectors + self.copies("sectors")

    @property
    def requests(self) -> int:
        shared = self.counters.shared_load_requests + self.counters.shared_store_requests
        return self.global_loads + self.counters.global_store_requests + shared


def _per_work(header: str, count: str) -> Column:
    """Declare a column of counts per unit of work."""
    get = attrgetter(count)
    return Column(header, lambda row: get(row) / row.work, "{:.1f}".format, "counters.provenance")


_COLUMNS = (
    Column("variant", "variant"),
    _per_work("global loads", "global_loads"),
    _per_work("their sectors", "load_sectors"),
    _per_work("global stores", "counters.global_store_requests"),
    _per_work("shared loads", "counters.shared_load_requests"),
    _per_work("shared stores", "counters.shared_store_requests"),
    _per_work("all requests", "requests"),
)


def traffic_table(problem: str = "stencil") -> View:
    """Show requests and sectors of this session's kernels of a problem, per 32 units of work.

    A unit of work is an inner point of the stencil or a multiply-add of the matrix product: 32 of them are
    the work of one warp instruction if each thread does one. Requests and sectors are counted by the
    simulator, at the size at which the memory-traffic requirements are counted.

    Parameters
    ----------
    problem : {"stencil", "matmul"}
        The problem.

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

    chosen = problem_named(problem)
    rows: list[_VersionTraffic] = []
    notes: dict[str, None] = {}
    for variant in chosen.variants:
        cell = session.cell(f"{chosen.name}.{variant}")
        if cell is None:
            continue
        try:
            traffic = _counted(require_kernel_cell(cell))
        except GpulabError as error:
            notes[f"{variant}: {str(error).splitlines()[0].rstrip('.')}."] = None
            continue
        rows.append(traffic)
        origin = str(traffic.counters.provenance)
        notes[f"{origin[0].upper()}{origin[1:]}."] = None

    if not rows and notes:
        return stack(*(paragraph(text, dim=True) for text in notes))
    if not rows:
        first = next(iter(chosen.variants))
        return paragraph(
            f"No kernel of {chosen.name} has run in this session yet. Run `%%cuda {chosen.name}.{first}` and "
            "the cells after it.",
            dim=True,
        )
    work = "inner points" if chosen.name == "stencil" else "multiply-adds"
    caption = f"Requests of warps, and sectors of 32 bytes, per {LANES} {work}. {' '.join(notes)}"
    return table_view(_COLUMNS, rows, caption)


def _counted(cell: KernelCell) -> _VersionTraffic:
    """Count one launch of a cell's kernel."""
    from gpulab import session
    from gpulab.profiling.counts.cell_counts import count_cell

    count = count_cell(cell, session.kernel(cell.name))
    config = cell.config
    return _VersionTraffic(
        config.variant, count.recorded.counters, config.problem.work(count.launch.shape) / LANES
    )
