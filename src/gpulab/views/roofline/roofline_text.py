"""What a roofline says in words: labels, the caption, what hovering shows, and the table of its figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from gpulab.profiling.roofline import Ceiling, Point, Roofline
from gpulab.views.html import View, escape, table

__all__ = ["caption", "ceiling_words", "figures_table", "plain_text", "point_words", "roof_names"]

HOVER_LETTERS = 72  # of a line


def roof_names(ceilings: Sequence[Ceiling]) -> Iterator[str]:
    """What roofs that share a label are called, the longest name first."""
    first = ceilings[0]
    kind = "measured" if first.measured else "data sheet"
    rates = ", ".join(
        " ".join(part for part in (each.benchmark, f"{each.rate:,.0f}") if part) for each in ceilings
    )
    yield f"{first.level} {rates} {first.unit}, {kind}"
    yield f"{first.level} {first.rate:,.0f} {first.unit}, {kind}"
    yield f"{first.level} {first.rate:,.0f} {first.unit}"
    yield first.level


def caption(roofline: Roofline) -> Iterator[str]:
    """Where lines, times and bytes come from, and what is left out; a sentence or two each."""
    if any(ceiling.measured for ceiling in roofline.ceilings):
        yield "Solid lines: measured here. Dashed lines: from the data sheet."
        clocks = [f"{c.level} {c.benchmark} {c.clock_mhz:.0f} MHz" for c in roofline.ceilings if c.clock_mhz]
        if clocks:
            yield f"Clock of the SMs while the ceilings were measured: {', '.join(clocks)}."
    else:
        yield "Dashed lines: from the data sheet; nothing was measured."
    times = dict.fromkeys(str(point.provenance) for point in roofline.points)
    if times:
        yield f"Times: {'; '.join(times)}."
    origins = dict.fromkeys(str(point.bytes_provenance).partition(";")[0] for point in roofline.points)
    if origins:
        yield f"Bytes: {'; '.join(origins)}. Operations: as the lab counts them."
    elif roofline.problem:
        yield f"No variant of {roofline.problem} is right yet in this session: run its kernel cells."
    yield from roofline.notes


def ceiling_words(ceiling: Ceiling) -> list[str]:
    """What hovering over a roof says, line by line, as HTML."""
    return [f"<b>{escape(ceiling)}</b>", *_wrapped(str(ceiling.provenance))]


def point_words(roofline: Roofline, point: Point) -> list[str]:
    """What hovering over a point says, line by line, as HTML."""
    block, tile = ("x".join(map(str, each)) for each in (point.block, point.tile))
    said = [
        f"<b>{escape(point.variant)}</b>  {'x'.join(map(str, point.shape))}",
        f"{_rate(point.gflops)} GFLOPS at {point.intensity:.3g} flop per byte",
        f"time {_time(point)}",
        f"{_bytes(point.nbytes)} ({_rate(point.gb_s)} GB/s), {point.flops:,} flops",
        f"{roofline.percent(point):.0f} % of {escape(roofline.binding(point))}",
        f"block {block}, tile {tile}" + _occupied(point),
    ]
    if point.bottleneck:
        said.append(f"bound by {escape(point.bottleneck)}, says the model")
    said += _wrapped(f"time: {point.provenance}")
    said += _wrapped(f"bytes: {point.bytes_provenance}")
    mistake = roofline.mistake(point)
    return said + [f"<b>{line}</b>" for line in _wrapped(mistake)] if mistake else said


def _occupied(point: Point) -> str:
    return "" if point.occupancy is None else f", occupancy {100 * point.occupancy:.0f} %"


def _wrapped(words: str) -> list[str]:
    return [escape(line) for line in textwrap.wrap(words, HOVER_LETTERS)]


def figures_table(roofline: Roofline) -> View:
    """What hovering over the points says, as a table."""
    headers = (
        "variant", "block", "flop per byte", "bytes", "time", "GFLOPS", "of its roof", "roof", "occupancy",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    hover: dict[tuple[int, int], str] = {}
    for number, point in enumerate(roofline.points):
        occupancy = "-" if point.occupancy is None else f"{100 * point.occupancy:.0f} %"
        rows.append(
            (point.variant, "x".join(map(str, point.block)), f"{point.intensity:.3g}",
             _bytes(point.nbytes), _time(point), _rate(point.gflops),
             f"{roofline.percent(point):.0f} %", str(roofline.binding(point)), occupancy)
        )  # fmt: skip
        hover |= {(number, 3): str(point.bytes_provenance), (number, 4): str(point.provenance)}
    return table(headers, rows, numeric=(2, 3, 4, 5, 6, 8), hover=hover)


def _time(point: Point) -> str:
    """The median time with half the spread of its samples, where there are several."""
    timing = point.timing
    spread = f" ± {timing.spread_ms / 2:.1g}" if len(timing.samples_ms) > 1 else ""
    return f"{timing.median_ms:.4g}{spread} ms"


def _bytes(nbytes: float) -> str:
    """Bytes with a unit: 1 GB is 1e9 bytes."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.4g} {name}"
    return f"{nbytes:.0f} bytes"


def _rate(rate: float) -> str:
    """A rate without an exponent: four digits, or all of those before the point."""
    return f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"


def plain_text(roofline: Roofline, title: str) -> str:
    """The picture for a terminal; its figures are in `figures_table`."""
    ceilings = (f"  {ceiling}" for ceiling in roofline.ceilings)
    return "\n".join([title, *ceilings, *roofline.mistakes, *caption(roofline)])
