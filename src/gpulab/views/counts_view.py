"""What a kernel asks of the machine, line by line: the source with its heat, and a drawing of each access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.views.heat import amount, level, swatches
from gpulab.views.html import View, disclosure, escape, paragraph, stack, table
from gpulab.views.warp_view import access_title, access_view

if TYPE_CHECKING:
    from gpulab.profiling.counts.cell_counts import LaunchReport
    from gpulab.profiling.counts.source_lines import SourceLine, Traffic

__all__ = ["Segment", "counts_view", "drawings_view", "heat_text", "totals_view"]

Segment = tuple[str, int]  # a piece of a line of text, and its step on the heat scale

_DRAWN = 8  # accesses of a line that are shown, the ones with the most to gain
_DRAWN_IN_ALL = 16  # in a cell, so that a notebook of long kernels stays small
_SEVERAL = {"copy": "copies"}
_HEADS = (("sectors", "a request"), ("conflicts", "a request"), ("instruc-", "tions, %"), ("active", "lanes"))
_HEADS_SAY = (
    "32-byte sectors of global memory for each request of a warp; 4 hold 32 neighbouring floats",
    "wavefronts beyond the fewest for each request to shared memory: bank conflicts",
    "share of all instructions that warps executed",
    "active lanes for each executed instruction, of 32",
)


def counts_view(counts: LaunchReport) -> View:
    """The totals, then the source with its columns of heat; a line that accesses memory opens drawings."""
    return stack(totals_view(counts), _listing(counts))


def drawings_view(line: SourceLine) -> View:
    """The drawings of a line's accesses, one below the other."""
    return stack(*(stack(paragraph(f"\n{access_title(g)}"), access_view(g)) for g in line.accesses))


def heat_text(counts: LaunchReport) -> list[list[Segment]]:
    """The source with its figures for a terminal: lines of pieces of text, each with its heat."""
    lines: list[list[Segment]] = [
        [(f"{'line':>4} " + " ".join(f"{head[row]:>9}" for head in _HEADS), 0)] if row == 0
        else [(f"{'':>4} " + " ".join(f"{head[row]:>9}" for head in _HEADS), 0)]
        for row in (0, 1)
    ]  # fmt: skip
    for line in counts.lines:
        pieces: list[Segment] = [(f"{line.number:>4} ", 0)]
        for shown, heat, _ in _figures(line, counts):
            pieces += [(f"{shown:>9}", heat), (" ", 0)]
        pieces.append((f" {line.text}".rstrip(), 0))
        lines.append(pieces)
    return lines


def totals_view(counts: LaunchReport) -> View:
    """What the whole launch took, by memory and kind of access."""
    rows = [
        (
            f"{space} {_SEVERAL.get(kind, kind + 's')}",
            f"{traffic.requests:,}",
            f"{traffic.units:,} {'sectors' if space == 'global' else 'wavefronts'}",
            f"{traffic.per_request:.3g}",
            f"{traffic.fewest_per_request:.3g}",
        )
        for space, kind, traffic in counts.totals
    ]
    every = counts.counters
    code = "machine code, SASS" if every.instruction_set == "SASS" else every.instruction_set
    words = (
        f"{every.warp_instructions:,} warp instructions ({code}), "
        f"{amount(every.active_threads_per_warp)} of 32 lanes active; {every.flops:,} floating point "
        f"operations; at least {every.compulsory_bytes_read:,} bytes read and "
        f"{every.compulsory_bytes_written:,} written (every sector once)."
    )
    return stack(
        paragraph(f"{counts.origin[0].upper()}{counts.origin[1:]}."),
        table(("memory", "requests", "took", "a request", "would do"), rows, numeric=(1, 2, 3, 4)),
        paragraph(words, dim=True),
        *(paragraph(f"Not exact: {caveat}.", dim=True) for caveat in every.caveats),
    )


def _listing(counts: LaunchReport) -> View:
    heads = "".join(
        f'<i title="{escape(says)}">{escape(head[0])}<br>{escape(head[1])}</i>'
        for head, says in zip(_HEADS, _HEADS_SAY, strict=True)
    )
    worst = max(counts.lines, key=lambda line: line.waste, default=None)
    drawn = _most_to_gain(counts)
    rows = [_row(line, counts, drawn, is_open=line is worst and line.waste > 0) for line in counts.lines]
    html = (
        '<div class="gp-source"><div class="gp-rows">'
        f'<div class="gp-row gp-head"><span class="gp-figs"><span class="gp-no">line</span>{heads}</span>'
        '<span class="gp-code gp-opens">opens drawings of a line\'s accesses to memory</span></div>'
        f'{"".join(rows)}</div></div><div class="gp-line gp-dim">Colour: what is taken, over what would do. '
        f"{swatches()}</div>"
    )
    text = "\n".join("".join(piece for piece, _ in line).rstrip() for line in heat_text(counts))
    return View(html, text)


def _most_to_gain(counts: LaunchReport) -> set[int]:
    """The accesses that are drawn, by `id`: of every line its first one, then those with the most to gain."""
    ranked = sorted(
        (place > 0, group.traffic.fewest - group.traffic.units, line.number, place, id(group))
        for line in counts.lines
        for place, group in enumerate(line.accesses[:_DRAWN])
    )
    return {number for *_, number in ranked[:_DRAWN_IN_ALL]}


def _row(line: SourceLine, counts: LaunchReport, drawn: set[int], *, is_open: bool) -> str:
    figures = f'<span class="gp-no">{line.number}</span>'
    columns = _figures(line, counts) if line.warp_instructions else []
    for column, (shown, heat, says) in enumerate(columns):
        kind = ' class="gp-share"' if column == 2 else f' class="gp-heat-{heat}"' if heat else ""
        bar = f' style="--gp-part:{100 * line.share:.1f}%"' if column == 2 else ""
        title = f' title="{escape(says)}; {counts.counters.provenance.kind}"' if shown else ""
        figures += f"<i{kind}{bar}{title}>{escape(shown)}</i>"
    quiet = "" if line.warp_instructions else " gp-quiet"
    inner = f'<span class="gp-figs">{figures}</span><span class="gp-code{quiet}">{escape(line.text)}</span>'
    if not line.accesses:
        return f'<div class="gp-row">{inner}</div>'
    drawings = [
        disclosure(access_title(g), access_view(g, drawn=id(g) in drawn)).html for g in line.accesses[:_DRAWN]
    ]
    if len(line.accesses) > _DRAWN:
        drawings.append(paragraph(f"and {len(line.accesses) - _DRAWN} more that take less", dim=True).html)
    drawings[0] = drawings[0].replace("<details>", "<details open>", 1)
    return (
        f'<details class="gp-line-of"{" open" if is_open else ""}><summary class="gp-row">{inner}</summary>'
        f'<div class="gp-drawings">{"".join(drawings)}</div></details>'
    )


def _figures(line: SourceLine, counts: LaunchReport) -> list[tuple[str, int, str]]:
    """The four columns of a line: what is shown, its heat, and what hovering over it says."""
    if not line.warp_instructions:
        return [("", 0, "")] * 4
    sectors = conflicts = ("", 0, "")
    if line.sectors is not None:
        says = _says(line.sectors, "request", "sector")
        sectors = (amount(line.sectors.per_request), level(line.sectors.excess), says)
    if line.wavefronts is not None:
        beyond = line.wavefronts.units - line.wavefronts.fewest
        says = f"{_says(line.wavefronts, 'request', 'wavefront')}; {beyond:,} bank conflicts"
        per = beyond / line.wavefronts.requests if line.wavefronts.requests else 0.0
        conflicts = (amount(per), level(line.wavefronts.excess), says)
    executed = f"{line.warp_instructions:,} of {counts.counters.warp_instructions:,} warp instructions"
    idle = 32 / line.active_lanes if line.active_lanes else 32.0
    return [
        sectors,
        conflicts,
        (amount(100 * line.share), 0, executed),
        (amount(line.active_lanes), level(idle), f"{line.active_lanes:.2f} of 32 lanes are active"),
    ]


def _says(traffic: Traffic, requests: str, units: str) -> str:
    return (
        f"{traffic.requests:,} {requests}s, {traffic.units:,} {units}s; {traffic.fewest:,} {units}s would do"
    )
