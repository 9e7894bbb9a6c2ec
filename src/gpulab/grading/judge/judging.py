"""The judge process: it runs the instructor's test cells on the texts and plain values of one submission."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from gpulab.devices import open_device
from gpulab.devices.cuda.cuda_errors import RESTART_ADVICE
from gpulab.errors import ProblemError, UsageError
from gpulab.exercises.lab_session import grade_as, normalized_id
from gpulab.grading.checks import draws
from gpulab.grading.checks.commits import ForeignAnswers
from gpulab.grading.judge.missing_parts import MissingParts
from gpulab.grading.judge.plan import ANSWERS, SETUP, SOLUTION, TEST, NotebookPlan, PlanCell
from gpulab.grading.judge.records import (
    Incident,
    JudgedCell,
    JudgedSubmission,
    JudgeTask,
    Output,
    PageCell,
    error_output,
)
from gpulab.grading.judge.student_client import StudentFunction, StudentProcess, StudentProcessEnded
from gpulab.grading.judge.student_start import student_starter
from gpulab.grading.judge.submitted import (
    SubmittedCell,
    cells_to_run,
    function_text,
    leaderboard_name,
    read_submission,
    typed_student_id,
)
from gpulab.grading.judge.submitted_kernels import (
    choose_level,
    evidence,
    impossible_time,
    inspect_kernel,
    register_kernels,
)
from gpulab.grading.sandbox.safe_page import clean_outputs
from gpulab.grading.sandbox.safe_text import MATHJAX_MACRO
from gpulab.notebook import failure
from gpulab.notebook.recording_shell import RecordingShell, open_shell
from gpulab.problems.registry import use_problem_text

__all__ = ["judge_notebook", "score_of"]

Emit = Callable[[str, Any], None]

# Bytes of private memory of a judge process on the simulator; the labs need less than 1 GiB. There is no
# limit with a GPU, because the CUDA driver reserves memory of its own.
MEMORY_BYTES = 4 << 30
CELL_CPU_S = 40  # processor time of one test cell; those of the labs need less than 3 s


def judge_notebook(task: JudgeTask, skipped: frozenset[str], emit: Emit) -> None:
    """Judge a submission and emit the results as they come.

    Parameters
    ----------
    task : JudgeTask
        The submission, and the graded content of the instructor's notebook.
    skipped : frozenset of str
        Test cells that an earlier process has judged, or that ended it.
    emit : callable
        Takes ("submission", JudgedSubmission without cells) once; for each test cell ("begin", its name),
        ("cell", JudgedCell), ("incident", Incident) if there is one, and ("kernel", KernelInspection) if it
        checks a kernel; ("restart", None) if this process lost the GPU; and ("usage", seconds of processor
        time) at the end.
    """
    use_problem_text(task.plan.problem)
    draws.use_secret(task.secret)
    grade_as(task.student)
    device = open_device(task.device)
    empty = JudgedSubmission(task.student, task.assignment, task.plan.name)
    try:
        submitted = read_submission(task.notebook)
    except UsageError as refused:
        emit("submission", replace(empty, error=str(refused)))
        return

    shell = open_shell()
    failure.install(terminal=False)
    chosen = choose_level(submitted, task.plan)
    headers = register_kernels(submitted, task.plan, device)
    with (
        tempfile.TemporaryDirectory(prefix="gpulab-judge-") as scratch,
        StudentProcess(student_starter(task, Path(scratch))) as student,
    ):
        page, values, failures = run_student(student, submitted, task.plan)
        reported = {incident.reason for incident in student.incidents}
        missing = MissingParts(submitted, task.plan, failures, values.keys())
        emit(
            "submission",
            replace(
                empty,
                page=page,
                incidents=(*student.incidents, *other_student_id(submitted, task.student)),
                device=device.name,
                kind=device.kind,
                level=chosen,
                leaderboard=leaderboard_name(submitted),
            ),
        )
        if device.kind == "sim":  # after the student's process was started, which has limits of its own
            limit_memory(MEMORY_BYTES)
        for cell in task.plan.of_kind(SETUP):
            shell.record(cell.source)

        for kernel, test in _tests(task.plan):
            if test.grade_id in skipped:
                continue
            emit("begin", test.grade_id)
            limit_cpu(CELL_CPU_S)
            judged, error = judge_cell(shell, test, values)
            if kernel is not None:
                judged = replace(judged, outputs=(*evidence(kernel), *judged.outputs))
            judged = replace(judged, outputs=tuple(map(without_formula_links, judged.outputs)))
            lacking = missing.exercise(test) if judged.score < test.points else ""
            if lacking:  # the cause of the error that the test cell raised
                others = [output for output in judged.outputs if output["output_type"] != "error"]
                judged = replace(judged, outputs=(error_output("UsageError", lacking), *others))
            emit("cell", judged)

            if difference := claim_difference(submitted, judged):
                emit("incident", difference)
            if isinstance(error, ForeignAnswers):
                emit("incident", Incident("other parameters", test.grade_id, str(error)))
            if any(failure in lacking for failure in failures.values() if failure not in reported):
                emit("incident", Incident("failed", test.grade_id, lacking))
            if kernel is not None:
                inspection = inspect_kernel(kernel, judged, error, headers, missing, device)
                if reason := impossible_time(inspection, device):
                    emit("incident", Incident("impossible time", test.grade_id, reason))
                    inspection = replace(inspection, timing=None)
                emit("kernel", inspection)
            if RESTART_ADVICE in str(error):
                emit("restart", None)
                return

    emit("usage", _cpu_seconds())


def limit_memory(limit_bytes: int) -> None:
    """Limit the private memory of this process: a source can make a compiler allocate without end."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))


def limit_cpu(limit_s: int) -> None:
    """Let the system end this process after more processor time: no signal handler runs in a compiler."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + limit_s, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_student(
    student: StudentProcess, submitted: Sequence[SubmittedCell], plan: NotebookPlan
) -> tuple[tuple[PageCell, ...], Mapping[str, Any], Mapping[int, str]]:
    """Run the student's own cells.

    Returns the page, cleaned; the plain values of the answers; and why a cell did not run to its end, by its
    index.
    """
    chosen = cells_to_run(submitted, plan)
    page, failures = [], dict[int, str]()
    for index, cell in enumerate(submitted):
        outputs: tuple[Output, ...] = ()
        if index in chosen:
            run = student.run(cell.source, cell.grade_id or f"code cell {index + 1}")
            outputs = tuple(clean_outputs(run.outputs))
            if run.error:
                outputs = outputs or (error_output("NotRun", run.error),)
                failures[index] = run.error
        page.append(PageCell(cell.source, outputs))

    try:
        values = student.values(plan.answer_names)
    except (StudentProcessEnded, UsageError) as error:
        student.incidents.append(Incident(getattr(error, "kind", "crashed"), "answers", str(error)))
        values = {}
    for name, value in values.items():
        if isinstance(value, StudentFunction):
            value.text = function_text(submitted, name)
    return tuple(page), values, failures


def _tests(plan: NotebookPlan) -> Iterator[tuple[PlanCell | None, PlanCell]]:
    """Yield each test cell with the kernel cell that it follows, if no other test cell lies between them."""
    kernel = None
    for cell in plan.of_kind(SOLUTION, ANSWERS, TEST):
        if cell.kind == TEST:
            yield kernel, cell
            kernel = None
        else:
            kernel = cell if cell.kind == SOLUTION else None


def judge_cell(
    shell: RecordingShell, test: PlanCell, values: Mapping[str, Any]
) -> tuple[JudgedCell, BaseException | None]:
    """Run a test cell with the student's plain values; return its verdict and its error.

    Raises `ProblemError`: a declaration that is not usable is the teacher's mistake, and costs no points.
    """
    shell.user_ns.update(values)
    outputs, _ = shell.record(test.source)
    if isinstance(shell.error, ProblemError):
        raise shell.error
    shown = tuple(
        output for output in outputs if (output["output_type"], output.get("name")) != ("stream", "stderr")
    )
    return JudgedCell(test.grade_id, score_of(shown, test.points), test.points, shown), shell.error


def without_formula_links(output: Output) -> Output:
    """Return an output whose HTML has no macro with which MathJax makes links or sets attributes.

    Views escape the texts of a submission, but MathJax also typesets formulas in escaped text.
    """
    html = output.get("data", {}).get("text/html")
    if not isinstance(html, str) or not MATHJAX_MACRO.search(html):
        return output
    return {**output, "data": {**output["data"], "text/html": MATHJAX_MACRO.sub(r"\\ ", html)}}


def claim_difference(submitted: Sequence[SubmittedCell], judged: JudgedCell) -> Incident | None:
    """Return an incident if the saved outputs of a test cell claim more points than it earns."""
    saved = [cell.outputs for cell in submitted if cell.grade_id == judged.grade_id]
    claims = [score_of(outputs, judged.max_score) for outputs in saved if outputs is not None]
    if not claims or max(claims) <= judged.score:
        return None
    reason = (
        f"the notebook claims {max(claims):g} of {judged.max_score:g} points, the judge gives "
        f"{judged.score:g}."
    )
    return Incident("claims differ", judged.grade_id, reason)


def other_student_id(submitted: Sequence[SubmittedCell], student: str) -> tuple[Incident, ...]:
    """Return an incident if the notebook names another student id than the folder of the submission."""
    typed = typed_student_id(submitted)
    if not typed or normalized_id(typed) == normalized_id(student):
        return ()
    reason = (
        f"the notebook has the student id `{typed}`, the folder of the submission is `{student}`: its "
        "exercises had other parameters."
    )
    return (Incident("other student id", "", reason),)


def score_of(outputs: Sequence[Output], max_score: float) -> float:
    """Return the points of a test cell by nbgrader's rule.

    An error gives no points, a number as the value of the cell gives that many, and any other value all.
    """
    kinds = [output.get("output_type") for output in outputs]
    if "error" in kinds:
        return 0.0
    if "execute_result" not in kinds:
        return max_score
    try:
        value = float(outputs[kinds.index("execute_result")]["data"]["text/plain"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return max_score
    return min(max(value, 0.0), max_score) if isfinite(value) else max_score


def _cpu_seconds() -> float:
    """Return the processor time of this process and of those that it started and that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
