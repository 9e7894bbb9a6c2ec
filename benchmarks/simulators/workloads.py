"""The workloads: five kernels, each with its sizes, launch, inputs and expected result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["KERNELS", "WORKLOADS", "Workload", "WorkloadLaunch"]

KERNELS = Path(__file__).parent / "kernels"
Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class WorkloadLaunch:
    """One launch.

    Attributes
    ----------
    grid, block : tuple of int
    arguments : tuple
        NumPy scalars and host arrays, in the order of the kernel's parameters.
    output : int
        Index of the array that is written.
    expected : array of float64
        Its values, NaN if the kernel does not write them.
    work : int
        Points, FMAs or atomic operations of the launch.
    """

    grid: Dim3
    block: Dim3
    arguments: tuple[Any, ...]
    output: int
    expected: npt.NDArray[np.float64]
    work: int

    def check(self, result: npt.NDArray[Any], engine: str) -> None:
        """Raise `RuntimeError` if an engine computed wrong values."""
        written = ~np.isnan(self.expected)
        if not np.allclose(result[written], self.expected[written], rtol=1e-4, atol=1e-3):
            raise RuntimeError(f"{engine} computed wrong values, so its time is meaningless.")


@dataclass(frozen=True)
class Workload:
    """A kernel and its sizes.

    Attributes
    ----------
    kernel : str
        Stem of the files in kernels/ and name of the function.
    title : str
    unit : str
        Unit of `WorkloadLaunch.work`: "pt" (points), "FMA" or "op" (atomic operations).
    size, small_size : int
        Edge of the problem, or its number of elements, for compiled engines and for Numba's interpreter.
    make : callable
        Returns the launch of a size.
    """

    kernel: str
    title: str
    unit: str
    size: int
    small_size: int
    make: Callable[[int], WorkloadLaunch]

    @property
    def launch(self) -> WorkloadLaunch:
        return self.make(self.size)

    @property
    def small_launch(self) -> WorkloadLaunch:
        return self.make(self.small_size)

    def file(self, suffix: str) -> Path:
        """Return the path of the source: `.cu`, or `.cl`, `.hinted.cl` or `.c`, if there is one."""
        return KERNELS / f"{self.kernel}{suffix}"


def _stencil(edge: int) -> WorkloadLaunch:
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
    return WorkloadLaunch(grid, block, (fac, a0, np.zeros_like(a0), n, n, n), 2, expected, (edge - 2) ** 3)


def _sgemm(edge: int, block: Dim3, tile: int) -> WorkloadLaunch:
    # Shapes of the column-major arrays in NumPy: b is (p, n), c is (m, p), a is (m, n), so a = c @ b.
    rng = np.random.default_rng(2)
    b = rng.standard_normal((edge, edge), dtype=np.float32)
    c = rng.standard_normal((edge, edge), dtype=np.float32)
    n = np.int32(edge)
    grid = (-(-edge // (block[0] * tile)), -(-edge // (block[1] * tile)), 1)
    expected = c.astype(np.float64) @ b.astype(np.float64)
    return WorkloadLaunch(grid, block, (np.zeros_like(b), b, c, n, n, n), 0, expected, edge**3)


def _histogram(n: int) -> WorkloadLaunch:
    data = np.random.default_rng(3).integers(0, 256, n, dtype=np.uint8)
    arguments = (data, np.zeros(256, np.uint32), np.int32(n))
    expected = np.bincount(data, minlength=256).astype(np.float64)
    return WorkloadLaunch((min(32, -(-n // 4096)), 1, 1), (256, 1, 1), arguments, 1, expected, n)


WORKLOADS = (
    Workload("stencil_naive", "stencil, naive", "pt", 128, 16, _stencil),
    Workload("sgemm_k1", "SGEMM K1", "FMA", 512, 32, lambda n: _sgemm(n, (min(n, 64), 1, 1), 1)),
    Workload("sgemm_tiled", "SGEMM 16x16 tiles", "FMA", 512, 32, lambda n: _sgemm(n, (16, 16, 1), 1)),
    Workload("sgemm_register", "SGEMM 4x4 a thread", "FMA", 512, 64, lambda n: _sgemm(n, (16, 16, 1), 4)),
    Workload("histogram", "histogram, shared atomics", "op", 1 << 22, 1 << 12, _histogram),
)
