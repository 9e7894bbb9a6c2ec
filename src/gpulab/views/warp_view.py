"""The view of one memory access: its traffic, and the drawing of its worst request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpulab.profiling.counts.metrics import SECTOR_BYTES
from gpulab.profiling.counts.warp_access import BANKS
from gpulab.views.html import View, escape
from gpulab.views.tables.number_format import number_of
from gpulab.views.warp_drawing import lane_list, warp_svg

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
    """Return the title of an access: load of A0, 4 bytes per lane: 4.67 sectors per request."""
    array = group.array or f"{group.space} memory"
    if group.array and group.space == "shared":
        array += " in shared memory"
    kind = _KINDS.get(group.kind, f"{group.kind} in")
    cost = f"{group.traffic.per_request:.3g}"
    unit = _UNITS[group.space] + "s" * (cost != "1")
    return f"{kind} {array}, {number_of(group.width, 'byte')} per lane: {cost} {unit} per request"


def access_view(group: AccessGroup, *, drawn: bool = True) -> View:
    """Return the traffic of an access and, if `drawn`, the drawing of its worst request."""
    traffic, unit = group.traffic, _UNITS[group.space]
    text = f"{number_of(traffic.requests, 'request')}, {number_of(traffic.units, unit)}"
    if traffic.units > traffic.fewest:
        condition = "without bank conflicts" if group.space == "shared" else "if the elements were adjacent"
        text += f"; {traffic.fewest_per_request:.3g} per request {condition}"
    if group.instructions > 1:
        text += f" ({group.instructions} equal instructions)"

    drawing = warp_view(group.worst) if drawn else View()
    request = _request_text(group)
    if not drawn:
        request = (
            "Not drawn, because other accesses have more excess traffic; "
            f"gpulab.show_counts(..., line={group.line}) draws it."
        )
    return View(
        f'<div class="gp-line">{escape(text)}.</div><div class="gp-line gp-dim">{escape(request)}</div>'
        + drawing.html,
        f"{text}.\n{request}\n{drawing.text}",
    )


def _request_text(group: AccessGroup) -> str:
    """Return a sentence about the request that is drawn."""
    access, unit = group.worst, _UNITS[group.space]
    warp = f"warp {access.warp} of block ({', '.join(map(str, access.block))})"
    text = f"Drawn: {warp}, {number_of(access.active, 'active lane')}, {number_of(access.units, unit)}"
    if group.first < access.units:
        text += f", the most of all requests; the first has {group.first}"
    if access.space == "global":
        return f"{text}. Of {SECTOR_BYTES * access.units} bytes moved, {access.bytes_used} are requested."
    if access.deepest > 1:
        return f"{text}. One bank serves {access.deepest} words, one after the other."
    return f"{text}. No bank serves more than one word."


def warp_view(access: WarpAccess) -> View:
    """Return the drawing of a request."""
    return View(f'<div class="gp-scroll">{warp_svg(access)}</div>', "\n".join(_characters(access)))


def _characters(access: WarpAccess) -> Iterator[str]:
    """Yield the drawing as lines of characters: a word per column, a sector or a bank per line."""
    if access.space == "global":
        width = max((len(sector.name) for sector in access.touched), default=0)
        for sector in access.touched:
            words = "".join("#" if sector.used >> 4 * n & 15 else "." for n in range(SECTOR_BYTES // 4))
            yield f"  {sector.name:<{width}}  |{words}|  {lane_list(sector.lanes)}"
        return

    in_bank = [[word for word in access.touched if word.column == bank] for bank in range(BANKS)]
    for bank, words_in_bank in enumerate(in_bank):
        if len(words_in_bank) > 1:
            lanes = lane_list(tuple(sorted({lane for word in words_in_bank for lane in word.lanes})))
            count = len(words_in_bank)
            yield f"  bank {bank:>2}  {'#' * count}  {count} words for {lanes}"
    single = sum(len(words_in_bank) == 1 for words_in_bank in in_bank)
    conflicts = any(len(words_in_bank) > 1 for words_in_bank in in_bank)
    if single or not conflicts:
        yield f"  {'the other ' if conflicts else ''}{single} banks: one word each"
