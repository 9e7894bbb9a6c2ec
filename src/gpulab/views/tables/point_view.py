"""Timed points as tables: the launches of one, or many of a sweep beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpulab.views.html import View, paragraph, stack, table
from gpulab.views.tables.speedup_view import milliseconds

if TYPE_CHECKING:
    from gpulab.profiling.benchmark import Benchmark
    from gpulab.profiling.point import Point

__all__ = ["launches_view", "points_view", "rate", "shared_sources", "source_of"]

BEST = "*"
WALL_TIME = "tells nothing about a GPU"


def launches_view(point: Point) -> View:
    """One line for each launch: its milliseconds and its rates, overall and of the kernel alone."""
    pointwise = point.problem == "stencil"
    headers = ["launch", "overall (ms)", "kernel (ms)", "overall (GFLOPS)", "kernel (GFLOPS)"]
    headers += ["GB/s", "points/s"] if pointwise else []
    rows = []
    for number, one in enumerate(point.iterations, 1):
        row = [str(number), milliseconds(one.overall_ms), milliseconds(one.kernel_ms)]
        row += [rate(one.overall_gflops), rate(one.kernel_gflops)]
        row += [rate(one.gb_s), f"{one.points_s or 0:.3g}"] if pointwise else []
        rows.append(row)
    caption = "Overall: with the copies to the device and back."
    if pointwise:
        caption += " GB/s: bytes that no kernel can avoid, by the kernel's time."
    if point.provenance is not None and point.provenance.kind == "modelled":
        caption += " A modelled time is the same for every launch."
    return table(headers, rows, numeric=range(len(headers)), caption=caption)


def points_view(points: Sequence[Point], best: frozenset[int] = frozenset()) -> View:
    """Points in the order given, the places in `best` marked; below, why some of them have no time."""
    if not points:
        return paragraph("Nothing was timed.", dim=True)
    pointwise = any(point.problem == "stencil" for point in points)
    headers = ["", "kernel", "size", "block", "tile", "overall (ms)", "kernel (ms)", "overall (GFLOPS)"]
    headers += ["kernel (GFLOPS)", *(["GB/s"] if pointwise else []), "occupancy", "bound by"]
    reasons: dict[str, int] = {}
    rows = []
    for place, point in enumerate(points):
        row = [BEST if place in best else "", f"{point.problem}.{point.variant}"]
        row += [_times(point.shape), _times(point.block), _times(point.tile)]
        row += [milliseconds(point.overall_ms), milliseconds(point.kernel_ms)]
        row += [rate(point.overall_gflops), rate(point.kernel_gflops)]
        row += [rate(point.gb_s)] if pointwise else []
        row += ["-" if point.occupancy is None else f"{point.occupancy:.0%}"]
        last = point.bottleneck or "-"
        if point.why_not:
            last = f"not timed ({reasons.setdefault(point.why_not, len(reasons) + 1)})"
        rows.append([*row, last])
    sources = shared_sources(point.timing for point in points if point.timing)
    caption = f"{BEST} the fastest at its size. " if best else ""
    caption += f"Times: {'; '.join(sources)}." if sources else ""
    shown = table(headers, rows, numeric=range(5, len(headers) - 1), caption=caption.strip())
    return stack(shown, *(paragraph(f"({number}) {why_not}") for why_not, number in reasons.items()))


def source_of(timing: Benchmark | None) -> str:
    """Where a time comes from, in words."""
    if timing is None:
        return "not known"
    words = str(timing.provenance)
    return f"{words} ({WALL_TIME})" if timing.provenance.kind == "simulator wall time" else words


def shared_sources(timings: Iterable[Benchmark]) -> list[str]:
    """Where times come from, each device once, with what is said of all of its times and not of one alone."""
    details: dict[tuple[str, str], list[list[str]]] = {}
    first: dict[tuple[str, str], Benchmark] = {}
    for timing in timings:
        key = timing.provenance.kind, timing.provenance.device
        first.setdefault(key, timing)
        details.setdefault(key, []).append(re.split(r"[,;] ", timing.provenance.detail))
    words = []
    for device, timing in first.items():
        parts, *others = details[device]
        shared = ", ".join(part for part in parts if all(part in other for other in others))
        words.append(source_of(replace(timing, provenance=replace(timing.provenance, detail=shared))))
    return words


def rate(value: float | None) -> str:
    """Three significant figures, or four above a thousand: 0.123, 12.3, 169, 1,234."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _times(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))
