"""A CUDA GPU through CuPy: the machine code our compiler made, on arrays that are CuPy's.

A kernel that never ends cannot be stopped from inside the process that launched it: CUDA has no call
for it, and on a GPU without a display no watchdog either. Whoever runs text he does not trust
(`gpulab check`, the grader) starts a Python process of its own for it, gives it a time limit, and
kills it; the driver then stops the kernel and frees the context with it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.compiler import compile_program, ptx_program
from gpulab.compiler.program import Program, Resources
from gpulab.devices.arguments import convert
from gpulab.devices.base import Array, Device, Dim3, Kernel, RecordableKernel
from gpulab.devices.cuda_context import CudaContext, gpus
from gpulab.devices.launch_limits import check_launch, dim3
from gpulab.devices.query import DeviceProperties, cuda_properties, spec_of
from gpulab.errors import LaunchError, UsageError
from gpulab.gpus.catalogue import GpuSpec

__all__ = ["CudaDevice", "CudaKernel", "cuda_device"]

# CUfunction_attribute's numbers (CUDA Driver API), part of CUDA's binary interface.
_SHARED, _CONSTANT, _LOCAL, _REGISTERS, _MAX_DYNAMIC_SHARED = 1, 2, 3, 4, 8

# A kernel that keeps one thread busy for so many nanoseconds of the GPU's clock.
_BUSY = """
.version 6.4
.target sm_50
.address_size 64
.visible .entry busy(.param .u64 nanoseconds)
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
_HEAD_START_NS = 300_000  # longer than Python takes to put a kernel and two events in the queue

_opened: dict[int, CudaDevice] = {}


class CudaKernel(Kernel):
    """One `__global__` function on a CUDA GPU."""

    printed = ""  # what device printf prints goes to the process's stdout, not here
    device: CudaDevice  # that compiled it

    def __init__(self, context: CudaContext, spec: GpuSpec, program: Program, name: str) -> None:
        self.name = name
        self.program = program
        self._context = context
        self._spec = spec
        self._prints = "vprintf" in program.ptx
        self._dynamic_shared = 0  # bytes the kernel's attribute allows beyond the default
        # Module.load takes the bytes and is the same in CuPy 13 and 14. RawModule(path=…) would need
        # a file, and keeps every module it ever loaded, by path.
        with context.working(f"loading `{name}`"):
            module = context.cupy.cuda.function.Module()
            module.load(program.cubin if program.cubin is not None else program.ptx.encode() + b"\0")
            self._function = module.get_function(program.entries.get(name, name))
            self._resources = program.resources.get(name) or self._asked_of_the_driver()

    @cached_property
    def on_simulator(self) -> RecordableKernel:
        from gpulab.devices.simulated import simulator_of

        return simulator_of(self._spec).kernel_of(self.program, self.name)

    @property
    def resources(self) -> Resources:
        """What the assembler reports; for PTX, what the driver's own assembler made of it."""
        return self._resources

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        """Launch and wait for the end; see `Kernel.__call__`.

        A kernel that never ends keeps this call for ever: see the text of this module.
        """
        self.launch(grid, block, args, shared_mem)
        if not self._context.waits:
            return
        try:
            with self._context.working(f"`{self.name}`"):
                self._context.wait()
        finally:
            if self._prints:
                # Without a terminal, printf's text stays in C's own buffer until it is full.
                with suppress(OSError, TypeError):
                    ctypes.CDLL(None).fflush(None)

    def launch(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        """Launch on CuPy's current stream and do not wait.

        Raises `LaunchError` for a launch that cannot be made. What goes wrong while the kernel runs
        is raised by the next call that waits, such as `CudaDevice.synchronize`.
        """
        context, spec = self._context, self._spec
        context.check_alive()
        grid, block = dim3(grid, "grid"), dim3(block, "block")
        check_launch(spec, self.name, self._resources, grid, block, shared_mem, arch=spec.arch)
        values = convert(
            self.program.signatures[self.name],
            args,
            accepts=lambda value: isinstance(value, context.cupy.ndarray),
            device=f"the GPU ({spec.name})",
        )
        # CuPy passes a struct by value from a NumPy array of one element, not from a np.void.
        values = [np.asarray(value) if isinstance(value, np.void) else value for value in values]
        with context.working(f"`{self.name}`"):
            self._allow(shared_mem)
            self._function(grid, block, tuple(values), shared_mem=shared_mem)
            context.running = self.name

    def _allow(self, shared_mem: int) -> None:
        """Opt in to more shared memory than a launch gets as it comes, once for each new maximum."""
        over_default = self._resources.shared_bytes + shared_mem > self._spec.shared_bytes_per_block
        if over_default and shared_mem > self._dynamic_shared:
            driver = self._context.cupy.cuda.driver
            driver.funcSetAttribute(self._function.ptr, _MAX_DYNAMIC_SHARED, shared_mem)
            self._dynamic_shared = shared_mem

    def _asked_of_the_driver(self) -> Resources:
        def ask(attribute: int) -> int:
            return int(self._context.cupy.cuda.driver.funcGetAttribute(attribute, self._function.ptr))

        return Resources(
            registers=ask(_REGISTERS),
            shared_bytes=ask(_SHARED),
            local_bytes=ask(_LOCAL),
            constant_bytes=ask(_CONSTANT),
        )


class CudaDevice(Device):
    """CUDA GPU number `index`. Arrays are `cupy.ndarray`.

    After an error that CUDA cannot recover from (a thread outside its arrays, a failed assert, …)
    the context and all arrays are gone; every further use raises `LaunchError` that says so.
    """

    kind = "cuda"
    measures_time = True
    needs_own_process = True

    def __init__(self, index: int = 0) -> None:
        self._context = CudaContext(index)
        properties = self.properties()
        self.name = self._context.device = properties.name
        self.spec = spec_of(properties)

    def __repr__(self) -> str:
        return f"<CudaDevice {self._context.index}: {self.name}>"

    @property
    def selector(self) -> str:
        return f"{self.kind}:{self._context.index}"

    def properties(self) -> DeviceProperties:
        """What CUDA reports of this GPU."""
        with self._context.working("device query"):
            return cuda_properties(self._context.cupy.cuda.runtime, self._context.index)

    def asarray(self, host: npt.ArrayLike) -> Array:
        """A copy of `host` on the GPU, in C order; a CuPy array in C order comes back as it is."""
        cupy = self._context.cupy
        with self._context.working("copying an array to the GPU"):
            if isinstance(host, cupy.ndarray):
                return cupy.ascontiguousarray(host)
            source = np.asarray(host, order="C")
            if source.dtype.hasobject:
                raise UsageError("an array of Python objects has no form on a device; give numbers.")
            return cupy.asarray(source)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
        sizes = shape if isinstance(shape, Sequence) else (shape,)
        if any(size < 0 for size in sizes):
            raise UsageError(f"an array's sizes cannot be negative; {shape} was asked for.")
        with self._context.working("allocating an array"):
            return self._context.cupy.empty(shape, dtype)

    # `full` and `zeros` are the base class's: they copy. CuPy's own would compile a kernel of CuPy's,
    # which needs CUDA's headers on the machine.

    def asnumpy(self, array: Array) -> npt.NDArray[Any]:
        if isinstance(array, np.ndarray):
            return array
        if not isinstance(array, self._context.cupy.ndarray):
            raise LaunchError(f"this is not an array of {self.name}: {type(array).__name__}.")
        with self._context.working("copying an array from the GPU"):
            host: npt.NDArray[Any] = self._context.cupy.asnumpy(array)
            return host

    def synchronize(self) -> None:
        with self._context.working("waiting for the GPU"):
            self._context.wait()

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
    ) -> CudaKernel:
        self._context.check_alive()
        program = compile_program(source, arch=self.spec.arch, defines=defines, options=options)
        return self._kernel(program, name)

    def _kernel(self, program: Program, name: str | None) -> CudaKernel:
        kernel = CudaKernel(self._context, self.spec, program, program.pick(name))
        kernel.device = self
        return kernel

    def load_ptx(self, text: str, name: str | None = None) -> CudaKernel:
        self._context.check_alive()
        program = ptx_program(text)
        return self._kernel(program, name)

    def time(self, launch: Callable[[], object]) -> float:
        """Milliseconds on the GPU's own clock, between two events around `launch()`.

        Kernels called within `launch` do not wait for their end, and the GPU is kept busy until all of it is
        in its queue: so the host's own work, before a kernel or after it, is not timed with it.
        """
        with self._context.working("timing"):
            busy = self._busy
            self._context.wait()
            with self.queueing():
                busy((1,), (1,), (_HEAD_START_NS,))
                start = self.mark()
                launch()
                stop = self.mark()
            return self.between(start, stop)

    @cached_property
    def _busy(self) -> CudaKernel:
        return self.load_ptx(_BUSY)

    def mark(self) -> Any:
        """A point among what the GPU is asked to do on the current stream: a CUDA event, recorded."""
        with self._context.working("timing"):
            event = self._context.cupy.cuda.Event()
            event.record()
            return event

    def between(self, start: Any, stop: Any) -> float:
        """Milliseconds on the GPU's own clock from one mark to another; waits for all it was asked."""
        with self._context.working("timing"):
            self._context.wait()
            return float(self._context.cupy.cuda.get_elapsed_time(start, stop))

    @contextmanager
    def queueing(self) -> Iterator[None]:
        """Calling a kernel in this block puts it in the GPU's queue and does not wait for its end."""
        before, self._context.waits = self._context.waits, False
        try:
            yield
        finally:
            self._context.waits = before


def cuda_device(index: int = 0) -> CudaDevice:
    """GPU number `index`; the same object every time. Raises `UsageError` when there is no such GPU."""
    if index not in _opened:
        count, why = gpus()
        if count == 0:
            raise UsageError(f'no CUDA GPU answers here: {why}. The simulator is gpulab.device("sim").')
        if index >= count:
            there = ", ".join(f"cuda:{i}" for i in range(count))
            raise UsageError(f"there is no cuda:{index} here; there is: {there}.")
        _opened[index] = CudaDevice(index)
    return _opened[index]
