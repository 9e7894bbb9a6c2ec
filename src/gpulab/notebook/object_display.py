"""Displays of findings, counters, profiles and kernels in a notebook, in place of their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["install"]


def install(shell: Any) -> None:
    """Register the displays with an IPython shell; the modules are imported when one is needed."""
    html = shell.display_formatter.formatters["text/html"]
    for module, name, view in (
        ("gpulab.finding", "Findings", "findings_object_view"),
        ("gpulab.profiling.counts.metrics", "Counters", "counters_object_view"),
        ("gpulab.model.profile", "Profile", "profile_object_view"),
        ("gpulab.devices.simulator.simulated_device", "SimulatedKernel", "kernel_object_view"),
        ("gpulab.devices.cuda.cuda_device", "CudaKernel", "kernel_object_view"),
    ):
        html.for_type_by_name(module, name, _display(view))


def _display(view: str) -> Callable[[Any], str]:
    def html(value: Any) -> str:
        from gpulab.views import object_views

        shown: str = getattr(object_views, view)(value)._repr_html_()
        return shown

    return html
