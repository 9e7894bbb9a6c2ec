"""The picture of a roofline before it is drawn: axes, lines, marks and labels, placed in pixels.

The plotly figure, the SVG and the PNG are all drawn from it, so that they show the same.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import atan2, ceil, degrees, floor, hypot, log10

from gpulab.profiling.roofline import Ceiling, Point, Roofline
from gpulab.views.roofline.label_places import Box, Segment, first_free, label_place, nearest_on, text_size
from gpulab.views.roofline.roofline_text import caption, roof_names

__all__ = ["Label", "Mark", "Roof", "Scene", "scene_of"]

WIDTH, PLOT_HEIGHT = 760, 430
LEFT, RIGHT, TOP, BELOW = 78, 18, 46, 52  # margins around the plot; below: tick labels and the axis' title
TEXT, SMALL, TITLE = 12.0, 11.0, 15.0  # sizes of type
MARK = 5.0  # radius
NAME_GAP = 4.0  # from either end of a roof to its name, at least
CLOSE = 3.0  # lines that are nearer than this share a label
CAPTION_LETTERS = 118  # of a line of the caption

# The colours of gpulab.views.theme, by what they stand for.
COLOURS = {"DRAM": "plain", "L2": "stray", "shared memory": "hint", "fp32": "good"}


@dataclass(frozen=True)
class Roof:
    """A ceiling's line from end to end of the plot, in pixels; solid: measured."""

    ceiling: Ceiling
    colour: str
    solid: bool
    line: Segment


@dataclass(frozen=True)
class Label:
    """A text in its box. leader: from its mark to the box, where it stands apart."""

    text: str
    box: Box
    colour: str
    size: float
    kind: str  # "point", "roof" or "ridge"
    anchor: tuple[float, float]
    leader: Segment | None = None


@dataclass(frozen=True)
class Mark:
    """A point's place. above: it lies above its roof, which is a mistake."""

    point: Point
    x: float
    y: float
    above: bool


@dataclass(frozen=True)
class Scene:
    """All of the picture; `plot` is the frame that the axes make. Ticks are (pixels, text)."""

    title: str
    x_title: str
    y_title: str
    caption: tuple[str, ...]
    mistakes: tuple[str, ...]
    height: float
    plot: Box
    x_decades: tuple[float, float]
    y_decades: tuple[float, float]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    roofs: tuple[Roof, ...]
    ridges: tuple[tuple[float, float, str], ...]  # x, y, colour
    marks: tuple[Mark, ...]
    labels: tuple[Label, ...]
    width: float = WIDTH

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a place as (decades of x, decades of y)."""
        return 10 ** self._value(x, 0), 10 ** self._value(y, 1)

    def _value(self, pixels: float, axis: int) -> float:
        low, high = (self.x_decades, self.y_decades)[axis]
        if axis == 0:
            return low + (high - low) * (pixels - self.plot.x + self.plot.width / 2) / self.plot.width
        return high - (high - low) * (pixels - self.plot.y + self.plot.height / 2) / self.plot.height


def scene_of(roofline: Roofline, size_words: str = "") -> Scene:
    """Place everything. size_words: the problem's size for the title."""
    return _Placing(roofline).scene(size_words)


class _Placing:
    def __init__(self, roofline: Roofline) -> None:
        self.roofline = roofline
        width, height = WIDTH - LEFT - RIGHT, PLOT_HEIGHT
        self.plot = Box(LEFT + width / 2, TOP + height / 2, width, height)
        self.x, self.y = _ranges(roofline)
        self.marks = tuple(self._mark(point) for point in roofline.points)
        self.roofs: tuple[Roof, ...] = ()
        # Memories first: a flat roof begins where the highest slope that is drawn meets it.
        for ceiling in sorted(roofline.ceilings, key=lambda each: not each.is_memory):
            if roof := self._roof(ceiling):
                self.roofs += (roof,)
        self.ridges = tuple(self._ridges())
        self.taken = [Box(mark.x, mark.y, 2 * MARK + 4, 2 * MARK + 4) for mark in self.marks]
        self.taken += [Box(x, y, 8, 8) for x, y, _, _ in self.ridges]
        ladder = [(a.x, a.y, b.x, b.y) for a, b in pairwise(self.marks)]
        self.lines: list[Segment] = [*(roof.line for roof in self.roofs), *ladder]
        self.leaders: list[Segment] = []

    def scene(self, size_words: str) -> Scene:
        roofline = self.roofline
        labels = [*self._roof_labels(), *self._point_labels(), *self._ridge_labels()]
        said = tuple(line for words in caption(roofline) for line in textwrap.wrap(words, CAPTION_LETTERS))
        mistakes = tuple(
            line for words in roofline.mistakes for line in textwrap.wrap(words, CAPTION_LETTERS)
        )
        what = "compulsory" if roofline.intensity == "compulsory" else "counted DRAM"
        what = f", {what} bytes" if roofline.problem else " of DRAM"
        kinds = dict.fromkeys(point.provenance.kind for point in roofline.points)
        times = f", times {' and '.join(kinds)}" if kinds else ""
        at = f" at {size_words}" if size_words else ""
        return Scene(
            title=f"{roofline.problem}{at} on {roofline.gpu}{times}" if roofline.problem else roofline.gpu,
            x_title=f"arithmetic intensity (flop per byte{what})",
            y_title="GFLOPS",
            caption=said,
            mistakes=mistakes,
            height=TOP + PLOT_HEIGHT + BELOW + 16 * (len(said) + len(mistakes)) + 8,
            plot=self.plot,
            x_decades=self.x,
            y_decades=self.y,
            x_ticks=tuple((self._x(10**d), text) for d, text in _ticks(*self.x)),
            y_ticks=tuple((self._y(10**d), text) for d, text in _ticks(*self.y)),
            roofs=self.roofs,
            ridges=tuple((x, y, colour) for x, y, colour, _ in self.ridges),
            marks=self.marks,
            labels=tuple(labels),
        )

    # -- where things are ---------------------------------------------------------------------------

    def _x(self, intensity: float) -> float:
        low, high = self.x
        return LEFT + (log10(intensity) - low) / (high - low) * self.plot.width

    def _y(self, gflops: float) -> float:
        low, high = self.y
        return TOP + (high - log10(gflops)) / (high - low) * self.plot.height

    def _mark(self, point: Point) -> Mark:
        above = bool(self.roofline.mistake(point))
        return Mark(point, self._x(point.intensity), self._y(point.gflops), above)

    def _roof(self, ceiling: Ceiling) -> Roof | None:
        """From where it enters the plot to the peak of its own kind.

        None where it passes the plot by, or only a piece of it is in sight that is too short for its name.
        """
        peak = self._peak(ceiling)
        low, high = (10**decades for decades in self.x)
        bottom = 10 ** self.y[0]
        if ceiling.is_memory:
            start = max(low, bottom / ceiling.rate)
            end = min(high, peak / ceiling.rate)
        else:
            drawn = [roof.ceiling.rate for roof in self.roofs if roof.ceiling.is_memory]
            start, end = max(low, ceiling.rate / max(drawn)) if drawn else low, high
        if start >= end:
            return None
        line = (
            self._x(start),
            self._y(ceiling.gflops(start)),
            self._x(end),
            self._y(ceiling.gflops(end)),
        )
        if hypot(line[2] - line[0], line[3] - line[1]) < text_size(ceiling.level, SMALL)[0] + 2 * NAME_GAP:
            return None
        return Roof(ceiling, COLOURS[ceiling.level], ceiling.measured, line)

    def _peak(self, memory: Ceiling) -> float:
        """The fp32 peak that a memory's roof ends at."""
        for ceiling, ridge in self.roofline.ridges():
            if ceiling is memory:
                return ridge * ceiling.rate
        return memory.rate

    def _ridges(self) -> Iterator[tuple[float, float, str, str]]:
        shown = set()
        for ceiling, ridge in sorted(self.roofline.ridges(), key=lambda each: each[1]):  # the best one first
            kind = ceiling.level, ceiling.measured
            if kind in shown or not any(roof.ceiling is ceiling for roof in self.roofs):
                continue
            shown.add(kind)
            place = self._x(ridge), self._y(ceiling.gflops(ridge))
            if _upright(place, self.plot):
                yield *place, COLOURS[ceiling.level], f"ridge {ridge:.3g}"

    # -- labels -------------------------------------------------------------------------------------

    def _roof_labels(self) -> Iterator[Label]:
        for roofs in _together(self.roofs):
            label = self._roof_label(roofs)
            if label is not None:
                self.taken.append(label.box)
                yield label

    def _roof_label(self, roofs: Sequence[Roof]) -> Label | None:
        """Along its line, above it where there is room, and where the fewest other lines are in its way."""
        for text in roof_names([each.ceiling for each in roofs]):
            width, height = text_size(text, SMALL)
            boxes: list[tuple[float, int, Box]] = []
            # The data sheet's above, what is measured below: of roofs that share a label, the outermost.
            for side in (-1, 1) if roofs[0].solid else (1, -1):
                roof = roofs[0] if side > 0 else roofs[-1]
                x1, y1, x2, y2 = roof.line
                length = hypot(x2 - x1, y2 - y1)
                if width + 2 * NAME_GAP > length:
                    continue
                angle = degrees(atan2(y2 - y1, x2 - x1))
                across, down = (x2 - x1) / length, (y2 - y1) / length
                others = [line for line in self.lines if line is not roof.line]
                off = side * (height / 2 + 2)
                for share in (0.5, 0.35, 0.65, 0.2, 0.8, 0.08, 0.92, 0.0, 1.0):
                    run = NAME_GAP + width / 2 + share * (length - width - 2 * NAME_GAP)
                    place = x1 + run * across + off * down, y1 + run * down - off * across
                    box = Box(*place, width, height, angle)
                    boxes.append((sum(box.crossed_by(line) for line in others), len(boxes), box))
            ordered = [box for _, _, box in sorted(boxes, key=lambda each: each[:2])]
            found = first_free(ordered, self.taken, self.plot)
            if found is not None:
                return Label(text, found, roofs[0].colour, SMALL, "roof", (found.x, found.y))
        return None

    def _point_labels(self) -> Iterator[Label]:
        """The points in the thick of it first: they have the fewest places to choose from."""

        def crowd(mark: Mark) -> float:
            return -sum(1 / (20 + hypot(mark.x - other.x, mark.y - other.y)) for other in self.marks)

        for mark in sorted(self.marks, key=crowd):
            colour = "bad" if mark.above else "ink"
            text = f"{mark.point.variant}: above its roof" if mark.above else mark.point.variant
            label = self._beside(text, (mark.x, mark.y), colour, TEXT, "point", MARK + 4)
            if label is not None:
                yield label

    def _ridge_labels(self) -> Iterator[Label]:
        for x, y, colour, text in self.ridges:
            label = self._beside(text, (x, y), colour, SMALL, "ridge", 7)
            if label is not None:
                yield label

    def _beside(
        self, text: str, anchor: tuple[float, float], colour: str, size: float, kind: str, gap: float
    ) -> Label | None:
        box = label_place(
            anchor,
            text_size(text, size, bold=kind == "point"),
            taken=self.taken,
            lines=self.lines,
            leaders=self.leaders,
            others=[(mark.x, mark.y) for mark in self.marks if (mark.x, mark.y) != anchor],
            frame=self.plot,
            gap=gap,
        )
        if box is None:
            return None
        end = nearest_on(box, anchor)
        apart = hypot(end[0] - anchor[0], end[1] - anchor[1])
        theirs = ((*nearest_on(box, (mark.x, mark.y)), mark.x, mark.y) for mark in self.marks)
        doubtful = kind == "point" and any(
            hypot(x - u, y - v) < 1.3 * apart and (u, v) != anchor for x, y, u, v in theirs
        )
        leader = (*anchor, *end) if apart > 1.8 * gap or doubtful else None
        self.taken.append(box)
        if leader is not None:
            self.leaders.append(leader)
        return Label(text, box, colour, size, kind, anchor, leader)


def _ranges(roofline: Roofline) -> tuple[tuple[float, float], tuple[float, float]]:
    """Decades of both axes: all points, the ridge of DRAM, and some room around them."""
    dram, fp32 = roofline.best("DRAM"), roofline.best("fp32")
    assert dram is not None
    assert fp32 is not None
    ridge = fp32.rate / dram.rate
    xs = [point.intensity for point in roofline.points] or [ridge / 10]
    peak = max(c.rate for c in roofline.ceilings if not c.is_memory)
    # Left of the ridge there is room for the names of DRAM's roofs.
    x = min(log10(min(xs)) - 0.5, log10(ridge) - 1.1), log10(max(*xs, ridge)) + 0.75
    if x[1] - x[0] < 2.5:
        x = x[0] - (2.5 - x[1] + x[0]), x[1]
    ys = [point.gflops for point in roofline.points]
    # The roof of DRAM is in sight over half the plot at least.
    low = min([log10(dram.rate) + (x[0] + log10(ridge)) / 2, *(log10(y) - 0.35 for y in ys)])
    return x, (low, log10(max(peak, *ys, peak)) + 0.45)


def _ticks(low: float, high: float) -> Iterator[tuple[float, str]]:
    """Places in decades with their texts: powers of ten, and 2 and 5 of them where there are few."""
    steps = (0.0, log10(2), log10(5)) if high - low < 3 else (0.0,)
    for decade in range(floor(low), ceil(high) + 1):
        for step in steps:
            if low <= decade + step <= high:
                yield decade + step, f"{round(10 ** (decade + step), 6):,.10g}"


def _together(roofs: Sequence[Roof]) -> Iterator[list[Roof]]:
    """Roofs of one level and kind that lie closer than their labels could say."""

    def key(roof: Roof) -> tuple[str, bool]:
        return roof.ceiling.level, roof.solid

    for _, found in groupby(sorted(roofs, key=lambda roof: (*key(roof), -roof.ceiling.rate)), key):
        group: list[Roof] = []
        for roof in found:
            if (
                group
                and abs(group[-1].line[1] - roof.line[1]) + abs(group[-1].line[0] - roof.line[0]) > CLOSE * 6
            ):
                yield group
                group = []
            group.append(roof)
        yield group


def _upright(place: tuple[float, float], plot: Box) -> bool:
    return abs(place[0] - plot.x) <= plot.width / 2 and abs(place[1] - plot.y) <= plot.height / 2
