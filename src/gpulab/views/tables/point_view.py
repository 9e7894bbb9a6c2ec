"""Tables of timed points: the launches of one point, or the points of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpulab.views.html import View, paragraph
from gpulab.views.tables.builder import Column, Footnotes, table_view
from gpulab.views.tables.number_format import (
    MISSING,
    extents,
    milliseconds,
    percentage,
    provenance_text,
    rate,
)

if TYPE_CHECKING:
    from gpulab.profiling.benchmark import Benchmark
    from gpulab.profiling.point import Iteration, Point

__all__ = ["launches_view", "points_view", "shared_sources", "source_of"]

BEST = "*"


def launches_view(point: Point) -> View:
    """Return one row for each launch: times and rates, with the copies and of the kernel alone."""
    columns: list[Column[tuple[int, Iteration]]] = [
        Column("launch", lambda row: str(row[0]), numeric=True),
        Column("overall (ms)", lambda row: milliseconds(row[1].overall_ms), numeric=True),
        Column("kernel (ms)", lambda row: milliseconds(row[1].kernel_ms), numeric=True),
        Column("overall (GFLOPS)", lambda row: rate(row[1].overall_gflops), numeric=True),
        Column("kernel (GFLOPS)", lambda row: rate(row[1].kernel_gflops), numeric=True),
    ]
    caption = "Overall: with the copies to the device and back."
    if point.problem == "stencil":
        columns += [
            Column("GB/s", lambda row: rate(row[1].gb_s), numeric=True),
            Column("points/s", lambda row: f"{row[1].points_s or 0:.3g}", numeric=True),
        ]
        caption += " GB/s: compulsory bytes divided by the time of the kernel."
    if point.provenance is not None and point.provenance.kind == "modelled":
        caption += " A modelled time is the same for every launch."
    return table_view(columns, list(enumerate(point.iterations, 1)), caption)


def points_view(points: Sequence[Point], best: frozenset[int] = frozenset()) -> View:
    """Return one row for each point. best: indices of the points that are marked as fastest."""
    if not points:
        return paragraph("Nothing was timed.", dim=True)

    footnotes = Footnotes()
    marked = {id(points[index]) for index in best}

    def bottleneck(point: Point) -> str:
        return f"not timed {footnotes.mark(point.error)}" if point.error else point.bottleneck or MISSING

    columns: list[Column[Point]] = [
        Column("", lambda point: BEST if id(point) in marked else ""),
        Column("kernel", lambda point: f"{point.problem}.{point.variant}"),
        Column("size", lambda point: extents(point.shape)),
        Column("block", lambda point: extents(point.block)),
        Column("tile", lambda point: extents(point.tile)),
        Column("overall (ms)", lambda point: milliseconds(point.overall_ms), numeric=True),
        Column("kernel (ms)", lambda point: milliseconds(point.kernel_ms), numeric=True),
        Column("overall (GFLOPS)", lambda point: rate(point.overall_gflops), numeric=True),
        Column("kernel (GFLOPS)", lambda point: rate(point.kernel_gflops), numeric=True),
    ]
    if any(point.problem == "stencil" for point in points):
        columns.append(Column("GB/s", lambda point: rate(point.gb_s), numeric=True))
    columns += [
        Column("occupancy", lambda point: percentage(point.occupancy), numeric=True),
        Column("bound by", bottleneck),
    ]

    origins = shared_sources(point.timing for point in points if point.timing)
    sentences = [f"{BEST} the fastest at its size."] if best else []
    sentences += [f"Times: {'; '.join(origins)}."] if origins else []
    table = table_view(columns, points, " ".join(sentences))
    return footnotes.below(table)


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
