"""Properties of a device, as CUDA reports them or as the catalogue has them."""

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

# Values of cudaDeviceAttr (CUDA Runtime API), part of CUDA's binary interface, for attributes that CuPy's
# getDeviceProperties does not have.
_MAX_PITCH = 11
_ASYNC_ENGINES = 40


@dataclass(frozen=True)
class DeviceProperties:
    """The properties of a device, for `gpulab device-query`.

    Sizes are in bytes, clocks in MHz. Fields that are not listed here are those of `GpuSpec`.

    Attributes
    ----------
    name, kind : str
        Name and kind of the device: "simulator (H200)" and "sim".
    source : str
        The origin of all figures without a source of their own.
    clock_mhz : float
        The highest clock of the cores.
    driver_version, runtime_version : str or None
        Versions of CUDA such as "13.0", with the driver's release if known; None on the simulator.
    dram_gb_s, peak_fp32_gflops : float
        Theoretical bandwidth (GB/s) and peak (GFLOPS), by the formulas of `gpulab.gpus.catalogue`.
    bus : str
        Connection to the host, from the catalogue; "" if the catalogue does not have the GPU.
    devices : int
        The number of GPUs that CUDA reports; 0 on the simulator.
    gpu_name : str
        The name of the GPU, or of the simulated GPU: "H200".
    figure_sources : mapping of str to str
        The sources of single figures, by field name of `GpuSpec`.
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
    gpu_name: str = ""
    figure_sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the properties as plain data for JSON, without `figure_sources`."""
        return {name: value for name, value in asdict(self).items() if name != "figure_sources"}


def published_properties(device_name: str, spec: GpuSpec) -> DeviceProperties:
    """Return the properties of the simulator of a GPU."""
    published = {f.name: getattr(spec, f.name) for f in fields(DeviceProperties) if hasattr(spec, f.name)}
    return DeviceProperties(
        **published
        | {
            "name": device_name,
            "gpu_name": spec.name,
            "kind": "sim",
            "source": f"published, the data sheet of the {spec.name} that the simulator models",
            "clock_mhz": spec.boost_clock_mhz,
            "driver_version": None,
            "runtime_version": None,
            "figure_sources": spec.sources,
        }
    )


def cuda_properties(runtime: Any, index: int) -> DeviceProperties:
    """Return the properties that CUDA reports. runtime: `cupy.cuda.runtime` (CuPy 13 or later)."""
    reported = runtime.getDeviceProperties(index)
    name = reported["name"].decode() if isinstance(reported["name"], bytes) else str(reported["name"])

    limits, limit_sources = limits_of(reported["major"], reported["minor"])
    clock, memory_clock = reported["clockRate"] / 1e3, reported["memoryClockRate"] / 1e3  # CUDA reports kHz
    cores = reported["multiProcessorCount"] * limits.cores_per_sm
    driver, release = _version(runtime.driverGetVersion()), _driver_release()
    listed = by_cuda_name(name)

    return DeviceProperties(
        name=name,
        kind="cuda",
        source="reported by the CUDA driver; theoretical figures computed from them",
        compute_capability=(reported["major"], reported["minor"]),
        memory_bytes=reported["totalGlobalMem"],
        sms=reported["multiProcessorCount"],
        cores=cores,
        constant_bytes=reported["totalConstMem"],
        shared_bytes_per_block=reported["sharedMemPerBlock"],
        shared_bytes_per_block_optin=reported["sharedMemPerBlockOptin"],
        shared_bytes_per_sm=reported["sharedMemPerMultiprocessor"],
        reserved_shared_bytes_per_block=reported["reservedSharedMemPerBlock"],
        registers_per_block=reported["regsPerBlock"],
        registers_per_sm=reported["regsPerMultiprocessor"],
        warp_size=reported["warpSize"],
        max_threads_per_block=reported["maxThreadsPerBlock"],
        max_threads_per_sm=reported["maxThreadsPerMultiProcessor"],
        max_blocks_per_sm=reported["maxBlocksPerMultiProcessor"],
        max_block_dims=tuple(reported["maxThreadsDim"]),
        max_grid_dims=tuple(reported["maxGridSize"]),
        memory_pitch_bytes=runtime.deviceGetAttribute(_MAX_PITCH, index),
        texture_alignment_bytes=reported["textureAlignment"],
        clock_mhz=clock,
        concurrent_copy=runtime.deviceGetAttribute(_ASYNC_ENGINES, index) > 0,
        l2_bytes=reported["l2CacheSize"],
        memory_clock_mhz=memory_clock,
        memory_bus_bits=reported["memoryBusWidth"],
        ecc=bool(reported["ECCEnabled"]),
        driver_version=f"{driver} (release {release})" if release else driver,
        runtime_version=_version(runtime.runtimeGetVersion()),
        dram_gb_s=dram_gb_s(memory_clock, reported["memoryBusWidth"]),
        peak_fp32_gflops=peak_fp32_gflops(cores, clock),
        bus=listed.bus if listed else "",
        devices=runtime.getDeviceCount(),
        gpu_name=name,
        figure_sources=_not_reported(limit_sources, listed),
    )


def spec_of(properties: DeviceProperties) -> GpuSpec:
    """Return the data sheet of a CUDA GPU.

    It is the catalogue's if CUDA reports the same name and number of SMs. Otherwise it consists of what CUDA
    reports and, for the rest, of the limits of the GPU's compute capability or the nearest earlier one.
    """
    listed = by_cuda_name(properties.name)
    if listed is not None and listed.sms == properties.sms:
        return listed

    limits, sources = limits_of(*properties.compute_capability)
    reported = {f.name: getattr(properties, f.name) for f in fields(GpuSpec) if hasattr(properties, f.name)}
    from_limits = {f.name: getattr(limits, f.name) for f in fields(Limits)}
    values = {name: value for name, value in (from_limits | reported).items() if name != "sources"}
    return GpuSpec(
        **values,
        key="",
        cuda_names=(properties.name,),
        boost_clock_mhz=properties.clock_mhz,
        sources={**sources, **dict.fromkeys([*reported, "boost_clock_mhz"], properties.source)},
    )


def _not_reported(limit_sources: Mapping[str, str], listed: GpuSpec | None) -> dict[str, str]:
    """Return the sources of the figures that CUDA does not report."""
    from_card = {"bus": listed.sources["bus"]} if listed else {}
    return {"cores_per_sm": limit_sources["cores_per_sm"]} | from_card


def _version(number: int) -> str:
    """Return a version number of CUDA as text: "13.1" for 13010."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _driver_release() -> str:
    """Return the release of the driver, such as "580.65.06", on Linux; "" on other systems."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return ""
    match = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", text)
    return match.group() if match else ""
