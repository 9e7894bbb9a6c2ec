"""The lines of the device query: those of Lab 0 in its order, then properties of newer GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.devices.query import DeviceProperties
from gpulab.gpus.catalogue import pcie_formula, pcie_gb_s
from gpulab.gpus.limits import Dims

__all__ = ["ListingEntry", "heading", "listing_entries", "listing_lines"]


@dataclass(frozen=True)
class ListingEntry:
    """A line of the listing."""

    label: str
    value: str  # with its unit
    figures: tuple[str, ...]  # fields of `GpuSpec` from which the value is made
    formula: str = ""  # the computation with its numbers, if the value is computed

    def __str__(self) -> str:
        return f"{self.value} ({self.formula})" if self.formula else self.value


def listing_entries(gpu: DeviceProperties) -> tuple[ListingEntry, ...]:
    """Return all lines of the listing: those of Lab 0 in its order, then properties of newer GPUs."""
    return (*_lab0_entries(gpu), *_newer_entries(gpu))


def heading(gpu: DeviceProperties) -> str:
    """Return the first line of the listing: the number of CUDA devices."""
    if gpu.devices == 0:
        article = "an" if gpu.gpu_name[0] in "AEFHILMNORSX" else "a"  # an H200, as its letters are read
        return f"No CUDA device here; the simulator acts as {article} {gpu.gpu_name}"
    plural = gpu.devices > 1
    return f"There {'are' if plural else 'is'} {gpu.devices} device{'s' * plural} supporting CUDA"


def listing_lines(gpu: DeviceProperties) -> list[str]:
    """Return the lines of the whole listing: device, source, aligned entries, and `Test PASSED`."""
    entries = listing_entries(gpu)
    width = max(len(entry.label) for entry in entries) + 1
    listing = [f"{entry.label + ':':<{width}}  {entry}" for entry in entries]
    head = [heading(gpu), f"Device: {gpu.name}", f"Figures: {gpu.source}"]
    return [*head, "", *listing, "", "Test PASSED"]


def _lab0_entries(gpu: DeviceProperties) -> tuple[ListingEntry, ...]:
    """Return the lines of Lab 0's listing, in its order."""
    major, minor = gpu.compute_capability
    return (
        ListingEntry("Major revision number", str(major), ("compute_capability",)),
        ListingEntry("Minor revision number", str(minor), ("compute_capability",)),
        ListingEntry("Total amount of global memory", f"{gpu.memory_bytes} bytes", ("memory_bytes",)),
        ListingEntry("Number of multiprocessors", str(gpu.sms), ("sms",)),
        ListingEntry(
            "Number of cores",
            str(gpu.cores),
            ("sms", "cores_per_sm"),
            f"{gpu.sms} multiprocessors * {gpu.cores // gpu.sms}",
        ),
        ListingEntry("Total amount of constant memory", f"{gpu.constant_bytes} bytes", ("constant_bytes",)),
        ListingEntry(
            "Total amount of shared memory per block",
            f"{gpu.shared_bytes_per_block} bytes",
            ("shared_bytes_per_block",),
        ),
        ListingEntry(
            "Total number of registers available per block",
            str(gpu.registers_per_block),
            ("registers_per_block",),
        ),
        ListingEntry("Warp size", str(gpu.warp_size), ("warp_size",)),
        ListingEntry(
            "Maximum number of threads per block",
            str(gpu.max_threads_per_block),
            ("max_threads_per_block",),
        ),
        ListingEntry(
            "Maximum sizes of each dimension of a block",
            _times(gpu.max_block_dims),
            ("max_block_dims",),
        ),
        ListingEntry(
            "Maximum sizes of each dimension of a grid", _times(gpu.max_grid_dims), ("max_grid_dims",)
        ),
        ListingEntry("Maximum memory pitch", f"{gpu.memory_pitch_bytes} bytes", ("memory_pitch_bytes",)),
        ListingEntry(
            "Texture alignment", f"{gpu.texture_alignment_bytes} bytes", ("texture_alignment_bytes",)
        ),
        ListingEntry("Clock rate", f"{gpu.clock_mhz / 1e3:.2f} GHz", ("boost_clock_mhz",)),
        ListingEntry("Concurrent copy and execution", _yes(gpu.concurrent_copy), ("concurrent_copy",)),
    )


def _newer_entries(gpu: DeviceProperties) -> tuple[ListingEntry, ...]:
    """Return the lines that Lab 0's listing does not have."""
    return (
        ListingEntry(
            "Shared memory per block, opt-in",
            f"{gpu.shared_bytes_per_block_optin} bytes",
            ("shared_bytes_per_block_optin",),
        ),
        ListingEntry(
            "Shared memory per multiprocessor",
            f"{gpu.shared_bytes_per_sm} bytes",
            ("shared_bytes_per_sm",),
        ),
        ListingEntry("Registers per multiprocessor", str(gpu.registers_per_sm), ("registers_per_sm",)),
        ListingEntry(
            "Maximum number of threads per multiprocessor",
            str(gpu.max_threads_per_sm),
            ("max_threads_per_sm",),
        ),
        ListingEntry(
            "Maximum number of warps per multiprocessor",
            str(gpu.max_threads_per_sm // gpu.warp_size),
            ("max_threads_per_sm", "warp_size"),
            f"{gpu.max_threads_per_sm} threads / {gpu.warp_size}",
        ),
        ListingEntry(
            "Maximum number of blocks per multiprocessor",
            str(gpu.max_blocks_per_sm),
            ("max_blocks_per_sm",),
        ),
        ListingEntry("L2 cache", f"{gpu.l2_bytes} bytes" if gpu.l2_bytes else "none", ("l2_bytes",)),
        ListingEntry("Memory clock rate", f"{gpu.memory_clock_mhz:.0f} MHz", ("memory_clock_mhz",)),
        ListingEntry("Memory bus width", f"{gpu.memory_bus_bits} bits", ("memory_bus_bits",)),
        ListingEntry("ECC", _yes(gpu.ecc), ("ecc",)),
        ListingEntry("Bus to the host", gpu.bus or "unknown", ("bus",)),
        ListingEntry("CUDA driver version", gpu.driver_version or "none (simulator)", ()),
        ListingEntry("CUDA runtime version", gpu.runtime_version or "none (simulator)", ()),
        ListingEntry(
            "Theoretical memory bandwidth",
            f"{gpu.dram_gb_s:.1f} GB/s",
            ("memory_clock_mhz", "memory_bus_bits"),
            f"2 * {gpu.memory_clock_mhz:g} MHz * {gpu.memory_bus_bits} bits / 8 / 1000",
        ),
        ListingEntry(
            "Theoretical fp32 peak",
            f"{gpu.peak_fp32_gflops:.1f} GFLOPS",
            ("sms", "cores_per_sm", "boost_clock_mhz"),
            f"{gpu.cores} cores * 2 * {gpu.clock_mhz:g} MHz / 1000",
        ),
        *_bus_bandwidth(gpu),
    )


def _bus_bandwidth(gpu: DeviceProperties) -> tuple[ListingEntry, ...]:
    if not gpu.bus:
        return ()
    label = "Theoretical bandwidth to and from the host"
    return (
        ListingEntry(
            label, f"{pcie_gb_s(gpu.bus):.1f} GB/s in each direction", ("bus",), pcie_formula(gpu.bus)
        ),
    )


def _times(dims: Dims) -> str:
    return " x ".join(str(size) for size in dims)


def _yes(value: bool) -> str:
    return "Yes" if value else "No"
