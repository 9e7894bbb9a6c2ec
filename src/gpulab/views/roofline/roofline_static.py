"""A roofline as SVG and as PNG, made without a browser: for reports, exports and feedback."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gpulab.errors import UsageError
from gpulab.views.html import escape
from gpulab.views.roofline.roofline_layout import MARK, SMALL, TEXT, TITLE, Label, Scene
from gpulab.views.svg import THEMES, Pen
from gpulab.views.theme import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["png", "svg"]

DASH = (7.0, 5.0)
SMALLEST = 560  # pixels of width that a page leaves it at least: its letters can be read no smaller
DOTS_PER_PIXEL = 2  # of the PNG: sharp in print
_FONT = "system-ui,'Segoe UI','DejaVu Sans',sans-serif"


def svg(scene: Scene, theme: str | None = None) -> str:
    """The picture as an SVG element.

    theme: "light" or "dark" paints its own paper, for a file. None follows the page around it, by the
    variables of `gpulab.views.theme`, for HTML.
    """
    parts = "".join(_Svg(theme).parts(scene))
    words = "; ".join(f"{m.point.variant} {m.point.gflops:,.0f} GFLOPS" for m in scene.marks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{scene.width:g}" height="{scene.height:g}" '
        f'viewBox="0 0 {scene.width:g} {scene.height:g}" role="img" font-family="{_FONT}" '
        f'style="max-width:100%;min-width:{SMALLEST}px;height:auto" '
        f'aria-label="{escape(f"Roofline. {scene.title}. {words}")}">'
        f"{parts}</svg>"
    )


def png(scene: Scene, theme: str = "light") -> bytes:
    """The picture as a PNG file, by Matplotlib's Agg renderer.

    Raises `UsageError` where Matplotlib is not installed.
    """
    figure = matplotlib_figure(scene, THEMES[theme])
    file = BytesIO()
    figure.savefig(file, format="png", dpi=100 * DOTS_PER_PIXEL)
    return file.getvalue()


class _Svg(Pen):
    """The pieces of a roofline."""

    def parts(self, scene: Scene) -> Iterator[str]:
        plot = scene.plot
        left, right = plot.x - plot.width / 2, plot.x + plot.width / 2
        top, bottom = plot.y - plot.height / 2, plot.y + plot.height / 2
        yield f'<rect width="100%" height="100%" {self.paint(fill="paper")}/>'
        yield self.text(scene.title, left, 26, "ink", TITLE, weight=600)
        for x, text in scene.x_ticks:
            yield self.line((x, top, x, bottom), "line", 1)
            yield self.text(text, x, bottom + 17, "dim", SMALL, "middle")
        for y, text in scene.y_ticks:
            yield self.line((left, y, right, y), "line", 1)
            yield self.text(text, left - 8, y + 4, "dim", SMALL, "end")
        yield self.text(scene.x_title, plot.x, bottom + 38, "ink", TEXT, "middle")
        yield self.text(scene.y_title, 18, plot.y, "ink", TEXT, "middle", angle=-90)
        for roof in scene.roofs:
            yield self.line(roof.line, roof.colour, 2, "" if roof.solid else f"{DASH[0]:g} {DASH[1]:g}")
        for one, two in pairwise(scene.marks):
            yield self.line((one.x, one.y, two.x, two.y), "dim", 1.2)
        for x, y, colour in scene.ridges:
            edge = f'{self.paint(stroke=colour)} stroke-width="1.5"'
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="none" {edge}/>'
        for label in scene.labels:
            if label.leader is not None:
                yield self.line(label.leader, "dim", 0.8)
        for mark in scene.marks:
            edge = self.paint(fill="bad" if mark.above else "ink", stroke="paper")
            yield f'<path d="{_mark_path(mark.x, mark.y, mark.above)}" {edge} stroke-width="1.2"/>'
        for label in scene.labels:
            yield self.label(label)
        y = bottom + 62
        for colour, lines in (("bad", scene.mistakes), ("dim", scene.caption)):
            for words in lines:
                yield self.text(words, 14, y, colour, SMALL)
                y += 16

    def label(self, label: Label) -> str:
        box = label.box
        # The baseline lies about a third of the type size below the middle.
        weight = 600 if label.kind == "point" else 0
        down = 0.36 * label.size
        # What runs under a label stops around its letters.
        paper, ink = (
            THEMES[self.theme][name] if self.theme else f"var(--gp-{name},{LIGHT[name]})"
            for name in ("paper", label.colour)
        )
        attribute = THEMES[self.theme or "light"][label.colour]
        halo = f'fill="{attribute}" style="paint-order:stroke;stroke:{paper};stroke-width:3px;fill:{ink}" '
        return self.text(
            label.text, box.x, box.y, label.colour, label.size, "middle", box.angle, down, weight, halo
        )


def _mark_path(x: float, y: float, above: bool) -> str:
    """A disc, or a cross for a point above its roof: shapes differ, not only colours."""
    r = MARK
    if not above:
        return f"M{x - r:.1f} {y:.1f}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z"
    a, b = r * 1.5, r * 0.5
    steps = (
        *((0, -b), (a - b, -a), (a, b - a), (b, 0), (a, a - b), (a - b, a)),
        *((0, b), (b - a, a), (-a, a - b), (-b, 0), (-a, b - a), (b - a, -a)),
    )
    return "M" + "L".join(f"{x + dx:.1f} {y + dy:.1f}" for dx, dy in steps) + "z"


def matplotlib_figure(scene: Scene, colours: dict[str, str]) -> Figure:
    """The same in Matplotlib, one unit of its axes a pixel; without pyplot, which keeps figures for ever."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patheffects import withStroke
    except ImportError:
        raise UsageError("a PNG needs Matplotlib: pip install 'gpulab[lab]'. An SVG does not.") from None
    figure = Figure(figsize=(scene.width / 100, scene.height / 100), dpi=100, facecolor=colours["paper"])
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    plot = scene.plot
    left, right = plot.x - plot.width / 2, plot.x + plot.width / 2
    top, bottom = plot.y - plot.height / 2, plot.y + plot.height / 2

    def text(words: str, x: float, y: float, colour: str, size: float, across: str, **more: Any) -> None:
        style = {"va": "baseline"} | more
        axes.text(
            x, y, words, color=colours[colour], fontsize=0.72 * size, ha=across, parse_math=False, **style
        )

    def line(ends: tuple[float, float, float, float], colour: str, width: float, **more: Any) -> None:
        x1, y1, x2, y2 = ends
        axes.plot([x1, x2], [y1, y2], color=colours[colour], linewidth=0.72 * width, **more)

    text(scene.title, left, 26, "ink", TITLE, "left", fontweight="bold")
    for x, words in scene.x_ticks:
        line((x, top, x, bottom), "line", 1)
        text(words, x, bottom + 17, "dim", SMALL, "center")
    for y, words in scene.y_ticks:
        line((left, y, right, y), "line", 1)
        text(words, left - 8, y + 4, "dim", SMALL, "right")
    text(scene.x_title, plot.x, bottom + 38, "ink", TEXT, "center")
    text(scene.y_title, 18, plot.y, "ink", TEXT, "center", rotation=90, va="center")
    for roof in scene.roofs:
        dashes = {} if roof.solid else {"dashes": (DASH[0] / 2, DASH[1] / 2), "dash_capstyle": "butt"}
        line(roof.line, roof.colour, 2, **dashes)
    for one, two in pairwise(scene.marks):
        line((one.x, one.y, two.x, two.y), "dim", 1.2)
    for x, y, colour in scene.ridges:
        axes.plot([x], [y], "o", ms=5, mfc="none", mec=colours[colour], mew=1.1)
    for label in scene.labels:
        if label.leader is not None:
            line(label.leader, "dim", 0.8)
    for mark in scene.marks:
        look = {"marker": "X", "ms": 9} if mark.above else {"marker": "o", "ms": 2 * 0.72 * MARK}
        axes.plot([mark.x], [mark.y], color=colours["bad" if mark.above else "ink"],
                  mec=colours["paper"], mew=0.8, zorder=3, **look)  # fmt: skip
    for label in scene.labels:
        weight = "bold" if label.kind == "point" else "normal"
        text(label.text, label.box.x, label.box.y, label.colour, label.size, "center", va="center",
             rotation=-label.box.angle, rotation_mode="anchor", fontweight=weight, zorder=4,
             path_effects=[withStroke(linewidth=2.2, foreground=colours["paper"])])  # fmt: skip
    y = bottom + 62
    for colour, lines in (("bad", scene.mistakes), ("dim", scene.caption)):
        for words in lines:
            text(words, 14, y, colour, SMALL, "left")
            y += 16
    return figure
