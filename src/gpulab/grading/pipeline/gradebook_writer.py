"""The only writer of the gradebook: nbgrader's autograding and feedback of one submission at a time."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.utils import find_all_files

from gpulab.errors import UsageError
from gpulab.grading.judge.plan import TEST, NotebookPlan
from gpulab.grading.judge.records import JudgedSubmission
from gpulab.grading.pipeline.course import Course, GradingError
from gpulab.grading.pipeline.gradebook import open_gradebook
from gpulab.grading.pipeline.nbgrader_steps import make_converter, recorded_step
from gpulab.grading.pipeline.submitted_files import copy_exchange_files, notebook_names, time_of_submission
from gpulab.grading.pipeline.verdict_preprocessors import ANSWERS_BEFORE, VERDICT
from gpulab.grading.reports.ungraded_page import ungraded_page

__all__ = ["GradebookWriter"]


class JudgedAutograde(Autograde):
    """nbgrader's Autograde on a prepared notebook, with a verdict in place of an execution."""

    def grade(
        self, student: str, notebook_id: str, notebook: NotebookNode, verdict: JudgedSubmission
    ) -> None:
        """Write the graded notebook and the points of one submission."""
        assignment = self.coursedir.assignment_id
        self.coursedir.student_id = student
        folder = Path(self._format_source(assignment, student))
        name = str(folder / f"{notebook_id}.ipynb")
        self.notebooks = [name]
        before = self._answers_before(assignment, student, notebook_id)
        self.init_destination(assignment, student)
        self.init_assignment(assignment, student)

        resources = self.init_single_notebook_resources(name)
        resources[VERDICT] = verdict
        resources[ANSWERS_BEFORE] = before
        for preprocessor in [*self.sanitize_preprocessors, *self.autograde_preprocessors]:
            self.exporter.register_preprocessor(preprocessor)
        try:
            output, resources = self.exporter.from_notebook_node(notebook, resources=resources)
        finally:
            self.exporter._preprocessors = []  # noqa: SLF001  (as nbgrader does)
        self.write_single_notebook(output, resources)
        copy_exchange_files(folder, Path(self.writer.build_directory))
        self.set_permissions(assignment, student)

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Enter the submission in the gradebook, and copy the instructor's files but not the student's."""
        timestamp = time_of_submission(Path(self._format_source(assignment_id, student_id)))
        submitted = {"timestamp": timestamp} if timestamp else {}
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            gradebook.update_or_create_student(student_id)
            gradebook.update_or_create_submission(assignment_id, student_id, **submitted)

        source = self.coursedir.format_path(self.coursedir.source_directory, ".", assignment_id)
        graded = Path(self._format_dest(assignment_id, student_id))
        # Notebooks are not copied. The kernels of level 2 are not handed out with the graded notebook.
        for name in find_all_files(source, [*self.coursedir.ignore, "*.ipynb", "*.cu"]):
            copied = graded / Path(name).relative_to(source)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, copied)

    def _answers_before(self, assignment: str, student: str, notebook_id: str) -> dict[str, str]:
        """Return the texts of the cells that were graded last, by grade_id."""
        path = Path(self._format_dest(assignment, student)) / f"{notebook_id}.ipynb"
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            marks = [(cell["metadata"].get("nbgrader", {}).get("grade_id"), cell["source"]) for cell in cells]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
        return {name: "".join(source) for name, source in marks if name}


class GradebookWriter:
    """Enters verdicts of one assignment in the gradebook, and writes nbgrader's pages.

    Parameters
    ----------
    course : Course
        The course.
    assignment : str
        A released assignment.
    plan : NotebookPlan
        The graded content of the instructor's notebook. Raises `UsageError` if the gradebook has other test
        cells.
    """

    def __init__(self, course: Course, assignment: str, plan: NotebookPlan) -> None:
        self.course, self.assignment, self.plan = course, assignment, plan
        self._require_release()
        autograde = make_converter(course, JudgedAutograde, assignment)
        autograde.exporter_class = NotebookExporter  # the configuration has one that refuses nbgrader's own
        self._autograde = _started(autograde)
        self._feedback = _started(make_converter(course, GenerateFeedback, assignment))

    def enter(self, student: str, notebook: NotebookNode, verdict: JudgedSubmission) -> None:
        """Enter a verdict in the gradebook; raise `GradingError` if nbgrader cannot.

        Doing this twice has the result of doing it once, so that a killed run can be repeated.
        """
        log_file = self.course.work / "logs" / f"{self.assignment}-{student}.txt"
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with recorded_step("nbgrader could not grade it") as log, contextlib.chdir(self.course.root):
            try:
                self._autograde.grade(student, self.plan.name, notebook, verdict)
            finally:
                log_file.write_text(log.text, encoding="utf-8")

    def enter_failure(self, student: str, problem: str, *, correctable: bool) -> None:
        """Enter a submission that could not be judged: it has no points, and manual points are kept.

        Its feedback page is written under the name of each notebook of the submission, because nbgrader's
        `fetch_feedback` asks for the pages by these names.
        """
        with recorded_step("the gradebook could not be written"), self._gradebook() as gradebook:
            gradebook.update_or_create_student(student)
            submission = gradebook.update_or_create_submission(self.assignment, student)
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    grade.auto_score, grade.needs_manual_grade = None, True
            gradebook.db.commit()
        feedback = self.course.feedback / student / self.assignment
        for folder in (self.course.autograded / student / self.assignment, feedback):
            shutil.rmtree(folder, ignore_errors=True)

        submission = self.course.submitted / student / self.assignment
        page = ungraded_page(self.plan.name, problem, correctable=correctable)
        try:
            feedback.mkdir(parents=True, exist_ok=True)
            for name in {self.plan.name, *notebook_names(submission)}:
                (feedback / f"{name}.html").write_text(page, encoding="utf-8")
            copy_exchange_files(submission, feedback)
        except OSError as error:
            raise GradingError(f"{feedback} cannot be written: {error.strerror}.") from error

    def scores(self) -> dict[str, dict[str, float | None]]:
        """Return the automatic points in the gradebook, by student and test cell."""
        with recorded_step("the gradebook could not be read"), self._gradebook() as gradebook:
            return {
                submission.student.id: {
                    grade.name: grade.auto_score
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                }
                for submission in gradebook.assignment_submissions(self.assignment)
            }

    def has_pages(self, student: str, *, graded: bool) -> bool:
        """Return True if the feedback of a student exists, and the notebook of a graded submission."""
        notebook = self.course.autograded / student / self.assignment / f"{self.plan.name}.ipynb"
        feedback = self.course.feedback / student / self.assignment / f"{self.plan.name}.html"
        return feedback.is_file() and (notebook.is_file() or not graded)

    def write_feedback(self, student: str) -> None:
        """Write nbgrader's feedback page of one student."""
        with recorded_step("its feedback could not be written"), contextlib.chdir(self.course.root):
            converter = self._feedback
            converter.coursedir.student_id = student
            name = self.course.autograded / student / self.assignment / f"{self.plan.name}.ipynb"
            converter.notebooks = [str(name)]
            converter.init_destination(self.assignment, student)
            converter.init_assignment(self.assignment, student)
            converter.convert_single_notebook(str(name))
            converter.set_permissions(self.assignment, student)

    def _gradebook(self) -> Any:
        return open_gradebook(self.course)

    def _require_release(self) -> None:
        from nbgrader.api import MissingEntry

        again = f"run `gpulab release {self.assignment}`"
        with recorded_step("the gradebook could not be read"), self._gradebook() as gradebook:
            try:
                notebook = gradebook.find_notebook(self.plan.name, self.assignment)
                points = {cell.name: cell.max_score for cell in notebook.grade_cells}
                sources = {cell.name: cell.source for cell in notebook.source_cells}
            except MissingEntry:
                points, sources = None, {}
        if points is None:
            raise UsageError(f"{self.assignment} is not released: {again} first.")
        for cell in self.plan.of_kind(TEST):
            if points.get(cell.grade_id) != cell.points or sources.get(cell.grade_id) != cell.source:
                raise UsageError(
                    f"{self.assignment}: test cell `{cell.grade_id}` was changed after the release: {again}."
                )


def _started(converter: Any) -> Any:
    """Give a converter its writer and its exporter, which nbgrader creates when it starts."""
    from nbconvert.writers.files import FilesWriter

    converter.writer = FilesWriter(parent=converter, config=converter.config)
    converter.exporter = converter.exporter_class(parent=converter, config=converter.config)
    converter.exporter.optimistic_validation = True  # the notebook is validated once, after all preprocessors
    for preprocessor in converter.preprocessors:
        converter.exporter.register_preprocessor(preprocessor)
    return converter
