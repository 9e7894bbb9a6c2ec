"""Displays of objects that a notebook prints: findings, counters and kernels."""

from __future__ import annotations

from gpulab.devices.base import Kernel
from gpulab.finding import Findings
from gpulab.profiling.counts.metrics import Counters
from gpulab.views import verdict_view
from gpulab.views.html import View, card, paragraph, stack, table

__all__ = ["counters_object_view", "findings_object_view", "kernel_object_view"]


def findings_object_view(findings: Findings) -> View:
    """Return the findings of a launch with their source lines, or a line that says that there are none."""
    if not findings:
        return paragraph("No errors found by memcheck, racecheck, initcheck and synccheck.")
    views = []
    for finding in findings:
        hue = "hint" if finding.severity == "warning" else "bad"
        title = f"{finding.tool}: {finding.title}"
        views.append(card(hue, title, verdict_view.findings_view([finding], findings.source)))
    return stack(*views)


def counters_object_view(counters: Counters) -> View:
    """Return the counts of a launch under Nsight Compute's names."""
    rows = [[name, f"{value:,.12g}"] for name, value in counters.metrics.items()]
    notes = [paragraph(text, dim=True) for text in counters.caveats]
    return stack(table(["metric", "value"], rows, numeric=[1], caption=str(counters.provenance)), *notes)


def kernel_object_view(kernel: Kernel) -> View:
    """Return the name, the parameters, the device and the resource usage of a kernel."""
    used = kernel.resources
    parameters = ", ".join(
        f"{p.name}: {f'{p.element} array' if p.kind == 'pointer' and p.element else p.kind}"
        for p in kernel.program.signatures.get(kernel.name, ())
    )
    rows = [
        ["parameters", parameters],
        ["device", kernel.device.name],
        ["registers per thread", str(used.registers)],
        ["shared memory per block", f"{used.shared_bytes:,} bytes"],
        ["local memory per thread", f"{used.local_bytes:,} bytes"],
    ]
    return table(["kernel", kernel.name], rows)
