"""The memory spaces of a GPU in a table: scope, place, size on this device, speed, and who may use them."""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.devices import open_device
from gpulab.devices.base import Device
from gpulab.devices.query import DeviceProperties
from gpulab.gpus.catalogue import GpuSpec, pcie_formula, pcie_gb_s
from gpulab.profiling.ceilings import bank_bytes, shared_gb_s
from gpulab.views.html import View, table
from gpulab.views.tables.query_view import figures_provenance, size

__all__ = ["memory_table", "shared_gb_s"]

_GUIDE = "NVIDIA, CUDA C Programming Guide, Compute Capabilities"
_HEADERS = ("memory", "in the code", "seen by", "where it is", "size here", "speed", "the device", "the host")


@dataclass(frozen=True)
class _Space:
    """One row; `figures` of its size and its speed say where those come from, by their names in `GpuSpec`."""

    cells: tuple[str, str, str, str]
    size: str
    speed: str
    device: str
    host: str
    figures: tuple[str, ...] = ()
    speed_source: str = ""
    speed_figures: tuple[str, ...] = ()


def memory_table(device: Device | None = None) -> View:
    """Register, local, shared, constant, read-only, global and host memory, from the fastest to the slowest.

    device: None for the one that kernels run on. A speed stands only where a formula or a source gives it.
    """
    device = device or open_device()
    properties: DeviceProperties = device.properties()
    spaces = _spaces(properties, device.spec)
    hover: dict[tuple[int, int], str] = {}
    for i, space in enumerate(spaces):
        if space.figures:
            hover[i, 4] = str(figures_provenance(properties, space.figures))
        if space.speed_figures:
            hover[i, 5] = f"{figures_provenance(properties, space.speed_figures)}; {space.speed_source}"
        elif space.speed_source:
            hover[i, 5] = space.speed_source
    return table(
        _HEADERS,
        [(*s.cells, s.size, s.speed, s.device, s.host) for s in spaces],
        caption=f"Sizes: {properties.name}; {properties.source}. SM: multiprocessor. Speeds in GB/s are "
        "theoretical peaks of the whole GPU; hover over one for its formula and its source. The host's "
        "page-locked memory can also be read and written by the device itself, over the bus.",
        hover=hover,
    )


def _spaces(gpu: DeviceProperties, spec: GpuSpec) -> tuple[_Space, ...]:
    shared = f"{size(gpu.shared_bytes_per_block)} a block"
    if gpu.shared_bytes_per_block_optin > gpu.shared_bytes_per_block:
        shared += f" ({size(gpu.shared_bytes_per_block_optin)} on request)"
    registers = f"{gpu.registers_per_sm:,} of 4 bytes an SM, {spec.max_registers_per_thread} a thread"
    cached = f"; L2 cache {size(gpu.l2_bytes)}" if gpu.l2_bytes else ", not cached"
    return (
        _Space(
            ("register", "float x;", "a thread", "SM"),
            registers,
            "the fastest",
            "reads, writes",
            "-",
            ("registers_per_sm", "max_registers_per_thread"),
        ),
        _Space(
            ("shared", "__shared__", "a block", "SM"),
            f"{shared}, {size(gpu.shared_bytes_per_sm)} an SM",
            f"{shared_gb_s(spec):,.0f} GB/s",
            "reads, writes",
            "-",
            ("shared_bytes_per_block", "shared_bytes_per_block_optin", "shared_bytes_per_sm"),
            f"without bank conflicts: {spec.sms} SMs * {spec.shared_banks} banks * {bank_bytes(spec)} bytes "
            f"of a bank in a clock * {spec.boost_clock_mhz:g} MHz / 1000; {_GUIDE}, Shared Memory",
            ("sms", "shared_banks", "boost_clock_mhz"),
        ),
        _Space(
            ("constant", "__constant__", "all threads", "GPU's memory, cached in the SM"),
            size(gpu.constant_bytes),
            "a register's, if a warp reads one address",
            "reads",
            "copies",
            ("constant_bytes",),
            "NVIDIA, CUDA C++ Best Practices Guide, Constant Memory",
        ),
        _Space(
            ("texture, read-only", "__ldg(p)", "all threads", "GPU's memory, cached in the SM"),
            "as global",
            "as global, unless the cache has it",
            "reads",
            "copies",
        ),
        _Space(
            ("local", "spilled registers", "a thread", "GPU's memory"),
            f"{'512' if gpu.compute_capability >= (2, 0) else '16'} KiB a thread{cached}",
            "as global, unless a cache has it",
            "reads, writes",
            "-",
            ("l2_bytes",),
        ),
        _Space(
            ("global", "float* p", "all threads, all launches", "GPU's memory"),
            f"{size(gpu.memory_bytes)}{cached}",
            f"{gpu.dram_gb_s:,.1f} GB/s",
            "reads, writes",
            "copies",
            ("memory_bytes", "l2_bytes"),
            f"2 * {gpu.memory_clock_mhz:g} MHz * {gpu.memory_bus_bits} bits / 8 / 1000",
            ("memory_clock_mhz", "memory_bus_bits"),
        ),
        _Space(
            ("host", "malloc", "the host's program", "host's memory"),
            "as the host has",
            _bus(gpu),
            "copies",
            "reads, writes",
            (),
            f"{pcie_formula(gpu.bus)}, in each direction" if gpu.bus else "",
            ("bus",) if gpu.bus else (),
        ),
    )


def _bus(gpu: DeviceProperties) -> str:
    return f"{pcie_gb_s(gpu.bus):.1f} GB/s ({gpu.bus})" if gpu.bus else "the bus is not known"
