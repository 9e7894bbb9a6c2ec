"""Counts of a launch by source line, with the memory accesses of each line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from gpulab.profiling.counts.metrics import SECTOR_BYTES, AccessCounter, Counters
from gpulab.profiling.counts.warp_access import Places, WarpAccess, warp_access

__all__ = ["AccessGroup", "SourceLine", "Traffic", "source_lines", "traffic_of"]


@dataclass(frozen=True)
class Traffic:
    """Requests to global or to shared memory, and their sectors or wavefronts.

    Attributes
    ----------
    requests : int
        Executions by warps with at least one active lane.
    units : int
        Sectors (global memory) or wavefronts (shared memory).
    fewest : int
        Units of an ideal kernel with the same requests. In global memory: the sectors that as many elements
        fill if they are adjacent. In shared memory: the wavefronts without bank conflicts.
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
        """Units divided by `fewest`; 1 is ideal."""
        return self.units / self.fewest if self.fewest else 1.0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.requests + other.requests, self.units + other.units, self.fewest + other.fewest)


@dataclass(frozen=True)
class AccessGroup:
    """Instructions of one line that access memory in the same way, such as copies in an unrolled loop.

    Attributes
    ----------
    line, kind, space, width
        As in `AccessCounter`.
    array : str
        Name of the array or the shared variable; empty if it has none.
    instructions : int
        Instructions of PTX.
    threads : int
        Active lanes of all requests.
    traffic : Traffic
        Requests and units of these instructions together.
    first : int
        Units of the first request.
    worst : WarpAccess
        The request with the most units.
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
    """Counts of one source line.

    Attributes
    ----------
    number : int
        Its number, from 1.
    text : str
        The text of the line.
    warp_instructions : int
        Instructions executed by warps; 0 if the line has no code.
    share : float
        Its share of the launch's warp instructions, 0 to 1.
    active_lanes : float
        Active lanes of these instructions on average, 0 to 32.
    sectors, wavefronts : Traffic or None
        Traffic of all accesses to global and to shared memory; None if there are none.
    accesses : tuple of AccessGroup
        The accesses that ran, the one with the largest excess first.
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
        """Sectors and wavefronts that an ideal kernel would save."""
        return sum(t.units - t.fewest for t in (self.sectors, self.wavefronts) if t is not None)


def source_lines(counters: Counters, source: str, places: Places) -> tuple[SourceLine, ...]:
    """Return every line of the source, from the first to the last that is not blank."""
    texts = source.splitlines()
    filled = [number for number, text in enumerate(texts, 1) if text.strip()]
    lines = []
    for number in range(filled[0], filled[-1] + 1) if filled else ():
        metrics = counters.lines.get(number)
        executed = metrics.warp_instructions if metrics else 0
        groups = _groups(metrics.accesses if metrics else (), places)
        lines.append(
            SourceLine(
                number,
                texts[number - 1],
                executed,
                executed / counters.warp_instructions if counters.warp_instructions else 0.0,
                metrics.active_threads_per_warp if metrics else 0.0,
                _sum(group.traffic for group in groups if group.space == "global"),
                _sum(group.traffic for group in groups if group.space == "shared"),
                groups,
            )
        )
    return tuple(lines)


def traffic_of(accesses: Iterable[AccessCounter]) -> Traffic:
    """Return the traffic of accesses to one space together."""
    return _sum(map(_traffic, accesses)) or Traffic(0, 0, 0)


def _traffic(access: AccessCounter) -> Traffic:
    if access.space == "shared":
        return Traffic(access.requests, access.wavefronts, access.wavefronts - access.bank_conflicts)
    # For a request with the average number of lanes. Lanes that share an element need even fewer sectors.
    lanes = access.threads / access.requests if access.requests else 0.0
    adjacent = access.requests * ceil(lanes * access.width / SECTOR_BYTES)
    return Traffic(access.requests, access.sectors, min(access.sectors, adjacent))


def _sum(parts: Iterable[Traffic]) -> Traffic | None:
    total = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _groups(accesses: Iterable[AccessCounter], places: Places) -> tuple[AccessGroup, ...]:
    members: dict[tuple[object, ...], list[AccessCounter]] = {}
    for access in accesses:
        if access.space in ("global", "shared") and access.requests and access.worst is not None:
            members.setdefault(_pattern(access, places), []).append(access)
    groups = [_group(alike, places) for alike in members.values()]
    return tuple(sorted(groups, key=lambda g: (-g.traffic.excess, -g.traffic.units)))


def _pattern(access: AccessCounter, places: Places) -> tuple[object, ...]:
    """Return the properties that accesses must share to be represented by one drawing."""
    worst, first = access.worst, access.first
    assert worst is not None
    active = [address for lane, address in enumerate(worst.addresses) if worst.mask >> lane & 1]
    offsets = tuple(address - active[0] for address in active)
    units = (first.units if first else 0, worst.units)
    array = places.array(access.space, active[0])
    return access.kind, access.space, access.width, array, worst.mask, offsets, units


def _group(members: list[AccessCounter], places: Places) -> AccessGroup:
    access = max(members, key=lambda member: member.requests)
    worst = access.worst
    assert worst is not None
    lowest_lane = (worst.mask & -worst.mask).bit_length() - 1
    return AccessGroup(
        access.line,
        access.kind,
        access.space,
        access.width,
        places.array(access.space, worst.addresses[lowest_lane]),
        len(members),
        sum(member.threads for member in members),
        traffic_of(members),
        access.first.units if access.first else worst.units,
        warp_access(worst, access.space, access.width, places),
    )
