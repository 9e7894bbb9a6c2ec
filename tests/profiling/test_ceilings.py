"""Ceilings from the catalogue, and measured on a stand-in for a GPU whose clock says what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpulab.compiler.program import Program, Resources
from gpulab.devices import open_device
from gpulab.devices.base import Device, Dim3, Kernel
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu, names
from gpulab.profiling.ceilings import LAUNCHES, measured_ceilings, published_ceilings, shared_gb_s
from gpulab.profiling.roofline import Ceiling, Roofline


class TimedGpu(Device):
    """Launches nothing: the first row that is timed takes 2 ms and all others 4 ms, at 1500 MHz."""

    kind = "cuda"
    measures_time = True
    name = "stand-in"
    spec = gpu("h200")

    def __init__(self) -> None:
        self.launched: list[str] = []
        self.timed: list[str] = []

    def asarray(self, host: npt.ArrayLike) -> Any:
        return np.asarray(host)

    def full(
        self, shape: int | Sequence[int], fill_value: object, dtype: npt.DTypeLike = np.float32
    ) -> Any:  # of 1 GiB, and nobody looks at it
        return np.broadcast_to(np.zeros(1, dtype), shape)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Any:
        return self.full(shape, 0, dtype)

    def asnumpy(self, array: Any) -> npt.NDArray[Any]:
        # Of each block: its SM, when it began and when it ended; two blocks one after the other on SM 7.
        cycles = 3_000_000 // LAUNCHES
        rows = [(7, 100, cycles // 2), (7, cycles // 2, cycles + 100), (9, 5, cycles + 5)]
        return np.array(rows, np.int64).ravel()

    def synchronize(self) -> None: ...

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
    ) -> Kernel:
        return LoggedKernel(self, source + str(defines))

    def load_ptx(self, text: str, name: str | None = None) -> Kernel:
        raise NotImplementedError

    def time(self, launch: Callable[[], object]) -> float:
        launch()
        first = self.launched[-1] not in self.timed
        self.timed.append(self.launched[-1])
        return 2.0 if first else 4.0


class LoggedKernel(Kernel):
    on_simulator = None

    def __init__(self, device: TimedGpu, text: str) -> None:
        self.log, self.text = device.launched, text
        self.program = Program(text, "", 90, resources={"": Resources(32, 0, 0, 0)}, warnings=())
        self.name = ""

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        self.log.append(self.text)


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, str], Ceiling]:
    return {(c.level, c.benchmark): c for c in measured_ceilings(TimedGpu(), repeats=3)}


def test_copy_triad_fma_l2_and_shared_memory_are_measured(measured: Any) -> None:
    assert set(measured) == {
        ("DRAM", "copy"),
        ("DRAM", "triad"),
        ("fp32", "FMA"),
        ("L2", "read"),
        ("shared memory", "read"),
    }


def test_a_copy_counts_two_bytes_for_each_and_a_triad_three(measured: Any) -> None:
    assert measured["DRAM", "copy"].rate == pytest.approx(2 * 2**30 * LAUNCHES / 2e-3 / 1e9)
    assert measured["DRAM", "triad"].rate == pytest.approx(3 * 2**30 * LAUNCHES / 2e-3 / 1e9)


def test_the_clock_is_noted(measured: Any) -> None:
    assert {ceiling.clock_mhz for ceiling in measured.values()} == {1500.0}
    assert all("1500 MHz" in str(ceiling.provenance) for ceiling in measured.values())


def test_the_provenance_says_measured(measured: Any) -> None:
    assert all(ceiling.measured for ceiling in measured.values())


def test_every_benchmark_warms_up_before_it_is_timed() -> None:
    device = TimedGpu()
    measured_ceilings(device, repeats=3)
    assert all(device.launched.count(text) == 4 * LAUNCHES for text in device.launched)
    assert all(device.timed.count(text) == 3 for text in device.timed)


def test_nothing_is_measured_without_a_gpu() -> None:
    with pytest.raises(UsageError, match="measured on a GPU"):
        measured_ceilings(open_device("sim"))


@pytest.mark.parametrize("key", names())
def test_every_gpu_of_the_catalogue_has_published_roofs_with_their_sources(key: str) -> None:
    ceilings = published_ceilings(gpu(key))
    Roofline("stencil", key, "counted", ceilings)
    assert all(c.provenance.kind == "published" and c.provenance.detail for c in ceilings)


@pytest.mark.parametrize(
    ("key", "gb_s"),
    # multiprocessors * banks * bytes of a bank in a clock * clock
    [("gtx280", 30 * 16 * 2 * 1.296), ("k40", 15 * 32 * 8 * 0.875), ("h200", 132 * 32 * 4 * 1.98)],
)
def test_shared_memory_has_the_bandwidth_of_its_banks(key: str, gb_s: float) -> None:
    assert shared_gb_s(gpu(key)) == pytest.approx(gb_s)
