"""Check of a kernel cell on sizes and inputs that its author has not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.draws import random_generator
from gpulab.problems.requirement import MISSED_REQUIREMENT

if TYPE_CHECKING:
    from gpulab.cell import Cell, KernelCell
    from gpulab.devices.base import Device, Kernel
    from gpulab.verification.check import CheckResult
    from gpulab.verification.timed_launch import TimedInputs

__all__ = ["last_cell", "last_result", "recheck_cell"]

_RECHECKED: dict[str, CheckResult] = {}  # by the name of the kernel


def last_cell(name: str) -> Cell:
    """Return the kernel cell that ran last under this name, also if it did not compile.

    Raises `UsageError` if none has run.
    """
    from gpulab import session

    cell = session.cell(name)
    if cell is None:
        raise UsageError(
            f"no kernel `{name}` has run in this session: run the cell that begins with `%%cuda {name}`, and "
            "after a restart all cells above it."
        )
    return cell


def last_result(name: str) -> CheckResult | None:
    """Return the result of the last check of this kernel; None if it did not compile or was not checked."""
    return _RECHECKED.get(name)


def recheck_cell(cell: Cell, device: Device, *, whole_launch: bool = False) -> CheckResult:
    """Compile a cell, check it on new sizes and inputs, show warnings, and return the result if correct.

    whole_launch: on a GPU, also compare a whole launch of the size that is timed. Elsewhere, only a sample of
    its blocks is compared (see `gpulab.verification.timed_launch`).

    Raises `CompileError` if the source does not compile, and `WrongResult` with the reasons if a value is
    wrong, the kernel faults or races, or a requirement of its step is not met.
    """
    from gpulab.cell import KernelCell
    from gpulab.devices.device_process import run_in_process
    from gpulab.grading.checks.sizes import draw_check_inputs
    from gpulab.notebook.screen import show
    from gpulab.verification.check import check_cell
    from gpulab.views.compile_view import warnings_view

    _RECHECKED.pop(cell.name, None)
    if isinstance(cell, KernelCell):
        inputs = draw_check_inputs(cell, random_generator(cell.name))
        result = check_cell(
            cell, device, inputs.shapes, seed=inputs.seed, counted=inputs.counted, timed=inputs.timed
        )
        if whole_launch and device.measures_time and result.kernel is not None and result.correct:
            mismatch = run_in_process(
                device, _whole_launch_mismatch, cell, result.kernel, device, inputs.timed
            )
            result = replace(result, correct=not mismatch, reasons=(mismatch,) if mismatch else ())
    else:
        result = check_cell(cell, device)
    _RECHECKED[cell.name] = result
    if result.warnings:
        show(warnings_view(result.warnings))
    if result.technique is not None and result.technique.unchecked:
        raise UsageError(" ".join(result.technique.unchecked))
    if not result.correct:
        missed = result.technique is not None and not result.technique.met
        headline = MISSED_REQUIREMENT.format(cell.name) if missed else f"{cell.name} is not correct"
        raise WrongResult("\n".join([f"{headline}.", *result.reasons]), result.verdict)
    return result


def _whole_launch_mismatch(cell: KernelCell, kernel: Kernel, device: Device, inputs: TimedInputs) -> str:
    """Run a whole launch of a timed size; return a sentence about a wrong value, empty if there is none."""
    from gpulab.profiling.checked_launches import CheckedLaunches

    launch = cell.config.at(inputs.shapes[0], device.spec)
    checked = CheckedLaunches(device, launch, np.random.default_rng(inputs.seed))
    with checked.launch_of(kernel) as launch_kernel:
        launch_kernel()
        device.synchronize()
    return checked.mismatch
