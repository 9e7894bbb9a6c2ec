"""The layout of a roofline: axes, ceilings, marks and notes.

The plotly figure, the SVG and the PNG are drawn from the same `Scene`, so that they agree.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, floor, hypot, log10

from gpulab.profiling.roofline import Ceiling, Roofline, RooflinePoint
from gpulab.views.roofline.roofline_text import caption

__all__ = ["CeilingLine", "PlotFrame", "PointMark", "Scene", "scene_of", "ticks"]

# All lengths are in pixels.
WIDTH = 760
LEFT, RIGHT, TOP = 78, 18, 46  # margins of the plot
PLOT_HEIGHT = 400
AXIS_HEIGHT = 52  # below the plot: tick labels and the title of the axis
ROW_HEIGHT = 18  # rows of the legend and the caption
TEXT, SMALL, TITLE = 12.0, 11.0, 15.0  # font sizes
MARK_RADIUS, BADGE_RADIUS = 4.0, 8.0  # radii of a point and of the circle around its number
CAPTION_CHARACTERS = 118  # characters of one line of the caption

# The colour of each level, by its name in gpulab.views.theme.
COLOURS = {"DRAM": "plain", "L2": "stray", "shared memory": "hint", "fp32": "good"}
TENSOR_COLOUR = "ink"  # for tensor products of all types


@dataclass(frozen=True)
class PlotFrame:
    """The plotting area: the range of both logarithmic axes in decades, and its place in pixels."""

    x_decades: tuple[float, float]
    y_decades: tuple[float, float]
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = TOP + PLOT_HEIGHT

    def x(self, intensity: float) -> float:
        """Return the pixel column of an intensity in flop per byte."""
        low, high = self.x_decades
        return self.left + (log10(intensity) - low) / (high - low) * (self.right - self.left)

    def y(self, gflops: float) -> float:
        """Return the pixel row of a performance in GFLOPS."""
        low, high = self.y_decades
        return self.top + (high - log10(gflops)) / (high - low) * (self.bottom - self.top)

    def contains(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom


@dataclass(frozen=True)
class CeilingLine:
    """The visible part of a ceiling: from `start` to `end` flop per byte.

    ridge: its ridge point in flop per byte; None for arithmetic.
    """

    ceiling: Ceiling
    colour: str
    start: float
    end: float
    ridge: float | None

    @property
    def shows_ridge(self) -> bool:
        """True if the ridge point is visible."""
        return self.end == self.ridge


@dataclass(frozen=True)
class PointMark:
    """A point's place in pixels, its number in the legend, and the place of that number.

    above: the point lies above its ceiling, which is a mistake.
    """

    number: int
    point: RooflinePoint
    x: float
    y: float
    above: bool
    badge_x: float = 0.0


@dataclass(frozen=True)
class Scene:
    """The elements of a picture of a roofline."""

    roofline: Roofline
    title: str
    x_title: str
    y_title: str
    frame: PlotFrame
    ceilings: tuple[CeilingLine, ...]
    marks: tuple[PointMark, ...]
    mistakes: tuple[str, ...]  # lines of text
    caption: tuple[str, ...]  # lines of text

    @property
    def legend_rows(self) -> int:
        """Rows of the legend, without its header."""
        return max(len(self.ceilings), len(self.marks))

    @property
    def height(self) -> float:
        rows = 1 + self.legend_rows + len(self.mistakes) + len(self.caption)
        return self.frame.bottom + AXIS_HEIGHT + ROW_HEIGHT * rows + 24


def scene_of(roofline: Roofline, size: str = "") -> Scene:
    """Lay out a roofline. size: the problem's size, for the title."""
    frame = PlotFrame(*_ranges(roofline))
    bytes_kind = "compulsory" if roofline.intensity == "compulsory" else "counted DRAM"
    kinds = dict.fromkeys(point.provenance.kind for point in roofline.points)
    times = f", times {' and '.join(kinds)}" if kinds else ""
    problem = roofline.problem or ("kernels" if roofline.points else "")
    at_size = f" at {size}" if size else ""
    return Scene(
        roofline=roofline,
        title=f"{problem}{at_size} on {roofline.gpu}{times}" if problem else roofline.gpu,
        x_title=f"arithmetic intensity (flop per byte{f', {bytes_kind} bytes' if problem else ''})",
        y_title="GFLOPS",
        frame=frame,
        ceilings=_ceiling_lines(roofline, frame),
        marks=_marks(roofline, frame),
        mistakes=_lines(roofline.mistakes),
        caption=_lines(caption(roofline)),
    )


def ticks(decades: tuple[float, float], beyond: int = 0) -> Iterator[float]:
    """Yield round values within a range of decades, and as many decades `beyond` it on both sides.

    Powers of ten; also 2 and 5 times a power of ten if the range is shorter than three decades.
    """
    low, high = decades
    factors = (1, 2, 5) if high - low < 3 else (1,)
    for decade in range(floor(low) - beyond, ceil(high) + 1 + beyond):
        for factor in factors:
            if low - beyond <= decade + log10(factor) <= high + beyond:
                yield factor * 10.0**decade


def _ranges(roofline: Roofline) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the decades of both axes: they hold all points and the ridge point of DRAM, with margins."""
    dram = roofline.best("DRAM")
    assert dram is not None
    ridge = roofline.highest_arithmetic.rate / dram.rate
    intensities = [point.intensity for point in roofline.points] or [ridge / 10]
    low = min(log10(min(intensities)) - 0.5, log10(ridge) - 1.1)
    high = log10(max(*intensities, ridge)) + 0.75
    x = min(low, high - 2.5), high

    performances = [point.gflops for point in roofline.points]
    # The slope of DRAM is visible over at least half of the plot's width.
    bottom = min([log10(dram.rate) + (x[0] + log10(ridge)) / 2, *(log10(y) - 0.35 for y in performances)])
    peak = max(ceiling.rate for ceiling in roofline.ceilings if not ceiling.is_memory)
    return x, (bottom, log10(max([peak, *performances])) + 0.45)


def _ceiling_lines(roofline: Roofline, frame: PlotFrame) -> tuple[CeilingLine, ...]:
    """Return the visible ceilings; a flat one starts at the highest slope."""
    left, right = (10**decades for decades in frame.x_decades)
    bottom = 10 ** frame.y_decades[0]
    lines = []
    for ceiling, ridge in roofline.ridges():
        start, end = max(left, bottom / ceiling.rate), min(right, ridge)
        if start < end:
            lines.append(CeilingLine(ceiling, COLOURS.get(ceiling.level, TENSOR_COLOUR), start, end, ridge))

    steepest = max((line.ceiling.rate for line in lines), default=0.0)
    for ceiling in roofline.ceilings:
        if not ceiling.is_memory:
            start = max(left, ceiling.rate / steepest) if steepest else left
            if start < right:
                lines.append(
                    CeilingLine(ceiling, COLOURS.get(ceiling.level, TENSOR_COLOUR), start, right, None)
                )
    return tuple(lines)


def _marks(roofline: Roofline, frame: PlotFrame) -> tuple[PointMark, ...]:
    """Return the points and the positions of their numbers: next to the point, where nothing overlaps."""
    marks = [
        PointMark(number, p, frame.x(p.intensity), frame.y(p.gflops), bool(roofline.mistake(p)))
        for number, p in enumerate(roofline.points, 1)
    ]
    occupied = [(mark.x, mark.y, MARK_RADIUS) for mark in marks]
    placed = []
    for mark in marks:
        x = _free_column(mark, frame, occupied)
        occupied.append((x, mark.y, BADGE_RADIUS))
        placed.append(PointMark(mark.number, mark.point, mark.x, mark.y, mark.above, x))
    return tuple(placed)


def _free_column(mark: PointMark, frame: PlotFrame, occupied: Iterable[tuple[float, float, float]]) -> float:
    """Return the x position nearest to a mark at which its number overlaps no other mark or number."""
    steps = range(2, int((frame.right - frame.left) / BADGE_RADIUS))
    columns = (mark.x + sign * step * BADGE_RADIUS for step in steps for sign in (1, -1))
    for x in columns:
        inside = frame.left + BADGE_RADIUS <= x <= frame.right - BADGE_RADIUS
        if inside and all(hypot(x - u, mark.y - v) >= BADGE_RADIUS + r for u, v, r in occupied):
            return x
    return mark.x  # more points than the plot has room for


def _lines(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for text in sentences for line in textwrap.wrap(text, CAPTION_CHARACTERS))
