"""HTML report of a class: the gradebook, the speed-up tables, and the errors of each kernel.

The report is one file. It needs no other file and no network, follows the reader's light or dark setting,
and runs no script. All text that comes from a submission is escaped.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpulab.errors import CompileError
from gpulab.grading.pipeline.course import Course
from gpulab.grading.pipeline.gradebook import Grades
from gpulab.grading.pipeline.inspection import KernelInspection, SubmissionInspection, speedup_tables
from gpulab.grading.release.rubric import Criterion
from gpulab.views.compile_view import compile_error_view
from gpulab.views.html import View, escape, note, paragraph, stack, table
from gpulab.views.plane import plane_view
from gpulab.views.tables.number_format import milliseconds
from gpulab.views.tables.speedup_view import sources
from gpulab.views.theme import STYLE

__all__ = [
    "AssignmentReport",
    "feedback_links",
    "report_html",
    "score_text",
    "speedup_rows",
    "write_report",
]

# The browser must not load or run anything, even if markup of a submission reached the page.
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
class AssignmentReport:
    """The data of one assignment in the report.

    inspections: by student. ungraded: the error by student of submissions that nbgrader could not grade.
    rubric: by test cell. about: a remark by student, for the sample class. feedback: the link to the
    feedback page by student, relative to the report.
    """

    grades: Grades
    inspections: Mapping[str, SubmissionInspection]
    ungraded: Mapping[str, str] = field(default_factory=dict)
    rubric: Mapping[str, Criterion] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    feedback: Mapping[str, str] = field(default_factory=dict)

    def level(self, student: str) -> int | None:
        """Return the level that a submission chose, or None."""
        inspection = self.inspections.get(student)
        return inspection.level if inspection else None

    def max_score(self, student: str, cell: str) -> float:
        """Return the maximum of a test cell at the student's level."""
        max_score = self.grades.max_scores[cell]
        if cell not in self.rubric:
            return max_score
        return min(max_score, self.rubric[cell].max_points(self.level(student) or 1))

    def is_given(self, student: str, cell: str) -> bool:
        """Return whether the kernel of this cell is given at the student's level and was not replaced."""
        variant = self.rubric[cell].variant if cell in self.rubric else ""
        inspection = self.inspections.get(student)
        kernels = inspection.kernels if inspection else ()
        return any(kernel.name == variant and kernel.state == "given" for kernel in kernels)


def write_report(reports: Sequence[AssignmentReport], path: Path) -> Path:
    """Write the report of one or more assignments and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report_html(reports), encoding="utf-8")
    return path


def report_html(reports: Sequence[AssignmentReport], now: dt.datetime | None = None) -> str:
    """Return the report as an HTML page. now: the time of writing; None reads the clock."""
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


def assignment_section(report: AssignmentReport) -> str:
    errors = "".join(student_section(report, student) for student in report.grades.scores)
    errors = errors or paragraph("No errors: every kernel is correct.").html
    name = escape(report.grades.assignment)
    return (
        f'<section id="{name}"><h2>{name}: gradebook</h2>{gradebook_table(report)}{rubric_list(report)}'
        f"<h2>{name}: speed-up</h2>{speedup_table(report).html}"
        f"<h2>{name}: errors</h2>{checked_on(report).html}{errors}</section>"
    )


# --- gradebook ---------------------------------------------------------------------------------


def gradebook_table(report: AssignmentReport) -> str:
    """Return the table of scores by student and test cell, each with its maximum."""
    grades = report.grades
    heads = "".join(f'<th class="gp-n">{escape(cell)}</th>' for cell in grades.max_scores)
    rows = "".join(gradebook_row(report, student) for student in grades.scores)
    return (
        '<div class="wide"><table class="gp-table gradebook"><thead><tr><th>student</th>'
        f'{heads}<th class="gp-n">total</th><th></th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def gradebook_row(report: AssignmentReport, student: str) -> str:
    grades = report.grades
    cells = []
    for cell in grades.max_scores:
        score, max_score = grades.scores[student][cell], report.max_score(student, cell)
        css = "part" if score is None or 0 < score < max_score else "full" if score == max_score else "none"
        text = "given" if score == 0 and report.is_given(student, cell) else score_text(score, max_score)
        cells.append(f'<td class="gp-n {css if max_score else "gp-dim"}">{escape(text)}</td>')
    max_total = sum(report.max_score(student, cell) for cell in grades.max_scores)
    total = score_text(grades.total(student), max_total)

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


def score_text(score: float | None, max_score: float) -> str:
    """Return a score as `7.5 / 10`, or `? / 10` for a cell that waits for manual grading."""
    return f"{'?' if score is None else f'{score:g}'} / {max_score:g}"


def rubric_list(report: AssignmentReport) -> str:
    if not report.rubric:
        return ""
    criteria = report.rubric.values()
    levels = any(criterion.max_points(2) != criterion.points for criterion in criteria)
    rows = [
        (
            criterion.cell,
            f"{criterion.points:g}",
            *([f"{criterion.max_points(2):g}"] if levels else []),
            criterion.earns,
        )
        for criterion in criteria
    ]
    points = ("points", "at level 2") if levels else ("points",)
    criteria_table = table(("test cell", *points, "earned for"), rows, numeric=(1, 2) if levels else (1,))
    return f"<details><summary>rubric</summary>{criteria_table.html}</details>"


# --- speed-up ----------------------------------------------------------------------------------


def speedup_rows(report: AssignmentReport) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return a row for each correct kernel with a timed baseline, and the sources of the times.

    Columns: student, kernel, its baseline, time of the baseline in ms, time of the kernel in ms, speed-up.
    """
    rows: list[tuple[str, ...]] = []
    origins: dict[str, None] = {}  # used as an ordered set
    for student, inspection in report.inspections.items():
        for problem_table in speedup_tables(inspection):
            origins |= dict.fromkeys(sources(problem_table))
            for row in problem_table:
                if row.speedup is not None:
                    times = milliseconds(row.before_ms), milliseconds(row.after_ms)
                    rows.append((student, row.variant, row.before or "", *times, f"{row.speedup:.2f}"))
    return rows, list(origins)


SPEEDUP_HEADERS = ("student", "kernel", "baseline", "baseline ms", "kernel ms", "speed-up")


def speedup_table(report: AssignmentReport) -> View:
    rows, origins = speedup_rows(report)
    if not rows:
        return paragraph("No correct kernel has a correct baseline.")
    return table(SPEEDUP_HEADERS, rows, numeric=(3, 4, 5), caption=f"Times: {'; '.join(origins)}.")


# --- errors ------------------------------------------------------------------------------------


def checked_on(report: AssignmentReport) -> View:
    devices = sorted({inspection.device for inspection in report.inspections.values() if inspection.device})
    return paragraph(f"Kernels were checked on: {', '.join(devices)}.", dim=True) if devices else View()


def student_section(report: AssignmentReport, student: str) -> str:
    """Return the section with the wrong kernels of one student, or "" if there are none."""
    inspection = report.inspections.get(student)
    kernels = inspection.kernels if inspection else ()
    views = [kernel_view(kernel) for kernel in kernels]
    missing = [kernel.name for kernel in kernels if kernel.state == "not written"]
    if missing:
        views.append(paragraph(f"not written: {', '.join(missing)}", dim=True))
    given = [kernel.name for kernel in kernels if kernel.state == "given"]
    if given and any(views):
        views.append(paragraph(f"given: {', '.join(given)}", dim=True))
    if inspection and inspection.error:
        views.append(note("bad", "the kernels could not be checked", [inspection.error]))
    if student in report.ungraded:
        views.append(note("bad", "nbgrader could not grade this submission", [report.ungraded[student]]))
    body = stack(*views)
    return f'<h3 id="{escape(student)}">{escape(student)}</h3>{body.html}' if body else ""


def kernel_view(kernel: KernelInspection) -> View:
    """Return reasons, findings, diagnostics and drawing of a wrong kernel; an empty view for any other."""
    if kernel.state in {"right", "not written", "given"}:
        return View()
    if kernel.diagnostics:
        return stack(paragraph(f"{kernel.name}:"), compile_error_view(CompileError(list(kernel.diagnostics))))
    # Many findings are part of a reason already.
    reasons = "\n".join(kernel.reasons)
    items = [*kernel.reasons, *(finding for finding in kernel.findings if finding not in reasons)]
    drawing = plane_view(kernel.plane) if kernel.plane is not None else None
    return stack(note("bad", f"{kernel.name}: {kernel.state}", items), drawing)


def feedback_links(course: Course, assignment: str, students: Sequence[str], report: Path) -> dict[str, str]:
    """Return the path of each student's feedback page, relative to the folder of the report."""
    links = {}
    for student in students:
        for page in sorted((course.feedback / student / assignment).glob("*.html")):
            if page.is_relative_to(report.parent):
                links[student] = page.relative_to(report.parent).as_posix()
    return links
