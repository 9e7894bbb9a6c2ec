"""The heat view: memory traffic and instructions of each source line, and drawings of its accesses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpulab.views.heat import amount, level, swatches
from gpulab.views.html import View, disclosure, escape, filled_columns, paragraph, stack, table
from gpulab.views.warp_view import access_title, access_view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpulab.profiling.counts.cell_counts import LaunchReport
    from gpulab.profiling.counts.metrics import Counters
    from gpulab.profiling.counts.source_lines import SourceLine, Traffic

__all__ = ["Segment", "counts_view", "drawings_view", "heat_text", "totals_view"]

Segment = tuple[str, int]  # a piece of a line of text, and its heat step
_Figure = tuple[str, int, str]  # its text, heat step and tooltip

_SHOWN = 8  # accesses of a line, those with the most excess traffic
_DRAWN = 16  # accesses of a cell, so that a notebook of long kernels stays small
_PLURALS = {"copy": "copies", "bulk copy": "bulk copies"}
_HEADERS = (("sectors", "/request"), ("conflicts", "/request"), ("instruc-", "tions, %"), ("active", "lanes"))
_TOOLTIPS = (
    "32-byte sectors of global memory per request of a warp; 32 adjacent floats need 4",
    "bank conflicts: wavefronts per request to shared memory, beyond the fewest possible",
    "share of all executed warp instructions",
    "active lanes per executed instruction, of 32",
)


def counts_view(counts: LaunchReport, *, unfolded: bool = False) -> View:
    """Return the totals, then the source with its figures; a line that accesses memory unfolds drawings.

    The line with the most excess traffic is unfolded. Without excess, `unfolded` unfolds the first line
    that accesses memory.
    """
    return stack(totals_view(counts), _listing(counts, unfolded=unfolded))


def drawings_view(line: SourceLine) -> View:
    """Return the drawings of a line's accesses, one below the other."""
    return stack(
        *(stack(paragraph(f"\n{access_title(group)}"), access_view(group)) for group in line.accesses)
    )


def heat_text(counts: LaunchReport) -> list[list[Segment]]:
    """Return the source with its figures for a terminal: lines of text segments with their heat steps."""
    figures, columns = _shown_figures(counts)
    lines: list[list[Segment]] = [
        [(f"{label:>4} " + " ".join(f"{_HEADERS[column][row]:>9}" for column in columns), 0)]
        for row, label in enumerate(("line", ""))
    ]
    for line, of_line in zip(counts.lines, figures, strict=True):
        pieces: list[Segment] = [(f"{line.number:>4} ", 0)]
        for column in columns:
            shown, heat, _ = of_line[column]
            pieces += [(f"{shown:>9}", heat), (" ", 0)]
        pieces.append((f" {line.text}".rstrip(), 0))
        lines.append(pieces)
    return lines


def totals_view(counts: LaunchReport) -> View:
    """Return the traffic of the whole launch, by memory space and kind of access."""
    rows = [
        (
            f"{space} {_PLURALS.get(kind, kind + 's')}",
            f"{traffic.requests:,}",
            f"{traffic.units:,}{'' if space == 'global' else ' wavefronts'}",
            f"{traffic.per_request:.3g}",
            f"{traffic.fewest_per_request:.3g}",
        )
        for space, kind, traffic in counts.totals
    ]
    every = counts.counters
    code = "machine code, SASS" if every.instruction_set == "SASS" else every.instruction_set
    text = (
        f"{every.warp_instructions:,} warp instructions ({code}), "
        f"{amount(every.active_threads_per_warp)} of 32 lanes active; {every.flops:,} floating-point "
        f"operations{_tensor_share(every)}; at least {every.compulsory_bytes_read:,} bytes read and "
        f"{every.compulsory_bytes_written:,} written (each sector once)."
    )
    return stack(
        paragraph(f"{counts.origin[0].upper()}{counts.origin[1:]}."),
        table(("memory", "requests", "sectors moved", "per request", "ideal"), rows, numeric=(1, 2, 3, 4)),
        paragraph(text, dim=True),
        *(paragraph(f"Not exact: {caveat}.", dim=True) for caveat in every.caveats),
    )


def _tensor_share(counters: Counters) -> str:
    """Return the operations of the tensor cores by type, for the text after the floating-point operations."""
    numbers = {
        kind.replace("_dst_", " to "): f"{number:,}" for kind, number in counters.tensor_operations.items()
    }
    integers = numbers.pop("int8", "")
    kinds = ", ".join(f"{number} {kind}" for kind, number in numbers.items())
    share = f" (by tensor cores: {kinds})" if kinds else ""
    return f"{share}; {integers} int8 operations by tensor cores" if integers else share


def _listing(counts: LaunchReport, *, unfolded: bool) -> View:
    figures, columns = _shown_figures(counts)
    headers = "".join(
        f'<i title="{escape(_TOOLTIPS[column])}">{"<br>".join(map(escape, _HEADERS[column]))}</i>'
        for column in columns
    )

    worst = max(counts.lines, key=lambda line: line.waste, default=None)
    if worst is not None and worst.waste <= 0:
        worst = next((line for line in counts.lines if line.accesses), None) if unfolded else None
    drawn = _drawn_accesses(counts)
    rows = [
        _row(line, {column: of_line[column] for column in columns}, counts, drawn, is_open=line is worst)
        for line, of_line in zip(counts.lines, figures, strict=True)
    ]

    html = (
        '<div class="gp-source"><div class="gp-rows">'
        f'<div class="gp-row gp-head"><span class="gp-figs"><span class="gp-no">line</span>{headers}</span>'
        '<span class="gp-code gp-opens">drawings of the line\'s memory accesses</span></div>'
        f'{"".join(rows)}</div></div><div class="gp-line gp-dim">Colour: counted divided by ideal. '
        f"{swatches()}</div>"
    )

    executed = replace(counts, lines=tuple(line for line in counts.lines if line.warp_instructions))
    text = "\n".join("".join(piece for piece, _ in line).rstrip() for line in heat_text(executed))
    return View(html, text)


def _drawn_accesses(counts: LaunchReport) -> set[int]:
    """Return the `id` of each access to draw: the first of every line, then those with the most excess."""
    ranked = sorted(
        (index > 0, group.traffic.fewest - group.traffic.units, line.number, index, id(group))
        for line in counts.lines
        for index, group in enumerate(line.accesses[:_SHOWN])
    )
    return {identity for *_, identity in ranked[:_DRAWN]}


def _row(
    line: SourceLine, figures: Mapping[int, _Figure], counts: LaunchReport, drawn: set[int], *, is_open: bool
) -> str:
    cells = f'<span class="gp-no">{line.number}</span>'
    for column, (figure, heat, tooltip) in figures.items():
        is_share = column == 2 and figure
        kind = ' class="gp-share"' if is_share else f' class="gp-heat-{heat}"' if heat else ""
        bar = f' style="--gp-part:{100 * line.share:.1f}%"' if is_share else ""
        title = f' title="{escape(tooltip)}; {counts.counters.provenance.kind}"' if figure else ""
        cells += f"<i{kind}{bar}{title}>{escape(figure)}</i>"
    quiet = "" if line.warp_instructions else " gp-quiet"
    inner = f'<span class="gp-figs">{cells}</span><span class="gp-code{quiet}">{escape(line.text)}</span>'
    if not line.accesses:
        return f'<div class="gp-row">{inner}</div>'

    drawings = [
        disclosure(access_title(group), access_view(group, drawn=id(group) in drawn)).html
        for group in line.accesses[:_SHOWN]
    ]
    if len(line.accesses) > _SHOWN:
        rest = f"and {len(line.accesses) - _SHOWN} more with less excess"
        drawings.append(paragraph(rest, dim=True).html)
    drawings[0] = drawings[0].replace("<details>", "<details open>", 1)
    return (
        f'<details class="gp-line-of"{" open" if is_open else ""}><summary class="gp-row">{inner}</summary>'
        f'<div class="gp-drawings">{"".join(drawings)}</div></details>'
    )


def _shown_figures(counts: LaunchReport) -> tuple[list[list[_Figure]], list[int]]:
    """Return the figures of each line, and the columns that have a figure in any line."""
    figures = [_figures(line, counts) for line in counts.lines]
    return figures, filled_columns([text for text, *_ in of_line] for of_line in figures)


def _figures(line: SourceLine, counts: LaunchReport) -> list[_Figure]:
    """Return the four figures of a line."""
    if not line.warp_instructions:
        return [("", 0, "")] * 4

    sectors = conflicts = ("", 0, "")
    if line.sectors is not None:
        tooltip = _traffic_text(line.sectors, "sector")
        sectors = (amount(line.sectors.per_request), level(line.sectors.excess), tooltip)
    if line.wavefronts is not None:
        extra = line.wavefronts.units - line.wavefronts.fewest
        tooltip = f"{_traffic_text(line.wavefronts, 'wavefront')}; {extra:,} bank conflicts"
        per_request = extra / line.wavefronts.requests if line.wavefronts.requests else 0.0
        conflicts = (amount(per_request), level(line.wavefronts.excess), tooltip)

    executed = f"{line.warp_instructions:,} of {counts.counters.warp_instructions:,} warp instructions"
    idle = 32 / line.active_lanes if line.active_lanes else 32.0
    return [
        sectors,
        conflicts,
        (amount(100 * line.share), 0, executed),
        (amount(line.active_lanes), level(idle), f"{line.active_lanes:.2f} of 32 lanes are active"),
    ]


def _traffic_text(traffic: Traffic, unit: str) -> str:
    return f"{traffic.requests:,} requests, {traffic.units:,} {unit}s; ideal: {traffic.fewest:,} {unit}s"
