"""Memory-traffic requirements of a lab step, checked against the counters of one launch.

Correct values do not prove that a step was taken: the kernel may be the previous step under a new name, or
declare a shared array that it never uses. Its memory traffic shows the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any

from gpulab.errors import ProblemError
from gpulab.gpus.occupancy import Occupancy, occupancy
from gpulab.problems.requirement import Requirement
from gpulab.profiling.counts.cell_counts import CellCount
from gpulab.profiling.counts.metrics import counter_names

if TYPE_CHECKING:
    from gpulab.simt.instrument.counters.counter_recorder import Count, SiteCount

__all__ = [
    "MEASURES",
    "RequirementResult",
    "Technique",
    "check_limits",
    "check_metrics",
    "check_requirements",
    "number_text",
]

WARP = 32  # threads
# Opcodes in machine code and in PTX.
BRANCHES = ("BRA", "BRX", "bra", "brx")
BARRIERS = ("BAR", "bar", "barrier")
SHUFFLES = ("SHFL", "shfl")
LANE_EXCHANGES = (*SHUFFLES, "VOTE", "VOTEU", "vote", "MATCH", "match", "REDUX", "CREDUX", "redux")

# Metrics that only grow during a launch, in proportion to what it has executed.
CUMULATIVE = frozenset(
    {
        *("global_loads", "shared_loads", "memory_accesses", "sectors_loaded", "sectors_stored"),
        *("load_requests", "store_requests", "shared_passes", "global_atomics", "shared_atomics"),
    }
)
_WHOLE = frozenset({"blocks", "registers", "shared_bytes"})  # metrics that are whole numbers for every launch


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
    work_unit : str
        The name of the problem's units of work.
    before : (str, float) or None
        The step that a relative requirement refers to, and its value.
    stopped : bool
        The launch was stopped, so that `value` would have become larger.
    """

    requirement: Requirement
    value: float
    limit: float
    lines: tuple[int, ...]
    work_unit: str = "points"
    before: tuple[str, float] | None = None
    stopped: bool = False

    @property
    def metric(self) -> str:
        """The name of the metric with its unit."""
        return self.requirement.title(self.work_unit)

    @property
    def satisfied(self) -> bool:
        return self.value >= self.limit if self.requirement.is_lower_bound else self.value <= self.limit

    def explain(self, name: str) -> str:
        """Return one sentence for the student: the value, the lines, and the limit that `name` missed."""
        requirement = self.requirement
        bound = "at least" if requirement.is_lower_bound else "at most"
        lines = ", ".join(map(str, self.lines))
        where = f" (line{'s' * (len(self.lines) > 1)} {lines})" if self.lines else ""
        baseline, known = self.before or (requirement.baseline, requirement.baseline_value)
        comparison = "" if known is None else f"; {baseline} has {number_text(known)}"
        value, limit = self.texts()
        if self.stopped:
            value += " until the launch was stopped"
        return (
            f"{self.metric}: {value}{where}. {name} needs {bound} {limit}{comparison}. (counted by the "
            f"simulator){' ' * bool(requirement.advice)}{requirement.advice}"
        )

    def texts(self) -> tuple[str, str]:
        """Return the value and the limit as text, with as many digits as show on which side the value is.

        The limit of a metric that is a whole number, such as registers, is the last whole number that
        satisfies it.
        """
        limit = self.limit
        if self.requirement.measure in _WHOLE:
            limit = ceil(limit) if self.requirement.is_lower_bound else floor(limit)
        pairs = [(number_text(self.value, digits), number_text(limit, digits)) for digits in (3, 6)]
        rounded, exact = pairs
        return rounded if rounded[0] != rounded[1] or self.satisfied else exact


def number_text(value: float, digits: int = 3) -> str:
    """Return a number as text: whole numbers as they are, others with this many significant digits."""
    if value == round(value) or abs(value) >= 10**digits:
        return f"{value:,.0f}"
    return f"{float(f'{value:.{digits}g}'):,}".removesuffix(".0")


@dataclass(frozen=True)
class Technique:
    """The requirements of one step, checked on one launch.

    Attributes
    ----------
    name : str
        The step, such as "stencil.opt_1".
    shape : tuple of int
        The problem's size.
    results : tuple of RequirementResult
        The outcomes of the requirements.
    unchecked : tuple of str
        Sentences about requirements that are relative to a kernel that is not there.
    """

    name: str
    shape: tuple[int, ...]
    results: tuple[RequirementResult, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        return all(result.satisfied for result in self.results)

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each requirement that is not satisfied."""
        return tuple(result.explain(self.name) for result in self.results if not result.satisfied)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        promises = [
            {
                "what": result.metric,
                "counted": result.value,
                "limit": result.limit,
                "at_least": result.requirement.is_lower_bound,
                "met": result.satisfied,
                "lines": list(result.lines),
            }
            for result in self.results
        ]
        return {"met": self.met, "shape": list(self.shape), "promises": promises}


@dataclass(frozen=True)
class _Traffic:
    """The memory accesses of one launch and its work.

    Attributes
    ----------
    sites : tuple of (SiteCount, mapping of str to Count)
        The accesses, with their counts in global memory by the name of the array; "" is memory that is not an
        argument.
    inputs : frozenset of str
        Names of the input arrays.
    threads : float
        Threads, times the outputs that each computes in a loop along the last axis.
    work : int
        The problem's inner points or multiply-adds.
    block_outputs : int
        Outputs of one block, in one frame where there are several.
    count : CellCount
        The counted launch.
    """

    sites: tuple[tuple[SiteCount, Mapping[str, Count]], ...]
    inputs: frozenset[str]
    threads: float
    work: int
    block_outputs: int
    count: CellCount

    @classmethod
    def of(cls, count: CellCount) -> _Traffic:
        launch, problem = count.launch, count.launch.config.problem
        arguments = problem.arguments(launch.shape, None)
        along_z = launch.grid[2] * launch.block[2]
        x, y = (t * max(p, 1) for t, p in zip(launch.block[:2], launch.config.tile[:2], strict=True))
        return cls(
            tuple((site, count.arrays_of(site)) for site in count.recorded.sites),
            frozenset(argument.name for argument in arguments if argument.role == "input"),
            launch.threads * problem.serial_work(launch.shape) / along_z,
            problem.work(launch.shape),
            x * y,
            count,
        )

    def instructions(self, opcodes: Collection[str]) -> int:
        """Return how often warps execute instructions with some opcodes, of the machine code or of PTX."""
        counted = self.count.recorded.counters.opcodes
        return sum(number for opcode, number in counted.items() if opcode in opcodes)

    @property
    def blocks(self) -> int:
        return prod(self.count.launch.grid)

    @property
    def warps(self) -> int:
        return self.blocks * -(-prod(self.count.launch.block) // WARP)

    @property
    def shared_bytes(self) -> int:
        """The bytes of shared memory of a block, static and dynamic."""
        return self.count.recorded.kernel.resources.shared_bytes + self.count.launch.shared_mem

    @property
    def residency(self) -> Occupancy:
        """The resident blocks and warps of an SM."""
        kernel = self.count.recorded.kernel
        threads = prod(self.count.launch.block)
        return occupancy(kernel.device.spec, threads, kernel.resources.registers, self.shared_bytes)

    def loads(self, space: str, array: str = "") -> Iterator[tuple[SiteCount, Count]]:
        """Yield the accesses that read memory: loads, asynchronous copies and atomic operations.

        With `array`, loads of the other inputs are left out. Loads of memory that is not an input remain,
        because they may read a copy of the array.
        """
        others = self.inputs - {array} if array else frozenset()
        for site, arrays in self.sites:
            if site.access.action not in ("reads", "updates") or site.access.opcode.startswith("mbarrier"):
                continue
            if space == "global" and others.intersection(arrays):
                counts = [count for name, count in arrays.items() if name not in others]
            else:
                counts = [site.counts[space]] if space in site.counts else []
            for count in counts:
                yield site, count

    def stores(self, space: str) -> Iterator[tuple[SiteCount, Count]]:
        """Yield the accesses that write memory: stores, copies and atomic operations."""
        for site, _ in self.sites:
            if site.access.action in ("writes", "updates") and space in site.counts:
                yield site, site.counts[space]

    def elements(self, spaces: tuple[str, ...], array: str) -> Mapping[int, float]:
        """Return the 4-byte elements that active threads load per unit of work, by source line."""
        elements: dict[int, float] = {}
        for space in spaces:
            for site, count in self.loads(space, array):
                line = site.access.line
                elements[line] = elements.get(line, 0.0) + _words(site, count) / self.work
        return elements


def _words(site: SiteCount, count: Count) -> float:
    """Return the 4-byte words that the active lanes of an access load."""
    return count.threads * site.access.size / 4


# A measure returns the metric of one launch and the share of each source line in it.
Measure = Callable[[_Traffic, str], tuple[float, Mapping[int, float]]]
# Some of the accesses of a launch, given the name of an array, each with its counts.
Accesses = Callable[[_Traffic, str], "Iterable[tuple[SiteCount, Count]]"]


def _global_loads(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
    elements = traffic.elements(("global",), array)
    return sum(elements.values()), elements


def _shared_loads(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
    """Words from shared memory, and from local memory, which could hold a copy of them."""
    elements = traffic.elements(("shared", "local"), array)
    return sum(elements.values()), elements


def _exchanged_values(traffic: _Traffic) -> float:
    """Words from shared memory, and those that warps shuffle, per unit of work."""
    shuffled = WARP * traffic.instructions(SHUFFLES) / traffic.work
    return sum(traffic.elements(("shared",), "").values()) + shuffled


def _memory_accesses(traffic: _Traffic, _array: str) -> tuple[float, Mapping[int, float]]:
    """Loads and stores of any width that threads make, per unit of work."""
    accesses: dict[int, float] = {}
    for site, _ in traffic.sites:
        for space in ("global", "shared", "local"):
            # An asynchronous copy is one instruction: its read from global memory is left out.
            twice = space == "global" and site.access.opcode.startswith("cp.")
            count = None if twice else site.counts.get(space)
            if count is not None:
                line = site.access.line
                accesses[line] = accesses.get(line, 0.0) + count.threads / traffic.work
    return sum(accesses.values()), accesses


def _sectors_per_warp(accesses: Accesses) -> Measure:
    """Return a measure: the sectors that some accesses touch per 32 active threads.

    For requests of whole warps, this is the number of sectors of a request. Requests of a part of a warp
    touch fewer sectors, but more of them are needed.
    """

    def measure(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
        by_line: dict[int, float] = {}
        threads = sectors = 0
        for site, count in accesses(traffic, array):
            threads, sectors = threads + count.threads, sectors + count.units
            line, ratio = site.access.line, WARP * count.units / max(count.threads, 1)
            by_line[line] = max(by_line.get(line, 0.0), ratio)
        return WARP * sectors / max(threads, 1), by_line

    return measure


def _total(accesses: Accesses, count: str) -> Measure:
    """Return a measure: one count of some accesses, per unit of work."""

    def measure(traffic: _Traffic, array: str) -> tuple[float, Mapping[int, float]]:
        lines: dict[int, float] = {}
        for site, counted in accesses(traffic, array):
            line = site.access.line
            lines[line] = lines.get(line, 0.0) + getattr(counted, count) / traffic.work
        return sum(lines.values()), lines

    return measure


def _loads(traffic: _Traffic, array: str) -> Iterable[tuple[SiteCount, Count]]:
    return traffic.loads("global", array)


def _stores(traffic: _Traffic, _array: str) -> Iterable[tuple[SiteCount, Count]]:
    return traffic.stores("global")


def _shared_accesses(traffic: _Traffic, _array: str) -> Iterable[tuple[SiteCount, Count]]:
    return ((site, site.counts["shared"]) for site, _ in traffic.sites if "shared" in site.counts)


def _passes_per_shared_access(traffic: _Traffic, _array: str) -> tuple[float, Mapping[int, float]]:
    """Passes over the banks per access of a warp to shared memory; 0 without such accesses."""
    accesses = [a for a in traffic.count.recorded.counters.accesses if a.space == "shared"]
    requests = sum(a.requests for a in accesses)
    lines = {a.line: a.wavefronts / max(a.requests, 1) for a in accesses}
    return sum(a.wavefronts for a in accesses) / max(requests, 1), lines


def _atomics(space: str) -> Measure:
    def measure(traffic: _Traffic, _array: str) -> tuple[float, Mapping[int, float]]:
        lines: dict[int, float] = {}
        for site, _ in traffic.sites:
            count = site.counts.get(space)
            if count is not None and site.access.action == "updates":
                lines[site.access.line] = lines.get(site.access.line, 0.0) + count.threads / traffic.work
        return sum(lines.values()), lines

    return measure


def _figure(value: Callable[[_Traffic], float]) -> Measure:
    """Return a measure of the whole launch, to which no line contributes more than another."""
    return lambda traffic, _array: (value(traffic), {})


MEASURES: Mapping[str, Measure] = {
    "global_loads": _global_loads,
    "shared_loads": _shared_loads,
    "exchanged_values": _figure(_exchanged_values),
    "memory_accesses": _memory_accesses,
    # Outputs of one frame where there are several.
    "outputs_per_thread": _figure(lambda traffic: traffic.work / traffic.threads),
    "outputs_per_block": _figure(lambda traffic: traffic.block_outputs),
    "sectors_per_request": _sectors_per_warp(_loads),
    "sectors_per_store": _sectors_per_warp(_stores),
    "sectors_loaded": _total(_loads, "units"),
    "sectors_stored": _total(_stores, "units"),
    "load_requests": _total(_loads, "executions"),
    "store_requests": _total(_stores, "executions"),
    "passes_per_shared_access": _passes_per_shared_access,
    "shared_passes": _total(_shared_accesses, "units"),
    # Branches of warps per unit of work of each lane: 1 if every iteration of the inner loop has one.
    "branches": _figure(lambda traffic: WARP * traffic.instructions(BRANCHES) / traffic.work),
    "barriers": _figure(lambda traffic: traffic.instructions(BARRIERS) / traffic.warps),  # of a block
    "global_atomics": _atomics("global"),
    "shared_atomics": _atomics("shared"),
    "shuffles": _figure(lambda traffic: traffic.instructions(SHUFFLES) / traffic.warps),
    "lane_exchanges": _figure(lambda traffic: traffic.instructions(LANE_EXCHANGES) / traffic.warps),
    "registers": _figure(lambda traffic: traffic.count.recorded.kernel.resources.registers),
    "shared_bytes": _figure(lambda traffic: traffic.shared_bytes),
    "occupancy": _figure(lambda traffic: traffic.residency.fraction),
    "blocks": _figure(lambda traffic: traffic.blocks),
    "waves": _figure(
        lambda traffic: (
            traffic.blocks
            / (traffic.count.recorded.kernel.device.spec.sms * max(traffic.residency.blocks_per_sm, 1))
        )
    ),
}


def measured(traffic: _Traffic, requirement: Requirement) -> tuple[float, Mapping[int, float]]:
    """Return the metric of a requirement on one launch, and the share of each source line in it.

    Raises `ProblemError` if there is no such metric.
    """
    if requirement.measure in MEASURES:
        return MEASURES[requirement.measure](traffic, requirement.array)
    check_metrics([requirement])
    counters = traffic.count.recorded.counters
    value = counters.get(requirement.measure)
    if value is None:
        value = getattr(counters, requirement.measure)
    launch = traffic.count.launch
    by = {
        "launch": 1,
        "block": traffic.blocks,
        "warp": traffic.warps,
        "thread": launch.threads,
        "work": traffic.work,
    }
    return value / by[requirement.per], {}


def check_metrics(requirements: Sequence[Requirement]) -> None:
    """Raise `ProblemError` for a requirement on a metric that there is not, with the most similar name."""
    names = [*MEASURES, *counter_names()]
    for requirement in requirements:
        if requirement.measure not in names:
            close = get_close_matches(requirement.measure, names, 1)
            meant = f"do you mean `{close[0]}`? Others are" if close else "choose from"
            raise ProblemError(
                f"{requirement.line}: a requirement names the metric `{requirement.measure}`; {meant} "
                f"{', '.join(MEASURES)}, and the counters of gpulab.Counters."
            )


def check_requirements(
    count: CellCount, baseline: Callable[[str], CellCount | None] | None = None
) -> Technique | None:
    """Check the requirements of a step on a counted launch; None if the step has no requirements.

    baseline: returns the same launch of the kernel of another step, for requirements that are relative to
    it; None if there is no such kernel. A requirement is then not checked. Of a launch that was stopped, only
    upper bounds of metrics are checked that would have become larger.
    """
    config = count.launch.config
    step = config.problem.variants[config.variant]
    if not step.requirements:
        return None

    traffic, results, before = _Traffic.of(count), [], None
    unchecked = []
    if baseline is not None and step.baseline and any(each.relative for each in step.requirements):
        other = baseline(step.baseline)
        before = None if other is None else _Traffic.of(other)
    for requirement in step.requirements:
        growing = requirement.measure in CUMULATIVE and not requirement.is_lower_bound
        if count.recorded.stopped is not None and not growing:
            continue
        if requirement.relative and before is None:
            name = requirement.title(config.problem.work_unit)
            unchecked.append(
                f"not checked: {name}, which is compared with {config.problem.name}.{step.baseline}. Run "
                "the cell of that kernel first."
            )
            continue
        results.append(_result(requirement, traffic, before))
    return Technique(config.name, count.launch.shape, tuple(results), tuple(unchecked))


def check_limits(count: CellCount, limits: Sequence[Requirement]) -> tuple[RequirementResult, ...]:
    """Return the metric of each limit on a counted launch. None of the limits may be relative."""
    traffic = _Traffic.of(count)
    return tuple(_result(limit, traffic, None) for limit in limits)


def _result(requirement: Requirement, traffic: _Traffic, before: _Traffic | None) -> RequirementResult:
    """Return the outcome of a requirement. before: the launch that a relative requirement refers to."""
    config = traffic.count.launch.config
    value, lines = measured(traffic, requirement)
    limit, compared = requirement.limit(config.block, config.tile), None
    if requirement.relative and before is not None:
        compared = str(config.problem.variants[config.variant].baseline), measured(before, requirement)[0]
        limit *= compared[1]
    busiest = max(lines.values(), default=0.0)
    shown = tuple(sorted(line for line, share in lines.items() if share >= 0.5 * busiest))
    return RequirementResult(
        requirement,
        value,
        limit,
        shown,
        config.problem.work_unit,
        compared,
        traffic.count.recorded.stopped is not None,
    )
