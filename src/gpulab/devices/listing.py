"""The lines of the device query: Lab 0's in its order, then what newer GPUs add, with formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.gpus.catalogue import pcie_formula, pcie_gb_s
from gpulab.gpus.limits import Dims

if TYPE_CHECKING:
    from gpulab.devices.query import DeviceProperties

__all__ = ["Entry", "lab0_entries", "newer_entries"]


@dataclass(frozen=True)
class Entry:
    """One line of the listing. figures: names of what it is made of; formula: how, where it is computed."""

    label: str
    value: str
    figures: tuple[str, ...]
    formula: str = ""

    def __str__(self) -> str:
        return f"{self.value} ({self.formula})" if self.formula else self.value


def lab0_entries(gpu: DeviceProperties) -> tuple[Entry, ...]:
    """The lines of Lab 0's listing in its order."""
    major, minor = gpu.compute_capability
    return (
        Entry("Major revision number", str(major), ("compute_capability",)),
        Entry("Minor revision number", str(minor), ("compute_capability",)),
        Entry("Total amount of global memory", f"{gpu.memory_bytes} bytes", ("memory_bytes",)),
        Entry("Number of multiprocessors", str(gpu.sms), ("sms",)),
        Entry(
            "Number of cores",
            str(gpu.cores),
            ("sms", "cores_per_sm"),
            f"{gpu.sms} multiprocessors * {gpu.cores // gpu.sms}",
        ),
        Entry("Total amount of constant memory", f"{gpu.constant_bytes} bytes", ("constant_bytes",)),
        Entry(
            "Total amount of shared memory per block",
            f"{gpu.shared_bytes_per_block} bytes",
            ("shared_bytes_per_block",),
        ),
        Entry(
            "Total number of registers available per block",
            str(gpu.registers_per_block),
            ("registers_per_block",),
        ),
        Entry("Warp size", str(gpu.warp_size), ("warp_size",)),
        Entry(
            "Maximum number of threads per block",
            str(gpu.max_threads_per_block),
            ("max_threads_per_block",),
        ),
        Entry(
            "Maximum sizes of each dimension of a block",
            _times(gpu.max_block_dims),
            ("max_block_dims",),
        ),
        Entry("Maximum sizes of each dimension of a grid", _times(gpu.max_grid_dims), ("max_grid_dims",)),
        Entry("Maximum memory pitch", f"{gpu.memory_pitch_bytes} bytes", ("memory_pitch_bytes",)),
        Entry("Texture alignment", f"{gpu.texture_alignment_bytes} bytes", ("texture_alignment_bytes",)),
        Entry("Clock rate", f"{gpu.clock_mhz / 1e3:.2f} GHz", ("boost_clock_mhz",)),
        Entry("Concurrent copy and execution", _yes(gpu.concurrent_copy), ("concurrent_copy",)),
    )


def newer_entries(gpu: DeviceProperties) -> tuple[Entry, ...]:
    """What Lab 0's listing does not have."""
    return (
        Entry(
            "Shared memory per block, opt-in",
            f"{gpu.shared_bytes_per_block_optin} bytes",
            ("shared_bytes_per_block_optin",),
        ),
        Entry(
            "Shared memory per multiprocessor",
            f"{gpu.shared_bytes_per_sm} bytes",
            ("shared_bytes_per_sm",),
        ),
        Entry("Registers per multiprocessor", str(gpu.registers_per_sm), ("registers_per_sm",)),
        Entry(
            "Maximum number of threads per multiprocessor",
            str(gpu.max_threads_per_sm),
            ("max_threads_per_sm",),
        ),
        Entry(
            "Maximum number of warps per multiprocessor",
            str(gpu.max_threads_per_sm // gpu.warp_size),
            ("max_threads_per_sm", "warp_size"),
            f"{gpu.max_threads_per_sm} threads / {gpu.warp_size}",
        ),
        Entry(
            "Maximum number of blocks per multiprocessor",
            str(gpu.max_blocks_per_sm),
            ("max_blocks_per_sm",),
        ),
        Entry("L2 cache", f"{gpu.l2_bytes} bytes" if gpu.l2_bytes else "none", ("l2_bytes",)),
        Entry("Memory clock rate", f"{gpu.memory_clock_mhz:.0f} MHz", ("memory_clock_mhz",)),
        Entry("Memory bus width", f"{gpu.memory_bus_bits} bits", ("memory_bus_bits",)),
        Entry("ECC", _yes(gpu.ecc), ("ecc",)),
        Entry("Bus to the host", gpu.bus or "not known", ("bus",)),
        Entry("CUDA driver version", gpu.driver_version or "none (simulator)", ()),
        Entry("CUDA runtime version", gpu.runtime_version or "none (simulator)", ()),
        Entry(
            "Theoretical memory bandwidth",
            f"{gpu.dram_gb_s:.1f} GB/s",
            ("memory_clock_mhz", "memory_bus_bits"),
            f"2 * {gpu.memory_clock_mhz:g} MHz * {gpu.memory_bus_bits} bits / 8 / 1000",
        ),
        Entry(
            "Theoretical fp32 peak",
            f"{gpu.peak_fp32_gflops:.1f} GFLOPS",
            ("sms", "cores_per_sm", "boost_clock_mhz"),
            f"{gpu.cores} cores * 2 * {gpu.clock_mhz:g} MHz / 1000",
        ),
        *_bus_bandwidth(gpu),
    )


def _bus_bandwidth(gpu: DeviceProperties) -> tuple[Entry, ...]:
    if not gpu.bus:
        return ()
    label = "Theoretical bandwidth to and from the host"
    return (
        Entry(label, f"{pcie_gb_s(gpu.bus):.1f} GB/s in each direction", ("bus",), pcie_formula(gpu.bus)),
    )


def _times(dims: Dims) -> str:
    return " x ".join(str(size) for size in dims)


def _yes(value: bool) -> str:
    return "Yes" if value else "No"
