"""page: what a notebook shows. The only room that imports IPython and plotly, and only when asked.

The builders of HTML (`html`, `plane`, `theme`, the `*_view` modules) import neither: the grading
report is made of them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import plotly.graph_objects as go

    from gpulab.devices.base import Device
    from gpulab.notebook.html import View

__all__ = ["load", "speedup_figure", "speedup_table"]


def load(ipython: Any, open_device: Callable[[], Device] | None = None) -> None:
    """Register `%%cuda` with an IPython shell, and let gpulab's errors show as short messages.

    open_device: where kernel cells run; `gpulab.device` when left out.
    """
    from gpulab.notebook import completion, failure, screen
    from gpulab.notebook.magic import CudaMagics

    ipython.register_magics(CudaMagics(ipython, open_device))
    completion.install(ipython)
    failure.install(terminal=not screen.is_notebook(ipython))


def speedup_table(problem: str = "stencil") -> View:
    """The speed-up table of a problem's variants so far in this session."""
    from gpulab.notebook.session import speedup_table as table

    return table(problem)


def speedup_figure(problem: str = "stencil") -> go.Figure:
    """The same as a plotly figure; `UsageError` while it is empty or plotly is not installed."""
    from gpulab.notebook.figures import speedup_figure as figure
    from gpulab.notebook.session import timings

    return figure(timings(problem))
