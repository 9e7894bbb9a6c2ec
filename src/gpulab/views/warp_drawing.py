"""One request of a warp as an SVG element: its lanes above, the sectors or banks that they access below.

It has neither scripts nor identifiers, so that it works in exports and on feedback pages. A notebook holds
dozens of drawings, so equal elements share one path and one title.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from gpulab.profiling.counts.metrics import SECTOR_BYTES
from gpulab.profiling.counts.warp_access import BANKS
from gpulab.views.html import escape
from gpulab.views.tables.number_format import number_of
from gpulab.views.theme import LIGHT

if TYPE_CHECKING:
    from gpulab.profiling.counts.warp_access import Touched, TouchingLane, WarpAccess

__all__ = ["lane_list", "warp_svg"]

# All lengths are in pixels.
_PITCH = 22  # distance between neighbouring lanes
_LEFT = 46  # left edge of the first lane, which follows the labels
_TOP, _BOX = 4, 16  # top and height of the lanes
_GAP = 54  # distance between lanes and memory, which the lines cross
_WIDTH = _LEFT + BANKS * _PITCH + 4


def warp_svg(access: WarpAccess) -> str:
    """Return the drawing as an SVG element."""
    boxes = _sector_boxes(access) if access.space == "global" else _word_boxes(access)
    bottom = max((y + h for _, y, _, h in boxes), default=_TOP + _BOX)
    unit = "sector" if access.space == "global" else "word"
    accessed = number_of(len(access.touched), unit)
    label = f"{number_of(access.active, 'lane')} of a warp and the {accessed} that they access"
    return (
        '<svg class="gp-warp" role="img" xmlns="http://www.w3.org/2000/svg" font-size="10"'
        f' width="{_WIDTH}" height="{bottom + 18:g}" viewBox="0 0 {_WIDTH} {bottom + 18:g}"'
        f' aria-label="{escape(label)}"><text x="0" y="{_TOP + 12}">lane</text>'
        f'<text x="0" y="{_TOP + _BOX + _GAP + 12}">{unit}</text>'
        + "".join(_memory(access, boxes))
        + "".join(_lanes_above(access, boxes))
        + _scale(access, boxes, bottom)
        + "</svg>"
    )


Box = tuple[float, float, float, float]  # x, y, width, height


def _sector_boxes(access: WarpAccess) -> list[Box]:
    """Return the boxes of sectors from left to right; those of adjacent sectors touch each other."""
    touched = access.touched
    breaks = [b.start - a.start > SECTOR_BYTES for a, b in pairwise(touched)]
    room = BANKS * _PITCH
    gap = 3.0 if sum(breaks) > 16 else 12.0
    width = min((room - gap * sum(breaks)) / max(len(touched), 1), 8 * _PITCH)
    # A few sectors are centred below the lanes.
    x = _LEFT + (room - width * len(touched) - gap * sum(breaks)) / 2
    boxes = []
    for number in range(len(touched)):
        if number and breaks[number - 1]:
            x += gap
        boxes.append((x, float(_TOP + _BOX + _GAP), width, 18.0))
        x += width
    return boxes


def _word_boxes(access: WarpAccess) -> list[Box]:
    """Return the boxes of words, one below the other under their bank."""
    height = max(5.0, min(14.0, 120 / max(access.deepest, 1)))
    top = _TOP + _BOX + _GAP
    return [
        (_LEFT + one.column * _PITCH + 2.0, top + one.row * height, _PITCH - 4.0, height)
        for one in access.touched
    ]


def _memory(access: WarpAccess, boxes: list[Box]) -> Iterator[str]:
    """Draw sectors with their requested bytes, or words under their banks."""
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
    for style, colour, conflicting in (("gp-requested", "requested", False), ("gp-conflict", "heat-3", True)):
        if cells := _cells(access, boxes, conflicting=conflicting):
            yield f'<g class="{style}" fill="{LIGHT[colour]}" {edge}>{cells}</g>'


def _used(access: WarpAccess, boxes: list[Box]) -> str:
    """Draw the requested bytes: a line for each run of elements, dashed if they can be distinguished."""
    size = min(max(access.width, 1), SECTOR_BYTES)
    runs, element = [], 0.0
    for sector, (x, y, w, h) in zip(access.touched, boxes, strict=True):
        element = w * size / SECTOR_BYTES
        gap = 1.0 if element >= 5 else 0.0
        runs += [
            f"M{_short(x + element * first + gap)} {y + h / 2:g}h{_short(max(element * count - 2 * gap, 3))}"
            for first, count in _runs(sector.used, size)
        ]
    dashes = f' stroke-dasharray="{element - 2:g} 2"' if element >= 5 else ""
    return (
        f'<path class="gp-used" stroke="{LIGHT["plain"]}" stroke-width="14"{dashes} pointer-events="none" '
        f'd="{"".join(runs)}"/>'
    )


def _has_one_lane(touched: Touched, access: WarpAccess) -> bool:
    """Return True for a word without conflict that one lane accesses; it is drawn with its lane."""
    return access.space == "shared" and touched.row == 0 and len(touched.lanes) == 1


def _cells(access: WarpAccess, boxes: list[Box], *, conflicting: bool = False) -> str:
    """Draw the boxes of sectors or words with their titles; words of bank conflicts are drawn separately."""
    return "".join(
        f'<path d="{_rectangle(box)}">'
        f"<title>{escape(touched.name)}: {lane_list(touched.lanes)}</title></path>"
        for touched, box in zip(access.touched, boxes, strict=True)
        if (touched.row > 0) == conflicting and not _has_one_lane(touched, access)
    )


def _lanes_above(access: WarpAccess, boxes: list[Box]) -> Iterator[str]:
    """Draw the lanes, and lines from each active lane to what it accesses; both are highlighted together."""
    idle = [n for n, lane in enumerate(access.lanes) if lane is None]
    edge = f'stroke="{LIGHT["edge"]}"'
    if idle:
        drawn, text = "".join(map(_lane_box, idle)), f"{lane_list(tuple(idle))}: inactive"
        fill = f'class="gp-idle" fill="{LIGHT["outside"]}" {edge}'
        yield f'<path {fill} d="{drawn}"><title>{text}</title></path>'
    pattern = _pattern(access)
    active = [
        (n, lane, _lane(n, lane, access, boxes)) for n, lane in enumerate(access.lanes) if lane is not None
    ]
    if pattern:  # one path for all lanes, because a notebook has many drawings
        drawn = f'<title>{escape(pattern)}</title><path d="{"".join(shape for _, _, shape in active)}"/>'
    else:
        drawn = "".join(
            f'<path d="{shape}"><title>lane {n}: {escape(lane.place)}</title></path>'
            for n, lane, shape in active
        )
    yield f'<g class="gp-lanes" fill="{LIGHT["requested"]}" {edge}>{drawn}</g>{_numbers(_TOP + 12)}'


def _pattern(access: WarpAccess) -> str:
    """Return one description of all lanes if their addresses have a constant stride; otherwise ""."""
    active = [(n, lane) for n, lane in enumerate(access.lanes) if lane is not None]
    strides = {(b - a, next_.address - lane.address) for (a, lane), (b, next_) in pairwise(active)}
    if len(active) < 4 or len(strides) > 1:
        return ""
    if strides <= {(1, 0)}:
        return f"{lane_list(tuple(n for n, _ in active))}: {active[0][1].place}"
    first, second, last = (f"lane {active[n][0]}: {active[n][1].place}" for n in (0, 1, -1))
    return f"{first}, {second}, … {last}"


def _lane_box(number: int) -> str:
    return _rectangle((_LEFT + number * _PITCH + 1, _TOP, _PITCH - 2, _BOX))


def _lane(number: int, lane: TouchingLane, access: WarpAccess, boxes: list[Box]) -> str:
    """Return the path of a lane's box and of the lines to what it accesses."""
    start, drawn = f"M{_LEFT + number * _PITCH + _PITCH // 2} {_TOP + _BOX}L", _lane_box(number)
    for index in lane.touched if access.space == "global" else lane.touched[:1]:
        to_x, to_y = _aim(access.touched[index], boxes[index], lane, access)
        drawn += f"{start}{_short(to_x)} {to_y:g}"
    for index in lane.touched:
        if _has_one_lane(access.touched[index], access):
            drawn += _rectangle(boxes[index])
    return drawn


def _aim(touched: Touched, box: Box, lane: TouchingLane, access: WarpAccess) -> tuple[float, float]:
    """Return the end of a lane's line: the middle of its bytes in the sector, or the word."""
    x, y, w, h = box
    if access.space == "shared":
        return x + w / 2, y + (h / 2 if touched.row else 0)
    first = max(lane.address - touched.start, 0)
    last = min(lane.address + access.width - touched.start, SECTOR_BYTES)
    return x + w * (first + last) / 2 / SECTOR_BYTES, y


def _scale(access: WarpAccess, boxes: list[Box], bottom: float) -> str:
    """Write the names of the sectors as far as there is room, or the numbers of the banks."""
    y = f"{bottom + 12:g}"
    if access.space == "shared":
        return f'<text x="0" y="{y}">bank</text>{_numbers(bottom + 12, 4)}'
    names, free = [], 0.0
    for sector, (x, _, w, _) in zip(access.touched, boxes, strict=True):
        width = 6.6 * len(sector.name)  # estimate for a font size of 10
        left = min(max(x + w / 2 - width / 2, 0), _WIDTH - width)
        if left >= free:
            names.append(f'<text x="{left:.1f}" y="{y}">{escape(sector.name)}</text>')
            free = left + width + 10
    return "".join(names)


def _numbers(y: float, step: int = 1) -> str:
    """Write every step-th number in the middle of its column, as one text with a position for each digit."""
    digits, places = "", []
    for number in range(0, BANKS, step):
        middle = _LEFT + number * _PITCH + _PITCH // 2
        digits += str(number)
        places += [middle] if number < 10 else [middle - 3, middle + 3]
    return (
        f'<text y="{y:g}" text-anchor="middle" pointer-events="none" x="{" ".join(map(str, places))}">'
        f"{digits}</text>"
    )


def _runs(used: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield runs of adjacent requested elements of `size` bytes, aligned, as (first, count)."""
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
    """Format pixels with at most one decimal."""
    return f"{round(number, 1):g}"


def lane_list(numbers: tuple[int, ...]) -> str:
    """Format lane numbers: lanes 0-7, 12."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    ranges = ", ".join("-".join(map(str, run)) for run in runs)
    return f"lane{'s' * (len(numbers) > 1)} {ranges}"
