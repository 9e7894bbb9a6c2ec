"""A kernel cell's outcome in the terminal: found behind a progress bar, shown in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.views.terminal import Bar, say

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Device
    from gpulab.problems import Shape
    from gpulab.verification.outcome import Outcome

__all__ = ["judged", "show"]


def judged(
    cell: Cell,
    device: Device,
    device_name: str | None,
    shapes: Sequence[Shape] | None = None,
    *,
    time_at: Shape | None = None,
    timed: bool = False,
) -> Outcome:
    """A cell's outcome, with a progress bar; on a GPU from a process of its own."""
    from gpulab.verification.outcome import outcome_in_process, outcome_of

    with Bar(f"checking {cell.header.name}") as step:
        if device.needs_own_process:
            return outcome_in_process(cell, device_name, device.name, shapes, time_at=time_at, timed=timed)
        return outcome_of(cell, device, shapes, time_at=time_at, timed=timed, progress=step)


def show(outcome: Outcome, device: Device) -> None:
    """One cell's outcome in words, as the notebook has it."""
    from gpulab.errors import CompileError
    from gpulab.views.cell_view import checked_view
    from gpulab.views.compile_view import compile_error_view

    cell = outcome.cell
    header = f"{cell.header} ({cell.origin}) on {outcome.device}"
    words = {0: "right" if cell.header.problem else "compiled", 1: "wrong", 2: "cannot be used as asked"}
    say(f"{header}: {words[outcome.exit_code]}", "bold green" if outcome.correct else "bold red")
    if outcome.result is not None:
        body = checked_view(cell, outcome.result, device).text
    elif outcome.diagnostics:
        body = compile_error_view(CompileError(outcome.diagnostics)).text
    else:
        body = "\n".join(outcome.reasons)
    say(body)
