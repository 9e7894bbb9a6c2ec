"""The counted tier against a plain count of every lane's address.

Each access stands in a line of its own; its index and condition are one text, which C and NumPy both read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpulab.devices.simulated import SimulatedDevice, SimulatedKernel
from gpulab.simt.instrument.counters.counter_recorder import Count, CounterRecorder, SiteCount
from tests.simt.programs import simulator

Dim = tuple[int, int, int]
TYPES = {1: "unsigned char", 2: "short", 4: "float", 8: "double", 16: "float4"}
WORDS = 1 << 14  # elements of the arrays


@dataclass(frozen=True)
class Place:
    """One access: to `g` (global) or `s` (shared), by which threads, how."""

    index: str
    array: str = "g"
    when: str = "1"
    how: str = "read"


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
def kernel(places: tuple[Place, ...], size: int) -> SimulatedKernel:
    """Line 1 is the head; place n stands in line n + 2."""
    one = "make_float4(1, 1, 1, 1)" if size == 16 else "1"
    forms = {
        "read": "const T v = {a}[{i}]; acc += v.x + v.y + v.z + v.w;" if size == 16 else "acc += {a}[{i}];",
        "write": "{a}[{i}] = " + one + ";",
        "add": "atomicAdd((int*)&{a}[{i}], 1);",
        "add and see": "acc += atomicAdd((int*)&{a}[{i}], 1);",
    }
    lines = [f"if ({p.when}) {{ {forms[p.how].format(a=p.array, i=p.index)} }}" for p in places]
    shared = min(WORDS, 49152 // size - 64)
    head = (
        f"typedef {TYPES[size]} T; "
        'extern "C" __global__ void k(T* g, float* out, int off, int pitch, int last) '
        f"{{ __shared__ T s[{shared}]; const int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x; "
        f"float acc = 0; s[last] = {one}; __syncthreads();"
    )
    return device().compile("\n".join([head, *lines, "", "out[tx + 64 * ty] = acc; }"]))


def run(places: Sequence[Place], launch: Launch, order: Any = None) -> tuple[CounterRecorder, Any]:
    made = kernel(tuple(places), launch.size)
    array = device().zeros(WORDS * launch.size // 4, np.float32)
    out = device().zeros(2048, np.float32)
    recording = CounterRecorder()
    made.record(recording, launch.grid, launch.block, (array, out, launch.off, launch.pitch, 0), order=order)
    return recording, array


def by_line(recording: CounterRecorder) -> dict[int, SiteCount]:
    return {site.access.line: site for site in recording.sites()}


# -- the plain count --------------------------------------------------------------------------------


def requests(
    place: Place, launch: Launch, base: int
) -> list[tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]]:
    """(active lanes, addresses) of each warp with an active lane, block after block."""
    threads = launch.block[0] * launch.block[1]
    number = np.arange(-(-threads // 32) * 32)
    found = []
    for block in range(launch.grid[0]):
        known = {
            "tx": number % launch.block[0], "ty": number // launch.block[0], "bx": block + 0 * number,
            "off": launch.off, "pitch": launch.pitch,
        }  # fmt: skip
        active = (eval(place.when, known) != 0) & (number < threads)
        address = base + launch.size * (eval(place.index, known) + 0 * number)
        for warp in range(len(number) // 32):
            lanes = slice(32 * warp, 32 * warp + 32)
            if active[lanes].any():
                found.append((active[lanes], address[lanes]))
    return found


def sectors(active: npt.NDArray[np.bool_], address: npt.NDArray[np.int64]) -> int:
    return len(set((address[active] // 32).tolist()))


def wavefronts(
    active: npt.NDArray[np.bool_], address: npt.NDArray[np.int64], size: int, how: str
) -> tuple[int, int]:
    """Wavefronts, and how many there would be without conflicts."""
    total = ideal = 0
    together = min(32, 128 // size)
    lanes = np.arange(32)
    pairs = [~active | ~active[lanes ^ n] | (address == address[lanes ^ n]) for n in (1, 2)]
    if how == "read" and size > 4 and any(p.all() for p in pairs):
        together *= 2
    for first in range(0, 32, together):
        served = lanes // together == first // together
        words = {int(a) // 4 + n for a in address[active & served] for n in range(max(size // 4, 1))}
        if words:
            banks = [w % 32 for w in words]
            total += max(banks.count(bank) for bank in banks)
            ideal += 1
    return total, ideal


def expected(place: Place, launch: Launch, base: int) -> Count:
    found = requests(place, launch, base)
    threads = sum(int(active.sum()) for active, _ in found)
    if place.array == "g":
        return Count(len(found), threads, sum(sectors(*r) for r in found), len(found))
    both = [wavefronts(*r, launch.size, place.how) for r in found]
    return Count(len(found), threads, sum(t for t, _ in both), sum(i for _, i in both))


def check(places: Sequence[Place], launch: Launch) -> None:
    recording, array = run(places, launch)
    sites = by_line(recording)
    base = array.allocation.address
    touched: dict[str, set[int]] = {"read": set(), "write": set()}
    for line, place in enumerate(places, 2):
        space = "global" if place.array == "g" else "shared"
        wanted = expected(place, launch, base if space == "global" else 0)
        assert sites[line].counts[space] == wanted, place
        if space == "global":
            for active, address in requests(place, launch, base):
                for how in ("read", "write") if "add" in place.how else (place.how,):
                    touched[how] |= set((address[active] // 32).tolist())
    read, written = recording.touched().get(base, (0, 0))
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
def test_reads_and_writes_of_rows_and_of_any_lanes(size: int, block: Dim) -> None:
    limit = f" % {SMALL[size]}" if size in SMALL else ""
    places = [Place(i, when=WHEN[n % 2 * 2]) for n, i in enumerate(INDICES)]
    places += [Place(f"({i}){limit}" if "*" in i else i, "s", WHEN[n % 3]) for n, i in enumerate(INDICES)]
    places += [Place(i, how="write", when=WHEN[n % 4]) for n, i in enumerate(INDICES[:6])]
    places += [Place(i, "s", how="write", when=WHEN[n % 4]) for n, i in enumerate(INDICES[:5])]
    check(places, Launch(size, block, (2, 1, 1), off=3))


@pytest.mark.parametrize("block", [(32, 1, 1), (16, 16, 1)], ids=str)
def test_every_stride_and_every_alignment(block: Dim) -> None:
    places = [Place(f"tx * {n} + off") for n in range(1, 34)]
    places += [Place(f"tx * {n} + off", "s") for n in range(1, 34)]
    places += [Place(f"tx + {n}") for n in range(9)] + [Place(f"ty * 64 + tx + {n}") for n in range(9)]
    for off in (0, 1, 7):
        check(places, Launch(4, block, off=off))


@pytest.mark.parametrize("block", [(32, 2, 1), (16, 8, 1), (9, 9, 1)], ids=str)
@pytest.mark.parametrize("size", [4, 8])
def test_any_mask(size: int, block: Dim) -> None:
    indices = [
        f"{i} + {n} + off" for n in range(len(WHEN)) for i in ("tx", "ty * pitch + tx", "ty", "tx * 2")
    ]
    places = [Place(i, array, w) for array in "gs" for i, w in zip(indices, 4 * WHEN, strict=True)]
    for pitch in (16, 18, 40):
        check(places, Launch(size, block, off=1, pitch=pitch))


@pytest.mark.parametrize("size", [8, 16])
def test_wide_elements_of_lanes_in_pairs(size: int) -> None:
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
    when = ["1", "tx % 2 == 0", "tx % 4 < 2", "tx % 4 == 1", "tx > 20"]
    places = [
        Place(f"{i} + {n}", "s", w, how)
        for how in ("read", "write")
        for n, w in enumerate(when)
        for i in indices
    ]
    for block in ((32, 1, 1), (16, 2, 1)):
        check(places, Launch(size, block, off=1))


def test_rows_that_share_sectors() -> None:
    places = [Place(f"ty * {n} + tx + off") for n in range(30)] + [Place(f"ty * {n}") for n in range(10)]
    for off in (0, 5):
        check(places, Launch(4, (16, 4, 1), off=off))


def test_atomics() -> None:
    places = [
        Place(i, array, w, how)
        for i in ("tx", "(tx >> 2)", "off", "tx * 8")
        for array in "gs"
        for how in ("add", "add and see")
        for w in ("1", "tx % 5 == 0")
    ]
    check(places, Launch(4, (32, 4, 1), (3, 1, 1), off=2))


def test_blocks_of_code() -> None:
    """Executions by warps and by threads: a loop of `tx / 32 + 1` rounds."""
    made = device().compile(
        'extern "C" __global__ void k(float* a) { float x = 0; '
        "for (int i = 0; i <= threadIdx.x / 32; i++) x += a[i * 7]; a[threadIdx.x] = x; }"
    )
    recording = CounterRecorder()
    array = device().zeros(256)
    made.record(recording, 5, 100, (array,))
    sites = {s.access.action: s.counts["global"] for s in recording.sites() if s.counts["global"].executions}
    assert sites["writes"].executions == 5 * 4
    assert sites["writes"].threads == 5 * 100
    blocks = recording.blocks()
    assert blocks[0, :2].tolist() == [5 * 4, 5 * 100]
    assert blocks[:, 2].sum() == 0
    reads = [s for s in recording.sites() if s.access.action == "reads"]
    assert sum(s.counts["global"].threads for s in reads) == 5 * (32 * (1 + 2 + 3) + 4 * 4)


def test_an_instruction_under_a_predicate() -> None:
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
    recording = CounterRecorder()
    device().load_ptx(ptx).record(recording, 2, 128, (array, 70))
    read, written = (site.counts["global"] for site in recording.sites())
    assert read == Count(2 * 3, 2 * 70, 2 * (4 + 4 + 1), 2 * 3)
    assert written == Count(2 * 2, 2 * 58, 2 * (4 + 4), 2 * 2)
    assert recording.touched() == {array.allocation.address: (9, 8)}


def test_a_pointer_to_either_memory_counts_where_it_goes() -> None:
    made = device().compile(
        'extern "C" __global__ void k(float* g, float* out, int odd) { __shared__ float s[256];\n'
        "s[threadIdx.x] = 1; __syncthreads();\n"
        "const float* p = (int)(threadIdx.x & 1) == odd ? s + 32 * threadIdx.x % 256 : g + 3 * threadIdx.x;\n"
        "out[threadIdx.x] = *p; }"
    )
    array, out = device().zeros(256), device().zeros(64)
    recording = CounterRecorder()
    made.record(recording, 1, 64, (array, out, 1))
    (site,) = [s for s in recording.sites() if s.access.space == "generic"]
    even = np.arange(0, 32, 2)
    per_warp = len({12 * lane // 32 for lane in even}), len({12 * (32 + lane) // 32 for lane in even})
    assert site.counts["global"] == Count(2, 32, sum(per_warp), 2)
    # Odd lanes: words 32, 96, 160 and 224, all in bank 0.
    assert site.counts["shared"] == Count(2, 32, 2 * 4, 2)


def test_the_plain_code_counts_with_the_other() -> None:
    """An index that wraps around between active lanes goes on in the plain code, in the midst of a block."""
    made = device().compile(
        'extern "C" __global__ void k(const float* a, float* out, unsigned start) {\n'
        "const float x = a[threadIdx.x];\n"
        "const unsigned i = start + threadIdx.x;\n"
        "out[(i >> 28) * 64 + threadIdx.x] = x + a[i % 64]; }"
    )
    for start in (5, 0xFFFF_FFF0):
        array, out = device().zeros(256), device().zeros(2048)
        recording = CounterRecorder()
        made.record(recording, 4, 32, (array, out, np.uint32(start)))
        sites = recording.sites()
        assert len({s.access.line for s in sites}) == 2
        for site in sites:
            assert (site.counts["global"].executions, site.counts["global"].threads) == (4, 128)
        (store,) = [s for s in sites if s.access.action == "writes"]
        i = (start + np.arange(32)) % 2**32
        assert store.counts["global"].units == 4 * len(set(((i >> 28) * 64 + np.arange(32)) * 4 // 32))


def test_only_the_blocks_that_were_asked_for() -> None:
    places = [Place("bx * 8 + tx % 8")]
    order = np.array([1, 5, 6], np.int64)
    recording, array = run(places, Launch(4, (32, 1, 1), (9, 1, 1)), order)
    assert by_line(recording)[2].counts["global"] == Count(3, 96, 3, 3)
    assert recording.touched()[array.allocation.address] == (3, 0)
    assert by_line(recording)[2].first.block in (1, 5, 6)  # type: ignore[union-attr]


def test_the_pictures_of_the_first_access_and_of_the_worst() -> None:
    places = [Place("tx * bx"), Place("tx * bx * 4", "s")]
    recording, array = run(places, Launch(4, (32, 1, 1), (4, 1, 1)))
    base = array.allocation.address
    there, shared = by_line(recording)[2], by_line(recording)[3]
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


def test_matrices_are_loaded_by_rows_of_sixteen_bytes() -> None:
    made = device().compile(
        'extern "C" __global__ void k(int* out, int pitch) { __shared__ __align__(16) char s[8192];\n'
        "for (int i = threadIdx.x; i < 8192; i += 32) s[i] = i;\n"
        "__syncthreads(); unsigned a, b, c, d;\n"
        "unsigned p = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * pitch);\n"
        'asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"'
        ' : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(p));\n'
        "out[threadIdx.x] = a + b + c + d; }"
    )
    for pitch, wavefronts_each in ((16, 1), (128, 8), (144, 1), (32, 2)):
        recording = CounterRecorder()
        made.record(recording, 1, 32, (device().zeros(32, np.int32), pitch))
        (site,) = [s for s in recording.sites() if s.access.opcode.startswith("ldmatrix")]
        assert site.counts["shared"] == Count(1, 32, 4 * wavefronts_each, 4)


@pytest.mark.parametrize("waits", ["", "__syncthreads();"])
def test_rounds_of_a_loop_in_groups(waits: str) -> None:
    """Of n rounds in a row, every second and every fourth; also where the warp waits in the loop."""
    rounds = "n" if waits else "n + threadIdx.x % 4"
    made = device().compile(
        'extern "C" __global__ void k(float* a, int n) { float x = 0;\n'
        f"#pragma unroll 1\nfor (int i = 0; i < {rounds}; i++) {{ {waits} x += a[i * 7]; {waits} }}\n"
        "a[threadIdx.x] = x; }"
    )
    for n in (1, 2, 3, 4, 7, 9):
        recording = CounterRecorder()
        made.record(recording, 3, 64, (device().zeros(512), n))
        each = n + (0 if waits else 1) * np.arange(64) % 4
        ((head, found),) = recording.rounds().items()
        assert recording.blocks()[head, 1] == 3 * each.sum()
        for group in (2, 4):
            most = each.max() // group
            first = (each >= group).sum()
            assert found[group] == (6 * most, 3 * (each // group).sum(), 6 * (most > 0), 3 * first)
