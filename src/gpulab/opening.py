"""Opening a device: the place where devices are given the performance model, which is a layer above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulab.devices import open_device
from gpulab.devices.base import Device, Dim3, Kernel

__all__ = ["device"]


def device(name: str | None = None) -> Device:
    """Open a device to run kernels on.

    Parameters
    ----------
    name : str, optional
        ``"cuda"``, ``"cuda:0"``, ``"cuda:1"``, ...: that CUDA GPU. ``"sim"``: the simulator of the default
        GPU. ``"sim:gtx280"``, ``"sim:h200"``, ...: the simulator of a GPU of the catalogue
        (`gpulab.catalogue_table` lists them). If omitted, the environment variable ``GPULAB_DEVICE`` names
        the device; without it, a CUDA GPU is opened if one is available, else the simulator.

    Returns
    -------
    Device
        The same object every time it is opened by the same name.

    Raises
    ------
    UsageError
        If there is no device of this name.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim:gtx280")
    >>> dev.spec.sms
    30
    """
    opened = open_device(name)
    opened.profiler = _profile
    return opened


def _profile(kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> Any:
    from gpulab.model.profile import profile_launch

    return profile_launch(kernel, grid, block, args, shared_mem, device=kernel.device)
