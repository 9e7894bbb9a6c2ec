"""What is run: four kernels, each with its sizes, its launch, its inputs and its right answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["KERNELS", "WORKLOADS", "Launch", "Workload"]

KERNELS = Path(__file__).parent / "kernels"
Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Launch:
    """One launch: geometry, arguments in the kernel's order, and the values it must give.

    arguments: NumPy scalars and host arrays. output: position of the array that is written.
    expected: float64, NaN where the kernel writes nothing. work: points or FMAs, in all.
    """

    grid: Dim3
    block: Dim3
    arguments: tuple[Any, ...]
    output: int
    expected: npt.NDArray[np.float64]
    work: int

    def check(self, got: npt.NDArray[np.float32], engine: str) -> None:
        """Refuse to time an engine that gives wrong values."""
        written = ~np.isnan(self.expected)
        if not np.allclose(got[written], self.expected[written], rtol=1e-4, atol=1e-3):
            raise RuntimeError(f"{engine} gives wrong values; its time would say nothing")


@dataclass(frozen=True)
class Workload:
    """One row of the comparison.

    kernel: stem of the files in kernels/ and name of the function.
    unit: what `Launch.work` counts; `pt` is a point.
    size: edge for the compiled engines; small_size: edge for Numba's interpreter, whose rate is scaled.
    """

    kernel: str
    title: str
    unit: str
    size: int
    small_size: int
    make: Callable[[int], Launch]

    @property
    def launch(self) -> Launch:
        return self.make(self.size)

    @property
    def small_launch(self) -> Launch:
        return self.make(self.small_size)

    def file(self, suffix: str) -> Path:
        """Where the kernel's text is: `.cu`, `.cl`, or `.hinted.cl`, which not every kernel has."""
        return KERNELS / f"{self.kernel}{suffix}"


def _stencil(edge: int) -> Launch:
    block = (32, 8, 1) if edge >= 32 else (8, 8, 1)
    a0 = np.random.default_rng(1).standard_normal((edge, edge, edge), dtype=np.float32)
    fac = np.float32(1.5)
    wide = a0.astype(np.float64)
    expected = np.full(a0.shape, np.nan)
    middle = slice(1, -1)
    expected[middle, middle, middle] = (
        wide[2:, middle, middle]
        + wide[:-2, middle, middle]
        + wide[middle, 2:, middle]
        + wide[middle, :-2, middle]
        + wide[middle, middle, 2:]
        + wide[middle, middle, :-2]
        - 6.0 * wide[middle, middle, middle] / (float(fac) * float(fac))
    )
    n = np.int32(edge)
    grid = (-(-edge // block[0]), -(-edge // block[1]), 1)
    return Launch(grid, block, (fac, a0, np.zeros_like(a0), n, n, n), 2, expected, (edge - 2) ** 3)


def _sgemm(edge: int, block: Dim3, tile: int) -> Launch:
    # Column-major arrays seen from NumPy: b is (p, n), c is (m, p), a is (m, n), so a = c @ b.
    rng = np.random.default_rng(2)
    b = rng.standard_normal((edge, edge), dtype=np.float32)
    c = rng.standard_normal((edge, edge), dtype=np.float32)
    n = np.int32(edge)
    grid = (-(-edge // (block[0] * tile)), -(-edge // (block[1] * tile)), 1)
    expected = c.astype(np.float64) @ b.astype(np.float64)
    return Launch(grid, block, (np.zeros_like(b), b, c, n, n, n), 0, expected, edge**3)


WORKLOADS = (
    Workload("stencil_naive", "stencil, naive", "pt", 128, 16, _stencil),
    Workload("sgemm_k1", "SGEMM K1", "FMA", 512, 32, lambda n: _sgemm(n, (min(n, 64), 1, 1), 1)),
    Workload("sgemm_tiled", "SGEMM 16x16 tiles", "FMA", 512, 32, lambda n: _sgemm(n, (16, 16, 1), 1)),
    Workload("sgemm_register", "SGEMM 4x4 a thread", "FMA", 512, 64, lambda n: _sgemm(n, (16, 16, 1), 4)),
)
