"""What a compute capability fixes: limits of a launch, and how an SM hands out registers and shared memory.

The figures come from `catalogue.toml`; the formulas are NVIDIA's, from the CUDA GPU Occupancy
Calculator 5.1 (spreadsheet), the CUDA C Programming Guide 4.2, section 4.2 "Hardware
Multithreading", and `cuda_occupancy.h` of CUDA 7.0 (compute capabilities 1.x to 5.x) and 13.5.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Dims", "Limits"]

Dims = tuple[int, int, int]


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The table of one compute capability.

    cores_per_sm: fp32 units of a multiprocessor (SM), one multiply-add a clock each.
    registers_*: 32-bit registers. *_bytes: bytes.
    register_allocation: `block` (1.x) or `warp` (2.x and later): what registers are rounded up for,
    to a multiple of register_unit; warp_unit is the granularity in warps.
    register_unit_exceptions: register counts per thread that are rounded to
    register_unit_exception instead (2.x only).
    shared_bytes_per_block: what a launch may use as it comes; *_optin: after setting the kernel's
    `MaxDynamicSharedMemorySize` attribute. reserved_shared_bytes_per_block: what the driver takes
    of every block's share (from 8.0).
    shared_banks: banks of 4 bytes that one request can use at once.
    coalescing: `half_warp_segments`, `warp_lines_128` or `warp_sectors_32`, see catalogue.toml.
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

    @property
    def arch(self) -> int:
        """The compute capability as one number: 90 for 9.0."""
        major, minor = self.compute_capability
        return 10 * major + minor

    @property
    def max_warps_per_sm(self) -> int:
        """Warps that can be resident on one SM: max_threads_per_sm / warp_size."""
        return self.max_threads_per_sm // self.warp_size

    def warps(self, threads: int) -> int:
        """Warps of a block of `threads` threads: ceil(threads / warp_size)."""
        return -(-threads // self.warp_size)

    def registers_allocated(self, threads: int, registers: int) -> int:
        """Registers that one block takes from its SM.

        1.x: ceil(ceil(warps, warp_unit) * warp_size * registers, register_unit), for the block;
        2.x and later: warps * ceil(registers * warp_size, register_unit), warp by warp.
        """
        if self.register_allocation == "block":
            warps = _round_up(self.warps(threads), self.warp_unit)
            return _round_up(warps * self.warp_size * registers, self.register_unit)
        return self.warps(threads) * self._registers_per_warp(registers)

    def shared_allocated(self, shared_bytes: int) -> int:
        """Bytes of shared memory that one block takes: ceil(asked for + reserved, shared_unit)."""
        return _round_up(shared_bytes + self.reserved_shared_bytes_per_block, self.shared_unit)

    def blocks_by_warps(self, threads: int) -> int:
        """Blocks that the SM's warp slots allow: floor(max_warps_per_sm / warps).

        The guide and the calculator do not round a block's warps up here on 1.x;
        cuda_occupancy.h 7.0 does. The two published descriptions are followed.
        """
        if threads > self.max_threads_per_block:
            return 0
        return self.max_warps_per_sm // self.warps(threads)

    def blocks_by_registers(self, threads: int, registers: int) -> int | None:
        """Blocks that the SM's registers allow; None when the kernel uses none.

        2.x and later: each of the SM's warp_unit partitions holds whole warps only, so the warps
        of an SM are floor(registers_per_sm / warp_unit / registers of a warp) * warp_unit.
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
        """Blocks that the SM's shared memory allows; None when a block takes none of it.

        The SM is taken as configured for the most shared memory that it can have.
        """
        if shared_bytes > self.shared_bytes_per_block_optin:
            return 0
        allocated = self.shared_allocated(shared_bytes)
        return None if allocated == 0 else self.shared_bytes_per_sm // allocated

    def _registers_per_warp(self, registers: int) -> int:
        exception = registers in self.register_unit_exceptions
        unit = self.register_unit_exception if exception else self.register_unit
        return _round_up(registers * self.warp_size, unit)
