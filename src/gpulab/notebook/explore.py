"""`gpulab.explore`: sliders for block, tile, size and GPU against GFLOPS, GB/s and occupancy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.problems import problem as problem_named
from gpulab.views.html import View, paragraph, stack

if TYPE_CHECKING:
    from gpulab.cell import KernelCell
    from gpulab.devices.base import Device
    from gpulab.exploration.search_space import Setting
    from gpulab.notebook.explorer import Explorer
    from gpulab.problems.base import Problem

__all__ = ["explore"]

STILL_POINTS = 4  # blocks that are tried where nobody can move a slider
_open: dict[str, Explorer] = {}


def explore(problem: str = "stencil") -> Explorer | View:
    """Sliders over this session's right kernels of a problem.

    Handles for the kernel, its block (legal ones only), its tile, the problem's size and the GPU; a curve of
    GFLOPS, GB/s and occupancy over all blocks, which fills while nothing else is to be done; what bounds the
    point where the handles stand, in words; and figures of the course documents, where one was printed for
    this kernel, tile, size and GPU.

    On a CUDA GPU its times are measured, in a process of their own, and the model's stand beside them. All
    others are modelled, and say so. A point whose values were not checked with its block yet is hollow.

    Where no sliders can be (an export, a report, a terminal) it is a still picture of the same data, with
    the block of the cell and some others.

    Raises `UsageError` for a problem that is not there, and where ipywidgets or plotly is not installed.
    """
    from gpulab.devices import open_device

    known = problem_named(problem)
    device = open_device()
    cells = _right_cells(known)
    if known.name in _open:
        _open.pop(known.name).end()
    if not cells:
        return paragraph(
            f"There is no right kernel of {known.name} to explore yet: run a %%cuda {known.name} cell above "
            "until it is green, then this cell again."
        )
    if not _somebody_is_there():
        return _still(cells, device)
    try:
        from gpulab.notebook.explorer import Explorer
    except ImportError:
        raise UsageError(
            "sliders need ipywidgets, plotly and anywidget: pip install 'gpulab[lab]'."
        ) from None
    explorer = Explorer(cells, device, cells_now=lambda: _right_cells(known), call=_in_main_thread())
    _open[known.name] = explorer
    return explorer


def _right_cells(known: Problem) -> dict[str, KernelCell]:
    """The cells of this session whose kernel was right, in the order of the ladder."""
    from gpulab import session
    from gpulab.cell import KernelCell
    from gpulab.notebook import session_timings

    right = session_timings.timings(known.name).timings
    cells = {variant: session.cell(f"{known.name}.{variant}") for variant in known.variants}
    return {v: cell for v, cell in cells.items() if isinstance(cell, KernelCell) and v in right}


def _somebody_is_there() -> bool:
    """Whether a person is at the other end: who runs a notebook from top to bottom answers no questions."""
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    return bool(kernel is not None and getattr(kernel, "_allow_stdin", False))


def _in_main_thread() -> Callable[[Callable[[], None]], None]:
    """Calls a function on the kernel's own thread, which is the one that talks to the page."""
    loop = asyncio.get_event_loop()

    def call(work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the kernel ends
            loop.call_soon_threadsafe(work)

    return call


def _still(cells: dict[str, KernelCell], device: Device) -> View:
    """The last kernel of the ladder, at its own block and at those nearest to it.

    Its cell checked its values with its own block; the others' are not checked, which takes longer than all
    the rest: nobody chooses a block here.
    """
    from gpulab.exploration.search_space import neighbours
    from gpulab.notebook.explore_curve import curve_of
    from gpulab.notebook.explore_still import still_view
    from gpulab.profiling.bench import Bench

    setting = start(list(cells.values())[-1], device)
    wanted = neighbours(setting, device.spec, setting.block)[:STILL_POINTS]
    with Bench(device, setting.device, check=False) as bench:
        points = {one: bench.point(one.cell, one.shape) for one in wanted}
    curve = curve_of(setting, device.spec, setting.block, points, {setting})
    ask = paragraph("In JupyterLab and Notebook 7 this has sliders: run the cell there.", dim=True)
    return stack(still_view(curve), ask)


def start(cell: KernelCell, device: Device) -> Setting:
    """Where the handles stand at first: the cell's own block and tile, the problem's timing size."""
    from gpulab.exploration.search_space import Setting

    return Setting(cell, cell.config.problem.timing_size, device_name(device))


def device_name(device: Device) -> str:
    """The device as `open_device` takes it."""
    return "cuda" if device.measures_time else f"sim:{device.spec.key}"


def gpus(device: Device) -> Sequence[tuple[str, str]]:
    """(words, device) for each GPU that can be chosen: what the session runs on first, then the catalogue."""
    from gpulab.gpus.catalogue import gpu, names

    own = device_name(device)
    first = [(f"{device.spec.name}, measured", own)] if device.measures_time else []
    modelled = ", modelled" if first else ""
    catalogue = [(gpu(key), f"sim:{key}") for key in names()]
    rest = [
        (spec.name + modelled + ("" if spec.calibrated else ", uncalibrated"), key) for spec, key in catalogue
    ]
    return [*first, *sorted(rest, key=lambda one: one[1] != own)]
