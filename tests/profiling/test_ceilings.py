"""Ceilings of the catalogue, and ceilings measured on a fake GPU with a scripted clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpulab.compiler.program import Program, Resources
from gpulab.devices import open_device
from gpulab.devices.base import Dim3, Kernel
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu, names
from gpulab.profiling.ceilings import LAUNCHES, measured_ceilings, published_ceilings, shared_gb_s
from gpulab.profiling.roofline import TENSOR_LEVELS, Ceiling, Roofline
from tests.python_device import StandInDevice


class TimedGpu(StandInDevice):
    """A GPU that launches nothing: the first timed row takes 2 ms, all others 4 ms, at 1500 MHz.

    Every other launch takes half of the mean cycles, and the others as many more.
    """

    kind = "cuda"
    measures_time = True
    name = "stand-in"
    spec = gpu("h200")

    def __init__(self) -> None:
        self.launched: list[str] = []
        self.timed: list[str] = []
        self.read = 0

    def asarray(self, host: npt.ArrayLike) -> Any:
        return np.asarray(host)

    def full(
        self, shape: int | Sequence[int], fill_value: object, dtype: npt.DTypeLike = np.float32
    ) -> Any:  # a view without storage, because the benchmarks ask for 1 GiB
        return np.broadcast_to(np.zeros(1, dtype), shape)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Any:
        return self.full(shape, 0, dtype)

    def asnumpy(self, array: Any) -> npt.NDArray[Any]:
        # (SM, start, end) of each block; two blocks run one after the other on SM 7.
        self.read += 1
        cycles = (1_500_000, 4_500_000)[self.read % 2] // LAUNCHES
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
        self.timed.append(self.launched[-1])
        return 2.0 if self.timed.count(self.launched[-1]) == 2 else 4.0  # the first one warms up


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


def test_every_level_is_measured(measured: Any) -> None:
    assert set(measured) == {
        ("DRAM", "copy"),
        ("DRAM", "triad"),
        ("fp32", "FMA"),
        ("L2", "read"),
        ("shared memory", "read"),
    }


def test_copy_moves_two_arrays_and_triad_three(measured: Any) -> None:
    assert measured["DRAM", "copy"].rate == pytest.approx(2 * 2**30 * LAUNCHES / 2e-3 / 1e9)
    assert measured["DRAM", "triad"].rate == pytest.approx(3 * 2**30 * LAUNCHES / 2e-3 / 1e9)


def test_clock_is_recorded(measured: Any) -> None:
    assert {ceiling.clock_mhz for ceiling in measured.values()} == {1500.0}
    assert all("1500 MHz" in str(ceiling.provenance) for ceiling in measured.values())


def test_provenance_is_measured(measured: Any) -> None:
    assert all(ceiling.measured for ceiling in measured.values())


def test_every_benchmark_warms_up_once() -> None:
    device = TimedGpu()
    measured_ceilings(device, repeats=3)
    assert all(device.launched.count(text) == 4 * LAUNCHES for text in device.launched)
    assert all(device.timed.count(text) == 4 for text in device.timed)


@pytest.mark.parametrize("kind", TENSOR_LEVELS)
def test_tensor_cores_are_measured_on_request(kind: str) -> None:
    (ceiling,) = [c for c in measured_ceilings(TimedGpu(), [kind], repeats=3) if c.benchmark == "wmma"]
    assert ceiling.level == TENSOR_LEVELS[kind]


def test_measuring_on_the_simulator_raises() -> None:
    with pytest.raises(UsageError):
        measured_ceilings(open_device("sim"))


def test_published_tensor_ceilings_are_those_that_the_gpu_has() -> None:
    rates = {c.level: c.rate for c in published_ceilings(gpu("a100"), TENSOR_LEVELS)}
    assert rates["tensor tf32"] == pytest.approx(8 * rates["fp32"])
    assert {c.level for c in published_ceilings(gpu("t4"), TENSOR_LEVELS)} >= {"tensor fp16"}
    assert "tensor tf32" not in {c.level for c in published_ceilings(gpu("t4"), TENSOR_LEVELS)}
    assert not any("tensor" in c.level for c in published_ceilings(gpu("gtx1080"), TENSOR_LEVELS))


@pytest.mark.parametrize("key", names())
def test_every_catalogue_gpu_has_published_ceilings_with_sources(key: str) -> None:
    ceilings = published_ceilings(gpu(key))
    Roofline("stencil", key, "counted", ceilings)
    assert all(c.provenance.kind == "published" and c.provenance.detail for c in ceilings)


@pytest.mark.parametrize(
    ("key", "gb_s"),
    # SMs * banks * bytes per bank and clock * clock in GHz
    [("gtx280", 30 * 16 * 2 * 1.296), ("k40", 15 * 32 * 8 * 0.875), ("h200", 132 * 32 * 4 * 1.98)],
)
def test_shared_memory_bandwidth_is_that_of_all_banks(key: str, gb_s: float) -> None:
    assert shared_gb_s(gpu(key)) == pytest.approx(gb_s)
