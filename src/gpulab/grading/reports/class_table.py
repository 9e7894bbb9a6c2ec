"""The table of a class in the HTML report: totals, feedback and incidents first, then the steps."""

from __future__ import annotations

from collections import Counter

from gpulab.grading.pipeline.gradebook import Lateness
from gpulab.grading.reports.assignment_report import AssignmentReport, step_label
from gpulab.grading.reports.incidents import incidents
from gpulab.views.html import escape

__all__ = ["CLASS_STYLE", "class_table", "delay_text", "score_text"]

# The first two columns stay in place when a narrow window scrolls the table.
CLASS_STYLE = """
.gpulab .wide{overflow-x:auto}
.gpulab table.class{border-collapse:separate;border-spacing:0}
.gpulab table.class th,.gpulab table.class td{padding:3px 3.5px}
.gpulab table.class thead th{vertical-align:bottom;font-weight:600;line-height:1.2}
.gpulab table.class thead th small{display:block;font-weight:400;color:var(--gp-dim)}
.gpulab table.class abbr{text-decoration:none}
.gpulab table.class th:first-child{position:sticky;left:0;z-index:1;background:var(--gp-paper);
min-width:6.5em;max-width:15em;overflow-wrap:anywhere}
.gpulab table.class .total{border-right:1px solid var(--gp-line);white-space:nowrap}
.gpulab table.class .before-steps{border-right:1px solid var(--gp-line);white-space:nowrap}
.gpulab table.class tbody tr:hover>*{background:var(--gp-band)}
.gpulab td.full{color:var(--gp-good)} .gpulab td.none{color:var(--gp-bad)}
.gpulab td.part,.gpulab td.unread{color:var(--gp-hint)}
.gpulab .incident{color:var(--gp-bad)}
.gpulab tbody th{font-weight:600}
.gpulab table.class tbody th{vertical-align:top}
"""


def class_table(report: AssignmentReport) -> str:
    """Return a row for each student: total, level, feedback, incidents, delay and points by step."""
    cells = list(report.grades.max_scores)
    steps = "".join(_step_head(report, cell) for cell in cells)
    levels = any(report.level(student) is not None for student in report.students)
    level = '<th class="gp-n">level</th>' if levels else ""
    rows = "".join(_row(report, student, levels=levels) for student in report.students)
    total = f"total<small>of {report.grades.max_total:g}</small>"
    return (
        '<div class="wide"><table class="gp-table class"><thead><tr><th scope="col">student</th>'
        f'<th scope="col" class="gp-n total">{total}</th>{level}<th scope="col">page</th>'
        f'<th scope="col">incidents</th><th scope="col" class="before-steps">late</th>{steps}'
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
        '<div class="gp-line gp-dim">? : not read yet, counts 0. &ndash; : the kernel is given at this '
        "level. The total includes the penalty.</div>"
    )


def _step_head(report: AssignmentReport, cell: str) -> str:
    label = escape(step_label(cell))
    if len(label) > 5:
        label = label.replace("_", "_<wbr>")
    earns = f": {report.rubric[cell].earns}" if cell in report.rubric else ""
    return (
        f'<th scope="col" class="gp-n"><abbr title="{escape(cell + earns)}">{label}</abbr>'
        f"<small>{report.grades.max_scores[cell]:g}</small></th>"
    )


def _row(report: AssignmentReport, student: str, *, levels: bool) -> str:
    cells = list(report.grades.max_scores)
    steps = "".join(_score_cell(report, student, cell) for cell in cells)
    lateness, level = report.lateness(student), report.level(student)

    total = score_text(report.total(student), report.max_total(student))
    if student in report.ungraded and all(report.score(student, cell) is None for cell in cells):
        total = "none"
    about = f' title="{escape(report.about[student])}"' if student in report.about else ""
    columns = [
        f'<th scope="row"{about}>{escape(student)}</th>',
        f'<td class="gp-n total"><b>{escape(total)}</b></td>',
        f'<td class="gp-n">{"" if level is None else level}</td>' if levels else "",
        f"<td>{_feedback_link(report, student)}</td>",
        f"<td>{_incident_links(report, student)}</td>",
        f'<td class="before-steps">{escape(_late_text(lateness))}</td>',
        steps,
    ]
    return f"<tr>{''.join(columns)}</tr>"


def _score_cell(report: AssignmentReport, student: str, cell: str) -> str:
    score, max_score = report.score(student, cell), report.max_score(student, cell)
    if score is None:
        text, css, title = (
            ("", "gp-dim", "") if student in report.ungraded else ("?", "unread", "not read yet")
        )
    elif score == 0 and report.is_given(student, cell):
        text, css, title = "–", "gp-dim", "given at this level"
    else:
        text, title = f"{score:g}", f"{score:g} of {max_score:g}"
        css = "full" if score >= max_score else "part" if score > 0 else "none"
        css = css if max_score else "gp-dim"
    hover = f' title="{escape(title)}"' if title else ""
    return f'<td class="gp-n {css}"{hover}>{escape(text)}</td>'


def _incident_links(report: AssignmentReport, student: str) -> str:
    counts = Counter(incident.kind for incident in incidents(report, student))
    parts = [kind if count == 1 else f"{kind} ×{count}" for kind, count in counts.items()]
    return f'<span class="incident">{escape(", ".join(parts))}</span>' if parts else ""


def _late_text(lateness: Lateness) -> str:
    penalty = f" (-{lateness.penalty:g})" if lateness.penalty else ""
    return delay_text(lateness.seconds) + penalty


def _feedback_link(report: AssignmentReport, student: str) -> str:
    if student not in report.feedback:
        return ""
    name = escape(f"Feedback page of {student}")
    return f'<a href="{escape(report.feedback[student])}" aria-label="{name}">feedback</a>'


def score_text(score: float | None, max_score: float) -> str:
    """Return a score as `7.5 / 10`, or `? / 10` for a cell that waits for manual grading."""
    return f"{'?' if score is None else f'{score:g}'} / {max_score:g}"


def delay_text(seconds: float) -> str:
    """Return a delay with one unit, rounded up: `3 d`, `5 h`, `12 min`; "" if there is none."""
    if seconds <= 0:
        return ""
    for unit, length in (("d", 86400), ("h", 3600)):
        if seconds >= length:
            return f"{-int(-seconds // length)} {unit}"
    return f"{-int(-seconds // 60)} min"
