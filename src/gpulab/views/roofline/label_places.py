"""Where labels go in a picture, so that none lies on another, on a mark or outside.

Everything is in pixels, x to the right and y down. A label is a rectangle, turned by an angle around its
centre.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import cos, hypot, inf, radians, sin

__all__ = ["Box", "Segment", "first_free", "label_place", "text_size"]

# Advance widths of DejaVu Sans in hundredths of the type size, rounded up: a wide face, so that a label has
# room in whatever sans serif the page has.
_WIDTHS = {
    **dict.fromkeys("ijl'|", 34), **dict.fromkeys(" .,:;/\\!()[]-rft", 42), **dict.fromkeys("mMW%@", 100),
    **dict.fromkeys("wGOQDHNU×=+<>~", 84), **dict.fromkeys("ABCEFKLPRSTVXYZ", 73),
}  # fmt: skip
_OTHER = 66
LINE = 1.25  # height of a line by the size of its type
BOLD = 1.12  # width of bold letters by that of others

Segment = tuple[float, float, float, float]  # x1, y1, x2, y2


@dataclass(frozen=True)
class Box:
    """A rectangle around (x, y), turned by `angle` degrees, clockwise as it is seen."""

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    @property
    def corners(self) -> tuple[tuple[float, float], ...]:
        c, s = cos(radians(self.angle)), sin(radians(self.angle))
        half_w, half_h = self.width / 2, self.height / 2
        return tuple(
            (self.x + c * u - s * v, self.y + s * u + c * v)
            for u, v in ((-half_w, -half_h), (half_w, -half_h), (half_w, half_h), (-half_w, half_h))
        )

    def overlaps(self, other: Box) -> bool:
        """Whether the two have points in common inside (separating axis theorem)."""
        if self.angle == other.angle == 0:
            return (
                2 * abs(self.x - other.x) < self.width + other.width - 1e-9
                and 2 * abs(self.y - other.y) < self.height + other.height - 1e-9
            )
        reach = hypot(self.width, self.height) + hypot(other.width, other.height)
        if hypot(self.x - other.x, self.y - other.y) * 2 >= reach:
            return False
        mine, theirs = self.corners, other.corners
        for angle in {self.angle, self.angle + 90, other.angle, other.angle + 90}:
            c, s = cos(radians(angle)), sin(radians(angle))
            here = [c * x + s * y for x, y in mine]
            there = [c * x + s * y for x, y in theirs]
            if min(here) >= max(there) - 1e-9 or min(there) >= max(here) - 1e-9:
                return False
        return True

    def inside(self, outer: Box) -> bool:
        """Whether all of it lies in an upright box."""
        half_w, half_h = outer.width / 2, outer.height / 2
        return all(abs(x - outer.x) <= half_w and abs(y - outer.y) <= half_h for x, y in self.corners)

    def crossed_by(self, segment: Segment) -> float:
        """Pixels of a segment that run through the box."""
        x1, y1, x2, y2 = segment
        reach = (self.width + self.height) / 2  # at least as far as a corner, at any angle
        if (
            min(x1, x2) > self.x + reach
            or max(x1, x2) < self.x - reach
            or min(y1, y2) > self.y + reach
            or max(y1, y2) < self.y - reach
        ):
            return 0.0
        c, s = cos(radians(self.angle)), sin(radians(self.angle))
        ends = []
        for x, y in (segment[:2], segment[2:]):
            dx, dy = x - self.x, y - self.y
            ends.append((c * dx + s * dy, -s * dx + c * dy))
        (u1, v1), (u2, v2) = ends
        start, end = 0.0, 1.0  # Liang and Barsky's clipping
        for at, to, half in ((u1, u2 - u1, self.width / 2), (v1, v2 - v1, self.height / 2)):
            for step, room in ((-to, at + half), (to, half - at)):
                if step == 0:
                    if room < 0:
                        return 0.0
                elif step < 0:
                    start = max(start, room / step)
                else:
                    end = min(end, room / step)
        return max(end - start, 0.0) * hypot(u2 - u1, v2 - v1)


def text_size(text: str, size: float, *, bold: bool = False) -> tuple[float, float]:
    """Width and height of a line of text in pixels: at least what a common sans serif of `size` needs."""
    width = sum(_WIDTHS.get(letter, _OTHER) for letter in text) * size / 100
    return width * (BOLD if bold else 1) + 2, LINE * size


def first_free(candidates: Iterable[Box], taken: Sequence[Box], frame: Box) -> Box | None:
    """The first candidate within the frame that overlaps nothing; None where there is none."""
    for box in candidates:
        if box.inside(frame) and not any(box.overlaps(other) for other in taken):
            return box
    return None


def label_place(
    anchor: tuple[float, float],
    size: tuple[float, float],
    *,
    taken: Sequence[Box],
    lines: Sequence[Segment],
    leaders: Sequence[Segment],
    others: Sequence[tuple[float, float]] = (),
    frame: Box,
    gap: float,
) -> Box | None:
    """The best free place for an upright label of this size beside its mark.

    taken: what no label may cover. lines: what it should not cover. leaders: the lines from other labels to
    their marks; its own should neither cross one nor run through a label. others: marks that it should not
    be taken for the label of. gap: from the mark's centre to the label's nearest edge, at least.

    None where no place in the frame is free.
    """
    best, cost = None, inf
    for distance, box in _around(anchor, size, gap, frame):
        if distance >= cost:  # they come nearest first, and nothing makes one cheaper than its distance
            break
        if not box.inside(frame) or any(box.overlaps(other) for other in taken):
            continue
        leader = (*anchor, *nearest_on(box, anchor))
        near = hypot(leader[2] - leader[0], leader[3] - leader[1])
        here = distance + 10 * sum(_distance(box, other) < 1.2 * near for other in others)
        here += 60 * sum(crossing(leader, other) for other in leaders)
        if here >= cost:
            continue
        here += 0.6 * sum(box.crossed_by(line) for line in lines)
        here += 2 * sum(box.crossed_by(other) for other in leaders)
        here += 2 * sum(_shrunk(other).crossed_by(leader) for other in taken if not _holds(other, anchor))
        if here < cost:
            best, cost = box, here
    return best


def nearest_on(box: Box, point: tuple[float, float]) -> tuple[float, float]:
    """The point of an upright box that is nearest to `point`."""
    x, y = point
    half_w, half_h = box.width / 2, box.height / 2
    return (
        min(max(x, box.x - half_w), box.x + half_w),
        min(max(y, box.y - half_h), box.y + half_h),
    )


def crossing(one: Segment, two: Segment) -> bool:
    """Whether two segments cross."""

    def side(segment: Segment, x: float, y: float) -> float:
        x1, y1, x2, y2 = segment
        return (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)

    return side(one, *two[:2]) * side(one, *two[2:]) < 0 and side(two, *one[:2]) * side(two, *one[2:]) < 0


def _around(
    anchor: tuple[float, float], size: tuple[float, float], gap: float, frame: Box
) -> Iterator[tuple[float, Box]]:
    """Boxes around a mark in growing distance, the places that readers expect first."""
    (x, y), (width, height) = anchor, size
    # right, left, above, below; the corners; between them
    ways = (
        *((1, 0), (-1, 0), (0, -1), (0, 1)),
        *((1, -1), (-1, -1), (1, 1), (-1, 1)),
        *((1, -0.5), (-1, -0.5), (1, 0.5), (-1, 0.5), (0.5, -1), (-0.5, -1), (0.5, 1), (-0.5, 1)),
    )
    most = hypot(frame.width, frame.height)
    reach = gap
    while reach < most:
        for rank, (right, down) in enumerate(ways):
            box = Box(x + right * (width / 2 + reach), y + down * (height / 2 + reach), width, height)
            yield (reach - gap) + 0.25 * rank, box
        reach += 4 if reach < 10 * gap else 12


def _distance(box: Box, point: tuple[float, float]) -> float:
    x, y = nearest_on(box, point)
    return hypot(x - point[0], y - point[1])


def _shrunk(box: Box) -> Box:
    return Box(box.x, box.y, box.width * 0.9, box.height * 0.9, box.angle)


def _holds(box: Box, point: tuple[float, float]) -> bool:
    return abs(box.x - point[0]) <= box.width / 2 and abs(box.y - point[1]) <= box.height / 2
