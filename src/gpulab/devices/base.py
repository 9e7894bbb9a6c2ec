"""The interface of devices and kernels, which a CUDA GPU and the simulator implement.

Code above this package tests the capabilities of a device (`measures_time`, `needs_own_process`,
`can_record`), not its class.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler.program import ModuleVariable, Program, Resources
from gpulab.devices.memory import Array, DeviceMemory
from gpulab.devices.query import DeviceProperties, published_properties
from gpulab.devices.streams import Stream
from gpulab.devices.variables import variable_values
from gpulab.errors import LaunchWarning, UsageError
from gpulab.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.devices.cuda.nvml import ClockState
    from gpulab.finding import Finding
    from gpulab.simt.analysis.basic_blocks import ControlFlow
    from gpulab.simt.codegen.native import NativeKernel
    from gpulab.simt.instrument.recorder import Recorder
    from gpulab.simt.ptx.syntax import Module
    from gpulab.simt.runtime.allocation import Allocation, Memory
    from gpulab.simt.runtime.heap import DeviceHeap
    from gpulab.simt.runtime.texture_table import TextureTable

__all__ = [
    "Array",
    "Device",
    "DeviceModule",
    "Dim3",
    "Kernel",
    "RecordableDevice",
    "RecordableKernel",
    "RecordableModule",
    "require_kernel",
]

Dim3 = int | Sequence[int]
Profiler = Callable[..., Any]  # (kernel, grid, block, args, shared_mem) -> gpulab.Profile


class Kernel(ABC):
    """A compiled `__global__` function on a device.

    `Device.compile` returns it; calling it launches it.

    Attributes
    ----------
    name : str
        The name of the function.
    program : Program
        The translation unit that contains it: source, PTX and machine code.
    device : Device
        The device on which it runs.
    cooperative : bool
        Launches are cooperative: all blocks are resident at once.
    module : DeviceModule
        The module that contains it, with the variables that it shares with the module's other kernels.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> kernel = dev.compile("__global__ void scale(float* x, float s) { x[threadIdx.x] *= s; }")
    >>> x = dev.full(4, 1.5)
    >>> kernel(1, 4, (x, 2.0))  # grid, block, arguments
    >>> dev.asnumpy(x)
    array([3., 3., 3., 3.], dtype=float32)
    >>> kernel.resources.shared_bytes
    0
    """

    name: str
    program: Program
    device: Device
    cooperative: bool = False
    module: DeviceModule

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.program.signatures.get(self.name, ()))
        used = self.resources
        return (
            f"<kernel {self.name}({names}) for {self.device.name}: {used.registers} registers per thread, "
            f"{used.shared_bytes:,} bytes of shared memory per block>"
        )

    @property
    def resources(self) -> Resources:
        """The resource usage that the compiler reports.

        Returns
        -------
        Resources
            `registers` and `local_bytes` per thread, `shared_bytes` (static) per block, `constant_bytes`.
        """
        return self.program.resources_of(self.name)

    @property
    @abstractmethod
    def on_simulator(self) -> RecordableKernel:
        """The same kernel on the simulator of its GPU; created once. On the simulator, the kernel itself.

        A GPU that is not in the catalogue is simulated as the default GPU.
        """

    @abstractmethod
    def __call__(
        self,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Any],
        shared_mem: int = 0,
        *,
        stream: Stream | None = None,
    ) -> None:
        """Launch the kernel, and without a stream wait until it has finished.

        Parameters
        ----------
        grid : int or sequence of int
            Number of blocks: ``n``, ``(x,)``, ``(x, y)`` or ``(x, y, z)``.
        block : int or sequence of int
            Number of threads per block, likewise.
        args : sequence
            Arguments in the order of the kernel's parameters: arrays of the device for pointers, Python or
            NumPy scalars for numbers. Scalars are converted to the type of the parameter.
        shared_mem : int, optional
            Dynamic shared memory per block, in bytes.
        stream : Stream, optional
            A stream of the device, on which the launch is queued.

        Raises
        ------
        LaunchError
            If the launch exceeds a limit of the GPU, an argument does not fit its parameter, or the kernel
            fails: it does not terminate, or not all threads reach a barrier.
        MemoryFault
            If a thread accesses memory outside every array, or at a misaligned address. The simulator
            reports the line, the block and the thread.

        Examples
        --------
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> scale = dev.compile('''
        ... __global__ void scale(float* x, float factor, int n)
        ... {
        ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
        ...     if (i < n) x[i] *= factor;
        ... }''')
        >>> x = dev.full(3, 2.5)
        >>> scale(1, 32, (x, 10.0, 3))
        >>> dev.asnumpy(x)
        array([25., 25., 25.], dtype=float32)
        """


def require_kernel(value: object) -> None:
    """Raise `UsageError` if a value is not a kernel, such as the name of one."""
    if isinstance(value, str):
        raise UsageError(
            f'`{value}` is not a kernel but its name; take the kernel: gpulab.kernel("{value}").'
        )
    if not isinstance(value, Kernel):
        raise UsageError(
            f"this is not a kernel but {type(value).__name__}; kernels come from gpulab.kernel(NAME) or "
            "dev.compile(TEXT)."
        )


class DeviceModule(ABC):
    """The kernels and variables of one text, loaded on a device.

    `Device.module` returns it, and so does the attribute `module` of a kernel. All kernels of a module share
    its `__device__` and `__constant__` variables.

    Attributes
    ----------
    program : Program
        The translation unit: source, PTX and machine code.
    device : Device
        The device.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> module = dev.module('''
    ... __constant__ float weights[3];
    ... __global__ void weigh(float* x) { x[threadIdx.x] *= weights[threadIdx.x]; }''')
    >>> module.set_global("weights", [1, 2, 1])
    >>> x = dev.full(3, 10.0)
    >>> module.get_function("weigh")(1, 3, (x,))
    >>> dev.asnumpy(x)
    array([10., 20., 10.], dtype=float32)
    """

    program: Program
    device: Device

    def __repr__(self) -> str:
        kernels = ", ".join(self.kernel_names) or "none"
        variables = ", ".join(self.variables) or "none"
        return f"<module for {self.device.name}: kernels {kernels}; variables {variables}>"

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of the kernels, in the order of the source."""
        return self.program.kernel_names

    @property
    def variables(self) -> Mapping[str, ModuleVariable]:
        """The `__device__` and `__constant__` variables, by name."""
        return self.program.variables

    @property
    @abstractmethod
    def on_simulator(self) -> RecordableModule:
        """The same module on the simulator of its GPU, with variables of its own; created once.

        On the simulator, the module itself.
        """

    @abstractmethod
    def get_function(self, name: str | None = None, *, cooperative: bool = False) -> Kernel:
        """Return a kernel of the module.

        Parameters
        ----------
        name : str, optional
            The name of the kernel. It may be omitted if there is only one.
        cooperative : bool, optional
            As for `Device.compile`.

        Returns
        -------
        Kernel
            The kernel.

        Raises
        ------
        UsageError
            If there is no kernel of this name.

        Examples
        --------
        >>> import gpulab
        >>> module = gpulab.device("sim").module("__global__ void a() { } __global__ void b() { }")
        >>> module.get_function("b").name
        'b'
        """

    @abstractmethod
    def get_global(self, name: str) -> Array:
        """Return a `__device__` or `__constant__` variable as an array of the device.

        Parameters
        ----------
        name : str
            The name of the variable: `count`, or `N::count` in a namespace.

        Returns
        -------
        array
            The memory of the variable, not a copy. `dev.asnumpy` reads it, and its method `set` copies a
            NumPy array of the same shape and dtype to it. Shape and dtype are the declared ones; a
            `float4` adds an axis of 4. If the type is a struct, the elements are bytes (`uint8`).

        Raises
        ------
        UsageError
            If the module has no such variable.

        Examples
        --------
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> module = dev.module("__device__ int n[2] = {3, 4}; __global__ void k() { n[threadIdx.x]++; }")
        >>> module.get_function()(1, 2, ())
        >>> dev.asnumpy(module.get_global("n"))
        array([4, 5], dtype=int32)
        """

    def set_global(self, name: str, values: npt.ArrayLike) -> None:
        """Copy values to a `__device__` or `__constant__` variable, as `cudaMemcpyToSymbol`.

        Parameters
        ----------
        name : str
            The name of the variable.
        values : array_like
            A number for all elements, or an array of the variable's shape. Axes of one element do not count.
            The values are converted to the variable's dtype. A struct takes any array with as many bytes.

        Raises
        ------
        UsageError
            If the module has no such variable, the values have another shape, or an integer variable cannot
            hold them.

        Examples
        --------
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> module = dev.module("__device__ int hits; __global__ void k() { atomicAdd(&hits, 1); }")
        >>> module.set_global("hits", 100)
        >>> module.get_function()(1, 32, ())
        >>> dev.asnumpy(module.get_global("hits"))
        array(132, dtype=int32)
        """
        self.write_variables({name: variable_values(name, self.program.variable(name), values)})

    def read_variables(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all variables on the host, by name."""
        return {name: self.device.asnumpy(self.get_global(name)) for name in self.variables}

    def write_variables(self, values: Mapping[str, npt.NDArray[Any]]) -> None:
        """Copy arrays, of the shapes and types that `read_variables` returns, to the variables."""
        for name, host in values.items():
            self.get_global(name).set(host)


class RecordableModule(DeviceModule):
    """A module of the simulator.

    Attributes
    ----------
    ptx : Module
        The parsed PTX.
    """

    device: RecordableDevice
    ptx: Module

    @property
    @abstractmethod
    def allocations(self) -> Mapping[str, Allocation]:
        """The memory of the variables, by their names in PTX."""

    @abstractmethod
    def get_function(self, name: str | None = None, *, cooperative: bool = False) -> RecordableKernel: ...


class RecordableKernel(Kernel):
    """A kernel of the simulator, whose launches can be instrumented.

    Attributes
    ----------
    device : RecordableDevice
        The device that runs it.
    module : RecordableModule
        The module that contains it.
    entry : str
        The name of its entry in the PTX.
    printed : str
        The output of `printf` in the last launch.
    warned : tuple of Finding
        Warnings about the last launch, as opposed to errors, which end a launch.
    """

    device: RecordableDevice
    module: RecordableModule
    entry: str
    printed: str
    warned: tuple[Finding, ...]

    def warn(self) -> None:
        """Issue a `LaunchWarning` at the caller's caller for each warning about the last launch."""
        for finding in self.warned:
            warnings.warn(str(finding), LaunchWarning, stacklevel=3)

    @property
    @abstractmethod
    def silent(self) -> RecordableKernel:
        """The kernel without its calls of `printf` and `assert`; itself if it has none.

        It belongs to a module of its own, whose variables have the values that those of this kernel have now.
        """

    @property
    @abstractmethod
    def flow(self) -> ControlFlow:
        """The control flow graph of the entry."""

    @property
    def uses_textures(self) -> bool:
        """True if the code accesses textures or surfaces."""
        return any(item.op in ("tex", "suld", "sust") for block in self.flow.blocks for item in block.code)

    @property
    def constants(self) -> Mapping[int, str]:
        """The variables in constant memory that the module's code uses: names by address."""
        return {}

    def named_arrays(self, args: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments by parameter name, and the module's variables as arrays by theirs."""
        names = [parameter.name for parameter in self.program.signatures[self.name]]
        variables = {name: self.module.get_global(name) for name in self.module.variables}
        return variables | dict(zip(names, args, strict=False))

    @abstractmethod
    def make_code(self, recorder: Recorder, block: Dim3, shared_mem: int = 0) -> None:
        """Compile the native code for launches with this recorder and block, without launching."""

    @abstractmethod
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
        """Launch with instrumentation and return the native code that ran.

        recorder: selects the instrumentation; None runs without any. order: linear indices of the blocks
        to run; None runs the whole grid. budget: instructions that a warp may execute, and all warps together
        eight times as many; None for the limits of the device.
        """


class Device(DeviceMemory):
    """A device on which kernels run: a CUDA GPU or the simulator.

    `gpulab.device` opens one. Arrays are allocated on the device and copied to and from it explicitly.

    Attributes
    ----------
    name : str
        "NVIDIA H200", or "simulator (H200)".
    kind : str
        "cuda" or "sim": the prefix of the device's name for `gpulab.device`.
    spec : GpuSpec
        The data sheet of the GPU, or of the simulated GPU: `dev.spec.sms`, `dev.spec.dram_gb_s`, …
    measures_time : bool
        True if `time` reads the clock of a GPU; on the simulator, times are modelled.
    needs_own_process : bool
        True if an endless kernel can be stopped only by ending the process that launched it, and a fault
        costs this process the device. `device_process.run_in_process` then launches in another process.
    can_record : bool
        True if launches can be instrumented (counters, sanitizer, traces).

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> kernel = dev.compile("__global__ void set(int* x) { x[threadIdx.x] = threadIdx.x; }")
    >>> x = dev.zeros(4, dtype="int32")
    >>> kernel(1, 4, (x,))
    >>> dev.asnumpy(x)
    array([0, 1, 2, 3], dtype=int32)
    """

    kind: str
    measures_time = False
    needs_own_process = False
    can_record = False
    profiler: Profiler | None = None  # set by `gpulab.device`: the performance model is a higher layer
    spec: Any

    @property
    def selector(self) -> str:
        """The name that opens this device: `cuda:0`, `sim:h200`."""
        return f"{self.kind}:{self.spec.key}"

    @property
    def usable(self) -> bool:
        """False after an error from which this process cannot recover the device."""
        return True

    def in_use(self, action: str) -> AbstractContextManager[None]:
        """Return a context in which the device is the current one and its errors are raised as gpulab's.

        Parameters
        ----------
        action : str
            The operation, for error messages, such as "copying an array to the GPU".

        Returns
        -------
        context manager
            For a ``with`` statement.
        """
        del action
        return nullcontext()

    def free_unused_memory(self) -> None:
        """Give memory of the device that no array uses back to the driver, if it is kept for later arrays."""
        return

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all work on the device has finished.

        Raises
        ------
        LaunchError
            If a kernel failed.
        """

    @abstractmethod
    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        *,
        cooperative: bool = False,
    ) -> Kernel:
        """Compile CUDA C++ for the device, and return one kernel.

        Parameters
        ----------
        source : str
            The source. It may include the usual C headers and NVIDIA's, but no other files.
        name : str, optional
            The kernel to return, or an instance of a kernel template such as ``"k<8>"``. It may be omitted
            if the source has only one ``__global__`` function.
        defines : mapping, optional
            Macros by name; the values are numbers or one line of C.
        options : sequence of str, optional
            NVRTC options such as ``"--use_fast_math"``.
        cooperative : bool, optional
            Launch the kernel cooperatively, with all blocks resident at once, as
            `cooperative_groups::this_grid().sync()` requires. A launch of more blocks raises `LaunchError`.

        Returns
        -------
        Kernel
            The compiled kernel.

        Raises
        ------
        CompileError
            If the source does not compile; `diagnostics` has the lines and columns.
        IncludeRefused
            If the source includes a file that is not allowed.
        UsageError
            If an option is not allowed, or there is no kernel of this name.
        UnsupportedInstruction
            If the device is the simulator, and it does not implement an instruction of the kernel.

        Notes
        -----
        Kernels that are compiled from one source with the same macros and options share one module, and with
        it their ``__device__`` and ``__constant__`` variables, as with CuPy's ``RawKernel``. The variables
        keep their values when the source is compiled again; `module` loads it with initial values. Instances
        of templates share variables if they are named together, in the `name_expressions` of `module`.

        Examples
        --------
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> source = "__global__ void k(float* x) { x[threadIdx.x] = N; }"
        >>> dev.compile(source, defines={"N": 3}).name
        'k'

        An instance of a template:

        >>> source = "template <int N> __global__ void k(int* x) { x[threadIdx.x] = N; }"
        >>> dev.compile(source, "k<8>").name
        'k<8>'
        """

    @abstractmethod
    def module(
        self,
        source: str,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
    ) -> DeviceModule:
        """Compile CUDA C++ and load it as a module, whose variables have their initial values.

        Afterwards, `compile` takes the kernels of the same source from this module.

        Parameters
        ----------
        source, defines, options
            As for `compile`.
        name_expressions : sequence of str, optional
            Instances of kernel templates to compile, such as ``("k<8>", "k<16>")``.

        Returns
        -------
        DeviceModule
            The module: `get_function` returns its kernels, `get_global` and `set_global` access its
            ``__device__`` and ``__constant__`` variables.

        Raises
        ------
        CompileError, IncludeRefused, UsageError
            As for `compile`.

        Examples
        --------
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> module = dev.module('''
        ... __device__ int g[4];
        ... __global__ void put() { g[threadIdx.x] = threadIdx.x; }
        ... __global__ void get(int* x) { x[threadIdx.x] = g[threadIdx.x]; }''')
        >>> module.get_function("put")(1, 4, ())
        >>> dev.asnumpy(module.get_global("g"))
        array([0, 1, 2, 3], dtype=int32)
        """

    def properties(self) -> DeviceProperties:
        """Return the properties of the device, as `gpulab device-query` shows them.

        Returns
        -------
        DeviceProperties
            On a GPU, the properties that CUDA reports; on the simulator, the published ones.
        """
        return published_properties(self.name, self.spec)

    @abstractmethod
    def load_ptx(self, text: str, name: str | None = None) -> Kernel:
        """Load a kernel that was compiled to PTX.

        Parameters
        ----------
        text : str
            The PTX of a module.
        name : str, optional
            The kernel to return. It may be omitted if the module has only one.

        Returns
        -------
        Kernel
            The kernel. On the simulator, its `resources` are zero, because only the assembler determines
            them.

        Raises
        ------
        UsageError
            If the text is not PTX, or there is no kernel of this name.
        """

    def time(self, launch: Callable[[], object], *, before: Callable[[], object] | None = None) -> float:
        """Measure the time of a launch once.

        Parameters
        ----------
        launch : callable
            A function without parameters that launches one or more kernels.
        before : callable, optional
            Launches kernels that run before `launch` and are not part of the time.

        Returns
        -------
        float
            Milliseconds: on a GPU, between two CUDA events around the launch; on the simulator, the wall time
            of the simulation, which says nothing about a GPU (`profile` models the time of a GPU).

        Examples
        --------
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> kernel = dev.compile("__global__ void k(float* x) { x[threadIdx.x] = 1; }")
        >>> x = dev.empty(32)
        >>> dev.time(lambda: kernel(1, 32, (x,))) > 0
        True
        """
        if before is not None:
            before()
        self.synchronize()
        start = perf_counter()
        launch()
        self.synchronize()
        return (perf_counter() - start) * 1e3

    def clock_state(self) -> ClockState | None:
        """Return the clock of the GPU and what limits it now.

        Returns
        -------
        ClockState or None
            The clock of the SMs in MHz, with the reasons for its limit; None if it is not known.
        """
        return None

    def repeated(self, launch: Callable[[], None], times: int) -> Callable[[], None]:
        """Return a function that repeats launches.

        On a GPU it replays a CUDA graph: the launches follow each other without work of the host, and with
        the arguments that they have now.

        Parameters
        ----------
        launch : callable
            A function without parameters that launches one or more kernels.
        times : int
            The number of repetitions.

        Returns
        -------
        callable
            Launches `times` times what `launch` launches now.
        """

        def repeat() -> None:
            for _ in range(times):
                launch()

        return repeat

    def evict_l2(self) -> None:
        """Queue work after which the L2 cache of a GPU holds no data of other kernels."""
        return

    def timing_provenance(self, detail: str = "") -> Provenance:
        """Return the provenance of a time that `time` returned.

        Parameters
        ----------
        detail : str, optional
            Further conditions of the measurement, such as the driver and the clock.

        Returns
        -------
        Provenance
            `measured` on a GPU, `simulator wall time` on the simulator.
        """
        return Provenance("measured" if self.measures_time else "simulator wall time", self.name, detail)

    def profile(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0
    ) -> Any:
        """Model the time of a launch, and the resource that bounds it.

        The kernel runs on copies of the arrays, which keep their values.

        Parameters
        ----------
        kernel : Kernel
            A kernel of this device.
        grid, block, args, shared_mem
            The launch, as for `Kernel.__call__`.

        Returns
        -------
        Profile
            `time_ms`, `provenance`, `counters`, `occupancy` and `bottleneck`. On a GPU, too, the time is
            modelled: `time` measures it.

        Raises
        ------
        UsageError
            If the device was not opened by `gpulab.device`.
        LaunchError, MemoryFault
            As for `Kernel.__call__`.

        Examples
        --------
        >>> import gpulab
        >>> dev = gpulab.device("sim")
        >>> kernel = dev.compile("__global__ void k(float* x) { x[blockIdx.x * 256 + threadIdx.x] = 1; }")
        >>> profile = dev.profile(kernel, 1000, 256, (dev.empty(256_000),))
        >>> profile.provenance.kind
        'modelled'
        """
        if self.profiler is None:
            raise UsageError("this device cannot profile; open it with gpulab.device().")
        return self.profiler(kernel, grid, block, args, shared_mem)


class RecordableDevice(Device):
    """A device whose memory and launches can be inspected: the simulator.

    Attributes
    ----------
    memory : Memory
        Its allocations.
    heap : DeviceHeap
        The memory that kernels have allocated by `malloc` or `new`.
    textures : TextureTable
        Its texture and surface objects.
    budget : int
        Instructions that a warp may execute before the launch is reported as endless.
    launch_budget : int
        Instructions that all warps of a launch may execute before it is stopped.
    """

    memory: Memory
    heap: DeviceHeap
    textures: TextureTable
    budget: int
    launch_budget: int

    @abstractmethod
    def adopt(self, host: npt.NDArray[Any]) -> Array:
        """Return an array of the device in the memory of a contiguous host array, without copying it."""

    @abstractmethod
    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        *,
        cooperative: bool = False,
    ) -> RecordableKernel: ...

    @abstractmethod
    def module(
        self,
        source: str,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
    ) -> RecordableModule: ...
