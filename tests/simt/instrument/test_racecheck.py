"""Tests of race detection on random programs against the definition of a race.

A program is a sequence of accesses to one shared array, by all or some threads, with `__syncthreads()` and
`__syncwarp()` between some of them. Two accesses of a cell by two threads race if one of them is a write and
they are not separated by a `__syncthreads()` or, for lanes of one warp, by a `__syncwarp()`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device

CELLS = 160


@cache
def simulator() -> Device:
    return gpulab.device("sim")


@dataclass(frozen=True)
class Step:
    """A step of the threads from `low` to below `high`.

    Attributes
    ----------
    action : str
        "read", "write", or a barrier: "block" or "warp".
    form : str
        The cells that the threads access: "row" (neighbouring cells), "column" (neighbouring cells, by
        `threadIdx.x`), "one" (the same cell) or "any".
    low, high : int
        The threads that access cells.
    count, distance : int
        Number of cells that each thread accesses, and their distance: those of an unrolled loop.
    width : int
        For "column", the block's extent along x.
    """

    action: str
    form: str = ""
    offset: int = 0
    low: int = 0
    high: int = 0
    count: int = 1
    distance: int = 0
    width: int = 0

    def cells(self, thread: int, table: np.ndarray) -> list[int]:
        first = self.cell(thread, table)
        return [first + number * self.distance for number in range(self.count)]

    def cell(self, thread: int, table: np.ndarray) -> int:
        if self.form == "row":
            return thread + self.offset
        if self.form == "column":
            return thread % self.width + self.offset
        return self.offset if self.form == "one" else int(table[thread + self.offset])

    def text(self, number: int) -> str:
        if self.action in ("block", "warp"):
            return {"block": "__syncthreads();", "warp": "__syncwarp();"}[self.action]
        place = {
            "row": f"t + {self.offset}",
            "column": f"threadIdx.x + {self.offset}",
            "one": f"{self.offset}",
            "any": f"table[t + {self.offset}]",
        }
        cell = f"s[{place[self.form]}]"
        if self.count > 1:
            cell = f"s[{place[self.form]} + i * {self.distance}]"
            return f'_Pragma("unroll") for (int i = 0; i < {self.count}; ++i) sum += (i + 1) * {cell};'
        act = f"sum += {cell};" if self.action == "read" else f"{cell} = 1000 * t + {number};"
        return f"if (t >= {self.low} && t < {self.high}) {act}"


def program(rng: np.random.Generator, threads: int, unrolled: float = 0, width: int = 0) -> list[Step]:
    """Return a random program; `unrolled` is the share of reads that are unrolled loops.

    With a `width`, these read columns of a block of this extent along x.
    """
    steps = []
    for _ in range(int(rng.integers(2, 9))):
        action = str(rng.choice(["read", "write", "block", "warp"], p=[0.34, 0.26, 0.26, 0.14]))
        if action in ("block", "warp"):
            steps.append(Step(action))
            continue
        if unrolled and action == "read" and rng.random() < unrolled:
            form, offset = str(rng.choice(["row", "one"])), int(rng.integers(0, 24))
            if width:
                count, distance = ((4, 16), (3, 32), (5, 16), (2, 40), (6, 8))[int(rng.integers(5))]
                steps.append(Step(action, "column", offset, 0, threads, count, distance, width))
                continue
            count, distance = ((4, 1), (7, 1), (8, 5), (16, 1), (32, 1), (5, 3))[int(rng.integers(6))]
            steps.append(Step(action, form, offset, 0, threads, count, distance))
            continue
        form = str(rng.choice(["row", "one", "any"], p=[0.45, 0.2, 0.35]))
        low, high = (0, threads)
        if rng.random() < 0.4:
            low, high = sorted(int(x) for x in rng.integers(0, threads + 1, 2))
        if form == "one" and action == "write" and rng.random() < 0.7:
            high = min(low + 1, threads)
        steps.append(Step(action, form, int(rng.integers(0, 24)) * int(rng.random() < 0.5), low, high))
    return steps


def has_race(steps: list[Step], threads: int, table: np.ndarray) -> bool:
    """Apply the definition of a race to every pair of accesses; the threads are in blocks of `threads`."""
    accesses_of: dict[int, list[tuple[int, bool, int, int]]] = {}
    block_barriers = warp_barriers = 0
    for step in steps:
        block_barriers += step.action == "block"
        warp_barriers += step.action in ("block", "warp")
        for thread in range(step.low, step.high):
            access = (thread, step.action == "write", block_barriers, warp_barriers)
            for cell in step.cells(thread, table):
                accesses_of.setdefault(cell, []).append(access)
    return any(
        a != b
        and (wa or wb)
        and (a // threads != b // threads or (ba == bb if a // 32 != b // 32 else la == lb))
        for accesses in accesses_of.values()
        for (a, wa, ba, la), (b, wb, bb, lb) in itertools.combinations(accesses, 2)
    )


@pytest.mark.parametrize("unrolled", [0, 0.9])
@pytest.mark.parametrize("seed", [*range(60), 1353])
def test_races_are_found_exactly_where_the_definition_has_one(seed: int, unrolled: float) -> None:
    rng = np.random.default_rng(seed)
    block = [(96, 1), (64, 1), (16, 6), (8, 8), (32, 3)][seed % 5]
    threads = block[0] * block[1]
    table = (rng.permutation(CELLS) if rng.random() < 0.7 else rng.integers(0, CELLS, CELLS)).astype(np.int32)
    check_shared_program(program(rng, threads, unrolled), block, table)


def check_shared_program(steps: list[Step], block: tuple[int, int], table: np.ndarray) -> None:
    """Compare the findings on a program with the definition of a race."""
    threads = block[0] * block[1]
    lines = "\n    ".join(step.text(number) for number, step in enumerate(steps))
    source = f"""extern "C" __global__ void k(const int* table, int* out) {{
    __shared__ int s[{CELLS}];
    int t = threadIdx.y * blockDim.x + threadIdx.x, sum = 0;
    for (int i = t; i < {CELLS}; i += {threads}) s[i] = i;
    __syncthreads();
    {lines}
    __syncthreads();  // all cells are read, so that the compiler keeps every write
    for (int i = t; i < {CELLS}; i += {threads}) sum += s[i];
    out[t] = sum;
}}"""
    device = simulator()
    found = gpulab.sanitize(
        device.compile(source),
        1,
        block,
        (device.asarray(table.astype(np.int32)), device.empty(threads, np.int32)),
    )
    assert {f.tool for f in found} <= {"racecheck"}
    assert bool(found) == has_race(steps, threads, table), f"{source}\n{[str(f) for f in found]}"


@pytest.mark.parametrize("seed", range(20))
def test_races_with_unrolled_reads_of_one_row_by_all_warps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    block = [(16, 6), (8, 8), (32, 3), (16, 4), (32, 2)][seed % 5]
    check_shared_program(program(rng, block[0] * block[1], 0.9, block[0]), block, np.arange(CELLS))


@pytest.mark.parametrize("seed", range(20))
def test_races_in_global_memory_that_warps_write_in_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    threads, blocks = 64, 2
    table = rng.permutation(CELLS).astype(np.int32)
    steps = program(rng, threads * blocks)
    lines = "\n    ".join(step.text(number) for number, step in enumerate(steps))
    source = f"""extern "C" __global__ void k(const int* table, int* out, int* s) {{
    int t = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    {lines}
    out[t] = sum;
}}"""
    device = simulator()
    out, cells = (
        device.empty(threads * blocks, np.int32),
        device.asarray(-1 - np.arange(CELLS, dtype=np.int32)),
    )
    found = gpulab.sanitize(device.compile(source), blocks, threads, (device.asarray(table), out, cells))
    assert {f.tool for f in found} <= {"racecheck"}
    assert bool(found) == has_race(steps, threads, table), f"{source}\n{[str(f) for f in found]}"


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("x[i] = i;", set()),
        ("x[i] = i; if (t == 0) x[i + 1] = 7;", {"write_after_write"}),
        ("x[i] = i; __syncthreads(); if (t == 0) x[i + 1] = 7;", set()),
        ("x[i] = i; y[i] = x[i ^ 1];", {"read_after_write"}),
        ("x[i] = i; __syncwarp(); y[i] = x[i ^ 1];", set()),
        ("x[i] = i; y[i] = x[t];", {"read_after_write"}),
        ("if (t != 3) x[i] = i; y[i] = x[i];", {"uninitialized_read"}),
        ("if (t < 16) x[i] = i; else x[i] = i + 1; if (t == 40) x[5] = 1;", {"write_after_write"}),
    ],
)
def test_writes_of_whole_rows_to_global_memory(body: str, kinds: set[str]) -> None:
    device = simulator()
    kernel = device.compile(f"""extern "C" __global__ void k(int* x, int* y) {{
        int t = threadIdx.x, i = blockIdx.x * 64 + t; {body} }}""")
    found = gpulab.sanitize(kernel, 2, 64, (device.empty(192, np.int32), device.empty(128, np.int32)))
    assert {finding.kind for finding in found} == kinds


def test_elements_that_no_warp_wrote_remain_uninitialized() -> None:
    device = simulator()
    module = device.module("""
        __global__ void fill(int* x) { if (threadIdx.x != 70) x[threadIdx.x] = 1; }
        __global__ void copy(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }""")
    x, y = device.empty(96, np.int32), device.empty(96, np.int32)
    assert not gpulab.sanitize(module.get_function("fill"), 1, 96, (x,))
    (finding,) = gpulab.sanitize(module.get_function("copy"), 1, 96, (x, y))
    assert (finding.kind, finding.thread) == ("uninitialized_read", (70, 0, 0))


def test_line_of_uninitialized_reads_is_checked_for_a_while_only() -> None:
    kernel = simulator().compile("""__global__ void k(float* y) {
        __shared__ float s[32];
        y[32 * blockIdx.x + threadIdx.x] = s[threadIdx.x];
        if (threadIdx.x == 99) s[0] = 1.0f;
    }""")
    (finding,) = gpulab.sanitize(kernel, 1000, 32, (simulator().zeros(32000),))
    assert (finding.kind, finding.count) == ("uninitialized_read", 32 * 200)


def test_random_programs_with_and_without_races_are_generated() -> None:
    kinds = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        block = [(96, 1), (64, 1), (16, 6), (8, 8), (32, 3)][seed % 5]
        permuted = rng.random()
        table = np.arange(CELLS) if permuted < 0.7 else rng.integers(0, CELLS, CELLS)
        threads = block[0] * block[1]
        kinds.append(has_race(program(rng, threads), threads, table))
    assert 15 < sum(kinds) < 45


@pytest.mark.slow
def test_arrays_whose_shadow_exceeds_the_limit_raise_a_launch_error() -> None:
    device = simulator()
    kernel = device.compile('extern "C" __global__ void k(char* x) { x[threadIdx.x] = 1; }')
    with pytest.raises(gpulab.LaunchError, match=r"\d+ GB"):
        gpulab.sanitize(kernel, 1, 32, (device.empty(1 << 29, np.int8),))


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("for (int k = 0; k < 4; ++k) s[k] = v + k; __syncthreads(); out[t] = s[t % 4];", set()),
        ("if (t < 32) s[0] = v; else s[0] = v + 1; __syncthreads(); out[t] = s[0];", {"write_after_write"}),
        (
            "s[0] = v; __syncthreads(); if (t < 32) out[t] = s[0]; else s[0] = v;",
            {"write_after_read"},
        ),
    ],
)
def test_writes_of_the_same_value_to_shared_memory(body: str, kinds: set[str]) -> None:
    device = simulator()
    source = f"__global__ void k(int* out, int v) {{ __shared__ int s[4]; int t = threadIdx.x; {body} }}"
    findings = gpulab.sanitize(device.compile(source), 1, 64, (device.zeros(64, np.int32), 7))
    assert {finding.kind for finding in findings} == kinds


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("s[t] = t; __syncthreads(); READ if (t == 40) s[5] = 3;", {"write_after_read"}),
        ("s[t] = t; __syncthreads(); READ __syncthreads(); if (t == 40) s[5] = 3;", set()),
        ("s[t] = t; __syncthreads(); READ READ if (t == 40) s[8] = 3;", set()),
        ("s[t] = t; __syncthreads(); if (t < 32) { READ if (t == 0) s[5] = 3; }", {"write_after_read"}),
        ("s[t] = t; READ", {"read_after_write"}),
        ("s[t] = t; __syncthreads(); if (t < 32) READ if (t == 7) s[5] = 3;", {"write_after_read"}),
        ("s[t] = t; __syncthreads(); if (t == 2) { READ s[5] = 3; }", set()),
        ("if (t != 5) s[t] = t; __syncthreads(); READ", {"uninitialized_read"}),
    ],
)
def test_reads_of_unrolled_loop(body: str, kinds: set[str]) -> None:
    device = simulator()
    read = '_Pragma("unroll") for (int i = 0; i < 8; ++i) sum += (i + 1) * s[i];'
    body = body.replace("READ", read)
    kernel = device.compile(f"""extern "C" __global__ void k(int* out) {{
        __shared__ int s[64];
        int t = threadIdx.x, sum = 0;
        {body}
        __syncthreads();
        out[t] = sum + s[t ^ 1]; }}""")
    found = gpulab.sanitize(kernel, 1, 64, (device.empty(64, np.int32),))
    assert {finding.kind for finding in found} == kinds
