"""Device query: what a GPU is, as Lab 0 prints it; asked of CUDA, or read from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gpulab.gpus.catalogue import (
    GpuSpec,
    by_cuda_name,
    dram_gb_s,
    limits_of,
    peak_fp32_gflops,
)
from gpulab.gpus.limits import Dims, Limits

__all__ = ["DeviceProperties", "cuda_properties", "published_properties", "spec_of"]

# cudaDeviceGetAttribute's numbers (cudaDeviceAttr, CUDA Runtime API): what CuPy's table of
# properties lacks. They are part of CUDA's binary interface and never change.
_MAX_PITCH = 11
_ASYNC_ENGINES = 40


@dataclass(frozen=True)
class DeviceProperties:
    """Everything `gpulab device-query` shows. Sizes in bytes, clocks in MHz; names as in `GpuSpec`.

    source: where the figures come from, in words; goes with every one of them.
    clock_mhz: the highest clock of the cores.
    driver_version, runtime_version: CUDA's, such as "13.0", with the driver's release where it is
    known; None on the simulator.
    dram_gb_s, peak_fp32_gflops: theoretical, by the formulas of `gpulab.gpus.catalogue`.
    bus: to the host, from the catalogue on a GPU too; "" where it does not have the GPU.
    devices: how many GPUs CUDA shows; 0 on the simulator.
    figure_sources: what a figure's source is, by its name in `GpuSpec`, where it is not `source`.
    """

    name: str
    kind: str
    source: str
    compute_capability: tuple[int, int]
    memory_bytes: int
    sms: int
    cores: int
    constant_bytes: int
    shared_bytes_per_block: int
    registers_per_block: int
    warp_size: int
    max_threads_per_block: int
    max_block_dims: Dims
    max_grid_dims: Dims
    memory_pitch_bytes: int
    texture_alignment_bytes: int
    clock_mhz: float
    concurrent_copy: bool
    shared_bytes_per_block_optin: int
    shared_bytes_per_sm: int
    reserved_shared_bytes_per_block: int
    registers_per_sm: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    l2_bytes: int
    memory_clock_mhz: float
    memory_bus_bits: int
    ecc: bool
    driver_version: str | None
    runtime_version: str | None
    dram_gb_s: float
    peak_fp32_gflops: float
    bus: str = ""
    devices: int = 0
    figure_sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """The properties as plain data, for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "figure_sources"}


def published_properties(device_name: str, spec: GpuSpec) -> DeviceProperties:
    """Return the properties of a GPU of the catalogue, as the simulator reports them."""
    published = {f.name: getattr(spec, f.name) for f in fields(DeviceProperties) if hasattr(spec, f.name)}
    return DeviceProperties(
        **published
        | {
            "name": device_name,
            "kind": "sim",
            "source": f"published, the data sheet of the {spec.name} that the simulator models",
            "clock_mhz": spec.boost_clock_mhz,
            "driver_version": None,
            "runtime_version": None,
            "figure_sources": spec.sources,
        }
    )


def cuda_properties(runtime: Any, index: int) -> DeviceProperties:
    """What CUDA reports of GPU `index`. runtime: `cupy.cuda.runtime` (CuPy 13 and later)."""
    told = runtime.getDeviceProperties(index)
    name = told["name"].decode() if isinstance(told["name"], bytes) else str(told["name"])
    limits, limit_sources = limits_of(told["major"], told["minor"])
    clock, memory_clock = told["clockRate"] / 1e3, told["memoryClockRate"] / 1e3  # CUDA gives kHz
    cores = told["multiProcessorCount"] * limits.cores_per_sm
    driver, release = _version(runtime.driverGetVersion()), _driver_release()
    known = by_cuda_name(name)
    return DeviceProperties(
        name=name,
        kind="cuda",
        source="reported by the CUDA driver; theoretical figures computed from them",
        compute_capability=(told["major"], told["minor"]),
        memory_bytes=told["totalGlobalMem"],
        sms=told["multiProcessorCount"],
        cores=cores,
        constant_bytes=told["totalConstMem"],
        shared_bytes_per_block=told["sharedMemPerBlock"],
        shared_bytes_per_block_optin=told["sharedMemPerBlockOptin"],
        shared_bytes_per_sm=told["sharedMemPerMultiprocessor"],
        reserved_shared_bytes_per_block=told["reservedSharedMemPerBlock"],
        registers_per_block=told["regsPerBlock"],
        registers_per_sm=told["regsPerMultiprocessor"],
        warp_size=told["warpSize"],
        max_threads_per_block=told["maxThreadsPerBlock"],
        max_threads_per_sm=told["maxThreadsPerMultiProcessor"],
        max_blocks_per_sm=told["maxBlocksPerMultiProcessor"],
        max_block_dims=tuple(told["maxThreadsDim"]),
        max_grid_dims=tuple(told["maxGridSize"]),
        memory_pitch_bytes=runtime.deviceGetAttribute(_MAX_PITCH, index),
        texture_alignment_bytes=told["textureAlignment"],
        clock_mhz=clock,
        concurrent_copy=runtime.deviceGetAttribute(_ASYNC_ENGINES, index) > 0,
        l2_bytes=told["l2CacheSize"],
        memory_clock_mhz=memory_clock,
        memory_bus_bits=told["memoryBusWidth"],
        ecc=bool(told["ECCEnabled"]),
        driver_version=f"{driver} (release {release})" if release else driver,
        runtime_version=_version(runtime.runtimeGetVersion()),
        dram_gb_s=dram_gb_s(memory_clock, told["memoryBusWidth"]),
        peak_fp32_gflops=peak_fp32_gflops(cores, clock),
        bus=known.bus if known else "",
        devices=runtime.getDeviceCount(),
        figure_sources=_not_reported(limit_sources, known),
    )


def spec_of(properties: DeviceProperties) -> GpuSpec:
    """The `GpuSpec` of a real GPU: the catalogue's when CUDA's name and SMs agree with it, else its own.

    The second one takes from the catalogue only what CUDA does not report, from the GPU's compute
    capability or the nearest earlier one; it is never calibrated.
    """
    known = by_cuda_name(properties.name)
    if known is not None and known.sms == properties.sms:
        return known
    limits, sources = limits_of(*properties.compute_capability)
    told = {f.name: getattr(properties, f.name) for f in fields(GpuSpec) if hasattr(properties, f.name)}
    from_limits = {f.name: getattr(limits, f.name) for f in fields(Limits)}
    values = {name: value for name, value in (from_limits | told).items() if name != "sources"}
    return GpuSpec(
        **values,
        key="",
        cuda_names=(properties.name,),
        boost_clock_mhz=properties.clock_mhz,
        sources={**sources, **dict.fromkeys([*told, "boost_clock_mhz"], properties.source)},
    )


def _not_reported(limit_sources: Mapping[str, str], known: GpuSpec | None) -> dict[str, str]:
    """Sources of what CUDA does not report of a GPU."""
    from_card = {"bus": known.sources["bus"]} if known else {}
    return {"cores_per_sm": limit_sources["cores_per_sm"]} | from_card


def _version(number: int) -> str:
    """CUDA's 13010 as "13.1"."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _driver_release() -> str:
    """The driver's release, such as "580.65.06", where Linux shows it; else ""."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return ""
    found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", text)
    return found.group() if found else ""
