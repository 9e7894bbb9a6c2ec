"""The right answers of lab 2's exercises, compared with counters, occupancy and the simulator's memcheck."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import gpulab
from gpulab.exercises import kernel_exercises
from gpulab.exercises.lab2_exercises import (
    CASE,
    COLUMNS,
    COUNTS,
    DEPTH,
    H200_MS,
    OCCUPANCY,
    OUTSIDE,
    ROUND,
    ROWS,
    SHARED_STRIP,
    TRAFFIC,
    UNROLLING,
    right_bound,
)
from gpulab.exercises.number_exercise import ExerciseTask
from gpulab.problems import problem
from gpulab.problems.published import rows

PRODUCT = """
__global__ void product(const Word* b, const Word* c, Word* a, int n, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    Word sum = 0;
    for (int k = 0; k < p; ++k)
        sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""
CASE_KERNEL = """
__global__ void row_major(float* C, const float* A, const float* B, int rows, int columns, int depth)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < depth; ++k)
        sum += A[y * depth + k] * B[k * rows + x];
    C[y * columns + x] = sum;
}
"""


def sectors_in_a_step(word: int, block: tuple[int, int], depth: int = 32) -> float:
    """Count the sectors that a warp loads in one step of k."""
    device, dtype = gpulab.device("sim"), {4: np.float32, 8: np.float64}[word]
    kernel = device.compile(PRODUCT, "product", {"Word": {4: "float", 8: "double"}[word]})
    n, m = block[0] * 2, block[1] * 2
    arrays = [device.zeros(size, dtype) for size in (n * depth, m * depth, n * m)]
    counted = gpulab.counters(kernel, (2, 2), block, (*arrays, np.int32(n), np.int32(depth)))
    return counted.global_load_sectors / 4 / depth  # four blocks of one warp


@pytest.mark.parametrize("task", [ExerciseTask(word=4, by=8, bx=2), ExerciseTask(word=8, by=24, bx=16)])
def test_traffic_equals_the_counters(task: ExerciseTask) -> None:
    blocks = {"Ks": (1, task.by), "K1": (32, 1), "block": (task.bx, 32 // task.bx)}
    counted = {name: sectors_in_a_step(task.word, block) for name, block in blocks.items()}
    assert TRAFFIC.right(task) == counted


def test_counts_equal_those_of_the_problem() -> None:
    matmul, task = problem("matmul"), ExerciseTask(n=1024, m=2048, p=1280)
    shape = (task.n, task.m, task.p)
    right = COUNTS.right(task)
    assert (right["flops"], right["bytes"]) == (matmul.flops(shape), matmul.compulsory_bytes(shape))


@pytest.mark.parametrize("number", range(8))
def test_resident_warps_equal_the_occupancy(number: int) -> None:
    task = OCCUPANCY.draw(f"student {number}")
    spec = gpulab.gpu(task.gpu)
    for name, warps in OCCUPANCY.right(task).items():
        found = gpulab.occupancy(spec, vars(task)[name], registers=0, shared_bytes=0)
        assert warps == found.warps_per_sm, (task, name)


def test_bounds_of_the_lecture_are_those_that_it_printed() -> None:
    printed = {row.variant: row.bound_gflops for row in rows("gtx280_lecture")}
    right = right_bound(ExerciseTask(gb_s=141.7, group=16, tile=16))
    assert right["K1 bound"] == pytest.approx(printed["K1"], rel=0.005)
    assert right["tile bound"] == pytest.approx(printed["K5"], rel=0.005)


def test_case_reads_what_the_exercise_says() -> None:
    device = gpulab.device("sim")
    a, c = device.zeros((ROWS, DEPTH)), device.zeros((ROWS, COLUMNS))
    kernel = device.compile(CASE_KERNEL, "row_major")
    right = CASE.right(ExerciseTask())

    host = np.zeros((DEPTH, COLUMNS), np.float32)
    host[int(right["row"]), int(right["column"])] = 1  # the element that round k reads
    a_host = np.zeros((ROWS, DEPTH), np.float32)
    a_host[:, ROUND] = 1
    larger = np.zeros((DEPTH * ROWS // COLUMNS + 1, COLUMNS), np.float32)  # so that every read is inside
    larger[: len(host)] = host
    sizes = [np.int32(size) for size in (ROWS, COLUMNS, DEPTH)]
    grid, block = (COLUMNS // 16, ROWS // 16), (16, 16)
    kernel(grid, block, (c, device.asarray(a_host), device.asarray(larger), *sizes))
    assert device.asnumpy(c)[0, 0] == 1

    assert right["outcome"] == OUTSIDE
    (finding, *_) = gpulab.sanitize(kernel, grid, block, (c, a, device.asarray(host), *sizes))
    assert finding.tool == "memcheck"


def test_truths_answer_every_question() -> None:
    for exercise in (SHARED_STRIP, UNROLLING):
        assert exercise.truth("matmul").keys() == {quantity.name for quantity in exercise.quantities}


def test_rolled_strip_is_slower_than_the_kernel_before_it() -> None:
    assert SHARED_STRIP.truth("matmul")["h200"].text.startswith("slower")
    assert H200_MS["K2, 64 threads, unrolled by 4"] < H200_MS["K1, 64 threads"]


@pytest.mark.parametrize("seed", range(8))
def test_sizes_of_row_major_tell_each_extent_from_each_other_one(seed: int) -> None:
    cases = kernel_exercises()["row_major"].cases(np.random.default_rng(seed))
    extents = [case.args[3:6] for case in cases]
    orders = {(i, j) for shape in extents for i, j in permutations(range(3), 2) if shape[i] < shape[j]}
    assert orders == set(permutations(range(3), 2))
