"""One access to memory as it is shown: what it costs in words, and the drawing of its worst request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpulab.profiling.counts.metrics import SECTOR_BYTES
from gpulab.profiling.counts.warp_access import BANKS
from gpulab.views.html import View, escape
from gpulab.views.warp_drawing import lane_words, number_of, warp_svg

if TYPE_CHECKING:
    from gpulab.profiling.counts.source_lines import AccessGroup
    from gpulab.profiling.counts.warp_access import WarpAccess

__all__ = ["access_title", "access_view", "warp_view"]

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
    return f"{kind} {where}, {number_of(group.width, 'byte')} a lane: {cost} {unit} a request"


def access_view(group: AccessGroup, *, drawn: bool = True) -> View:
    """One access of a line: what it costs, in words, and (`drawn`) the drawing of its worst request."""
    traffic, unit = group.traffic, _UNITS[group.space]
    words = f"{number_of(traffic.requests, 'request')}, {number_of(traffic.units, unit)}"
    if traffic.units > traffic.fewest:
        reason = (
            "without bank conflicts" if group.space == "shared" else "if its lanes' elements lay side by side"
        )
        words += f"; {traffic.fewest_per_request:.3g} a request would do {reason}"
    if group.instructions > 1:
        words += f" ({group.instructions} instructions alike)"
    which, drawing = _which(group), warp_view(group.worst) if drawn else View()
    if not drawn:
        which = (
            "Not drawn, since accesses of other lines have more to gain; "
            f"gpulab.show_counts(..., line={group.line}) draws it."
        )
    return View(
        f'<div class="gp-line">{escape(words)}.</div><div class="gp-line gp-dim">{escape(which)}</div>'
        + drawing.html,
        f"{words}.\n{which}\n{drawing.text}",
    )


def _which(group: AccessGroup) -> str:
    access, unit = group.worst, _UNITS[group.space]
    where = f"warp {access.warp} of block ({', '.join(map(str, access.block))})"
    words = f"Drawn: {where}, {number_of(access.active, 'active lane')}, {number_of(access.units, unit)}"
    if group.first < access.units:
        words += f", the most of all; the first request took {group.first}"
    if access.space == "global":
        return f"{words}. Of {SECTOR_BYTES * access.units} bytes moved, {access.bytes_used} are asked for."
    if access.deepest > 1:
        return f"{words}. One bank has to give {access.deepest} words, one after the other."
    return f"{words}. No bank has to give more than one word."


def warp_view(access: WarpAccess) -> View:
    """The drawing alone."""
    return View(f'<div class="gp-scroll">{warp_svg(access)}</div>', "\n".join(_characters(access)))


def _characters(access: WarpAccess) -> Iterator[str]:
    if access.space == "global":
        wide = max((len(one.name) for one in access.touched), default=0)
        for one in access.touched:
            words = "".join("#" if one.used >> 4 * n & 15 else "." for n in range(SECTOR_BYTES // 4))
            yield f"  {one.name:<{wide}}  |{words}|  {lane_words(one.lanes)}"
        return
    crowded = [n for n in range(BANKS) if sum(one.column == n for one in access.touched) > 1]
    for bank in crowded:
        words_of = [one for one in access.touched if one.column == bank]
        lanes = lane_words(tuple(sorted({lane for one in words_of for lane in one.lanes})))
        yield f"  bank {bank:>2}  {'#' * len(words_of)}  {len(words_of)} words for {lanes}"
    if len(crowded) < BANKS:
        others = {one.column for one in access.touched} - set(crowded)
        yield f"  {'the other' if crowded else ''} {len(others)} banks: one word each".replace("   ", "  ")
