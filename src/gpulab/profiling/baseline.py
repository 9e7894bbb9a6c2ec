"""A kernel's time beside a yardstick's, in turns on the same GPU: a plain copy, or the vendor's product."""

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
    "copy": "a copy from the GPU's memory to the GPU's memory",
    "sgemm": "the vendor's SGEMM (fp32, without TF32)",
}


@dataclass(frozen=True)
class BaselineComparison:
    """Two times of one run, in turns, and the rates they make.

    of: which yardstick, "copy" or "sgemm". kernel_rate and yardstick_rate in `unit`: GB/s (10^9 bytes that no
    kernel can avoid, or that the copy reads and writes) or GFLOPS (as the problem counts them).
    """

    of: str
    shape: Shape
    kernel: Benchmark
    yardstick: Benchmark
    kernel_rate: float
    yardstick_rate: float
    unit: str

    @property
    def fraction(self) -> float:
        """The kernel's rate as a part of the yardstick's."""
        return self.kernel_rate / self.yardstick_rate


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
    """Time a kernel and a yardstick on a CUDA device, one launch of each in every round.

    of: "copy" moves as many bytes as the problem cannot avoid, half of them read and half written; "sgemm"
    multiplies the problem's own matrices.
    shape: None for the problem's timing size.

    Raises `UsageError` for a geometry that cannot be launched, where there is no GPU, and where the vendor's
    library is missing; and what the launch raises.
    """
    if not device.measures_time:
        raise UsageError(f"a time beside {BASELINES[of]} needs a GPU; this is the {device.name}.")
    problem, launch = config.problem, config.at(shape or config.timing_shape, device.spec)
    shape = launch.shape
    arrays = place_arguments(device, problem.arguments(shape, np.random.default_rng(0)))
    args = list(arrays.values())
    nbytes = problem.compulsory_bytes(shape)
    reference = _copy(device, nbytes // 2) if of == "copy" else _sgemm(arrays)

    def run() -> None:
        kernel(launch.grid, launch.block, args)

    mine, theirs = sample(
        [lambda: device.time(run), lambda: device.time(reference)], n_repeat=rounds, n_warmup=warmup
    )
    detail = f"median at {problem.format_shape(shape)}, in turns"
    provenance = device.timing_provenance(detail)
    here, there = Benchmark.from_samples(mine, provenance), Benchmark.from_samples(theirs, provenance)
    work, unit = (nbytes / 1e6, "GB/s") if of == "copy" else (problem.flops(shape) / 1e6, "GFLOPS")
    moved = 2 * (nbytes // 2) / 1e6 if of == "copy" else work
    return BaselineComparison(of, shape, here, there, work / here.median_ms, moved / there.median_ms, unit)


def _copy(device: Device, nbytes: int) -> Callable[[], None]:
    """A copy of `nbytes` within the device's memory, by CUDA itself."""
    source, target = device.zeros(nbytes, np.uint8), device.zeros(nbytes, np.uint8)

    def copy() -> None:
        target.data.copy_from_device_async(source.data, nbytes)

    return copy


def _sgemm(arrays: Mapping[str, Any]) -> Callable[[], None]:
    """a = c b (as NumPy sees the arrays) by cuBLAS."""
    if os.environ.get("CUPY_TF32", "0") != "0":
        raise UsageError("CUPY_TF32 is set, and fp32 is compared with fp32: unset it and start again.")
    import cupy

    a, b, c = (arrays[name] for name in "abc")

    def multiply() -> None:
        cupy.matmul(c, b, out=a)

    try:
        multiply()
    except GpulabError:
        raise
    except Exception as error:  # noqa: BLE001  (a missing library is any of half a dozen kinds)
        raise UsageError(f"the vendor's SGEMM cannot be called here: {error}") from None
    return multiply
