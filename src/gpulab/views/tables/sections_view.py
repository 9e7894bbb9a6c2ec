"""`gpulab.sections_table`: the report of the section timer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpulab.timing import MEANINGS, OVERLAP
from gpulab.views.html import View
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import milliseconds

if TYPE_CHECKING:
    from gpulab.timing import Sections, SectionTime

__all__ = ["sections_table"]


class _SectionRow(NamedTuple):
    name: str
    ms: float
    interval: str
    meaning: str
    source: object = None


_COLUMNS = (
    Column("section", "name"),
    Column("time (ms)", "ms", milliseconds, "source"),
    Column("from - to (ms)", "interval", optional=True),
    Column("meaning", "meaning"),
)


def sections_table(sections: Sections) -> View:
    """Show the time of every section of a program, and the overlap of host and GPU, as Parboil reports them.

    Parameters
    ----------
    sections : gpulab.timing.Sections
        The program's timers.

    Returns
    -------
    View
        A table in milliseconds. If asynchronous sections ran, it has the start of the first and the end of
        the last piece of work of each.

    Examples
    --------
    >>> import gpulab
    >>> timers = gpulab.timing.Sections()
    >>> with timers.section("Compute"):
    ...     total = sum(range(1000))
    >>> for line in gpulab.sections_table(timers).text.splitlines()[2:9]:
    ...     print(line.split("  ")[0])
    IO
    GPU
    Copy
    Driver
    Copy_Async
    Compute
    CPU/GPU Overlap
    """
    report = sections.report()
    rows = [
        _SectionRow(part.name, part.seconds * 1e3, _interval(part), MEANINGS[part.name], part.provenance)
        for part in report
    ]
    rows.append(_SectionRow(OVERLAP, sections.overlap * 1e3, "", "time that two of the sections above share"))
    clocks = dict.fromkeys(str(part.provenance) for part in report if part.spans)
    caption = f"Times: {'; '.join(clocks)}." if clocks else "No section has run yet."
    return table_view(_COLUMNS, rows, caption)


def _interval(part: SectionTime) -> str:
    """Format the start and end of an asynchronous section, and its number of pieces."""
    if not part.asynchronous or not part.spans:
        return ""
    start = milliseconds(min(span.start_s for span in part.spans) * 1e3)
    stop = milliseconds(max(span.stop_s for span in part.spans) * 1e3)
    pieces = f" in {len(part.spans)} pieces" if len(part.spans) > 1 else ""
    return f"{start} - {stop}{pieces}"
