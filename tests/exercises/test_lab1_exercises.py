"""The right answers of lab 1's exercises, compared with counts of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.exercises.lab1_exercises import IDLE_THREADS

COUNTING = """
__global__ void count(float* has, float* writes, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny) has[x + nx * y] = 1.0f;
    if (0 < x && x < nx - 1 && 0 < y && y < ny - 1) writes[x + nx * y] = 1.0f;
}"""


@pytest.mark.parametrize("student", ["ada", "bob"])
def test_idle_threads_are_those_that_a_kernel_counts(student: str) -> None:
    task, dev = IDLE_THREADS.draw(student), gpulab.device("sim")
    nx, ny = task.nx, task.ny
    grid, has, writes = (-(-nx // 32), -(-ny // 8)), dev.zeros((ny, nx)), dev.zeros((ny, nx))
    dev.compile(COUNTING, "count")(grid, (32, 8), [has, writes, np.int32(nx), np.int32(ny)])
    threads, points, writing = grid[0] * grid[1] * 256, *(int(dev.asnumpy(a).sum()) for a in (has, writes))
    assert IDLE_THREADS.right(task) == {
        "blocks": grid[0] * grid[1],
        "threads": threads,
        "no_point": threads - points,
        "writing": writing,
        "idle_percent": pytest.approx(100 - 100 * writing / threads),
    }
