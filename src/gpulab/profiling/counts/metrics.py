"""Counters of a launch: by memory access, by source line, and by Nsight Compute's metric names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpulab.gpus.limits import TENSOR_TYPES
from gpulab.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.simt.instrument.counters.counter_recorder import RequestSample

__all__ = [
    "FLOPS",
    "IDEAL_SECTORS",
    "SECTOR_BYTES",
    "TENSOR_OPCODES",
    "WARP",
    "AccessCounter",
    "Counters",
    "LineCounters",
    "Metrics",
]

SECTOR_BYTES = 32
IDEAL_SECTORS = 4  # sectors of a request for 32 neighbouring floats
# Floating point operations of an active lane, by SASS opcode.
FLOPS = {"FFMA": 2, "FADD": 1, "FMUL": 1, "DFMA": 2, "DADD": 1, "DMUL": 1}
TENSOR_OPCODES = ("HMMA", "IMMA", "DMMA")  # products of f16, bf16 and tf32, of integers, of f64
WARP = 32  # lanes


@dataclass(frozen=True)
class AccessCounter:
    """Counts of one PTX instruction that accesses memory, in one state space.

    Attributes
    ----------
    line : int
        Source line.
    kind : str
        "load", "store", "atomic" (the result is used), "reduction" (it is not), "copy" (`cp.async`, which has
        one counter for each side), "bulk copy" (`cp.async.bulk`; Nsight Compute does not count its sectors as
        loads, because it bypasses the load-store unit), "barrier" (`mbarrier`) or "parameter".
    space : str
        "global", "shared", "local" or "const"; of a generic address, the space that it points to.
    opcode : str
        The PTX instruction.
    width : int
        Bytes per lane.
    requests : int
        Executions by warps with at least one active lane.
    threads : int
        Active lanes of these requests.
    sectors : int
        32-byte sectors touched in global memory, each counted once per request. An update counts a sector as
        often as lanes update the same of its elements, for the element with the most lanes.
    wavefronts : int
        Passes through the banks of shared memory.
    bank_conflicts : int
        Wavefronts beyond the fewest that these requests can take.
    first, worst : RequestSample or None
        Addresses of the first request, and of the one with the most sectors or wavefronts. None if the
        instruction never ran.
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
    first: RequestSample | None = None
    worst: RequestSample | None = None

    @property
    def sectors_per_request(self) -> float:
        return _ratio(self.sectors, self.requests)

    @property
    def wavefronts_per_request(self) -> float:
        return _ratio(self.wavefronts, self.requests)


@dataclass(frozen=True, eq=False)
class Metrics:
    """Counts of a kernel, or of one of its lines.

    A request is one execution of a memory instruction by a warp with at least one active lane.

    Attributes
    ----------
    accesses : tuple of AccessCounter
        The memory instructions, in the order of the code.
    warp_instructions : int
        Instructions executed by warps (`smsp__inst_executed.sum`).
    thread_instructions : int
        Instructions executed by threads: the active lanes of all warp instructions
        (`smsp__thread_inst_executed.sum`).
    opcodes : mapping of str to int
        `warp_instructions` by opcode: "LDS", or "ld" if the instructions are those of PTX.
    operations : mapping of str to int
        Active lanes of floating point instructions, by SASS opcode: FFMA, FADD, FMUL, DFMA, DADD, DMUL
        (`smsp__sass_thread_inst_executed_op_ffma_pred_on.sum` and so on), and of tensor-core instructions:
        HMMA, IMMA, DMMA.
    tensor_operations : mapping of str to int
        Operations of the tensor cores, 2 * m * n * k for each product, by type of the factors and sums:
        "fp16_dst_fp16", "fp16_dst_fp32", "bf16_dst_fp32", "tf32_dst_fp32", "fp64" and "int8"
        (`sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum` and so on, as on an H200).
    """

    accesses: tuple[AccessCounter, ...]
    warp_instructions: int
    thread_instructions: int
    opcodes: Mapping[str, int]
    operations: Mapping[str, int]
    tensor_operations: Mapping[str, int]

    def total(self, count: str, space: str, kind: str) -> int:
        """Return the sum of one count over all accesses of a kind.

        Parameters
        ----------
        count : str
            An attribute of `AccessCounter`: "requests", "threads", "sectors", "wavefronts" or
            "bank_conflicts".
        space, kind : str
            As in `AccessCounter`.
        """
        return sum(getattr(a, count) for a in self.accesses if a.space == space and a.kind == kind)

    @property
    def global_load_requests(self) -> int:
        """Load requests to global memory, including `cp.async` as in Nsight Compute.

        `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum`
        """
        return self.total("requests", "global", "load") + self.total("requests", "global", "copy")

    @property
    def global_load_sectors(self) -> int:
        """Sectors (32 bytes) of loads from global memory, including `cp.async`.

        `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`
        """
        return self.total("sectors", "global", "load") + self.total("sectors", "global", "copy")

    @property
    def sectors_per_load_request(self) -> float:
        """Sectors per load request: 4 if 32 lanes read consecutive 4-byte elements, at most 32."""
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def global_store_requests(self) -> int:
        """Store requests to global memory: `l1tex__t_requests_pipe_lsu_mem_global_op_st.sum`."""
        return self.total("requests", "global", "store")

    @property
    def global_store_sectors(self) -> int:
        """Sectors (32 bytes) of stores to global memory.

        `l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum`
        """
        return self.total("sectors", "global", "store")

    @property
    def sectors_per_store_request(self) -> float:
        """Sectors per store request: 4 if 32 lanes write consecutive 4-byte elements, at most 32."""
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def global_reduction_requests(self) -> int:
        """Requests of atomics on global memory whose result is not used.

        `l1tex__t_requests_pipe_lsu_mem_global_op_red.sum`
        """
        return self.total("requests", "global", "reduction")

    @property
    def global_reduction_sectors(self) -> int:
        """Sectors (32 bytes) of atomics on global memory whose result is not used.

        `l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum`
        """
        return self.total("sectors", "global", "reduction")

    @property
    def global_atomic_requests(self) -> int:
        """Requests of atomics on global memory whose result is used.

        `l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum`
        """
        return self.total("requests", "global", "atomic")

    @property
    def global_atomic_sectors(self) -> int:
        """Sectors (32 bytes) of atomics on global memory whose result is used.

        `l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum`
        """
        return self.total("sectors", "global", "atomic")

    @property
    def shared_load_requests(self) -> int:
        """Load requests to shared memory: `smsp__sass_inst_executed_op_shared_ld.sum`."""
        return self.total("requests", "shared", "load")

    @property
    def shared_load_wavefronts(self) -> int:
        """Wavefronts of loads from shared memory: `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum`."""
        return self.total("wavefronts", "shared", "load")

    @property
    def shared_load_bank_conflicts(self) -> int:
        """Wavefronts that bank conflicts add to loads from shared memory.

        `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum`
        """
        return self.total("bank_conflicts", "shared", "load")

    @property
    def shared_store_requests(self) -> int:
        """Store requests to shared memory: `smsp__sass_inst_executed_op_shared_st.sum`."""
        return self.total("requests", "shared", "store")

    @property
    def shared_store_wavefronts(self) -> int:
        """Wavefronts of stores to shared memory: `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum`."""
        return self.total("wavefronts", "shared", "store")

    @property
    def shared_store_bank_conflicts(self) -> int:
        """Wavefronts that bank conflicts add to stores to shared memory.

        `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum`
        """
        return self.total("bank_conflicts", "shared", "store")

    @property
    def shared_atomic_requests(self) -> int:
        """Requests of atomics on shared memory."""
        return self.total("requests", "shared", "atomic") + self.total("requests", "shared", "reduction")

    @property
    def local_requests(self) -> int:
        """Load and store requests to local memory, which holds arrays that do not fit in registers."""
        return self.total("requests", "local", "load") + self.total("requests", "local", "store")

    @property
    def active_threads_per_warp(self) -> float:
        """Active lanes of an instruction on average, 32 without divergence.

        `smsp__thread_inst_executed_per_inst_executed.ratio`
        """
        return _ratio(self.thread_instructions, self.warp_instructions)

    @property
    def flops(self) -> int:
        """Floating point operations; a multiply-add counts as two.

        They are those of the CUDA cores in single and double precision, which the peak of their type bounds
        (`GpuSpec.peak_fp32_gflops`), and `tensor_flops`.
        """
        cores = sum(FLOPS[name] * count for name, count in self.operations.items() if name in FLOPS)
        return cores + self.tensor_flops

    @property
    def tensor_flops(self) -> int:
        """Floating point operations of the tensor cores, without those of integers.

        `tensor_operations` has them by type; `GpuSpec.peak_tensor_gflops` is the peak of a type.
        """
        return sum(count for kind, count in self.tensor_operations.items() if kind != "int8")

    @property
    def tensor_instructions(self) -> int:
        """Tensor-core instructions executed by warps: `sm__inst_executed_pipe_tensor.sum`.

        The assembler translates one `mma` or `wmma` instruction of PTX into one or more.
        """
        return sum(self.operations.get(opcode, 0) for opcode in TENSOR_OPCODES) // WARP

    @property
    def global_bytes(self) -> int:
        """Bytes that loads and stores of global memory request from L1, in whole sectors."""
        return SECTOR_BYTES * (self.global_load_sectors + self.global_store_sectors)


@dataclass(frozen=True, eq=False)
class LineCounters(Metrics):
    """Counts of one line of the source."""

    line: int


@dataclass(frozen=True, eq=False)
class Counters(Metrics, Mapping[str, float]):
    """Performance counters of one launch, by Nsight Compute's metric names.

    A `Counters` is a mapping: `counters["smsp__inst_executed.sum"]` is a count of the whole launch. The most
    used counts are also attributes with short names, such as `global_load_sectors`.

    Attributes
    ----------
    accesses, warp_instructions, thread_instructions, opcodes, operations, tensor_operations
        As in `Metrics`, whose properties (`global_load_requests`, `shared_load_bank_conflicts`, `flops`, ...)
        a `Counters` has as well.
    lines : mapping of int to LineCounters
        The same counts by source line, for lines that were executed.
    compulsory_bytes_read, compulsory_bytes_written : int
        Bytes of global memory that the launch reads and writes, each 32-byte sector counted once: the traffic
        of a cache that never evicts.
    registers_per_thread : int
        As the assembler reports (`launch__registers_per_thread`); 0 if only PTX is known.
    instruction_set : str
        "SASS", or "PTX" if the instructions are those of PTX.
    blocks : int
        Blocks of the grid.
    sampled_blocks : int or None
        Number of blocks that ran, if the counts are scaled from a sample; None if every block ran.
    provenance : Provenance
        `counted`, with the simulator's name.
    caveats : tuple of str
        Reasons why counts are not exact; empty if all of them are.
    metrics : mapping of str to float
        All counts by Nsight Compute's names.

    See Also
    --------
    gpulab.counters : Count a launch.

    Notes
    -----
    The names are those of Nsight Compute's "Metrics Reference". docs/counters.md compares the counts with
    Nsight Compute's on an H200, launch by launch.

    Examples
    --------
    A stride of two floats touches twice as many sectors as neighbouring floats:

    >>> import numpy as np
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> k = dev.compile('''__global__ void every_other(float* y, const float* x)
    ... {
    ...     y[threadIdx.x] = x[2 * threadIdx.x];
    ... }''')
    >>> x = dev.asarray(np.ones(128, np.float32))
    >>> c = gpulab.counters(k, 1, 64, (dev.empty(64), x))
    >>> c.global_load_requests, c.global_load_sectors, c.sectors_per_load_request
    (2, 16, 8.0)
    >>> c["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"]
    8
    >>> sorted(line for line, counts in c.lines.items() if counts.global_load_requests)
    [3]
    """

    lines: Mapping[int, LineCounters]
    compulsory_bytes_read: int
    compulsory_bytes_written: int
    registers_per_thread: int
    instruction_set: str
    blocks: int
    sampled_blocks: int | None
    provenance: Provenance
    caveats: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", _by_nsight_name(self))

    def __repr__(self) -> str:
        width = max(map(len, self.metrics))
        lines = [f"{name:<{width}}  {value:>14,.12g}" for name, value in self.metrics.items()]
        return "\n".join([f"Counters of a launch ({self.provenance})", *lines, *self.caveats])

    def __getitem__(self, name: str) -> float:
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)


def counter_names() -> list[str]:
    """Return the names of all counts of a `Counters`: its attributes, and those of Nsight Compute."""
    nothing = Counters((), 0, 0, {}, {}, {}, {}, 0, 0, 0, "PTX", 0, None, Provenance("counted", ""))
    attributes = [name for name in dir(nothing) if not name.startswith("_")]
    numbers = [name for name in attributes if isinstance(getattr(nothing, name), int | float)]
    return [*numbers, *nothing]


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def _by_nsight_name(counters: Counters) -> dict[str, float]:
    """Return the counts by Nsight Compute's names (Nsight Compute documentation, "Metrics Reference")."""
    metrics: dict[str, float] = {}

    for short, kind in (("st", "store"), ("red", "reduction"), ("atom", "atomic")):
        for count in ("requests", "sectors"):
            name = f"l1tex__t_{count}_pipe_lsu_mem_global_op_{short}.sum"
            metrics[name] = counters.total(count, "global", kind)
    metrics["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] = counters.global_load_requests
    metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] = counters.global_load_sectors

    for short, kind in (("ld", "load"), ("st", "store")):
        for metric, count in (
            ("data_pipe_lsu_wavefronts", "wavefronts"), ("data_bank_conflicts_pipe_lsu", "bank_conflicts"),
        ):  # fmt: skip
            metrics[f"l1tex__{metric}_mem_shared_op_{short}.sum"] = counters.total(count, "shared", kind)
        name = f"smsp__sass_inst_executed_op_shared_{short}.sum"
        metrics[name] = counters.total("requests", "shared", kind)

    metrics["smsp__inst_executed.sum"] = counters.warp_instructions
    metrics["smsp__thread_inst_executed.sum"] = counters.thread_instructions
    metrics["smsp__thread_inst_executed_per_inst_executed.ratio"] = counters.active_threads_per_warp
    for opcode in FLOPS:
        metric = f"smsp__sass_thread_inst_executed_op_{opcode.lower()}_pred_on.sum"
        metrics[metric] = counters.operations.get(opcode, 0)
    metrics["sm__inst_executed_pipe_tensor.sum"] = counters.tensor_instructions
    for opcode in TENSOR_OPCODES:
        metric = f"sm__inst_executed_pipe_tensor_op_{opcode.lower()}.sum"
        metrics[metric] = counters.operations.get(opcode, 0) // WARP
    for kind in TENSOR_TYPES:
        unit = "op_hmma_" if "_dst_" in kind else ""
        metrics[f"sm__ops_path_tensor_{unit}src_{kind}.sum"] = counters.tensor_operations.get(kind, 0)
    metrics["launch__registers_per_thread"] = counters.registers_per_thread
    return metrics
