"""A roofline as SVG and as PNG, drawn without a browser: for exports, reports and feedback."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from gpulab.errors import UsageError
from gpulab.installation import install_command
from gpulab.views.roofline.roofline_layout import (
    AXIS_HEIGHT,
    BADGE_RADIUS,
    MARK_RADIUS,
    ROW_HEIGHT,
    SMALL,
    TEXT,
    TITLE,
    WIDTH,
    Scene,
    ticks,
)
from gpulab.views.roofline.roofline_text import rate_text
from gpulab.views.svg import THEMES, SvgPen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["matplotlib_figure", "png", "svg"]

DASH = "7 5"  # lines of published ceilings: lengths of strokes and gaps in pixels
NARROWEST = 560  # pixels; a narrower page scrolls the SVG
DOTS_PER_PIXEL = 2  # resolution of the PNG, high enough for print
POINTS_PER_PIXEL = 0.72  # Matplotlib's lengths are in points at 100 dots per inch
MARGIN = 14  # left margin of the legend and the caption
RIDGE_COLUMN, KERNEL_COLUMN = 372, 408  # right edge of the ridge points, left edge of the kernels
KERNEL_COLUMNS = (592, 656, 742)  # right edges of the kernels' figures


class Pen(Protocol):
    """The drawing methods that `_draw` needs; `SvgPen` describes them."""

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = ..., dash: str = ...
    ) -> None: ...

    def circle(
        self, x: float, y: float, radius: float, *, fill: str = ..., edge: str = ..., width: float = ...
    ) -> None: ...

    def text(
        self,
        text: str,
        x: float,
        y: float,
        colour: str = ...,
        size: float = ...,
        anchor: str = ...,
        *,
        angle: float = ...,
        bold: bool = ...,
    ) -> None: ...


def svg(scene: Scene, theme: str | None = None) -> str:
    """Return the picture as an SVG element.

    theme: "light" or "dark" for a file. None follows the theme of the page around it, by the CSS variables of
    `gpulab.views.theme`.
    """
    pen = SvgPen(theme)
    pen.path(f"M0 0H{WIDTH}V{scene.height:g}H0z", fill="paper")
    _draw(scene, pen)
    points = "; ".join(f"{mark.point.variant} {mark.point.gflops:,.0f} GFLOPS" for mark in scene.marks)
    return pen.element(WIDTH, scene.height, f"Roofline. {scene.title}. {points}", narrowest=NARROWEST)


def png(scene: Scene, theme: str = "light") -> bytes:
    """Return the picture as a PNG file, rendered by Matplotlib.

    Raises `UsageError` if Matplotlib is not installed.
    """
    figure = matplotlib_figure(scene, theme)
    file = BytesIO()
    figure.savefig(file, format="png", dpi=100 * DOTS_PER_PIXEL)
    return file.getvalue()


def matplotlib_figure(scene: Scene, theme: str = "light") -> Figure:
    """Return the picture as a Matplotlib figure."""
    pen = _MatplotlibPen(WIDTH, scene.height, THEMES[theme])
    _draw(scene, pen)
    return pen.figure


class _MatplotlibPen:
    """A pen that draws in a Matplotlib figure, whose axes have one unit per pixel.

    pyplot is not used, because it keeps every figure until it is closed.
    """

    def __init__(self, width: float, height: float, colours: dict[str, str]) -> None:
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError:
            raise UsageError(f"a PNG needs Matplotlib, an SVG does not: {install_command('lab')}") from None
        self._colours = colours
        self.figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=colours["paper"])
        FigureCanvasAgg(self.figure)
        self._axes: Any = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._axes.set_xlim(0, width)
        self._axes.set_ylim(height, 0)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0, dash: str = ""
    ) -> None:
        style = {"dashes": [float(length) / width for length in dash.split()]} if dash else {}
        self._axes.plot(
            [x1, x2], [y1, y2], color=self._colours[colour], linewidth=POINTS_PER_PIXEL * width,
            dash_capstyle="butt", **style,
        )  # fmt: skip

    def circle(
        self, x: float, y: float, radius: float, *, fill: str = "", edge: str = "", width: float = 1.5
    ) -> None:
        self._axes.plot(
            [x], [y], "o", markersize=2 * POINTS_PER_PIXEL * radius,
            markerfacecolor=self._colours[fill] if fill else "none",
            markeredgecolor=self._colours[edge] if edge else "none",
            markeredgewidth=POINTS_PER_PIXEL * width,
        )  # fmt: skip

    def text(
        self,
        text: str,
        x: float,
        y: float,
        colour: str = "ink",
        size: float = 12.0,
        anchor: str = "start",
        *,
        angle: float = 0.0,
        bold: bool = False,
    ) -> None:
        self._axes.text(
            x, y, text, color=self._colours[colour], fontsize=POINTS_PER_PIXEL * size,
            horizontalalignment={"start": "left", "middle": "center", "end": "right"}[anchor],
            verticalalignment="baseline", rotation=-angle, rotation_mode="anchor",
            fontweight="bold" if bold else "normal", parse_math=False,
        )  # fmt: skip


def _draw(scene: Scene, pen: Pen) -> None:
    """Draw the plot, the legend below it, and the caption."""
    _draw_axes(scene, pen)
    _draw_ceilings(scene, pen)
    _draw_points(scene, pen)

    top = scene.frame.bottom + AXIS_HEIGHT + ROW_HEIGHT
    _ceiling_legend(scene, pen, top)
    if scene.marks:
        _kernel_legend(scene, pen, top)

    y = top + ROW_HEIGHT * (scene.legend_rows + 1) + 6
    for colour, lines in (("bad", scene.mistakes), ("dim", scene.caption)):
        for line in lines:
            pen.text(line, MARGIN, y, colour, SMALL)
            y += ROW_HEIGHT


def _draw_axes(scene: Scene, pen: Pen) -> None:
    frame = scene.frame
    pen.text(scene.title, frame.left, 26, "ink", TITLE, bold=True)
    for value in ticks(frame.x_decades):
        pen.line(frame.x(value), frame.top, frame.x(value), frame.bottom, "line")
        pen.text(f"{value:,.10g}", frame.x(value), frame.bottom + 17, "dim", SMALL, "middle")
    for value in ticks(frame.y_decades):
        pen.line(frame.left, frame.y(value), frame.right, frame.y(value), "line")
        pen.text(f"{value:,.10g}", frame.left - 8, frame.y(value) + 4, "dim", SMALL, "end")
    pen.text(scene.x_title, (frame.left + frame.right) / 2, frame.bottom + 38, "ink", TEXT, "middle")
    pen.text(scene.y_title, 18, (frame.top + frame.bottom) / 2, "ink", TEXT, "middle", angle=-90)


def _draw_ceilings(scene: Scene, pen: Pen) -> None:
    frame = scene.frame
    for line in scene.ceilings:
        ends = [(frame.x(flops), frame.y(line.ceiling.gflops(flops))) for flops in (line.start, line.end)]
        pen.line(*ends[0], *ends[1], line.colour, 2, "" if line.ceiling.measured else DASH)
        if line.shows_ridge:
            pen.circle(*ends[1], 3.5, edge=line.colour)


def _draw_points(scene: Scene, pen: Pen) -> None:
    for first, second in pairwise(scene.marks):
        pen.line(first.x, first.y, second.x, second.y, "dim", 1.2)
    for mark in scene.marks:
        pen.line(mark.x, mark.y, mark.badge_x, mark.y, "dim", 0.8)
    for mark in scene.marks:
        colour = "bad" if mark.above else "ink"
        pen.circle(mark.x, mark.y, MARK_RADIUS, fill=colour, edge="paper", width=1)
        if mark.above:  # not by colour alone
            pen.line(mark.x - 8, mark.y - 8, mark.x + 8, mark.y + 8, colour, 2)
            pen.line(mark.x - 8, mark.y + 8, mark.x + 8, mark.y - 8, colour, 2)
        _badge(pen, mark.number, mark.badge_x, mark.y, colour)


def _badge(pen: Pen, number: int, x: float, y: float, colour: str) -> None:
    pen.circle(x, y, BADGE_RADIUS - 1, fill="paper", edge=colour, width=1)
    pen.text(str(number), x, y + 3.2, colour, 9, "middle")


def _ceiling_legend(scene: Scene, pen: Pen, top: float) -> None:
    pen.text("Ceilings", MARGIN, top, "ink", SMALL, bold=True)
    pen.text("ridge (flop/byte)", RIDGE_COLUMN, top, "dim", SMALL, "end")
    for row, line in enumerate(scene.ceilings, 1):
        y = top + ROW_HEIGHT * row
        dash = "" if line.ceiling.measured else DASH
        pen.line(MARGIN, y - 4, MARGIN + 26, y - 4, line.colour, 2, dash)
        pen.text(str(line.ceiling), MARGIN + 34, y, "ink", SMALL)
        if line.ridge is not None:
            pen.text(f"{line.ridge:.3g}", RIDGE_COLUMN, y, "ink", SMALL, "end")


def _kernel_legend(scene: Scene, pen: Pen, top: float) -> None:
    headers: Sequence[str] = ("flop/byte", "GFLOPS", "% of ceiling")
    pen.text("Kernels", KERNEL_COLUMN, top, "ink", SMALL, bold=True)
    for header, x in zip(headers, KERNEL_COLUMNS, strict=True):
        pen.text(header, x, top, "dim", SMALL, "end")
    for row, mark in enumerate(scene.marks, 1):
        y, colour = top + ROW_HEIGHT * row, "bad" if mark.above else "ink"
        _badge(pen, mark.number, KERNEL_COLUMN + 8, y - 4, colour)
        pen.text(mark.point.variant, KERNEL_COLUMN + 24, y, colour, SMALL)
        percent = scene.roofline.percent(mark.point)
        figures = (f"{mark.point.intensity:.3g}", rate_text(mark.point.gflops), f"{percent:.0f}")
        for figure, x in zip(figures, KERNEL_COLUMNS, strict=True):
            pen.text(figure, x, y, colour, SMALL, "end")
