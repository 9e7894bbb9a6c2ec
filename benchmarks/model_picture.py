"""Modelled against known times as an SVG, both axes logarithmic; readable on white and on black."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from benchmarks.model_errors import Compared
from gpulab.views.html import escape

__all__ = ["scatter"]

SIZE, LEFT, TOP = 420, 70, 56
HUES = {"t10": "#8a63d2", "gtx280": "#d9822b", "h200": "#2f81f7"}
NAMES = {
    "t10": "Tesla T10, published (fitted)",
    "gtx280": "GTX 280, published (predicted)",
    "h200": "H200, measured (one figure fitted, on half)",
}
GREY = "#808890"


def scatter(rows: Sequence[Compared]) -> str:
    """A point for each time, with its kernel in a tooltip; the lines are 25 % off."""
    values = [value for row in rows for value in (row.known_ms, row.modelled_ms)]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))

    def at(value: float) -> float:
        return (log10(value) - low) / (high - low) * SIZE

    frame = f'viewBox="0 0 {LEFT + SIZE + 34} {TOP + SIZE + 56}"'
    style = f'font-family="sans-serif" font-size="12" fill="{GREY}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {frame} {style}>']
    parts.append("<title>Modelled time against known time</title>")
    for number, gpu in enumerate(gpu for gpu in NAMES if any(row.gpu == gpu for row in rows)):
        top = 14 + 14 * number
        parts.append(f'<circle cx="{LEFT + 8}" cy="{top - 4}" r="4" fill="{HUES[gpu]}"/>')
        parts.append(f'<text x="{LEFT + 18}" y="{top}">{escape(NAMES[gpu])}</text>')
    for power in range(low, high + 1):
        here = at(10.0**power)
        x, y = LEFT + here, TOP + SIZE - here
        parts.append(
            f'<path d="M{x:.1f} {TOP}V{TOP + SIZE}M{LEFT} {y:.1f}H{LEFT + SIZE}" stroke="{GREY}" '
            'stroke-opacity="0.35" fill="none"/>'
        )
        label = f"{10.0**power:g}"
        parts.append(f'<text x="{x:.1f}" y="{TOP + SIZE + 18}" text-anchor="middle">{label}</text>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for factor, dashes in ((1.0, ""), (1.25, "4 4"), (0.8, "4 4")):
        shift = log10(factor) / (high - low) * SIZE
        start, end = max(0.0, -shift), min(SIZE, SIZE - shift)
        parts.append(
            f'<path d="M{LEFT + start:.1f} {TOP + SIZE - start - shift:.1f}L{LEFT + end:.1f} '
            f'{TOP + SIZE - end - shift:.1f}" stroke="{GREY}" stroke-dasharray="{dashes}" fill="none"/>'
        )
    for row in rows:
        x, y = LEFT + at(row.known_ms), TOP + SIZE - at(row.modelled_ms)
        title = f"{row.label}: {row.known_ms:.4g} ms, modelled {row.modelled_ms:.4g} ms ({row.error:+.0%})"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{HUES.get(row.gpu, GREY)}" fill-opacity="0.7">'
            f"<title>{escape(title)}</title></circle>"
        )
    middle = LEFT + SIZE / 2
    parts.append(f'<text x="{middle}" y="{TOP + SIZE + 42}" text-anchor="middle">known time (ms)</text>')
    turned = f'transform="translate(16 {TOP + SIZE / 2}) rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {turned}>modelled time (ms)</text>")
    return "".join([*parts, "</svg>\n"])
