"""Is the optimisation there at all? A step's promises, counted on one launch of the student's kernel.

A kernel that gives the right values may still be the step before it under another name, or carry a
shared array as a decoy. What tells is what it asks of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.config import launch_geometry
from gpulab.devices.base import Kernel
from gpulab.problems import Problem
from gpulab.problems.base import Block
from gpulab.problems.requirement import Requirement

if TYPE_CHECKING:
    from gpulab.simt.instrument.counters.counter_recorder import SiteCount

__all__ = ["MEASURES", "RequirementResult", "Technique", "requirements_of"]


@dataclass(frozen=True)
class RequirementResult:
    """One promise and what the kernel does: `figure` against `limit`, and the lines that make it up."""

    requirement: Requirement
    figure: float
    limit: float
    kept: bool
    lines: tuple[int, ...]

    def sentence(self, variant: str) -> str:
        """Why the promise is not kept."""
        requirement = self.requirement
        word = "at least" if requirement.at_least else "at most"
        lines = ", ".join(map(str, self.lines))
        where = f" (line{'s' * (len(self.lines) > 1)} {lines})" if self.lines else ""
        return (
            f"{requirement.metric}: {self.figure:.2f}{where}; {variant} needs {word} {self.limit:.2f}, and "
            f"{requirement.baseline} makes {requirement.baseline_value:g}. Counted by the simulator."
        )


@dataclass(frozen=True)
class Technique:
    """Whether a kernel does what its step is about. `kept` says so for each promise of the step."""

    variant: str
    shape: tuple[int, ...]
    kept: tuple[RequirementResult, ...]

    @property
    def met(self) -> bool:
        return all(one.kept for one in self.kept)

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(one.sentence(self.variant) for one in self.kept if not one.kept)

    def as_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        promises = [
            {
                "what": one.requirement.metric,
                "counted": one.figure,
                "limit": one.limit,
                "at_least": one.requirement.at_least,
                "met": one.kept,
                "lines": list(one.lines),
            }
            for one in self.kept
        ]
        return {"met": self.met, "shape": list(self.shape), "promises": promises}


@dataclass(frozen=True)
class _Launch:
    """What was counted on one launch: accesses with the argument they go to, threads, units of work."""

    sites: tuple[tuple[SiteCount, str], ...]
    threads: int
    work: int

    def elements(self, space: str, kinds: tuple[str, ...], array: str) -> Mapping[int, float]:
        """4-byte elements by source line that active threads move, for each unit of work."""
        found: dict[int, float] = {}
        for site, name in self.sites:
            kind = site.access.opcode.split(".")[0]
            count = site.counts.get(space)
            if count is None or kind not in kinds or (array and name != array):
                continue
            line = site.access.line
            found[line] = found.get(line, 0.0) + count.threads * site.access.size / 4 / self.work
        return found


def _global_loads(launch: _Launch, array: str) -> tuple[float, Mapping[int, float]]:
    found = launch.elements("global", ("ld", "ldu", "cp"), array)
    return sum(found.values()), found


def _shared_loads(launch: _Launch, array: str) -> tuple[float, Mapping[int, float]]:
    found = launch.elements("shared", ("ld", "ldmatrix"), array)
    return sum(found.values()), found


def _memory_accesses(launch: _Launch, array: str) -> tuple[float, Mapping[int, float]]:
    """Loads and stores of any width that threads make, of global and shared memory, for each unit of work."""
    del array
    found: dict[int, float] = {}
    for site, _ in launch.sites:
        for space in ("global", "shared"):
            # An asynchronous copy is one instruction: its reading half, which comes in words, is left out.
            twice = space == "global" and site.access.opcode.startswith("cp.")
            count = None if twice else site.counts.get(space)
            if count is not None:
                line = site.access.line
                found[line] = found.get(line, 0.0) + count.threads / launch.work
    return sum(found.values()), found


def _outputs_per_thread(launch: _Launch, array: str) -> tuple[float, Mapping[int, float]]:
    """Outputs that one thread computes, in one frame where there are several."""
    del array
    return launch.work / launch.threads, {}


def _sectors_per_request(launch: _Launch, array: str) -> tuple[float, Mapping[int, float]]:
    found: dict[int, float] = {}
    requests = sectors = 0
    for site, name in launch.sites:
        count = site.counts.get("global")
        if count is not None and site.access.opcode.startswith("ld") and array in ("", name):
            requests, sectors = requests + count.executions, sectors + count.units
            line, each = site.access.line, count.units / max(count.executions, 1)
            found[line] = max(found.get(line, 0.0), each)
    return sectors / max(requests, 1), found


MEASURES: Mapping[str, Callable[[_Launch, str], tuple[float, Mapping[int, float]]]] = {
    "global_loads": _global_loads,
    "shared_loads": _shared_loads,
    "memory_accesses": _memory_accesses,
    "outputs_per_thread": _outputs_per_thread,
    "sectors_per_request": _sectors_per_request,
}


def requirements_of(
    kernel: Kernel, problem: Problem, variant: str, block: Block, tile: Block
) -> Technique | None:
    """Count one launch on the simulator of a kernel of `device`; None where the step promises nothing.

    Raises `LaunchError` for a launch that fails, and `UnsupportedInstruction`.
    """
    from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder

    requirements = problem.variants[variant].requirements
    if not requirements:
        return None
    shape = problem.counted_shape(variant, block, tile)
    same = kernel.on_simulator
    simulator = same.device
    launch = launch_geometry(problem, shape, block, tile, simulator.spec)
    case = problem.arguments(shape, np.random.default_rng(0))
    arrays = {a.name: simulator.asarray(a.value) for a in case if a.role != "scalar"}
    counting = CounterRecorder()  # of PTX: the disassembler takes a second, and a class has many kernels
    same.record(counting, launch.grid, launch.block, [arrays.get(a.name, a.value) for a in case])
    owners = {name: array.allocation for name, array in arrays.items()}

    def owner(site: SiteCount) -> str:
        if site.first is None:
            return ""
        lane = (site.first.mask & -site.first.mask).bit_length() - 1
        address = site.first.addresses[lane]
        return next((n for n, a in owners.items() if 0 <= address - a.address < a.size), "")

    sites = tuple((site, owner(site)) for site in counting.sites())
    frames = problem.serial_work(shape)
    threads = prod(launch.grid) * prod(launch.block) * frames
    counted = _Launch(sites, threads, problem.work(shape))
    found = []
    for requirement in requirements:
        figure, lines = MEASURES[requirement.measure](counted, requirement.array)
        busiest = sorted(lines, key=lambda line: -lines[line])
        shown = tuple(sorted(line for line in busiest if lines[line] >= 0.5 * lines[busiest[0]]))
        kept = requirement.is_satisfied(figure, block, tile)
        found.append(RequirementResult(requirement, figure, requirement.limit(block, tile), kept, shown))
    return Technique(variant, shape, tuple(found))
