"""The output of a kernel cell, one function for each outcome."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from gpulab.cell import Cell, PlainCell
from gpulab.errors import GpulabError, LaunchError
from gpulab.finding import Finding
from gpulab.gpus.occupancy import occupancy
from gpulab.views.compile_view import warnings_view
from gpulab.views.html import View, card, disclosure, note, paragraph, stack
from gpulab.views.resource_view import resource_view
from gpulab.views.verdict_view import findings_view, printed_view, verdict_view

if TYPE_CHECKING:
    from gpulab.devices.base import Device
    from gpulab.verification.check import CheckResult

__all__ = ["checked_view", "failed_case_view", "kernel_view", "launch_error_view", "verdict_section"]


def checked_view(cell: Cell, result: CheckResult, device: Device) -> View:
    """Return the output of a cell that compiled and ran: verdict, warnings, printed text, resources."""
    return stack(verdict_section(cell, result), kernel_view(cell, result, device))


def verdict_section(cell: Cell, result: CheckResult) -> View:
    """Return the verdict, if the cell has a problem, the warnings, and the printed text.

    A warning is next to the verdict, because it may explain wrong values, or question right ones.
    """
    warnings = warnings_view(result.warnings)
    if result.verdict is None:
        return warnings
    shown_elsewhere = {reason for size in result.verdict.results for reason in size.reasons}
    shown_elsewhere |= {str(finding) for finding in result.findings}
    other_reasons = [reason for reason in result.reasons if reason not in shown_elsewhere]
    verdict = verdict_view(cell.name, result.verdict, cell.source, other_reasons)
    return stack(verdict, warnings, printed_view(result.printed))


def kernel_view(cell: Cell, result: CheckResult, device: Device) -> View:
    """Return the resources of a kernel and, if the cell has a block, the occupancy on the device's GPU."""
    name, block, resources = cell.name, cell.header.block, result.resources
    threads = prod(block) if block else 0
    allowed = None
    if threads:
        allowed = occupancy(device.spec, threads, resources.registers, resources.shared_bytes)
    stored = None
    if isinstance(cell, PlainCell):
        stored = note("good", f'✓ compiled. In Python it is gpulab.kernel("{name}").')
    used = resource_view(name, resources, device.spec.name, threads, allowed)
    if not result.correct:
        used = disclosure("registers and occupancy", used)
    return stack(used, stored)


def launch_error_view(error: GpulabError, source: str) -> View:
    """Return the output for a launch that failed outside of verification."""
    findings = error.findings if isinstance(error, LaunchError) else []
    if [str(finding) for finding in findings] == [str(error)]:
        return card("bad", "✗ the launch failed", findings_view(findings, source))
    return card("bad", f"✗ {error}", findings_view(findings, source))


def failed_case_view(
    title: str, source: str, findings: Sequence[Finding] = (), reasons: Sequence[str] = ()
) -> View:
    """Return the output for a small kernel that is not correct: its findings, or sentences on its results."""
    return card("bad", f"✗ {title}", findings_view(findings, source), *map(paragraph, reasons))
