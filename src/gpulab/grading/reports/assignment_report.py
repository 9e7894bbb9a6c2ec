"""The data of the reports of one assignment, and figures that several reports derive from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gpulab.errors import Diagnostic
from gpulab.grading.judge.records import Incident
from gpulab.grading.pipeline.gradebook import Grades, Lateness
from gpulab.grading.release.rubric import Criterion, max_at_level
from gpulab.profiling.speedup import SpeedupTable, VariantTiming
from gpulab.verification.verdict import Plane

__all__ = ["AssignmentReport", "InspectedKernel", "InspectedSubmission", "speedup_tables", "step_label"]


class InspectedKernel(Protocol):
    """The outcome of one kernel cell, as the reports read it."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def reasons(self) -> tuple[str, ...]: ...
    @property
    def findings(self) -> tuple[str, ...]: ...
    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...
    @property
    def plane(self) -> Plane | None: ...
    @property
    def timing(self) -> VariantTiming | None: ...
    @property
    def source(self) -> str: ...
    @property
    def score(self) -> Mapping[str, Any] | None: ...
    @property
    def remark(self) -> str: ...


class InspectedSubmission(Protocol):
    """The outcome of one submission, as the reports read it."""

    @property
    def kernels(self) -> Sequence[InspectedKernel]: ...
    @property
    def device(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def level(self) -> int | None: ...
    @property
    def error(self) -> str: ...
    @property
    def incidents(self) -> tuple[Incident, ...]: ...
    @property
    def leaderboard(self) -> str | None: ...


@dataclass(frozen=True)
class AssignmentReport:
    """The data of one assignment in the report.

    Attributes
    ----------
    grades : Grades
        Scores, late submissions and names from the gradebook.
    inspections : mapping of str to InspectedSubmission
        By student.
    ungraded : mapping of str to str
        The error by student of submissions that could not be graded.
    rubric : mapping of str to Criterion
        By test cell.
    about : mapping of str to str
        A remark by student, for the sample class.
    feedback : mapping of str to str
        The link to the feedback page by student, relative to the report.
    known_kernels : mapping of str to sequence of str
        By kernel, the texts that are not reported if several students submit them.
    baselines : sequence of VariantTiming
        Times of the kernels that the lab shows.
    outdated : sequence of str
        Students whose points were entered before something that they depend on changed.
    """

    grades: Grades
    inspections: Mapping[str, InspectedSubmission]
    ungraded: Mapping[str, str] = field(default_factory=dict)
    rubric: Mapping[str, Criterion] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    feedback: Mapping[str, str] = field(default_factory=dict)
    known_kernels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    baselines: Sequence[VariantTiming] = ()
    outdated: Sequence[str] = ()

    def of(self, students: Sequence[str]) -> AssignmentReport:
        """Return the report of these students only."""
        scores = {student: row for student, row in self.grades.scores.items() if student in students}
        return replace(
            self,
            grades=replace(self.grades, scores=scores),
            ungraded={student: error for student, error in self.ungraded.items() if student in students},
            outdated=[student for student in self.outdated if student in students],
        )

    @property
    def outdated_remark(self) -> str:
        """A sentence about points that are not up to date, or ""."""
        if not self.outdated:
            return ""
        return (
            f"The lab, its rubric, the settings or a penalty's due date or manual points have changed since "
            f"the points of {', '.join(self.outdated)} were entered: run `gpulab grade "
            f"{self.grades.assignment}`."
        )

    @property
    def students(self) -> list[str]:
        """The students with a submission in the gradebook, and those whose submission was not graded."""
        return sorted({*self.grades.scores, *self.ungraded})

    def kernels(self, student: str) -> Sequence[InspectedKernel]:
        """Return the kernels of a submission; none if it was not inspected."""
        inspection = self.inspections.get(student)
        return inspection.kernels if inspection else ()

    def level(self, student: str) -> int | None:
        """Return the level that a submission chose, or None."""
        inspection = self.inspections.get(student)
        return inspection.level if inspection else None

    def score(self, student: str, cell: str) -> float | None:
        """Return the points of a test cell; None if it is not graded yet."""
        return self.grades.scores.get(student, {}).get(cell)

    def max_score(self, student: str, cell: str) -> float:
        """Return the maximum of a test cell at the student's level."""
        return max_at_level(self.grades.max_scores[cell], self.rubric.get(cell), self.level(student))

    def lateness(self, student: str) -> Lateness:
        """Return the delay and the penalty of a submission."""
        return self.grades.late.get(student, Lateness())

    def total(self, student: str) -> float:
        """Return the points so far, less the penalty for a late submission and at least 0."""
        if student not in self.grades.scores:
            return 0.0
        return max(0.0, self.grades.total(student) - self.lateness(student).penalty)

    def max_total(self, student: str) -> float:
        """Return the maximum of all test cells at the student's level."""
        return sum(self.max_score(student, cell) for cell in self.grades.max_scores)

    def not_read(self, student: str) -> list[str]:
        """Return the test cells that wait for manual grading."""
        if student in self.ungraded:
            return []
        return [cell for cell, score in self.grades.scores.get(student, {}).items() if score is None]

    def is_given(self, student: str, cell: str) -> bool:
        """Return True if the kernel of this cell is given at the student's level and was not replaced."""
        variant = self.rubric[cell].variant if cell in self.rubric else ""
        return any(kernel.name == variant and kernel.state == "given" for kernel in self.kernels(student))

    def speedup_tables(self, student: str) -> list[SpeedupTable]:
        """Return the speed-up table of each problem that the submission has timed kernels of."""
        return speedup_tables(self.kernels(student), self.baselines)


def speedup_tables(
    kernels: Sequence[InspectedKernel], baselines: Sequence[VariantTiming] = ()
) -> list[SpeedupTable]:
    """Return the speed-up table of each problem that has timed kernels; `baselines` are part of it."""
    tables: dict[str, SpeedupTable] = {}
    for timing in [*baselines, *(kernel.timing for kernel in kernels)]:
        if timing is not None:
            problem = timing.config.problem.name
            tables.setdefault(problem, SpeedupTable(problem)).add(timing)
    return list(tables.values())


def step_label(cell: str) -> str:
    """Return a short name of a test cell: `opt_1` for `opt_1_test`, and `A1` for `answer_1`."""
    name = cell.removesuffix("_test")
    return f"A{name.removeprefix('answer_')}" if name.startswith("answer_") else name
