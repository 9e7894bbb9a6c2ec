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
_BEST_PRACTICES = "NVIDIA, CUDA C++ Best Practices Guide"


@dataclass(frozen=True)
class _MemorySpace:
    """A memory space of CUDA, as far as it is the same on every GPU."""

    name: str
    syntax: str
    scope: str
    location: str
    device_access: str
    host_access: str


@dataclass(frozen=True)
class _MemoryFigure:
    """A size or a speed. source: its provenance; "" if it has none."""

    text: str
    source: str = ""


@dataclass(frozen=True)
class _MemoryRow:
    space: _MemorySpace
    size: _MemoryFigure
    speed: _MemoryFigure


_CACHED = "GPU memory, cached in the SM"
_SPACES = (
    _MemorySpace("register", "float x;", "thread", "SM", "reads, writes", "-"),
    _MemorySpace("shared", "__shared__", "block", "SM", "reads, writes", "-"),
    _MemorySpace("constant", "__constant__", "all threads", _CACHED, "reads", "copies"),
    _MemorySpace("texture, read-only", "__ldg(p)", "all threads", _CACHED, "reads", "copies"),
    _MemorySpace("local", "spilled registers", "thread", "GPU memory", "reads, writes", "-"),
    _MemorySpace("global", "float* p", "all threads, all launches", "GPU memory", "reads, writes", "copies"),
    _MemorySpace("host", "malloc", "host program", "host memory", "copies", "reads, writes"),
)
_COLUMNS = (
    Column("memory", "space.name"),
    Column("in the code", "space.syntax"),
    Column("scope", "space.scope"),
    Column("location", "space.location"),
    Column("size", "size.text", source="size.source"),
    Column("speed", "speed.text", source="speed.source"),
    Column("device", "space.device_access"),
    Column("host", "space.host_access"),
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
    figures = zip(_SPACES, _sizes(properties, opened.spec), _speeds(properties, opened.spec), strict=True)
    return table_view(_COLUMNS, [_MemoryRow(*each) for each in figures], caption)


def _sizes(gpu: DeviceProperties, spec: GpuSpec) -> tuple[_MemoryFigure, ...]:
    """Return the sizes of the memory spaces, in the order of `_SPACES`."""
    shared = f"{byte_size(gpu.shared_bytes_per_block)} per block"
    if gpu.shared_bytes_per_block_optin > gpu.shared_bytes_per_block:
        shared += f" ({byte_size(gpu.shared_bytes_per_block_optin)} on request)"
    cache = f"; L2 cache {byte_size(gpu.l2_bytes)}" if gpu.l2_bytes else ", not cached"

    return (
        _MemoryFigure(
            f"{gpu.registers_per_sm:,} of 4 bytes per SM, {spec.max_registers_per_thread} per thread",
            _source(gpu, "registers_per_sm", "max_registers_per_thread"),
        ),
        _MemoryFigure(
            f"{shared}, {byte_size(gpu.shared_bytes_per_sm)} per SM",
            _source(gpu, "shared_bytes_per_block", "shared_bytes_per_block_optin", "shared_bytes_per_sm"),
        ),
        _MemoryFigure(byte_size(gpu.constant_bytes), _source(gpu, "constant_bytes")),
        _MemoryFigure("as global"),
        _MemoryFigure(
            f"{'512' if gpu.compute_capability >= (2, 0) else '16'} KiB per thread{cache}",
            _source(gpu, "l2_bytes"),
        ),
        _MemoryFigure(f"{byte_size(gpu.memory_bytes)}{cache}", _source(gpu, "memory_bytes", "l2_bytes")),
        _MemoryFigure("depends on the host"),
    )


def _speeds(gpu: DeviceProperties, spec: GpuSpec) -> tuple[_MemoryFigure, ...]:
    """Return the speeds of the memory spaces, in the order of `_SPACES`."""
    shared_formula = (
        f"without bank conflicts: {spec.sms} SMs * {spec.shared_banks} banks * {bank_bytes(spec)} bytes per "
        f"bank and clock * {spec.boost_clock_mhz:g} MHz / 1000; {_GUIDE}, Shared Memory"
    )
    dram_formula = f"2 * {gpu.memory_clock_mhz:g} MHz * {gpu.memory_bus_bits} bits / 8 / 1000"
    bus = _MemoryFigure("bus not known")
    if gpu.bus:
        formula = f"{pcie_formula(gpu.bus)}, in each direction"
        bus = _MemoryFigure(
            f"{pcie_gb_s(gpu.bus):.1f} GB/s ({gpu.bus})", _source(gpu, "bus", formula=formula)
        )

    return (
        _MemoryFigure("fastest"),
        _MemoryFigure(
            f"{shared_gb_s(spec):,.0f} GB/s",
            _source(gpu, "sms", "shared_banks", "boost_clock_mhz", formula=shared_formula),
        ),
        _MemoryFigure("as a register, if a warp reads one address", f"{_BEST_PRACTICES}, Constant Memory"),
        _MemoryFigure("as global, unless cached"),
        _MemoryFigure("as global, unless cached"),
        _MemoryFigure(
            f"{gpu.dram_gb_s:,.1f} GB/s",
            _source(gpu, "memory_clock_mhz", "memory_bus_bits", formula=dram_formula),
        ),
        bus,
    )


def _source(gpu: DeviceProperties, *fields: str, formula: str = "") -> str:
    """Return the provenance of fields of the properties, and the formula that combines them."""
    provenance = str(figures_provenance(gpu, fields))
    return f"{provenance}; {formula}" if formula else provenance
