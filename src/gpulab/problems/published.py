"""Published figures of the course documents, read from `published.toml`, each with its source.

Examples
--------
>>> import gpulab
>>> row = gpulab.published.rows("t10", variant="K4")[0]
>>> row.block, row.kernel_gflops
((32, 1, 1), 57.3)
>>> gpulab.published.source("t10").gpu
't10'
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu as find_gpu
from gpulab.problems.base import Block, Problem, Shape
from gpulab.problems.registry import known_problems

__all__ = ["PublishedRow", "Source", "rows", "source", "sources"]


@dataclass(frozen=True)
class Source:
    """One table of one document.

    Attributes
    ----------
    key : str
        Its name in gpulab, such as "t10".
    authors, title, year, place, url : str
        The citation.
    gpu : str
        The catalogue key of the GPU that was measured; empty if it was no GPU or is not named.
    machine : str
        The GPU and its host, as the document describes them.
    layout : str
        The storage order of the matrices.
    figures : mapping of str to float
        Numbers printed next to the table; the end of each name is the unit.
    notes : tuple of str
        Contradictions and gaps of the document, and how they are read here.
    listing : tuple of (str, str)
        Labels and values as printed, for a document that prints a device query.
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
        """Authors, title, year and place, in one line."""
        year = "" if self.year in self.place else f" ({self.year})"
        return f'{self.authors}, "{self.title}"{year}, {self.place}'


@dataclass(frozen=True)
class PublishedRow:
    """One printed result. A figure is an int if the document printed no decimals.

    Attributes
    ----------
    source_key : str
        The table, such as "t10".
    gpu : str
        The catalogue key of the GPU; empty for a CPU or a machine that is not named.
    problem : str
        The lab problem.
    variant : str
        The version of the lab that is the same kernel; empty if there is none.
    label : str
        The document's name of the kernel.
    block : Block or None
        Threads of a block; None if not given.
    tile : Block or None
        Values that a thread computes along i and j; None if not given.
    k_unroll : int
        The unrolling factor of the loop over k.
    shape : Shape or None
        The extents of the problem's sizes; None if not given.
    overall_gflops, kernel_gflops : float or None
        GFLOPS with the copies to and from the device, and of the kernel alone.
    speedup : float or None
        Speed-up over the document's own loop on a CPU.
    bound_gflops : float or None
        The document's own upper bound.
    source : str
        The citation of the table.
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
        """Threads of a block, or None if the document does not give them."""
        return self.block[0] * self.block[1] * self.block[2] if self.block else None


def sources() -> Mapping[str, Source]:
    """Return all published tables.

    Returns
    -------
    mapping of str to Source
        The tables by their keys.

    Examples
    --------
    >>> import gpulab
    >>> list(gpulab.published.sources())[:3]
    ['t10', 'gtx280', 'gtx280_lecture']
    """
    return _sources()


def source(key: str) -> Source:
    """Return the table of this key.

    Parameters
    ----------
    key : str
        One of the keys of `sources()`.

    Returns
    -------
    Source
        Its citation, machine, notes and the figures printed next to the table.

    Raises
    ------
    UsageError
        If there is no such table; the message lists the keys.
    """
    try:
        return _sources()[key]
    except KeyError:
        keys = ", ".join(_sources())
        raise UsageError(f"there is no published table `{key}`; the tables are: {keys}.") from None


def rows(
    source_key: str | None = None, *, gpu: str | None = None, variant: str | None = None
) -> tuple[PublishedRow, ...]:
    """Return printed results in the order of the documents.

    Parameters
    ----------
    source_key : str, optional
        Only rows of this table.
    gpu : str, optional
        Only rows of this GPU, named as the catalogue accepts it ("gtx280", "GTX 280").
    variant : str, optional
        Only rows of this version of a lab's kernel, such as "K4".

    Returns
    -------
    tuple of PublishedRow
        Empty if there is no such result.

    Raises
    ------
    UsageError
        If there is no such table or GPU.
    """
    if source_key is not None:
        source(source_key)
    gpu_key = None if gpu is None else find_gpu(gpu).key
    return tuple(
        row
        for row in _rows()
        if (source_key is None or row.source_key == source_key)
        and (gpu_key is None or row.gpu == gpu_key)
        and (variant is None or row.variant == variant)
    )


@cache
def _packaged() -> dict[str, Any]:
    return tomllib.loads(files("gpulab.problems").joinpath("published.toml").read_text(encoding="utf-8"))


def _document() -> dict[str, Any]:
    """Return the tables of the package, and those that problems declare."""
    return _merged(tuple(problem for problem in known_problems() if problem.published))


@cache
def _merged(problems: tuple[Problem, ...]) -> dict[str, Any]:
    tables = dict(_packaged())
    for problem in problems:
        tables |= {key: {**table, "problem": problem.name} for key, table in problem.published.items()}
    return tables


def _sources() -> Mapping[str, Source]:
    return MappingProxyType({key: _source(key, table) for key, table in _document().items()})


def _source(key: str, table: Mapping[str, Any]) -> Source:
    fields = {name: value for name, value in table.items() if name not in {"rows", "shape", "problem"}}
    try:
        return Source(
            key=key,
            **fields
            | {
                "figures": MappingProxyType(dict(table.get("figures", {}))),
                "notes": tuple(table.get("notes", ())),
                "listing": tuple((label, value) for label, value in table.get("listing", ())),
            },
        )
    except TypeError as error:
        raise UsageError(f"the published table `{key}` is not complete: {error}.") from None


def _rows() -> tuple[PublishedRow, ...]:
    return tuple(
        PublishedRow(
            source_key=key,
            gpu=table.get("gpu", ""),
            problem=table.get("problem", ""),
            variant=row.get("variant", ""),
            label=row.get("label", row.get("variant", "")),
            block=_three(row.get("block")),
            tile=_three(row.get("tile")),
            k_unroll=row.get("k_unroll", 1),
            shape=_shape(row.get("shape", table.get("shape"))),
            overall_gflops=row.get("overall"),
            kernel_gflops=row.get("kernel"),
            speedup=row.get("speedup"),
            bound_gflops=row.get("bound"),
            source=_source(key, table).citation,
        )
        for key, table in _document().items()
        for row in table.get("rows", ())
    )


def _three(sizes: list[int] | None) -> Block | None:
    return None if sizes is None else (sizes[0], sizes[1], sizes[2])


def _shape(sizes: list[int] | None) -> Shape | None:
    return None if sizes is None else tuple(sizes)
