"""The outcome of one kernel cell: right, wrong, not compiled, refused or stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gpulab.cell import Cell, KernelCell
from gpulab.config import KernelConfig
from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.errors import CompileError, Diagnostic, LaunchError, UnsupportedInstruction, UsageError
from gpulab.problems import Shape
from gpulab.profiling.speedup import VariantTiming, time_variant
from gpulab.verification.check import CheckResult, check_cell
from gpulab.verification.verify import Progress
from gpulab.worker_process import TIME_LIMIT_S, Worker, WorkerDied, WorkerFunction

__all__ = ["Outcome", "outcome_in_process", "outcome_of"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of checking one cell, as plain data that another process can send.

    Attributes
    ----------
    cell : Cell
        The cell.
    device : str
        The name of the device.
    result : CheckResult or None
        The check, if the cell compiled.
    diagnostics : tuple of Diagnostic
        The compiler's messages, if it did not.
    refused : str
        Why the cell cannot be checked as requested.
    stopped : str
        Why the check ended early.
    timing : VariantTiming or None
        The time of a kernel with correct values, if it was requested.
    """

    cell: Cell
    device: str
    result: CheckResult | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: str = ""
    stopped: str = ""
    timing: VariantTiming | None = None

    @property
    def correct(self) -> bool:
        return self.result is not None and self.result.correct

    @property
    def values_correct(self) -> bool:
        return self.result is not None and self.result.values_correct

    @property
    def exit_code(self) -> int:
        """The exit code of a command: 0 right, 1 wrong, 2 cannot be checked as requested."""
        return 2 if self.refused else int(not self.correct)

    @property
    def reasons(self) -> tuple[str, ...]:
        if self.result is not None:
            return self.result.reasons
        errors = tuple(str(d) for d in self.diagnostics if d.severity == "error")
        messages = errors or tuple(map(str, self.diagnostics))
        return messages or tuple(reason for reason in (self.refused, self.stopped) if reason)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; it has an `error` if the cell cannot be checked as requested."""
        header = self.cell.header
        config = header if isinstance(header, KernelConfig) else None

        data: dict[str, Any] = {
            "correct": self.correct,
            "findings": [],
            "technique": None,
            "reasons": list(self.reasons),
            "resources": None,
            "shapes": [],
        }
        if self.result is not None:
            data |= self.result.as_dict()
        if self.refused:
            data["error"] = self.refused

        return data | {
            "name": header.name,
            "problem": config.problem.name if config else None,
            "variant": config.variant if config else None,
            "block": header.block,
            "tile": header.tile,
            "device": self.device,
            "origin": self.cell.origin,
            "diagnostics": [asdict(diagnostic) for diagnostic in self.diagnostics],
            "time_ms": self.timing.timing.median_ms if self.timing else None,
            "time_provenance": self.timing.timing.provenance.as_dict() if self.timing else None,
        }


def outcome_of(
    cell: Cell,
    device: Device,
    shapes: Sequence[Shape] | None = None,
    *,
    time_at: Shape | None = None,
    timed: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Check a cell and, with `timed`, time a kernel with correct values; gpulab's errors become outcomes.

    time_at: the size to time; by default the problem's timing size.
    """
    outcome = Outcome(cell, device.name)
    try:
        result = check_cell(cell, device, shapes, progress)
        timing = _timing(cell, result, time_at) if timed and result.values_correct else None
    except CompileError as error:
        return replace(outcome, diagnostics=tuple(error.diagnostics))
    except (UsageError, UnsupportedInstruction) as error:
        return replace(outcome, refused=str(error))
    except LaunchError as error:  # of the timed launch; a check turns faults into findings
        size = " while it was timed" if timed else ""
        return replace(outcome, stopped=f"{error}{size}")
    return replace(outcome, result=result.without_device, timing=timing)


def _timing(cell: Cell, result: CheckResult, shape: Shape | None) -> VariantTiming | None:
    if result.kernel is None or not isinstance(cell, KernelCell):
        return None
    return time_variant(result.kernel, cell.config, shape=shape)


def outcome_in_process(
    cell: Cell,
    device: str | None,
    device_name: str,
    shapes: Sequence[Shape] | None = None,
    *,
    time_at: Shape | None = None,
    timed: bool = False,
    limit_s: float = TIME_LIMIT_S,
) -> Outcome:
    """Return `outcome_of` from a new process, which is killed after `limit_s` seconds.

    device: a name for `open_device`. device_name: the name for the outcome of a process that was killed.
    """
    with Worker(_checker, device, name="gpulab check") as worker:
        try:
            outcome: Outcome = worker.call(cell, shapes, time_at, timed, limit_s=limit_s)
        except WorkerDied as stopped:
            return Outcome(cell, device_name, stopped=str(stopped))
        return outcome


def _checker(device: str | None) -> WorkerFunction:
    """Return the function that checks cells in the new process."""
    opened = open_device(device)

    def check(cell: Cell, shapes: Sequence[Shape] | None, time_at: Shape | None, timed: bool) -> Outcome:
        return outcome_of(cell, opened, shapes, time_at=time_at, timed=timed)

    return check
