"""The device interface: what a CUDA GPU and the simulator have in common.

Nothing above this room asks which of the two it is talking to; what it may ask is `kind`, to say
where a number came from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler.program import Program, Resources

__all__ = ["Array", "Device", "Dim3", "Kernel"]

Dim3 = int | Sequence[int]
Array = Any  # a device array: `shape`, `dtype`, `nbytes`; CuPy's on a GPU, `simt.SimulatedArray` here


class Kernel(ABC):
    """One compiled `__global__` function on one device; call it with a grid, a block and arguments."""

    name: str
    program: Program

    @property
    def resources(self) -> Resources:
        """What the assembler reports: registers per thread, shared bytes per block, …"""
        return self.program.resources_of(self.name)

    @abstractmethod
    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        """Launch on `grid` blocks of `block` threads and wait for the end.

        args: device arrays and scalars in the order of the kernel's parameters; a Python or NumPy
        scalar is converted to the parameter's own type.
        shared_mem: bytes of dynamic shared memory per block.

        Raises `LaunchError` (the launch was refused, never ended, a barrier was not reached by
        all) or `MemoryFault` (a thread left its arrays).
        """


class Device(ABC):
    """Where kernels run. Arrays are allocated on it and copied to and from it explicitly."""

    kind: str  # "cuda" or "sim": goes into the provenance of every number
    name: str  # "NVIDIA H200", or "simulator (H200)"
    spec: Any  # gpulab.gpus.catalogue.GpuSpec of the GPU that is here, or that is modelled

    @abstractmethod
    def asarray(self, host: npt.ArrayLike) -> Array: ...

    @abstractmethod
    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array: ...

    @abstractmethod
    def asnumpy(self, array: Array) -> npt.NDArray[Any]: ...

    @abstractmethod
    def synchronize(self) -> None: ...

    @abstractmethod
    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
    ) -> Kernel:
        """Compile CUDA C; `name` may be left out when there is one `__global__` function."""

    @abstractmethod
    def load_ptx(self, text: str, name: str | None = None) -> Kernel: ...

    def time(self, launch: Callable[[], object]) -> float:
        """Milliseconds that one `launch()` takes, with nothing else of ours in flight.

        Here by the host's clock; a GPU overrides it with events on both sides of the launch.
        """
        self.synchronize()
        start = perf_counter()
        launch()
        self.synchronize()
        return (perf_counter() - start) * 1e3

    def profile(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0
    ) -> Any:
        """What the performance model says of a launch: a `gpulab.model.profile.Profile`.

        The arrays keep their values. Raises what a launch raises.
        """
        # The model is a room above this one, and is found by its name.
        profile = import_module("gpulab.model.profile").profile_launch
        return profile(kernel, grid, block, args, shared_mem, device=self)

    def full(
        self, shape: int | Sequence[int], fill_value: object, dtype: npt.DTypeLike = np.float32
    ) -> Array:
        return self.asarray(np.full(shape, fill_value, dtype))

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
        return self.full(shape, 0, dtype)

    def empty_like(self, array: Array) -> Array:
        return self.empty(array.shape, array.dtype)
