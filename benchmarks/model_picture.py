"""Scatter plot of modelled against published and measured times, on logarithmic axes.

The SVG is readable on light and on dark backgrounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from benchmarks.model_errors import TimeComparison
from gpulab.views.html import escape

__all__ = ["scatter"]

SIZE, LEFT, TOP = 420, 70, 56  # of the plot, in pixels
COLOURS = {"t10": "#8a63d2", "gtx280": "#d9822b", "h200": "#2f81f7"}
NAMES = {
    "t10": "Tesla T10, published (fitted)",
    "gtx280": "GTX 280, published (predicted)",
    "h200": "H200, measured (five figures fitted)",
}
GREY = "#808890"


def scatter(rows: Sequence[TimeComparison]) -> str:
    """Return an SVG with a point for each time. The dashed lines mark an error of 25 %."""
    values = [value for row in rows for value in (row.reference_ms, row.modelled_ms)]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))

    def position(value: float) -> float:
        return (log10(value) - low) / (high - low) * SIZE

    frame = f'viewBox="0 0 {LEFT + SIZE + 34} {TOP + SIZE + 56}"'
    style = f'font-family="sans-serif" font-size="12" fill="{GREY}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {frame} {style}>']
    parts.append("<title>Modelled time against published or measured time</title>")
    for number, gpu in enumerate(gpu for gpu in NAMES if any(row.gpu == gpu for row in rows)):
        top = 14 + 14 * number
        parts.append(f'<circle cx="{LEFT + 8}" cy="{top - 4}" r="4" fill="{COLOURS[gpu]}"/>')
        parts.append(f'<text x="{LEFT + 18}" y="{top}">{escape(NAMES[gpu])}</text>')
    for power in range(low, high + 1):
        offset = position(10.0**power)
        x, y = LEFT + offset, TOP + SIZE - offset
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
        x, y = LEFT + position(row.reference_ms), TOP + SIZE - position(row.modelled_ms)
        title = (
            f"{row.label}: {row.reference_ms:.4g} ms, modelled {row.modelled_ms:.4g} ms ({row.error:+.0%})"
        )
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS.get(row.gpu, GREY)}" fill-opacity="0.7">'
            f"<title>{escape(title)}</title></circle>"
        )
    middle = LEFT + SIZE / 2
    below = f'x="{middle}" y="{TOP + SIZE + 42}" text-anchor="middle"'
    parts.append(f"<text {below}>published or measured time (ms)</text>")
    rotated = f'transform="translate(16 {TOP + SIZE / 2}) rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {rotated}>modelled time (ms)</text>")
    return "".join([*parts, "</svg>\n"])
