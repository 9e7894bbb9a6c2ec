"""`gpulab.explore`: sliders for block, tile, size and GPU, and a curve of performance by block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.installation import install_command
from gpulab.notebook.session_timings import speedup_table
from gpulab.session import chosen_problem
from gpulab.views.html import View, paragraph, stack

if TYPE_CHECKING:
    from gpulab.cell import KernelCell
    from gpulab.devices.base import Device
    from gpulab.notebook.sliders.explorer import Explorer
    from gpulab.problems.base import Problem

__all__ = ["explore"]

STILL_POINTS = 4  # blocks that are timed for a static picture
_open: dict[str, Explorer] = {}


def explore(problem: str = "") -> Explorer | View:
    """Show sliders over this session's correct kernels of a problem.

    The figure shows GFLOPS, GB/s and occupancy of a kernel for each block; the points are computed in the
    background. The text below it names the bottleneck of the selected point. Diamonds are published figures
    of the same kernel, tile, size and GPU; the square is the baseline that ships with gpulab. A point is
    hollow until the kernel's values have been verified with its block.

    On a CUDA GPU its times are measured, and modelled times are drawn for comparison. For every other GPU
    times are modelled.

    Parameters
    ----------
    problem : str
        Name of the problem. If omitted, that of the kernel cell that ran last.

    Returns
    -------
    Explorer or View
        The sliders. In an export, a report or a terminal, a static picture of the cell's block and some
        others; without a correct kernel, a line of text and the baseline that ships with gpulab.

    Raises
    ------
    UsageError
        If there is no such problem, or ipywidgets or plotly is not installed.

    Notes
    -----
    The sliders offer these values:

    - kernel: the correct kernels of this session;
    - block: blocks whose extents are powers of two, in the shape of the kernel's usual block, as far as the
      GPU allows them and they fit the size; also the block of the cell's header;
    - tile: 1, 2, 4 or 8 output points on each axis on which the header's tile has more than one and the text
      uses its macro (`TILE_X`, `TILE_Y`, `TILE_Z`), at most 16 in total; also the tile of the header;
    - size: the size at which the problem is timed, and 1/2, 1/4, 1/8 and 1/16 of each extent;
    - GPU: the session's CUDA GPU, if there is one, and all GPUs of `gpulab.catalogue_table`.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.explore("matmul")
    No kernel of matmul was correct in this session yet. Run a cell that begins with `%%cuda matmul.Ks`.
    variant  before (ms) ...
    """
    from gpulab.devices import open_device

    chosen = chosen_problem(problem)
    device = open_device()
    cells = _correct_cells(chosen)
    if chosen.name in _open:
        _open.pop(chosen.name).end()
    if not cells:
        hint = paragraph(
            f"No kernel of {chosen.name} was correct in this session yet. Run a cell that begins with "
            f"`%%cuda {chosen.name}.{next(iter(chosen.variants))}`."
        )
        return stack(hint, speedup_table(chosen.name))
    if not _is_interactive():
        return _static_picture(cells, device)

    try:
        from gpulab.notebook.sliders.explorer import Explorer
    except ImportError:
        raise UsageError(f"sliders need ipywidgets, plotly and anywidget: {install_command('lab')}") from None
    explorer = Explorer(cells, device, current_cells=lambda: _correct_cells(chosen), call=_on_main_thread())
    _open[chosen.name] = explorer
    return explorer


def _correct_cells(problem: Problem) -> dict[str, KernelCell]:
    """Return the session's cells whose kernel was correct, in the order of the versions."""
    from gpulab import session
    from gpulab.cell import KernelCell
    from gpulab.notebook import session_timings

    timed = session_timings.timings(problem.name).timings
    cells = {variant: session.cell(f"{problem.name}.{variant}") for variant in problem.variants}
    return {v: cell for v, cell in cells.items() if isinstance(cell, KernelCell) and v in timed}


def _is_interactive() -> bool:
    """Return True if a user can move sliders: a run of a whole notebook does not allow input."""
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    return bool(kernel is not None and getattr(kernel, "_allow_stdin", False))


def _on_main_thread() -> Callable[[Callable[[], None]], None]:
    """Return a function that calls another one on the kernel's main thread, which serves the page."""
    loop = asyncio.get_event_loop()

    def call(work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed, because the kernel is ending
            loop.call_soon_threadsafe(work)

    return call


def _static_picture(cells: dict[str, KernelCell], device: Device) -> View:
    """Return a picture of the last version, at the cell's own block and its nearest neighbours.

    The values are verified with the cell's own block only. Verification of the others would take longer
    than everything else, and no other block can be selected here.
    """
    from gpulab.exploration.search_space import first_candidate, neighbours
    from gpulab.notebook.sliders.explore_curve import curve_of
    from gpulab.notebook.sliders.explore_still import still_view
    from gpulab.profiling.bench import Bench

    candidate = first_candidate(list(cells.values())[-1], device)
    shown = neighbours(candidate, device.spec, candidate.block)[:STILL_POINTS]
    with Bench(device, candidate.device, check=False) as bench:
        points = {each: bench.point(each.cell, each.shape) for each in shown}
    curve = curve_of(candidate, device.spec, candidate.block, points, {candidate})
    hint = paragraph("JupyterLab and Notebook 7 show sliders here: run the cell there.", dim=True)
    return stack(still_view(curve), hint)
