"""Times of a launch: warm-up, samples, median and percentiles."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from gpulab.devices.argument_copies import copy_arguments
from gpulab.devices.base import Dim3, Kernel
from gpulab.devices.device_process import run_in_process
from gpulab.errors import LaunchError, UsageError
from gpulab.model.profile import Profile, profile_launch
from gpulab.provenance import Provenance
from gpulab.verification.fault_place import with_place
from gpulab.worker_process import TIME_LIMIT_S

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel

__all__ = ["Benchmark", "benchmark", "measure_launches", "modelled", "sample"]


@dataclass(frozen=True)
class Benchmark:
    """Times of one launch, repeated.

    Attributes
    ----------
    median_ms : float
        The median of `samples_ms`, in milliseconds.
    p20_ms, p80_ms : float
        The 20th and the 80th percentile of `samples_ms`; equal to the median for one sample.
    samples_ms : tuple of float
        Milliseconds of each launch in the order in which they were made, without the warm-up.
    provenance : Provenance
        Measured on a GPU, or modelled (one sample).

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim:h200")
    >>> kernel = dev.compile("__global__ void fill(float* x) { x[blockIdx.x * 128 + threadIdx.x] = 1; }")
    >>> result = gpulab.benchmark(kernel, 1 << 13, 128, [dev.empty(1 << 20)])
    >>> result.median_ms == result.p80_ms == result.samples_ms[0]  # modelled: one sample
    True
    """

    median_ms: float
    p20_ms: float
    p80_ms: float
    samples_ms: tuple[float, ...]
    provenance: Provenance

    @classmethod
    def from_samples(cls, samples_ms: Sequence[float], provenance: Provenance) -> Benchmark:
        """Return the statistics of at least one sample."""
        low = high = statistics.median(samples_ms)
        if len(samples_ms) > 1:
            low, *_, high = statistics.quantiles(samples_ms, n=5, method="inclusive")
        return cls(statistics.median(samples_ms), low, high, tuple(samples_ms), provenance)

    @property
    def spread_ms(self) -> float:
        """The distance between the 20th and the 80th percentile, in milliseconds."""
        return self.p80_ms - self.p20_ms

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; `from_dict` reads it."""
        return {
            "median_ms": self.median_ms,
            "p20_ms": self.p20_ms,
            "p80_ms": self.p80_ms,
            "samples_ms": list(self.samples_ms),
            "provenance": self.provenance.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Benchmark:
        """Return the benchmark that `as_dict` described."""
        return cls.from_samples(data["samples_ms"], Provenance(**data["provenance"]))

    def __str__(self) -> str:
        return f"{self.median_ms:.3g} ms ± {self.spread_ms / 2:.1g} ({self.provenance})"


def benchmark(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    n_repeat: int = 20,
    n_warmup: int = 1,
    limit_s: float = 5.0,
    detail: str = "",
) -> Benchmark:
    """Time the launches of a kernel.

    On a GPU, events before and after each launch measure it, in another process on copies of the arrays, so
    that a fault costs this process nothing. On the simulator the time is modelled for the simulated GPU, as
    one sample. In both cases the arrays keep their values.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    grid, block : int or sequence of int
        Blocks of the grid and threads of a block, on one to three axes.
    args : sequence
        Device arrays and scalars, in the order of the kernel's parameters.
    shared_mem : int
        Bytes of dynamic shared memory per block.
    n_repeat : int
        Launches to time.
    n_warmup : int
        Launches before the first one that is timed.
    limit_s : float
        Stop early, after at least one sample, once the samples add up to this many seconds.
    detail : str
        Text for the provenance, after the device's name.

    Returns
    -------
    Benchmark
        Median, percentiles and all samples, in milliseconds.

    Raises
    ------
    UsageError
        If `n_repeat` is less than 1.
    LaunchError, MemoryFault
        If the launch fails. After a fault on a GPU, the launch is repeated on the simulator, which reports
        the line, the block and the thread.

    Examples
    --------
    >>> import gpulab, numpy as np
    >>> dev = gpulab.device("sim:h200")
    >>> k = dev.compile("__global__ void twice(float* x) { x[blockIdx.x * 128 + threadIdx.x] *= 2; }")
    >>> x = dev.asarray(np.ones(1 << 20, np.float32))
    >>> result = gpulab.benchmark(k, x.size // 128, 128, [x])
    >>> result.provenance.kind, len(result.samples_ms)
    ('modelled', 1)
    """
    device = kernel.device
    if not device.measures_time and kernel.program.ptx:
        return modelled(profile_launch(kernel, grid, block, args, shared_mem, device=device))

    def repeat(simulated: RecordableKernel) -> None:
        simulated(grid, block, copy_arguments(args, device, simulated.device), shared_mem)

    try:
        return run_in_process(
            device,
            measure_launches,
            kernel,
            grid,
            block,
            list(args),
            shared_mem,
            n_repeat=n_repeat,
            n_warmup=n_warmup,
            sampling_s=limit_s,
            detail=detail,
            limit_s=limit_s + TIME_LIMIT_S,
        )
    except LaunchError as fault:
        raise with_place(fault, kernel, repeat) from None


def measure_launches(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    n_repeat: int = 20,
    n_warmup: int = 1,
    sampling_s: float = 5.0,
    detail: str = "",
) -> Benchmark:
    """Time launches in this process, on the arrays themselves; see `benchmark`.

    sampling_s: the `limit_s` of `benchmark`.
    """
    device = kernel.device

    def launch() -> float:
        return device.time(lambda: kernel(grid, block, args, shared_mem))

    (samples,) = sample([launch], n_repeat=n_repeat, n_warmup=n_warmup, limit_s=sampling_s)
    return Benchmark.from_samples(samples, device.timing_provenance(detail))


def modelled(profile: Profile, n_repeat: int = 1) -> Benchmark:
    """Return a modelled time as a benchmark. The model has no noise: all samples are equal."""
    return Benchmark.from_samples([profile.time_ms] * n_repeat, profile.provenance)


def sample(
    measures: Sequence[Callable[[], float]], *, n_repeat: int, n_warmup: int = 1, limit_s: float = inf
) -> list[list[float]]:
    """Call several timing functions alternately, and return the samples of each.

    The order alternates, so that no function always follows the other one on a warm GPU. A function's first
    `n_warmup` samples are dropped. Sampling ends early, after at least one sample, once those of the first
    function add up to `limit_s` seconds.

    Raises `UsageError` for fewer than one repeat.
    """
    if n_repeat < 1:
        raise UsageError(f"at least one launch must be timed; {n_repeat} were requested.")
    for _ in range(n_warmup):
        for measure in measures:
            measure()

    samples: list[list[float]] = [[] for _ in measures]
    while len(samples[0]) < n_repeat and (not samples[0] or sum(samples[0]) < limit_s * 1e3):
        turn = list(zip(samples, measures, strict=True))
        for taken, measure in turn if len(samples[0]) % 2 else reversed(turn):
            taken.append(measure())
    return samples
