"""The explorer's curve as a still picture: for an export, a report, a saved notebook, a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import floor, log10

from gpulab.notebook.explore_curve import Curve
from gpulab.notebook.explore_text import block_name, curve_table, point_view
from gpulab.views.html import View, disclosure, escape, paragraph, stack
from gpulab.views.svg import Pen
from gpulab.views.tables.point_view import rate

__all__ = ["still_view"]

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 60, 46, 232  # of the plot; below it stand the blocks and their occupancy
NARROW = 44  # pixels that the name of a block needs
PEN = Pen()


def still_view(curve: Curve) -> View:
    """The picture, the point of the handles in words, and all figures in a table that is folded away."""
    setting, now = curve.setting, curve.now
    words = point_view(setting, now, checked=setting.block in curve.checked) if now else None
    if not curve.known:
        return words or paragraph("Nothing is known of this kernel yet.", dim=True)
    hollow = any(p.timing and b not in curve.checked for b, p in curve.points.items() if p is not None)
    legend = ["Hollow: values not checked with that block."] if hollow else []
    if left_out := len(curve.blocks) - len(curve.known):
        legend.append(f"{left_out} of {len(curve.blocks)} blocks were not tried.")
    note = paragraph(" ".join(legend), dim=True) if legend else None
    drawn = View(f'<div class="gp-scroll">{"".join(_svg(curve))}</div>', "")
    return stack(drawn, words, note, disclosure("The figures", curve_table(curve.known)))


def _svg(curve: Curve) -> Iterator[str]:
    top = 1.12 * curve.top
    step = (WIDTH - LEFT - RIGHT) / max(len(curve.blocks), 1)
    xs = {block: LEFT + step * (place + 0.5) for place, block in enumerate(curve.blocks)}

    def y(gflops: float) -> float:
        return BOTTOM - gflops / top * (BOTTOM - TOP)

    title = f"{curve.setting.variant} by threads of a block, {'measured' if curve.measured else 'modelled'}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" style="max-width:100%;min-width:480px;height:auto" '
        f'aria-label="{escape(title)}, {escape(curve.gpu)}">'
    )
    yield PEN.text(f"{title}, {curve.gpu}", LEFT, 18, "ink", 14)
    for gflops in _ticks(top):
        yield PEN.line((LEFT, y(gflops), WIDTH - RIGHT, y(gflops)), "line", 1)
        yield PEN.text(rate(gflops), LEFT - 6, y(gflops) + 4, "dim", 12, "end")
        yield PEN.text(rate(gflops * curve.gb_s_by_gflops), WIDTH - RIGHT + 6, y(gflops) + 4, "dim", 12)
    yield PEN.text("GFLOPS", LEFT - 6, TOP - 10, "dim", 12, "end")
    yield PEN.text("GB/s", WIDTH - RIGHT + 6, TOP - 10, "dim", 12)
    every = max(1, round(NARROW / step + 0.49))
    for place, (block, x) in enumerate(xs.items()):
        if place % every == 0:
            yield PEN.text(block_name(block), x, BOTTOM + 18, "dim", 12, "middle")
        point = curve.points[block]
        if point is not None and point.timing is None:
            yield _cross(x, BOTTOM, point.why_not)
        if point is not None and point.occupancy is not None:
            tall = 34 * point.occupancy
            yield _rect(x - step / 3, HEIGHT - 6 - tall, 2 * step / 3, tall)
    yield PEN.text("occupancy", 4, HEIGHT - 8, "dim", 12)
    for points, colour, dash in ((curve.beside, "dim", "5 4"), (curve.points, "plain", "")):
        places = [
            (xs[block], y(point.kernel_gflops), block)
            for block, point in points.items()
            if point is not None and point.kernel_gflops is not None
        ]
        for (x1, y1, _), (x2, y2, _) in pairwise(places):
            yield PEN.line((x1, y1, x2, y2), colour, 2, dash)
        for x, height, block in places:
            whole = block in curve.checked or points is curve.beside
            yield _circle(x, height, 4, colour if whole else "paper", colour)
    for one in curve.printed:
        yield _diamond(xs[one.block], y(one.gflops), one.words)
    now = curve.now
    if now is not None and now.kernel_gflops is not None:
        yield _circle(xs[curve.setting.block], y(now.kernel_gflops), 9, "", "bad")
    yield "</svg>"


def _circle(x: float, y: float, radius: float, fill: str, edge: str) -> str:
    paint = PEN.paint(fill=fill, stroke=edge) if fill else f'fill="none" {PEN.paint(stroke=edge)}'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" stroke-width="2" {paint}/>'


def _rect(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {PEN.paint(fill="asked")}/>'
    )


def _ticks(top: float) -> Iterator[float]:
    """Round numbers from 0 to the top, four or five of them."""
    rough = top / 4
    size = 10.0 ** floor(log10(rough))
    step = next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= rough)
    yield from (step * number for number in range(int(top / step) + 1))


def _cross(x: float, y: float, words: str) -> str:
    path = f"M{x - 5:.1f} {y - 5:.1f}l10 10m0-10l-10 10"
    title = f"<title>no time: {escape(words.partition(chr(10))[0])}</title>"
    return f'<path d="{path}" fill="none" stroke-width="3" {PEN.paint(stroke="bad")}>{title}</path>'


def _diamond(x: float, y: float, words: str) -> str:
    path = f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6z"
    title = f"<title>published: {escape(words)}</title>"
    return f'<path d="{path}" fill="none" stroke-width="2" {PEN.paint(stroke="hint")}>{title}</path>'
