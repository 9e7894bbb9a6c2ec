"""Timed launches whose values are checked, on a GPU that computes with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpulab.config import KernelConfig
from gpulab.devices.base import Dim3, Kernel
from gpulab.errors import WrongResult
from gpulab.gpus.catalogue import gpu
from gpulab.problems import Input, Output, Problem, Step, problem
from gpulab.problems.base import Argument
from gpulab.profiling.baseline import BaselineComparison, time_against_baseline
from gpulab.profiling.checked_launches import CheckedLaunches
from gpulab.profiling.speedup import time_variant
from tests.kernel_configs import config
from tests.python_device import StandInDevice

SHAPE = (34, 18, 10)


class NumpyGpu(StandInDevice):
    """A GPU whose arrays are NumPy's, with a time for each kernel and for the copy."""

    kind = "cuda"
    measures_time = True
    name = "fake GPU"
    spec = gpu("h200")

    def __init__(self, copy_ms: float = 1.0) -> None:
        self.ms = copy_ms
        self.copy_ms = copy_ms

    def asarray(self, host: npt.ArrayLike) -> Any:
        return np.array(host)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Any:
        return np.zeros(shape, dtype)

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Any:
        return _Copyable()

    def asnumpy(self, array: Any) -> npt.NDArray[Any]:
        return np.array(array)

    def synchronize(self) -> None: ...

    def compile(self, *args: Any, **options: Any) -> Kernel:
        raise NotImplementedError

    def load_ptx(self, text: str, name: str | None = None) -> Kernel:
        raise NotImplementedError

    def time(self, launch: Callable[[], object]) -> float:
        self.ms = self.copy_ms
        launch()
        return self.ms


class _Copyable:
    """An array of the baseline, which copies nothing."""

    @property
    def data(self) -> _Copyable:
        return self

    def copy_from_device_async(self, source: object, nbytes: int) -> None: ...


class StencilOf(Kernel):
    """A kernel that computes the stencil and takes `ms`; `change` changes its output."""

    on_simulator = None
    program = SimpleNamespace(arch="sm_90")

    def __init__(self, device: NumpyGpu, ms: float, change: Callable[[Any], None] = lambda _: None) -> None:
        self.gpu, self.ms, self.change = device, ms, change

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        fac, A0, Anext = args[:3]
        arguments = (Argument("fac", "scalar", fac), Argument("A0", "input", A0))
        whole = problem("stencil").reference_at(arguments, [np.arange(extent) for extent in A0.shape])
        Anext[whole.written] = whole.expected[whole.written].astype(np.float32)
        self.change(Anext)
        self.gpu.ms = self.ms


class Replaying(StencilOf):
    """A kernel that computes on its first launch and then repeats the result."""

    kept: Any = None

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        if self.kept is None:
            super().__call__(grid, block, args, shared_mem)
            self.kept = args[2].copy()
        args[2][...] = self.kept


class Idle(StencilOf):
    """A kernel that computes on its first launch only and leaves the output as it is."""

    done = False

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        if not self.done:
            super().__call__(grid, block, args, shared_mem)
            self.done = True


def timed(device: NumpyGpu, kernel: Kernel, reference: Kernel | None = None) -> BaselineComparison:
    settings = config("stencil.opt_4")
    return time_against_baseline(
        kernel,
        settings,
        device=device,
        of="copy",
        shape=SHAPE,
        reference=(reference, settings) if reference else None,
        rng=np.random.default_rng(1),
    )


def test_values_of_a_correct_kernel_match() -> None:
    device = NumpyGpu()
    comparison = timed(device, StencilOf(device, 2.0))
    assert comparison.mismatch == ""
    assert comparison.excess == ""
    assert comparison.fraction_of_reference is None


def test_reference_solution_is_timed_in_the_same_run() -> None:
    device = NumpyGpu()
    comparison = timed(device, StencilOf(device, 4.0), StencilOf(device, 3.0))
    assert comparison.fraction_of_reference == pytest.approx(0.75)


@pytest.mark.parametrize("kind", [Replaying, Idle])
def test_result_of_an_earlier_launch_is_a_mismatch(kind: type[StencilOf]) -> None:
    device = NumpyGpu()
    assert "timed launch" in timed(device, kind(device, 0.5)).mismatch


@pytest.mark.parametrize("kind", [Replaying, Idle])
def test_launches_of_time_variant_are_checked_on_drawn_inputs(kind: type[StencilOf]) -> None:
    device = NumpyGpu()
    with pytest.raises(WrongResult, match="timed launch"):
        time_variant(
            kind(device, 0.5),
            config("stencil.opt_4"),
            device=device,
            shape=SHAPE,
            rng=np.random.default_rng(1),
        )


def skip_a_point(output: Any) -> None:
    output[3, 4, 5] = np.uint32(0x7FADBEEF).view(np.float32)


def write_the_boundary(output: Any) -> None:
    output[0, 0, 0] = 0.0


@pytest.mark.parametrize("change", [skip_a_point, write_the_boundary])
def test_wrong_set_of_written_points_is_a_mismatch(change: Callable[[Any], None]) -> None:
    device = NumpyGpu()
    assert timed(device, StencilOf(device, 2.0, change)).mismatch


def test_kernel_faster_than_the_copy_is_reported() -> None:
    device = NumpyGpu(copy_ms=1.0)
    assert "copy" in timed(device, StencilOf(device, 0.9)).excess


def test_kernel_faster_than_the_data_sheet_is_reported() -> None:
    device = NumpyGpu(copy_ms=1e-9)
    assert "data sheet" in timed(device, StencilOf(device, 1e-9)).excess


def reversing(grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
    """Copy the input to the output in reverse order."""
    y, x, _ = args
    y[:] = x[::-1]


@pytest.mark.parametrize("any_order", [True, False])
def test_results_of_a_timed_launch_may_be_in_any_order(any_order: bool) -> None:
    copied = Problem(
        "copied",
        arguments=(Output("y", ("n",), any_order=any_order), Input("x", ("n",)), "n"),
        sizes={"n": 64},
        reference=lambda x: x,
        steps=(Step("naive", "each element"),),
    )
    launch = KernelConfig(copied, "naive", (64, 1, 1), (1, 1, 1)).at((64,))
    launches = CheckedLaunches(NumpyGpu(), launch, np.random.default_rng(1))
    launches.time(reversing)  # type: ignore[arg-type]
    assert (launches.mismatch == "") == any_order
