"""What is shown under a kernel cell: one function for each thing that can have happened to it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from gpulab.cell import Cell, PlainCell
from gpulab.errors import GpulabError, LaunchError
from gpulab.gpus.occupancy import occupancy
from gpulab.views.compile_view import warnings_view
from gpulab.views.html import View, note, stack
from gpulab.views.resource_view import resource_view
from gpulab.views.verdict_view import findings_view, printed_view, verdict_view

if TYPE_CHECKING:
    from gpulab.devices.base import Device
    from gpulab.verification.check import CheckResult

__all__ = ["checked_view", "judged_view", "kernel_view", "launch_error_view"]


def checked_view(cell: Cell, result: CheckResult, device: Device) -> View:
    """A cell that compiled and ran: verdict, what it printed, resources, warnings."""
    return stack(judged_view(cell, result), kernel_view(cell, result, device))


def judged_view(cell: Cell, result: CheckResult) -> View:
    """The verdict with its findings, and what the kernel printed; nothing for a cell of no problem."""
    if result.verdict is None:
        return View()
    of_sizes = {reason for each in result.verdict.results for reason in each.reasons}
    of_sizes |= {str(finding) for finding in result.findings}  # which have boxes of their own
    others = [reason for reason in result.reasons if reason not in of_sizes]
    verdict = verdict_view(cell.name, result.verdict, cell.source, others)
    return stack(verdict, printed_view(result.printed))


def kernel_view(cell: Cell, result: CheckResult, device: Device) -> View:
    """A kernel by its resources; with a block, also what they allow on the device's GPU."""
    name, block, resources = cell.name, cell.header.block, result.resources
    threads = prod(block) if block else 0
    room = occupancy(device.spec, threads, resources.registers, resources.shared_bytes) if threads else None
    kept = None
    if isinstance(cell, PlainCell):
        kept = note("good", f'✓ compiled; Python finds it as gpulab.kernel("{name}").')
    return stack(
        resource_view(name, resources, device.spec.name, threads, room), warnings_view(result.warnings), kept
    )


def launch_error_view(error: GpulabError, source: str) -> View:
    """A launch that failed outside of verification."""
    findings = error.findings if isinstance(error, LaunchError) else []
    return stack(note("bad", f"✗ {error}"), findings_view(findings, source))
