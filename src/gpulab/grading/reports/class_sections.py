"""Sections of the HTML report about the class as a whole: distributions, findings, speed-ups, copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulab.grading.reports.assignment_report import AssignmentReport, step_label
from gpulab.grading.reports.class_table import delay_text
from gpulab.grading.reports.common_findings import common_findings
from gpulab.grading.reports.distribution import histogram, step_figures, total_shares
from gpulab.grading.reports.incidents import incidents
from gpulab.grading.reports.leaderboard import Place, leaderboard, open_steps
from gpulab.grading.reports.speedups import SPEEDUP_HEADERS, speedup_matrix, speedup_rows
from gpulab.grading.reports.star_board import star_board
from gpulab.grading.similarity import groups
from gpulab.views.html import escape, paragraph, table
from gpulab.views.tables.number_format import extents, milliseconds, rate

__all__ = ["class_sections", "equal_kernels"]

MOST_FINDINGS = 12  # rows of the table of common findings


def class_sections(report: AssignmentReport) -> list[tuple[str, str]]:
    """Return the title and the HTML of each section that has something to show."""
    sections = [
        ("points per step", _distribution_section(report)),
        ("common findings", _findings_section(report)),
        ("incidents", _incidents_section(report)),
        ("speed-up", _speedup_section(report)),
        ("equal kernels", _equal_kernels_section(report)),
        ("late submissions", _late_section(report)),
        ("leaderboard", _leaderboard_section(report)),
        ("stars", _stars_section(report)),
    ]
    return [(title, html) for title, html in sections if html]


def _distribution_section(report: AssignmentReport) -> str:
    figures = step_figures(report)
    totals = total_shares(report)
    if not totals:
        return ""
    heads = ("step", "points", "mean", "all points", "no points", "not read")
    head = "".join(f'<th scope="col"{" class=gp-n" * (n > 0)}>{title}</th>' for n, title in enumerate(heads))
    rows = []
    for step in figures:
        numbers = (
            f"{step.max_score:g}",
            "" if step.mean is None else f"{step.mean:.1f}",
            str(step.full),
            str(step.none),
            str(step.not_read or ""),
        )
        cells = "".join(f'<td class="gp-n">{number}</td>' for number in numbers)
        chart = histogram(step.shares, f"Scores of {step.cell}")
        label = escape(step_label(step.cell))
        rows.append(f'<tr><th scope="row">{label}</th>{cells}<td class="chart">{chart}</td></tr>')
    return (
        f'<div class="gp-line">Totals of {len(totals)} students, in percent of the maximum:</div>'
        f"{histogram(totals, 'Totals', large=True)}"
        f'<div class="gp-scroll"><table class="gp-table"><thead><tr>{head}<th scope="col">0 to 100 %</th>'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _findings_section(report: AssignmentReport) -> str:
    findings = common_findings(report)
    rows = [
        (str(len(finding.students)), finding.kernel, finding.sentence, ", ".join(finding.students))
        for finding in findings[:MOST_FINDINGS]
    ]
    if not rows:
        return ""
    caption = "Each finding counts once per student; lines and indices are those of the first student."
    if len(findings) > MOST_FINDINGS:
        caption += f" {len(findings) - MOST_FINDINGS} more findings are not in this table."
    return table(("students", "kernel", "finding", "who"), rows, numeric=(0,), caption=caption).html


def _incidents_section(report: AssignmentReport) -> str:
    rows = [
        (student, incident.kind, str(incident))
        for student in report.students
        for incident in incidents(report, student)
    ]
    return table(("student", "incident", "message"), rows).html if rows else ""


def _speedup_section(report: AssignmentReport) -> str:
    rows, origins = speedup_rows(report)
    if not rows:
        return paragraph("No correct kernel has a correct baseline.").html
    variants, matrix = speedup_matrix(report)
    caption = f"Times: {'; '.join(origins)}."
    overview = table(
        ("student", *variants), matrix, numeric=range(1, len(variants) + 1), caption=f"Speed-up. {caption}"
    )
    details = table(SPEEDUP_HEADERS, rows, numeric=(3, 4, 5), caption=caption)
    return f"{overview.html}<details><summary>times</summary>{details.html}</details>"


def equal_kernels(report: AssignmentReport) -> list[tuple[str, tuple[str, ...]]]:
    """Return the kernel and the students of each group whose kernels differ only in names and layout."""
    sources: dict[str, dict[str, str]] = {}
    for student in report.students:
        for kernel in report.kernels(student):
            if kernel.source and kernel.state not in {"given", "not written"}:
                sources.setdefault(kernel.name, {})[student] = kernel.source
    return [
        (name, students)
        for name, by_student in sources.items()
        for students in groups(
            without_headers(by_student), map(without_header, report.known_kernels.get(name, ()))
        )
    ]


def without_headers(sources: Mapping[str, str]) -> dict[str, str]:
    return {student: without_header(source) for student, source in sources.items()}


def without_header(source: str) -> str:
    """Return the text of a kernel cell without its first line, which has the block and the tile."""
    first, _, rest = source.lstrip().partition("\n")
    return rest if first.lstrip("/ ").startswith("%%cuda") else source


def _equal_kernels_section(report: AssignmentReport) -> str:
    rows = [(name, str(len(students)), ", ".join(students)) for name, students in equal_kernels(report)]
    if not rows:
        return ""
    caption = (
        "These kernels differ only in names, comments and layout. Equality alone does not prove copying. "
        "Short kernels, given kernels and copies of the lab's own text are not listed."
    )
    return table(("kernel", "students", "who"), rows, numeric=(1,), caption=caption).html


def _late_section(report: AssignmentReport) -> str:
    rows = [
        (
            student,
            delay_text(lateness.seconds),
            f"{lateness.penalty:g}" if lateness.penalty else "none",
            f"{report.total(student):g}",
        )
        for student in report.students
        if (lateness := report.lateness(student)).seconds > 0
    ]
    return table(("student", "late", "penalty", "total"), rows, numeric=(1, 2, 3)).html if rows else ""


def _leaderboard_section(report: AssignmentReport) -> str:
    tables = [
        table(
            (step, "ms", "GFLOPS", "size", "time"),
            [
                (
                    f"{rank}. {place.name}",
                    milliseconds(place.milliseconds),
                    rate(place.gflops),
                    extents(place.shape),
                    place.source,
                )
                for rank, place in enumerate(places, 1)
            ],
            numeric=(1, 2),
            caption="Students who agreed to be shown, under the name that they chose.",
        ).html
        for step, places in _boards(report)
    ]
    return "".join(tables)


def _stars_section(report: AssignmentReport) -> str:
    rows = [
        (f"{rank}. {place.name}", str(place.stars), str(place.better or ""), f"{place.ratio:.2f}")
        for rank, place in enumerate(star_board(report), 1)
    ]
    caption = (
        "Students who agreed to be shown, under the name that they chose. Equal stars are ranked by the "
        "counts of all kernels divided by their par. Counted by the simulator: the same on every machine."
    )
    headers = ("name", "stars", "better than par", "counts / par")
    return table(headers, rows, numeric=(1, 2, 3), caption=caption).html if rows else ""


def _boards(report: AssignmentReport) -> Iterator[tuple[str, list[Place]]]:
    for step in open_steps(report):
        places = leaderboard(report, step)
        if places:
            yield step, places
