"""nbgrader preprocessors that put a verdict in place of an execution: outputs, and points.

`gpulab grade` hands the verdict to them. nbgrader's own `autograde` has none, and is refused.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_output
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades

from gpulab.grading.judge.records import JudgedSubmission, Output
from gpulab.grading.sandbox.safe_text import clean_text
from gpulab.views.html import note

__all__ = ["ANSWERS_BEFORE", "VERDICT", "InsertVerdicts", "SaveJudgedScores"]

VERDICT = "gpulab"  # the entry of nbconvert's resources that holds the `JudgedSubmission`
ANSWERS_BEFORE = "gpulab_answers"  # texts by grade_id, as they were when the submission was graded last

Resources = dict[str, Any]


def verdict_of(resources: Resources) -> JudgedSubmission:
    """Return the verdict that `gpulab grade` passed on; raise nbgrader's error without one."""
    verdict = resources.get(VERDICT)
    if not isinstance(verdict, JudgedSubmission):
        raise NbGraderException("this course is graded with `gpulab grade`, not with `nbgrader autograde`.")
    return verdict


class InsertVerdicts(NbGraderPreprocessor):
    """Preprocessor that takes the place of Execute: it inserts the outputs of the judge.

    A test cell gets the outputs of the instructor's cell, after a red note if the submission claims more.
    Other cells get the outputs of the student's own run.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        verdict = verdict_of(resources)
        judged = {cell.grade_id: cell.outputs for cell in verdict.cells}
        own_runs: dict[str, deque[Iterable[Output]]] = defaultdict(deque)
        for run in verdict.page:
            own_runs[clean_text(run.source)].append(run.outputs)

        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            cell.outputs = []
            if name in judged:
                cell.outputs = [*_claims(verdict, name), *_outputs(judged[name])]
            elif own_runs[cell.source]:
                cell.outputs = _outputs(own_runs[cell.source].popleft())
        return nb, resources


class SaveJudgedScores(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, with the judge's points of a test cell.

    The stock preprocessor computes points from outputs, and asks for another review of each cell that a
    teacher gave points by hand. Here such a cell is reviewed again only if the verdict or the answer has
    changed.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        self.scores = verdict_of(resources).scores
        self.answers_before = resources.get(ANSWERS_BEFORE, {})
        return super().preprocess(nb, resources)  # type: ignore[no-any-return]

    def _add_score(self, cell: NotebookNode, resources: Resources) -> None:
        name = cell.metadata["nbgrader"]["grade_id"]
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        if name not in self.scores:
            read = grade.manual_score is not None and not grade.needs_manual_grade
            super()._add_score(cell, resources)
            if read and self.answers_before.get(name) == cell.source:
                grade.needs_manual_grade = False
                self.gradebook.db.commit()
            return
        changed = grade.auto_score != self.scores[name]
        waiting = changed or (grade.needs_manual_grade and grade.auto_score is not None)
        grade.auto_score = self.scores[name]
        grade.needs_manual_grade = grade.manual_score is not None and waiting
        self.gradebook.db.commit()


def _outputs(outputs: Iterable[Output]) -> list[NotebookNode]:
    return [from_dict(dict(output)) for output in outputs]


def _claims(verdict: JudgedSubmission, grade_id: str) -> list[NotebookNode]:
    """Return a note if the saved outputs of a test cell claim more points than the judge gives."""
    claims = [incident for incident in verdict.incidents if incident.kind == "claims differ"]
    reasons = [incident.reason for incident in claims if incident.cell == grade_id]
    if not reasons:
        return []
    view = note("bad", "not as submitted", reasons)
    data = {"text/html": view._repr_html_(), "text/plain": view.text}
    return [new_output("display_data", data=data)]
