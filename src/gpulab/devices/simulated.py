"""The simulator as a device: arrays, kernels, and faults in the student's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler import compile_program, ptx_program
from gpulab.compiler.program import Program
from gpulab.devices.arguments import convert
from gpulab.devices.base import Array, Dim3, RecordableDevice, RecordableKernel
from gpulab.devices.faults import explain
from gpulab.devices.launch_limits import check_launch, dim3
from gpulab.errors import LaunchError, UsageError
from gpulab.gpus.catalogue import DEFAULT_GPU, GpuSpec, gpu, names
from gpulab.simt.ptx.call_graph import function_address
from gpulab.simt.runtime.allocation import Allocation, Memory
from gpulab.simt.runtime.layout import DEFAULT_BUDGET

if TYPE_CHECKING:
    from gpulab.simt.analysis.basic_blocks import ControlFlow
    from gpulab.simt.codegen.native import NativeKernel
    from gpulab.simt.instrument.recorder import Recorder

__all__ = ["SimulatedArray", "SimulatedDevice", "SimulatedKernel", "simulator", "simulator_of"]

MEMORY_BYTES = 8 << 30  # what arrays may take together, on the host


class SimulatedArray:
    """An array on the simulated device: copy it with `dev.asnumpy`; kernels take it as a pointer."""

    def __init__(
        self, memory: Memory, shape: tuple[int, ...], dtype: np.dtype[Any], zeroed: bool = False
    ) -> None:
        self.shape, self.dtype = shape, dtype
        self.size = prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.memory = memory
        self.allocation: Allocation = memory.allocate(self.nbytes, zeroed)
        memory.free_with(self, self.allocation.address)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def view(self) -> npt.NDArray[Any]:
        """The device's own memory, as the host sees it."""
        assert self.allocation.host is not None
        return self.allocation.host.view(self.dtype).reshape(self.shape)

    def get(self) -> npt.NDArray[Any]:
        """A copy on the host, as CuPy's `get`."""
        return self.view().copy()

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "scalar"
        return f"<SimulatedArray {shape} {self.dtype} at {self.allocation.address:#x}>"


class SimulatedKernel(RecordableKernel):
    """A kernel on the simulator. Native code is made on the first launch with each block shape.

    printed: what `printf` wrote in the last launch.
    """

    def __init__(
        self, device: SimulatedDevice, program: Program, name: str, independent_threads: bool
    ) -> None:
        from gpulab.simt.ptx.parser import parse

        self.device, self.program, self.name = device, program, name
        self.printed = ""
        self.independent_threads = independent_threads
        self.module = parse(program.ptx)
        self.entry = program.entries.get(name, name)
        known = self.module.functions.get(self.entry)
        if known is None or len(known.params) != len(program.signatures[name]):
            raise UsageError(f"this PTX is not well formed: the parameters of `{name}` cannot be read.")
        self._symbols: dict[str, Allocation] = {}
        self._native: dict[Any, Any] = {}
        self._static_shared: int | None = None
        self._place_globals()

    def _place_globals(self) -> None:
        for variable in self.module.variables.values():
            if variable.space in ("global", "const"):
                found = self.device.memory.allocate(max(variable.size, 1))
                assert found.host is not None
                found.host[:] = 0
                self.device.memory.mark_written(found.address)
                if variable.initial is not None:
                    found.host[: variable.size] = np.frombuffer(variable.initial, np.uint8)
                self._symbols[variable.name] = found
                self.device.memory.free_with(self, found.address)
        for variable in self.module.variables.values():
            for offset, symbol, addend in variable.references:
                target = self._symbols.get(symbol)
                address = target.address if target else function_address(self.module, symbol)
                host = self._symbols[variable.name].host
                if host is not None and address is not None:
                    host[offset : offset + 8].view(np.int64)[0] = address + addend

    @property
    def on_simulator(self) -> SimulatedKernel:
        return self

    @cached_property
    def flow(self) -> ControlFlow:
        """The kernel's blocks of code, by whose numbers counts go."""
        from gpulab.simt.codegen.native import control_flow_of
        from gpulab.simt.ptx.inlining import flatten

        return control_flow_of(flatten(self.module, self.entry))

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        self.record(None, grid, block, args, shared_mem)

    def make_code(self, recording: Recorder, block: Dim3, shared_mem: int = 0) -> None:
        """Make the code for launches with this recording and block, and keep it; nothing runs."""
        self._code(recording, dim3(block, "block"), shared_mem, blocks=1)

    def _code(
        self, recording: Recorder, block: tuple[int, int, int], shared_mem: int, blocks: int
    ) -> tuple[NativeKernel, int]:
        """The code for a launch of so many blocks, and the shared memory of a block in bytes."""
        from gpulab.simt.codegen.native import (
            Specialization,
            compile_kernel,
            is_small_launch,
            static_shared_bytes,
        )

        if self._static_shared is None:
            self._static_shared = static_shared_bytes(self.module, self.entry)
        key = Specialization(
            block,
            self._static_shared + shared_mem,
            self.independent_threads,
            recording.tier,
            recording.forms,
            is_small_launch(recording.tier, prod(block) * blocks),
        )
        if key not in self._native:
            self._native[key] = compile_kernel(self.module, self.entry, key)
        return self._native[key], key.shared_bytes

    def record(
        self,
        recording: Recorder | None,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Any],
        shared_mem: int = 0,
        order: npt.NDArray[np.int64] | None = None,
        budget: int | None = None,
    ) -> NativeKernel:
        """Launch, and record what happens; the code that ran.

        recording: of the tier that is to run; None: the values tier. order: numbers of the blocks to run,
        where that is not all of them. budget: for a launch that is to have less than the device's.
        """
        from gpulab.simt.instrument.recorder import Recorder
        from gpulab.simt.runtime.launch import launch
        from gpulab.simt.runtime.printing import format_record

        grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
        # Registers are the real GPU's concern; the simulator has as many as a kernel asks for.
        check_launch(self.device.spec, self.name, self.resources, grid3, block3, shared_mem)
        values = convert(
            self.program.signatures[self.name],
            args,
            accepts=lambda a: isinstance(a, SimulatedArray) and a.memory is self.device.memory,
            device=self.device.name,
        )
        recording = recording or Recorder()
        blocks = prod(grid3) if order is None else len(order)
        native, shared_bytes = self._code(recording, block3, shared_mem, blocks)
        packed = self._pack(values)
        symbols, kept = self._addresses(native.symbols, packed)
        prints = "vprintf" in self.module.functions
        self.printed = ""
        if recording.tier != "sanitized":  # which does not follow what is written
            self.device.memory.mark_written()
        budget = self.device.budget if budget is None else min(budget, self.device.budget)
        outcome = launch(
            native, self.device.memory, grid3, block3, packed, symbols, shared_bytes, prints,
            budget, recording, order,
        )  # fmt: skip
        del kept
        memory = self.device.memory
        self.printed = "".join(
            format_record(memory.read_string(r.format), r.arguments, memory.read_string)
            for r in outcome.printed
        )
        if outcome.print_lost:
            self.printed += "\n(printf wrote more than its buffer holds; the rest is lost)\n"
        if outcome.fault is not None:
            names = [p.name for p in self.program.signatures[self.name]]
            raise explain(outcome.fault, memory, dict(zip(names, values, strict=True)), budget)
        return native

    def _addresses(self, names: list[str], packed: bytes) -> tuple[list[int], SimulatedArray | None]:
        """Device addresses of the symbols that the code asks for, and an array to keep for the launch."""
        from gpulab.simt.codegen.kernel_context import PARAMETERS

        if PARAMETERS not in names:
            return [self._symbols[name].address for name in names], None
        copy = self.device.asarray(np.frombuffer(packed, np.uint8))
        known = {PARAMETERS: copy.allocation.address}
        return [known.get(name) or self._symbols[name].address for name in names], copy

    def _pack(self, values: list[Any]) -> bytes:
        """The parameter buffer: each parameter at its own alignment, arrays as their address."""
        data = bytearray()
        for param, value in zip(self.module.functions[self.entry].params, values, strict=True):
            data.extend(b"\0" * (-len(data) % param.align))
            if isinstance(value, SimulatedArray):
                data.extend(value.allocation.address.to_bytes(8, "little"))
            else:
                data.extend(np.asarray(value).tobytes())
        return bytes(data)


class SimulatedDevice(RecordableDevice):
    """The simulator, with the limits of one GPU of the catalogue.

    budget: instructions a warp may execute before it counts as never ending.
    """

    kind = "sim"
    can_record = True

    def __init__(self, gpu_name: str) -> None:
        self.spec = gpu(gpu_name)
        self.name = f"simulator ({self.spec.name})"
        self.memory = Memory(MEMORY_BYTES)
        self.budget = DEFAULT_BUDGET

    def __repr__(self) -> str:
        return f"<SimulatedDevice {self.spec.key}>"

    def asarray(self, host: npt.ArrayLike | SimulatedArray) -> SimulatedArray:
        if isinstance(host, SimulatedArray):
            return host
        source = np.asarray(host)
        if source.dtype.hasobject:
            raise UsageError("an array of Python objects has no form on a device; give numbers.")
        found = SimulatedArray(self.memory, source.shape, source.dtype)
        found.view()[...] = source
        self.memory.mark_written(found.allocation.address)
        return found

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> SimulatedArray:
        return SimulatedArray(self.memory, _sizes(shape), np.dtype(dtype))

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> SimulatedArray:
        """As `Device.zeros`; the host's memory is taken only where something is touched."""
        return SimulatedArray(self.memory, _sizes(shape), np.dtype(dtype), zeroed=True)

    def asnumpy(self, array: Array) -> npt.NDArray[Any]:
        if not isinstance(array, SimulatedArray):
            raise LaunchError(f"this is not an array of {self.name}: {type(array).__name__}.")
        return array.get()

    def synchronize(self) -> None:
        """Launches on the simulator have ended when they return."""

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        *,
        independent_threads: bool = True,
    ) -> SimulatedKernel:
        """Compile CUDA C.

        independent_threads: False runs diverged lanes as GPUs before Volta did: lanes that wait for
        lanes of their own warp then wait for ever, which is reported as a deadlock.
        """
        arch = max(75, self.spec.arch)  # NVRTC's oldest; older GPUs are modelled, not compiled for
        program = compile_program(source, arch=arch, defines=defines, options=options)
        return SimulatedKernel(self, program, program.pick(name), independent_threads)

    def kernel_of(self, program: Program, name: str) -> SimulatedKernel:
        """A kernel of a program that was compiled already, for whatever device."""
        return SimulatedKernel(self, program, name, True)

    def load_ptx(
        self, text: str, name: str | None = None, *, independent_threads: bool = True
    ) -> SimulatedKernel:
        program = ptx_program(text)
        return SimulatedKernel(self, program, program.pick(name), independent_threads)


def _sizes(shape: int | Sequence[int]) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if any(s < 0 for s in sizes):
        raise UsageError(f"an array's sizes cannot be negative; {sizes} was asked for.")
    return tuple(int(s) for s in sizes)


@cache
def simulator(key: str) -> SimulatedDevice:
    """Return the simulator of a GPU of the catalogue; the same object every time."""
    return SimulatedDevice(key)


def simulator_of(spec: GpuSpec) -> SimulatedDevice:
    """Return the simulator of a GPU, or of the default GPU if the catalogue does not have it."""
    return simulator(spec.key if spec.key in names() else DEFAULT_GPU)
