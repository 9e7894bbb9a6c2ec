"""One warp's access as an SVG element: lanes above, the sectors or the banks that they touch below.

Without scripts or identifiers, so that it works in exports and on feedback pages. A notebook holds dozens:
what is alike is one path, and one title.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from gpulab.profiling.counts.metrics import SECTOR_BYTES
from gpulab.profiling.counts.warp_access import BANKS
from gpulab.views.html import escape
from gpulab.views.theme import LIGHT

if TYPE_CHECKING:
    from gpulab.profiling.counts.warp_access import Touched, TouchingLane, WarpAccess

__all__ = ["lane_words", "number_of", "warp_svg"]

_PITCH = 22  # pixels from lane to lane
_LEFT = 46  # of the first lane: words stand before it
_TOP, _BOX = 4, 16  # of the lanes' boxes
_GAP = 54  # between lanes and memory, for the lines
_WIDE = _LEFT + BANKS * _PITCH + 4


def warp_svg(access: WarpAccess) -> str:
    """The drawing."""
    boxes = _sector_boxes(access) if access.space == "global" else _word_boxes(access)
    bottom = max((y + h for _, y, _, h in boxes), default=_TOP + _BOX)
    what = "sectors" if access.space == "global" else "words"
    label = f"{number_of(access.active, 'lane')} of a warp and the {len(access.touched)} {what} they touch"
    return (
        '<svg class="gp-warp" role="img" xmlns="http://www.w3.org/2000/svg" font-size="10"'
        f' width="{_WIDE}" height="{bottom + 18:g}" viewBox="0 0 {_WIDE} {bottom + 18:g}"'
        f' aria-label="{escape(label)}"><text x="0" y="{_TOP + 12}">lane</text>'
        f'<text x="0" y="{_TOP + _BOX + _GAP + 12}">{what[:-1]}</text>'
        + "".join(_memory(access, boxes))
        + "".join(_lanes_above(access, boxes))
        + _scale(access, boxes, bottom)
        + "</svg>"
    )


Box = tuple[float, float, float, float]  # x, y, width, height


def _sector_boxes(access: WarpAccess) -> list[Box]:
    """Sectors from left to right; those that are neighbours in memory touch each other."""
    touched = access.touched
    breaks = [b.start - a.start > SECTOR_BYTES for a, b in pairwise(touched)]
    room = BANKS * _PITCH
    gap = 3.0 if sum(breaks) > 16 else 12.0
    width = min((room - gap * sum(breaks)) / max(len(touched), 1), 8 * _PITCH)
    # A few sectors stand under the middle of the lanes.
    x = _LEFT + (room - width * len(touched) - gap * sum(breaks)) / 2
    boxes = []
    for number in range(len(touched)):
        if number and breaks[number - 1]:
            x += gap
        boxes.append((x, float(_TOP + _BOX + _GAP), width, 18.0))
        x += width
    return boxes


def _word_boxes(access: WarpAccess) -> list[Box]:
    """Words under their bank, one below the other."""
    height = max(5.0, min(14.0, 120 / max(access.deepest, 1)))
    top = _TOP + _BOX + _GAP
    return [
        (_LEFT + one.column * _PITCH + 2.0, top + one.row * height, _PITCH - 4.0, height)
        for one in access.touched
    ]


def _memory(access: WarpAccess, boxes: list[Box]) -> Iterator[str]:
    """What is touched: sectors with the part that lanes ask for, or words under their banks."""
    edge = f'stroke="{LIGHT["edge"]}"'
    if access.space == "global":
        yield f'<g class="gp-cells" fill="{LIGHT["outside"]}" {edge}>{_cells(access, boxes)}</g>'
        yield _used(access, boxes)
        return
    top, high = _TOP + _BOX + _GAP, max((y + h for _, y, _, h in boxes), default=0.0)
    wide, middle = _PITCH - 4, f"M{_LEFT + 2} {(top + high) / 2:g}h{BANKS * _PITCH}"
    yield (
        f'<path class="gp-banks" stroke="{LIGHT["outside"]}" stroke-width="{high - top:g}" '
        f'stroke-dasharray="{wide} {_PITCH - wide}" d="{middle}"/>'
    )
    for style, colour, again in (("gp-asked", "asked", False), ("gp-again", "heat-3", True)):
        if cells := _cells(access, boxes, again=again):
            yield f'<g class="{style}" fill="{LIGHT[colour]}" {edge}>{cells}</g>'


def _used(access: WarpAccess, boxes: list[Box]) -> str:
    """The bytes that lanes ask for: a line for each run of elements, dashed where they can be told apart."""
    size = min(max(access.width, 1), SECTOR_BYTES)
    runs, element = [], 0.0
    for one, (x, y, w, h) in zip(access.touched, boxes, strict=True):
        element = w * size / SECTOR_BYTES
        air = 1.0 if element >= 5 else 0.0
        runs += [
            f"M{_short(x + element * first + air)} {y + h / 2:g}h{_short(max(element * count - 2 * air, 3))}"
            for first, count in _runs(one.used, size)
        ]
    dashes = f' stroke-dasharray="{element - 2:g} 2"' if element >= 5 else ""
    return (
        f'<path class="gp-used" stroke="{LIGHT["plain"]}" stroke-width="14"{dashes} pointer-events="none" '
        f'd="{"".join(runs)}"/>'
    )


def _alone(one: Touched, access: WarpAccess) -> bool:
    """Whether one lane touches this word, and no other: it is drawn along with its lane."""
    return access.space == "shared" and one.row == 0 and len(one.lanes) == 1


def _cells(access: WarpAccess, boxes: list[Box], *, again: bool = False) -> str:
    """The boxes of what is touched, words that wait (`again`) apart; each says what it is."""
    return "".join(
        f'<path d="{_rectangle(box)}"><title>{escape(one.name)}: {lane_words(one.lanes)}</title></path>'
        for one, box in zip(access.touched, boxes, strict=True)
        if (one.row > 0) == again and not _alone(one, access)
    )


def _lanes_above(access: WarpAccess, boxes: list[Box]) -> Iterator[str]:
    """The lanes' boxes, and from each active one lines to what it touches; both light up together."""
    idle = [n for n, lane in enumerate(access.lanes) if lane is None]
    edge = f'stroke="{LIGHT["edge"]}"'
    if idle:
        drawn, words = "".join(map(_lane_box, idle)), f"{lane_words(tuple(idle))}: not active"
        fill = f'class="gp-idle" fill="{LIGHT["outside"]}" {edge}'
        yield f'<path {fill} d="{drawn}"><title>{words}</title></path>'
    rule = _rule(access)
    title = f"<title>{escape(rule)}</title>" if rule else ""
    drawn = "".join(
        _lane(n, lane, access, boxes, told=not rule)
        for n, lane in enumerate(access.lanes)
        if lane is not None
    )
    yield f'<g class="gp-lanes" fill="{LIGHT["asked"]}" {edge}>{title}{drawn}</g>{_numbers(_TOP + 12)}'


def _rule(access: WarpAccess) -> str:
    """What lanes access that go through memory in equal steps, in one sentence; "" where they do not."""
    active = [(n, lane) for n, lane in enumerate(access.lanes) if lane is not None]
    steps = {(b - a, two.address - one.address) for (a, one), (b, two) in pairwise(active)}
    if len(active) < 4 or len(steps) > 1:
        return ""
    if steps <= {(1, 0)}:
        return f"{lane_words(tuple(n for n, _ in active))}: {active[0][1].place}"
    first, second, last = (f"lane {active[n][0]}: {active[n][1].place}" for n in (0, 1, -1))
    return f"{first}, {second}, … {last}"


def _lane_box(number: int) -> str:
    return _rectangle((_LEFT + number * _PITCH + 1, _TOP, _PITCH - 2, _BOX))


def _lane(number: int, lane: TouchingLane, access: WarpAccess, boxes: list[Box], *, told: bool) -> str:
    start, drawn = f"M{_LEFT + number * _PITCH + _PITCH // 2} {_TOP + _BOX}L", _lane_box(number)
    for index in lane.touched if access.space == "global" else lane.touched[:1]:
        to_x, to_y = _aim(access.touched[index], boxes[index], lane, access)
        drawn += f"{start}{_short(to_x)} {to_y:g}"
    for index in lane.touched:
        if _alone(access.touched[index], access):
            drawn += _rectangle(boxes[index])
    if not told:
        return f'<path d="{drawn}"/>'
    return f'<path d="{drawn}"><title>lane {number}: {escape(lane.place)}</title></path>'


def _aim(one: Touched, box: Box, lane: TouchingLane, access: WarpAccess) -> tuple[float, float]:
    """Where a lane's line ends: in the middle of its bytes in the sector, or at the word."""
    x, y, w, h = box
    if access.space == "shared":
        return x + w / 2, y + (h / 2 if one.row else 0)
    first = max(lane.address - one.start, 0)
    last = min(lane.address + access.width - one.start, SECTOR_BYTES)
    return x + w * (first + last) / 2 / SECTOR_BYTES, y


def _scale(access: WarpAccess, boxes: list[Box], bottom: float) -> str:
    """Names below: of the sectors as far as there is room, of every bank."""
    y = f"{bottom + 12:g}"
    if access.space == "shared":
        return f'<text x="0" y="{y}">bank</text>{_numbers(bottom + 12)}'
    out, free = [], 0.0
    for one, (x, _, w, _) in zip(access.touched, boxes, strict=True):
        room = 6.6 * len(one.name)
        left = min(max(x + w / 2 - room / 2, 0), _WIDE - room)
        if left >= free:
            out.append(f'<text x="{left:.1f}" y="{y}">{escape(one.name)}</text>')
            free = left + room + 10
    return "".join(out)


def _numbers(y: float) -> str:
    """0 to 31, each in the middle of its column: one text, with a place for each of its digits."""
    digits, places = "", []
    for number in range(BANKS):
        middle = _LEFT + number * _PITCH + _PITCH // 2
        digits += str(number)
        places += [middle] if number < 10 else [middle - 3, middle + 3]
    return (
        f'<text y="{y:g}" text-anchor="middle" pointer-events="none" x="{" ".join(map(str, places))}">'
        f"{digits}</text>"
    )


def _runs(used: int, size: int) -> Iterator[tuple[int, int]]:
    """Neighbouring elements of `size` bytes that are in use, as (first, how many); all are aligned."""
    first = count = 0
    for element in range(SECTOR_BYTES // size + 1):
        if used >> element * size & ((1 << size) - 1):
            first, count = (first, count + 1) if count else (element, 1)
        elif count:
            yield first, count
            count = 0


def _rectangle(box: Box) -> str:
    x, y, w, h = (_short(number) for number in box)
    return f"M{x} {y}h{w}v{h}h-{w}z"


def _short(number: float) -> str:
    """A length in pixels to a tenth, without a zero behind the point."""
    return f"{round(number, 1):g}"


def lane_words(numbers: tuple[int, ...]) -> str:
    """`lanes 0-7, 12`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    words = ", ".join("-".join(map(str, run)) for run in runs)
    return f"lane{'s' * (len(numbers) > 1)} {words}"


def number_of(count: int, what: str) -> str:
    """`1 lane`, `32 lanes`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
