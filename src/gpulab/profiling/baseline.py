"""Times of a kernel and of a baseline on the same GPU: a memory copy, or the vendor's matrix product."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulab.config import KernelConfig
from gpulab.devices.base import Device, Kernel
from gpulab.errors import GpulabError, UsageError
from gpulab.problems.base import Shape
from gpulab.profiling.benchmark import Benchmark, sample
from gpulab.verification.inputs import place_arguments

__all__ = ["BASELINES", "BaselineComparison", "time_against_baseline"]

BASELINES: Mapping[str, str] = {
    "copy": "a copy within the GPU's memory",
    "sgemm": "the vendor's SGEMM (fp32, without TF32)",
}


@dataclass(frozen=True)
class BaselineComparison:
    """The times of a kernel and of a baseline, measured alternately, and their rates.

    Attributes
    ----------
    of : str
        The baseline, a key of `BASELINES`.
    shape : tuple of int
        The problem's size.
    kernel, baseline : Benchmark
        The times.
    kernel_rate, baseline_rate : float
        In `unit`: GB/s (1e9 compulsory bytes, or bytes that the copy reads and writes) or GFLOPS (as the
        problem counts them).
    unit : str
        "GB/s" or "GFLOPS".
    """

    of: str
    shape: Shape
    kernel: Benchmark
    baseline: Benchmark
    kernel_rate: float
    baseline_rate: float
    unit: str

    @property
    def fraction(self) -> float:
        """The kernel's rate divided by the baseline's."""
        return self.kernel_rate / self.baseline_rate


def time_against_baseline(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device,
    of: str,
    shape: Shape | None = None,
    rounds: int = 9,
    warmup: int = 3,
) -> BaselineComparison:
    """Time a kernel and a baseline on a CUDA device, one launch of each per round.

    of: "copy" moves the problem's compulsory bytes, half of them read and half written; "sgemm" multiplies
    the problem's matrices. shape: by default the problem's timing size.

    Raises `UsageError` if the geometry cannot be launched, there is no GPU, or the vendor's library is not
    installed. The errors of the launch are passed on.
    """
    if not device.measures_time:
        raise UsageError(f"a comparison with {BASELINES[of]} needs a GPU; this device is the {device.name}.")
    problem, launch = config.problem, config.at(shape or config.timing_shape, device.spec)
    shape = launch.shape
    arrays = place_arguments(device, problem.arguments(shape, np.random.default_rng(0)))
    args = list(arrays.values())
    nbytes = problem.compulsory_bytes(shape)
    reference = _copy(device, nbytes // 2) if of == "copy" else _sgemm(arrays)

    def run() -> None:
        kernel(launch.grid, launch.block, args)

    kernel_ms, baseline_ms = sample(
        [lambda: device.time(run), lambda: device.time(reference)], n_repeat=rounds, n_warmup=warmup
    )
    detail = f"median at {problem.format_shape(shape)}, in turns"
    provenance = device.timing_provenance(detail)
    timed = Benchmark.from_samples(kernel_ms, provenance)
    reference_timed = Benchmark.from_samples(baseline_ms, provenance)
    work, unit = (nbytes / 1e6, "GB/s") if of == "copy" else (problem.flops(shape) / 1e6, "GFLOPS")
    moved = 2 * (nbytes // 2) / 1e6 if of == "copy" else work
    rates = work / timed.median_ms, moved / reference_timed.median_ms
    return BaselineComparison(of, shape, timed, reference_timed, *rates, unit)


def _copy(device: Device, nbytes: int) -> Callable[[], None]:
    """Return a function that copies `nbytes` within the device's memory."""
    source, target = device.zeros(nbytes, np.uint8), device.zeros(nbytes, np.uint8)

    def copy() -> None:
        target.data.copy_from_device_async(source.data, nbytes)

    return copy


def _sgemm(arrays: Mapping[str, Any]) -> Callable[[], None]:
    """Return a function that computes a = c @ b (NumPy's shapes) with cuBLAS."""
    if os.environ.get("CUPY_TF32", "0") != "0":
        raise UsageError(
            "the variable CUPY_TF32 is set, but the baseline is fp32. Unset it and restart Python."
        )
    import cupy

    a, b, c = (arrays[name] for name in "abc")

    def multiply() -> None:
        cupy.matmul(c, b, out=a)

    try:
        multiply()
    except GpulabError:
        raise
    except Exception as error:  # noqa: BLE001  (a missing library raises one of several unrelated types)
        raise UsageError(f"the vendor's SGEMM is not available: {error}") from None
    return multiply
