"""The section timer's report as a table: seconds by section, when asynchronous ones ran, and the overlap."""

from __future__ import annotations

from gpulab.timing import MEANINGS, OVERLAP, Sections, SectionTime
from gpulab.views.html import View, table
from gpulab.views.tables.speedup_view import milliseconds

__all__ = ["sections_table"]


def sections_table(sections: Sections) -> View:
    """Milliseconds of every section, with the overlap below them, as Parboil prints them."""
    report = sections.report()
    rows = [(row.name, milliseconds(row.seconds * 1e3), _when(row), MEANINGS[row.name]) for row in report]
    rows.append(
        (OVERLAP, milliseconds(sections.overlap * 1e3), "", "time that stands in two of the rows above")
    )
    clocks = dict.fromkeys(f"{row.provenance}" for row in report if row.spans)
    return table(
        ("section", "time (ms)", "from - to (ms)", "what it is"),
        rows,
        numeric=(1,),
        caption=f"Times: {'; '.join(clocks)}." if clocks else "No section has run yet.",
        hover={(i, 1): str(row.provenance) for i, row in enumerate(report)},
    )


def _when(row: SectionTime) -> str:
    """When an asynchronous section ran: its first start and last stop, and in how many pieces."""
    if not row.asynchronous or not row.spans:
        return ""
    start, stop = min(s.start_s for s in row.spans), max(s.stop_s for s in row.spans)
    pieces = f" in {len(row.spans)} pieces" if len(row.spans) > 1 else ""
    return f"{milliseconds(start * 1e3)} - {milliseconds(stop * 1e3)}{pieces}"
