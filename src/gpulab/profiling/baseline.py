"""Times of a kernel and of a baseline on the same GPU: a memory copy, or the vendor's matrix product."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.config import KernelConfig, LaunchConfig
from gpulab.devices.base import Device, Kernel
from gpulab.devices.device_process import run_in_process
from gpulab.errors import GpulabError, UsageError
from gpulab.gpus.catalogue import GpuSpec
from gpulab.problems.base import Problem, Shape
from gpulab.profiling.benchmark import Benchmark, clock_conditions, sample
from gpulab.profiling.checked_launches import CheckedLaunches
from gpulab.verification.inputs import place_arguments

if TYPE_CHECKING:
    from gpulab.devices.cuda.nvml import ClockState

__all__ = ["BASELINES", "MEASUREMENT_TOLERANCE", "BaselineComparison", "least_ms", "time_against_baseline"]

BASELINES: Mapping[str, str] = {
    "copy": "a copy within the GPU's memory",
    "sgemm": "the vendor's SGEMM (fp32, without TF32)",
}

MEASUREMENT_TOLERANCE = 1.05  # ratio of two times that may be equal: clocks vary, and L2 keeps a few bytes


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
    reference : Benchmark or None
        The time of a reference solution in the same rounds; None without one.
    least_ms : float
        The time below which no kernel can be: compulsory bytes at the DRAM bandwidth of the data sheet, or
        floating-point operations at its fp32 peak.
    mismatch : str
        A sentence about a timed launch with wrong values; empty if the values were right or not checked.
    """

    of: str
    shape: Shape
    kernel: Benchmark
    baseline: Benchmark
    kernel_rate: float
    baseline_rate: float
    unit: str
    reference: Benchmark | None = None
    least_ms: float = 0.0
    mismatch: str = ""

    @property
    def fraction(self) -> float:
        """The kernel's rate divided by the baseline's."""
        return self.kernel_rate / self.baseline_rate

    @property
    def fraction_of_reference(self) -> float | None:
        """The reference solution's time divided by the kernel's; None without a reference solution."""
        return None if self.reference is None else self.reference.median_ms / self.kernel.median_ms

    @property
    def excess(self) -> str:
        """A sentence about a time that is too short to be true; empty for a possible time."""
        time, size = self.kernel.median_ms, "x".join(map(str, self.shape))
        if time < self.least_ms / MEASUREMENT_TOLERANCE:
            return (
                f"{time:.4g} ms at {size} is less than the {self.least_ms:.4g} ms that the data sheet's "
                "bandwidth and arithmetic peak allow"
            )
        if self.of == "copy" and self.fraction > MEASUREMENT_TOLERANCE:
            return (
                f"{time:.4g} ms at {size} is less than the {self.baseline.median_ms:.4g} ms of a copy of the "
                "bytes that every kernel must move, measured in the same run"
            )
        return ""


def time_against_baseline(
    kernel: Kernel,
    config: KernelConfig,
    *,
    device: Device,
    of: str,
    shape: Shape | None = None,
    rounds: int = 9,
    warmup: int = 3,
    reference: tuple[Kernel, KernelConfig] | None = None,
    rng: np.random.Generator | None = None,
) -> BaselineComparison:
    """Time a kernel and a baseline on a CUDA device, one launch of each per round.

    of: "copy" moves the problem's compulsory bytes, half of them read and half written; "sgemm" multiplies
    the problem's matrices. shape: by default the problem's timing size. reference: a solution that is timed
    in the same rounds, with its own block and tile. rng: draws inputs that change with every launch of the
    kernel, whose values are then checked (see `CheckedLaunches`).

    Raises `UsageError` if the geometry cannot be launched, there is no GPU, or the vendor's library is not
    installed. The errors of the launch are passed on.
    """
    if not device.measures_time:
        raise UsageError(f"a comparison with {BASELINES[of]} needs a GPU; this device is the {device.name}.")
    launch = config.at(shape or config.timing_shape, device.spec)
    return run_in_process(device, _compare, kernel, launch, device, of, rounds, warmup, reference, rng)


def _compare(
    kernel: Kernel,
    launch: LaunchConfig,
    device: Device,
    of: str,
    rounds: int,
    warmup: int,
    reference: tuple[Kernel, KernelConfig] | None,
    rng: np.random.Generator | None,
) -> BaselineComparison:
    """Time the kernel and the baseline in this process."""
    problem, shape = launch.config.problem, launch.shape
    nbytes, flops = problem.compulsory_bytes(shape), problem.flops(shape)
    checked = None if rng is None else CheckedLaunches(device, launch, rng)
    if checked is None:
        arrays = place_arguments(device, problem.arguments(shape, np.random.default_rng(0)))
    else:
        arrays = checked.arrays

    states: list[ClockState] = []

    def time_with_clock(launch_kernel: Callable[[], None]) -> float:
        time = device.time(launch_kernel)
        states.extend(filter(None, [device.clock_state()]))
        return time

    def time_kernel() -> float:
        if checked is None:
            return time_with_clock(_launcher(kernel, launch, arrays))
        with checked.launch_of(kernel) as launch_kernel:
            return time_with_clock(launch_kernel)

    copy_or_product = _copy(device, nbytes // 2) if of == "copy" else _sgemm(arrays)
    measures: list[Callable[[], float]] = [time_kernel, partial(device.time, copy_or_product)]
    if reference is not None:
        solution, its_config = reference
        its_launch = its_config.at(shape, device.spec)
        measures.append(partial(device.time, _launcher(solution, its_launch, arrays)))

    taken = sample(measures, n_repeat=rounds, n_warmup=warmup)
    conditions = [f"median at {problem.format_shape(shape)}, in turns", *clock_conditions(states[-rounds:])]
    provenance = device.timing_provenance(", ".join(conditions))
    kernel_time, baseline_time, *others = (Benchmark.from_samples(samples, provenance) for samples in taken)

    work, unit = (nbytes / 1e6, "GB/s") if of == "copy" else (flops / 1e6, "GFLOPS")
    moved = 2 * (nbytes // 2) / 1e6 if of == "copy" else work
    return BaselineComparison(
        of,
        shape,
        kernel_time,
        baseline_time,
        work / kernel_time.median_ms,
        moved / baseline_time.median_ms,
        unit,
        others[0] if others else None,
        least_ms(device.spec, problem, shape),
        "" if checked is None else checked.mismatch,
    )


def _launcher(kernel: Kernel, launch: LaunchConfig, arrays: Mapping[str, Any]) -> Callable[[], None]:
    """Return a function that launches a kernel on the arrays that `arrays` then contains."""
    return lambda: kernel(launch.grid, launch.block, list(arrays.values()), launch.shared_mem)


def least_ms(spec: GpuSpec, problem: Problem, shape: Shape) -> float:
    """Return the time that the data sheet's bandwidth and arithmetic peak allow; 0 if it states neither.

    Compulsory bytes that fit in L2 may be there before the launch, and take no time at DRAM.
    """
    nbytes, flops = problem.compulsory_bytes(shape), problem.flops(shape)
    rates = ((nbytes * (nbytes > spec.l2_bytes), spec.dram_gb_s), (flops, spec.peak_fp32_gflops))
    return max((amount / rate / 1e6 for amount, rate in rates if rate), default=0.0)


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
