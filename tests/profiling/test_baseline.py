"""Tests of the comparison with a baseline, on a fake GPU with a scripted clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpulab.devices.base import Dim3, Kernel
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu
from gpulab.problems import problem
from gpulab.profiling.baseline import time_against_baseline
from tests.kernel_configs import config
from tests.python_device import StandInDevice

SHAPE = (34, 18, 10)


class Memory:
    """The `data` of a CuPy array, which copies within the device and logs each copy."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.copied = 0

    def copy_from_device_async(self, source: object, nbytes: int) -> None:
        del source
        self.copied = nbytes
        self.calls.append("copy")


class OnDevice:
    """An array of the fake GPU."""

    def __init__(self, shape: Any, calls: list[str]) -> None:
        self.shape = shape
        self.data = Memory(calls)


class ClockedGpu(StandInDevice):
    """A GPU that launches nothing: a kernel takes 4 ms, a copy 2 ms, and both 50 times as long at first."""

    kind = "cuda"
    measures_time = True
    name = "fake GPU"
    spec = gpu("h200")

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.timed: list[str] = []
        self.arrays: list[OnDevice] = []

    def asarray(self, host: npt.ArrayLike) -> Any:
        return self.empty(np.asarray(host).shape)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Any:
        del dtype
        self.arrays.append(OnDevice(shape, self.calls))
        return self.arrays[-1]

    def asnumpy(self, array: Any) -> npt.NDArray[Any]:
        raise NotImplementedError

    def synchronize(self) -> None: ...

    def compile(self, *args: Any, **options: Any) -> Kernel:
        raise NotImplementedError

    def load_ptx(self, text: str, name: str | None = None) -> Kernel:
        raise NotImplementedError

    def time(self, launch: Callable[[], object]) -> float:
        launch()
        self.timed.append(self.calls[-1])
        slow = 50 if len(self.timed) <= 2 else 1
        return slow * {"kernel": 4.0, "copy": 2.0}[self.calls[-1]]


class LoggedKernel(Kernel):
    """A kernel that logs its launches."""

    on_simulator = None

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        self.calls.append("kernel")


@pytest.fixture
def timed() -> tuple[ClockedGpu, Any]:
    device = ClockedGpu()
    comparison = time_against_baseline(
        LoggedKernel(device.calls),
        config("stencil.opt_4"),
        device=device,
        of="copy",
        shape=SHAPE,
    )
    return device, comparison


def test_fraction_is_the_quotient_of_the_rates(timed: tuple[ClockedGpu, Any]) -> None:
    assert timed[1].fraction == pytest.approx(0.5)


def test_rate_is_compulsory_bytes_divided_by_the_median_time(timed: tuple[ClockedGpu, Any]) -> None:
    nbytes = problem("stencil").compulsory_bytes(SHAPE)
    assert timed[1].kernel_rate == pytest.approx(nbytes / 4e-3 / 1e9)
    assert timed[1].unit == "GB/s"


def test_copy_reads_and_writes_as_many_bytes_as_the_kernel(timed: tuple[ClockedGpu, Any]) -> None:
    copied = max(array.data.copied for array in timed[0].arrays)
    assert copied == problem("stencil").compulsory_bytes(SHAPE) // 2


def test_order_alternates_between_rounds(timed: tuple[ClockedGpu, Any]) -> None:
    rounds = [tuple(timed[0].timed[at : at + 2]) for at in range(0, len(timed[0].timed), 2)]
    assert {frozenset(round_) for round_ in rounds} == {frozenset(("kernel", "copy"))}
    assert len(set(rounds)) == 2


def test_times_are_measured(timed: tuple[ClockedGpu, Any]) -> None:
    assert timed[1].kernel.provenance.kind == timed[1].baseline.provenance.kind == "measured"


def test_simulator_raises() -> None:
    from gpulab.devices import open_device

    device = open_device("sim")
    with pytest.raises(UsageError):
        time_against_baseline(
            LoggedKernel([]),
            config("stencil.opt_4"),
            device=device,
            of="copy",
        )
