"""A kernel cell's text at other blocks, tiles and sizes: a table to choose a configuration from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.views.html import View, paragraph

if TYPE_CHECKING:
    from gpulab.profiling.point import Point

__all__ = ["sweep_table"]


def sweep_table(
    name: str,
    blocks: Sequence[tuple[int, ...]] = (),
    tiles: Sequence[tuple[int, ...]] = (),
    sizes: Sequence[str] = (),
) -> View:
    """The text of the kernel cell `name` ("stencil.opt_1"), compiled and timed in each configuration.

    blocks, tiles: as in the header; numbers that are left out are the header's. None: the legal powers of
    two, and the header's tile. sizes: as the problem writes them ("256", "130x70x33"); none: its timing size.

    Each configuration is checked too: one whose values are wrong has no time, and the table says why.
    Raises `UsageError` when no such cell ran, and for a size that is none.
    """
    from IPython import get_ipython

    from gpulab import session
    from gpulab.devices import open_device
    from gpulab.notebook.progress import Progress
    from gpulab.notebook.screen import screen_of
    from gpulab.profiling.sweep import Sweep, fastest
    from gpulab.views.tables.point_view import points_view

    cell = session.cell(name)
    if cell is None:
        raise UsageError(
            f"there is no kernel `{name}` to try out: run the cell that begins with `%%cuda {name}` first."
        )
    sweep = Sweep([cell], open_device(), blocks=blocks, tiles=tiles, sizes=sizes)
    points: list[Point] = []
    with Progress(screen_of(get_ipython()), "trying") as step:
        for point in sweep:
            points.append(point)
            step(len(points), len(sweep), "x".join(map(str, point.block)))
    reasons = {point.why_not for point in points}
    if len(reasons) == 1 and all(reasons):  # one sentence, not a table of dashes
        return paragraph(f"`{name}` cannot be timed yet: {reasons.pop()}")
    return points_view(points, fastest(points))
