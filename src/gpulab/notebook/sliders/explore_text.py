"""The text of an explorer: the selected point, tooltips, and a table of the curve."""

from __future__ import annotations

from collections.abc import Sequence

from gpulab.exploration.search_space import Candidate
from gpulab.problems.base import Block
from gpulab.profiling.point import Point
from gpulab.views.html import View, escape
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import block_name, extents, milliseconds, percentage, rate

__all__ = ["curve_table", "first_line", "point_view", "tile_name", "tooltip", "waiting_view"]


def tile_name(tile: Block) -> str:
    """Format a tile without a z extent of one or of the whole axis: 4x2."""
    return extents(tile[:2] if tile[2] in (0, 1) else tile)


def first_line(text: str) -> str:
    """Return the first line of a message."""
    return text.partition("\n")[0]


def point_view(candidate: Candidate, point: Point, *, checked: bool, modelled: Point | None = None) -> View:
    """Return a point in two lines: its figures, and what bounds it or why there is no time.

    modelled: the model's point of the same candidate, if `point` was measured.
    """
    name = _candidate_name(candidate)
    if point.timing is None:
        return _two_lines(f"{name}: no time", first_line(point.error), "bad" if point.wrong else "hint")

    figures = [
        *([f"{rate(point.kernel_gflops)} GFLOPS"] if point.flops else []),
        f"{rate(point.gb_s)} GB/s",
        f"{milliseconds(point.kernel_ms)} ms",
    ]
    if point.occupancy is not None:
        figures.append(f"occupancy {percentage(point.occupancy)}")

    sentences = []
    if modelled is not None and modelled.timing is not None:
        sentences.append(f"modelled: {milliseconds(modelled.kernel_ms)} ms")
    if explanation := point.explanation or (modelled.explanation if modelled else ""):
        sentences.append(explanation)
    sentences.append(str(point.provenance))
    if not checked:
        sentences.append("the values were not verified with this block yet")
    text = " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences)
    return _two_lines(f"{name}: {', '.join(figures)}", text, "plain")


def waiting_view(candidate: Candidate) -> View:
    """Return the line for a candidate whose point is not known yet."""
    return _two_lines(f"{_candidate_name(candidate)}: …", "", "plain")


def tooltip(point: Point) -> str:
    """Return the figures of a point, line by line, as HTML for plotly."""
    lines = [f"<b>block {block_name(point.block)}</b>"]
    if point.timing is None:
        return "<br>".join([*lines, "no time: " + escape(first_line(point.error)[:120])])
    lines += [
        *([f"{rate(point.kernel_gflops)} GFLOPS"] if point.flops else []),
        f"{rate(point.gb_s)} GB/s (compulsory bytes)",
        f"{milliseconds(point.kernel_ms)} ms",
    ]
    lines += [f"occupancy {percentage(point.occupancy)}"] if point.occupancy is not None else []
    lines += [f"bound by {point.bottleneck}"] if point.bottleneck else []
    return "<br>".join([*lines, str(point.provenance)])


def _bottleneck(point: Point) -> str | None:
    return point.bottleneck or (None if point.timing else first_line(point.error))


_COLUMNS = (
    Column("block", lambda point: block_name(point.block)),
    Column("GFLOPS", "kernel_gflops", rate, optional=True),
    Column("GB/s", "gb_s", rate),
    Column("occupancy", "occupancy", percentage),
    Column("bound by", _bottleneck),
)


def curve_table(points: Sequence[Point]) -> View:
    """Return one row for each block."""
    return table_view(_COLUMNS, points)


def _candidate_name(candidate: Candidate) -> str:
    config = candidate.config
    name = f"{config.variant}, block {block_name(config.block)}"
    if any(outputs > 1 for outputs in config.tile):
        name += f", tile {tile_name(config.tile)}"
    return f"{name}, {config.problem.format_shape(candidate.shape)}"


def _two_lines(first: str, second: str, hue: str) -> View:
    html = f'<div class="gp-note gp-{hue}"><b>{escape(first)}</b>'
    html += f"<div>{escape(second)}</div></div>" if second else "</div>"
    return View(html, "\n".join(filter(None, [first, second])))
