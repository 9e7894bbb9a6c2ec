"""Check of a kernel cell on sizes and inputs that its author has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.draws import random_generator

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Device
    from gpulab.verification.check import CheckResult

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


def recheck_cell(cell: Cell, device: Device) -> CheckResult:
    """Compile a cell, check it on new sizes and inputs, and return the result if it is correct.

    Raises `CompileError` if the source does not compile, and `WrongResult` with the reasons if a value is
    wrong, the kernel faults or races, or a requirement of its step is not met.
    """
    from gpulab.cell import KernelCell
    from gpulab.grading.checks.sizes import draw_check_inputs
    from gpulab.verification.check import check_cell

    _RECHECKED.pop(cell.name, None)
    if isinstance(cell, KernelCell):
        inputs = draw_check_inputs(cell, random_generator(cell.name))
        result = check_cell(cell, device, inputs.shapes, seed=inputs.seed, counted=inputs.counted)
    else:
        result = check_cell(cell, device)
    _RECHECKED[cell.name] = result
    if not result.correct:
        reasons = "\n".join([f"{cell.name} is not correct.", *result.reasons])
        raise WrongResult(reasons, result.verdict)
    return result
