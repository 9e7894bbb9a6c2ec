"""Jupyter integration: the `%%cuda` magic, completion and widgets. Only this package imports IPython."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpulab.devices.base import Device

__all__ = ["load"]


def load(ipython: Any, open_device: Callable[[], Device] | None = None) -> None:
    """Register `%%cuda` and its completion with an IPython shell, and install displays of objects and errors.

    open_device: returns the device that kernel cells run on; None selects `gpulab.device`.
    """
    from gpulab.devices import kernel_output
    from gpulab.notebook import (
        completion,
        failure,
        kernel_text,
        launch_warnings,
        object_display,
        screen,
        stop,
        warm_up,
    )
    from gpulab.notebook.magic import CudaMagics
    from gpulab.notebook.timing_process import timing_process

    ipython.register_magics(CudaMagics(ipython, open_device))
    completion.install(ipython)
    in_notebook = screen.is_notebook(ipython)
    failure.install(terminal=not in_notebook)
    if in_notebook:
        kernel_output.most_lines = kernel_output.LINES_IN_CELL
    kernel_text.install(ipython)
    launch_warnings.install()
    object_display.install(ipython)
    stop.install(ipython)
    if screen.is_notebook(ipython) and not os.environ.get("GPULAB_GRADING"):
        warm_up.start(then=timing_process.start)
