"""HTML report of a class: totals, distributions, common findings, speed-ups and the errors of each kernel.

All text that comes from a submission is escaped.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

from gpulab.errors import CompileError
from gpulab.grading.pipeline.course import Course
from gpulab.grading.reports.assignment_report import AssignmentReport, InspectedKernel
from gpulab.grading.reports.class_sections import class_sections
from gpulab.grading.reports.class_table import CLASS_STYLE, class_table
from gpulab.grading.reports.html_page import html_page
from gpulab.views.compile_view import compile_error_view
from gpulab.views.html import View, escape, note, paragraph, stack, table
from gpulab.views.plane import plane_view

__all__ = ["feedback_links", "report_html", "write_report"]

REPORT_STYLE = """
.gpulab nav{margin:6px 0} .gpulab nav a{margin-right:14px;white-space:nowrap}
.gpulab td.chart{padding:1px 10px} .gpulab td.chart svg{display:block}
@media print{.gpulab h3,.gpulab .gp-note,.gpulab svg{break-inside:avoid}}
"""


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
    written = f'<div class="gp-line gp-dim">written {when}</div>'
    return html_page(f"Grades: {names}", written + body, REPORT_STYLE + CLASS_STYLE)


def assignment_section(report: AssignmentReport) -> str:
    """Return all sections of one assignment, with links to them after the table of totals."""
    name = report.grades.assignment
    sections = [
        ("gradebook", _outdated(report) + class_table(report) + rubric_list(report)),
        *class_sections(report),
        ("errors", errors_section(report)),
    ]
    links = "".join(
        f'<a href="#{escape(f"{name}-{title}".replace(" ", "-"))}">{escape(title)}</a>'
        for title, _ in sections
    )
    body = "".join(
        f'<h2 id="{escape(f"{name}-{title}".replace(" ", "-"))}">{escape(name)}: {escape(title)}</h2>{html}'
        for title, html in sections
    )
    label = escape(f"Sections of {name}")
    return f'<section id="{escape(name)}"><nav aria-label="{label}">{links}</nav>{body}</section>'


def _outdated(report: AssignmentReport) -> str:
    remark = report.outdated_remark
    return note("bad", "not up to date", [remark]).html if remark else ""


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


# --- errors ------------------------------------------------------------------------------------


def errors_section(report: AssignmentReport) -> str:
    sections = "".join(student_section(report, student) for student in report.students)
    return checked_on(report).html + (sections or paragraph("No errors: every kernel is correct.").html)


def checked_on(report: AssignmentReport) -> View:
    devices = sorted({inspection.device for inspection in report.inspections.values() if inspection.device})
    return paragraph(f"Kernels were checked on: {', '.join(devices)}.", dim=True) if devices else View()


def student_section(report: AssignmentReport, student: str) -> str:
    """Return the section with the wrong kernels of one student, or "" if there are none."""
    kernels = report.kernels(student)
    views = [kernel_view(kernel) for kernel in kernels]
    missing = [kernel.name for kernel in kernels if kernel.state == "not written"]
    if missing:
        views.append(paragraph(f"not written: {', '.join(missing)}", dim=True))
    given = [kernel.name for kernel in kernels if kernel.state == "given"]
    if given and any(views):
        views.append(paragraph(f"given: {', '.join(given)}", dim=True))

    inspection = report.inspections.get(student)
    if inspection and inspection.incidents:
        views.append(note("bad", "incidents", map(str, inspection.incidents)))
    if student in report.ungraded:
        views.append(note("bad", "this submission could not be graded", [report.ungraded[student]]))
    elif inspection and inspection.error:
        views.append(note("bad", "the kernels could not be checked", [inspection.error]))
    about = paragraph(report.about[student], dim=True) if student in report.about else None
    if not any(views):
        return ""
    body = stack(about, *views)
    return f'<h3 id="{escape(student)}">{escape(student)}</h3>{body.html}'


def kernel_view(kernel: InspectedKernel) -> View:
    """Return reasons, findings, diagnostics and drawing of a wrong kernel; an empty view for any other."""
    if kernel.state in {"right", "not written", "given"}:
        return View()
    if kernel.diagnostics:
        return stack(paragraph(f"{kernel.name}:"), compile_error_view(CompileError(list(kernel.diagnostics))))
    # Many findings are part of a reason already.
    reasons = "\n".join(kernel.reasons)
    remarks = [kernel.remark] if kernel.remark else []
    findings = [finding for finding in kernel.findings if finding not in reasons]
    items = [*remarks, *kernel.reasons, *findings]
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
