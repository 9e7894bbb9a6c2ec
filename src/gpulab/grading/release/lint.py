"""Faults of a lab that its teacher should see before the students: `gpulab lint`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from gpulab.errors import GpulabError, ProblemError, UsageError
from gpulab.grading.judge.records import JudgedSubmission, KernelInspection
from gpulab.grading.pipeline.course import Course, open_course
from gpulab.grading.pipeline.grading_run import GradeOptions
from gpulab.grading.pipeline.submissions import grade_submissions
from gpulab.grading.pipeline.verdict_store import load_judged
from gpulab.grading.release.assignments import (
    check_metadata,
    check_stated_points,
    given_files,
    graded_sources,
    max_points,
    release,
)
from gpulab.grading.release.notebook_faults import kernel_places, names_step, notebook_faults
from gpulab.grading.release.rubric import check_points, required_rubric
from gpulab.grading.release.sample_class import SampleSubmission, read_samples, submit_sample
from gpulab.problems import Case, Problem, Shape, load_problems
from gpulab.problems import problem as problem_named
from gpulab.problems.registry import PROBLEM_FILE
from gpulab.verification.requirements import check_metrics
from gpulab.verification.verify import require_memory

__all__ = ["lint"]

ONE_THREAD = (1, 1, 1)  # a block
SOLUTIONS = "_solutions"  # the student who submits the lab's own notebook


def lint(course: Course, assignment: str, options: GradeOptions) -> list[str]:
    """Return one sentence for each fault of a lab; empty if none was found.

    Parameters
    ----------
    course : Course
        The course.
    assignment : str
        The lab's folder.
    options : GradeOptions
        How the sample class is graded.

    Notes
    -----
    The declaration, the notebook and the rubric are read. If they have no fault, the lab is released and its
    sample class is graded in a temporary folder.
    """
    notebook = course.notebook(assignment)
    declared, faults = _declared(notebook.parent)
    if faults:
        return faults
    try:
        check_metadata(notebook)
    except UsageError as error:
        return [str(error)]
    faults = [*notebook_faults(notebook, declared), *_points(course, assignment, notebook)]
    samples = course.config_folder / "sample_class" / assignment
    if not samples.is_dir():
        return [*faults, f"{samples} is missing: a lab needs sample submissions that are right and wrong."]
    return faults or _sample_faults(course, assignment, options)


def _declared(folder: Path) -> tuple[Mapping[str, Problem], list[str]]:
    """Return the problems of a lab's own file, and the fault of a declaration that cannot work."""
    if not (folder / PROBLEM_FILE).is_file():
        return {}, []
    try:
        problems = load_problems(folder / PROBLEM_FILE)
        for declared in problems.values():
            _check_name(declared)
            _try_sizes(declared)
            for step in declared.variants.values():
                check_metrics((*step.requirements, *step.par))
    except GpulabError as error:
        return {}, [str(error)]
    except Exception as error:  # noqa: BLE001  (an error of the teacher's that no check foresees)
        return {}, [f"{PROBLEM_FILE}: {type(error).__name__}: {error}"]
    return problems, []


def _check_name(declared: Problem) -> None:
    """Raise `ProblemError` if kernel cells that name a problem get that of an installed package instead."""
    if problem_named(declared.name) is not declared:
        raise ProblemError(
            f"{declared.line}: an installed package has a problem with the name {declared.name}, which is "
            "found first; choose another name."
        )


def _try_sizes(declared: Problem) -> None:
    """Raise `ProblemError` if a launch that a student or the grader can ask for has no reference.

    These are the smallest extents, the sizes of a check, and those of blocks of one thread.
    """
    shapes = {declared.smallest_shape: declared.line}
    for name, step in declared.variants.items():
        for block in (declared.block_of(name), ONE_THREAD):
            for shape in declared.check_shapes(name, block, declared.default_tile):
                shapes.setdefault(shape, step.line)

    idle_is_right = True
    mistakes: dict[str, bool] = {}  # whether each was recognised as wrong
    for shape, line in shapes.items():
        size = declared.format_shape(shape)
        try:
            require_memory(declared, shape)
            case = declared.make_case(shape, np.random.default_rng(0))
            for each in (case, *case.others):
                for text, wrong in _mistakes(declared, each):
                    mistakes[text] = mistakes.get(text, False) or wrong
                idle_is_right &= _is_right_before(each)
        except ProblemError as error:
            larger = next(each for each in (*shapes, shape) if each != declared.smallest_shape)
            advice = ""
            if shape == declared.smallest_shape and _has_reference(declared, larger):
                advice = " Declare `smallest` of a size: at a larger one the reference is right."
            raise ProblemError(f"{error} This is so for the size {size}.{advice}") from None
        except UsageError as error:
            raise ProblemError(f"{line}: {error}") from None

    if idle_is_right:
        raise ProblemError(
            f"{declared.reference_line}: a kernel that does nothing is correct: the reference returns the "
            "values that the output has before the launch."
        )
    for text, wrong in mistakes.items():
        if not wrong:
            raise ProblemError(f"{declared.line}: the mistake `{text}` has the values of the reference.")


def _has_reference(declared: Problem, shape: Shape) -> bool:
    """Return whether a launch of this size has a plausible reference."""
    try:
        declared.make_case(shape, np.random.default_rng(0))
    except ProblemError:
        return False
    return True


def _is_right_before(case: Case) -> bool:
    """Return whether the output of a case is correct before the launch."""
    before = case.output
    return before.initialized and bool(
        np.all(np.abs(case.in_order(before.value) - case.expected) <= case.tolerance)
    )


def _mistakes(declared: Problem, case: Case) -> Iterator[tuple[str, bool]]:
    """Yield each mistake, and whether its values are wrong; raise `ProblemError` for another shape."""
    for mistake in declared.mistakes(case):
        if mistake.values.shape != case.expected.shape:
            raise ProblemError(
                f"{declared.line}: the mistake `{mistake.description}` has the shape {mistake.values.shape}; "
                f"the output {case.output.name} has {case.expected.shape}."
            )
        yield mistake.description, not np.all(np.abs(mistake.values - case.expected) <= case.tolerance)


def _points(course: Course, assignment: str, notebook: Path) -> Iterator[str]:
    """Yield the first difference between the points of the notebook and those of the rubric."""
    try:
        rubric = required_rubric(course.config_folder / "rubric.toml", assignment)
        check_points(rubric, max_points(notebook), notebook, graded_sources(notebook))
        check_stated_points(notebook)
    except UsageError as error:
        yield str(error)


def _sample_faults(course: Course, assignment: str, options: GradeOptions) -> list[str]:
    """Grade the sample class in a temporary folder and return the points that are not as expected."""
    notebook = course.notebook(assignment)
    try:
        samples = read_samples(course.config_folder / "sample_class" / assignment)
        with tempfile.TemporaryDirectory(prefix="gpulab-lint-") as work:
            trial = open_course(course.config_file, Path(work))
            released = release(trial, assignment)
            for sample in samples:
                submit_sample(sample, released.notebooks[0], trial.submitted)
            submit_sample(_solutions(notebook), notebook, trial.submitted)
            grade_submissions(trial, assignment, options)
            verdicts = [load_judged(trial, assignment, sample.student) for sample in samples]
            own = load_judged(trial, assignment, SOLUTIONS)
    except GpulabError as error:
        return [str(error)]

    rubric = required_rubric(course.config_folder / "rubric.toml", assignment)
    tested = {name: criterion.variant for name, criterion in rubric.items()}
    faults = [*_not_judged(verdicts), *_wrong_solutions(notebook, own)]
    for sample, verdict in zip(samples, verdicts, strict=True):
        faults += _differences(sample, verdict, tested)
    totals = [sum(sample.points.values()) for sample in samples]
    if max(totals) <= 0:
        faults.append("no sample submission is right: one must earn points.")
    if min(totals) == max(totals):
        faults.append("no sample submission is wrong: one must earn fewer points than another.")
    return faults


def _not_judged(verdicts: Sequence[JudgedSubmission]) -> list[str]:
    """Return each reason for which samples were not judged, once, with their names.

    A fault of the declaration is the same for every sample.
    """
    students: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.error:
            students.setdefault(verdict.error, []).append(verdict.student)
    return [
        f"sample{'s' * (len(names) > 1)} {', '.join(names)}: {error}" for error, names in students.items()
    ]


def _solutions(notebook: Path) -> SampleSubmission:
    """Return the lab's own notebook as a submission, at the level that accepts its given kernels."""
    level = 2 if given_files(notebook) else None
    return SampleSubmission(SOLUTIONS, "the solutions of the lab", {}, {}, level=level)


def _wrong_solutions(notebook: Path, verdict: JudgedSubmission) -> Iterator[str]:
    """Yield the kernels of the lab's own notebook that are not right."""
    places = kernel_places(notebook)
    for kernel in verdict.kernels:
        if kernel.state not in {"right", "given"}:
            yield f"{places[kernel.name]}: the solution is wrong. {_explained(kernel.name, kernel)}"


def _explained(name: str, kernel: KernelInspection | None) -> str:
    """Return what is wrong with a kernel. None: it was not inspected."""
    compared = f", compared with {_reference(name)}" if names_step(name) else ""
    if kernel is None:
        return f"Its kernel {name}{compared}"
    if kernel.diagnostics:
        compared = " does not compile"
    elif kernel.missed:
        compared = " has right values, but misses a requirement"
    errors = [f"line {diagnostic.line}: {diagnostic.message}" for diagnostic in kernel.diagnostics]
    reason = next(iter((*errors, *kernel.reasons)), "")
    return f"Its kernel {name}{compared}: {reason}".rstrip(" :")


def _differences(
    sample: SampleSubmission, verdict: JudgedSubmission, tested: Mapping[str, str]
) -> Iterator[str]:
    """Yield the points of a sample that are not as expected, each with the reason.

    tested: the kernel that each test cell checks.
    """
    if verdict.error:  # see `_not_judged`
        return
    kernels = {kernel.name: kernel for kernel in verdict.kernels}
    unknown = sorted(sample.points.keys() - verdict.scores.keys())
    yield from (f"sample {sample.student}: there is no test cell `{name}`." for name in unknown)
    for cell, score in verdict.scores.items():
        expected, name = sample.points.get(cell, 0.0), tested.get(cell, "")
        got = f"sample {sample.student}: {cell} got {score:g} points, expected {expected:g}"
        if score > expected:
            yield f"{got}: a wrong answer passes."
        elif score < expected:
            yield f"{got}. {_explained(name, kernels.get(name))}"


def _reference(name: str) -> str:
    """Return the reference of a kernel's problem, with its place."""
    return f"the reference in {problem_named(name.partition('.')[0]).reference_line}"
