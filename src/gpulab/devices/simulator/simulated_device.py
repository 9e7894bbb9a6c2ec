"""The simulator as a device: its kernels and modules, and the memory of its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler import compile_program, ptx_program
from gpulab.compiler.program import Program, name_expressions_of
from gpulab.devices.arguments import convert
from gpulab.devices.base import Array, Dim3, RecordableDevice, RecordableKernel, RecordableModule
from gpulab.devices.kernel_output import show_printed
from gpulab.devices.launch_limits import check_bounds, check_cooperative, check_launch, dim3
from gpulab.devices.loaded_modules import LoadedModules, module_key
from gpulab.devices.simulator.faults import explain, explain_barriers
from gpulab.devices.simulator.simulated_array import SimulatedArray, new_array
from gpulab.devices.simulator.simulated_streams import (
    DelayedCopies,
    SimulatedStream,
    copy_operation,
    pinned_array,
)
from gpulab.devices.simulator.simulated_textures import SimulatedTextures
from gpulab.devices.streams import DeviceOperation, Launch, Stream, array_shape, check_destination
from gpulab.devices.textures import DeviceTexture
from gpulab.errors import LaunchError, UsageError
from gpulab.finding import Finding
from gpulab.gpus.catalogue import DEFAULT_GPU, GpuSpec, gpu, names
from gpulab.simt.runtime.allocation import Allocation, Memory
from gpulab.simt.runtime.heap import DeviceHeap
from gpulab.simt.runtime.host_memory import host_budget
from gpulab.simt.runtime.layout import DEFAULT_BUDGET, DEFAULT_LAUNCH_BUDGET, GRID_BARRIER_BYTES
from gpulab.simt.runtime.texture_table import TextureTable
from gpulab.simt.runtime.variable_memory import VariableMemory

if TYPE_CHECKING:
    from gpulab.simt.analysis.basic_blocks import ControlFlow
    from gpulab.simt.codegen.native import NativeKernel
    from gpulab.simt.instrument.recorder import Recorder
    from gpulab.simt.runtime.launch import LaunchOutcome

__all__ = [
    "SimulatedDevice",
    "SimulatedKernel",
    "SimulatedModule",
    "simulator",
    "simulator_of",
]

MAX_PRINTED = 1 << 20  # characters of printf that are kept, as many as CUDA's buffer has bytes by default
WARPS_AT_LIMIT = 8  # the budget of a launch is that of a warp times this, unless the default applies
OLDEST_ARCH = 75  # oldest architecture of NVRTC 13; kernels for older GPUs are compiled for it


class SimulatedModule(RecordableModule):
    """A module on the simulator. Its kernels share the parsed PTX and the memory of the variables."""

    device: SimulatedDevice

    def __init__(
        self, device: SimulatedDevice, program: Program, *, independent_threads: bool = True
    ) -> None:
        from gpulab.simt.ptx.parser import parse

        self.device, self.program = device, program
        self.independent_threads = independent_threads
        self.ptx = parse(program.ptx)
        self.memory = VariableMemory(device.memory, self.ptx)

    @property
    def on_simulator(self) -> SimulatedModule:
        return self

    @property
    def allocations(self) -> Mapping[str, Allocation]:
        return self.memory.allocations

    def get_function(self, name: str | None = None, *, cooperative: bool = False) -> SimulatedKernel:
        return SimulatedKernel(self, self.program.pick(name), cooperative)

    def get_global(self, name: str) -> SimulatedArray:
        variable = self.program.variable(name)
        allocation, dtype = self.memory.allocation(variable.symbol), np.dtype(variable.dtype)
        return SimulatedArray(self.device.memory, allocation, variable.shape, dtype, owner=self)


class SimulatedKernel(RecordableKernel):
    """A kernel on the simulator; its native code is compiled at the first launch with each block shape."""

    device: SimulatedDevice
    module: SimulatedModule

    def __init__(self, module: SimulatedModule, name: str, cooperative: bool) -> None:
        self.module, self.name = module, name
        self.device, self.program = module.device, module.program
        self.printed = ""
        self.warned: tuple[Finding, ...] = ()
        self.cooperative = cooperative
        self.entry = self.program.entry(name)
        function = module.ptx.functions.get(self.entry)
        if function is None or len(function.params) != len(self.program.signatures[name]):
            raise UsageError(f"this PTX is malformed: the parameters of `{name}` cannot be read.")
        self._syncs_grid = self._check_instructions()
        self._native: dict[Any, Any] = {}
        self._static_shared: int | None = None

    def _check_instructions(self) -> bool:
        """Return True if the kernel can wait for the whole grid; raise for instructions that are refused."""
        from gpulab.simt.codegen.special_registers import GRID_BARRIER
        from gpulab.simt.codegen.support import check_kernel

        return not check_kernel(self.module.ptx, self.entry).isdisjoint(GRID_BARRIER)

    @property
    def on_simulator(self) -> SimulatedKernel:
        return self

    @property
    def silent(self) -> SimulatedKernel:
        kernel = self._silent
        if kernel is None:
            return self
        values = self.module.read_variables()
        kernel.module.write_variables(
            {name: values[name] for name in values.keys() & kernel.module.variables.keys()}
        )
        return kernel

    @cached_property
    def _silent(self) -> SimulatedKernel | None:
        program = self.program.silent
        if program is None:
            return None
        module = SimulatedModule(self.device, program, independent_threads=self.module.independent_threads)
        return module.get_function(self.name, cooperative=self.cooperative)

    @property
    def constants(self) -> dict[int, str]:
        variables = self.module.ptx.variables
        return {
            allocation.address: name
            for name, allocation in self.module.allocations.items()
            if variables[name].space == "const"
        }

    @cached_property
    def flow(self) -> ControlFlow:
        """The control flow graph of the kernel; counts refer to the numbers of its blocks."""
        from gpulab.simt.codegen.native import kernel_flow

        return kernel_flow(self.module.ptx, self.entry)

    def __call__(
        self,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Any],
        shared_mem: int = 0,
        *,
        stream: Stream | None = None,
    ) -> None:
        launch = Launch(self, grid, block, args, shared_mem)
        self.printed = ""
        try:
            with self.device.ordered(DeviceOperation("kernel", self.name, stream, launch=launch)):
                self.record(None, grid, block, args, shared_mem)
        finally:  # the output before a fault helps to find it
            show_printed(self.printed)
        self.warn()

    def make_code(self, recorder: Recorder, block: Dim3, shared_mem: int = 0) -> None:
        self._code(recorder, dim3(block, "block"), shared_mem)

    def _code(
        self, recorder: Recorder, block: tuple[int, int, int], shared_mem: int
    ) -> tuple[NativeKernel, int]:
        """Return the native code for launches with this block, and the shared bytes per block."""
        if self._static_shared is None:
            from gpulab.simt.codegen.variable_layout import static_shared_bytes

            self._static_shared = static_shared_bytes(self.module.ptx, self.entry)
        shared_bytes = self._static_shared + shared_mem
        key = block, shared_bytes, recorder.tier, recorder.forms
        native: NativeKernel | None = self._native.get(key)
        if native is None:
            from gpulab.simt.codegen.native import Specialization, compile_kernel

            special = Specialization(
                block, shared_bytes, self.module.independent_threads, recorder.tier, recorder.forms
            )
            native = self._native[key] = compile_kernel(self.module.ptx, self.entry, special)
        return native, shared_bytes

    def record(
        self,
        recorder: Recorder | None,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Any],
        shared_mem: int = 0,
        order: npt.NDArray[np.int64] | None = None,
        budget: int | None = None,
    ) -> NativeKernel:
        from gpulab.simt.instrument.recorder import Recorder
        from gpulab.simt.runtime.launch import GridLaunch, launch

        grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
        # Without `arch`, registers are not checked: the simulator has no register limit.
        check_launch(self.device.spec, self.name, self.resources, grid3, block3, shared_mem)
        check_bounds(self.name, self.module.ptx.functions[self.entry].directives, block3)
        values = convert(
            self.program.signatures[self.name],
            args,
            accepts=self.device.owns,
            device=self.device.name,
        )

        barrier = self._grid_barrier(grid3, block3, shared_mem, order)

        recorder = recorder or Recorder()
        native, shared_bytes = self._code(recorder, block3, shared_mem)
        packed = self._pack(values)
        symbols, parameter_copy = self._addresses(native.symbols, packed)
        self.printed, self.warned = "", ()
        device = self.device
        launch_budget = device.launch_budget
        if budget is not None:
            launch_budget = min(WARPS_AT_LIMIT * budget, launch_budget)
        budget = device.budget if budget is None else min(budget, device.budget)
        request = GridLaunch(
            native,
            self.device.memory,
            grid3,
            block3,
            packed,
            symbols,
            shared_bytes,
            prints="vprintf" in self.module.ptx.functions,
            budget=budget,
            launch_budget=launch_budget,
            order=order,
            grid_barrier=0 if barrier is None else barrier.allocation.address,
            heap=self.device.heap if {"malloc", "free"} & self.module.ptx.functions.keys() else None,
            textures=self.device.textures.current(),
        )
        outcome = launch(request, recorder)
        del parameter_copy  # it must live until the launch has ended
        if recorder.tier != "racecheck" and not recorder.repeats:
            self.device.memory.mark_written()

        if outcome.printed:
            self._print(outcome)
        if outcome.print_lost:
            calls = f"{outcome.print_lost:,} more call{'s' * (outcome.print_lost > 1)}"
            self.printed += f"\n(the buffer of printf was full: the output of {calls} is lost)\n"
        if outcome.fault is not None:
            limits = budget, launch_budget
            raise explain(outcome.fault, self, self.named_arrays(values), limits, outcome.mixed_barriers)
        if outcome.mixed_barriers is not None:
            self.warned = (explain_barriers(outcome.mixed_barriers),)
        return native

    def _print(self, outcome: LaunchOutcome) -> None:
        """Format what the kernel printed; what does not fit is lost."""
        from gpulab.simt.runtime.printing import format_record

        memory = self.device.memory
        for number, record in enumerate(outcome.printed):
            text = format_record(memory.read_string(record.format), record.arguments, memory.read_string)
            self.printed += text[: MAX_PRINTED - len(self.printed)]
            if len(self.printed) == MAX_PRINTED:
                outcome.print_lost += len(outcome.printed) - number
                break

    def _grid_barrier(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_mem: int,
        order: npt.NDArray[np.int64] | None,
    ) -> SimulatedArray | None:
        """Return the memory of the barrier of a cooperative launch; None for another launch.

        Raises `LaunchError` if the kernel or the grid does not permit the launch.
        """
        if not self.cooperative:
            if self._syncs_grid:
                raise LaunchError(
                    f"{self.name} uses cooperative_groups::this_grid(), which needs a cooperative launch: "
                    "compile the kernel with dev.compile(source, cooperative=True)."
                )
            return None
        check_cooperative(self.device.spec, self.name, self.resources, grid, block, shared_mem)
        if order is not None and len(order) < prod(grid):
            raise LaunchError(
                f"{self.name} is launched cooperatively: its blocks wait for each other, so that some of "
                "them cannot run alone, as modelling a launch requires."
            )
        return self.device.zeros(GRID_BARRIER_BYTES, np.uint8)

    def _addresses(self, names: list[str], packed: bytes) -> tuple[list[int], SimulatedArray | None]:
        """Return the addresses of symbols, and the array of the parameters if one of them refers to it."""
        if not names:
            return [], None

        from gpulab.simt.codegen.kernel_context import PARAMETERS

        variables = self.module.allocations
        if PARAMETERS not in names:
            return [variables[name].address for name in names], None
        copy = self.device.asarray(np.frombuffer(packed, np.uint8))
        addresses = {PARAMETERS: copy.allocation.address}
        return [addresses.get(name) or variables[name].address for name in names], copy

    def _pack(self, values: list[Any]) -> bytes:
        """Return the parameter buffer: each parameter at its alignment, arrays as addresses."""
        data = bytearray()
        for param, value in zip(self.module.ptx.functions[self.entry].params, values, strict=True):
            data.extend(b"\0" * (-len(data) % param.align))
            if isinstance(value, SimulatedArray):
                data.extend(value.allocation.address.to_bytes(8, "little"))
            else:
                data.extend(value.tobytes())
        return bytes(data)


class SimulatedDevice(RecordableDevice):
    """The simulator of a GPU of the catalogue, with its limits."""

    kind = "sim"
    can_record = True

    def __init__(self, gpu_name: str) -> None:
        self.spec = gpu(gpu_name)
        self.name = f"simulator ({self.spec.name})"
        self.memory = Memory(host_budget())
        self.heap = DeviceHeap(self.memory)
        self.textures = TextureTable()
        self.budget, self.launch_budget = DEFAULT_BUDGET, DEFAULT_LAUNCH_BUDGET
        self._copies = DelayedCopies()
        self._streams = count(1)
        self._modules = LoadedModules[SimulatedModule]()

    def __repr__(self) -> str:
        return f"<SimulatedDevice {self.spec.key}>"

    def asarray(
        self, host: npt.ArrayLike | SimulatedArray, *, stream: Stream | None = None
    ) -> SimulatedArray:
        if isinstance(host, SimulatedArray):
            return host
        source = np.asarray(host)
        if source.dtype.hasobject:
            raise UsageError("an array of Python objects cannot be copied to a device; use a numeric dtype.")
        array = new_array(self.memory, source.shape, source.dtype, "any")
        with self.ordered(copy_operation("copy to device", source, stream)):
            array.view()[...] = source
        return array

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> SimulatedArray:
        return new_array(self.memory, array_shape(shape), np.dtype(dtype))

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> SimulatedArray:
        # Unlike copied zeros, these occupy host memory only once a page is written.
        return new_array(self.memory, array_shape(shape), np.dtype(dtype), "zeros")

    def adopt(self, host: npt.NDArray[Any]) -> SimulatedArray:
        contents = host.reshape(-1).view(np.uint8)
        return SimulatedArray(self.memory, self.memory.adopt(contents), host.shape, host.dtype)

    def asnumpy(
        self, array: Array, *, stream: Stream | None = None, out: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        if isinstance(array, DeviceTexture):
            array = array.storage
        if not isinstance(array, SimulatedArray):
            raise LaunchError(f"a {type(array).__name__} is not an array of the {self.name}.")
        host = np.empty(array.shape, array.dtype) if out is None else out
        check_destination(host, array.shape, array.dtype)
        operation = copy_operation("copy to host", host, stream)
        with self.ordered(operation):
            if operation.pinned and stream is not None:
                self._copies.add(stream, host, array.get())
            else:
                host[...] = array.view()
        return host

    def pinned_empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        return pinned_array(array_shape(shape), np.dtype(dtype))

    def texture_maker(self) -> SimulatedTextures:
        return SimulatedTextures(self)

    def owns(self, value: object) -> bool:
        """Return True for an array, a texture or a surface of this device."""
        return self.texture_maker().owns(value)

    def stream(self) -> SimulatedStream:
        return SimulatedStream(next(self._streams), self._copies)

    @contextmanager
    def ordered(self, operation: DeviceOperation) -> Iterator[None]:
        """Run one operation; without a stream, it waits for all streams."""
        stream = operation.stream
        if stream is None:
            self.synchronize()
        elif not isinstance(stream, SimulatedStream) or stream.copies is not self._copies:
            raise UsageError(f"{stream!r} is not a stream of the {self.name}; create one with dev.stream().")
        with self.observed(operation):
            yield

    def synchronize(self) -> None:
        self._copies.deliver()  # kernels have finished when their launch returns

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        *,
        cooperative: bool = False,
        independent_threads: bool = True,
    ) -> SimulatedKernel:
        """Compile CUDA C++ for the simulator; see `Device.compile`.

        Parameters
        ----------
        source, name, defines, options, cooperative
            As for `Device.compile`.
        independent_threads : bool, optional
            If True, diverged lanes of a warp make progress independently, as since Volta. False runs one
            branch to its end first, as older GPUs do: lanes that wait for lanes of their own warp are then
            reported as a deadlock.

        Returns
        -------
        SimulatedKernel
            The compiled kernel.

        Raises
        ------
        CompileError, IncludeRefused, UsageError
            As for `Device.compile`.
        UnsupportedInstruction
            If the kernel contains an instruction that the simulator does not execute.
        """
        expressions = name_expressions_of(name)
        key = module_key(source, defines, options, expressions, independent_threads)
        module = self._modules.get(key)
        if module is None:
            module = self.module(
                source, defines, options, expressions, independent_threads=independent_threads
            )
        return module.get_function(name, cooperative=cooperative)

    def module(
        self,
        source: str,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
        *,
        independent_threads: bool = True,
    ) -> SimulatedModule:
        """Compile CUDA C++ and load it as a module; see `Device.module`.

        Parameters
        ----------
        source, defines, options, name_expressions
            As for `Device.module`.
        independent_threads : bool, optional
            As for `compile`.

        Returns
        -------
        SimulatedModule
            The module.

        Raises
        ------
        CompileError, IncludeRefused, UsageError
            As for `Device.compile`.
        """
        arch = max(OLDEST_ARCH, self.spec.arch)
        program = compile_program(
            source, arch=arch, defines=defines, options=options, name_expressions=name_expressions
        )
        module = SimulatedModule(self, program, independent_threads=independent_threads)
        key = module_key(source, defines, options, name_expressions, independent_threads)
        return self._modules.keep(key, module)

    def module_of(self, program: Program) -> SimulatedModule:
        """Load a program that was compiled before, for any device."""
        return SimulatedModule(self, program)

    def load_ptx(
        self, text: str, name: str | None = None, *, independent_threads: bool = True
    ) -> SimulatedKernel:
        module = SimulatedModule(self, ptx_program(text), independent_threads=independent_threads)
        return module.get_function(name)


@cache
def simulator(key: str) -> SimulatedDevice:
    """Return the simulator of a GPU of the catalogue; the same object every time."""
    return SimulatedDevice(key)


def simulator_of(spec: GpuSpec) -> SimulatedDevice:
    """Return the simulator of a GPU, or of the default GPU if the catalogue does not have it."""
    return simulator(spec.key if spec.key in names() else DEFAULT_GPU)
