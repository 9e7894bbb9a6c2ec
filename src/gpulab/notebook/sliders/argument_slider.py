"""`gpulab.argument_slider`: the memory accesses of a kernel while a slider changes one argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpulab.devices.base import Kernel
    from gpulab.views.html import View

__all__ = ["argument_slider"]


def argument_slider(
    kernel: Kernel,
    label: str,
    values: Sequence[int],
    launch: Callable[[int], tuple[Any, Any, Sequence[Any]]],
    *,
    line: int | None = None,
) -> None:
    """Show a slider and, below it, the memory accesses of a launch with the chosen value.

    Parameters
    ----------
    kernel : Kernel
        A kernel from `gpulab.kernel` or `Device.compile`.
    label : str
        The name of the argument, next to the slider.
    values : sequence of int
        The values to choose from; the second one is shown first.
    launch : callable
        Takes a value and returns the grid, the block and the arguments of the launch.
    line : int, optional
        Show only the accesses of this line of the kernel's text; the `%%cuda` line is line 1.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> read = dev.compile("__global__ void read(const float* x, float* y, int s)"
    ...                    "{ y[threadIdx.x] = x[threadIdx.x * s]; }")
    >>> x, y = dev.zeros(32 * 4), dev.zeros(32)
    >>> gpulab.argument_slider(read, "s", (1, 2, 4), lambda s: (1, 32, (x, y, s)))  # doctest: +SKIP
    """
    from IPython.display import display
    from ipywidgets import SelectionSlider

    first = values[min(1, len(values) - 1)]
    slider = SelectionSlider(options=values, value=first, description=label, continuous_update=False)
    display(slider)
    drawing = display(_accesses_view(kernel, label, first, launch, line), display_id=True)

    def update(change: Any) -> None:
        drawing.update(_accesses_view(kernel, label, change.new, launch, line))

    slider.observe(update, "value")


def _accesses_view(
    kernel: Kernel,
    label: str,
    value: int,
    launch: Callable[[int], tuple[Any, Any, Sequence[Any]]],
    line: int | None,
) -> View:
    """Return the sectors of a load request, and the drawing of a warp."""
    from gpulab.profiling.counts.counters import counters
    from gpulab.profiling.counts.metrics import IDEAL_SECTORS
    from gpulab.views.html import note, stack
    from gpulab.views.launch_view import show_counts
    from gpulab.views.tables.number_format import percentage

    grid, block, args = launch(value)
    sectors = counters(kernel, grid, block, args).sectors_per_load_request
    used = f"{label} {value}: {percentage(IDEAL_SECTORS / sectors)} of the bytes that move are used"
    summary = note("plain", f"{sectors:g} sectors per request", [used])
    return stack(summary, show_counts(kernel, grid, block, args, line=line))
