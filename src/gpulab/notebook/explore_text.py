"""What an explorer says of a point in words, and its curve as a table."""

from __future__ import annotations

from collections.abc import Sequence

from gpulab.exploration.search_space import Setting
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block
from gpulab.profiling.point import Point
from gpulab.views.html import View, escape, stack, table
from gpulab.views.tables.number_format import milliseconds, rate

__all__ = ["block_name", "curve_table", "hover", "point_view", "tile_name", "waiting_view"]


def block_name(block: Block) -> str:
    """32, 16x16, 8x8x4: without the ones at the end."""
    x, y, z = block
    return f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else f"{x}"


def tile_name(tile: Block) -> str:
    """4x2: outputs of a thread along x and y, and along z where that is neither one nor the whole axis."""
    x, y, z = tile
    return f"{x}x{y}" if z in (0, 1) else f"{x}x{y}x{z}"


def point_view(setting: Setting, point: Point, *, checked: bool, beside: Point | None = None) -> View:
    """The point in two lines: its figures, and what bounds it or why there is no time.

    beside: the same as the model has it, of a point that was measured.
    """
    what = _where(setting)
    if point.timing is None:
        why = point.error.partition("\n")[0]
        return _lines(f"{what}: no time", why, hue="bad" if point.wrong else "hint")
    figures = (
        f"{rate(point.kernel_gflops)} GFLOPS, {rate(point.gb_s)} GB/s, {milliseconds(point.kernel_ms)} ms"
    )
    if point.occupancy is not None:
        figures += f", occupancy {point.occupancy:.0%}"
    words = point.explanation or (beside.explanation if beside else "")
    said = f"{words[:1].upper()}{words[1:]}. " if words else ""
    if beside is not None and beside.timing is not None:
        said = f"The model has {milliseconds(beside.kernel_ms)} ms. {said}"
    said += f"{str(point.provenance)[:1].upper()}{str(point.provenance)[1:]}."
    if not checked:
        said += " Its values were not checked with this block yet."
    return _lines(f"{what}: {figures}", said, hue="plain")


def waiting_view(setting: Setting) -> View:
    """While nothing is known of the point yet."""
    return _lines(f"{_where(setting)}: …", "", hue="plain")


def hover(point: Point) -> str:
    """The figures of a point, line by line, for plotly."""
    lines = [f"<b>block {block_name(point.block)}</b>"]
    if point.timing is None:
        return "<br>".join([*lines, "no time: " + escape(point.error.partition("\n")[0][:120])])
    lines += [f"{rate(point.kernel_gflops)} GFLOPS", f"{rate(point.gb_s)} GB/s of bytes nobody can avoid"]
    lines += [f"{milliseconds(point.kernel_ms)} ms"]
    lines += [f"occupancy {point.occupancy:.0%}"] if point.occupancy is not None else []
    lines += [f"bound by {point.bottleneck}"] if point.bottleneck else []
    return "<br>".join([*lines, str(point.provenance)])


def curve_table(points: Sequence[Point]) -> View:
    """A line for every block."""
    rows = [
        [
            block_name(point.block),
            rate(point.kernel_gflops),
            rate(point.gb_s),
            "-" if point.occupancy is None else f"{point.occupancy:.0%}",
            point.bottleneck or ("-" if point.timing else point.error.partition("\n")[0]),
        ]
        for point in points
    ]
    headers = ["block", "GFLOPS", "GB/s", "occupancy", "bound by"]
    return table(headers, rows, numeric=(1, 2, 3))


def _where(setting: Setting) -> str:
    known = problem_named(setting.problem)
    words = f"{setting.variant}, block {block_name(setting.block)}"
    if any(number > 1 for number in setting.tile):
        words += f", tile {tile_name(setting.tile)}"
    return f"{words}, {known.format_shape(setting.shape)}"


def _lines(first: str, second: str, hue: str) -> View:
    html = f'<div class="gp-note gp-{hue}"><b>{escape(first)}</b>'
    html += f"<div>{escape(second)}</div></div>" if second else "</div>"
    return stack(View(html, "\n".join(filter(None, [first, second]))))
