"""Measured times of a lab's kernels on one GPU, read from `measurements.toml`.

Each time belongs to a compiler, because the number of registers, and with it the number of resident blocks,
depends on the compiler. The file is written by ``python -m benchmarks.measurements``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu
from gpulab.gpus.occupancy import Occupancy, occupancy
from gpulab.problems.base import Block, Shape

__all__ = ["PIECE_FRAMES", "MeasuredKernel", "MeasuredTable", "measured_kernels"]

PIECE_FRAMES = 64  # frames of a piece of the grid in the rows whose z axis is split


@dataclass(frozen=True)
class MeasuredKernel:
    """One kernel in one launch configuration.

    Attributes
    ----------
    kernel : str
        The kernel: a variant of the lab, or the name of another kernel.
    block, tile : tuple of int
        The geometry of the launch.
    blocks : int
        Blocks of the grid.
    registers, shared_bytes, spill_bytes : int
        Registers per thread, shared memory per block, and bytes that a thread spills.
    measured_ms : float
        Median time in milliseconds.
    modelled_ms : float
        The time that the performance model gives for the same kernel and GPU.
    register_cap : int
        The largest number of registers that the compiler was allowed; 0 for no limit.
    hoisted : bool
        True if the division is computed once, before the loop.
    instructions, dram_mb : float
        Millions of warp instructions, and MB between DRAM and the chip, from Nsight Compute; 0 if not
        counted.
    """

    kernel: str
    block: Block
    tile: Block
    blocks: int
    registers: int
    measured_ms: float
    modelled_ms: float
    shared_bytes: int = 0
    spill_bytes: int = 0
    register_cap: int = 0
    hoisted: bool = False
    instructions: float = 0.0
    dram_mb: float = 0.0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def split(self) -> bool:
        """True if the z axis is split over blocks."""
        return self.tile[2] > 0

    @property
    def error_percent(self) -> float:
        """The error of the modelled time in percent of the measured one."""
        return 100 * (self.modelled_ms / self.measured_ms - 1)


@dataclass(frozen=True)
class MeasuredTable:
    """Kernels of one problem that were measured in one session.

    Attributes
    ----------
    gpu : str
        The GPU's key in the catalogue.
    device, driver, date, compiler, method : str
        What was measured, when and how.
    shape : tuple of int
        The problem's size.
    copy_ms : float
        The time of a copy of the whole array within the GPU's memory.
    kernels : tuple of MeasuredKernel
        In the order in which they are shown.
    """

    gpu: str
    device: str
    driver: str
    date: str
    compiler: str
    method: str
    shape: Shape
    copy_ms: float
    kernels: tuple[MeasuredKernel, ...]

    @property
    def source(self) -> str:
        """Device, driver, compiler, date and method, in one line."""
        return f"{self.device}, driver {self.driver}, {self.compiler}, {self.date}; {self.method}"

    def occupancy(self, kernel: MeasuredKernel) -> Occupancy:
        """Return the resident blocks and warps of a kernel on an SM."""
        return occupancy(gpu(self.gpu), kernel.threads, kernel.registers, kernel.shared_bytes)

    def waves(self, kernel: MeasuredKernel) -> float:
        """Return blocks divided by the blocks that are resident on the whole GPU."""
        return kernel.blocks / (gpu(self.gpu).sms * self.occupancy(kernel).blocks_per_sm)


def measured_kernels(name: str) -> MeasuredTable:
    """Return a table such as "stencil.steps".

    Raises `UsageError` if there is no such table; the message lists the names.
    """
    tables = _tables()
    if name not in tables:
        raise UsageError(f"there is no table of measurements `{name}`; the tables are: {', '.join(tables)}.")
    return tables[name]


@cache
def _tables() -> Mapping[str, MeasuredTable]:
    text = files("gpulab.problems").joinpath("measurements.toml").read_text(encoding="utf-8")
    return MappingProxyType(
        {
            f"{problem}.{name}": _read(session, rows)
            for problem, session in tomllib.loads(text).items()
            for name, rows in session["tables"].items()
        }
    )


def _read(session: Mapping[str, Any], rows: list[dict[str, Any]]) -> MeasuredTable:
    facts = {name: value for name, value in session.items() if name not in ("tables", "shape")}
    kernels = tuple(
        MeasuredKernel(**row | {"block": _three(row["block"]), "tile": _three(row["tile"])}) for row in rows
    )
    return MeasuredTable(**facts, shape=tuple(session["shape"]), kernels=kernels)


def _three(numbers: list[int]) -> Block:
    x, y, z = numbers
    return x, y, z
