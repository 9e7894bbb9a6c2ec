"""The judge process: it runs the instructor's test cells on the texts and plain values of one submission."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from gpulab import session
from gpulab.cell import Cell, KernelCell, is_kernel_cell, parse_cell
from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.devices.cuda_errors import RESTART_ADVICE
from gpulab.errors import CompileError, GpulabError, HeaderError, UsageError, WrongResult
from gpulab.grading.checks import draws
from gpulab.grading.checks.recheck import last_result
from gpulab.grading.checks.reference import set_reference
from gpulab.grading.judge.plan import ANSWERS, KERNEL, SETUP, SOLUTION, TEST, NotebookPlan, PlanCell
from gpulab.grading.judge.records import (
    Incident,
    JudgedCell,
    JudgedSubmission,
    JudgeTask,
    KernelInspection,
    Output,
    PageCell,
    not_run_output,
)
from gpulab.grading.judge.student_client import StudentFunction, StudentProcess, StudentProcessEnded
from gpulab.grading.judge.student_start import student_starter
from gpulab.grading.judge.submitted import (
    SubmittedCell,
    cells_to_run,
    function_text,
    leaderboard_name,
    read_submission,
)
from gpulab.grading.pipeline.notebook_source import last_level_choice
from gpulab.grading.release.stub import is_untouched
from gpulab.grading.sandbox.safe_text import MATHJAX_MACRO
from gpulab.grading.similarity import same_kernel
from gpulab.notebook import failure, level
from gpulab.notebook.recording_shell import RecordingShell, open_shell
from gpulab.profiling.speedup import VariantTiming, time_variant
from gpulab.views.cell_view import verdict_section

__all__ = ["judge_notebook", "score_of"]

Emit = Callable[[str, Any], None]


def judge_notebook(task: JudgeTask, skipped: frozenset[str], emit: Emit) -> None:
    """Judge a submission and emit the results as they come.

    Parameters
    ----------
    task : JudgeTask
        The submission, and what the instructor's notebook grades.
    skipped : frozenset of str
        Test cells that an earlier process has judged, or that ended it.
    emit : callable
        Takes ("submission", JudgedSubmission without cells) once; for each test cell ("begin", its name),
        ("cell", JudgedCell), ("incident", Incident) if there is one, and ("kernel", KernelInspection) if it
        checks a kernel; ("restart", None) if this process lost the GPU; and ("usage", seconds of processor
        time) at the end.
    """
    draws.use_secret(task.secret)
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
        page, values = run_student(student, submitted, task.plan)
        emit(
            "submission",
            replace(
                empty,
                page=page,
                incidents=tuple(student.incidents),
                device=device.name,
                kind=device.kind,
                level=chosen,
                leaderboard=leaderboard_name(submitted),
            ),
        )
        for cell in task.plan.of_kind(SETUP):
            shell.record(cell.source)
        for kernel, test in _tests(task.plan):
            if test.grade_id in skipped:
                continue
            emit("begin", test.grade_id)
            judged, error = judge_cell(shell, test, values)
            if kernel is not None:
                judged = replace(judged, outputs=(*evidence(kernel), *judged.outputs))
            judged = replace(judged, outputs=tuple(map(without_formula_links, judged.outputs)))
            emit("cell", judged)
            if difference := claim_difference(submitted, judged):
                emit("incident", difference)
            if kernel is not None:
                emit("kernel", inspect(kernel, judged, error, headers, device))
            if RESTART_ADVICE in str(error):
                emit("restart", None)
                return
    emit("usage", _cpu_seconds())


def choose_level(submitted: Sequence[SubmittedCell], plan: NotebookPlan) -> int | None:
    """Choose the level that the notebook's source names, with the instructor's given kernels."""
    choice = last_level_choice(cell.source for cell in submitted if not cell.is_kernel)
    number = choice.level if choice else None
    given = {name: replace(parse_cell(text), origin=name) for name, text in plan.given.items()}
    level.set_level(2 if number == 2 else 1, given if number == 2 else {})
    return number


def register_kernels(
    submitted: Sequence[SubmittedCell], plan: NotebookPlan, device: Device
) -> dict[str, HeaderError]:
    """Store the kernels of the notebook in the session; of several cells with one name the last counts.

    Kernels that the instructor's notebook shows are the instructor's. Returns the errors of headers by the
    name that the header begins with.
    """
    for solution in _kernels(part.source for part in plan.of_kind(SOLUTION)):
        set_reference(solution.name, solution if isinstance(solution, KernelCell) else None)
    shown = {cell.name: cell for cell in _kernels(part.source for part in plan.of_kind(KERNEL))}
    errors: dict[str, HeaderError] = {}
    for cell in shown.values():
        _keep(cell, device)
    for part in submitted:
        if not part.is_kernel:
            continue
        text = part.source.lstrip("\n")  # IPython drops empty lines before a magic, so line 1 is the header
        try:
            cell = parse_cell(text)
        except HeaderError as wrong:
            errors[_first_name(text)] = wrong
            continue
        errors.pop(cell.name, None)
        if cell.name in shown:
            continue

        replacement = level.given_replacement(cell)
        if replacement is not None:
            level.record_given(replacement)
        elif cell.name in plan.given and same_kernel(cell.source, plan.given[cell.name]):
            cell = replace(cell, origin="but for names and layout")
            level.record_given(cell)
        _keep(replacement or cell, device)
    return errors


def _keep(cell: Cell, device: Device) -> None:
    from gpulab.notebook.magic import keep_unchecked

    keep_unchecked(cell, device)


def _kernels(sources: Iterator[str] | Sequence[str]) -> Iterator[Cell]:
    for source in sources:
        if is_kernel_cell(source):
            yield parse_cell(source)


def _first_name(text: str) -> str:
    words = text.split(maxsplit=2)
    return words[1] if len(words) > 1 else "?"


def run_student(
    student: StudentProcess, submitted: Sequence[SubmittedCell], plan: NotebookPlan
) -> tuple[tuple[PageCell, ...], Mapping[str, Any]]:
    """Run the student's own cells; return the page and the plain values of the answers."""
    chosen = cells_to_run(submitted, plan)
    page = []
    for index, cell in enumerate(submitted):
        outputs: tuple[Output, ...] = ()
        if index in chosen:
            run = student.run(cell.source, cell.grade_id or f"code cell {index + 1}")
            outputs = tuple(run.outputs)
            if run.error:
                outputs = (not_run_output(run.error),)
        page.append(PageCell(cell.source, outputs))

    try:
        values = student.values(plan.answer_names)
    except (StudentProcessEnded, UsageError) as error:
        student.incidents.append(Incident(getattr(error, "kind", "crashed"), "answers", str(error)))
        values = {}
    for name, value in values.items():
        if isinstance(value, StudentFunction):
            value.text = function_text(submitted, name)
    return tuple(page), values


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
    """Run a test cell with the student's plain values; return its verdict and its error."""
    shell.user_ns.update(values)
    outputs, _ = shell.record(test.source)
    shown = tuple(
        output for output in outputs if (output["output_type"], output.get("name")) != ("stream", "stderr")
    )
    return JudgedCell(test.grade_id, score_of(shown, test.points), test.points, shown), shell.error


def evidence(part: PlanCell) -> tuple[Output, ...]:
    """Return the view of the last check of a kernel, with the picture of its wrong values."""
    name = _first_name(part.source)
    cell, result = session.cell(name), last_result(name)
    if cell is None or result is None:
        return ()
    view = verdict_section(cell, result)
    data = {"text/html": view._repr_html_(), "text/plain": view.text}
    return ({"output_type": "display_data", "data": data, "metadata": {}},)


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


def score_of(outputs: Sequence[Output], max_score: float) -> float:
    """Return the points of a test cell by nbgrader's rule.

    An error gives none, a number as the value of the cell gives that many, and anything else all.
    """
    kinds = [output.get("output_type") for output in outputs]
    if "error" in kinds:
        return 0.0
    if "execute_result" not in kinds:
        return max_score
    try:
        value = float(outputs[kinds.index("execute_result")]["data"]["text/plain"])
    except (KeyError, TypeError, ValueError):
        return max_score
    return min(max(value, 0.0), max_score) if isfinite(value) else max_score


def inspect(
    part: PlanCell,
    judged: JudgedCell,
    error: BaseException | None,
    headers: Mapping[str, HeaderError],
    device: Device,
) -> KernelInspection:
    """Return what the report says about a kernel, from the run of its test cell."""
    name = _first_name(part.source)
    cell = session.cell(name)
    if name in headers:
        return KernelInspection(name, "wrong", (str(headers[name]),))
    if cell is None:
        return KernelInspection(name, "not written")

    source = f"{cell.header}{cell.source}"
    if level.is_given(cell) and level.current_level() == 2:
        return KernelInspection(name, "given", timing=_timing(cell, device), source=source)
    if is_untouched(cell.source):
        return KernelInspection(name, "not written")
    if isinstance(error, CompileError):
        return KernelInspection(name, "does not compile", diagnostics=tuple(error.diagnostics), source=source)

    result = last_result(name)
    findings = tuple(str(finding) for finding in result.findings) if result else ()
    if error is None and judged.score > 0:
        return KernelInspection(name, "right", (), findings, timing=_timing(cell, device), source=source)

    first, *rest = str(error or "it earns no points.").splitlines()
    reasons = tuple(rest) if isinstance(error, WrongResult) and rest else (first, *rest)
    plane = result.verdict.plane if result and result.verdict else None
    return KernelInspection(name, "wrong", reasons, findings, plane=plane, source=source)


def _timing(cell: Cell, device: Device) -> VariantTiming | None:
    """Return the time of a correct kernel; None if it belongs to no problem or cannot be timed."""
    if not isinstance(cell, KernelCell):
        return None
    result = last_result(cell.name)
    try:
        kernel = result.kernel if result and result.kernel else session.kernel(cell.name)
        return time_variant(kernel, cell.config, device=device)
    except GpulabError:  # the verdict stands without a time
        return None


def _cpu_seconds() -> float:
    """Return the processor time of this process and of those that it started and that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
