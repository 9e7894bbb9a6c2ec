"""run: where kernels run. `open_device` gives a CUDA GPU or the simulator; both are a `Device`."""

from __future__ import annotations

import os

from gpulab.devices.base import Device
from gpulab.errors import UsageError

__all__ = ["open_device"]


def open_device(name: str | None = None) -> Device:
    """A device to run kernels on.

    name: None for what the environment variable GPULAB_DEVICE names, and without it a CUDA GPU when
    one answers, else the simulator; `cuda` or `cuda:0`, `cuda:1`, … for that GPU; `sim` for the
    simulator with its default GPU; `sim:gtx280` for one of the catalogue.

    Cheap where CuPy or the NVIDIA driver is missing: neither is loaded then. Raises `UsageError`
    for a name that means nothing and for a GPU that is not there.
    """
    if name is None:
        name = os.environ.get("GPULAB_DEVICE") or None
    if name is None:
        # Not imported before it is needed: `import gpulab` stays light.
        from gpulab.devices.cuda_context import gpus

        name = "cuda" if gpus()[0] else "sim"
    kind, _, rest = name.strip().lower().partition(":")
    if kind == "sim":
        return _simulator(rest)
    if kind == "cuda" and (rest == "" or rest.isdecimal()):
        from gpulab.devices.cuda import cuda_device

        return cuda_device(int(rest or 0))
    raise UsageError(
        f"there is no device `{name}`; there is: sim, sim:GPU (such as sim:gtx280), cuda, cuda:NUMBER."
    )


def _simulator(gpu_name: str) -> Device:
    from gpulab.devices.simulated import simulator
    from gpulab.gpus.catalogue import DEFAULT_GPU, gpu

    return simulator(gpu(gpu_name or DEFAULT_GPU).key)
