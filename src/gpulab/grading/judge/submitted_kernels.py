"""The kernels of a submission: stored in the session before the test cells run, inspected after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulab import session
from gpulab.cell import Cell, KernelCell, is_kernel_cell, parse_cell
from gpulab.devices.base import Device
from gpulab.errors import CompileError, GpulabError, HeaderError, WrongResult
from gpulab.grading.checks.draws import random_generator
from gpulab.grading.checks.recheck import last_result
from gpulab.grading.judge.missing_parts import MissingParts
from gpulab.grading.judge.plan import KERNEL, SOLUTION, NotebookPlan, PlanCell
from gpulab.grading.judge.records import JudgedCell, KernelInspection, Output
from gpulab.grading.judge.submitted import SubmittedCell, header_name
from gpulab.grading.pipeline.notebook_source import last_level_choice
from gpulab.grading.release.stub import has_stub
from gpulab.grading.similarity import same_kernel
from gpulab.notebook import level
from gpulab.notebook.magic import keep_unchecked
from gpulab.problems.requirement import MISSED_REQUIREMENT
from gpulab.profiling.baseline import MEASUREMENT_TOLERANCE, least_ms
from gpulab.profiling.speedup import VariantTiming, time_variant
from gpulab.views.cell_view import verdict_section

__all__ = ["choose_level", "evidence", "impossible_time", "inspect_kernel", "register_kernels"]


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

    Submitted versions of kernels that the instructor's notebook shows are ignored. Returns the errors of
    headers by the name that the header begins with.
    """
    for solution in _kernels(part.source for part in plan.of_kind(SOLUTION)):
        session.set_reference(solution.name, solution if isinstance(solution, KernelCell) else None)
    shown = {cell.name: cell for cell in _kernels(part.source for part in plan.of_kind(KERNEL))}
    errors: dict[str, HeaderError] = {}
    for cell in shown.values():
        keep_unchecked(cell, device)
    for part in submitted:
        if not part.is_kernel:
            continue
        text = part.source.lstrip("\n")  # IPython drops empty lines before a magic, so line 1 is the header
        try:
            cell = parse_cell(text)
        except HeaderError as wrong:
            errors[header_name(text)] = wrong
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
        keep_unchecked(replacement or cell, device)
    return errors


def evidence(part: PlanCell) -> tuple[Output, ...]:
    """Return the view of the last check of a kernel, with the picture of its wrong values."""
    name = header_name(part.source)
    cell, result = session.cell(name), last_result(name)
    if cell is None or result is None:
        return ()
    view = verdict_section(cell, result)
    data = {"text/html": view._repr_html_(), "text/plain": view.text}
    return ({"output_type": "display_data", "data": data, "metadata": {}},)


def inspect_kernel(
    part: PlanCell,
    judged: JudgedCell,
    error: BaseException | None,
    headers: Mapping[str, HeaderError],
    missing: MissingParts,
    device: Device,
) -> KernelInspection:
    """Return what the report says about a kernel, from the run of its test cell."""
    inspection = _inspection(part, judged, error, headers, missing, device)
    return replace(inspection, remark=missing.repeated_kernel(part))


def _inspection(
    part: PlanCell,
    judged: JudgedCell,
    error: BaseException | None,
    headers: Mapping[str, HeaderError],
    missing: MissingParts,
    device: Device,
) -> KernelInspection:
    name = header_name(part.source)
    cell = session.cell(name)
    if name in headers:
        return KernelInspection(name, "wrong", (str(headers[name]),))
    if cell is None:
        return KernelInspection(name, "wrong", (missing.kernel(part),))

    source = f"{cell.header}{cell.source}"
    if level.is_given(cell) and level.current_level() == 2:
        return KernelInspection(name, "given", timing=_timing(cell, device), source=source)
    if has_stub(cell.source):
        return KernelInspection(name, "not written")
    if isinstance(error, CompileError):
        return KernelInspection(name, "does not compile", diagnostics=tuple(error.diagnostics), source=source)

    result = last_result(name)
    findings = tuple(str(finding) for finding in result.findings) if result else ()
    if error is None and judged.score > 0:
        score = result.score.as_dict() if result and result.score else None
        timing = _timing(cell, device)
        return KernelInspection(name, "right", (), findings, timing=timing, source=source, score=score)

    first, *rest = str(error or "it earns no points.").splitlines()
    reasons = tuple(rest) if isinstance(error, WrongResult) and rest else (first, *rest)
    plane = result.verdict.plane if result and result.verdict else None
    missed = first.startswith(MISSED_REQUIREMENT.format(name))
    return KernelInspection(name, "wrong", reasons, findings, plane=plane, source=source, missed=missed)


def impossible_time(inspection: KernelInspection, device: Device) -> str:
    """Return a sentence if the time of a kernel is less than its GPU allows, or "".

    A kernel can hide its work in a few blocks of a large launch, which neither the model nor the check of its
    values samples.
    """
    timed = inspection.timing
    if timed is None:
        return ""
    least, time = least_ms(device.spec, timed.config.problem, timed.shape), timed.timing.median_ms
    if time >= least / MEASUREMENT_TOLERANCE:
        return ""
    return (
        f"{time:.4g} ms are less than the {least:.4g} ms that the data sheet's bandwidth and arithmetic peak "
        f"allow; the time of {inspection.name} is in no table. Read the kernel."
    )


def _timing(cell: Cell, device: Device) -> VariantTiming | None:
    """Return the time of a correct kernel; None if it belongs to no problem or cannot be timed."""
    if not isinstance(cell, KernelCell):
        return None
    result = last_result(cell.name)
    try:
        kernel = result.kernel if result and result.kernel else session.kernel(cell.name)
        return time_variant(kernel, cell.config, device=device, rng=random_generator(cell.name))
    except GpulabError:  # the verdict does not depend on the time
        return None


def _kernels(sources: Iterator[str] | Sequence[str]) -> Iterator[Cell]:
    for source in sources:
        if is_kernel_cell(source):
            yield parse_cell(source)
