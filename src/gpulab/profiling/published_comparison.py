"""Comparison of a kernel with published figures, at the same size, block and tile."""

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

# The unroll factor of a loop: a number, or the macro of the third number of the tile.
_UNROLLED = re.compile(r"#\s*pragma\s+unroll\s*\(?\s*(\d+|TILE_Z)\b")
_BY_HEADER = "TILE_Z"


@dataclass(frozen=True)
class PublishedComparison:
    """A published row, and the points of a kernel at the same size and geometry.

    Attributes
    ----------
    row : PublishedRow
        The published row.
    modelled : Point or None
        The point on the GPU of the row.
    measured : Point or None
        The point on this session's GPU; None on the simulator.
    error : str
        The reason why the kernel was not modelled; "" if it was.
    """

    row: PublishedRow
    modelled: Point | None = None
    measured: Point | None = None
    error: str = ""

    @property
    def error_percent(self) -> float | None:
        """The deviation of the modelled rate in percent: of the kernel if it was published, else overall."""
        point = self.modelled
        if point is None:
            return None
        if self.row.kernel_gflops is not None:
            return error_percent(point.kernel_gflops, self.row.kernel_gflops)
        return error_percent(point.overall_gflops, self.row.overall_gflops)


def compare_with_published(
    rows: Sequence[PublishedRow], cell: Cell, device_name: str | None = None
) -> Iterator[PublishedComparison]:
    """Yield the comparison with each row, for the cell compiled with the row's block and tile.

    device_name: the session's device; on a CUDA GPU the kernel is also measured. A kernel that does not
    compile or is wrong with a row's geometry is neither modelled nor measured.
    """
    session_device = open_device(device_name)
    benches: dict[str | None, Bench] = {}
    with ExitStack() as open_benches:

        def point(device: Device, name: str | None, planned: Cell, row: PublishedRow) -> Point:
            if name not in benches:  # one per device: its compiled kernels serve all sizes
                benches[name] = open_benches.enter_context(Bench(device, name))
            assert row.shape
            return benches[name].point(planned, row.shape)

        for row in rows:
            tile = tile_of(row, cell)
            if row.block is None or tile is None:
                yield PublishedComparison(row, error=_not_comparable(row, cell))
                continue
            planned, name = require_kernel_cell(cell).with_geometry(row.block, tile), f"sim:{row.gpu}"
            modelled = point(open_device(name), name, planned, row)
            measured = None
            if session_device.measures_time and not modelled.error:
                measured = point(session_device, device_name, planned, row)
            yield PublishedComparison(row, modelled, measured, modelled.error)


def error_percent(value: float | None, published: float | None) -> float | None:
    """Return ``100 * (value - published) / published``; None if one of them is unknown."""
    if value is None or not published:
        return None
    return 100 * (value - published) / published


def tile_of(row: PublishedRow, cell: Cell) -> Block | None:
    """Return the tile with which a cell is the kernel of a row; None if it cannot be."""
    if row.tile is None or _not_comparable(row, cell):
        return None
    return (*row.tile[:2], row.k_unroll) if _BY_HEADER in _unrolled(cell) else row.tile


def _unrolled(cell: Cell) -> frozenset[str]:
    """Return the factors of the text's `#pragma unroll` lines."""
    return frozenset(_UNROLLED.findall(cell.source))


def _not_comparable(row: PublishedRow, cell: Cell) -> str:
    """Return why a kernel cannot be compared with a row; "" if it can."""
    if not row.gpu:
        return "the row was not measured on a GPU of the catalogue."
    if row.block is None or row.tile is None or row.shape is None:
        return "the row has no block, tile or size."
    k = row.k_unroll
    if k > 1 and not _unrolled(cell) & {str(k), _BY_HEADER}:
        return (
            f"the published kernel unrolls its loop over k by {k}; the cell has no `#pragma unroll {k}` or "
            f"`#pragma unroll {_BY_HEADER}`."
        )
    return ""
