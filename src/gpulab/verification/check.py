"""The verdict on one kernel cell: the same for the notebook, the terminal and the grader."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from gpulab import session
from gpulab.cell import Cell, Header
from gpulab.compiler.program import Resources
from gpulab.config import check_block, defines, launch_geometry
from gpulab.devices.base import Device, Kernel
from gpulab.errors import CompileError, UnsupportedInstruction, UsageError
from gpulab.finding import Finding
from gpulab.problems import Problem, Shape, problem
from gpulab.verification.requirements import Technique, requirements_of
from gpulab.verification.verify import Progress, Verdict, signature_reason, verify

__all__ = ["CheckResult", "check_cell", "compile_cell"]

# The assembler's own words, and the compile room's for them.
TOO_MUCH_SHARED = re.compile(r"too much shared data|bytes of shared memory; the most")


@dataclass(frozen=True)
class CheckResult:
    """What is known of a cell after it was compiled and run.

    correct: whether the values are right, nothing was found, and the step's technique is there; True for a
    cell of no problem, where there is nothing to compare (`verdict` is None then).
    technique: whether the kernel makes the change its step asks for; None where the step asks for none, or
    where the values are wrong already.
    reasons: sentences for the person who wrote the kernel; empty when it is correct.
    kernel: to run it again; None where it was checked in another process.
    """

    correct: bool
    verdict: Verdict | None
    resources: Resources
    technique: Technique | None
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()
    kernel: Kernel | None = None

    @property
    def printed(self) -> str:
        """What the kernel's printf wrote while it was checked."""
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
        }


def compile_cell(cell: Cell, device: Device, *, keep: bool = True) -> Kernel:
    """Compile a cell's kernel for a device, with its block and tile as macros, and keep it by its name.

    keep: False for a text that is tried with another block or tile: the session's kernel stays what it is.

    Raises `CompileError`, or `UsageError` for a block or an amount of shared memory that no launch can
    have, and for a text without the kernel that the header names.
    """
    header = cell.header
    if keep:  # first: what fails below must not leave an older text under this name
        session.keep_cell(cell)
    macros = None
    if header.block is not None:
        check_block(header.block, device.spec)
        macros = defines(header.block, header.tile or (1, 1, 1))
    name = None
    if header.problem is not None and header.variant is not None:
        name = problem(header.problem).kernel_name(header.variant)
    try:
        kernel = device.compile(cell.source, name, macros)
    except CompileError as error:
        # Not a fault in the text but in what it asks of the GPU, as a block of too many threads is.
        asked = next((d for d in error.diagnostics if TOO_MUCH_SHARED.search(d.message)), None)
        if asked is not None:
            raise UsageError(f"line {asked.line}: {asked.message}" if asked.line else asked.message) from None
        raise
    shared, most = kernel.resources.shared_bytes, device.spec.shared_bytes_per_block
    if shared > most:
        raise UsageError(
            f"the kernel declares {shared:,} bytes of shared memory; the most that can be declared is "
            f"{most:,} ({most // 1024} KB) per block of the {device.spec.name}."
        )
    if keep:
        session.keep(header.name, kernel)
    return kernel


def check_cell(
    cell: Cell,
    device: Device,
    shapes: Sequence[Shape] | None = None,
    progress: Progress | None = None,
    seed: int | None = None,
) -> CheckResult:
    """Compile a cell and, when it belongs to a problem, verify its values on the device.

    On a GPU the simulator goes first, on the problem's own sizes: see `preflight`.

    shapes: sizes in place of the problem's own. progress: called with (steps done, steps, what is next).

    Raises what `compile_cell` raises, `UsageError` for a shape that cannot be, and
    `UnsupportedInstruction` for a kernel the simulator cannot run. A kernel that faults raises nothing:
    the result says so.
    """
    header = cell.header
    known: Problem | None = problem(header.problem) if header.problem else None
    if known and shapes is not None and header.block and header.tile:
        for shape in shapes:  # before the compiler runs: a size that cannot be is known at once
            launch_geometry(known, shape, header.block, header.tile, device.spec)
    kernel = compile_cell(cell, device)
    warnings = kernel.program.warnings
    if known is None or header.variant is None or header.block is None or header.tile is None:
        return CheckResult(True, None, kernel.resources, None, (), (), warnings, kernel)
    reason = signature_reason(kernel, known, header.variant)
    if reason:
        verdict = Verdict(False, known.name, header.variant, reasons=(reason,))
    else:
        verdict = preflight(kernel, known, header, device) or verify(
            kernel,
            known,
            header.block,
            header.tile,
            device=device,
            variant=header.variant,
            shapes=shapes,
            seed=seed,
            progress=progress,
        )
    technique = None
    if verdict.correct and kernel.program.ptx:
        with suppress(UnsupportedInstruction):  # a kernel that runs on a GPU only
            technique = requirements_of(kernel, known, header.variant, header.block, header.tile)
    met = technique is None or technique.met
    return CheckResult(
        verdict.correct and met,
        verdict,
        kernel.resources,
        technique,
        verdict.reasons + (() if technique is None else technique.reasons),
        verdict.findings,
        warnings,
        kernel,
    )


def preflight(kernel: Kernel, known: Problem, header: Header, device: Device) -> Verdict | None:
    """What the simulator finds wrong with a kernel before a GPU runs it; None when it finds nothing.

    A GPU does not see a read just outside an array or a race that its schedule happens to win, cannot
    stop a kernel that never ends, and loses its context, and all arrays with it, to a fault.
    """
    if not device.needs_own_process or header.block is None or header.tile is None or header.variant is None:
        return None
    try:
        same = kernel.on_simulator
        verdict = verify(same, known, header.block, header.tile, device=same.device, variant=header.variant)
    except UnsupportedInstruction:
        return None
    if verdict.correct:
        return None
    where = f"(found by the simulator, before the {device.name} ran it)"
    return replace(verdict, reasons=tuple(f"{reason} {where}" for reason in verdict.reasons))
