"""Roofline ceilings of a GPU: published in its data sheet, or measured by microbenchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from statistics import fmean, median
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.base import Device, Kernel
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.occupancy import occupancy
from gpulab.profiling.benchmark import sample
from gpulab.profiling.roofline import TENSOR_LEVELS, Ceiling, Level
from gpulab.provenance import Provenance

__all__ = ["bank_bytes", "measured_ceilings", "published_ceilings", "shared_gb_s"]

# Bytes per clock of one bank of shared memory, from this major compute capability on. NVIDIA, CUDA C
# Programming Guide, Compute Capabilities, Shared Memory: 32 bits every two clocks on 1.x and 2.x, 64 bits per
# clock on 3.x, 32 bits per clock since 5.x.
_BANK_BYTES = {1: 2, 3: 8, 5: 4}
_BANKS_SOURCE = "CUDA C Programming Guide, Compute Capabilities, Shared Memory"

THREADS = 256  # threads of a block
REPEATS = 9  # timed rows of launches, after one to warm up
LAUNCHES = 8  # launches in a row, of which only the first one waits for the host
ARRAY_BYTES = 2**30  # size of an array: larger than any L2, and long enough to hide the launch overhead
LOADS_IN_FLIGHT = 4  # loads of 16 bytes that one thread of a stream issues before it uses any
ROUNDS, L2_ROUNDS = 8192, 1024  # iterations per thread, so that a launch takes about a millisecond
L2_SHARE = 4  # a quarter of L2 is read repeatedly: small enough that other data does not evict it

# Each block records its SM and the values of clock64() at its start and end. The largest end minus the
# smallest start on one SM, divided by the time of the launch, is the clock of that SM. The streams launch one
# block per part of the arrays, which is fastest; the other kernels launch as many blocks as are resident.
_CLOCK = """
#define BEGIN long long begin = clock64(); unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
#define END if (threadIdx.x == 0) { \\
    unsigned sm; asm("mov.u32 %0, %smid;" : "=r"(sm)); \\
    clocks[3 * blockIdx.x] = sm; \\
    clocks[3 * blockIdx.x + 1] = begin; \\
    clocks[3 * blockIdx.x + 2] = clock64(); }
"""
_STREAM = (
    _CLOCK
    + """
__device__ float4 sum(float4 x, float4 y)
{ return make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w); }
extern "C" __global__ void stream(float4* __restrict__ to, const float4* __restrict__ a,
    const float4* __restrict__ b, int n, long long* clocks)
{
    BEGIN
    unsigned first = blockIdx.x * LOADS * blockDim.x + threadIdx.x;
    float4 x[LOADS], y[LOADS];   // all loads are in flight together
    for (int u = 0; u < LOADS; ++u)
        if (first + u * blockDim.x < n) {
            x[u] = a[first + u * blockDim.x];
            if (TRIAD) y[u] = b[first + u * blockDim.x];
        }
    for (int u = 0; u < LOADS; ++u)
        if (first + u * blockDim.x < n) to[first + u * blockDim.x] = TRIAD ? sum(x[u], y[u]) : x[u];
    END
}
"""
)
_FMA = (
    _CLOCK
    + """
extern "C" __global__ void multiply_add(float* sink, float factor, int rounds, long long* clocks)
{
    BEGIN
    float sums[8];
    for (int s = 0; s < 8; ++s) sums[s] = thread + s;
#pragma unroll 16
    for (int r = 0; r < rounds; ++r)
        for (int s = 0; s < 8; ++s) sums[s] = sums[s] * factor + 0.5f;
    float total = 0;
    for (int s = 0; s < 8; ++s) total += sums[s];
    if (total == 0.125f) sink[0] = total;   // never true, but the compiler cannot know that
    END
}
"""
)
_WMMA = (
    "#include <mma.h>\nusing namespace nvcuda;"
    + _CLOCK
    + """
extern "C" __global__ void multiply_matrices(float* sink, int rounds, long long* clocks)
{
    BEGIN
    wmma::fragment<wmma::matrix_a, M, N, K, FACTOR, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, M, N, K, FACTOR, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, M, N, K, SUM> sums[CHAINS];
    for (int e = 0; e < a.num_elements; ++e) a.x[e] = STORED(threadIdx.x % 3);
    for (int e = 0; e < b.num_elements; ++e) b.x[e] = STORED(threadIdx.x % 2);
    for (int s = 0; s < CHAINS; ++s) wmma::fill_fragment(sums[s], SUM(0));
    for (int r = 0; r < rounds; ++r)
        for (int s = 0; s < CHAINS; ++s) wmma::mma_sync(sums[s], a, b, sums[s]);
    float total = 0;
    for (int s = 0; s < CHAINS; ++s)
        for (int e = 0; e < sums[s].num_elements; ++e) total += (float) sums[s].x[e];
    if (total == 0.125f) sink[thread] = total;
    END
}
"""
)
WMMA_CHAINS, WMMA_ROUNDS = 4, 4096  # independent products of a warp, and how often each is repeated
# By type: the shape of a product, and the types of <mma.h>.
_WMMA_FORMS = {
    kind: (
        shape,
        {
            "M": shape[0], "N": shape[1], "K": shape[2], "CHAINS": WMMA_CHAINS,
            "FACTOR": factor, "STORED": stored, "SUM": sums,
        },
    )
    for kind, shape, factor, stored, sums in (
        ("fp16_dst_fp16", (16, 16, 16), "half", "half", "half"),
        ("fp16_dst_fp32", (16, 16, 16), "half", "half", "float"),
        ("bf16_dst_fp32", (16, 16, 16), "__nv_bfloat16", "__nv_bfloat16", "float"),
        ("tf32_dst_fp32", (16, 16, 8), "wmma::precision::tf32", "float", "float"),
        ("fp64", (8, 8, 4), "double", "double", "double"),
    )
}  # fmt: skip
_L2_READ = (
    _CLOCK
    + """
extern "C" __global__ void read_l2(float* sink, const float4* a, int n, int rounds, long long* clocks)
{
    BEGIN
    float total = 0;
    unsigned at = thread % n, step = gridDim.x * blockDim.x % n;
#pragma unroll 8
    for (int r = 0; r < rounds; ++r) {
        float4 x = __ldcg(a + at);   // bypasses L1
        total += x.x + x.y + x.z + x.w;
        at += step;
        if (at >= n) at -= n;
    }
    if (total == 0.125f) sink[0] = total;
    END
}
"""
)
_SHARED_READ = (
    _CLOCK
    + """
extern "C" __global__ void read_shared(float* sink, int rounds, long long* clocks)
{
    __shared__ float4 tile[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = make_float4(i, 1, 2, 3);
    __syncthreads();
    BEGIN
    float4 total = make_float4(0, 0, 0, 0);
    unsigned at = threadIdx.x;
#pragma unroll 8
    for (int r = 0; r < rounds; ++r) {
        float4 x = tile[at];   // consecutive threads read consecutive words: no bank conflicts
        total.x += x.x; total.y += x.y; total.z += x.z; total.w += x.w;
        at = (at + blockDim.x) & 1023;
    }
    if (total.x + total.y + total.z + total.w == 0.125f) sink[0] = total.x;
    END
}
"""
)


def bank_bytes(spec: GpuSpec) -> int:
    """Return the bytes that one bank of shared memory moves per clock (CUDA C Programming Guide)."""
    major = spec.compute_capability[0]
    return _BANK_BYTES[max(first for first in _BANK_BYTES if first <= major)]


def shared_gb_s(spec: GpuSpec) -> float:
    """Return the theoretical shared-memory bandwidth of all SMs in GB/s, without bank conflicts.

    SMs * banks * bytes per bank and clock * clock in GHz; CUDA C Programming Guide, Compute Capabilities,
    Shared Memory.
    """
    return spec.sms * spec.shared_banks * bank_bytes(spec) * spec.boost_clock_mhz / 1e3


def published_ceilings(spec: GpuSpec, tensor_types: Iterable[str] = ()) -> tuple[Ceiling, ...]:
    """Return the ceilings of a catalogue entry: fp32, tensor cores, DRAM and shared memory.

    fp32 and shared memory are those of the boost clock. L2 has no published ceiling, because NVIDIA's data
    sheets do not state its bandwidth. `tensor_types` are the types (keys of `TENSOR_LEVELS`) of the tensor
    cores whose ceilings are wanted; the GPU may have none for a type.
    """

    def source(*figures: str) -> Provenance:
        sources = dict.fromkeys(spec.sources[name] for name in figures if name in spec.sources)
        return Provenance("published", spec.name, "; ".join(sources))

    shared = source("sms", "boost_clock_mhz", "shared_banks")
    banks = f"{spec.sms} SMs * {spec.shared_banks} banks * {bank_bytes(spec)} bytes a clock, {_BANKS_SOURCE}"
    return (
        Ceiling("fp32", spec.peak_fp32_gflops, source("sms", "cores_per_sm", "boost_clock_mhz")),
        *(
            Ceiling(TENSOR_LEVELS[kind], peak, source("sms", "tensor_fmas", "tensor_clock_mhz"))
            for kind in tensor_types
            if (peak := spec.peak_tensor_gflops(kind)) is not None
        ),
        Ceiling("DRAM", spec.dram_gb_s, source("memory_clock_mhz", "memory_bus_bits")),
        Ceiling(
            "shared memory",
            shared_gb_s(spec),
            Provenance("published", spec.name, "; ".join(part for part in (banks, shared.detail) if part)),
        ),
    )


@dataclass(frozen=True)
class _Microbenchmark:
    """A kernel that saturates one level of a GPU.

    Attributes
    ----------
    level : str
        The level, as in `Ceiling`.
    name : str
        The name of the benchmark, as in `Ceiling`.
    kernel : Kernel
        The compiled kernel.
    args : sequence
        Its arguments without the last one, the array of clocks.
    description : str
        The conditions of the measurement, for the provenance.
    work, work_per_thread : float
        Bytes or operations of a launch, or of each of its threads; the other one is 0.
    blocks : int
        Blocks of the grid; 0 for as many as are resident at once.
    """

    level: Level
    name: str
    kernel: Kernel
    args: Sequence[Any]
    description: str
    work: float = 0.0
    work_per_thread: float = 0.0
    blocks: int = 0


def measured_ceilings(
    device: Device, tensor_types: Iterable[str] = (), *, repeats: int = REPEATS
) -> tuple[Ceiling, ...]:
    """Measure the ceilings of a CUDA device: DRAM copy and triad, fp32 FMA, L2 and shared-memory reads.

    `tensor_types` are the types (keys of `TENSOR_LEVELS`) of the tensor cores to measure, by `wmma` products
    of matrices in registers. On Hopper, `wmma` does not reach the published peak, which is that of `wgmma`.

    A ceiling is the best of `repeats` rows of launches, after one row to warm up. Its provenance states the
    clock of the SMs during that row.

    Raises `UsageError` if the device is not a GPU, and the errors of a launch.
    """
    if not device.measures_time:
        raise UsageError(f"ceilings can only be measured on a GPU; this device is the {device.name}.")

    ceilings = []
    for benchmark in _microbenchmarks(device, tensor_types):
        kernel, spec = benchmark.kernel, device.spec
        resident = occupancy(spec, THREADS, kernel.resources.registers, kernel.resources.shared_bytes)
        blocks = benchmark.blocks or spec.sms * max(resident.blocks_per_sm, 1)
        clocks = [device.zeros(3 * blocks, np.int64) for _ in range(LAUNCHES)]

        def launch(
            run: _Microbenchmark = benchmark, blocks: int = blocks, clocks: Sequence[Any] = clocks
        ) -> None:
            for of_launch in clocks:
                run.kernel(blocks, THREADS, [*run.args, of_launch])

        samples = _samples(device, launch, clocks, repeats)
        ms, mhz = min(samples)
        slower = 100 * (median(each for each, _ in samples) / ms - 1)
        detail = f"best of {repeats} (median {slower:.1f} % slower), SMs at {mhz:.0f} MHz"
        provenance = Provenance("measured", device.name, f"{benchmark.description}, {detail}")
        work = benchmark.work + benchmark.work_per_thread * blocks * THREADS
        ceilings.append(Ceiling(benchmark.level, work / ms / 1e6, provenance, benchmark.name, mhz))
    return tuple(ceilings)


def _samples(
    device: Device, launch: Callable[[], None], clocks: Sequence[Any], repeats: int
) -> list[tuple[float, float]]:
    """Return (milliseconds of one launch, SM clock in MHz) of each row after the warm-up."""
    mhz = []

    def measure() -> float:
        ms = device.time(launch) / LAUNCHES
        cycles = fmean(_busy_cycles(device.asnumpy(of_launch)) for of_launch in clocks)
        mhz.append(cycles / ms / 1e3)
        return ms

    (samples,) = sample([measure], n_repeat=repeats, n_warmup=1)
    return list(zip(samples, mhz[-repeats:], strict=True))


def _busy_cycles(clocks: npt.NDArray[np.int64]) -> float:
    """Return the cycles that an SM spent on a launch: the median over all SMs."""
    sms, begin, end = clocks.reshape(-1, 3).T
    return float(np.median([end[sms == sm].max() - begin[sms == sm].min() for sm in np.unique(sms)]))


def _microbenchmarks(device: Device, tensor_types: Iterable[str]) -> Iterator[_Microbenchmark]:
    spec: GpuSpec = device.spec
    nbytes = min(ARRAY_BYTES, spec.memory_bytes // 16) // 16 * 16
    target, a, b = (device.empty(nbytes // 4) for _ in range(3))  # the values do not affect the time
    sink, n = device.empty(1), np.int32(nbytes // 16)

    description = f"arrays of {nbytes >> 20} MiB"
    for triad, name in enumerate(("copy", "triad")):
        kernel = device.compile(_STREAM, None, {"TRIAD": triad, "LOADS": LOADS_IN_FLIGHT})
        blocks = -(-int(n) // (LOADS_IN_FLIGHT * THREADS))
        args, work = [target, a, b, n], (2 + triad) * nbytes
        yield _Microbenchmark("DRAM", name, kernel, args, description, work, blocks=blocks)

    kernel = device.compile(_FMA)
    args, work = [sink, np.float32(0.9999), np.int32(ROUNDS)], 2 * 8 * ROUNDS
    yield _Microbenchmark("fp32", "FMA", kernel, args, "8 chains per thread", work_per_thread=work)

    for kind in tensor_types:
        shape, defines = _WMMA_FORMS[kind]
        kernel = device.compile(_WMMA, None, defines)
        args, operations = [sink, np.int32(WMMA_ROUNDS)], 2 * prod(shape) * WMMA_CHAINS * WMMA_ROUNDS
        yield _Microbenchmark(
            TENSOR_LEVELS[kind],
            "wmma",
            kernel,
            args,
            f"{WMMA_CHAINS} chains per warp",
            work_per_thread=operations / spec.warp_size,
        )

    if spec.l2_bytes:
        part = min(spec.l2_bytes // L2_SHARE, nbytes) // 16
        kernel = device.compile(_L2_READ)
        args, work = [sink, a, np.int32(part), np.int32(L2_ROUNDS)], 16 * L2_ROUNDS
        description = f"{16 * part / 2**20:.3g} MiB read repeatedly"
        yield _Microbenchmark("L2", "read", kernel, args, description, work_per_thread=work)

    kernel, args, work = device.compile(_SHARED_READ), [sink, np.int32(ROUNDS)], 16 * ROUNDS
    description = "16 bytes per thread, no bank conflicts"
    yield _Microbenchmark("shared memory", "read", kernel, args, description, work_per_thread=work)
