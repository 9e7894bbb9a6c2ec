"""Interleaved rounds: every engine has its turn in each round, and ratios are taken within a round.

Other load on the machine then slows all engines of a round alike. The median over the rounds is reported,
with its quartiles.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.simulators.engines import Engine
from benchmarks.simulators.workloads import Workload

__all__ = ["SAMPLE_S", "Comparison", "Samples", "compare"]

# Seconds that an engine launches in one turn. The time of a single launch of a few milliseconds depends on
# the state of the cores and their caches, too.
SAMPLE_S = 0.1


@dataclass(frozen=True)
class Samples:
    """One value per round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile; with fewer than three rounds, the smallest and the largest value."""
        if len(self.values) < 3:
            return min(self.values), max(self.values)
        first, _, third = statistics.quantiles(self.values, n=4, method="inclusive")
        return first, third

    def as_dict(self) -> dict[str, object]:
        return {"median": self.median, "quartiles": self.quartiles, "values": self.values}


@dataclass(frozen=True)
class Comparison:
    """One workload on several engines.

    Attributes
    ----------
    seconds, size, work : dict
        Time of a launch, edge of the problem, and points or FMAs, by engine.
    ratios : dict
        gpulab's rate divided by that of each peer.
    unavailable : dict
        Why an engine did not run, by engine.
    """

    workload: Workload
    seconds: dict[str, Samples]
    size: dict[str, int]
    work: dict[str, int]
    ratios: dict[str, Samples]
    unavailable: dict[str, str]

    def rate(self, engine: str) -> float:
        """Return the points or FMAs per second of an engine."""
        return self.work[engine] / self.seconds[engine].median


def compare(
    workload: Workload, engines: Sequence[Engine], rounds: int, step: Callable[[], None] = lambda: None
) -> Comparison:
    """Run a workload on every engine that has it, in `rounds` rounds. The first engine is gpulab.

    `step` is called after every turn of an engine, for a progress bar.
    """
    engines = [engine for engine in engines if engine.has(workload)]
    unavailable = {engine.name: engine.unavailable for engine in engines if engine.unavailable}
    engines = [engine for engine in engines if not engine.unavailable]
    work = {engine.name: engine.prepare(workload).work for engine in engines}
    samples: dict[str, list[float]] = {engine.name: [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:
            samples[engine.name].append(_launch_time(engine))
            step()
    first, *peers = (engine.name for engine in engines)
    ratios = {
        peer: Samples(
            tuple(
                (work[first] / first_s) / (work[peer] / peer_s)
                for first_s, peer_s in zip(samples[first], samples[peer], strict=True)
            )
        )
        for peer in peers
    }
    seconds = {name: Samples(tuple(values)) for name, values in samples.items()}
    size = {engine.name: workload.small_size if engine.small else workload.size for engine in engines}
    return Comparison(workload, seconds, size, work, ratios, unavailable)


def _launch_time(engine: Engine) -> float:
    """Return the median time of launches that take `SAMPLE_S` together; of a longer launch, its time."""
    seconds = [engine.run()]
    while sum(seconds) < SAMPLE_S:
        seconds.append(engine.run())
    return statistics.median(seconds)
