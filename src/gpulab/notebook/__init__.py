"""Jupyter: the `%%cuda` magic, completion and widgets. No other package imports IPython or plotly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpulab.devices.base import Device

__all__ = ["load"]


def load(ipython: Any, open_device: Callable[[], Device] | None = None) -> None:
    """Register `%%cuda` with an IPython shell, and let gpulab's errors show as short messages.

    open_device: where kernel cells run; `gpulab.device` when left out.
    """
    from gpulab.notebook import completion, failure, screen
    from gpulab.notebook.magic import CudaMagics

    ipython.register_magics(CudaMagics(ipython, open_device))
    completion.install(ipython)
    failure.install(terminal=not screen.is_notebook(ipython))
