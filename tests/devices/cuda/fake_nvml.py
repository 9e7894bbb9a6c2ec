"""A replacement of NVML's library without a GPU; its functions fill in the memory that they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NOT_SUPPORTED, NOT_FOUND = 3, 6  # nvmlReturn_t

GIB = 1 << 30


@dataclass(frozen=True)
class FakeGpu:
    """A GPU, or a MIG slice of one. mig: None if it has no MIG mode."""

    name: str
    memory: int | None = 141 * GIB
    mig: bool | None = None
    slices: tuple[FakeGpu, ...] = ()
    compute_mode: int = 0
    clock: int | None = 1980
    reasons: int = 0
    bus_id: str = "0000:01:00.0"


class FakeNvmlLibrary:
    """The library, with some GPUs. Handles are numbers, as pointers are."""

    def __init__(
        self,
        gpus: Sequence[FakeGpu] = (FakeGpu("NVIDIA H200"),),
        driver: str = "580.65.06",
        cuda: int = 13000,
        initialised: bool = True,
    ) -> None:
        self.gpus, self.driver, self.cuda, self.initialised = gpus, driver, cuda, initialised
        self._handles: list[FakeGpu] = []

    def nvmlInit_v2(self) -> int:  # noqa: N802  (NVML's names)
        return 0 if self.initialised else 9

    def nvmlSystemGetDriverVersion(self, text: Any, _: Any) -> int:  # noqa: N802
        text.value = self.driver.encode()
        return 0

    def nvmlSystemGetCudaDriverVersion_v2(self, number: Any) -> int:  # noqa: N802
        return _fill(number, self.cuda)

    def nvmlDeviceGetCount_v2(self, number: Any) -> int:  # noqa: N802
        return _fill(number, len(self.gpus))

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:  # noqa: N802
        return _fill(handle, self._handle(self.gpus[index.value]))

    def nvmlDeviceGetHandleByPciBusId_v2(self, bus_id: bytes, handle: Any) -> int:  # noqa: N802
        gpu = next((gpu for gpu in self.gpus if gpu.bus_id.encode() == bus_id), None)
        return NOT_FOUND if gpu is None else _fill(handle, self._handle(gpu))

    def nvmlDeviceGetName(self, handle: Any, text: Any, _: Any) -> int:  # noqa: N802
        text.value = self._gpu(handle).name.encode()
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:  # noqa: N802
        size = self._gpu(handle).memory
        if size is None:
            return NOT_SUPPORTED
        memory._obj.total = size
        return 0

    def nvmlDeviceGetMigMode(self, handle: Any, mode: Any, _: Any) -> int:  # noqa: N802
        return _fill(mode, self._gpu(handle).mig)

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any, number: Any) -> int:  # noqa: N802
        return _fill(number, 7)

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: Any, part: Any) -> int:  # noqa: N802
        slices = self._gpu(handle).slices
        if index.value >= len(slices):
            return NOT_FOUND
        return _fill(part, self._handle(slices[index.value]))

    def nvmlDeviceGetComputeMode(self, handle: Any, mode: Any) -> int:  # noqa: N802
        return _fill(mode, self._gpu(handle).compute_mode)

    def nvmlDeviceGetClockInfo(self, handle: Any, _: Any, clock: Any) -> int:  # noqa: N802
        return _fill(clock, self._gpu(handle).clock)

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, bits: Any) -> int:  # noqa: N802
        return _fill(bits, self._gpu(handle).reasons)

    def _handle(self, gpu: FakeGpu) -> int:
        self._handles.append(gpu)
        return len(self._handles)

    def _gpu(self, handle: Any) -> FakeGpu:
        return self._handles[handle.value - 1]


def _fill(number: Any, value: int | None) -> int:
    if value is None:
        return NOT_SUPPORTED
    number._obj.value = int(value)
    return 0
