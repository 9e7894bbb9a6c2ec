"""A CUDA GPU, used through CuPy: its arrays are `cupy.ndarray`, its kernels are compiled by gpulab.

An endless kernel cannot be stopped by the process that launched it: CUDA has no function for this, and a GPU
without a display has no watchdog. A fault destroys the CUDA context with all arrays. Checks and benchmarks
therefore launch in a worker process with a time limit (see `device_process`). When that process is killed,
the driver stops the kernel and frees its context. Only a kernel that is called by the user, on the user's
arrays, runs in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler import compile_program, ptx_program
from gpulab.compiler.program import Program, Resources, name_expressions_of
from gpulab.devices.arguments import convert
from gpulab.devices.base import (
    Array,
    Device,
    DeviceModule,
    Dim3,
    Kernel,
    RecordableKernel,
    RecordableModule,
)
from gpulab.devices.cuda.cuda_context import CudaContext, gpus
from gpulab.devices.cuda.cuda_streams import (
    CudaStream,
    copy_operation_of,
    on_stream,
    pinned_memory,
    queue_copy,
)
from gpulab.devices.cuda.cuda_textures import CudaTextures
from gpulab.devices.cuda.nvml import ClockState, open_nvml
from gpulab.devices.launch_limits import check_cooperative, check_launch, dim3
from gpulab.devices.loaded_modules import LoadedModules, module_key
from gpulab.devices.query import DeviceProperties, cuda_properties, spec_of
from gpulab.devices.streams import CopyKind, DeviceOperation, Launch, Stream, array_shape, check_destination
from gpulab.devices.textures import DeviceTexture
from gpulab.errors import LaunchError, UsageError

__all__ = ["CudaDevice", "CudaKernel", "CudaModule", "cuda_device"]

# Values of CUfunction_attribute (CUDA Driver API), part of CUDA's binary interface.
_SHARED, _CONSTANT, _LOCAL, _REGISTERS, _MAX_DYNAMIC_SHARED = 1, 2, 3, 4, 8

# A kernel that runs for a given number of nanoseconds. It delays the launches that are queued behind it.
_DELAY = """
.version 6.4
.target sm_50
.address_size 64
.visible .entry delay(.param .u64 nanoseconds)
{
    .reg .u64 %time<4>;
    .reg .pred %early;
    ld.param.u64 %time1, [nanoseconds];
    mov.u64 %time2, %globaltimer;
again:
    mov.u64 %time3, %globaltimer;
    sub.u64 %time3, %time3, %time2;
    setp.lt.u64 %early, %time3, %time1;
    @%early bra again;
    ret;
}
"""
_EVICT = """extern "C" __global__ void evict(const float4* data, int n, float* sink) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 x = __ldcg(data + i);
        sum += x.x + x.y + x.z + x.w;
    }
    if (sum == 0.125f) sink[0] = sum;   // never true, but the compiler cannot know that
}"""
_EVICTED_L2S = 2  # bytes that the kernel reads, in sizes of the L2 cache
_DELAY_NS = 300_000  # longer than Python takes to enqueue a kernel and two events

_opened: dict[int, CudaDevice] = {}


class CudaModule(DeviceModule):
    """A module on a CUDA GPU.

    Attributes
    ----------
    loaded : cupy.cuda.function.Module
        The module in the CUDA context.
    """

    device: CudaDevice

    def __init__(self, device: CudaDevice, program: Program) -> None:
        self.device, self.program = device, program
        # Module.load takes the machine code and is the same in CuPy 13 and 14. RawModule(path=…) would need a
        # file, and would cache every module by its path.
        with device.context.activate(f"loading {', '.join(map('`{}`'.format, program.kernel_names))}"):
            self.loaded = device.context.cupy.cuda.function.Module()
            self.loaded.load(program.cubin if program.cubin is not None else program.ptx.encode() + b"\0")

    @cached_property
    def on_simulator(self) -> RecordableModule:
        from gpulab.devices.simulator.simulated_device import simulator_of

        return simulator_of(self.device.spec).module_of(self.program)

    def get_function(self, name: str | None = None, *, cooperative: bool = False) -> CudaKernel:
        return CudaKernel(self, self.program.pick(name), cooperative)

    def get_global(self, name: str) -> Array:
        variable, context = self.program.variable(name), self.device.context
        cuda = context.cupy.cuda
        with context.activate(f"the variable `{name}`"):
            address = self.loaded.get_global_var(variable.symbol)
            memory = cuda.UnownedMemory(address, variable.size, self.loaded, context.index)
            pointer = cuda.MemoryPointer(memory, 0)
            return context.cupy.ndarray(variable.shape, np.dtype(variable.dtype), pointer)

    def read_variables(self) -> dict[str, npt.NDArray[Any]]:
        values: dict[str, npt.NDArray[Any]] = {}
        for name in self.variables:
            with suppress(LaunchError):  # CUDA does not find the names of some `static` variables
                values[name] = self.device.asnumpy(self.get_global(name))
        return values

    def write_variables(self, values: Mapping[str, npt.NDArray[Any]]) -> None:
        context = self.device.context
        with context.activate("writing a variable"):
            context.wait()  # for kernels of streams that may use the old values
            super().write_variables(values)
            context.wait()  # kernels of other streams do not wait for CuPy's copies


class CudaKernel(Kernel):
    """A `__global__` function on a CUDA GPU."""

    printed = ""  # CUDA writes the output of printf to the standard output of the process
    device: CudaDevice
    module: CudaModule

    def __init__(self, module: CudaModule, name: str, cooperative: bool = False) -> None:
        self.module, self.name, self.cooperative = module, name, cooperative
        self.device, self.program = module.device, module.program
        self._context, self._spec = module.device.context, module.device.spec
        self._context.prints |= "vprintf" in self.program.ptx
        self._dynamic_shared = 0  # value of the kernel's attribute MaxDynamicSharedMemorySize, in bytes
        with self._context.activate(f"loading `{name}`"):
            self._function = module.loaded.get_function(self.program.entry(name))
            self._resources = self.program.resources.get(name) or self._reported_resources()

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process loads the kernel into a module of its own, whose variables have the same values.
        variables = self.module.read_variables() if self.program.variables else {}
        return _load_kernel, (self.device, self.program, self.name, self.cooperative, variables)

    @cached_property
    def on_simulator(self) -> RecordableKernel:
        return self.module.on_simulator.get_function(self.name, cooperative=self.cooperative)

    @property
    def resources(self) -> Resources:
        """The resource usage that ptxas reports, or for a kernel loaded as PTX, the driver's assembler."""
        return self._resources

    def __call__(
        self,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Any],
        shared_mem: int = 0,
        *,
        stream: Stream | None = None,
    ) -> None:
        """Launch the kernel, and without a stream wait until it has finished; see `Kernel.__call__`.

        With an endless kernel this call does not return (see the module's docstring).
        """
        launch = Launch(self, grid, block, args, shared_mem)
        with self.device.observed(DeviceOperation("kernel", self.name, stream, launch=launch)):
            self.launch(grid, block, args, shared_mem, stream=stream)
        if stream is not None or not self._context.synchronous:
            return

        with self._context.activate(f"`{self.name}`"):
            self._context.wait()

    def launch(
        self,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Any],
        shared_mem: int = 0,
        *,
        stream: Stream | None = None,
    ) -> None:
        """Launch the kernel on a stream, or on CuPy's current one, without waiting.

        Raises `LaunchError` if the launch is refused. A failure of the running kernel is raised by the next
        call that waits, such as `CudaDevice.synchronize`.
        """
        context, spec = self._context, self._spec
        context.check_alive()
        grid, block = dim3(grid, "grid"), dim3(block, "block")
        check_launch(spec, self.name, self._resources, grid, block, shared_mem, arch=spec.arch)
        options = {"enable_cooperative_groups": True} if self.cooperative else {}
        if self.cooperative:
            check_cooperative(spec, self.name, self._resources, grid, block, shared_mem)
        values = convert(
            self.program.signatures[self.name],
            args,
            accepts=self.device.owns,
            device=f"the GPU ({spec.name})",
        )
        # CuPy passes a struct by value from a 0-d array, but not from np.void.
        values = [np.asarray(value) if isinstance(value, np.void) else value for value in values]

        with context.activate(f"`{self.name}`"), on_stream(stream, context):
            self._allow_shared(shared_mem)
            self._function(grid, block, tuple(values), shared_mem=shared_mem, **options)
            context.running = self.name
        if isinstance(stream, CudaStream):
            stream.hold(*args)

    def _allow_shared(self, shared_mem: int) -> None:
        """Opt in to more dynamic shared memory than the default, if a launch needs it."""
        over_default = self._resources.shared_bytes + shared_mem > self._spec.shared_bytes_per_block
        if over_default and shared_mem > self._dynamic_shared:
            driver = self._context.cupy.cuda.driver
            driver.funcSetAttribute(self._function.ptr, _MAX_DYNAMIC_SHARED, shared_mem)
            self._dynamic_shared = shared_mem

    def _reported_resources(self) -> Resources:
        def attribute_value(attribute: int) -> int:
            return int(self._context.cupy.cuda.driver.funcGetAttribute(attribute, self._function.ptr))

        return Resources(
            registers=attribute_value(_REGISTERS),
            shared_bytes=attribute_value(_SHARED),
            local_bytes=attribute_value(_LOCAL),
            constant_bytes=attribute_value(_CONSTANT),
        )


def _load_kernel(
    device: CudaDevice,
    program: Program,
    name: str,
    cooperative: bool,
    variables: Mapping[str, npt.NDArray[Any]],
) -> CudaKernel:
    """Return the kernel that was pickled."""
    module = CudaModule(device, program)
    if variables:
        module.write_variables(variables)
    return module.get_function(name, cooperative=cooperative)


class CudaDevice(Device):
    """The CUDA GPU with this index; its arrays are `cupy.ndarray`.

    After an error from which CUDA cannot recover (an illegal address, a failed assertion, …), the context and
    all arrays are lost, and every further use raises `LaunchError`.
    """

    kind = "cuda"
    measures_time = True
    needs_own_process = True

    def __init__(self, index: int = 0) -> None:
        self.context = CudaContext(index)
        self._streams = count(1)
        self._modules = LoadedModules[CudaModule]()
        properties = self.properties()
        self.name = self.context.device = properties.name
        self.spec = spec_of(properties)

    def __repr__(self) -> str:
        return f"<CudaDevice {self.context.index}: {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return cuda_device, (self.context.index,)

    @property
    def selector(self) -> str:
        return f"{self.kind}:{self.context.index}"

    @property
    def usable(self) -> bool:
        return not self.context.is_lost

    def in_use(self, action: str) -> AbstractContextManager[None]:
        return self.context.activate(action)

    def free_unused_memory(self) -> None:
        with self.context.activate("freeing memory"):
            self.context.cupy.get_default_memory_pool().free_all_blocks()

    def properties(self) -> DeviceProperties:
        """Return the properties that CUDA reports."""
        with self.context.activate("device query"):
            return cuda_properties(self.context.cupy.cuda.runtime, self.context.index)

    def asarray(self, host: npt.ArrayLike, *, stream: Stream | None = None) -> Array:
        cupy = self.context.cupy
        with self.context.activate("copying an array to the GPU"):
            if isinstance(host, cupy.ndarray):
                return cupy.ascontiguousarray(host)
            source = np.asarray(host, order="C")
            if source.dtype.hasobject:
                raise UsageError(
                    "an array of Python objects cannot be copied to a device; use a numeric dtype."
                )
            if stream is None and self.observer is None:
                return cupy.asarray(source)
            with on_stream(stream, self.context):  # CuPy's pool reuses memory in the order of this stream
                array = cupy.empty(source.shape, source.dtype)
        with self._copying("copy to device", source, stream):
            queue_copy(self.context, stream, array, source, to_device=True)
        return array

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
        sizes = array_shape(shape)
        with self.context.activate("allocating an array"):
            return self.context.cupy.empty(sizes, dtype)

    # `full` and `zeros` of the base class copy from the host. CuPy's would compile a kernel, which needs an
    # installation of the CUDA headers.

    def asnumpy(
        self, array: Array, *, stream: Stream | None = None, out: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        cupy = self.context.cupy
        if isinstance(array, np.ndarray):
            return array
        if isinstance(array, DeviceTexture) and not isinstance(array.storage, cupy.ndarray):
            contents = array.get()
            if out is None:
                return contents
            check_destination(out, contents.shape, contents.dtype)
            out[...] = contents
            return out
        if isinstance(array, DeviceTexture):
            array = array.storage
        if not isinstance(array, cupy.ndarray):
            raise LaunchError(f"a {type(array).__name__} is not an array of {self.name}.")
        if stream is None and out is None and self.observer is None:
            with self.context.activate("copying an array from the GPU"):
                copied: npt.NDArray[Any] = cupy.asnumpy(array)
                return copied

        host = np.empty(array.shape, array.dtype) if out is None else out
        check_destination(host, array.shape, array.dtype)
        with self._copying("copy to host", host, stream):
            queue_copy(self.context, stream, cupy.ascontiguousarray(array), host, to_device=False)
        return host

    @contextmanager
    def _copying(self, kind: CopyKind, host: npt.NDArray[Any], stream: Stream | None) -> Iterator[None]:
        """Make the GPU and the stream current, and the copy observed, within a block."""
        with self.context.activate(kind), on_stream(stream, self.context), ExitStack() as stack:
            if self.observer is not None:
                stack.enter_context(self.observer(copy_operation_of(self.context, kind, host, stream)))
            yield

    def pinned_empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        with self.context.activate("allocating page-locked memory"):
            return pinned_memory(self.context, array_shape(shape), np.dtype(dtype))

    def texture_maker(self) -> CudaTextures:
        return CudaTextures(self, self.context)

    def owns(self, value: object) -> bool:
        """Return True for an array, a texture or a surface of this device."""
        return self.texture_maker().owns(value)

    def stream(self) -> CudaStream:
        with self.context.activate("creating a stream"):
            return CudaStream(next(self._streams), self.context)

    def synchronize(self) -> None:
        with self.context.activate("waiting for the GPU"):
            self.context.wait()

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        *,
        cooperative: bool = False,
    ) -> CudaKernel:
        self.context.check_alive()
        expressions = name_expressions_of(name)
        module = self._modules.get(module_key(source, defines, options, expressions))
        if module is None:
            module = self.module(source, defines, options, expressions)
        return module.get_function(name, cooperative=cooperative)

    def module(
        self,
        source: str,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
    ) -> CudaModule:
        self.context.check_alive()
        program = compile_program(
            source,
            arch=self.spec.arch,
            defines=defines,
            options=options,
            name_expressions=name_expressions,
        )
        key = module_key(source, defines, options, name_expressions)
        return self._modules.keep(key, CudaModule(self, program))

    def load_ptx(self, text: str, name: str | None = None) -> CudaKernel:
        self.context.check_alive()
        return CudaModule(self, ptx_program(text)).get_function(name)

    def time(self, launch: Callable[[], object], *, before: Callable[[], object] | None = None) -> float:
        """Measure the milliseconds between two CUDA events around a launch.

        A delay kernel runs first, so that events and launches are enqueued before the GPU reaches them: the
        time does not include work of the host. Kernel calls within `launch` do not wait.
        """
        with self.context.activate("timing"):
            delay = self._delay
            self.context.wait()
            with self.asynchronous_launches():
                delay((1,), (1,), (_DELAY_NS,))
                if before is not None:
                    before()
                start = self.record_event()
                launch()
                stop = self.record_event()
            return self.elapsed_ms(start, stop)

    def repeated(self, launch: Callable[[], None], times: int) -> Callable[[], None]:
        cuda = self.context.cupy.cuda
        with self.context.activate("recording a graph"), self.asynchronous_launches():
            stream = cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                for _ in range(times):
                    launch()
                graph = stream.end_capture()

        def replay() -> None:
            with self.context.activate("launching a graph"):
                graph.launch(cuda.get_current_stream())

        return replay

    def evict_l2(self) -> None:
        kernel, args = self._eviction
        kernel.launch((self.spec.sms,), (1024,), args)

    @cached_property
    def _eviction(self) -> tuple[CudaKernel, tuple[Any, ...]]:
        """A kernel that reads more memory than L2 holds, and its arguments.

        It only reads, so that no data is left in L2 that the GPU would write back during a measurement.
        """
        elements = _EVICTED_L2S * self.spec.l2_bytes // 16
        return self.compile(_EVICT), (self.zeros((max(elements, 1), 4)), np.int32(elements), self.zeros(1))

    def clock_state(self) -> ClockState | None:
        nvml = open_nvml()
        if nvml is None:
            return None
        with self.context.activate("device query"):
            bus_id = self.context.cupy.cuda.runtime.deviceGetPCIBusId(self.context.index)
        return nvml.clock_state(bus_id)

    @cached_property
    def _delay(self) -> CudaKernel:
        return self.load_ptx(_DELAY)

    def record_event(self, stream: Stream | None = None) -> Any:
        """Record a CUDA event on a stream, or on CuPy's current one, and return it."""
        with self.context.activate("timing"), on_stream(stream, self.context):
            event = self.context.cupy.cuda.Event()
            event.record()
            return event

    def elapsed_ms(self, start: Any, stop: Any) -> float:
        """Return the milliseconds between two events, after all work on the GPU has finished."""
        with self.context.activate("timing"):
            self.context.wait()
            return float(self.context.cupy.cuda.get_elapsed_time(start, stop))

    @contextmanager
    def asynchronous_launches(self) -> Iterator[None]:
        """Let kernel calls within this block return without waiting until the kernel has finished."""
        before, self.context.synchronous = self.context.synchronous, False
        try:
            yield
        finally:
            self.context.synchronous = before


def cuda_device(index: int = 0) -> CudaDevice:
    """Return a CUDA GPU, the same object every time; raise `UsageError` if there is no GPU of this index."""
    if index not in _opened:
        count, why = gpus()
        if count == 0:
            raise UsageError(f'no CUDA GPU is available: {why}. Use the simulator, gpulab.device("sim").')
        if index >= count:
            available = ", ".join(f"cuda:{i}" for i in range(count))
            raise UsageError(f"there is no device cuda:{index}; available: {available}.")
        _opened[index] = CudaDevice(index)
    return _opened[index]
