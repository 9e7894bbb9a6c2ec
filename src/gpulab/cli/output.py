"""Output that several commands share: the outcome of a kernel cell, and usage errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.views.terminal import Bar, say

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Device
    from gpulab.problems import Shape
    from gpulab.verification.outcome import Outcome

__all__ = ["check_with_progress", "print_outcome", "print_usage_error"]


def check_with_progress(
    cell: Cell,
    device: Device,
    device_name: str | None,
    shapes: Sequence[Shape] | None = None,
    *,
    time_at: Shape | None = None,
    timed: bool = False,
) -> Outcome:
    """Check a cell, show a progress bar, and return the outcome.

    On a GPU the check runs in its own process, because a fault destroys the CUDA context.
    """
    from gpulab.verification.outcome import outcome_in_process, outcome_of

    with Bar(f"checking {cell.name}") as step:
        if device.needs_own_process:
            return outcome_in_process(cell, device_name, device.name, shapes, time_at=time_at, timed=timed)
        return outcome_of(cell, device, shapes, time_at=time_at, timed=timed, progress=step)


def print_outcome(outcome: Outcome, device: Device) -> None:
    """Print the outcome of one cell with the text that the notebook shows."""
    from gpulab.cell import KernelCell
    from gpulab.errors import CompileError
    from gpulab.views.cell_view import checked_view
    from gpulab.views.compile_view import compile_error_view

    cell = outcome.cell
    verdicts = {
        0: "right" if isinstance(cell, KernelCell) else "compiled",
        1: "a requirement is not satisfied" if outcome.values_correct else "wrong",
        2: "cannot be checked",
    }
    style = "bold green" if outcome.correct else "bold red"
    say(f"{cell.header} ({cell.origin}) on {outcome.device}: {verdicts[outcome.exit_code]}", style)

    if outcome.result is not None:
        say(checked_view(cell, outcome.result, device).text)
    elif outcome.diagnostics:
        say(compile_error_view(CompileError(outcome.diagnostics)).text)
    else:
        say("\n".join(outcome.reasons))


def print_usage_error(message: str, *, as_json: bool) -> int:
    """Print an error in one line on stderr, and as a JSON object on stdout if asked; return exit code 2."""
    line = " ".join(message.split())
    if as_json:
        data = {"correct": None, "error": line, "findings": [], "technique": None, "reasons": [line]}
        say(json.dumps(data, indent=2))
    say(f"gpulab: {line}", "red", error=True)
    return 2
