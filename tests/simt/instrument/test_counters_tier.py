"""Comparison of the counters tier with a count of every lane's address in NumPy.

Each access is in a separate source line. Its index and its condition are text that is valid in C and Python.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpulab.devices.simulator.simulated_device import SimulatedDevice, SimulatedKernel
from gpulab.simt.instrument.counters.counter_recorder import Count, CounterRecorder, SiteCount
from tests.simt.programs import simulator

Dim = tuple[int, int, int]
TYPES = {1: "unsigned char", 2: "short", 4: "float", 8: "double", 16: "float4"}
WORDS = 1 << 14  # elements of the arrays


@dataclass(frozen=True)
class Case:
    """One access to `g` (global memory) or `s` (shared memory) by the threads that satisfy a condition."""

    index: str
    array: str = "g"
    condition: str = "1"
    action: str = "read"


@dataclass(frozen=True)
class Launch:
    size: int
    block: Dim
    grid: Dim = (1, 1, 1)
    off: int = 0
    pitch: int = 64


def device() -> SimulatedDevice:
    found = simulator()
    assert isinstance(found, SimulatedDevice)
    return found


@cache
def kernel(accesses: tuple[Case, ...], size: int) -> SimulatedKernel:
    """Compile a kernel whose line 1 is the head and whose line n + 2 is access n."""
    one = "make_float4(1, 1, 1, 1)" if size == 16 else "1"
    forms = {
        "read": "const T v = {a}[{i}]; acc += v.x + v.y + v.z + v.w;" if size == 16 else "acc += {a}[{i}];",
        "write": "{a}[{i}] = " + one + ";",
        "add": "atomicAdd((int*)&{a}[{i}], 1);",
        "add and see": "acc += atomicAdd((int*)&{a}[{i}], 1);",
    }
    lines = [f"if ({p.condition}) {{ {forms[p.action].format(a=p.array, i=p.index)} }}" for p in accesses]
    shared = min(WORDS, 49152 // size - 64)
    head = (
        f"typedef {TYPES[size]} T; "
        'extern "C" __global__ void k(T* g, float* out, int off, int pitch, int last) '
        f"{{ __shared__ T s[{shared}]; const int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x; "
        f"float acc = 0; s[last] = {one}; __syncthreads();"
    )
    return device().compile("\n".join([head, *lines, "", "out[tx + 64 * ty] = acc; }"]))


def run(accesses: Sequence[Case], launch: Launch, order: Any = None) -> tuple[CounterRecorder, Any]:
    compiled = kernel(tuple(accesses), launch.size)
    array = device().zeros(WORDS * launch.size, np.uint8)
    out = device().zeros(2048, np.float32)
    recorder = CounterRecorder()
    compiled.record(
        recorder, launch.grid, launch.block, (array, out, launch.off, launch.pitch, 0), order=order
    )
    return recorder, array


def by_line(recorder: CounterRecorder) -> dict[int, SiteCount]:
    return {site.access.line: site for site in recorder.sites()}


# -- count in NumPy ---------------------------------------------------------------------------------


def requests(
    access: Case, launch: Launch, base: int
) -> list[tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]]:
    """Return (active lanes, addresses) of each warp with an active lane, block after block."""
    threads = launch.block[0] * launch.block[1]
    number = np.arange(-(-threads // 32) * 32)
    found = []
    for block in range(launch.grid[0]):
        names = {
            "tx": number % launch.block[0], "ty": number // launch.block[0], "bx": block + 0 * number,
            "off": launch.off, "pitch": launch.pitch,
        }  # fmt: skip
        active = (eval(access.condition, names) != 0) & (number < threads)
        address = base + launch.size * (eval(access.index, names) + 0 * number)
        for warp in range(len(number) // 32):
            lanes = slice(32 * warp, 32 * warp + 32)
            if active[lanes].any():
                found.append((active[lanes], address[lanes]))
    return found


def sectors(active: npt.NDArray[np.bool_], address: npt.NDArray[np.int64]) -> int:
    return len(set((address[active] // 32).tolist()))


def repeats(active: npt.NDArray[np.bool_], address: npt.NDArray[np.int64]) -> int:
    """Return how often an update accesses its sectors again, since lanes update the same element."""
    lanes: dict[int, Counter[int]] = defaultdict(Counter)
    for element in address[active].tolist():
        lanes[element // 32][element] += 1
    return sum(max(of_sector.values()) - 1 for of_sector in lanes.values())


def wavefronts(
    active: npt.NDArray[np.bool_], address: npt.NDArray[np.int64], size: int, action: str
) -> tuple[int, int]:
    """Return the wavefronts of a request, and the wavefronts without bank conflicts."""
    total = ideal = 0
    together = min(32, 128 // size)
    lanes = np.arange(32)
    pairs = [~active | ~active[lanes ^ n] | (address == address[lanes ^ n]) for n in (1, 2)]
    if action == "read" and size > 4 and any(p.all() for p in pairs):
        together *= 2
    for first in range(0, 32, together):
        served = lanes // together == first // together
        words = {int(a) // 4 + n for a in address[active & served] for n in range(max(size // 4, 1))}
        if words:
            banks = [w % 32 for w in words]
            total += max(banks.count(bank) for bank in banks)
            ideal += 1
    return total, ideal


def expected(access: Case, launch: Launch, base: int) -> Count:
    found = requests(access, launch, base)
    threads = sum(int(active.sum()) for active, _ in found)
    if access.array == "g":
        again = sum(repeats(*r) for r in found) if "add" in access.action else 0
        return Count(len(found), threads, sum(sectors(*r) for r in found), len(found), again)
    both = [wavefronts(*r, launch.size, access.action) for r in found]
    return Count(len(found), threads, sum(t for t, _ in both), sum(i for _, i in both))


def check(accesses: Sequence[Case], launch: Launch) -> None:
    recorder, array = run(accesses, launch)
    sites = by_line(recorder)
    base = array.allocation.address
    touched: dict[str, set[int]] = {"read": set(), "write": set()}
    for line, access in enumerate(accesses, 2):
        space = "global" if access.array == "g" else "shared"
        wanted = expected(access, launch, base if space == "global" else 0)
        assert sites[line].counts[space] == wanted, access
        if space == "global":
            for active, address in requests(access, launch, base):
                for action in ("read", "write") if "add" in access.action else (access.action,):
                    touched[action] |= set((address[active] // 32).tolist())
    read, written = recorder.touched_sectors().get(base, (0, 0))
    assert (read, written) == (len(touched["read"]), len(touched["write"]))


BLOCKS = [(32, 1, 1), (128, 1, 1), (16, 16, 1), (8, 8, 1), (33, 3, 1), (5, 1, 1), (64, 2, 1)]
INDICES = [
    "tx", "tx + off", "off", "ty * pitch + tx + off", "ty * 16 + tx", "ty * pitch + off", "ty",
    "off + 200 - tx", "tx * 2 + off", "tx * 3", "(tx + 5 * ty) * 7 % 61", "(tx >> 1) + ty",
    "(tx * 4 + ty) % 32", "tx * pitch + ty", "tx * 9 + ty * pitch", "tx ^ 5", "tx * 32 + ty",
    "ty * 8 + tx * 17", "tx * 33",
]  # fmt: skip
WHEN = ["1", "tx % 3 != 1", "tx + ty * 5 > 7", "tx == 3", "tx < 0", "(tx * 7 + ty) % 5 < 2", "tx < 20"]
SMALL = {8: 4000, 16: 2000}  # indices that fit into shared memory


@pytest.mark.parametrize(
    ("size", "block"), [(s, b) for s in TYPES for b in (BLOCKS if s in (4, 8) else BLOCKS[1:4])], ids=str
)
def test_reads_and_writes_of_affine_and_arbitrary_indices(size: int, block: Dim) -> None:
    limit = f" % {SMALL[size]}" if size in SMALL else ""
    accesses = [Case(i, condition=WHEN[n % 2 * 2]) for n, i in enumerate(INDICES)]
    accesses += [Case(f"({i}){limit}" if "*" in i else i, "s", WHEN[n % 3]) for n, i in enumerate(INDICES)]
    accesses += [Case(i, action="write", condition=WHEN[n % 4]) for n, i in enumerate(INDICES[:6])]
    accesses += [Case(i, "s", action="write", condition=WHEN[n % 4]) for n, i in enumerate(INDICES[:5])]
    check(accesses, Launch(size, block, (2, 1, 1), off=3))


@pytest.mark.parametrize("block", [(32, 1, 1), (16, 16, 1)], ids=str)
def test_strides_and_alignments(block: Dim) -> None:
    accesses = [Case(f"tx * {n} + off") for n in range(1, 34)]
    accesses += [Case(f"tx * {n} + off", "s") for n in range(1, 34)]
    accesses += [Case(f"tx + {n}") for n in range(9)] + [Case(f"ty * 64 + tx + {n}") for n in range(9)]
    for off in (0, 1, 7):
        check(accesses, Launch(4, block, off=off))


@pytest.mark.parametrize("block", [(32, 2, 1), (16, 8, 1), (9, 9, 1)], ids=str)
@pytest.mark.parametrize("size", [4, 8])
def test_lane_masks(size: int, block: Dim) -> None:
    indices = [
        f"{i} + {n} + off" for n in range(len(WHEN)) for i in ("tx", "ty * pitch + tx", "ty", "tx * 2")
    ]
    accesses = [Case(i, array, w) for array in "gs" for i, w in zip(indices, 4 * WHEN, strict=True)]
    for pitch in (16, 18, 40):
        check(accesses, Launch(size, block, off=1, pitch=pitch))


@pytest.mark.parametrize("size", [8, 16])
def test_wide_elements_read_by_pairs_of_lanes(size: int) -> None:
    indices = [
        "(tx >> 1)",
        "tx % 2 + (tx >> 2) * 2",
        "(tx >> 1) * 5 + off",
        "(tx >> 2)",
        "tx",
        "tx * 2",
        "off",
        "ty",
    ]
    condition = ["1", "tx % 2 == 0", "tx % 4 < 2", "tx % 4 == 1", "tx > 20"]
    accesses = [
        Case(f"{i} + {n}", "s", w, action)
        for action in ("read", "write")
        for n, w in enumerate(condition)
        for i in indices
    ]
    for block in ((32, 1, 1), (16, 2, 1)):
        check(accesses, Launch(size, block, off=1))


def test_rows_that_share_sectors() -> None:
    accesses = [Case(f"ty * {n} + tx + off") for n in range(30)] + [Case(f"ty * {n}") for n in range(10)]
    for off in (0, 5):
        check(accesses, Launch(4, (16, 4, 1), off=off))


def test_atomics() -> None:
    accesses = [
        Case(i, array, w, action)
        for i in ("tx", "(tx >> 2)", "off", "tx * 8")
        for array in "gs"
        for action in ("add", "add and see")
        for w in ("1", "tx % 5 == 0")
    ]
    check(accesses, Launch(4, (32, 4, 1), (3, 1, 1), off=2))


def test_executions_of_basic_blocks() -> None:
    """The loop has `tx / 32 + 1` iterations."""
    compiled = device().compile(
        'extern "C" __global__ void k(float* a) { float x = 0; '
        "for (int i = 0; i <= threadIdx.x / 32; i++) x += a[i * 7]; a[threadIdx.x] = x; }"
    )
    recorder = CounterRecorder()
    array = device().zeros(256)
    compiled.record(recorder, 5, 100, (array,))
    sites = {s.access.action: s.counts["global"] for s in recorder.sites() if s.counts["global"].executions}
    assert sites["writes"].executions == 5 * 4
    assert sites["writes"].threads == 5 * 100
    blocks = recorder.blocks()
    assert blocks[0, :2].tolist() == [5 * 4, 5 * 100]
    assert blocks[:, 2].sum() == 0
    reads = [s for s in recorder.sites() if s.access.action == "reads"]
    assert sum(s.counts["global"].threads for s in reads) == 5 * (32 * (1 + 2 + 3) + 4 * 4)


def test_predicated_instruction() -> None:
    ptx = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
 .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>; .reg .f32 %f<3>;
 ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n];
 cvta.to.global.u64 %rd2, %rd1;
 mov.u32 %r2, %tid.x;
 setp.lt.u32 %p1, %r2, %r1;
 mul.wide.u32 %rd3, %r2, 4;
 add.s64 %rd4, %rd2, %rd3;
 mov.f32 %f1, 0f00000000;
 @%p1 ld.global.f32 %f1, [%rd4];
 @!%p1 st.global.f32 [%rd4], %f1;
 ret;
}"""
    array = device().zeros(256)
    recorder = CounterRecorder()
    device().load_ptx(ptx).record(recorder, 2, 128, (array, 70))
    read, written = (site.counts["global"] for site in recorder.sites())
    assert read == Count(2 * 3, 2 * 70, 2 * (4 + 4 + 1), 2 * 3)
    assert written == Count(2 * 2, 2 * 58, 2 * (4 + 4), 2 * 2)
    assert recorder.touched_sectors() == {array.allocation.address: (9, 8)}


def test_generic_access_is_counted_for_the_state_space_of_each_lane() -> None:
    compiled = device().compile(
        'extern "C" __global__ void k(float* g, float* out, int odd) { __shared__ float s[256];\n'
        "s[threadIdx.x] = 1; __syncthreads();\n"
        "const float* p = (int)(threadIdx.x & 1) == odd ? s + 32 * threadIdx.x % 256 : g + 3 * threadIdx.x;\n"
        "out[threadIdx.x] = *p; }"
    )
    array, out = device().zeros(256), device().zeros(64)
    recorder = CounterRecorder()
    compiled.record(recorder, 1, 64, (array, out, 1))
    (site,) = [s for s in recorder.sites() if s.access.space == "generic"]
    even = np.arange(0, 32, 2)
    per_warp = len({12 * lane // 32 for lane in even}), len({12 * (32 + lane) // 32 for lane in even})
    assert site.counts["global"] == Count(2, 32, sum(per_warp), 2)
    # Odd lanes: words 32, 96, 160 and 224, all in bank 0.
    assert site.counts["shared"] == Count(2, 32, 2 * 4, 2)


# An index that wraps around between active lanes enters the fallback code inside a basic block.
WRAPPING_INDEX = """extern "C" __global__ void k(const float* a, float* out, unsigned start) {
const float x = a[threadIdx.x];
const unsigned i = start + threadIdx.x;
out[(i >> 28) * 64 + threadIdx.x] = x + a[i % 64]; }"""


def test_counts_of_the_fallback_code_are_added() -> None:
    compiled = device().compile(WRAPPING_INDEX)
    for start in (5, 0xFFFF_FFF0):
        array, out = device().zeros(256), device().zeros(2048)
        recorder = CounterRecorder()
        compiled.record(recorder, 4, 32, (array, out, np.uint32(start)))
        sites = recorder.sites()
        assert len({s.access.line for s in sites}) == 2
        for site in sites:
            assert (site.counts["global"].executions, site.counts["global"].threads) == (4, 128)
        (store,) = [s for s in sites if s.access.action == "writes"]
        i = (start + np.arange(32)) % 2**32
        assert store.counts["global"].units == 4 * len(set(((i >> 28) * 64 + np.arange(32)) * 4 // 32))


def test_counts_can_be_read_after_a_later_launch_added_fallback_code() -> None:
    compiled = device().compile(WRAPPING_INDEX)
    array, out = device().zeros(256), device().zeros(2048)
    recorder = CounterRecorder()
    compiled.record(recorder, 4, 32, (array, out, np.uint32(5)))
    before = recorder.sites()
    compiled.record(CounterRecorder(), 4, 32, (array, out, np.uint32(0xFFFF_FFF0)))
    assert recorder.sites() == before


def test_only_the_selected_blocks_are_counted() -> None:
    accesses = [Case("bx * 8 + tx % 8")]
    order = np.array([1, 5, 6], np.int64)
    recorder, array = run(accesses, Launch(4, (32, 1, 1), (9, 1, 1)), order)
    assert by_line(recorder)[2].counts["global"] == Count(3, 96, 3, 3)
    assert recorder.touched_sectors()[array.allocation.address] == (3, 0)
    assert by_line(recorder)[2].first.block in (1, 5, 6)  # type: ignore[union-attr]


def test_first_and_worst_request_are_sampled() -> None:
    accesses = [Case("tx * bx"), Case("tx * bx * 4", "s")]
    recorder, array = run(accesses, Launch(4, (32, 1, 1), (4, 1, 1)))
    base = array.allocation.address
    there, shared = by_line(recorder)[2], by_line(recorder)[3]
    assert there.worst is not None
    assert shared.worst is not None
    assert (there.worst.block, there.worst.units, there.worst.mask) == (3, 12, 2**32 - 1)
    assert there.worst.addresses == tuple(base + 12 * lane for lane in range(32))
    assert (shared.worst.block, shared.worst.units) == (2, 8)
    assert shared.worst.addresses == tuple(32 * lane for lane in range(32))
    for site in (there, shared):
        assert site.first is not None
        assert site.first.warp == 0
        assert site.first.units <= site.worst.units  # type: ignore[union-attr]


def test_ldmatrix_is_counted_by_rows_of_sixteen_bytes() -> None:
    compiled = device().compile(
        'extern "C" __global__ void k(int* out, int pitch) { __shared__ __align__(16) char s[8192];\n'
        "for (int i = threadIdx.x; i < 8192; i += 32) s[i] = i;\n"
        "__syncthreads(); unsigned a, b, c, d;\n"
        "unsigned p = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * pitch);\n"
        'asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"'
        ' : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(p));\n'
        "out[threadIdx.x] = a + b + c + d; }"
    )
    for pitch, wavefronts_each in ((16, 1), (128, 8), (144, 1), (32, 2)):
        recorder = CounterRecorder()
        compiled.record(recorder, 1, 32, (device().zeros(32, np.int32), pitch))
        (site,) = [s for s in recorder.sites() if s.access.opcode.startswith("ldmatrix")]
        assert site.counts["shared"] == Count(1, 32, 4 * wavefronts_each, 4)


@pytest.mark.parametrize("waits", ["", "__syncthreads();"])
def test_groups_of_loop_iterations(waits: str) -> None:
    """Groups of 2 and 4 consecutive iterations are counted, also if the loop contains a barrier."""
    rounds = "n" if waits else "n + threadIdx.x % 4"
    compiled = device().compile(
        'extern "C" __global__ void k(float* a, int n) { float x = 0;\n'
        f"#pragma unroll 1\nfor (int i = 0; i < {rounds}; i++) {{ {waits} x += a[i * 7]; {waits} }}\n"
        "a[threadIdx.x] = x; }"
    )
    for n in (1, 2, 3, 4, 7, 9):
        recorder = CounterRecorder()
        compiled.record(recorder, 3, 64, (device().zeros(512), n))
        each = n + (0 if waits else 1) * np.arange(64) % 4
        ((head, found),) = recorder.iteration_groups().items()
        assert recorder.blocks()[head, 1] == 3 * each.sum()
        for group in (2, 4):
            most = each.max() // group
            first = (each >= group).sum()
            assert found[group] == (6 * most, 3 * (each // group).sum(), 6 * (most > 0), 3 * first)


@pytest.mark.parametrize("stride", [1, 3])
def test_counts_of_an_instruction_are_divided_by_array(stride: int) -> None:
    text = """extern "C" __global__ void k(const float* x, const float* y, float* out, int stride)
    {
        const int t = threadIdx.x + 64 * blockIdx.x;
        #pragma unroll 1
        for (int n = 0; n < 5; ++n) {
            const float* from = n == 0 || (n == 3 && t % 4 == 0) ? y : x;
            out[t] += *(const volatile float*)(from + stride * t);
        }
    }"""
    x, y, out = (device().zeros(3 * 640, np.float32) for _ in range(3))
    recorder = CounterRecorder()
    device().compile(text).record(recorder, (10, 1, 1), (64, 1, 1), (x, y, out, stride))

    (load,) = [site for site in recorder.sites() if x.allocation.address in site.arrays]
    from_x, from_y = (load.arrays[array.allocation.address] for array in (x, y))
    warps, sectors = 20, {1: (4, 4), 3: (12, 8)}[stride]  # of a request of all lanes, of every fourth lane
    others = {1: 4, 3: 12}[stride]  # of a request of the other lanes
    assert (from_x.executions, from_x.threads) == (4 * warps, 3 * 640 + 480)
    assert (from_y.executions, from_y.threads) == (2 * warps, 640 + 160)
    assert from_x.units == warps * (3 * sectors[0] + others)
    assert from_y.units == warps * (sectors[0] + sectors[1])
