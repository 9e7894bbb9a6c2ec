"""`gpulab.memory_table`: the memory spaces of a GPU, from the fastest to the slowest."""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.devices.base import Device
from gpulab.devices.query import DeviceProperties
from gpulab.gpus.catalogue import GpuSpec, pcie_formula, pcie_gb_s
from gpulab.profiling.ceilings import bank_bytes, shared_gb_s
from gpulab.views.html import View
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.device_choice import chosen_device
from gpulab.views.tables.number_format import byte_size
from gpulab.views.tables.query_view import figures_provenance

__all__ = ["memory_table"]

_GUIDE = "NVIDIA, CUDA C Programming Guide, Compute Capabilities"


@dataclass(frozen=True)
class _MemorySpace:
    """One row. size_source, speed_source: provenance of the size and the speed; "" if they have none."""

    name: str
    syntax: str
    scope: str
    location: str
    size: str
    speed: str
    device_access: str
    host_access: str
    size_source: str = ""
    speed_source: str = ""


_COLUMNS = (
    Column("memory", "name"),
    Column("in the code", "syntax"),
    Column("scope", "scope"),
    Column("location", "location"),
    Column("size", "size", source="size_source"),
    Column("speed", "speed", source="speed_source"),
    Column("device", "device_access"),
    Column("host", "host_access"),
)


def memory_table(device: Device | None = None, *, gpu: str | None = None) -> View:
    """Show register, shared, constant, read-only, local, global and host memory of a GPU.

    Parameters
    ----------
    device : Device, optional
        An open device; the session's device if omitted.
    gpu : str, optional
        Key of a catalogue GPU: "gtx280", "t10", "gtx480", "k40", "gtx1080", "v100", "t4", "rtx3090",
        "a100", "rtx4090", "h100" or "h200". Not together with `device`.

    Returns
    -------
    View
        A table: scope, location, size, and the speed where a formula or a source gives it. Sizes are those
        of this GPU; bandwidths are theoretical peaks of the whole GPU in GB/s.

    Raises
    ------
    UsageError
        If the catalogue has no such GPU, or both `device` and `gpu` are given.

    Examples
    --------
    >>> import gpulab
    >>> lines = gpulab.memory_table(gpu="gtx480").text.splitlines()
    >>> [line.split("  ")[0] for line in lines[2:5]]
    ['register', 'shared', 'constant']
    """
    opened = chosen_device(device, gpu)
    properties: DeviceProperties = opened.properties()
    caption = (
        f"Sizes: {properties.name}; {properties.source}. SM: multiprocessor. Speeds in GB/s are theoretical "
        "peaks of the whole GPU; hover over one for its formula and source. The device can also "
        "access page-locked host memory directly, over the bus."
    )
    return table_view(_COLUMNS, _memory_spaces(properties, opened.spec), caption)


def _memory_spaces(gpu: DeviceProperties, spec: GpuSpec) -> tuple[_MemorySpace, ...]:
    def source(*figures: str, formula: str = "") -> str:
        origin = str(figures_provenance(gpu, figures)) if figures else ""
        return "; ".join(part for part in (origin, formula) if part)

    shared = f"{byte_size(gpu.shared_bytes_per_block)} per block"
    if gpu.shared_bytes_per_block_optin > gpu.shared_bytes_per_block:
        shared += f" ({byte_size(gpu.shared_bytes_per_block_optin)} on request)"
    cache = f"; L2 cache {byte_size(gpu.l2_bytes)}" if gpu.l2_bytes else ", not cached"
    cached_in_sm = "GPU memory, cached in the SM"

    return (
        _MemorySpace(
            "register", "float x;", "thread", "SM",
            f"{gpu.registers_per_sm:,} of 4 bytes per SM, {spec.max_registers_per_thread} per thread",
            "fastest", "reads, writes", "-",
            source("registers_per_sm", "max_registers_per_thread"),
        ),
        _MemorySpace(
            "shared", "__shared__", "block", "SM",
            f"{shared}, {byte_size(gpu.shared_bytes_per_sm)} per SM", f"{shared_gb_s(spec):,.0f} GB/s",
            "reads, writes", "-",
            source("shared_bytes_per_block", "shared_bytes_per_block_optin", "shared_bytes_per_sm"),
            source(
                "sms", "shared_banks", "boost_clock_mhz",
                formula=f"without bank conflicts: {spec.sms} SMs * {spec.shared_banks} banks * "
                f"{bank_bytes(spec)} bytes per bank and clock * {spec.boost_clock_mhz:g} MHz / 1000; "
                f"{_GUIDE}, Shared Memory",
            ),
        ),
        _MemorySpace(
            "constant", "__constant__", "all threads", cached_in_sm, byte_size(gpu.constant_bytes),
            "as a register, if a warp reads one address", "reads", "copies",
            source("constant_bytes"), "NVIDIA, CUDA C++ Best Practices Guide, Constant Memory",
        ),
        _MemorySpace(
            "texture, read-only", "__ldg(p)", "all threads", cached_in_sm, "as global",
            "as global, unless cached", "reads", "copies",
        ),
        _MemorySpace(
            "local", "spilled registers", "thread", "GPU memory",
            f"{'512' if gpu.compute_capability >= (2, 0) else '16'} KiB per thread{cache}",
            "as global, unless cached", "reads, writes", "-", source("l2_bytes"),
        ),
        _MemorySpace(
            "global", "float* p", "all threads, all launches", "GPU memory",
            f"{byte_size(gpu.memory_bytes)}{cache}", f"{gpu.dram_gb_s:,.1f} GB/s",
            "reads, writes", "copies", source("memory_bytes", "l2_bytes"),
            source(
                "memory_clock_mhz", "memory_bus_bits",
                formula=f"2 * {gpu.memory_clock_mhz:g} MHz * {gpu.memory_bus_bits} bits / 8 / 1000",
            ),
        ),
        _MemorySpace(
            "host", "malloc", "host program", "host memory", "depends on the host",
            f"{pcie_gb_s(gpu.bus):.1f} GB/s ({gpu.bus})" if gpu.bus else "bus not known",
            "copies", "reads, writes", "",
            source("bus", formula=f"{pcie_formula(gpu.bus)}, in each direction") if gpu.bus else "",
        ),
    )  # fmt: skip
