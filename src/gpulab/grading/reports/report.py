"""The grading report: one HTML file with the gradebook, the speed-ups, and what is wrong with each kernel.

It needs no other file and no network, follows the reader's light or dark setting, and runs no script;
everything in it that came from a submission is escaped text.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpulab.errors import CompileError
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import Grades
from gpulab.grading.pipeline.inspection import Inspection, KernelNote, speedups
from gpulab.grading.release.rubric import Criterion
from gpulab.views.compile_view import compile_error_view
from gpulab.views.html import View, escape, note, paragraph, stack, table
from gpulab.views.plane import plane_view
from gpulab.views.tables.number_format import milliseconds
from gpulab.views.tables.speedup_view import sources
from gpulab.views.theme import STYLE

__all__ = ["ClassReport", "points_text", "report_html", "speedup_rows", "write_report"]

# Nothing may be fetched and nothing may run, whatever a submission smuggled in.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
PAGE = """
html{background:#fff;color-scheme:light dark}
@media (prefers-color-scheme:dark){html{background:#111418}}
body{margin:0}
main.gpulab{max-width:1080px;margin:0 auto;padding:16px 20px 60px}
.gpulab h1{font-size:24px;margin:12px 0 2px} .gpulab h2{font-size:19px;margin:32px 0 6px}
.gpulab h3{font-size:16px;margin:24px 0 4px} .gpulab a{color:var(--gp-plain)}
.gpulab .wide{overflow-x:auto}
.gpulab td.full{color:var(--gp-good)} .gpulab td.none{color:var(--gp-bad)}
.gpulab td.part{color:var(--gp-hint)}
.gpulab tbody th{font-weight:600}
@media print{.gpulab h3,.gpulab .gp-note,.gpulab svg{break-inside:avoid}}
"""


@dataclass(frozen=True)
class ClassReport:
    """All that the report shows of one assignment.

    inspections: by student. ungraded: by student, why nbgrader could not grade a submission.
    rubric: by test cell. about: by student, a sentence to stand beside the name (the sample class).
    feedback: by student, the feedback page as a link relative to the report.
    """

    grades: Grades
    inspections: Mapping[str, Inspection]
    ungraded: Mapping[str, str] = field(default_factory=dict)
    rubric: Mapping[str, Criterion] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    feedback: Mapping[str, str] = field(default_factory=dict)

    def level(self, student: str) -> int | None:
        """The level a submission chose; None where it chose none."""
        inspection = self.inspections.get(student)
        return inspection.level if inspection else None

    def most(self, student: str, cell: str) -> float:
        """The most points of a test cell at the student's level."""
        most = self.grades.cells[cell]
        return min(most, self.rubric[cell].at(self.level(student) or 1)) if cell in self.rubric else most

    def is_given(self, student: str, cell: str) -> bool:
        """Whether the level gives the kernel that this cell judges, and the student wrote none."""
        variant = self.rubric[cell].variant if cell in self.rubric else ""
        inspection = self.inspections.get(student)
        notes = inspection.kernels if inspection else ()
        return any(note.name == variant and note.state == "given" for note in notes)


def write_report(reports: Sequence[ClassReport], path: Path) -> Path:
    """Write the report of one or more assignments to one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report_html(reports), encoding="utf-8")
    return path


def report_html(reports: Sequence[ClassReport], now: dt.datetime | None = None) -> str:
    """The whole page."""
    when = (now or dt.datetime.now().astimezone()).strftime("%Y-%m-%d %H:%M")
    names = ", ".join(report.grades.assignment for report in reports)
    body = "".join(assignment_section(report) for report in reports)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Grades: {escape(names)}</title><style>{STYLE}{PAGE}</style></head>\n"
        f'<body><main class="gpulab"><h1>Grades: {escape(names)}</h1>'
        f'<div class="gp-line gp-dim">written {when}</div>{body}</main></body></html>\n'
    )


def assignment_section(report: ClassReport) -> str:
    failures = "".join(student_section(report, student) for student in report.grades.points)
    failures = failures or paragraph("Nothing: every kernel is right.").html
    name = escape(report.grades.assignment)
    return (
        f'<section id="{name}"><h2>{name}: gradebook</h2>{gradebook_table(report)}{rubric_list(report)}'
        f"<h2>{name}: speed-up</h2>{speedup_table(report).html}"
        f"<h2>{name}: what went wrong</h2>{checked_on(report).html}{failures}</section>"
    )


# --- gradebook ---------------------------------------------------------------------------------


def gradebook_table(report: ClassReport) -> str:
    """Points of each student and test cell, with the most there are."""
    grades = report.grades
    heads = "".join(f'<th class="gp-n">{escape(cell)}</th>' for cell in grades.cells)
    rows = "".join(gradebook_row(report, student) for student in grades.points)
    return (
        '<div class="wide"><table class="gp-table gradebook"><thead><tr><th>student</th>'
        f'{heads}<th class="gp-n">total</th><th></th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def gradebook_row(report: ClassReport, student: str) -> str:
    grades = report.grades
    cells = []
    for cell in grades.cells:
        got, most = grades.points[student][cell], report.most(student, cell)
        look = "part" if got is None or 0 < got < most else "full" if got == most else "none"
        text = "given" if got == 0 and report.is_given(student, cell) else points_text(got, most)
        cells.append(f'<td class="gp-n {look if most else "gp-dim"}">{escape(text)}</td>')
    total = points_text(grades.total(student), sum(report.most(student, cell) for cell in grades.cells))
    remarks = []
    level = report.level(student)
    if level is not None:
        remarks.append(f"level {level}.")
    if student in report.ungraded:
        remarks.append("not graded: " + escape(report.ungraded[student]))
    if student in report.about:
        remarks.append(escape(report.about[student]))
    if student in report.feedback:
        remarks.append(f'<a href="{escape(report.feedback[student])}">feedback</a>')
    return (
        f'<tr><th scope="row">{escape(student)}</th>{"".join(cells)}'
        f'<td class="gp-n"><b>{escape(total)}</b></td>'
        f'<td class="gp-dim">{" ".join(remarks)}</td></tr>'
    )


def points_text(got: float | None, most: float) -> str:
    """`7.5 / 10`; a cell that a person has still to read is `? / 10`."""
    return f"{'?' if got is None else f'{got:g}'} / {most:g}"


def rubric_list(report: ClassReport) -> str:
    if not report.rubric:
        return ""
    levels = any(row.at(2) != row.points for row in report.rubric.values())
    rows = [
        (row.cell, f"{row.points:g}", *([f"{row.at(2):g}"] if levels else []), row.earns)
        for row in report.rubric.values()
    ]
    heads = ("points", "at level 2") if levels else ("points",)
    what = table(("test cell", *heads, "what earns them"), rows, numeric=(1, 2) if levels else (1,))
    return f"<details><summary>what earns the points</summary>{what.html}</details>"


# --- speed-up ----------------------------------------------------------------------------------


def speedup_rows(report: ClassReport) -> tuple[list[tuple[str, ...]], list[str]]:
    """One row per student and right kernel that has a rung before it, and where the times come from.

    Columns: student, kernel, the kernel it is compared with, before in ms, after in ms, speed-up.
    """
    rows: list[tuple[str, ...]] = []
    origins: dict[str, None] = {}  # in the order they come
    for student, inspection in report.inspections.items():
        for problem in speedups(inspection):
            origins |= dict.fromkeys(sources(problem))
            for row in problem:
                if row.speedup is not None:
                    times = milliseconds(row.before_ms), milliseconds(row.after_ms)
                    rows.append((student, row.variant, row.before or "", *times, f"{row.speedup:.2f}"))
    return rows, list(origins)


SPEEDUP_HEADS = ("student", "kernel", "against", "before ms", "after ms", "speed-up")


def speedup_table(report: ClassReport) -> View:
    rows, origins = speedup_rows(report)
    if not rows:
        return paragraph("There is no right kernel with a right one before it.")
    return table(SPEEDUP_HEADS, rows, numeric=(3, 4, 5), caption=f"Times: {'; '.join(origins)}.")


# --- what went wrong ---------------------------------------------------------------------------


def checked_on(report: ClassReport) -> View:
    devices = sorted({inspection.device for inspection in report.inspections.values() if inspection.device})
    return paragraph(f"Kernels were checked on: {', '.join(devices)}.", dim=True) if devices else View()


def student_section(report: ClassReport, student: str) -> str:
    """The failed kernels of one student; "" when there is nothing to say."""
    inspection = report.inspections.get(student)
    kernels = inspection.kernels if inspection else ()
    views = [kernel_view(kernel) for kernel in kernels]
    missing = [kernel.name for kernel in kernels if kernel.state == "not written"]
    if missing:
        views.append(paragraph(f"not written: {', '.join(missing)}", dim=True))
    given = [kernel.name for kernel in kernels if kernel.state == "given"]
    if given and any(views):
        views.append(paragraph(f"given: {', '.join(given)}", dim=True))
    if inspection and inspection.trouble:
        views.append(note("bad", "its kernels could not be checked", [inspection.trouble]))
    if student in report.ungraded:
        views.append(note("bad", "nbgrader could not grade this submission", [report.ungraded[student]]))
    told = stack(*views)
    return f'<h3 id="{escape(student)}">{escape(student)}</h3>{told.html}' if told else ""


def kernel_view(kernel: KernelNote) -> View:
    """Reasons, findings, diagnostics and picture of one kernel; nothing for one that is not wrong."""
    if kernel.state in {"right", "not written", "given"}:
        return View()
    if kernel.diagnostics:
        return stack(paragraph(f"{kernel.name}:"), compile_error_view(CompileError(list(kernel.diagnostics))))
    # A finding is often a reason already.
    told = "\n".join(kernel.reasons)
    items = [*kernel.reasons, *(finding for finding in kernel.findings if finding not in told)]
    picture = plane_view(kernel.plane) if kernel.plane is not None else None
    return stack(note("bad", f"{kernel.name}: {kernel.state}", items), picture)


def feedback_links(course: Course, assignment: str, students: Sequence[str], report: Path) -> dict[str, str]:
    """Where nbgrader wrote each student's feedback page, seen from the report's folder."""
    links = {}
    for student in students:
        for page in sorted((course.feedback / student / assignment).glob("*.html")):
            if page.is_relative_to(report.parent):
                links[student] = page.relative_to(report.parent).as_posix()
    return links
