"""A replacement of CuPy without a GPU, which records the calls of the CUDA device."""

from __future__ import annotations

from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import numpy as np

H200 = {
    "name": b"NVIDIA H200",
    "major": 9,
    "minor": 0,
    "totalGlobalMem": 150109945856,
    "sharedMemPerBlock": 49152,
    "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472,
    "reservedSharedMemPerBlock": 1024,
    "regsPerBlock": 65536,
    "regsPerMultiprocessor": 65536,
    "warpSize": 32,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiProcessor": 2048,
    "maxBlocksPerMultiProcessor": 32,
    "maxThreadsDim": (1024, 1024, 64),
    "maxGridSize": (2147483647, 65535, 65535),
    "clockRate": 1980000,
    "memoryClockRate": 3201000,
    "memoryBusWidth": 6144,
    "multiProcessorCount": 132,
    "totalConstMem": 65536,
    "textureAlignment": 512,
    "l2CacheSize": 62914560,
    "ECCEnabled": 1,
}


class CudaError(RuntimeError):
    """CuPy's CUDARuntimeError and CUDADriverError, with a status and a message."""

    def __init__(self, status, message):
        self.status = status
        super().__init__(message)


class OutOfMemoryError(MemoryError):
    pass


class ndarray:  # noqa: N801 - CuPy's name
    """A device array, here in host memory; it is not a NumPy array."""

    def __init__(self, shape, dtype, memptr=None):
        self.values = np.zeros(shape, dtype) if memptr is None else memptr.view(shape, dtype)
        self.shape, self.dtype, self.nbytes = self.values.shape, self.values.dtype, self.values.nbytes

    @classmethod
    def of(cls, values):
        array = cls(values.shape, values.dtype)
        array.values[...] = values
        return array

    def set(self, host):
        if not isinstance(host, np.ndarray) or (host.shape, host.dtype) != (self.shape, self.dtype):
            raise TypeError("only a numpy.ndarray of this shape and dtype can be set")
        self.values[...] = host


class UnownedMemory:
    """Memory of a module; an address is the index of one of the owner's byte arrays."""

    def __init__(self, ptr, size, owner, device_id=-1):
        self.contents, self.size, self.owner, self.device_id = owner.memories[ptr], size, owner, device_id


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.offset = mem, offset

    def view(self, shape, dtype):
        count = int(np.prod(shape, dtype=int))
        return self.mem.contents[self.offset :].view(dtype)[:count].reshape(shape)


class FakeCupy(ModuleType):
    """CuPy. The next call that waits for the GPU raises `fail_next`; `calls` are the recorded calls."""

    def __init__(self, gpus=1, properties=H200):
        super().__init__("cupy")
        self.__version__ = "14.0.0"
        self.calls = []
        self.fail_next = None
        self.ndarray = ndarray
        runtime = SimpleNamespace(
            CUDARuntimeError=CudaError,
            getDeviceCount=lambda: gpus,
            getDeviceProperties=lambda index: properties,
            deviceGetAttribute=lambda attribute, index: {11: 2147483647, 40: 3}[attribute],
            deviceSynchronize=self._wait,
            driverGetVersion=lambda: 13000,
            runtimeGetVersion=lambda: 12090,
        )
        driver = SimpleNamespace(
            CUDADriverError=CudaError,
            funcSetAttribute=lambda function, attribute, value: self.calls.append(
                ("allow", attribute, value)
            ),
            funcGetAttribute=lambda attribute, function: {1: 64, 2: 32, 3: 0, 4: 20}[attribute],
        )
        self.cuda = SimpleNamespace(
            runtime=runtime,
            driver=driver,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            function=SimpleNamespace(Module=lambda: _Module(self)),
            UnownedMemory=UnownedMemory,
            MemoryPointer=MemoryPointer,
            Device=self._device,
            Event=lambda: SimpleNamespace(record=lambda: self.calls.append("event")),
            get_elapsed_time=lambda start, stop: 1.5,
        )

    def asarray(self, host):
        return ndarray.of(np.array(host))

    def empty(self, shape, dtype):
        return ndarray(shape, dtype)

    def asnumpy(self, array):
        return array.values.copy()

    @contextmanager
    def _device(self, index):
        yield

    def _wait(self):
        self.calls.append("wait")
        if self.fail_next is not None:
            raise self.fail_next


class _Module:
    def __init__(self, cupy):
        self.cupy = cupy
        self.symbols = []
        self.memories = []

    def load(self, code):
        self.cupy.calls.append(("load", code))

    def get_global_var(self, name):
        if name == "hidden":
            raise CudaError(500, "CUDA_ERROR_NOT_FOUND: named symbol not found")
        if name not in self.symbols:
            self.symbols.append(name)
            self.memories.append(np.zeros(64, np.uint8))
        return self.symbols.index(name)

    def get_function(self, name):
        cupy = self.cupy

        class Function:
            ptr = 1

            def __call__(self, grid, block, args, shared_mem, enable_cooperative_groups=False):
                if enable_cooperative_groups:
                    cupy.calls.append("cooperative")
                cupy.calls.append(("launch", name, grid, block, args, shared_mem))

        return Function()
