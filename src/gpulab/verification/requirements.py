"""Memory-traffic requirements of a lab step, checked against the counters of one launch.

Correct values do not prove that a step was taken: the kernel may be the previous step under a new name, or
declare a shared array that it never uses. Its memory traffic shows the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulab.problems.requirement import Requirement
from gpulab.profiling.counts.cell_counts import CellCount

if TYPE_CHECKING:
    from gpulab.simt.instrument.counters.counter_recorder import SiteCount

__all__ = ["MEASURES", "RequirementResult", "Technique", "check_requirements"]


@dataclass(frozen=True)
class RequirementResult:
    """The outcome of one requirement.

    Attributes
    ----------
    requirement : Requirement
        The metric and the direction in which it is limited.
    value : float
        The metric, counted by the simulator, in the requirement's unit.
    limit : float
        The largest (or smallest) value that satisfies the requirement.
    lines : tuple of int
        Source lines that contribute most to `value`, in ascending order.
    """

    requirement: Requirement
    value: float
    limit: float
    lines: tuple[int, ...]

    @property
    def satisfied(self) -> bool:
        return self.value >= self.limit if self.requirement.at_least else self.value <= self.limit

    def explain(self, variant: str) -> str:
        """Return one sentence for the student: the value, the lines, and the limit that was missed."""
        requirement = self.requirement
        bound = "at least" if requirement.at_least else "at most"
        lines = ", ".join(map(str, self.lines))
        where = f" (line{'s' * (len(self.lines) > 1)} {lines})" if self.lines else ""
        return (
            f"{requirement.metric}: {self.value:.2f}{where}. {variant} needs {bound} {self.limit:.2f}; "
            f"{requirement.baseline} has {requirement.baseline_value:g}. (counted by the simulator)"
        )


@dataclass(frozen=True)
class Technique:
    """The requirements of one step, checked on one launch."""

    variant: str
    shape: tuple[int, ...]
    results: tuple[RequirementResult, ...]

    @property
    def met(self) -> bool:
        return all(result.satisfied for result in self.results)

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each requirement that is not satisfied."""
        return tuple(result.explain(self.variant) for result in self.results if not result.satisfied)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        promises = [
            {
                "what": result.requirement.metric,
                "counted": result.value,
                "limit": result.limit,
                "at_least": result.requirement.at_least,
                "met": result.satisfied,
                "lines": list(result.lines),
            }
            for result in self.results
        ]
        return {"met": self.met, "shape": list(self.shape), "promises": promises}


@dataclass(frozen=True)
class _Traffic:
    """The memory accesses of one launch with the array that each one goes to, its threads and its work.

    work: the problem's inner points or multiply-adds. threads: threads times the outputs that each computes
    in a loop.
    """

    sites: tuple[tuple[SiteCount, str], ...]
    threads: int
    work: int

    @classmethod
    def of(cls, count: CellCount) -> _Traffic:
        launch, problem = count.launch, count.launch.config.problem
        sites = tuple((site, count.argument_of(site)) for site in count.recorded.sites)
        return cls(sites, launch.threads * problem.serial_work(launch.shape), problem.work(launch.shape))

    def elements(self, space: str, kinds: tuple[str, ...], array: str) -> Mapping[int, float]:
        """Return the 4-byte elements that active threads move per unit of work, by source line."""
        elements: dict[int, float] = {}
        for site, name in self.sites:
            kind = site.access.opcode.split(".")[0]
            count = site.counts.get(space)
            if count is None or kind not in kinds or (array and name != array):
                continue
            line = site.access.line
            elements[line] = elements.get(line, 0.0) + count.threads * site.access.size / 4 / self.work
        return elements


# A measure returns the metric of one launch and the share of each source line in it.
Measure = Callable[[_Traffic, str], tuple[float, Mapping[int, float]]]


def _global_loads(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
    elements = traffic.elements("global", ("ld", "ldu", "cp"), array)
    return sum(elements.values()), elements


def _shared_loads(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
    elements = traffic.elements("shared", ("ld", "ldmatrix"), array)
    return sum(elements.values()), elements


def _memory_accesses(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
    """Loads and stores of any width that threads make, of global and shared memory, per unit of work."""
    del array
    accesses: dict[int, float] = {}
    for site, _ in traffic.sites:
        for space in ("global", "shared"):
            # An asynchronous copy is one instruction: its read from global memory is left out.
            twice = space == "global" and site.access.opcode.startswith("cp.")
            count = None if twice else site.counts.get(space)
            if count is not None:
                line = site.access.line
                accesses[line] = accesses.get(line, 0.0) + count.threads / traffic.work
    return sum(accesses.values()), accesses


def _outputs_per_thread(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
    """Outputs that one thread computes, in one frame where there are several."""
    del array
    return traffic.work / traffic.threads, {}


def _sectors_per_request(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
    """Sectors that a warp's load of global memory touches."""
    by_line: dict[int, float] = {}
    requests = sectors = 0
    for site, name in traffic.sites:
        count = site.counts.get("global")
        if count is not None and site.access.opcode.startswith("ld") and array in ("", name):
            requests, sectors = requests + count.executions, sectors + count.units
            line, ratio = site.access.line, count.units / max(count.executions, 1)
            by_line[line] = max(by_line.get(line, 0.0), ratio)
    return sectors / max(requests, 1), by_line


MEASURES: Mapping[str, Measure] = {
    "global_loads": _global_loads,
    "shared_loads": _shared_loads,
    "memory_accesses": _memory_accesses,
    "outputs_per_thread": _outputs_per_thread,
    "sectors_per_request": _sectors_per_request,
}


def check_requirements(count: CellCount) -> Technique | None:
    """Check the requirements of a step on a counted launch; None if the step has no requirements."""
    config = count.launch.config
    requirements = config.problem.variants[config.variant].requirements
    if not requirements:
        return None

    traffic = _Traffic.of(count)
    results = []
    for requirement in requirements:
        value, lines = MEASURES[requirement.measure](traffic, requirement.array)
        busiest = max(lines.values(), default=0.0)
        shown = tuple(sorted(line for line, share in lines.items() if share >= 0.5 * busiest))
        limit = requirement.limit(config.block, config.tile)
        results.append(RequirementResult(requirement, value, limit, shown))
    return Technique(config.variant, count.launch.shape, tuple(results))
