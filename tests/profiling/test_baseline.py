"""A kernel and a baseline in turns on a stand-in for a GPU, whose clock says what it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpulab.devices.base import Device, Dim3, Kernel
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu
from gpulab.problems import problem
from gpulab.profiling.baseline import time_against_baseline
from tests.kernel_configs import config

SHAPE = (34, 18, 10)


class Memory:
    """What a CuPy array calls `data`: the copy within the device."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.copied = 0

    def copy_from_device_async(self, source: object, nbytes: int) -> None:
        del source
        self.copied = nbytes
        self.calls.append("copy")


class OnDevice:
    """An array of the stand-in."""

    def __init__(self, shape: Any, calls: list[str]) -> None:
        self.shape = shape
        self.data = Memory(calls)


class ClockedGpu(Device):
    """Launches nothing; a kernel takes 4 ms and a copy 2 ms, but for the first round."""

    kind = "cuda"
    measures_time = True
    name = "stand-in"
    spec = gpu("h200")

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.timed: list[str] = []
        self.made: list[OnDevice] = []

    def asarray(self, host: npt.ArrayLike) -> Any:
        return self.empty(np.asarray(host).shape)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Any:
        del dtype
        self.made.append(OnDevice(shape, self.calls))
        return self.made[-1]

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
    on_simulator = None

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        self.calls.append("kernel")


@pytest.fixture
def timed() -> tuple[ClockedGpu, Any]:
    device = ClockedGpu()
    beside = time_against_baseline(
        LoggedKernel(device.calls),
        config("stencil.opt_4"),
        device=device,
        of="copy",
        shape=SHAPE,
    )
    return device, beside


def test_the_part_is_that_of_the_rates(timed: tuple[ClockedGpu, Any]) -> None:
    assert timed[1].fraction == pytest.approx(0.5)


def test_the_rate_is_the_unavoidable_bytes_by_the_median_time(timed: tuple[ClockedGpu, Any]) -> None:
    nbytes = problem("stencil").compulsory_bytes(SHAPE)
    assert timed[1].kernel_rate == pytest.approx(nbytes / 4e-3 / 1e9)
    assert timed[1].unit == "GB/s"


def test_the_copy_moves_as_many_bytes_in_all(timed: tuple[ClockedGpu, Any]) -> None:
    copied = max(array.data.copied for array in timed[0].made)
    assert copied == problem("stencil").compulsory_bytes(SHAPE) // 2


def test_every_round_has_one_launch_of_each_and_who_is_first_changes(timed: tuple[ClockedGpu, Any]) -> None:
    turns = [tuple(timed[0].timed[at : at + 2]) for at in range(0, len(timed[0].timed), 2)]
    assert {frozenset(turn) for turn in turns} == {frozenset(("kernel", "copy"))}
    assert len(set(turns)) == 2


def test_the_times_are_measured(timed: tuple[ClockedGpu, Any]) -> None:
    assert timed[1].kernel.provenance.kind == timed[1].baseline.provenance.kind == "measured"


def test_without_a_gpu_there_is_no_time() -> None:
    from gpulab.devices import open_device

    device = open_device("sim")
    with pytest.raises(UsageError, match="needs a GPU"):
        time_against_baseline(
            LoggedKernel([]),
            config("stencil.opt_4"),
            device=device,
            of="copy",
        )
