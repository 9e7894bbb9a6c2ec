"""Published figures of a kernel, each beside a text of ours at the same size, block and tile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from gpulab.cell import Cell, require_kernel_cell
from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.problems.base import Block
from gpulab.problems.published import PublishedRow
from gpulab.profiling.bench import Bench
from gpulab.profiling.point import Point

__all__ = ["PublishedComparison", "compare_with_published", "error_percent", "tile_of"]

# How often a text writes out its loop over k: a figure, or the macro that the header's third tile number is.
_UNROLLED = re.compile(r"#\s*pragma\s+unroll\s*\(?\s*(\d+|TILE_Z)\b")
_BY_HEADER = "TILE_Z"


@dataclass(frozen=True)
class PublishedComparison:
    """A published row and our kernel's two points for it.

    modelled: on the GPU that the row was measured on. measured: on the GPU that is here, where there is one.
    why_not: why it was not modelled, in a sentence.
    """

    row: PublishedRow
    modelled: Point | None = None
    measured: Point | None = None
    why_not: str = ""

    @property
    def error_percent(self) -> float | None:
        """How far the model is off what was published: of the kernel alone where it was, else of overall."""
        point = self.modelled
        if point is None:
            return None
        if self.row.kernel_gflops is not None:
            return error_percent(point.kernel_gflops, self.row.kernel_gflops)
        return error_percent(point.overall_gflops, self.row.overall_gflops)


def compare_with_published(
    rows: Sequence[PublishedRow], cell: Cell, device_name: str | None = None
) -> Iterator[PublishedComparison]:
    """The rows one by one, the cell's text compiled with the block and tile of each.

    device_name: of the session's device, as `open_device` takes it; a CUDA GPU measures what is modelled. A
    text that does not compile with a row's block and tile, or is wrong with them, is neither modelled nor
    measured.
    """
    here = open_device(device_name)
    benches: dict[str | None, Bench] = {}
    with ExitStack() as open_benches:

        def point(on: Device, name: str | None, meant: Cell, row: PublishedRow) -> Point:
            if name not in benches:  # one for each device: what it compiled and checked serves all sizes
                benches[name] = open_benches.enter_context(Bench(on, name))
            assert row.shape
            return benches[name].point(meant, row.shape)

        for row in rows:
            tile = tile_of(row, cell)
            if row.block is None or tile is None:
                yield PublishedComparison(row, why_not=_not_comparable(row, cell))
                continue
            meant, name = require_kernel_cell(cell).with_geometry(row.block, tile), f"sim:{row.gpu}"
            modelled = point(open_device(name), name, meant, row)
            measured = None
            if here.measures_time and not modelled.why_not:
                measured = point(here, device_name, meant, row)
            yield PublishedComparison(row, modelled, measured, modelled.why_not)


def error_percent(value: float | None, published: float | None) -> float | None:
    """100 * (value - published) / published; None where one of them is not known."""
    if value is None or not published:
        return None
    return 100 * (value - published) / published


def tile_of(row: PublishedRow, cell: Cell) -> Block | None:
    """The tile in its header with which a cell is the kernel of a row; None where it cannot be."""
    if row.tile is None or _not_comparable(row, cell):
        return None
    return (*row.tile[:2], row.k_unroll) if _BY_HEADER in _unrolled(cell) else row.tile


def _unrolled(cell: Cell) -> frozenset[str]:
    """The words of the text's `#pragma unroll`."""
    return frozenset(_UNROLLED.findall(cell.source))


def _not_comparable(row: PublishedRow, cell: Cell) -> str:
    """Why our kernel cannot be put beside a row; "" when it can."""
    if not row.gpu:
        return "it was not measured on a GPU of the catalogue."
    if row.block is None or row.tile is None or row.shape is None:
        return "its block, tile or size was not published."
    k = row.k_unroll
    if k > 1 and not _unrolled(cell) & {str(k), _BY_HEADER}:
        return (
            f"its loop over k is unrolled by {k}; the cell has neither `#pragma unroll {k}` nor "
            f"`#pragma unroll {_BY_HEADER}` there."
        )
    return ""
