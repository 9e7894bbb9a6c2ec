"""Counts of a launch beside the text that made them: a row for each source line, its accesses drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from gpulab.profiling.counts.metrics import SECTOR_BYTES, AccessCounter, Counters
from gpulab.profiling.counts.warp_access import Places, WarpAccess, warp_access

__all__ = ["AccessGroup", "SourceLine", "Traffic", "source_lines"]


@dataclass(frozen=True)
class Traffic:
    """Requests to one kind of memory, and what they took: sectors (global) or wavefronts (shared).

    fewest: what the same requests could do with: of global memory, the sectors that as many lanes' elements
    fill when they lie next to each other; of shared memory, the wavefronts without bank conflicts.
    """

    requests: int
    units: int
    fewest: int

    @property
    def per_request(self) -> float:
        return self.units / self.requests if self.requests else 0.0

    @property
    def fewest_per_request(self) -> float:
        return self.fewest / self.requests if self.requests else 0.0

    @property
    def excess(self) -> float:
        """How many times the fewest it takes: 1 where nothing can be gained."""
        return self.units / self.fewest if self.fewest else 1.0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.requests + other.requests, self.units + other.units, self.fewest + other.fewest)


@dataclass(frozen=True)
class AccessGroup:
    """Instructions of one line that access memory in the same way, as the copies of an unrolled loop do.

    kind, space, width: as of `AccessCounter`. array: its name, where it has one. instructions: how many
    there are in PTX. threads: active lanes of all requests. worst: the request that took the most sectors or
    wavefronts; first: how many the first one took.
    """

    line: int
    kind: str
    space: str
    width: int
    array: str
    instructions: int
    threads: int
    traffic: Traffic
    first: int
    worst: WarpAccess


@dataclass(frozen=True)
class SourceLine:
    """One line of the source.

    warp_instructions: executed by warps, 0 where the line has no code; share: of the launch's, 0 to 1.
    active_lanes: mean over them, 0 to 32. sectors, wavefronts: of all accesses to global and to shared
    memory; None without any. accesses: those that ran, the one with the most to gain first.
    """

    number: int
    text: str
    warp_instructions: int
    share: float
    active_lanes: float
    sectors: Traffic | None
    wavefronts: Traffic | None
    accesses: tuple[AccessGroup, ...]

    @property
    def waste(self) -> int:
        """Sectors and wavefronts beyond the fewest."""
        return sum(t.units - t.fewest for t in (self.sectors, self.wavefronts) if t is not None)


def source_lines(counts: Counters, source: str, places: Places) -> tuple[SourceLine, ...]:
    """Every line of the text, from the first to the last that is not blank."""
    texts = source.splitlines()
    filled = [number for number, text in enumerate(texts, 1) if text.strip()]
    found = []
    for number in range(filled[0], filled[-1] + 1) if filled else ():
        tally = counts.lines.get(number)
        executed = tally.warp_instructions if tally else 0
        groups = _groups(tally.accesses if tally else (), places)
        found.append(
            SourceLine(
                number,
                texts[number - 1],
                executed,
                executed / counts.warp_instructions if counts.warp_instructions else 0.0,
                tally.active_threads_per_warp if tally else 0.0,
                _sum(group.traffic for group in groups if group.space == "global"),
                _sum(group.traffic for group in groups if group.space == "shared"),
                groups,
            )
        )
    return tuple(found)


def traffic_of(accesses: Iterable[AccessCounter]) -> Traffic:
    """What accesses to one space took together."""
    return _sum(map(_traffic, accesses)) or Traffic(0, 0, 0)


def _traffic(access: AccessCounter) -> Traffic:
    if access.space == "shared":
        return Traffic(access.requests, access.wavefronts, access.wavefronts - access.bank_conflicts)
    # Of a request with as many lanes as the mean; lanes that ask for the same element take even fewer.
    lanes = access.threads / access.requests if access.requests else 0.0
    packed = access.requests * ceil(lanes * access.width / SECTOR_BYTES)
    return Traffic(access.requests, access.sectors, min(access.sectors, packed))


def _sum(parts: Iterable[Traffic]) -> Traffic | None:
    total = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _groups(accesses: Iterable[AccessCounter], places: Places) -> tuple[AccessGroup, ...]:
    alike: dict[tuple[object, ...], list[AccessCounter]] = {}
    for access in accesses:
        if access.space in ("global", "shared") and access.requests and access.worst is not None:
            alike.setdefault(_likeness(access, places), []).append(access)
    groups = [_group(members, places) for members in alike.values()]
    return tuple(sorted(groups, key=lambda g: (-g.traffic.excess, -g.traffic.units)))


def _likeness(access: AccessCounter, places: Places) -> tuple[object, ...]:
    """What accesses have in common that one drawing can stand for."""
    worst, first = access.worst, access.first
    assert worst is not None
    active = [address for lane, address in enumerate(worst.addresses) if worst.mask >> lane & 1]
    steps = tuple(address - active[0] for address in active)
    units = (first.units if first else 0, worst.units)
    where = places.array(access.space, active[0])
    return access.kind, access.space, access.width, where, worst.mask, steps, units


def _group(members: list[AccessCounter], places: Places) -> AccessGroup:
    access = max(members, key=lambda one: one.requests)
    worst = access.worst
    assert worst is not None
    lane = (worst.mask & -worst.mask).bit_length() - 1
    return AccessGroup(
        access.line,
        access.kind,
        access.space,
        access.width,
        places.array(access.space, worst.addresses[lane]),
        len(members),
        sum(one.threads for one in members),
        traffic_of(members),
        access.first.units if access.first else worst.units,
        warp_access(worst, access.space, access.width, places),
    )
