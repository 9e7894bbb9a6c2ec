"""The state of NVIDIA's driver and of the GPUs for `gpulab doctor`, and what follows from it for gpulab."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpulab.devices.cuda.nvml import InstalledGpu, MigSlice, Nvml

__all__ = ["GpuDiagnosis", "counters_restricted", "diagnose_counters", "diagnose_driver", "diagnose_gpus"]

# The oldest driver for each major version of CUDA: NVIDIA, CUDA Compatibility, Minor Version Compatibility.
_OLDEST_DRIVERS = {11: 450, 12: 525, 13: 580}

# The driver's parameters, one in each line, among them who may read performance counters (NVIDIA, "Permission
# issue with Performance Counters", ERR_NVGPUCTRPERM).
_PARAMETERS = Path("/proc/driver/nvidia/params")
_RESTRICTED = "RmProfilingAdminOnly: 1"


@dataclass(frozen=True)
class GpuDiagnosis:
    """The state of one component: whether it works, a description, and what to do if it does not."""

    ok: bool
    detail: str
    remedy: str = ""


def diagnose_driver(nvml: Nvml | None, installed: bool, compiler: tuple[int, int] | None) -> GpuDiagnosis:
    """Return True if kernels that the compiler generates can be loaded.

    installed: whether the driver's library can be loaded. compiler: the version of NVRTC, if it is installed.
    """
    if nvml is None:
        if installed:
            return GpuDiagnosis(True, "installed; without NVML, its version and its GPUs are not known")
        return GpuDiagnosis(True, "not needed: no NVIDIA driver is installed")
    cuda = nvml.cuda_version()
    detail = nvml.driver_version() or "unknown version"
    if cuda is None:
        return GpuDiagnosis(True, detail)

    detail += f", for programs of CUDA {cuda[0]}.{cuda[1]} and older"
    if compiler is None or compiler[0] <= cuda[0]:
        return GpuDiagnosis(True, detail)
    needed = _OLDEST_DRIVERS.get(compiler[0])
    newer = f"{needed} or newer" if needed else f"one for CUDA {compiler[0]}"
    version = f"{compiler[0]}.{compiler[1]}"
    return GpuDiagnosis(
        False,
        f"{detail}; NVRTC {version} compiles kernels that need driver {newer}, also if CuPy is for CUDA "
        f"{cuda[0]}",
        f"update the NVIDIA driver to {newer}; until then, GPULAB_DEVICE=sim selects the simulator",
    )


def diagnose_gpus(nvml: Nvml | None, installed: bool, visible: str | None) -> GpuDiagnosis:
    """Return which GPUs there are, and which of them gpulab can use.

    installed: whether the driver's library can be loaded. visible: the value of the environment variable
    CUDA_VISIBLE_DEVICES.
    """
    if nvml is None:
        return GpuDiagnosis(True, "not listed: NVML is not installed" if installed else "none")
    gpus = nvml.gpus()
    if not gpus:
        return GpuDiagnosis(False, "the driver reports no GPU", "see what `nvidia-smi` reports")

    detail = _listing(gpus)
    if len(gpus) > 1:
        detail += '. gpulab opens cuda:0; gpulab.device("cuda:1") or GPULAB_DEVICE=cuda:1 opens another one'
    if any(gpu.slices for gpu in gpus):
        detail += (
            ". A program uses one MIG slice, which CUDA_VISIBLE_DEVICES selects (`nvidia-smi -L` lists their "
            "names); data sheets and modelled times are those of the whole GPU"
        )
    if visible is not None:
        detail += f". CUDA_VISIBLE_DEVICES={visible} limits what CUDA finds"

    without_slices = [gpu.name for gpu in gpus if gpu.mig and not gpu.slices]
    if len(without_slices) == len(gpus):
        return GpuDiagnosis(
            False,
            f"{detail}; a GPU in MIG mode without slices cannot be used",
            "ask the administrator to create slices (`nvidia-smi mig -cgi`), or to leave MIG mode "
            "(`nvidia-smi -mig 0`)",
        )
    exclusive = next((gpu for gpu in gpus if gpu.compute_mode), None)
    if exclusive is not None:
        return GpuDiagnosis(
            False,
            f"{detail}; the {exclusive.name} is in compute mode `{exclusive.compute_mode}`, but gpulab "
            "checks and times kernels in a process of their own",
            "ask the administrator for the default compute mode: `nvidia-smi -c DEFAULT`",
        )
    return GpuDiagnosis(True, detail)


def diagnose_counters(restricted: bool | None) -> GpuDiagnosis:
    """Return who may read the performance counters of the GPUs, which gpulab does not need.

    restricted: see `counters_restricted`.
    """
    own = "gpulab counts on the simulator and needs no permission"
    if restricted:
        return GpuDiagnosis(
            True,
            f"{own}; Nsight Compute is refused (ERR_NVGPUCTRPERM) until the administrator sets "
            "NVreg_RestrictProfilingToAdminUsers=0 for the driver",
        )
    return GpuDiagnosis(
        True, own if restricted is None else f"{own}; Nsight Compute may read those of the GPU"
    )


def counters_restricted(parameters: Path = _PARAMETERS) -> bool | None:
    """Return True if this user may not read the counters of a GPU; None if that is not known."""
    try:
        text = parameters.read_text(encoding="utf-8")
    except OSError:  # no driver, or not Linux
        return None
    return _RESTRICTED in text and os.geteuid() != 0


def _listing(gpus: Sequence[InstalledGpu]) -> str:
    """Return the GPUs with their memory and slices."""
    listed = ", ".join(_described(gpu) for gpu in gpus)
    return f"{len(gpus)} GPUs: {listed}" if len(gpus) > 1 else listed


def _described(gpu: InstalledGpu) -> str:
    text = _with_memory(gpu)
    if not gpu.mig:
        return text
    slices = ", ".join(map(_with_memory, gpu.slices)) or "none"
    return f"{text} in MIG mode with the slices: {slices}"


def _with_memory(part: InstalledGpu | MigSlice) -> str:
    if part.memory_bytes is None:
        return part.name
    return f"{part.name} ({part.memory_bytes / 2**30:.0f} GiB)"
