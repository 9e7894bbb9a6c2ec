"""The device interface: what a CUDA GPU and the simulator have in common.

Nothing above this room asks which of the two it is talking to; what it may ask is `kind`, to say
where a number came from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler.program import Program, Resources
from gpulab.devices.query import DeviceProperties, published_properties
from gpulab.errors import UsageError
from gpulab.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.simt.analysis.basic_blocks import ControlFlow
    from gpulab.simt.codegen.native import NativeKernel
    from gpulab.simt.instrument.recorder import Recorder
    from gpulab.simt.ptx.syntax import Module
    from gpulab.simt.runtime.allocation import Memory

__all__ = ["Array", "Device", "Dim3", "Kernel", "RecordableDevice", "RecordableKernel"]

Dim3 = int | Sequence[int]
Profiler = Callable[..., Any]  # (kernel, grid, block, args, shared_mem) -> gpulab.Profile
Array = Any  # a device array: `shape`, `dtype`, `nbytes`; CuPy's on a GPU, `simt.SimulatedArray` here


class Kernel(ABC):
    """A compiled `__global__` function on one device; call it with a grid, a block and arguments.

    Attributes
    ----------
    name : str
        The name of the function.
    program : Program
        What the compiler made of the source: PTX, machine code, resources.
    device : Device
        The device that runs it.

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

    @property
    def resources(self) -> Resources:
        """What the assembler reports: registers per thread, shared bytes per block, …"""
        return self.program.resources_of(self.name)

    @property
    @abstractmethod
    def on_simulator(self) -> RecordableKernel:
        """The same kernel on the simulator of its GPU; built once, and itself if it runs there already.

        A GPU that is not in the catalogue is simulated as the default GPU.
        """

    @abstractmethod
    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        """Launch the kernel and wait for its end.

        Parameters
        ----------
        grid, block : int or sequence of int
            Blocks of the grid, and threads of a block, as (x, y, z); missing numbers are 1.
        args : sequence
            Device arrays and scalars in the order of the kernel's parameters. A Python or NumPy scalar is
            converted to the type of its parameter.
        shared_mem : int, optional
            Bytes of dynamic shared memory per block.

        Raises
        ------
        LaunchError
            If the launch was refused, did not end, or some threads did not reach a barrier.
        MemoryFault
            If a thread accessed memory outside every array.
        """


class RecordableKernel(Kernel):
    """A kernel whose launches can be instrumented, as those of the simulator can.

    Attributes
    ----------
    device : RecordableDevice
        The device that runs it.
    module : Module
        The parsed PTX.
    entry : str
        The name of its entry in the PTX.
    printed : str
        What `printf` wrote in the last launch.
    """

    device: RecordableDevice
    module: Module
    entry: str
    printed: str

    @property
    @abstractmethod
    def flow(self) -> ControlFlow:
        """The control flow graph of the entry."""

    @abstractmethod
    def make_code(self, recorder: Recorder, block: Dim3, shared_mem: int = 0) -> None:
        """Compile native code for launches with this recorder and block; nothing runs."""

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
        to run; None runs the whole grid. budget: instructions of a warp; None: the device's.
        """


class Device(ABC):
    """A device that compiles and runs kernels: a CUDA GPU or the simulator of one.

    Arrays are allocated on the device, and copied to and from it explicitly. `gpulab.device` opens one.

    Attributes
    ----------
    name : str
        Such as "NVIDIA H200" or "simulator (H200)".
    kind : {"cuda", "sim"}
        The prefix of the name that opens it.
    spec : GpuSpec
        Data sheet and limits of the GPU that runs kernels or is simulated.
    measures_time : bool
        True if `time` reads the clock of a GPU; otherwise times are modelled.
    needs_own_process : bool
        True if only ending the process stops an endless kernel.
    can_record : bool
        True if launches can be instrumented with counters, race checking and traces.
    profiler : callable or None
        The performance model, which `gpulab.device` sets because it belongs to a higher layer.

    Examples
    --------
    >>> import gpulab
    >>> import numpy as np
    >>> dev = gpulab.device("sim:t10")
    >>> x = dev.asarray(np.arange(4))
    >>> dev.asnumpy(x)
    array([0, 1, 2, 3])
    >>> dev.name, dev.spec.sms, dev.measures_time
    ('simulator (Tesla T10)', 30, False)
    """

    kind: str
    measures_time = False
    needs_own_process = False
    can_record = False
    profiler: Profiler | None = None
    name: str
    spec: Any

    @property
    def selector(self) -> str:
        """The name that opens this device: `cuda:0`, `sim:h200`."""
        return f"{self.kind}:{self.spec.key}"

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

    def properties(self) -> DeviceProperties:
        """Return what the device is: the catalogue's figures, or on a GPU CUDA's own report."""
        return published_properties(self.name, self.spec)

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

    def timing_provenance(self, detail: str = "") -> Provenance:
        """Return the provenance of a time that `time` took on this device."""
        return Provenance("measured" if self.measures_time else "simulator wall time", self.name, detail)

    def profile(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0
    ) -> Any:
        """Return what the performance model says of a launch: a `gpulab.Profile`.

        The arrays keep their values. Raises what a launch raises, and `UsageError` for a device that was
        not opened by `gpulab.device`, which has no profiler.
        """
        if self.profiler is None:
            raise UsageError("this device has no profiler; open it with gpulab.device().")
        return self.profiler(kernel, grid, block, args, shared_mem)

    def full(
        self, shape: int | Sequence[int], fill_value: object, dtype: npt.DTypeLike = np.float32
    ) -> Array:
        return self.asarray(np.full(shape, fill_value, dtype))

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
        return self.full(shape, 0, dtype)

    def empty_like(self, array: Array) -> Array:
        return self.empty(array.shape, array.dtype)


class RecordableDevice(Device):
    """A device whose memory can be inspected: the simulator.

    Attributes
    ----------
    memory : Memory
        Its allocations.
    budget : int
        Instructions that a warp may execute before the launch is reported as endless.
    """

    memory: Memory
    budget: int

    @abstractmethod
    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
    ) -> RecordableKernel: ...
