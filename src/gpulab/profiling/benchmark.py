"""Times of a launch: warm-up, samples, median and percentiles."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gpulab.devices.argument_copies import copy_arguments
from gpulab.devices.base import Dim3, Kernel, require_kernel
from gpulab.devices.device_process import run_in_process
from gpulab.devices.streams import Launch
from gpulab.errors import LaunchError, UsageError
from gpulab.model.profile import Profile, profile_launch
from gpulab.provenance import Provenance
from gpulab.verification.fault_place import with_place
from gpulab.worker_process import TIME_LIMIT_S

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel
    from gpulab.devices.cuda.nvml import ClockState

__all__ = [
    "L2_STATES",
    "Benchmark",
    "SamplingOptions",
    "benchmark",
    "clock_conditions",
    "measure_launches",
    "modelled",
    "sample",
]

L2_STATES = ("warm", "cold")

# Warm-up. The clock of an idle H200 rises from 345 to 1980 MHz; a launch of a second is not repeated.
STEADY, STEADY_TIMES = 0.02, 3
LEAST_WARM_S, MOST_WARM_S = 0.05, 1.0

# Kernels that take less time than the host needs to launch them from Python; found by a few first launches.
SHORT_MS, FIRST_LAUNCHES = 0.02, 3
REPLAY_MS, MOST_REPLAYED = 1.0, 500  # length of a graph, and its largest number of launches


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
        Measured on a GPU, or modelled (one sample). The detail has the conditions of a measurement.
    clock_mhz : float or None
        The clock of the SMs during the measurement, the median of a reading after each sample; None if it
        is not known.
    clock_limits : tuple of str
        Reasons for which the GPU ran below its highest clock, such as "power limit" or "temperature".
    launches_per_sample : int
        Launches of which a sample is the mean: more than 1 for a kernel that is shorter than its launch.

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
    clock_mhz: float | None = None
    clock_limits: tuple[str, ...] = ()
    launches_per_sample: int = 1

    @classmethod
    def from_samples(
        cls, samples_ms: Sequence[float], provenance: Provenance, **conditions: Any
    ) -> Benchmark:
        """Compute the statistics of samples.

        Parameters
        ----------
        samples_ms : sequence of float
            Milliseconds of at least one launch.
        provenance : Provenance
            The origin of the samples.
        **conditions
            The attributes after `provenance`, such as `clock_mhz`.

        Returns
        -------
        Benchmark
            The samples with their median and percentiles.
        """
        low = high = statistics.median(samples_ms)
        if len(samples_ms) > 1:
            low, *_, high = statistics.quantiles(samples_ms, n=5, method="inclusive")
        return cls(statistics.median(samples_ms), low, high, tuple(samples_ms), provenance, **conditions)

    @property
    def spread_ms(self) -> float:
        """The distance between the 20th and the 80th percentile, in milliseconds."""
        return self.p80_ms - self.p20_ms

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, which `from_dict` reads.

        Returns
        -------
        dict
            The attributes by name.
        """
        return {
            "median_ms": self.median_ms,
            "p20_ms": self.p20_ms,
            "p80_ms": self.p80_ms,
            "samples_ms": list(self.samples_ms),
            "provenance": self.provenance.as_dict(),
            "clock_mhz": self.clock_mhz,
            "clock_limits": list(self.clock_limits),
            "launches_per_sample": self.launches_per_sample,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Benchmark:
        """Return the benchmark that `as_dict` described.

        Parameters
        ----------
        data : dict
            The result of `as_dict`.

        Returns
        -------
        Benchmark
            The benchmark.
        """
        return cls.from_samples(
            data["samples_ms"],
            Provenance(**data["provenance"]),
            clock_mhz=data.get("clock_mhz"),
            clock_limits=tuple(data.get("clock_limits", ())),
            launches_per_sample=data.get("launches_per_sample", 1),
        )

    def __str__(self) -> str:
        return f"{self.median_ms:.3g} ms ± {self.spread_ms / 2:.1g} ({self.provenance})"


@dataclass(frozen=True)
class SamplingOptions:
    """The options of `benchmark`, which describes them."""

    n_repeat: int = 20
    n_warmup: int | None = None
    l2: str = "warm"
    limit_s: float = 5.0
    detail: str = ""

    def __post_init__(self) -> None:
        if self.l2 not in L2_STATES:
            states = " or ".join(map(repr, L2_STATES))
            raise UsageError(f"the L2 cache is {states} before a launch, not {self.l2!r}.")


def benchmark(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    n_repeat: int = 20,
    n_warmup: int | None = None,
    l2: str = "warm",
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
    n_warmup : int, optional
        Launches before the first one that is timed; by default as many as it takes until the times are
        steady.
    l2 : {"warm", "cold"}
        The state of the L2 cache before each launch: as the launch before left it, or without data of the
        kernel.
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
        If `n_repeat` is less than 1, or `l2` is neither "warm" nor "cold".
    LaunchError, MemoryFault
        If the launch fails. After a fault on a GPU, the launch is repeated on the simulator, which reports
        the line, the block and the thread.

    Notes
    -----
    A delay kernel runs before each launch, so that the host has queued the launch and both events before the
    GPU reaches them. A kernel that takes less than about 20 us is shorter than its launch: a CUDA graph of
    many launches is then timed as a whole. docs/gpu.md describes the timer.

    The process that launches on a GPU has copies of `args`. Addresses that are stored in an array are not
    changed; `Device.time` measures a kernel that follows them.

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
    options = SamplingOptions(n_repeat, n_warmup, l2, limit_s, detail)
    require_kernel(kernel)
    device = kernel.device
    if not device.measures_time and kernel.program.ptx:
        return modelled(profile_launch(kernel, grid, block, args, shared_mem, device=device))

    def repeat(simulated: RecordableKernel) -> None:
        simulated(grid, block, copy_arguments(args, device, simulated.device), shared_mem)

    launch = Launch(kernel, grid, block, list(args), shared_mem)
    try:
        return run_in_process(device, measure_launches, launch, options, limit_s=limit_s + TIME_LIMIT_S)
    except LaunchError as fault:
        raise with_place(fault, kernel, repeat) from None


def measure_launches(launch: Launch, options: SamplingOptions) -> Benchmark:
    """Time a launch in this process, on the arrays themselves; see `benchmark`."""
    kernel: Kernel = launch.kernel
    device = kernel.device
    states: list[ClockState] = []

    def run() -> None:
        kernel(launch.grid, launch.block, launch.args, launch.shared_mem)

    launches, timed = 1, run

    def measure() -> float:
        time = device.time(timed, before=device.evict_l2) if options.l2 == "cold" else device.time(timed)
        states.extend(filter(None, [device.clock_state()]))
        return time

    if device.measures_time and options.l2 == "warm" and not kernel.cooperative:
        launches = _launches_per_sample(measure)
        if launches > 1:
            timed = device.repeated(run, launches)
    (samples,) = sample(
        [measure], n_repeat=options.n_repeat, n_warmup=options.n_warmup, limit_s=options.limit_s
    )

    states = states[-len(samples) :]
    clock, limits = _clock(states)
    conditions = [options.detail] if options.detail else []
    if device.measures_time:
        conditions.append(f"{options.l2} L2")
    if launches > 1:
        conditions.append(f"graph of {launches} launches")
    conditions += clock_conditions(states)
    return Benchmark.from_samples(
        [time / launches for time in samples],
        device.timing_provenance(", ".join(conditions)),
        clock_mhz=clock,
        clock_limits=limits,
        launches_per_sample=launches,
    )


def _launches_per_sample(measure: Callable[[], float]) -> int:
    """Return how many launches to time as one graph: more than 1 if one launch takes less than the host."""
    shortest = measure()
    for _ in range(FIRST_LAUNCHES - 1):
        shortest = min(shortest, measure() if shortest < REPLAY_MS else shortest)
    return min(int(REPLAY_MS / max(shortest, 1e-6)), MOST_REPLAYED) if shortest < SHORT_MS else 1


def clock_conditions(states: Sequence[ClockState]) -> list[str]:
    """Return the parts of a provenance's detail about the clock: its frequency, and what limited it."""
    clock, limits = _clock(states)
    frequency = [] if clock is None else [f"SMs at {clock:.0f} MHz"]
    return [*frequency, f"clock limited by {', '.join(limits)}"] if limits else frequency


def _clock(states: Sequence[ClockState]) -> tuple[float | None, tuple[str, ...]]:
    """Return the median clock of the SMs in MHz, and all reasons for which it was limited."""
    clocks = [state.sm_mhz for state in states if state.sm_mhz is not None]
    limits = dict.fromkeys(limit for state in states for limit in state.limits)
    return (statistics.median(clocks) if clocks else None), tuple(limits)


def warm_up(measures: Sequence[Callable[[], float]], n_warmup: int | None) -> None:
    """Call timing functions `n_warmup` times, or until the times of each are steady.

    A GPU that was idle takes some milliseconds to raise its clock. Times are steady if the median of the last
    three is that of the three before within 2 %.
    """
    taken: list[list[float]] = [[] for _ in measures]
    begin = perf_counter()
    while n_warmup is None or len(taken[0]) < n_warmup:
        for times, measure in zip(taken, measures, strict=True):
            times.append(measure())
        elapsed = perf_counter() - begin
        if (
            n_warmup is None
            and elapsed >= LEAST_WARM_S
            and (all(map(_is_steady, taken)) or elapsed >= MOST_WARM_S)
        ):
            return


def _is_steady(times: Sequence[float]) -> bool:
    if len(times) < 2 * STEADY_TIMES:
        return False
    before, last = (
        statistics.median(part) for part in (times[-2 * STEADY_TIMES : -STEADY_TIMES], times[-STEADY_TIMES:])
    )
    return abs(last - before) <= STEADY * before


def modelled(profile: Profile, n_repeat: int = 1) -> Benchmark:
    """Return a modelled time as a benchmark. The model has no noise: all samples are equal."""
    return Benchmark.from_samples([profile.time_ms] * n_repeat, profile.provenance)


def sample(
    measures: Sequence[Callable[[], float]],
    *,
    n_repeat: int,
    n_warmup: int | None = None,
    limit_s: float = inf,
) -> list[list[float]]:
    """Call several timing functions alternately, and return the samples of each.

    The order alternates, so that no function always follows the other one on a warm GPU. A function's first
    `n_warmup` samples are dropped; None drops samples until all functions are steady. Sampling ends early,
    after at least one sample, once those of the first function add up to `limit_s` seconds.

    Raises `UsageError` for fewer than one repeat.
    """
    if n_repeat < 1:
        raise UsageError(f"at least one launch must be timed; {n_repeat} were requested.")
    warm_up(measures, n_warmup)

    samples: list[list[float]] = [[] for _ in measures]
    while len(samples[0]) < n_repeat and (not samples[0] or sum(samples[0]) < limit_s * 1e3):
        turn = list(zip(samples, measures, strict=True))
        for taken, measure in turn if len(samples[0]) % 2 else reversed(turn):
            taken.append(measure())
    return samples
