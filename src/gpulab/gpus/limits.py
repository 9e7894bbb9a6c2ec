"""Limits of a compute capability, and the allocation of registers and shared memory on an SM.

The figures are in `catalogue.toml`. The formulas are NVIDIA's: CUDA GPU Occupancy Calculator 5.1
(spreadsheet), CUDA C Programming Guide 4.2, section 4.2 "Hardware Multithreading", and `cuda_occupancy.h` of
CUDA 7.0 (compute capabilities 1.x to 5.x) and 13.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["TENSOR_TYPES", "Dims", "Limits"]

Dims = tuple[int, int, int]

TENSOR_TYPES = ("fp16_dst_fp16", "fp16_dst_fp32", "bf16_dst_fp32", "tf32_dst_fp32", "fp64", "int8")
"""Products of tensor cores, named as in Nsight Compute: the type of the factors and, after `dst`, of sums."""


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a compute capability. Sizes are in bytes, registers are 32-bit.

    Attributes
    ----------
    compute_capability : tuple of int
        Major and minor number: (9, 0).
    architecture : str
        NVIDIA's name of the architecture: "Hopper".
    cores_per_sm : int
        fp32 units per SM, each with one multiply-add per cycle.
    register_allocation : str
        "block" (1.x) or "warp" (2.x and later): the unit for which registers are allocated.
    register_unit, warp_unit : int
        Granularity of the allocation, in registers and in warps.
    register_unit_exceptions, register_unit_exception : tuple of int, int
        Registers per thread for which the granularity is `register_unit_exception` (2.x only).
    shared_bytes_per_block, shared_bytes_per_block_optin : int
        Largest shared memory of a block, by default and after setting the kernel's attribute
        `MaxDynamicSharedMemorySize`.
    reserved_shared_bytes_per_block : int
        Shared memory of each block that the driver reserves (8.0 and later).
    shared_unit : int
        Granularity of the allocation of shared memory.
    shared_banks : int
        Banks of 4 bytes that one request can use at once.
    coalescing : str
        "half_warp_segments", "warp_lines_128" or "warp_sectors_32"; see catalogue.toml.
    tensor_fmas : mapping of str to int
        Multiply-adds that the tensor cores of an SM start in a cycle, without structured sparsity, by type
        (`TENSOR_TYPES`). Empty without tensor cores.
    """

    compute_capability: tuple[int, int]
    architecture: str
    cores_per_sm: int
    warp_size: int
    max_threads_per_block: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    max_block_dims: Dims
    max_grid_dims: Dims
    registers_per_sm: int
    registers_per_block: int
    max_registers_per_thread: int
    register_allocation: str
    register_unit: int
    register_unit_exception: int = 0
    register_unit_exceptions: tuple[int, ...] = ()
    warp_unit: int
    shared_bytes_per_sm: int
    shared_bytes_per_block: int
    shared_bytes_per_block_optin: int
    reserved_shared_bytes_per_block: int
    shared_unit: int
    shared_banks: int
    constant_bytes: int
    memory_pitch_bytes: int
    texture_alignment_bytes: int
    concurrent_copy: bool
    coalescing: str
    tensor_fmas: Mapping[str, int] = field(default_factory=dict, compare=False)  # a mapping has no hash

    @property
    def arch(self) -> int:
        """The compute capability as one number: 90 for 9.0."""
        major, minor = self.compute_capability
        return 10 * major + minor

    @property
    def max_warps_per_sm(self) -> int:
        """The warps that can be resident on an SM: max_threads_per_sm / warp_size."""
        return self.max_threads_per_sm // self.warp_size

    def warps(self, threads: int) -> int:
        """Return the warps of a block: ceil(threads / warp_size)."""
        return -(-threads // self.warp_size)

    def registers_allocated(self, threads: int, registers: int) -> int:
        """Return the registers that are allocated for a block.

        With ceil(x, unit) as x rounded up to a multiple of unit, they are
        ceil(ceil(warps, warp_unit) * warp_size * registers, register_unit) on 1.x, and
        warps * ceil(registers * warp_size, register_unit) on 2.x and later.
        """
        if self.register_allocation == "block":
            warps = _round_up(self.warps(threads), self.warp_unit)
            return _round_up(warps * self.warp_size * registers, self.register_unit)
        return self.warps(threads) * self._registers_per_warp(registers)

    def shared_allocated(self, shared_bytes: int) -> int:
        """Return the shared memory allocated for a block: its own and the reserved bytes, rounded up."""
        return _round_up(shared_bytes + self.reserved_shared_bytes_per_block, self.shared_unit)

    def blocks_by_warps(self, threads: int) -> int:
        """Return the resident blocks that the warp limit allows: floor(max_warps_per_sm / warps).

        On 1.x, cuda_occupancy.h 7.0 rounds the warps of a block up first. The guide and the calculator do
        not, and are followed here.
        """
        if threads > self.max_threads_per_block:
            return 0
        return self.max_warps_per_sm // self.warps(threads)

    def blocks_by_registers(self, threads: int, registers: int) -> int | None:
        """Return the resident blocks that the registers allow; None if the kernel uses none.

        On 2.x and later, the registers of an SM are divided into `warp_unit` partitions of whole warps: the
        SM holds floor(registers_per_sm / warp_unit / registers per warp) * warp_unit warps.
        """
        if registers <= 0:
            return None
        if registers > self.max_registers_per_thread:
            return 0
        if self.register_allocation == "block":
            return self.registers_per_sm // self.registers_allocated(threads, registers)
        per_warp = self._registers_per_warp(registers)
        if _round_up(self.warps(threads), self.warp_unit) * per_warp > self.registers_per_block:
            return 0
        warps = self.registers_per_sm // self.warp_unit // per_warp * self.warp_unit
        return warps // self.warps(threads)

    def blocks_by_shared(self, shared_bytes: int) -> int | None:
        """Return the resident blocks that shared memory allows; None if a block uses none.

        The SM is assumed to be configured for its largest shared memory.
        """
        if shared_bytes > self.shared_bytes_per_block_optin:
            return 0
        allocated = self.shared_allocated(shared_bytes)
        return None if allocated == 0 else self.shared_bytes_per_sm // allocated

    def _registers_per_warp(self, registers: int) -> int:
        exception = registers in self.register_unit_exceptions
        unit = self.register_unit_exception if exception else self.register_unit
        return _round_up(registers * self.warp_size, unit)
