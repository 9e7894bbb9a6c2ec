"""The ceilings of a GPU: from its data sheet, and measured by small kernels of gpulab's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.devices.base import Device, Kernel
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import GpuSpec
from gpulab.gpus.occupancy import occupancy
from gpulab.profiling.roofline import Ceiling, Level
from gpulab.provenance import Provenance

__all__ = ["bank_bytes", "measured_ceilings", "published_ceilings", "shared_gb_s"]

# Bytes that a bank of shared memory moves in a clock of the cores, from this major compute capability on.
# NVIDIA, CUDA C Programming Guide, Compute Capabilities, Shared Memory: 32 bits in two clocks on 1.x and 2.x,
# 64 bits in a clock on 3.x, 32 bits in a clock since 5.x.
_BANK_BYTES = {1: 2, 3: 8, 5: 4}
_BANKS = "CUDA C Programming Guide, Compute Capabilities, Shared Memory"

THREADS = 256
REPEATS = 9
LAUNCHES = 8  # timed together, since the first one of a row waits for the host
ARRAY_BYTES = 2**30  # of each array, so that no L2 holds them and the launch itself costs little
EACH = 4  # loads of 16 bytes by a thread of a stream
ROUNDS, L2_ROUNDS = 8192, 1024  # of a thread: a launch takes about a millisecond
L2_SHARE = 4  # a quarter of L2 is read over and over: what lies elsewhere in it does not push it out

# Every block says when it began and ended by the cycles of its SM, and which SM that is: from the first to
# the last of an SM, by the time of the launch, is its clock. The streams run with a block for each part of
# the arrays, which is faster; the others with as many blocks as the GPU holds at once.
_CLOCK = """
#define BEGIN long long begin = clock64(); unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
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
    unsigned first = blockIdx.x * EACH * blockDim.x + threadIdx.x;
    float4 x[EACH], y[EACH];   // all on their way at once
    for (int u = 0; u < EACH; ++u)
        if (first + u * blockDim.x < n) {
            x[u] = a[first + u * blockDim.x];
            if (TRIAD) y[u] = b[first + u * blockDim.x];
        }
    for (int u = 0; u < EACH; ++u)
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
    for (int s = 0; s < 8; ++s) sums[s] = me + s;
#pragma unroll 16
    for (int r = 0; r < rounds; ++r)
        for (int s = 0; s < 8; ++s) sums[s] = sums[s] * factor + 0.5f;
    float total = 0;
    for (int s = 0; s < 8; ++s) total += sums[s];
    if (total == 0.125f) sink[0] = total;   // never, but the compiler does not know
    END
}
"""
)
_L2_READ = (
    _CLOCK
    + """
extern "C" __global__ void read_l2(float* sink, const float4* a, int n, int rounds, long long* clocks)
{
    BEGIN
    float total = 0;
    unsigned at = me % n, step = gridDim.x * blockDim.x % n;
#pragma unroll 8
    for (int r = 0; r < rounds; ++r) {
        float4 x = __ldcg(a + at);   // past L1
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
        float4 x = tile[at];   // neighbouring threads, neighbouring words: no bank is asked twice
        total.x += x.x; total.y += x.y; total.z += x.z; total.w += x.w;
        at = (at + blockDim.x) & 1023;
    }
    if (total.x + total.y + total.z + total.w == 0.125f) sink[0] = total.x;
    END
}
"""
)


def bank_bytes(spec: GpuSpec) -> int:
    """Bytes that a bank of shared memory moves in a clock: CUDA C Programming Guide, Compute Capabilities."""
    major = spec.compute_capability[0]
    return _BANK_BYTES[max(known for known in _BANK_BYTES if known <= major)]


def shared_gb_s(spec: GpuSpec) -> float:
    """Theoretical bandwidth of shared memory over all multiprocessors in GB/s, without bank conflicts.

    multiprocessors * banks * bytes of a bank in a clock * clock (GHz): CUDA C Programming Guide, Compute
    Capabilities, Shared Memory.
    """
    return spec.sms * spec.shared_banks * bank_bytes(spec) * spec.boost_clock_mhz / 1e3


def published_ceilings(spec: GpuSpec) -> tuple[Ceiling, ...]:
    """What the catalogue's figures make: fp32, DRAM and shared memory.

    fp32 and shared memory are at the boost clock. There is no ceiling of L2: NVIDIA's data sheets do not
    publish its bandwidth.
    """

    def source(*figures: str) -> Provenance:
        read = dict.fromkeys(spec.sources[name] for name in figures if name in spec.sources)
        return Provenance("published", spec.name, "; ".join(read))

    shared = source("sms", "boost_clock_mhz", "shared_banks")
    banks = f"{spec.sms} SMs * {spec.shared_banks} banks * {bank_bytes(spec)} bytes a clock, {_BANKS}"
    return (
        Ceiling("fp32", spec.peak_fp32_gflops, source("sms", "cores_per_sm", "boost_clock_mhz")),
        Ceiling("DRAM", spec.dram_gb_s, source("memory_clock_mhz", "memory_bus_bits")),
        Ceiling(
            "shared memory",
            shared_gb_s(spec),
            Provenance("published", spec.name, "; ".join(part for part in (banks, shared.detail) if part)),
        ),
    )


@dataclass(frozen=True)
class _Benchmark:
    """One kernel, and what it moves (bytes) or computes (operations): in all, or for each of its threads.

    args: without the clocks, which come last. blocks: of its grid; 0 for as many as the GPU holds.
    """

    level: Level
    name: str
    kernel: Kernel
    args: Sequence[Any]
    words: str
    work: float = 0.0
    work_of_thread: float = 0.0
    blocks: int = 0


def measured_ceilings(device: Device, *, repeats: int = REPEATS) -> tuple[Ceiling, ...]:
    """Run the microbenchmarks on a CUDA device: copy and triad of DRAM, FMA, reads of L2 and shared memory.

    The best of `repeats` rows of launches, after one to warm up: a ceiling is what can be reached. The
    clock of the SMs during that row's last launch stands in the provenance.

    Raises `UsageError` where there is no GPU, and what a launch raises.
    """
    if not device.measures_time:
        raise UsageError(f"ceilings are measured on a GPU; this is the {device.name}.")
    found = []
    for benchmark in _benchmarks(device):
        kernel, spec = benchmark.kernel, device.spec
        resident = occupancy(spec, THREADS, kernel.resources.registers, kernel.resources.shared_bytes)
        blocks = benchmark.blocks or spec.sms * max(resident.blocks_per_sm, 1)
        clocks = device.zeros(3 * blocks, np.int64)

        def launch(each: _Benchmark = benchmark, blocks: int = blocks, clocks: Any = clocks) -> None:
            for _ in range(LAUNCHES):
                each.kernel(blocks, THREADS, [*each.args, clocks])

        samples = _samples(device, launch, clocks, repeats)
        ms, mhz = min(samples)
        slower = 100 * (median(sample for sample, _ in samples) / ms - 1)
        detail = f"{benchmark.words}, best of {repeats} (median {slower:.1f} % slower), SMs at {mhz:.0f} MHz"
        provenance = Provenance("measured", device.name, detail)
        work = benchmark.work + benchmark.work_of_thread * blocks * THREADS
        found.append(Ceiling(benchmark.level, work / ms / 1e6, provenance, benchmark.name, mhz))
    return tuple(found)


def _samples(
    device: Device, launch: Callable[[], None], clocks: Any, repeats: int
) -> list[tuple[float, float]]:
    """Milliseconds of one launch, and MHz, of each row of launches after the first."""
    launch()
    samples = []
    for _ in range(repeats):
        ms = device.time(launch) / LAUNCHES
        samples.append((ms, _cycles(device.asnumpy(clocks)) / ms / 1e3))
    return samples


def _cycles(clocks: npt.NDArray[np.int64]) -> float:
    """Cycles that an SM was busy with a launch: the middle one of all SMs."""
    sm, begin, end = clocks.reshape(-1, 3).T
    return float(np.median([end[sm == one].max() - begin[sm == one].min() for one in np.unique(sm)]))


def _benchmarks(device: Device) -> Iterator[_Benchmark]:
    spec: GpuSpec = device.spec
    nbytes = min(ARRAY_BYTES, spec.memory_bytes // 16) // 16 * 16
    to, a, b = (device.empty(nbytes // 4) for _ in range(3))  # of any values: nobody looks at them
    sink, n = device.empty(1), np.int32(nbytes // 16)
    size = f"arrays of {nbytes >> 20} MiB"
    for triad, name in enumerate(("copy", "triad")):
        kernel = device.compile(_STREAM, None, {"TRIAD": triad, "EACH": EACH})
        blocks = -(-int(n) // (EACH * THREADS))
        yield _Benchmark("DRAM", name, kernel, [to, a, b, n], size, (2 + triad) * nbytes, blocks=blocks)
    kernel = device.compile(_FMA)
    args = [sink, np.float32(0.9999), np.int32(ROUNDS)]
    yield _Benchmark("fp32", "FMA", kernel, args, "8 chains in every thread", work_of_thread=2 * 8 * ROUNDS)
    if spec.l2_bytes:
        part = min(spec.l2_bytes // L2_SHARE, nbytes) // 16
        args = [sink, a, np.int32(part), np.int32(L2_ROUNDS)]
        words = f"{16 * part / 2**20:.3g} MiB over and over"
        kernel = device.compile(_L2_READ)
        yield _Benchmark("L2", "read", kernel, args, words, work_of_thread=16 * L2_ROUNDS)
    kernel, args = device.compile(_SHARED_READ), [sink, np.int32(ROUNDS)]
    words = "16 bytes a thread, without conflicts"
    yield _Benchmark("shared memory", "read", kernel, args, words, work_of_thread=16 * ROUNDS)
