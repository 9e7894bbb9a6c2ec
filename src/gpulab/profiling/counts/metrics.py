"""Counts of a launch as values: by access to memory, by line, and by Nsight Compute's metric names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpulab.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.simt.instrument.counters.counter_recorder import Picture

__all__ = ["FLOPS", "SECTOR_BYTES", "AccessCounter", "Counters", "LineCounters", "Metrics"]

SECTOR_BYTES = 32
# Floating point operations that an active lane makes, by the machine's name of the instruction.
FLOPS = {"FFMA": 2, "FADD": 1, "FMUL": 1, "DFMA": 2, "DADD": 1, "DMUL": 1}


@dataclass(frozen=True)
class AccessCounter:
    """One instruction of PTX that accesses memory, and one state space it went to.

    kind: "load", "store", "atomic" (its result is used), "reduction" (it is not), "copy" (`cp.async`, which
    has one of these for each side), "barrier" (`mbarrier`) or "parameter". space: "global", "shared",
    "local" or "const", also for generic addresses. opcode: the PTX instruction. width: bytes a lane.
    requests: by warps with at least one active lane. threads: their active lanes.
    sectors: 32-byte sectors (global memory). wavefronts, bank_conflicts: of shared memory; the second is what
    the first has beyond the fewest that these requests can take.
    first, worst: one warp's addresses: of the first request, and of one that took the most sectors or
    wavefronts (`units`). An instruction that never ran has none.
    """

    line: int
    kind: str
    space: str
    opcode: str
    width: int
    requests: int
    threads: int
    sectors: int = 0
    wavefronts: int = 0
    bank_conflicts: int = 0
    first: Picture | None = None
    worst: Picture | None = None

    @property
    def sectors_per_request(self) -> float:
        return _ratio(self.sectors, self.requests)

    @property
    def wavefronts_per_request(self) -> float:
        return _ratio(self.wavefronts, self.requests)


@dataclass(frozen=True, eq=False)
class Metrics:
    """Counts of a kernel, or of one of its lines.

    warp_instructions: executed by a warp, with whichever lanes; thread_instructions: by its active lanes.
    opcodes: the first by opcode of the instruction set ("LDS", or "ld" where that is PTX). operations: active
    lanes of floating point instructions by the machine's name (FFMA, FADD, FMUL, DFMA, DADD, DMUL).
    """

    accesses: tuple[AccessCounter, ...]
    warp_instructions: int
    thread_instructions: int
    opcodes: Mapping[str, int]
    operations: Mapping[str, int]

    def total(self, what: str, space: str, kind: str) -> int:
        """The sum of one of `AccessCounter`'s counts over the accesses of a kind: "requests", "sectors", …"""
        return sum(getattr(a, what) for a in self.accesses if a.space == space and a.kind == kind)

    @property
    def global_load_requests(self) -> int:
        """`cp.async` counts as a load, as Nsight Compute has it."""
        return self.total("requests", "global", "load") + self.total("requests", "global", "copy")

    @property
    def global_load_sectors(self) -> int:
        return self.total("sectors", "global", "load") + self.total("sectors", "global", "copy")

    @property
    def sectors_per_load_request(self) -> float:
        """4 where 32 lanes read 4 bytes each, next to each other; 32 at most."""
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def global_store_requests(self) -> int:
        return self.total("requests", "global", "store")

    @property
    def global_store_sectors(self) -> int:
        return self.total("sectors", "global", "store")

    @property
    def sectors_per_store_request(self) -> float:
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def global_reduction_requests(self) -> int:
        return self.total("requests", "global", "reduction")

    @property
    def global_reduction_sectors(self) -> int:
        return self.total("sectors", "global", "reduction")

    @property
    def global_atomic_requests(self) -> int:
        return self.total("requests", "global", "atomic")

    @property
    def global_atomic_sectors(self) -> int:
        return self.total("sectors", "global", "atomic")

    @property
    def shared_load_requests(self) -> int:
        return self.total("requests", "shared", "load")

    @property
    def shared_load_wavefronts(self) -> int:
        return self.total("wavefronts", "shared", "load")

    @property
    def shared_load_bank_conflicts(self) -> int:
        return self.total("bank_conflicts", "shared", "load")

    @property
    def shared_store_requests(self) -> int:
        return self.total("requests", "shared", "store")

    @property
    def shared_store_wavefronts(self) -> int:
        return self.total("wavefronts", "shared", "store")

    @property
    def shared_store_bank_conflicts(self) -> int:
        return self.total("bank_conflicts", "shared", "store")

    @property
    def shared_atomic_requests(self) -> int:
        return self.total("requests", "shared", "atomic") + self.total("requests", "shared", "reduction")

    @property
    def local_requests(self) -> int:
        """Loads and stores of local memory: arrays that do not fit in registers."""
        return self.total("requests", "local", "load") + self.total("requests", "local", "store")

    @property
    def active_threads_per_warp(self) -> float:
        """32 without divergence."""
        return _ratio(self.thread_instructions, self.warp_instructions)

    @property
    def flops(self) -> int:
        """Floating point operations of single and double precision; a fused multiply and add is two."""
        return sum(FLOPS[name] * count for name, count in self.operations.items() if name in FLOPS)

    @property
    def global_bytes(self) -> int:
        """What loads and stores of global memory ask of the L1 cache, in whole sectors."""
        return SECTOR_BYTES * (self.global_load_sectors + self.global_store_sectors)


@dataclass(frozen=True, eq=False)
class LineCounters(Metrics):
    """Counts of one line of the source."""

    line: int


@dataclass(frozen=True, eq=False)
class Counters(Metrics, Mapping[str, float]):
    """Counts of one launch, by Nsight Compute's metric names, and by the short names of `Metrics`.

    lines: the same by source line, for lines that were executed.
    compulsory_bytes_read, compulsory_bytes_written: of global memory, each 32-byte sector that the launch
    reads or writes counted once: what a cache that loses nothing would move.
    registers_per_thread: as the assembler reports; 0 where only PTX was given.
    instruction_set: "SASS", or "PTX" where the instructions are PTX's and not the machine's.
    blocks: of the grid. sampled_blocks: how many of them ran, where the counts are scaled up from a sample;
    None where all of them did.
    doubts: what is not exact, in words.
    """

    lines: Mapping[int, LineCounters]
    compulsory_bytes_read: int
    compulsory_bytes_written: int
    registers_per_thread: int
    instruction_set: str
    blocks: int
    sampled_blocks: int | None
    provenance: Provenance
    doubts: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", _metrics(self))

    def __getitem__(self, name: str) -> float:
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)


def _ratio(over: float, under: float) -> float:
    return over / under if under else 0.0


def _metrics(counts: Counters) -> dict[str, float]:
    """Nsight Compute's names (Nsight Compute documentation, "Metrics Reference")."""
    found: dict[str, float] = {}
    for short, kind in (("st", "store"), ("red", "reduction"), ("atom", "atomic")):
        for metric, what in (("requests", "requests"), ("sectors", "sectors")):
            name = f"l1tex__t_{metric}_pipe_lsu_mem_global_op_{short}.sum"
            found[name] = counts.total(what, "global", kind)
    found["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] = counts.global_load_requests
    found["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] = counts.global_load_sectors
    for short, kind in (("ld", "load"), ("st", "store")):
        for metric, what in (
            ("data_pipe_lsu_wavefronts", "wavefronts"), ("data_bank_conflicts_pipe_lsu", "bank_conflicts"),
        ):  # fmt: skip
            found[f"l1tex__{metric}_mem_shared_op_{short}.sum"] = counts.total(what, "shared", kind)
        name = f"smsp__sass_inst_executed_op_shared_{short}.sum"
        found[name] = counts.total("requests", "shared", kind)
    found["smsp__inst_executed.sum"] = counts.warp_instructions
    found["smsp__thread_inst_executed.sum"] = counts.thread_instructions
    found["smsp__thread_inst_executed_per_inst_executed.ratio"] = counts.active_threads_per_warp
    for name in ("FFMA", "FADD", "FMUL", "DFMA", "DADD", "DMUL"):
        metric = f"smsp__sass_thread_inst_executed_op_{name.lower()}_pred_on.sum"
        found[metric] = counts.operations.get(name, 0)
    found["launch__registers_per_thread"] = counts.registers_per_thread
    return found
