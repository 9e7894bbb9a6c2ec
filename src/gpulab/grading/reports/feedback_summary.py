"""The summary at the top of a feedback page: points, what is wrong, and what to try next, by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpulab.errors import UsageError, as_sentence, first_sentence
from gpulab.grading.pipeline.notebook_source import check_calls
from gpulab.grading.reports.assignment_report import step_label
from gpulab.views.html import escape

__all__ = ["GradedCell", "SummaryRow", "summary_html", "summary_row"]

NOT_READ = "not read yet"
NO_RESPONSE = "No response."  # nbgrader's comment on an answer that was not changed
MAX_LINE = 240  # characters of one entry of the table


@dataclass(frozen=True)
class GradedCell:
    """One graded cell of a notebook.

    Attributes
    ----------
    grade_id : str
        nbgrader's name.
    score, max_score : float
        Points so far, and the maximum.
    not_read : bool
        The cell waits for manual grading.
    is_test : bool
        The cell is a test; otherwise it is an answer that is graded manually.
    automatic : float or None
        The points of the automatic check, if the instructor has set others.
    source : str
        Its text.
    outputs : sequence of mapping
        Its outputs, in the form of a notebook file.
    comment : str
        The instructor's comment.
    earns : str
        What earns the points, from the rubric.
    """

    grade_id: str
    score: float
    max_score: float
    not_read: bool = False
    is_test: bool = True
    automatic: float | None = None
    source: str = ""
    outputs: Sequence[Mapping[str, Any]] = ()
    comment: str = ""
    earns: str = ""

    @property
    def variant(self) -> str:
        """The kernel that a test cell checks, such as "stencil.opt_1"; "" if it checks none."""
        try:
            calls = check_calls(self.source, self.grade_id) if self.is_test else ()
        except UsageError:  # the points of an old notebook are not constants
            return ""
        return next((call.variant for call in calls if call.variant), "")


@dataclass(frozen=True)
class SummaryRow:
    """One line of the summary. result: what earned points or what is wrong. advice: what to try next."""

    grade_id: str
    points: str
    result: str
    advice: str = ""


def summary_row(cell: GradedCell, kernels: Mapping[str, Mapping[str, Any]]) -> SummaryRow:
    """Return the line of a graded cell.

    kernels: the stored inspection of each kernel by its name, as plain data.
    """
    if cell.not_read:
        return SummaryRow(cell.grade_id, NOT_READ, "This answer can still earn points.")

    points = f"{cell.score:g} / {cell.max_score:g}"
    if cell.automatic is not None:
        check = f"The automatic check gave {cell.automatic:g}."
        return SummaryRow(cell.grade_id, points, f"Your teacher has set these points. {check}")

    kernel = kernels.get(cell.variant)
    row = _row(cell, points, kernel)
    remark = kernel.get("remark", "") if kernel is not None else ""
    return replace(row, result=f"{remark} {as_sentence(row.result)}") if remark else row


def _row(cell: GradedCell, points: str, kernel: Mapping[str, Any] | None) -> SummaryRow:
    """Return the line of a test cell or an answer whose points are those of the judge or the comment."""
    if kernel is not None and kernel["state"] == "given" and not cell.score:
        return SummaryRow(cell.grade_id, "given", "The kernel is given at this level.")
    if not cell.max_score and not cell.score:
        return SummaryRow(cell.grade_id, points, "This step has no points at your level.")
    if cell.score >= cell.max_score:
        earned = cell.earns if cell.is_test else first_sentence(cell.comment)
        return SummaryRow(cell.grade_id, points, earned or "All points.")
    if kernel is not None and kernel["state"] not in {"right", "given"}:
        return SummaryRow(cell.grade_id, points, *_kernel_lines(kernel))
    if not cell.is_test:
        return SummaryRow(cell.grade_id, points, *_answer_lines(cell))
    return SummaryRow(cell.grade_id, points, *_output_lines(cell))


def _kernel_lines(kernel: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is wrong with a kernel, and what to try next."""
    if kernel["state"] == "not written":
        return (
            "Parts of the kernel are not written yet.",
            "Replace each #error line with your code.",
        )
    if kernel["diagnostics"]:
        first = kernel["diagnostics"][0]
        line = f"It does not compile. Line {first['line']}: {first['message']}"
        return line, "Correct this error first: errors in later lines may follow from it."

    sentences = [*kernel["reasons"], *kernel["findings"]]
    if not sentences:
        return "The kernel is wrong.", ""
    hint = next((text.partition("Hint: ")[2] for text in sentences if "Hint: " in text), "")
    first = sentences[0].partition(" Hint: ")[0]
    wrong = first_sentence(first)
    more = " ".join(first.split())[len(wrong) :].strip()
    advice = " ".join(part for part in (more, as_sentence(hint)) if part)
    if kernel.get("missed"):
        return wrong, advice or "The values are right. Read in the notebook what this step must change."
    return wrong, advice or "The output of the test cell shows where it is wrong."


def _answer_lines(cell: GradedCell) -> tuple[str, str]:
    if cell.comment == NO_RESPONSE:
        return "You have not answered this question.", ""
    if cell.comment:
        return first_sentence(cell.comment), "Read the comment below your answer."
    if not cell.score:
        return "No points.", "Compare your answer with the question once more, or ask."
    return "Part of the points.", "Ask which part is missing."


def _output_lines(cell: GradedCell) -> tuple[str, str]:
    """Return the lines for a test cell without a wrong kernel: the message of its error, if there is one."""
    error = next((output for output in cell.outputs if output.get("output_type") == "error"), None)
    if error is None:
        return "Part of the points.", "The output of the test cell shows what is missing."
    message = " ".join(str(error.get("evalue", "")).split())
    wrong = first_sentence(message)
    return wrong, message[len(wrong) :].strip() or (f"Needed: {cell.earns}" if cell.earns else "")


def summary_html(
    rows: Sequence[SummaryRow],
    score: float,
    max_score: float,
    *,
    penalty: float = 0.0,
    incidents: Sequence[str] = (),
) -> str:
    """Return the summary as HTML; `score` has the penalty deducted and lacks answers that are not read."""
    not_read = sum(row.points == NOT_READ for row in rows)
    total = f"{score:g} of {max_score:g} points"
    if not_read:
        total += f" so far; {not_read} answer{'s are' if not_read > 1 else ' is'} not read yet"
    if penalty:
        total += f"; {penalty:g} deducted because the submission was late"
    body = "".join(
        f'<tr><td><a href="#{escape(row.grade_id)}">{escape(step_label(row.grade_id))}</a></td>'
        f'<td style="text-align:right;white-space:nowrap">{escape(row.points)}</td>'
        f"<td>{escape(_cut(as_sentence(row.result)))}</td><td>{escape(_cut(row.advice))}</td></tr>"
        for row in rows
    )
    notes = "".join(f"<li>{escape(_cut(text))}</li>" for text in incidents)
    notes = f"<p>While your notebook ran:</p><ul>{notes}</ul>" if notes else ""
    return (
        f'<div class="summary"><p><b>{escape(total)}.</b></p>{notes}'
        '<table class="table table-condensed" style="width:100%"><thead><tr><th>step</th>'
        '<th style="text-align:right">points</th><th>what earned points, or what is wrong</th>'
        f"<th>what to try next</th></tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 2].rstrip() + " …"
