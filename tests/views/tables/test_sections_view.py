"""`gpulab.sections_table`: rows and intervals."""

from __future__ import annotations

import gpulab
from gpulab.timing import MEANINGS, OVERLAP, Sections, SectionTime, Span


def rows_of(view):
    return [line.split("  ")[0] for line in view.text.splitlines()[2:-1]]


def test_rows_are_those_of_parboil():
    assert rows_of(gpulab.sections_table(Sections())) == [*MEANINGS, OVERLAP]


def test_unused_timer_has_no_intervals():
    assert gpulab.sections_table(Sections()).text.split("\n")[0].split() == [
        "section",
        "time",
        "(ms)",
        "meaning",
    ]


def test_asynchronous_section_has_its_interval(monkeypatch):
    timers = Sections()
    host = timers.report()[0].provenance
    row = SectionTime("GPU", (Span(0.001, 0.002), Span(0.004, 0.005)), True, host)
    monkeypatch.setattr(timers, "report", lambda: (row,))
    assert "1.00 - 5.00 in 2 pieces" in gpulab.sections_table(timers).text
