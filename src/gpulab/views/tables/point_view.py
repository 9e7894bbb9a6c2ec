"""Tables of timed points: the launches of one point, or the points of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from gpulab.views.html import View, paragraph, stack
from gpulab.views.tables.builder import Column, Footnotes, table_view
from gpulab.views.tables.number_format import (
    block_extents,
    extents,
    milliseconds,
    percentage,
    provenance_text,
    rate,
)

if TYPE_CHECKING:
    from gpulab.profiling.benchmark import Benchmark
    from gpulab.profiling.point import Point

__all__ = ["launches_view", "points_view", "shared_sources", "source_of"]

BEST = "*"


_OVERALL_RATE = Column("overall (GFLOPS)", "overall_gflops", rate, optional=True)
_KERNEL_RATE = Column("kernel (GFLOPS)", "kernel_gflops", rate, optional=True)


def launches_view(point: Point) -> View:
    """Return one row for each launch: times and rates, with the copies and of the kernel alone."""
    numbers = count(1)
    columns = [
        Column("launch", lambda _: next(numbers), str),
        Column("overall (ms)", "overall_ms", milliseconds),
        Column("kernel (ms)", "kernel_ms", milliseconds),
        _OVERALL_RATE,
        _KERNEL_RATE,
    ]
    caption = "Overall: with the copies to the device and back."
    if point.config.problem.memory_bound:
        columns += [Column("GB/s", "gb_s", rate), Column("points/s", "points_s", "{:.3g}".format)]
        caption += " GB/s: compulsory bytes divided by the time of the kernel."
    if point.provenance is not None and point.provenance.kind == "modelled":
        caption += " A modelled time is the same for every launch."
    return table_view(columns, point.iterations, caption)


def points_view(points: Sequence[Point], best: frozenset[int] = frozenset()) -> View:
    """Return one row for each point; a kernel or a size that all share is only in the caption.

    best: indices of the points that are marked as fastest.
    """
    if not points:
        return paragraph("Nothing was timed.", dim=True)

    footnotes = Footnotes()
    marks = iter(BEST if index in best else "" for index in range(len(points)))

    def bottleneck(point: Point) -> str | None:
        return f"not timed {footnotes.mark(point.error)}" if point.error else point.bottleneck or None

    names = dict.fromkeys(point.config.name for point in points)
    sizes = dict.fromkeys(extents(point.shape) for point in points)
    columns = [
        Column("", lambda _: next(marks)),
        *([Column("kernel", "config.name")] if len(names) > 1 else []),
        Column("block", lambda point: block_extents(point.block)),
        Column("tile", lambda point: extents(point.tile)),
        Column("kernel (ms)", "kernel_ms", milliseconds, "provenance"),
        _KERNEL_RATE,
        *([Column("GB/s", "gb_s", rate)] if any(p.config.problem.memory_bound for p in points) else []),
        Column("occupancy", "occupancy", percentage),
        Column("bound by", bottleneck),
        Column("overall (ms)", "overall_ms", milliseconds, "copies.provenance"),
        _OVERALL_RATE,
        *([Column("size", lambda point: extents(point.shape))] if len(sizes) > 1 else []),
    ]
    origins = shared_sources(point.timing for point in points if point.timing)
    sentences = [f"{', '.join(names)} at {', '.join(sizes)}."]
    sentences += [f"{BEST} the fastest at its size."] if best else []
    sentences += [f"Times: {'; '.join(origins)}."] if origins else []
    view = table_view(columns, points, " ".join(sentences))
    return stack(view, *map(paragraph, footnotes.lines()))


def source_of(timing: Benchmark | None) -> str:
    """Return the provenance of a time."""
    return "not known" if timing is None else provenance_text(timing.provenance)


def shared_sources(timings: Iterable[Benchmark]) -> list[str]:
    """Return the provenance of times once for each device, with the details that all its times share."""
    by_device: dict[tuple[str, str], list[Benchmark]] = {}
    for timing in timings:
        by_device.setdefault((timing.provenance.kind, timing.provenance.device), []).append(timing)

    sources = []
    for group in by_device.values():
        details, *others = [re.split(r"[,;] ", timing.provenance.detail) for timing in group]
        shared = ", ".join(part for part in details if all(part in other for other in others))
        sources.append(provenance_text(replace(group[0].provenance, detail=shared)))
    return sources
