"""How long a launch takes: warm-up, every sample kept, median and spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.devices.base import Device, Dim3, Kernel
from gpulab.errors import UsageError
from gpulab.provenance import Provenance

__all__ = ["Timing", "time_kernel"]


@dataclass(frozen=True)
class Timing:
    """Times of one launch repeated.

    median_ms: the middle of samples_ms. spread_ms: their interquartile range, 0 for one sample.
    samples_ms: milliseconds of each launch in the order they were made, warm-up left out.
    """

    median_ms: float
    spread_ms: float
    samples_ms: tuple[float, ...]
    provenance: Provenance

    @classmethod
    def from_samples(cls, samples_ms: Sequence[float], provenance: Provenance) -> Timing:
        """Median and spread of at least one sample."""
        spread = 0.0
        if len(samples_ms) > 1:
            low, _, high = statistics.quantiles(samples_ms, n=4, method="inclusive")
            spread = high - low
        return cls(statistics.median(samples_ms), spread, tuple(samples_ms), provenance)

    def __str__(self) -> str:
        return f"{self.median_ms:.3g} ms ± {self.spread_ms / 2:.1g} ({self.provenance})"


def time_kernel(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    device: Device,
    repeats: int = 5,
    warmup: int = 1,
    limit_s: float = 5.0,
    clock: Callable[[], float] | None = None,
    detail: str = "",
) -> Timing:
    """Launch `kernel` `warmup` + `repeats` times and keep the time of each repeat.

    Repeats end early, after at least one, once the samples add up to `limit_s` seconds.
    clock: seconds, read before and after each launch; None lets the device time it (events on a GPU,
    the host's clock on the simulator).
    detail: goes into the provenance beside the device's name.

    Raises `UsageError` for fewer than one repeat, and what the launch raises.
    """
    if repeats < 1:
        raise UsageError(f"a kernel is timed at least once; repeats = {repeats}.")

    def launch() -> None:
        kernel(grid, block, args, shared_mem)

    def sample() -> float:
        if clock is None:
            return device.time(launch)
        device.synchronize()
        start = clock()
        launch()
        device.synchronize()
        return (clock() - start) * 1e3

    for _ in range(warmup):
        launch()
    samples: list[float] = []
    while len(samples) < repeats and (not samples or sum(samples) < limit_s * 1e3):
        samples.append(sample())
    return Timing.from_samples(samples, device.timing_provenance(detail))
