"""The drawing of one warp's access: lanes above, the sectors or the banks that they touch below.

As inline SVG, without scripts or identifiers, so that it works in exports and on feedback pages, and in
characters for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from gpulab.evidence.tally import SECTOR_BYTES
from gpulab.evidence.warp_access import BANKS
from gpulab.notebook.html import View, escape
from gpulab.notebook.theme import LIGHT

if TYPE_CHECKING:
    from gpulab.evidence.line_counts import AccessGroup
    from gpulab.evidence.warp_access import Touched, TouchingLane, WarpAccess

__all__ = ["access_title", "access_view", "warp_view"]

_PITCH = 22  # pixels from lane to lane
_LEFT = 46  # of the first lane: words stand before it
_TOP, _BOX = 4, 16  # of the lanes' boxes
_GAP = 54  # between lanes and memory, for the lines
_WIDE = _LEFT + BANKS * _PITCH + 4
_UNITS = {"global": "sector", "shared": "wavefront"}
_KINDS = {
    "atomic": "atomic operation on",
    "reduction": "reduction on",
    "load": "load of",
    "store": "store to",
}


def access_title(group: AccessGroup) -> str:
    """Which access this is: `load of A0, 4 bytes a lane: 4.67 sectors a request`."""
    where = group.array or f"{group.space} memory"
    if group.array and group.space == "shared":
        where += " in shared memory"
    kind = _KINDS.get(group.kind, f"{group.kind} in")
    cost = f"{group.traffic.per_request:.3g}"
    unit = _UNITS[group.space] + "s" * (cost != "1")
    return f"{kind} {where}, {_number(group.width, 'byte')} a lane: {cost} {unit} a request"


def access_view(group: AccessGroup) -> View:
    """One access of a line: what it costs, in words, and the drawing of its worst request."""
    traffic, unit = group.traffic, _UNITS[group.space]
    words = f"{_number(traffic.requests, 'request')}, {_number(traffic.units, unit)}"
    if traffic.units > traffic.fewest:
        reason = (
            "without bank conflicts" if group.space == "shared" else "if its lanes' elements lay side by side"
        )
        words += f"; {traffic.fewest_per_request:.3g} a request would do {reason}"
    if group.instructions > 1:
        words += f" ({group.instructions} instructions alike)"
    drawing = warp_view(group.worst)
    which = _which(group)
    return View(
        f'<div class="gp-line">{escape(words)}.</div><div class="gp-line gp-dim">{escape(which)}</div>'
        + drawing.html,
        f"{words}.\n{which}\n{drawing.text}",
    )


def _which(group: AccessGroup) -> str:
    access, unit = group.worst, _UNITS[group.space]
    where = f"warp {access.warp} of block ({', '.join(map(str, access.block))})"
    words = f"Drawn: {where}, {_number(access.active, 'active lane')}, {_number(access.units, unit)}"
    if group.first < access.units:
        words += f", the most of all; the first request took {group.first}"
    if access.space == "global":
        return f"{words}. Of {SECTOR_BYTES * access.units} bytes moved, {access.bytes_used} are asked for."
    if access.deepest > 1:
        return f"{words}. One bank has to give {access.deepest} words, one after the other."
    return f"{words}. No bank has to give more than one word."


def warp_view(access: WarpAccess) -> View:
    """The drawing alone."""
    return View(f'<div class="gp-scroll">{_svg(access)}</div>', "\n".join(_characters(access)))


# --- SVG ---------------------------------------------------------------------------------------


def _svg(access: WarpAccess) -> str:
    boxes = _sector_boxes(access) if access.space == "global" else _word_boxes(access)
    bottom = max((y + h for _, y, _, h in boxes), default=_TOP + _BOX)
    what = "sectors" if access.space == "global" else "words"
    label = f"{_number(access.active, 'lane')} of a warp and the {len(access.touched)} {what} they touch"
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
        yield f'<g class="gp-cells" fill="{LIGHT["outside"]}" {edge}>{_cells(access, boxes, range(1))}</g>'
        used = "".join(
            _element(x + w * first / SECTOR_BYTES, y, w * count / SECTOR_BYTES, h)
            for one, (x, y, w, h) in zip(access.touched, boxes, strict=True)
            for first, count in _elements(one.used, access.width)
        )
        yield f'<path class="gp-used" fill="{LIGHT["plain"]}" pointer-events="none" d="{used}"/>'
        return
    top, high = _TOP + _BOX + _GAP, max((y + h for _, y, _, h in boxes), default=0.0)
    wide = _PITCH - 4
    banks = "".join(f"M{_LEFT + n * _PITCH + 2} {top}h{wide}v{high - top:g}h-{wide}z" for n in range(BANKS))
    yield f'<path class="gp-outside-fill" fill="{LIGHT["outside"]}" d="{banks}"/>'
    for style, colour, rows in (
        ("gp-asked", "asked", range(1)), ("gp-again", "heat-3", range(1, access.deepest)),
    ):  # fmt: skip
        yield f'<g class="{style}" fill="{LIGHT[colour]}" {edge}>{_cells(access, boxes, rows)}</g>'


def _cells(access: WarpAccess, boxes: list[Box], rows: range) -> str:
    """The boxes of what is touched in these rows; each says what it is."""
    return "".join(
        f'<path d="M{_short(x)} {_short(y)}h{_short(w)}v{_short(h)}h-{_short(w)}z">'
        f"<title>{escape(one.name)}: {_lanes(one.lanes)}</title></path>"
        for one, (x, y, w, h) in zip(access.touched, boxes, strict=True)
        if one.row in rows
    )


def _lanes_above(access: WarpAccess, boxes: list[Box]) -> Iterator[str]:
    """The lanes' boxes, and from each active one lines to what it touches; both light up together."""
    for active, style, colour in ((False, "gp-idle", "outside"), (True, "gp-lanes", "asked")):
        members = [n for n, lane in enumerate(access.lanes) if (lane is not None) == active]
        drawn = "".join(_lane(number, access.lanes[number], access, boxes) for number in members)
        yield f'<g class="{style}" fill="{LIGHT[colour]}" stroke="{LIGHT["edge"]}">{drawn}</g>'
    numbers = "".join(
        f'<text x="{_LEFT + n * _PITCH + _PITCH // 2}" y="{_TOP + 12}">{n}</text>' for n in range(32)
    )
    yield f'<g text-anchor="middle" pointer-events="none">{numbers}</g>'


def _lane(number: int, lane: TouchingLane | None, access: WarpAccess, boxes: list[Box]) -> str:
    x = _LEFT + number * _PITCH
    told, line = f"lane {number}: not active", ""
    if lane is not None:
        told = f"lane {number}: {lane.place}"
        ends = [
            _aim(access.touched[index], boxes[index], lane, access)
            for index in (lane.touched if access.space == "global" else lane.touched[:1])
        ]
        start = f"M{x + _PITCH // 2} {_TOP + _BOX}L"
        line = "".join(f"{start}{_short(to_x)} {to_y:g}" for to_x, to_y in ends)
    box = f"M{x + 1} {_TOP}h{_PITCH - 2}v{_BOX}h-{_PITCH - 2}z"
    return f'<path d="{box}{line}"><title>{escape(told)}</title></path>'


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
        numbers = "".join(
            f'<text x="{_LEFT + n * _PITCH + _PITCH // 2}" y="{y}">{n}</text>' for n in range(BANKS)
        )
        return f'<text x="0" y="{y}">bank</text><g text-anchor="middle">{numbers}</g>'
    out, free = [], 0.0
    for one, (x, _, w, _) in zip(access.touched, boxes, strict=True):
        room = 6.6 * len(one.name)
        left = min(max(x + w / 2 - room / 2, 0), _WIDE - room)
        if left >= free:
            out.append(f'<text x="{left:.1f}" y="{y}">{escape(one.name)}</text>')
            free = left + room + 10
    return "".join(out)


def _elements(used: int, width: int) -> Iterator[tuple[int, int]]:
    """The bytes in use as (first, how many), element by element; an access is aligned to its width."""
    size = min(max(width, 1), SECTOR_BYTES)
    for first in range(0, SECTOR_BYTES, size):
        if used >> first & ((1 << size) - 1):
            yield first, size


def _element(x: float, y: float, w: float, h: float) -> str:
    """An element in its sector; with some air around it where there is room."""
    air = 1.0 if w >= 5 else 0.0
    wide = max(w - 2 * air, 3.0)
    return f"M{_short(x + air)} {y + 2:g}h{_short(wide)}v{h - 4:g}h-{_short(wide)}z"


def _short(number: float) -> str:
    """A length in pixels to a tenth, without a zero behind the point."""
    return f"{round(number, 1):g}"


def _lanes(numbers: tuple[int, ...]) -> str:
    """`lanes 0-7, 12`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    words = ", ".join("-".join(map(str, run)) for run in runs)
    return f"lane{'s' * (len(numbers) > 1)} {words}"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


# --- characters --------------------------------------------------------------------------------


def _characters(access: WarpAccess) -> Iterator[str]:
    if access.space == "global":
        wide = max((len(one.name) for one in access.touched), default=0)
        for one in access.touched:
            words = "".join("#" if one.used >> 4 * n & 15 else "." for n in range(SECTOR_BYTES // 4))
            yield f"  {one.name:<{wide}}  |{words}|  {_lanes(one.lanes)}"
        return
    crowded = [n for n in range(BANKS) if sum(one.column == n for one in access.touched) > 1]
    for bank in crowded:
        words_of = [one for one in access.touched if one.column == bank]
        lanes = _lanes(tuple(sorted({lane for one in words_of for lane in one.lanes})))
        yield f"  bank {bank:>2}  {'#' * len(words_of)}  {len(words_of)} words for {lanes}"
    if len(crowded) < BANKS:
        others = {one.column for one in access.touched} - set(crowded)
        yield f"  {'the other' if crowded else ''} {len(others)} banks: one word each".replace("   ", "  ")
