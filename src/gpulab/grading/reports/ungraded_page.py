"""The feedback page of a submission that could not be graded: what was wrong, and what to do."""

from __future__ import annotations

from gpulab.grading.reports.html_page import html_page
from gpulab.views.html import note, paragraph, stack

__all__ = ["ungraded_page"]

TEACHERS_PART = (
    "The cause does not lie in the cells of your notebook. Your teacher sees it in the class report and can "
    "grade the submission again; ask for it if this page stays."
)


def ungraded_page(notebook: str, problem: str, *, correctable: bool) -> str:
    """Return the page.

    notebook: its name without extension. problem: why it was not graded. correctable: True if the student
    can correct the problem; otherwise the page does not show it, since it may name files of the teacher.
    """
    if correctable:
        advice = f"After that, submit {notebook}.ipynb in the same way as before."
        details = note("bad", "what was wrong", [problem])
    else:
        advice, details = TEACHERS_PART, None
    first = paragraph("Your submission could not be graded. It has no automatic points yet.")
    return html_page(f"{notebook}: not graded", stack(first, details, paragraph(advice)).html)
