"""The check of one kernel cell, as the notebook, the terminal and the grader run it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpulab import session
from gpulab.cell import Cell, KernelCell, require_choice, unwritten_lines
from gpulab.compiler.program import Resources, name_expressions_of
from gpulab.config import KernelConfig, check_block, defines
from gpulab.devices.base import Device, Kernel
from gpulab.errors import (
    CompileError,
    GpulabError,
    KernelNotWritten,
    LaunchError,
    UnsupportedInstruction,
    UsageError,
)
from gpulab.finding import Finding
from gpulab.problems import Shape
from gpulab.problems import problem as problem_named
from gpulab.profiling.counts.cell_counts import CellCount, count_cell
from gpulab.verification.counted_launch import with_counted_launch, with_fault
from gpulab.verification.par import StarScore, score_of
from gpulab.verification.requirements import Technique, check_requirements
from gpulab.verification.timed_launch import TimedInputs, with_timed_launches
from gpulab.verification.unused_geometry import unused_geometry
from gpulab.verification.verdict import Verdict
from gpulab.verification.verify import Progress, signature_reason, verify

__all__ = [
    "CheckResult",
    "CountedInputs",
    "check_cell",
    "compile_cell",
    "load_cell",
    "preflight",
]

# The message of the assembler, and that of `compiler.build`, about too much shared memory.
TOO_MUCH_SHARED = re.compile(r"too much shared data|bytes of shared memory; the most")

FIRST_PART = 8  # of the budget of a counted launch, after which its requirements are checked


@dataclass(frozen=True)
class CountedInputs:
    """Size and seed of the launch whose memory traffic is counted."""

    shape: Shape
    seed: int


@dataclass(frozen=True)
class CheckResult:
    """The result of compiling, running and checking a cell.

    Attributes
    ----------
    correct : bool
        The values are right, the sanitizer found nothing, and the step's requirements are met. True for a
        cell of no problem.
    verdict : Verdict or None
        The comparison with the reference; None for a cell of no problem.
    resources : Resources
        The assembler's report.
    technique : Technique or None
        The requirements of the step; None if it has none or the values are wrong.
    reasons : tuple of str
        Sentences for the student; empty if the kernel is correct.
    findings : tuple of Finding
        What the sanitizer found.
    warnings : tuple of str
        Warnings of the compiler and of the sanitizer.
    kernel : Kernel or None
        The compiled kernel; None in the result of another process.
    count : CellCount or None
        The counted launch that `technique` was read from; None if nothing was counted.
    count_error : str
        Why there is no count although one was requested.
    score : StarScore or None
        The counts of a correct kernel, compared with the par of its step; None if the step has none.
    """

    correct: bool
    verdict: Verdict | None
    resources: Resources
    technique: Technique | None
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()
    kernel: Kernel | None = None
    count: CellCount | None = None
    count_error: str = ""
    score: StarScore | None = None

    @property
    def values_correct(self) -> bool:
        """True if the kernel is correct, or misses nothing but a requirement of its step."""
        return self.verdict is None or self.verdict.correct

    @property
    def is_stage(self) -> bool:
        """True for a stage on the way to an open step: nothing is missed but a requirement."""
        if self.verdict is None or self.correct or not self.values_correct:
            return False
        return problem_named(self.verdict.problem).variants[self.verdict.variant].is_open

    @property
    def without_device(self) -> CheckResult:
        """The result as plain data for another process, without kernel and counts."""
        return replace(self, kernel=None, count=None)

    @property
    def printed(self) -> str:
        """The output of the kernel's `printf` during verification."""
        return self.verdict.printed if self.verdict else ""

    def as_dict(self) -> dict[str, Any]:
        """As plain data for JSON, without pictures."""
        return {
            "correct": self.correct,
            "findings": [finding.as_dict() for finding in self.findings],
            "technique": self.technique.as_dict() if self.technique else None,
            "reasons": list(self.reasons),
            "resources": {name: getattr(self.resources, name) for name in Resources.__dataclass_fields__},
            "shapes": [result.as_dict() for result in self.verdict.results] if self.verdict else [],
            "warnings": list(self.warnings),
            "printed": self.printed,
            "seed": self.verdict.seed if self.verdict else None,
            "score": self.score.as_dict() if self.score else None,
        }


def compile_cell(cell: Cell, device: Device) -> Kernel:
    """Compile a cell for a device, with its block and tile as macros, and return its kernel.

    Raises `CompileError`, `KernelNotWritten` if parts are still to be written, and `UsageError` for a block
    or an amount of shared memory that no launch can have, for a text without the kernel that the header
    names, and for one with several kernels if the header names none.
    """
    kernel = load_cell(cell, device)
    require_choice(cell, kernel.program.kernel_names)
    return kernel


def load_cell(cell: Cell, device: Device) -> Kernel:
    """Compile a cell as `compile_cell` does; of several kernels, return the first if the header names none.

    The cell is loaded as a new module, whose variables have their initial values. The other kernels are those
    of `kernel.module`.
    """
    if lines := unwritten_lines(cell.source):
        raise KernelNotWritten(cell.name, lines)

    header, macros = cell.header, None
    if header.block is not None:
        check_block(header.block, device.spec)
        macros = defines(header.block, header.tile or (1, 1, 1))
    expressions = name_expressions_of(header.kernel)

    try:
        module = device.module(cell.source, macros, name_expressions=expressions)
        kernel = module.get_function(_kernel_name(cell, module.kernel_names))
    except CompileError as error:
        # The text is valid C but asks for more than the GPU has, as a block of too many threads does.
        excess = next((d for d in error.diagnostics if TOO_MUCH_SHARED.search(d.message)), None)
        if excess is None:
            raise
        raise UsageError(f"line {excess.line}: {excess.message}" if excess.line else excess.message) from None

    shared, most = kernel.resources.shared_bytes, device.spec.shared_bytes_per_block
    if shared > most:
        raise UsageError(
            f"the kernel declares {shared:,} bytes of shared memory; the most that can be declared is "
            f"{most:,} ({most // 1024} KB) per block of the {device.spec.name}."
        )
    return kernel


def _kernel_name(cell: Cell, names: Sequence[str]) -> str | None:
    """Return the kernel that a cell's name stands for; for a plain cell that does not say it, the first."""
    if isinstance(cell, KernelCell):
        return cell.config.kernel_name
    if cell.header.kernel:
        return cell.header.kernel
    if cell.name in names:
        return cell.name
    return next(iter(names), None)


def check_cell(
    cell: Cell,
    device: Device,
    shapes: Sequence[Shape] | None = None,
    progress: Progress | None = None,
    seed: int | None = None,
    *,
    kernel: Kernel | None = None,
    machine_counts: bool = False,
    counted: CountedInputs | None = None,
    timed: TimedInputs | None = None,
) -> CheckResult:
    """Compile a cell and, if it belongs to a problem, verify its values on the device.

    On a GPU the simulator runs first, on the problem's own sizes; see `preflight`.

    Parameters
    ----------
    cell : Cell
        The cell.
    device : Device
        Where it runs.
    shapes : sequence of tuples of int, optional
        Sizes in place of the problem's own.
    progress : callable, optional
        Called with (steps done, steps, name of the next step).
    seed : int, optional
        Seed of the inputs; by default a random one.
    kernel : Kernel, optional
        The kernel that `load_cell` returned for the cell, if it was compiled before.
    machine_counts : bool
        Count the kernel's launch even if no requirement needs it, in machine instructions.
    counted : CountedInputs, optional
        Size and seed of the launch that is counted; by default the problem's `counted_shape` and `seed`.
    timed : TimedInputs, optional
        Sizes and seed of the launches of which some blocks are checked, if a launch is counted; by default
        the size at which the variant is timed, and `seed`.

    Returns
    -------
    CheckResult
        A kernel that faults raises nothing: the result says so.

    Raises
    ------
    CompileError, UsageError
        As `compile_cell`; `UsageError` also for an impossible size.
    UnsupportedInstruction
        If the simulator cannot run the kernel.
    """
    if isinstance(cell, KernelCell) and shapes is not None:
        for shape in shapes:  # before the compiler runs, which takes longer
            cell.config.at(shape, device.spec)
    kernel = load_cell(cell, device) if kernel is None else kernel
    warnings = kernel.program.warnings + unused_geometry(cell, kernel)
    if not isinstance(cell, KernelCell):
        return CheckResult(True, None, kernel.resources, None, (), (), warnings, kernel)

    verdict = _verdict(cell.config, kernel, device, shapes, seed, progress and _before_counting(progress))
    count, count_error = None, ""
    try:
        count, count_error = _count(cell, kernel, verdict, machine_counts, counted, timed)
    except LaunchError as error:
        if not error.findings:  # the launch was refused
            raise
        verdict = with_fault(verdict, (counted or _counted_inputs(cell.config, verdict)).shape, error)

    def baseline(step: str) -> CellCount | None:
        return None if count is None else _baseline_count(cell, step, count, machine_counts)

    technique = None
    if count and count.recorded.stopped is not None:  # it misses a requirement by then
        technique, count = check_requirements(count, baseline), None
    if count and verdict.correct:
        verdict = with_counted_launch(verdict, count)
    if count and verdict.correct:
        inputs = timed or TimedInputs((cell.config.timing_shape,), verdict.seed)
        at_timed_sizes = with_timed_launches(verdict, count, inputs)
        too_long = at_timed_sizes.results[-1].too_long
        if at_timed_sizes.correct or too_long:
            technique = check_requirements(count, baseline)
        if technique is None or technique.met or not too_long:  # a requirement says why it takes too long
            verdict = at_timed_sizes
    correct = verdict.correct and (technique is None or technique.met)
    return CheckResult(
        correct,
        verdict,
        kernel.resources,
        technique,
        verdict.reasons + (() if technique is None else technique.reasons),
        verdict.findings,
        warnings + verdict.warnings + (technique.unchecked if technique else ()),
        kernel,
        count,
        count_error,
        score_of(count) if count and correct else None,
    )


def _before_counting(progress: Progress) -> Progress:
    """Return the progress callback of the verification, after which the memory traffic is one more step."""
    return lambda done, total, label: progress(done, total + 1, label or "memory traffic")


def _baseline_count(cell: KernelCell, step: str, count: CellCount, machine_counts: bool) -> CellCount | None:
    """Return the counted launch of another step's kernel: the lab's solution, or the session's cell.

    None if there is none, or it cannot run on the same size.
    """
    name = f"{cell.config.problem.name}.{step}"
    baseline = session.reference_of(name) or session.cell(name)
    failed = session.found_incorrect(name) or session.found_unfinished(name)
    if not isinstance(baseline, KernelCell) or failed:
        return None
    try:
        baseline.config.require_size(count.launch.shape)
        kernel = load_cell(baseline, count.recorded.kernel.device)
        return count_cell(baseline, kernel, shape=count.launch.shape, seed=count.seed, machine=machine_counts)
    except GpulabError:
        return None


def preflight(kernel: Kernel, config: KernelConfig, device: Device) -> Verdict | None:
    """Return what the simulator finds wrong with a kernel before a GPU runs it; None if it finds nothing.

    A GPU does not detect a read just outside an array, nor a race that happens to give the right values. It
    cannot stop a kernel that never ends, and a fault destroys its context with all arrays.
    """
    if not device.needs_own_process:
        return None
    try:
        verdict = verify(kernel.on_simulator, config)
    except UnsupportedInstruction:
        return None
    if verdict.correct:
        return None

    where = f"(found by the simulator, before the {device.name} ran it)"
    return replace(verdict, reasons=tuple(f"{reason} {where}" for reason in verdict.reasons))


def _verdict(
    config: KernelConfig,
    kernel: Kernel,
    device: Device,
    shapes: Sequence[Shape] | None,
    seed: int | None,
    progress: Progress | None,
) -> Verdict:
    reason = signature_reason(kernel, config)
    if reason:
        return Verdict(False, config.problem.name, config.variant, reasons=(reason,))
    return preflight(kernel, config, device) or verify(
        kernel, config, shapes=shapes, seed=seed, progress=progress
    )


def _count(
    cell: KernelCell,
    kernel: Kernel,
    verdict: Verdict,
    machine_counts: bool,
    counted: CountedInputs | None,
    timed: TimedInputs | None,
) -> tuple[CellCount | None, str]:
    """Count the kernel's launch if a requirement or the caller needs it, or say why that is impossible.

    Blocks of a launch that is timed run in the code of the counted launch.
    """
    step = cell.config.problem.variants[cell.config.variant]
    limited = bool(step.requirements or step.par)
    required = verdict.correct and (limited or timed is not None)
    ended = bool(verdict.results) and not any(result.fault for result in verdict.results)
    if not kernel.program.ptx or not (required or (machine_counts and ended)):
        return None, ""
    inputs = counted or _counted_inputs(cell.config, verdict)
    try:
        return _count_in_parts(cell, kernel, inputs, machine_counts), ""
    except UnsupportedInstruction as error:  # the kernel runs on a GPU only
        return None, str(error) if limited else ""
    except GpulabError as error:
        if required:
            raise
        return None, str(error)  # right or wrong on the sizes of the check; this size does not suit it


def _counted_inputs(config: KernelConfig, verdict: Verdict) -> CountedInputs:
    return CountedInputs(config.counted_shape, verdict.seed)


def _count_in_parts(cell: KernelCell, kernel: Kernel, inputs: CountedInputs, machine: bool) -> CellCount:
    """Count a launch; stop it after a part of its budget if it misses a requirement by then.

    A kernel that is far too slow, as one whose threads all do the whole work, otherwise takes minutes.
    """

    def count(part: int | None) -> CellCount:
        return count_cell(cell, kernel, shape=inputs.shape, seed=inputs.seed, machine=machine, part=part)

    first = count(FIRST_PART)
    if first.recorded.stopped is None:
        return first
    technique = check_requirements(first, lambda step: _baseline_count(cell, step, first, machine))
    if technique is not None and not technique.met:
        return first
    for memory, before in first.variables:
        memory[:] = before
    return count(None)
