"""nbgrader preprocessors that put a verdict in place of an execution: outputs, and points.

`gpulab grade` hands the verdict to them. nbgrader's own `autograde` has none, and is refused before it
changes a file or the gradebook.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.api import Comment, Grade, Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor

from gpulab.grading.judge.records import JudgedSubmission, Output
from gpulab.grading.pipeline.gradebook import entries_by_cell
from gpulab.grading.sandbox.safe_text import clean_text
from gpulab.views.html import note

__all__ = ["ANSWERS_BEFORE", "VERDICT", "InsertVerdicts", "RefuseAutograde", "SaveJudgedScores"]

VERDICT = "gpulab"  # the entry of nbconvert's resources that holds the `JudgedSubmission`
NO_RESPONSE = "No response."  # nbgrader's comment on an answer that was not changed
ANSWERS_BEFORE = "gpulab_answers"  # texts by grade_id, as they were when the submission was graded last

Resources = dict[str, Any]


class RefuseAutograde(NotebookExporter):
    """Exporter of nbgrader's `autograde`, in a terminal or by formgrader's button: it refuses to start.

    nbgrader creates its exporter first. Later it would remove the graded notebook.
    """

    def __init__(self, parent: Any = None, **options: Any) -> None:
        del options
        folders = parent.coursedir
        command = f"gpulab grade {folders.assignment_id}"
        if folders.student_id != "*":
            command += f" --student {folders.student_id}"
        # formgrader's window cuts lines of more than 80 characters.
        parent.log.error(
            "This course is not graded with nbgrader's autograde.\n"
            "Nothing was changed. To grade, open a terminal in the folder of\n"
            "the course and run:\n    %s",
            command,
        )
        raise NbGraderException("autograde is refused: the log says what to run.")


def verdict_of(resources: Resources) -> JudgedSubmission:
    """Return the verdict that `gpulab grade` passed on; raise nbgrader's error without one."""
    verdict = resources.get(VERDICT)
    if not isinstance(verdict, JudgedSubmission):  # a configuration without `RefuseAutograde`
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


class SaveJudgedScores(NbGraderPreprocessor):
    """Preprocessor that takes the place of SaveAutoGrades: it enters the judge's points in the gradebook.

    Cells that the judge does not grade follow nbgrader's rules. The stock preprocessor asks for another
    review of each cell that a teacher gave points by hand. Here such a cell is reviewed again only if the
    verdict or the answer has changed. All changes are one transaction.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        scores = verdict_of(resources).scores
        before, about = resources.get(ANSWERS_BEFORE, {}), resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            notebook = gradebook.find_submission_notebook(
                about["notebook"], about["assignment"], about["student"]
            )
            grades = entries_by_cell(gradebook, Grade, notebook)
            comments = entries_by_cell(gradebook, Comment, notebook)
            for cell in nb.cells:
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                if name in scores and name in grades:
                    _enter_score(grades[name], scores[name])
                elif name in grades:
                    self._enter_answer(grades[name], cell, changed=before.get(name) != cell.source)
                if name in comments:
                    comments[name].auto_comment = NO_RESPONSE if _is_unanswered(cell) else None
            gradebook.db.commit()
        return nb, resources

    def _enter_answer(self, grade: Grade, cell: NotebookNode, *, changed: bool) -> None:
        """Ask for a review of an answer, unless it was reviewed and has not changed since."""
        reviewed = grade.manual_score is not None and not grade.needs_manual_grade
        grade.auto_score, _ = utils.determine_grade(cell, self.log)
        waiting = grade.manual_score is not None or grade.auto_score is None
        grade.needs_manual_grade = waiting and not (reviewed and not changed)


def _enter_score(grade: Grade, score: float) -> None:
    """Enter the points of a test cell, and ask for a review of manual points if these have changed."""
    changed = grade.auto_score != score
    waiting = changed or (grade.needs_manual_grade and grade.auto_score is not None)
    grade.auto_score = score
    grade.needs_manual_grade = grade.manual_score is not None and waiting


def _is_unanswered(cell: NotebookNode) -> bool:
    """Return True if the student has not changed an answer."""
    unchanged = cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell)
    return unchanged and not utils.is_task(cell)


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
