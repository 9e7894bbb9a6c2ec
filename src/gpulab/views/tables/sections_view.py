"""`gpulab.sections_table`: the report of the section timer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.timing import MEANINGS, OVERLAP
from gpulab.views.html import View
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import milliseconds

if TYPE_CHECKING:
    from gpulab.timing import Sections, SectionTime

__all__ = ["sections_table"]


@dataclass(frozen=True)
class _SectionRow:
    name: str
    seconds: float
    interval: str
    meaning: str
    source: str = ""


_COLUMNS = (
    Column[_SectionRow]("section", lambda row: row.name),
    Column[_SectionRow](
        "time (ms)", lambda row: milliseconds(row.seconds * 1e3), numeric=True, source=lambda row: row.source
    ),
    Column[_SectionRow]("from - to (ms)", lambda row: row.interval),
    Column[_SectionRow]("meaning", lambda row: row.meaning),
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
        A table in milliseconds. For an asynchronous section it has the start of the first and the end of
        the last piece of work.

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
        _SectionRow(part.name, part.seconds, _interval(part), MEANINGS[part.name], str(part.provenance))
        for part in report
    ]
    rows.append(_SectionRow(OVERLAP, sections.overlap, "", "time that two of the sections above share"))
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
