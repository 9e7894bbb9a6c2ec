"""Devices that run kernels: CUDA GPUs and the simulator, both opened by `open_device`."""

from __future__ import annotations

import os

from gpulab.devices.base import Device
from gpulab.errors import UsageError

__all__ = ["open_device"]


def open_device(name: str | None = None) -> Device:
    """Open a device; the same object every time it is opened by the same name.

    name: `cuda` or `cuda:0`, `cuda:1`, … for a CUDA GPU; `sim` for the simulator of the default GPU;
    `sim:gtx280` for the simulator of a GPU of the catalogue. None for the device that the environment
    variable GPULAB_DEVICE names, and without it for a CUDA GPU if one is available, else the simulator.

    Raises `UsageError` if there is no device of this name. `gpulab.device` adds the performance model.
    """
    if name is None:
        name = os.environ.get("GPULAB_DEVICE") or None
    if name is None:
        # A local import keeps `import gpulab` fast. CuPy is loaded only if there is a driver.
        from gpulab.devices.cuda.cuda_context import gpus

        name = "cuda" if gpus()[0] else "sim"
    kind, _, rest = name.strip().lower().partition(":")
    if kind == "sim":
        return _simulator(rest)
    if kind == "cuda" and (rest == "" or rest.isdecimal()):
        from gpulab.devices.cuda.cuda_device import cuda_device

        return cuda_device(int(rest or 0))
    raise UsageError(
        f"there is no device `{name}`; use sim, sim:GPU (such as sim:gtx280), cuda or cuda:NUMBER."
    )


def _simulator(gpu_name: str) -> Device:
    from gpulab.devices.simulator.simulated_device import simulator
    from gpulab.gpus.catalogue import DEFAULT_GPU, gpu

    return simulator(gpu(gpu_name or DEFAULT_GPU).key)
