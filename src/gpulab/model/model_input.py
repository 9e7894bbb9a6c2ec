"""The input of the performance model: what a sample of a launch's blocks executed and requested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpulab.model.caches import SiteTraffic
from gpulab.model.coalescing import partial_sectors
from gpulab.model.l2_halves import PageCount
from gpulab.model.warp_timing import CodeBlock, runs_by_site

__all__ = ["AccessSample", "LaunchSample"]


@dataclass(frozen=True)
class AccessSample:
    """Some requests of one instruction that accesses memory.

    Attributes
    ----------
    space : str
        "global", "shared" or "generic".
    reads : bool
        True if it only reads.
    width : int
        Bytes per lane.
    requests : float
        Requests by warps with at least one active lane, over the whole launch.
    masks, addresses : array of shape (requests,) and (requests, 32)
        Active lanes and byte addresses of the sampled requests.
    updates : bool
        True for an atomic operation.
    floating : bool
        True for an atomic operation on floating-point numbers.
    bypasses_l1 : bool
        True if L1 does not keep the data.
    copies : bool
        True for an asynchronous copy (`cp.async`) to shared memory.
    compares : bool
        True for a compare-and-swap.
    warps : array of shape (requests,)
        Numbers of the warps in their blocks that made the sampled requests; empty if they are not known.
    """

    space: str
    reads: bool
    width: int
    requests: float
    masks: npt.NDArray[np.uint32]
    addresses: npt.NDArray[np.int64]
    updates: bool = False
    floating: bool = False
    bypasses_l1: bool = False
    copies: bool = False
    compares: bool = False
    warps: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def partial_sectors(self) -> tuple[float, float]:
        """Mean number of sectors that a request covers in part, and the covered share of these."""
        return partial_sectors(self.masks, self.addresses, self.width)

    def joined(self, other: AccessSample) -> AccessSample:
        """Return the requests of both samples, which have the same space and width."""
        return replace(
            self,
            requests=self.requests + other.requests,
            masks=np.concatenate([self.masks, other.masks]),
            addresses=np.concatenate([self.addresses, other.addresses]),
            warps=np.concatenate([self.warps, other.warps]),
        )


@dataclass(frozen=True)
class LaunchSample:
    """The input of the model: what a sample of a launch's blocks executed and requested.

    Attributes
    ----------
    blocks, idle_blocks : int
        Blocks with work, and blocks that end at once.
    block : tuple of int
    resident : int
        Blocks that an SM of the modelled GPU holds.
    registers : int
        Registers per thread.
    code : tuple of CodeBlock
        The kernel's code with its execution counts, scaled to the whole launch.
    accesses : mapping of int to AccessSample
        By PTX row (`Operation.site`).
    traffic : mapping of int to SiteTraffic
        By PTX row, for the requests that went through the simulated caches.
    array_bytes, other_bytes : int
        Total size of the arrays, and of the other data that pass through L2 before each launch.
    ended : bool
        True if the warps whose requests went through the caches ended there.
    imbalance : float
        Warps of a block for each of them that has work: 1 if all have.
    longest_chain, busiest_sm : float
        Work of the longest chain of blocks, and of the busiest SM, divided by those of equal blocks.
    combined : frozenset of int
        PTX rows of atomic operations for which the compiler combines the lanes of a warp.
    shares : mapping of int to array of shape (blocks, warps)
        By PTX row, the requests of each warp of some blocks, relative to the mean of the warps with work.
    separate : mapping of int to SiteTraffic
        `traffic` if blocks do not find each other's data in L1; empty for launches of few waves.
    cold : bool
        True if L2 has no data of an earlier launch.
    pages : mapping of int to PageCount
        By PTX row, the pages of its requests.
    """

    blocks: int
    block: tuple[int, int, int]
    resident: int
    registers: int
    code: tuple[CodeBlock, ...]
    accesses: Mapping[int, AccessSample]
    traffic: Mapping[int, SiteTraffic] = field(default_factory=dict)
    array_bytes: int = 0
    other_bytes: int = 0
    ended: bool = False
    imbalance: float = 1.0
    longest_chain: float = 1.0
    busiest_sm: float = 1.0
    combined: frozenset[int] = frozenset()
    shares: Mapping[int, npt.NDArray[np.float64]] = field(default_factory=dict)
    separate: Mapping[int, SiteTraffic] = field(default_factory=dict)
    cold: bool = False
    idle_blocks: int = 0
    pages: Mapping[int, PageCount] = field(default_factory=dict)

    def loads(self, site: int) -> bool:
        """Return True if the site is known and only reads."""
        return site in self.accesses and self.accesses[site].reads

    @property
    def requests(self) -> dict[int, float]:
        """Requests of each site, over the whole launch.

        Fewer than executions if a predicate is false for all lanes of a warp. Fewer than PTX requests if the
        assembler keeps a value in a register.
        """
        runs = runs_by_site(self.code)
        return {
            site: min(count, self.accesses[site].requests)
            for site, count in runs.items()
            if site in self.accesses
        }

    @property
    def traffic_of_globals(self) -> dict[int, SiteTraffic | None]:
        """Traffic of each site in global memory.

        A load that no simulated warp reached, such as a copy in an unrolled loop, has the traffic of all
        other loads together; such a store has None.
        """
        reached = [(1.0, traffic) for site, traffic in self.traffic.items() if self.loads(site)]
        usual = SiteTraffic.weighted_sum(reached) if reached else None
        return {
            site: self.traffic.get(site) or (usual if access.reads else None)
            for site, access in self.accesses.items()
            if access.space != "shared"
        }
