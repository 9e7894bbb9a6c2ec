"""Opening a device and profiling on it: devices receive the performance model here, from a higher layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpulab.devices import open_device
from gpulab.devices.base import Device, Dim3, Kernel, require_kernel

if TYPE_CHECKING:
    from gpulab.model.profile import Profile

__all__ = ["device", "profile"]


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
    opened.profiler = _profiler
    return opened


def profile(kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> Profile:
    """Model the time of one launch, and what bounds it.

    Parameters
    ----------
    kernel : Kernel
        A compiled kernel of any device. On a CUDA GPU the model describes that GPU.
    grid, block : int or sequence of int
        Blocks of the grid, and threads of a block, as (x, y, z).
    args : sequence
        Device arrays and scalars in the order of the kernel's parameters. The arrays keep their values.
    shared_mem : int, optional
        Bytes of dynamic shared memory per block.

    Returns
    -------
    Profile
        `time_ms` with its provenance, `occupancy`, `bottleneck` and `counters`.

    Raises
    ------
    LaunchError, MemoryFault
        If the launch fails.
    UnsupportedInstruction
        If the simulator cannot execute an instruction of the kernel.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim:h200")
    >>> copy = dev.compile("__global__ void copy(const float* x, float* y)"
    ...                    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i]; }")
    >>> n = 1 << 22
    >>> profile = gpulab.profile(copy, n // 256, 256, (dev.zeros(n), dev.zeros(n)))
    >>> profile.provenance.kind
    'modelled'
    >>> profile.bottleneck in profile.terms
    True
    """
    require_kernel(kernel)
    modelled: Profile = kernel.device.profile(kernel, grid, block, args, shared_mem)
    return modelled


def _profiler(kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> Any:
    from gpulab.model.profile import profile_launch

    return profile_launch(kernel, grid, block, args, shared_mem, device=kernel.device)
