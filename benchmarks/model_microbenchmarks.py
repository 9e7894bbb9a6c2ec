"""Micro-kernels that measure latencies and rates of a GPU, for the figures of the performance model.

A chain of dependent loads gives a latency in cycles of the SM's clock. Independent loads by many warps give a
rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["microbenchmarks"]

CHASE = """
extern "C" __global__ void chase(const unsigned* next, int steps, long long* out)
{
    unsigned at = 0;
    for (int s = 0; s < WARM; ++s) at = LOAD(next + at);
    long long start = clock64();
    for (int s = 0; s < steps; ++s) at = LOAD(next + at);
    out[0] = clock64() - start;
    out[1] = at;
}
"""
SHARED_CHASE = """
extern "C" __global__ void chase(const unsigned* next, int steps, long long* out)
{
    __shared__ unsigned table[1024];
    for (int s = 0; s < 1024; ++s) table[s] = (s + 32) % 1024;
    unsigned at = 0;
    long long start = clock64();
    for (int s = 0; s < steps; ++s) at = table[at];
    out[0] = clock64() - start;
    out[1] = at;
}
"""
CYCLES = """
extern "C" __global__ void cycles(float x, int steps, long long* out, float* sink)
{
    float y = x;
    __syncthreads();
    long long start = clock64();
#pragma unroll 16
    for (int s = 0; s < steps; ++s) { STATEMENT; }
    if (threadIdx.x == 0) out[0] = clock64() - start;
    sink[threadIdx.x] = y;
}
"""
# Each product of tensor cores adds to the sums of the previous one.
PRODUCTS = """
extern "C" __global__ void products(int steps, long long* out, float* sink)
{
    float x = 0, y = 0, z = 0, w = 0;
    unsigned a = threadIdx.x, b = 1;
    long long start = clock64();
#pragma unroll 16
    for (int s = 0; s < steps; ++s)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                     "{%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
                     : "+f"(x), "+f"(y), "+f"(z), "+f"(w) : "r"(a), "r"(b));
    if (threadIdx.x == 0) out[0] = clock64() - start;
    sink[threadIdx.x] = x + y + z + w;
}
"""
# Every thread accesses memory `rounds` times, at the element of TYPE that PLACE gives.
RATE = """
extern "C" __global__ void rate(TYPE* data, int rounds, long long length, float* sink)
{
    long long threads = (long long)gridDim.x * blockDim.x;
    long long me = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    float total = 0;
#pragma unroll 8
    for (int r = 0; r < rounds; ++r) { long long at = PLACE; BODY; }
    if (total == 12345.678f) *sink = total;
}
"""
FMA = """
extern "C" __global__ void rate(float* data, int rounds, long long length, float* sink)
{
    float a = threadIdx.x, s0 = 0, s1 = 1, s2 = 2, s3 = 3, s4 = 4, s5 = 5, s6 = 6, s7 = 7;
#pragma unroll 8
    for (int r = 0; r < rounds; ++r) {
        s0 = s0 * a + 1.5f; s1 = s1 * a + 1.5f; s2 = s2 * a + 1.5f; s3 = s3 * a + 1.5f;
        s4 = s4 * a + 1.5f; s5 = s5 * a + 1.5f; s6 = s6 * a + 1.5f; s7 = s7 * a + 1.5f;
    }
    if (s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 == 12345.678f) *sink = s0;
}
"""
# Every warp adds to the element at PLACE, with all its lanes or with one; USE tells if it uses the old value.
ATOMIC = """
extern "C" __global__ void atomic(TYPE* data, int rounds, TYPE* sink)
{
    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    TYPE total = 0;
    for (int r = 0; r < rounds; ++r)
        if (ALL_LANES || lane == 0) {
            TYPE old = atomicAdd(data + PLACE, (TYPE)(lane + 1));
            if (USE) total += old;
        }
    if (total == (TYPE)12345678) *sink = total;
}
"""
# Between loads of random elements, one lane of every warp stores to the same element.
FLAG = """
extern "C" __global__ void flag(unsigned* data, int rounds, unsigned* sink)
{
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x, total = 0;
    for (int r = 0; r < rounds; ++r) {
        total += data[1024 + HASH(me + r * 270336u) % 4194304u];
        if (STORES && threadIdx.x % 32 == 0) asm volatile("st.global.u32 [%0], %1;" :: "l"(data), "r"(r));
    }
    if (total == 12345678u) *sink = total;
}
"""
HASH = """
__device__ unsigned HASH(unsigned x)
{
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ x >> 16;
}
"""
# Every group of GROUP lanes reads a random piece of 32 * GROUP bytes, or the next one.
PIECES = """
extern "C" __global__ void pieces(const float* data, int rounds, unsigned count, float* sink)
{
    unsigned me = (blockIdx.x * blockDim.x + threadIdx.x) / GROUP, groups = gridDim.x * blockDim.x / GROUP;
    float total = 0;
    for (int r = 0; r < rounds; ++r) {
        unsigned n = me + r * groups, at = RANDOM ? HASH(n) % count : n % count;
        total += data[8 * (GROUP * (size_t)at + threadIdx.x % GROUP)];
    }
    if (total == 12345.678f) *sink = total;
}
"""
# Every thread writes the first FIELDS of the fields of 4 bytes of structures, one field after the other.
FIELDS = """
extern "C" __global__ void fields(unsigned* data, int rounds, unsigned count)
{
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int r = 0; r < rounds; ++r) {
        unsigned* p = data + (size_t)WORDS * ((me + r * threads) & (count - 1));
#pragma unroll
        for (int f = 0; f < FIELDS; ++f) asm volatile("st.global.u32 [%0], %1;" :: "l"(p + f), "r"(r));
    }
}
"""
# All threads together read consecutive elements, all of them TIMES times.
REPEATED = """
extern "C" __global__ void repeated(const float4* data, unsigned count, float* sink)
{
    float total = 0;
    for (int t = 0; t < TIMES; ++t)
        for (unsigned n = blockIdx.x * blockDim.x + threadIdx.x; n < count; n += gridDim.x * blockDim.x)
            total += __ldcg(data + n).x;
    if (total == 12345.678f) *sink = total;
}
"""
# Every block keeps an SM for itself and waits for some cycles.
WAITING = """
extern "C" __global__ void waiting(int n)
{
    extern __shared__ int unused[];
    long long start = clock64();
    while (clock64() - start < n) {}
}
"""
EMPTY = 'extern "C" __global__ void empty() {}'
# Cycles of the SM's clock, and nanoseconds of the global timer, between the same two points.
CLOCK = """
extern "C" __global__ void ticks(long long* out, int n)
{
    long long a = clock64(), b;
    unsigned long long s, t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(s));
    do { b = clock64(); } while (b - a < n);
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    out[0] = b - a;
    out[1] = t - s;
}
"""
STREAM = "me + r * threads"  # all threads together read consecutive elements
SAME_IN_BLOCKS = "(threadIdx.x + r * 256) & (length - 1)"  # every block reads the same `length` elements
READ4, READ16 = "total += {load}(data + at);", "float4 v = {load}(data + at); total += v.x + v.y + v.z + v.w;"


def microbenchmarks(device: Any) -> dict[str, float]:
    """Return latencies in cycles (`*_cycles`), rates in GB/s (1e9 bytes) or GFLOPS, times in milliseconds."""
    return {
        **_latencies(device),
        **_rates(device),
        **_l2_writes(device),
        **_starts(device),
        **_atomics(device),
        **_stores(device),
        **_dram_pieces(device),
        **_others(device),
    }


def _chain(lines: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return one cycle through all lines of 128 bytes in random order, as indices of 4-byte words."""
    order = rng.permutation(lines).astype(np.uint32)
    order = np.concatenate([order[np.argmin(order) :], order[: np.argmin(order)]])
    table = np.zeros(32 * lines, np.uint32)
    table[32 * order] = 32 * np.roll(order, -1)
    return table


def _latencies(device: Any) -> dict[str, float]:
    rng = np.random.default_rng(0)
    cycles = {}
    cases = {"l1_cycles": ("__ldca", 1 << 7, 256), "l2_cycles": ("__ldcg", 1 << 15, 1 << 16),
             "dram_cycles": ("__ldcg", 1 << 23, 0)}  # fmt: skip
    for name, (load, lines, warm) in cases.items():
        kernel = device.compile(CHASE, "chase", {"LOAD": load, "WARM": warm})
        table, out = device.asarray(_chain(lines, rng)), device.zeros(2, np.int64)
        for _ in range(1 if name.startswith("dram") else 2):
            kernel(1, 1, [table, 4096, out])
        cycles[name] = float(device.asnumpy(out)[0]) / 4096
    kernel, out = device.compile(SHARED_CHASE, "chase"), device.zeros(2, np.int64)
    kernel(1, 1, [table, 4096, out])
    cycles["shared_cycles"] = float(device.asnumpy(out)[0]) / 4096
    for name, statement, threads in (
        ("fma_cycles", "y = y * x + 1.0f", 32),
        ("barrier_1_warp_cycles", "__syncthreads()", 32),
        ("barrier_8_warps_cycles", "__syncthreads()", 256),
        ("barrier_32_warps_cycles", "__syncthreads()", 1024),
        ("shuffle_cycles", "y = __shfl_xor_sync(~0u, y, 1)", 32),
        ("integer_cycles", "y = __int_as_float(__float_as_int(y) * 3 + 7)", 32),
    ):
        kernel, sink = device.compile(CYCLES, "cycles", {"STATEMENT": statement}), device.zeros(1024)
        for _ in range(2):
            kernel(1, threads, [1.0, 4096, out, sink])
        cycles[name] = float(device.asnumpy(out)[0]) / 4096
    kernel, sink = device.compile(PRODUCTS, "products"), device.zeros(32)
    for _ in range(2):
        kernel(1, 32, [4096, out, sink])
    cycles["mma_cycles"] = float(device.asnumpy(out)[0]) / 4096
    return cycles


def _rates(device: Any) -> dict[str, float]:
    import cupy

    sms, rates = device.spec.sms, {}
    data, sink = cupy.ones(1 << 30, cupy.float32), device.zeros(1)  # 4 GiB
    blocks, threads = 8 * sms, 256
    all_threads = blocks * threads

    def milliseconds(
        source: str, defines: dict[str, str], rounds: int, length: int = 0, grid: int = blocks
    ) -> float:
        kernel = device.compile(source, "rate", defines)
        times = [device.time(lambda: kernel(grid, threads, [data, rounds, length, sink])) for _ in range(5)]
        return float(sorted(times[1:])[1])

    for name, type_, body, width in (("", "float", READ4, 4), ("_16", "float4", READ16, 16)):
        past_l1 = {"TYPE": type_, "BODY": body.format(load="__ldcg")}
        in_l1 = {"TYPE": type_, "BODY": body.format(load="__ldca")}

        rounds = (4 << 30) // width // all_threads
        ms = milliseconds(RATE, past_l1 | {"PLACE": STREAM}, rounds)
        rates[f"dram_read{name}_gb_s"] = rounds * all_threads * width / ms / 1e6

        length, rounds = (16 << 20) // width, (8 << 30) // width // all_threads
        ms = milliseconds(RATE, past_l1 | {"PLACE": f"({STREAM}) & (length - 1)"}, rounds, length)
        rates[f"l2_read{name}_gb_s"] = rounds * all_threads * width / ms / 1e6

        ms = milliseconds(RATE, past_l1 | {"PLACE": SAME_IN_BLOCKS}, 40000, (64 << 10) // width, grid=4)
        rates[f"l2_read{name}_few_sms_gb_s"] = 40000 * 4 * threads * width / ms / 1e6

        length, rounds = (16 << 10) // width, (32 << 30) // width // all_threads
        ms = milliseconds(RATE, in_l1 | {"PLACE": SAME_IN_BLOCKS}, rounds, length)
        rates[f"l1_read{name}_gb_s"] = rounds * all_threads * width / ms / 1e6

    # Lanes load random words of 16 MiB, so that L2 looks up a line for each.
    words = {"TYPE": "float", "BODY": READ4.format(load="__ldcg"), "PLACE": f"HASH({STREAM}) & (length - 1)"}
    ms = milliseconds(HASH + RATE, words, 256, 4 << 20)
    rates["l2_random_words_per_us"] = 256 * all_threads / ms / 1e3

    broadcast = {"TYPE": "float", "PLACE": "r & (length - 1)", "BODY": READ4.format(load="__ldca")}
    ms = milliseconds(RATE, broadcast, 8192, 256)
    rates["l1_broadcast_requests_per_sm_per_us"] = 8192 * all_threads / 32 / sms / ms / 1e3

    rounds = (4 << 30) // 16 // all_threads
    write = {"TYPE": "float4", "PLACE": STREAM, "BODY": "data[at] = make_float4(1, 2, 3, 4)"}
    ms = milliseconds(RATE, write, rounds)
    rates["dram_write_16_gb_s"] = rounds * all_threads * 16 / ms / 1e6

    copy = {"PLACE": STREAM, "BODY": "data[at + length] = data[at]"}
    ms = milliseconds(RATE, {"TYPE": "float4", **copy}, rounds // 2, 1 << 27)
    rates["copy_16_gb_s"] = 2 * (rounds // 2) * all_threads * 16 / ms / 1e6
    ms = milliseconds(RATE, {"TYPE": "float", **copy}, 2 * rounds, 1 << 29)
    rates["copy_4_gb_s"] = 2 * (2 * rounds) * all_threads * 4 / ms / 1e6

    ms = milliseconds(FMA, {}, 8192)
    rates["fma_gflops"] = 2 * 8 * 8192 * all_threads / ms / 1e6
    return rates


def _l2_writes(device: Any) -> dict[str, float]:
    """Return the rates of stores to 16 MiB, which stay in L2."""
    blocks, rounds, rates = 8 * device.spec.sms, 1000, {}
    data, sink = device.zeros(4 << 20), device.zeros(1)
    cases = {
        "l2_write_16": ("float4", f"({STREAM}) & (length - 1)", "make_float4(1, 2, 3, 4)", 1 << 20),
        "l2_write": ("float", f"({STREAM}) & (length - 1)", "1", 4 << 20),
        # Lanes write elements 32 bytes apart, each of which is a part of a sector of its own.
        "l2_write_parts": ("float", f"(8 * ({STREAM})) & (length - 1)", "1", 4 << 20),
    }
    for name, (type_, place, value, length) in cases.items():
        defines = {"TYPE": type_, "PLACE": place, "BODY": f"data[at] = {value}"}
        kernel = device.compile(RATE, "rate", defines)
        times = [device.time(lambda: kernel(blocks, 256, [data, rounds, length, sink])) for _ in range(3)]  # noqa: B023
        size = 4 * (4 << 20) // length
        rates[f"{name}_gb_s"] = blocks * 256 * rounds * size / times[1] / 1e6
    return rates


def _starts(device: Any) -> dict[str, float]:
    """Return the cycles in which an SM starts a block, by its threads, and those between two blocks."""
    cycles, clock = {}, device.spec.boost_clock_mhz * 1e3
    kernel = device.compile(EMPTY, "empty")
    for threads in (32, 128, 256, 512, 1024):
        times = [device.time(lambda: kernel(n * 132 * 100, threads, [])) for n in (1, 11) for _ in range(3)]  # noqa: B023
        cycles[f"block_{threads}_cycles"] = (times[4] - times[1]) * clock / 1000

    waiting = device.compile(WAITING, "waiting")
    for threads in (32, 256, 1024):
        times = [
            device.time(lambda: waiting(n * device.spec.sms, threads, [20_000], 200 << 10))  # noqa: B023
            for n in (10, 60)
            for _ in range(3)
        ]
        cycles[f"gap_{threads}_cycles"] = (times[4] - times[1]) * clock / 50 - 20_000
    return cycles


def _atomics(device: Any) -> dict[str, float]:
    """Return the operations per microsecond on elements that warps share."""
    rates = {}
    data, blocks, rounds = device.zeros(1 << 22, np.uint32), 8 * device.spec.sms, 64
    for place, at in (("one", "0"), ("sixteen", "16 * (warp & 15)"), ("own", "32 * (warp & 0xffff)")):
        for lanes, every in (("lane", 0), ("warp", 1)):
            for use in (0, 1):
                defines = {"PLACE": at, "ALL_LANES": every, "USE": use, "TYPE": "unsigned"}
                kernel = device.compile(ATOMIC, "atomic", defines)
                times = [device.time(lambda: kernel(blocks, 256, [data, rounds, data])) for _ in range(3)]  # noqa: B023
                name = f"atomics_{place}_{lanes}{'_used' if use else ''}_per_us"
                rates[name] = blocks * 8 * rounds / times[1] / 1e3
    kernel = device.compile(ATOMIC, "atomic", {"PLACE": "0", "ALL_LANES": 0, "USE": 0, "TYPE": "float"})
    element = device.zeros(1)
    ms = _milliseconds(device, kernel, blocks, [element, rounds, element])
    rates["atomics_one_lane_float_per_us"] = blocks * 8 * rounds / ms / 1e3
    return rates


def _milliseconds(device: Any, kernel: Any, blocks: int, args: list[Any]) -> float:
    times = [device.time(lambda: kernel(blocks, 256, args)) for _ in range(5)]
    return float(sorted(times[1:])[1])


def _stores(device: Any) -> dict[str, float]:
    """Return the times of stores to one element between loads, and the rates of stores field by field."""
    blocks, figures = 8 * device.spec.sms, {}
    data, sink = device.zeros(1 << 28, np.uint32), device.zeros(1, np.uint32)  # 1 GiB
    for name, stores in (("loads", 0), ("loads_and_flag", 1)):
        kernel = device.compile(HASH + FLAG, "flag", {"STORES": stores})
        figures[f"{name}_us"] = 1e3 * _milliseconds(device, kernel, blocks, [data, 32, sink])

    for words, fields in ((4, 4), (8, 8), (8, 1), (1, 1)):
        kernel = device.compile(FIELDS, "fields", {"WORDS": words, "FIELDS": fields})
        for place, size in (("l2", 1 << 22), ("dram", 1 << 28)):
            count = size // words
            rounds = max(size // words // (256 * blocks), 64)
            ms = _milliseconds(device, kernel, blocks, [data, rounds, count])
            structures = rounds * blocks * 256
            figures[f"fields_{fields}_of_{words}_{place}_per_us"] = structures / ms / 1e3
    return figures


def _dram_pieces(device: Any) -> dict[str, float]:
    """Return the rates of reading pieces of memory, and the times of reading data once and twice."""
    blocks, figures = 8 * device.spec.sms, {}
    data, sink = device.zeros(1 << 28), device.zeros(1)  # 1 GiB
    for group in (1, 2, 4):
        for name, is_random in (("random", 1), ("consecutive", 0)):
            kernel = device.compile(HASH + PIECES, "pieces", {"GROUP": group, "RANDOM": is_random})
            ms = _milliseconds(device, kernel, blocks, [data, 64, (1 << 25) // group, sink])
            figures[f"{name}_{32 * group}_gb_s"] = 64 * blocks * 256 * 32 / ms / 1e6

    for times in (1, 2):
        kernel = device.compile(REPEATED, "repeated", {"TIMES": times})
        for mib in (24, 32, 36, 40, 44, 48, 56):
            ms = _milliseconds(device, kernel, blocks, [data, mib << 16, sink])
            figures[f"read_{mib}_mib_{times}_times_us"] = 1e3 * ms
    return figures


def _others(device: Any) -> dict[str, float]:
    kernel = device.compile(EMPTY, "empty")
    times = sorted(device.time(lambda: kernel(132, 256, [])) for _ in range(20))

    kernel, out = device.compile(CLOCK, "ticks"), device.zeros(2, np.int64)
    kernel(1, 1, [out, 20_000_000])
    ticks, nanoseconds = (float(x) for x in device.asnumpy(out))
    return {"empty_launch_ms": times[10], "clock_mhz": 1e3 * ticks / nanoseconds}
