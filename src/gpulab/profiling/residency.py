"""Registers, resident blocks and waves of a launch."""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.compiler.nvrtc import version
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.occupancy import Occupancy

__all__ = ["Residency", "compiler_name", "residency"]


@dataclass(frozen=True)
class Residency:
    """The registers of a kernel, and the blocks of its launch that are resident at once.

    Attributes
    ----------
    registers : int
        Registers per thread.
    blocks_per_sm, warps_per_sm : int
        Resident blocks and warps of an SM.
    waves : float
        Blocks of the grid divided by the resident blocks of all SMs.
    compiler : str
        The compiler with its version and the architecture, because registers depend on it.
    """

    registers: int
    blocks_per_sm: int
    warps_per_sm: int
    waves: float
    compiler: str


def residency(spec: GpuSpec, occupied: Occupancy, blocks: int, registers: int, compiler: str) -> Residency:
    """Return the residency of a launch. blocks: of the whole grid."""
    resident = spec.sms * max(occupied.blocks_per_sm, 1)
    return Residency(registers, occupied.blocks_per_sm, occupied.warps_per_sm, blocks / resident, compiler)


def compiler_name(arch: int) -> str:
    """Return the compiler for an architecture: NVRTC 13.5, sm_90."""
    major, minor = version()
    return f"NVRTC {major}.{minor}, sm_{arch}"
