"""Kernels compiled with limits on registers: their residency and their times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from gpulab.cell import KernelCell
from gpulab.devices.base import Device
from gpulab.errors import GpulabError
from gpulab.model.profile import Profile, profile_variant
from gpulab.problems.measurements import PIECE_FRAMES
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.residency import Residency, compiler_name, residency
from gpulab.profiling.speedup import time_variant
from gpulab.verification.verify import verify

__all__ = ["CappedKernel", "capped_kernels"]


@dataclass(frozen=True)
class CappedKernel:
    """One kernel with one limit on registers, or the reason why it has no time.

    Attributes
    ----------
    variant : str
        The step.
    block : tuple of int
        Threads of a block.
    tile_z : int
        Frames of a piece of the z axis; 0 for the whole axis.
    cap : int
        The limit on registers per thread; 0 for none.
    blocks : int
        Blocks of the grid.
    spill_bytes : int
        Bytes that a thread spills.
    residency : Residency or None
        Registers, resident blocks and waves.
    profile : Profile or None
        The modelled launch.
    measured : Benchmark or None
        The measured time; None on the simulator.
    error : str
        The reason why there is no time; "" if there is one.
    """

    variant: str
    block: tuple[int, ...]
    tile_z: int
    cap: int
    blocks: int = 0
    spill_bytes: int = 0
    residency: Residency | None = None
    profile: Profile | None = None
    measured: Benchmark | None = None
    error: str = ""

    @property
    def error_percent(self) -> float | None:
        """The error of the modelled time, in percent of the measured one."""
        if self.profile is None or self.measured is None:
            return None
        return 100 * (self.profile.time_ms / self.measured.median_ms - 1)


def capped_kernels(
    cell: KernelCell, device: Device, caps: Sequence[int], shape: tuple[int, ...] | None
) -> Iterator[CappedKernel]:
    """Yield a cell's kernel with each limit on registers, and with the z axis split if its text can do it."""
    own = cell.config.tile
    splits = {own, (*own[:2], PIECE_FRAMES)} if not own[2] and "TILE_Z" in cell.source else {own}
    for tile in sorted(splits):
        for cap in caps:
            yield _capped_kernel(cell.with_geometry(tile=tile), device, cap, shape)


def _capped_kernel(cell: KernelCell, device: Device, cap: int, shape: tuple[int, ...] | None) -> CappedKernel:
    """Compile, check and time a kernel with a limit on registers."""
    config = cell.config
    name = (config.variant, config.block, config.tile[2], cap)
    try:
        options = (f"--maxrregcount={cap}",) if cap else ()
        kernel = device.compile(cell.source, config.kernel_name, config.defines, options=options)
        if not verify(kernel, config).correct:
            return CappedKernel(*name, error=f"{config.variant}: wrong values with this block and tile")
        launch = config.at(shape or config.timing_shape, device.spec)
        profile = profile_variant(kernel, config, device=device, shape=launch.shape)
        measured = None
        if device.measures_time:
            measured = time_variant(kernel, config, shape=launch.shape).timing
    except GpulabError as error:
        return CappedKernel(*name, error=f"{config.variant}: {str(error).splitlines()[0]}")

    resources, blocks = kernel.resources, prod(launch.grid)
    compiler = compiler_name(kernel.program.arch)
    resident = residency(device.spec, profile.occupancy, blocks, resources.registers, compiler)
    return CappedKernel(*name, blocks, resources.spill_bytes, resident, profile, measured)
