"""The section timer's table: Parboil's rows in its order, and when the GPU ran."""

from __future__ import annotations

import gpulab
from gpulab.timing import MEANINGS, OVERLAP, Sections, SectionTime, Span


def rows_of(view):
    return [line.split("  ")[0] for line in view.text.splitlines()[2:-1]]


def test_the_table_has_parboils_rows_in_its_order():
    assert rows_of(gpulab.sections_table(Sections())) == [*MEANINGS, OVERLAP]


def test_a_table_without_times_says_so():
    assert "No section has run yet" in gpulab.sections_table(Sections()).text


def test_asynchronous_sections_say_when_they_ran(monkeypatch):
    timers = Sections()
    host = timers.report()[0].provenance
    row = SectionTime("GPU", (Span(0.001, 0.002), Span(0.004, 0.005)), True, host)
    monkeypatch.setattr(timers, "report", lambda: (row,))
    assert "1 - 5 in 2 pieces" in gpulab.sections_table(timers).text
