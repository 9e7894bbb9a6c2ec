"""Published figures of the course documents, read from `published.toml`: rows, and where each was printed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.problems.base import Block, Shape

__all__ = ["PublishedRow", "Source", "rows", "source", "sources"]


@dataclass(frozen=True)
class Source:
    """One table of one document.

    key: its name here ("t10"). gpu: the catalogue's key of the GPU it was measured on; "" for none.
    machine: the same in words, with the host where it is told. layout: how its matrices are stored.
    figures: numbers that stand beside the table, by name; the unit is the end of the name.
    notes: where the document disagrees with itself or leaves something out, and how it is read here.
    listing: (label, value) lines as printed, for a document that prints a device query.
    """

    key: str
    authors: str
    title: str
    year: str
    place: str
    url: str = ""
    gpu: str = ""
    machine: str = ""
    layout: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    listing: tuple[tuple[str, str], ...] = ()

    @property
    def citation(self) -> str:
        """Authors, title, year and place, in a line."""
        year = "" if self.year in self.place else f" ({self.year})"
        return f'{self.authors}, "{self.title}"{year}, {self.place}'


@dataclass(frozen=True)
class PublishedRow:
    """One printed result.

    source_key: which table ("t10"); source: its citation. gpu: the catalogue's key; "" for a CPU or a
    machine that is not named. variant: the rung of our ladder; "" where none is the same kernel.
    label: what the document calls it.
    block: threads, as launched; None where it is not told. tile: values that a thread computes along i
    and j. k_unroll: how often the loop over k is written out.
    overall_gflops: with the copies to and from the device; kernel_gflops: the kernel alone.
    bound_gflops: the document's own upper bound. speedup: over the document's own loop on a CPU.
    A figure is an int where the document printed no decimals.
    """

    source_key: str
    gpu: str
    problem: str
    variant: str
    label: str
    block: Block | None
    tile: Block | None
    k_unroll: int
    shape: Shape | None
    overall_gflops: float | None
    kernel_gflops: float | None
    speedup: float | None
    bound_gflops: float | None
    source: str

    @property
    def threads(self) -> int | None:
        """Threads of a block, or None where it is not told."""
        return self.block[0] * self.block[1] * self.block[2] if self.block else None


def sources() -> Mapping[str, Source]:
    """Every table that there is, by its key."""
    return _sources()


def source(key: str) -> Source:
    """The table of this key; `UsageError` with the list when there is none."""
    try:
        return _sources()[key]
    except KeyError:
        listed = ", ".join(_sources())
        raise UsageError(f"there are no published figures called `{key}`; there are: {listed}.") from None


def rows(
    source_key: str | None = None, *, gpu: str | None = None, variant: str | None = None
) -> tuple[PublishedRow, ...]:
    """The printed results in their order, of one table, one GPU or one variant if asked.

    gpu: as the catalogue finds it ("gtx280", "GTX 280").

    Raises `UsageError` for a table or a GPU that there is not. A variant that nobody published has no rows.
    """
    if source_key is not None:
        source(source_key)
    key = None if gpu is None else gpu_named(gpu).key
    return tuple(
        row
        for row in _rows()
        if (source_key is None or row.source_key == source_key)
        and (key is None or row.gpu == key)
        and (variant is None or row.variant == variant)
    )


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files("gpulab.problems").joinpath("published.toml").read_text(encoding="utf-8"))


@cache
def _sources() -> Mapping[str, Source]:
    found = {}
    for key, table in _document().items():
        known = {name: value for name, value in table.items() if name not in {"rows", "shape"}}
        found[key] = Source(
            key=key,
            **known
            | {
                "figures": MappingProxyType(dict(table.get("figures", {}))),
                "notes": tuple(table.get("notes", ())),
                "listing": tuple((label, value) for label, value in table.get("listing", ())),
            },
        )
    return MappingProxyType(found)


@cache
def _rows() -> tuple[PublishedRow, ...]:
    return tuple(
        PublishedRow(
            source_key=key,
            gpu=table.get("gpu", ""),
            problem="matmul",
            variant=row.get("variant", ""),
            label=row["label"],
            block=_three(row.get("block")),
            tile=_three(row.get("tile")),
            k_unroll=row.get("k_unroll", 1),
            shape=_shape(row.get("shape", table.get("shape"))),
            overall_gflops=row.get("overall"),
            kernel_gflops=row.get("kernel"),
            speedup=row.get("speedup"),
            bound_gflops=row.get("bound"),
            source=_sources()[key].citation,
        )
        for key, table in _document().items()
        for row in table["rows"]
    )


def _three(sizes: list[int] | None) -> Block | None:
    return None if sizes is None else (sizes[0], sizes[1], sizes[2])


def _shape(sizes: list[int] | None) -> Shape | None:
    return None if sizes is None else tuple(sizes)
