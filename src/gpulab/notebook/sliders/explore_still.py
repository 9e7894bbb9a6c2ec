"""The explorer's curve as a static picture: for exports, reports, saved notebooks and terminals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import floor, log10

from gpulab.notebook.sliders.explore_curve import Curve
from gpulab.notebook.sliders.explore_text import curve_table, first_line, point_view
from gpulab.problems.base import Block
from gpulab.views.html import View, disclosure, paragraph, stack
from gpulab.views.svg import SvgPen
from gpulab.views.tables.number_format import block_name, rate

__all__ = ["still_view"]

# All lengths are in pixels.
WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 60, 46, 232  # edges of the plot; block names and occupancy are below it
LABEL_WIDTH = 44  # space for a block's name
SMALL = 12.0  # font size


def still_view(curve: Curve) -> View:
    """Return the picture, the selected point as text, and a folded table of all figures."""
    candidate, selected = curve.candidate, curve.selected
    text = point_view(candidate, selected, checked=candidate.block in curve.checked) if selected else None
    if not curve.timed:
        return text or paragraph("No block of this kernel was timed yet.", dim=True)

    legend = []
    if any(p.timing and block not in curve.checked for block, p in curve.points.items() if p is not None):
        legend.append("Hollow: values not verified with that block.")
    if curve.baseline is not None:
        legend.append(f"Square: {curve.baseline.source}.")
    if left_out := len(curve.blocks) - len(curve.timed):
        legend.append(f"{left_out} of {len(curve.blocks)} blocks were not timed.")
    note = paragraph(" ".join(legend), dim=True) if legend else None
    picture = View(f'<div class="gp-scroll">{_svg(curve)}</div>', "")
    return stack(picture, text, note, disclosure("The figures", curve_table(curve.timed)))


def _svg(curve: Curve) -> str:
    pen = SvgPen()
    title = f"{curve.candidate.config.variant} by threads of a block, {curve.origin}, {curve.gpu}"
    step = (WIDTH - LEFT - RIGHT) / max(len(curve.blocks), 1)
    columns = {block: LEFT + step * (number + 0.5) for number, block in enumerate(curve.blocks)}

    pen.text(title, LEFT, 18, "ink", 14)
    _axes(pen, curve)
    _blocks(pen, curve, columns, step)
    _points(pen, curve, columns)
    return pen.element(WIDTH, HEIGHT, title)


def _row(curve: Curve, value: float) -> float:
    return BOTTOM - value / (1.12 * curve.top_rate) * (BOTTOM - TOP)


def _axes(pen: SvgPen, curve: Curve) -> None:
    for value in _ticks(1.12 * curve.top_rate):
        y = _row(curve, value)
        pen.line(LEFT, y, WIDTH - RIGHT, y, "line")
        pen.text(f"{value:,.10g}", LEFT - 6, y + 4, "dim", SMALL, "end")
        if curve.has_two_axes:
            pen.text(rate(value * curve.gb_s_per_rate), WIDTH - RIGHT + 6, y + 4, "dim", SMALL)
    pen.text(curve.unit, LEFT - 6, TOP - 10, "dim", SMALL, "end")
    if curve.has_two_axes:
        pen.text("GB/s", WIDTH - RIGHT + 6, TOP - 10, "dim", SMALL)
    pen.text("occupancy", 4, HEIGHT - 8, "dim", SMALL)


def _blocks(pen: SvgPen, curve: Curve, columns: dict[Block, float], step: float) -> None:
    """Draw each block's name, its occupancy, and a cross if it has no time."""
    labelled = max(1, round(LABEL_WIDTH / step + 0.49))  # every so many blocks have a label
    for number, (block, x) in enumerate(columns.items()):
        if number % labelled == 0:
            pen.text(block_name(block), x, BOTTOM + 18, "dim", SMALL, "middle")
        point = curve.points[block]
        if point is not None and point.timing is None:
            cross = f"M{x - 5:.1f} {BOTTOM - 5:.1f}l10 10m0-10l-10 10"
            pen.path(cross, edge="bad", width=3, title=f"no time: {first_line(point.error)}")
        if point is not None and point.occupancy is not None:
            height = 34 * point.occupancy
            left, top = x - step / 3, HEIGHT - 6 - height
            pen.path(
                f"M{left:.1f} {top:.1f}h{2 * step / 3:.1f}v{height:.1f}h-{2 * step / 3:.1f}z",
                fill="requested",
            )


def _points(pen: SvgPen, curve: Curve, columns: dict[Block, float]) -> None:
    for points, colour, dash in ((curve.modelled, "dim", "5 4"), (curve.points, "plain", "")):
        places = [
            (columns[block], _row(curve, point.rate), block)
            for block, point in points.items()
            if point is not None and point.rate is not None
        ]
        for (x1, y1, _), (x2, y2, _) in pairwise(places):
            pen.line(x1, y1, x2, y2, colour, 2, dash)
        for x, y, block in places:
            filled = block in curve.checked or points is curve.modelled
            pen.circle(x, y, 4, fill=colour if filled else "paper", edge=colour, width=2)

    for figure in curve.published:
        x, y = columns[figure.block], _row(curve, figure.rate)
        diamond = f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6z"
        pen.path(diamond, edge="hint", width=2, title=f"published: {figure.source}")
    if curve.baseline is not None:
        x, y = columns[curve.baseline.block], _row(curve, curve.baseline.rate)
        pen.path(f"M{x - 5:.1f} {y - 5:.1f}h10v10h-10z", edge="hint", width=2, title=curve.baseline.source)

    selected = curve.selected
    if selected is not None and selected.rate is not None:
        x, y = columns[selected.block], _row(curve, selected.rate)
        pen.circle(x, y, 9, edge="bad", width=2)


def _ticks(top: float) -> Iterator[float]:
    """Yield four or five round numbers from 0 to the top."""
    smallest = top / 4
    power = 10.0 ** floor(log10(smallest))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= smallest)
    yield from (step * number for number in range(int(top / step) + 1))
