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

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype, self.nbytes = values.shape, values.dtype, values.nbytes


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
            Device=self._device,
            Event=lambda: SimpleNamespace(record=lambda: self.calls.append("event")),
            get_elapsed_time=lambda start, stop: 1.5,
        )

    def asarray(self, host):
        return ndarray(np.array(host))

    def empty(self, shape, dtype):
        return ndarray(np.zeros(shape, dtype))

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

    def load(self, code):
        self.cupy.calls.append(("load", code))

    def get_function(self, name):
        cupy = self.cupy

        class Function:
            ptr = 1

            def __call__(self, grid, block, args, shared_mem):
                cupy.calls.append(("launch", name, grid, block, args, shared_mem))

        return Function()
