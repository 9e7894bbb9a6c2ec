"""Hazards that the race detector has found in a launch."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AccessRecord", "Hazard", "HazardLog"]


@dataclass(frozen=True)
class AccessRecord:
    """One of the two accesses of a hazard.

    Attributes
    ----------
    site : int
        Index of the access site.
    block, thread : int or None
        Linear numbers; None if several threads made the access and it is not known which.
    """

    site: int
    block: int | None
    thread: int | None


@dataclass
class Hazard:
    """The first hazard of one kind between two access sites, and the number of such hazards.

    Attributes
    ----------
    kind : str
        "read_after_write", "write_after_write", "write_after_read" or "uninitialized_read".
    shared : bool
        The cell is in shared memory.
    address : int
        Device address of the cell, or its offset in shared memory.
    now : AccessRecord
        The access that was checked.
    before : AccessRecord or None
        The earlier access; None for an uninitialized read.
    count : int
        Number of hazards of this kind between the two sites.
    """

    kind: str
    shared: bool
    address: int
    now: AccessRecord
    before: AccessRecord | None
    count: int = 0


class HazardLog:
    """The hazards of one launch, in the order in which they were found."""

    def __init__(self) -> None:
        self.hazards: dict[tuple[str, int, int], Hazard] = {}
        # Uninitialized reads, by array, cell and block. A later write of the cell can turn one into a race.
        self.uninitialized: dict[tuple[int, int, int], Hazard] = {}
        self.count = 0

    def add(self, hazard: Hazard, other_site: int) -> None:
        self.count += 1
        key = (hazard.kind, hazard.now.site, other_site)
        self.hazards.setdefault(key, hazard).count += 1

    def collect(self) -> list[Hazard]:
        """Return all hazards; uninitialized reads that did not turn out to be races come last."""
        for hazard in self.uninitialized.values():
            self.add(hazard, -1)
        self.uninitialized.clear()
        return list(self.hazards.values())
