"""`gpulab.sweep_table`: one kernel cell at several blocks, tiles and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.views.html import View, paragraph
from gpulab.views.unfinished import keep_finished

if TYPE_CHECKING:
    from gpulab.devices.base import Device
    from gpulab.profiling.point import Point

__all__ = ["sweep_table"]


def sweep_table(
    name: str,
    blocks: Sequence[tuple[int, ...]] = (),
    tiles: Sequence[tuple[int, ...]] = (),
    sizes: Sequence[int | str] = (),
    *,
    device: Device | None = None,
    gpu: str | None = None,
) -> View:
    """Compile, check and time the text of a kernel cell in several launch configurations.

    Parameters
    ----------
    name : str
        The cell's kernel, such as "stencil.opt_1".
    blocks : sequence of tuple of int
        Blocks such as (32, 8); extents that are left out are those of the cell. If empty, the powers of two
        that are legal on the GPU.
    tiles : sequence of tuple of int
        Tiles such as (1, 2); if empty, the cell's tile.
    sizes : sequence of int or str
        Sizes such as 256 or "130x70x33"; if empty, the size at which the problem is timed.
    device : Device, optional
        An open device; the session's device if omitted.
    gpu : str, optional
        Key of a catalogue GPU: "gtx280", "t10", "gtx480", "k40", "gtx1080", "v100", "t4", "rtx3090",
        "a100", "rtx4090", "h100" or "h200", for which times are modelled. Not together with `device`.

    Returns
    -------
    View
        A table with one row for each configuration; the fastest at each size is marked. A configuration
        whose values are wrong has no time; the reason is below the table.

    Raises
    ------
    UsageError
        If no such cell has run, there is no such size or GPU, or both `device` and `gpu` are given.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.sweep_table("matmul.K6", blocks=[(64,), (128,)])  # before its cell has run
    Traceback (most recent call last):
        ...
    gpulab.errors.UsageError: Run the cell that starts with `%%cuda matmul.K6` first.
    """
    from gpulab import session
    from gpulab.notebook.tables.session_progress import progress_bar
    from gpulab.profiling.sweep import Sweep, fastest
    from gpulab.views.tables.device_choice import chosen_device
    from gpulab.views.tables.number_format import extents
    from gpulab.views.tables.point_view import points_view

    cell = session.cell(name)
    if cell is None:
        raise UsageError(f"Run the cell that starts with `%%cuda {name}` first.")
    opened = chosen_device(device, gpu)
    sweep = Sweep([cell], opened, blocks=blocks, tiles=tiles, sizes=sizes, device_name=opened.selector)
    points: list[Point] = []
    with (
        keep_finished(lambda: points_view(points, fastest(points)) if points else View()),
        progress_bar("timing") as progress,
    ):
        for point in sweep:
            points.append(point)
            progress(len(points), len(sweep), extents(point.block))

    errors = {point.error for point in points}
    if len(errors) == 1 and all(errors):  # a table would repeat one sentence in every row
        return paragraph(f"`{name}` cannot be timed: {errors.pop()}")
    return points_view(points, fastest(points))
