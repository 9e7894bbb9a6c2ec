"""The text of a roofline: its caption, its tooltips, and the table of its figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from gpulab.profiling.roofline import Ceiling, Roofline, RooflinePoint
from gpulab.views.html import View, escape
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import extents, percentage

__all__ = ["caption", "ceiling_tooltip", "figures_view", "plain_text", "point_tooltip", "rate_text"]

TOOLTIP_CHARACTERS = 72  # characters of one line of a tooltip


def caption(roofline: Roofline) -> Iterator[str]:
    """Yield sentences about the origin of lines, times and bytes, and about kernels that are left out."""
    if any(ceiling.measured for ceiling in roofline.ceilings):
        yield "Solid lines: measured on this GPU. Dashed lines: computed from the data sheet."
        clocks = [f"{c.level} {c.benchmark} {c.clock_mhz:.0f} MHz" for c in roofline.ceilings if c.clock_mhz]
        if clocks:
            yield f"Clock of the SMs during the measurements: {', '.join(clocks)}."
    else:
        yield "Dashed lines: computed from the data sheet. Nothing was measured."

    times = dict.fromkeys(str(point.provenance) for point in roofline.points)
    if times:
        yield f"Times: {'; '.join(times)}."
    origins = dict.fromkeys(str(point.bytes_provenance).partition(";")[0] for point in roofline.points)
    if origins:
        operations = dict.fromkeys(point.flops_origin for point in roofline.points)
        yield f"Bytes: {'; '.join(origins)}. Operations: {'; '.join(operations)}."
    elif roofline.problem:
        yield f"This session has no correct kernel of {roofline.problem} yet. Run its kernel cells."
    yield from roofline.notes


def ceiling_tooltip(ceiling: Ceiling) -> str:
    """Return a ceiling and its provenance, as HTML for plotly."""
    return "<br>".join([f"<b>{escape(ceiling)}</b>", *_wrapped(str(ceiling.provenance))])


def point_tooltip(roofline: Roofline, point: RooflinePoint) -> str:
    """Return all figures of a point with their provenance, as HTML for plotly."""
    occupancy = "" if point.occupancy is None else f", occupancy {percentage(point.occupancy)}"
    lines = [
        f"<b>{escape(point.variant)}</b>  {extents(point.shape)}",
        f"{rate_text(point.gflops)} GFLOPS at {point.intensity:.3g} flop per byte",
        f"time {_time(point)}",
        f"{_bytes(point.nbytes)} ({rate_text(point.gb_s)} GB/s), {point.flops:,} flops",
        f"{roofline.percent(point):.0f} % of {escape(roofline.binding(point))}",
        f"block {extents(point.block)}, tile {extents(point.tile)}{occupancy}",
    ]
    if point.bottleneck:
        lines.append(f"bound by {escape(point.bottleneck)}, according to the performance model")
    lines += _wrapped(f"time: {point.provenance}")
    lines += _wrapped(f"bytes: {point.bytes_provenance}")
    lines += [f"<b>{line}</b>" for line in _wrapped(roofline.mistake(point))]
    return "<br>".join(lines)


def figures_view(roofline: Roofline) -> View:
    """Return a table with the figures of all points; their provenance is in the tooltips."""
    columns = (
        Column("variant", "variant"),
        Column("block", lambda point: extents(point.block)),
        Column("flop/byte", "intensity", "{:.3g}".format),
        Column("bytes", "nbytes", _bytes, "bytes_provenance"),
        Column("time", _time, str, "provenance"),
        Column("GFLOPS", "gflops", rate_text),
        Column("of ceiling", roofline.percent, "{:.0f} %".format),
        Column("ceiling", roofline.binding),
        Column("occupancy", "occupancy", percentage),
    )
    return table_view(columns, roofline.points)


def plain_text(roofline: Roofline, title: str) -> str:
    """Return the roofline for a terminal, without the table of its points."""
    ceilings = (f"  {ceiling}" for ceiling in roofline.ceilings)
    return "\n".join([title, *ceilings, *roofline.mistakes, *caption(roofline)])


def rate_text(rate: float) -> str:
    """Format a rate without an exponent: four significant digits, or all digits of the integer part."""
    return f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"


def _wrapped(text: str) -> list[str]:
    return [escape(line) for line in textwrap.wrap(text, TOOLTIP_CHARACTERS)]


def _time(point: RooflinePoint) -> str:
    """Format the median time and, if there are several samples, half of their interquartile range."""
    timing = point.timing
    spread = f" ± {timing.spread_ms / 2:.1g}" if len(timing.samples_ms) > 1 else ""
    return f"{timing.median_ms:.4g}{spread} ms"


def _bytes(nbytes: float) -> str:
    """Format bytes with a decimal unit: 1 GB is 1e9 bytes."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.4g} {name}"
    return f"{nbytes:.0f} bytes"
