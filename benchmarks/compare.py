"""Interleaved rounds: every engine runs once a round, and a ratio is taken within its round.

A machine that is busy for a second slows the whole round, not one side of it; what is reported is the
median over rounds, with the quartiles beside it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.engines import Engine
from benchmarks.workloads import Workload

__all__ = ["Comparison", "Samples", "compare"]


@dataclass(frozen=True)
class Samples:
    """Numbers from repeated rounds."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile; with fewer than three rounds, the smallest and the largest."""
        if len(self.values) < 3:
            return min(self.values), max(self.values)
        first, _, third = statistics.quantiles(self.values, n=4, method="inclusive")
        return first, third

    def as_dict(self) -> dict[str, object]:
        return {"median": self.median, "quartiles": self.quartiles, "values": self.values}


@dataclass(frozen=True)
class Comparison:
    """One workload: seconds, edge and work by engine, and gpulab's rate over each peer's."""

    workload: Workload
    seconds: dict[str, Samples]
    size: dict[str, int]
    work: dict[str, int]
    ratios: dict[str, Samples]

    def rate(self, engine: str) -> float:
        """Points or FMAs a second."""
        return self.work[engine] / self.seconds[engine].median


def compare(
    workload: Workload, engines: Sequence[Engine], rounds: int, step: Callable[[], None] = lambda: None
) -> Comparison:
    """Run the workload on every engine that has it, `rounds` times around; the first engine is gpulab.

    step is called after every launch, for a progress bar.
    """
    here = [engine for engine in engines if engine.has(workload)]
    work = {engine.name: engine.prepare(workload).work for engine in here}
    samples: dict[str, list[float]] = {engine.name: [] for engine in here}
    for _ in range(rounds):
        for engine in here:
            samples[engine.name].append(engine.run())
            step()
    first, *peers = (engine.name for engine in here)
    ratios = {
        peer: Samples(
            tuple(
                (work[first] / ours) / (work[peer] / theirs)
                for ours, theirs in zip(samples[first], samples[peer], strict=True)
            )
        )
        for peer in peers
    }
    seconds = {name: Samples(tuple(values)) for name, values in samples.items()}
    size = {engine.name: workload.small_size if engine.small else workload.size for engine in here}
    return Comparison(workload, seconds, size, work, ratios)
