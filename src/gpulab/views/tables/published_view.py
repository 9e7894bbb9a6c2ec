"""A table of published figures: geometry, GFLOPS, and the source in the caption and on every number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpulab.errors import UsageError
from gpulab.problems import problem
from gpulab.problems.base import Block
from gpulab.problems.published import PublishedRow, Source, rows, source, sources
from gpulab.provenance import Provenance
from gpulab.views.html import View, disclosure, note, stack, table

__all__ = ["published_provenance", "published_table"]


@dataclass(frozen=True)
class _Column:
    """A header and what stands under it, "-" where a row has nothing of it; `published`: a printed figure."""

    header: str
    text: Callable[[PublishedRow], str]
    numeric: bool = True
    published: bool = False


def _block(block: Block | None) -> str:
    if block is None:
        return "-"
    sizes = list(block)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "x".join(map(str, sizes))


def _unrolled(row: PublishedRow) -> str:
    along = [*zip("ij", row.tile or (), strict=False), ("k", row.k_unroll)]
    return ", ".join(f"{axis} x{times}" for axis, times in along if times > 1) or "-"


def _figure(value: float | None) -> str:
    return "-" if value is None else str(value)  # with the decimals it was printed with


_COLUMNS = (
    _Column("kernel", lambda row: row.label, numeric=False),
    _Column("threads", lambda row: _block(row.block)),
    _Column("unrolled", _unrolled, numeric=False),
    _Column("size", lambda row: problem(row.problem).format_shape(row.shape) if row.shape else "not given"),
    _Column("overall (GFLOPS)", lambda row: _figure(row.overall_gflops), published=True),
    _Column("kernel only (GFLOPS)", lambda row: _figure(row.kernel_gflops), published=True),
    _Column("bound (GFLOPS)", lambda row: _figure(row.bound_gflops), published=True),
    _Column("speed-up over a CPU", lambda row: _figure(row.speedup), published=True),
)


def published_provenance(row: PublishedRow) -> Provenance:
    """Where a row's figures were printed, as it stands beside every number."""
    return Provenance("published", source(row.source_key).machine, row.source)


def published_table(source_key: str = "t10", *, variant: str | None = None) -> View:
    """What a course document printed: one row for each kernel, block and unrolling, as published.

    source_key: "t10", "gtx280", "gtx280_lecture", "cpu", "blog" or "device_query". variant: only the rows
    of this rung of our ladder.

    Raises `UsageError` for a table that there is not, and where it has no row of the variant.
    """
    where = source(source_key)
    if where.listing:
        return _listing(where)
    found = rows(source_key, variant=variant)
    if not found:
        raise UsageError(_no_rows(source_key, variant))
    shown = [column for column in _COLUMNS if any(column.text(row) != "-" for row in found)]
    hover = {
        (number, i): str(published_provenance(row))
        for number, row in enumerate(found)
        for i, column in enumerate(shown)
        if column.published and column.text(row) != "-"
    }
    view = table(
        [column.header for column in shown],
        [[column.text(row) for column in shown] for row in found],
        numeric=[i for i, column in enumerate(shown) if column.numeric],
        caption=f"Published: {where.citation}. Machine: {where.machine}. Matrices: {where.layout}, float32.",
        hover=hover,
    )
    return stack(view, _notes(where))


def _listing(where: Source) -> View:
    view = table(
        ("property", "published"),
        where.listing,
        caption=f"Published: {where.citation}. Machine: {where.machine}.",
        hover={
            (i, 1): str(Provenance("published", where.machine, where.citation))
            for i in range(len(where.listing))
        },
    )
    return stack(view, _notes(where))


def _notes(where: Source) -> View:
    return (
        disclosure("How the printed table is read", note("plain", "Notes", where.notes))
        if where.notes
        else View()
    )


def _no_rows(source_key: str, variant: str | None) -> str:
    others = [key for key in sources() if rows(key, variant=variant)]
    there = ", ".join(dict.fromkeys(row.variant for row in rows(source_key) if row.variant)) or "none by name"
    elsewhere = f" `{variant}` is in: {', '.join(others)}." if others else ""
    return f"`{source_key}` has no published figure of `{variant}`; its kernels are: {there}.{elsewhere}"
