"""A device whose kernels are Python functions on NumPy arrays, for tests without a compiler."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpulab.compiler.program import Parameter, Program, Resources
from gpulab.devices.base import Device, DeviceModule, Kernel
from gpulab.gpus.catalogue import gpu

Function = Callable[..., None]  # called with the kernel's arguments; arrays are NumPy arrays


class SourceModule(DeviceModule):
    """A module without variables, whose device compiles each kernel when it is asked for."""

    def __init__(self, device: Device, source: str, defines: Mapping[str, object] | None) -> None:
        self.device, self.defines = device, defines
        self.program = Program(source, "", 90)

    @property
    def on_simulator(self) -> Any:
        raise NotImplementedError

    def get_function(self, name: str | None = None, *, cooperative: bool = False) -> Kernel:
        return self.device.compile(self.program.source, name, self.defines)

    def get_global(self, name: str) -> Any:
        raise NotImplementedError


class StandInDevice(Device):
    """A device whose kernels share no variables."""

    def module(
        self,
        source: str,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
    ) -> DeviceModule:
        return SourceModule(self, source, defines)


class PythonKernel(Kernel):
    """A kernel that calls a function once per launch and records the grid and block of every launch."""

    on_simulator = None  # a Python function has no PTX

    def __init__(self, name: str, function: Function, program: Program, printed: str = "") -> None:
        self.name = name
        self.program = program
        self.function = function
        self.printed = printed
        self.launches: list[tuple[Any, Any]] = []

    def __call__(self, grid: Any, block: Any, args: Sequence[Any], shared_mem: int = 0) -> None:
        self.launches.append((grid, block))
        self.function(*args)


class PythonDevice(StandInDevice):
    """A device that compiles a kernel's name to a Python function; the source is ignored.

    Parameters
    ----------
    functions : mapping of str to callable
        The functions by kernel name.
    """

    kind = "sim"
    name = "stand-in"

    def __init__(self, functions: Mapping[str, Function] | None = None) -> None:
        self.spec = gpu("h200")
        self.functions = dict(functions or {})
        self.resources = Resources(registers=16)
        self.signature: tuple[Parameter, ...] | None = None
        self.compiled: list[tuple[str, str | None, Mapping[str, object] | None]] = []

    def asarray(self, host: Any) -> Any:
        return copy.deepcopy(np.asarray(host))

    def empty(self, shape: Any, dtype: Any = np.float32) -> Any:
        return np.empty(shape, dtype)

    def asnumpy(self, array: Any) -> Any:
        return array.copy()

    def synchronize(self) -> None:
        pass

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
    ) -> Kernel:
        self.compiled.append((source, name, defines))
        name = name or next(iter(self.functions))
        signatures = {name: self.signature} if self.signature is not None else {}
        program = Program(source, "", 90, resources={name: self.resources}, signatures=signatures)
        return self._with_device(PythonKernel(name, self.functions[name], program))

    def load_ptx(self, text: str, name: str | None = None) -> Kernel:
        raise NotImplementedError

    def kernel(self, function: Function, name: str = "block2D_naive") -> PythonKernel:
        """Return a kernel that calls `function`."""
        program = Program("", "", 90, resources={name: self.resources})
        return self._with_device(PythonKernel(name, function, program))

    def _with_device(self, kernel: PythonKernel) -> PythonKernel:
        kernel.device = self
        return kernel
