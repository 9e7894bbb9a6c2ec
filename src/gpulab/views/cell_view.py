"""The output of a kernel cell, one function for each outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from gpulab.cell import Cell, KernelCell, PlainCell
from gpulab.errors import GpulabError, LaunchError
from gpulab.finding import Finding
from gpulab.gpus.occupancy import occupancy
from gpulab.problems import problem as problem_named
from gpulab.problems import problem_names
from gpulab.views.compile_view import warnings_view
from gpulab.views.html import View, card, disclosure, note, paragraph, stack
from gpulab.views.resource_view import resource_view
from gpulab.views.score_view import score_view
from gpulab.views.verdict_view import findings_view, printed_view, verdict_view

if TYPE_CHECKING:
    from gpulab.compiler.program import ModuleVariable, Resources
    from gpulab.devices.base import Device, Kernel
    from gpulab.verification.check import CheckResult

__all__ = ["checked_view", "failed_case_view", "kernel_view", "launch_error_view", "verdict_section"]


def checked_view(cell: Cell, result: CheckResult, device: Device) -> View:
    """Return the output of a cell that compiled and ran: verdict, warnings, printed text, resources."""
    return stack(verdict_section(cell, result), kernel_view(cell, result, device))


def verdict_section(cell: Cell, result: CheckResult) -> View:
    """Return the verdict, if the cell has a problem, the stars, the warnings, and the printed text.

    A warning is next to the verdict, because it may explain wrong values, or question right ones.
    """
    warnings = warnings_view(result.warnings)
    if result.verdict is None:
        return warnings
    shown_elsewhere = {reason for size in result.verdict.results for reason in size.reasons}
    shown_elsewhere |= {str(finding) for finding in result.findings}
    other_reasons = [reason for reason in result.reasons if reason not in shown_elsewhere]
    if result.is_stage:
        missed = note("hint", f"A requirement of {cell.name} is not satisfied yet.", other_reasons)
        verdict = stack(verdict_view(cell.name, result.verdict, cell.source), missed)
    else:
        verdict = verdict_view(cell.name, result.verdict, cell.source, other_reasons)
    score = score_view(result.score) if result.score else None
    return stack(verdict, score, warnings, printed_view(result.printed))


def kernel_view(cell: Cell, result: CheckResult, device: Device) -> View:
    """Return the resources of a kernel and, if the cell has a block, the occupancy on the device's GPU.

    For a plain cell, all its kernels, and how to use them and their variables in Python.
    """
    if isinstance(cell, PlainCell) and result.kernel is not None:
        return _plain_view(cell, result.kernel, device)
    used = _resources(cell, cell.name, result.resources, device)
    return used if result.values_correct and not result.score else disclosure("registers and occupancy", used)


def _resources(cell: Cell, name: str, resources: Resources, device: Device) -> View:
    """Return the resources of one kernel of a cell."""
    block = cell.header.block
    threads = prod(block) if block else 0
    allowed = None
    if isinstance(cell, KernelCell):
        dynamic = cell.config.problem.shared_mem(
            cell.config.variant, cell.config.timing_shape, cell.config.block, cell.config.tile
        )
        resources = replace(resources, shared_bytes=resources.shared_bytes + dynamic)
    if threads:
        allowed = occupancy(device.spec, threads, resources.registers, resources.shared_bytes)
    return resource_view(name, resources, device.spec.name, threads, allowed)


def _plain_view(cell: PlainCell, kernel: Kernel, device: Device) -> View:
    """Return the kernels of a cell of no problem: their resources and names in Python."""
    program = kernel.program
    names = program.kernel_names
    if len(names) < 2:
        calls, used = [_call(cell.name)], [_resources(cell, cell.name, kernel.resources, device)]
    else:
        calls = [_call(name) for name in names]
        used = [_resources(cell, name, program.resources_of(name), device) for name in names]
    compiled = f"✓ compiled. In Python it is {calls[0]}."
    if len(calls) > 1:
        compiled = f"✓ compiled {len(calls)} kernels. In Python they are {' and '.join(calls)}."
    if cell.header.kernel and len(names) > 1:
        compiled += f" {_call(cell.name)} is `{kernel.name}`."
    variables = [_variable(name, variable, calls[0]) for name, variable in program.variables.items()]
    return stack(*used, note("good", compiled, [*variables, *_steps_named(cell.name)]))


def _call(name: str) -> str:
    return f'gpulab.kernel("{name}")'


def _variable(name: str, variable: ModuleVariable, kernel: str) -> str:
    """Return the type of a variable, and how Python code writes it."""
    extents = "".join(f"[{extent}]" for extent in variable.shape)
    kind = "__constant__" if variable.constant else "__device__"
    return f'`{name}{extents}` ({kind}, {variable.dtype}): {kernel}.module.set_global("{name}", values)'


def _steps_named(name: str) -> list[str]:
    """Return a sentence for each step of a lab that has the name of a kernel of no problem."""
    return [
        f"This kernel was not checked. For the step of the lab, begin the cell with %%cuda {problem}.{name}."
        for problem in problem_names()
        if name in problem_named(problem).variants
    ]


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
