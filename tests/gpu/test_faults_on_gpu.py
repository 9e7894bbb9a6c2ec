"""Faults on a GPU that cost this process neither its CUDA context nor any memory."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.config import defines
from gpulab.devices.base import Device
from gpulab.devices.device_process import end_processes
from gpulab.errors import LaunchError
from gpulab.problems import problem
from gpulab.verification.check import check_cell
from tests.kernel_configs import config

ROOT = Path(__file__).parents[2]

# Statements that fault on a GPU; `x` is an array of 256 floats, `i` the index of a thread.
FAULTS = {
    "write far outside": "x[(1LL << 40) + i] = 1.0f;",
    "read far outside": "x[i] = x[i - (1LL << 40)];",
    "null pointer": "((volatile float*)0)[i] = 1.0f;",
    "misaligned address": "*(volatile double*)((char*)x + 4) = 1.0;",
    "assertion": "assert(i != 255);",
    "trap": "__trap();",
}
ENDLESS = "while (((volatile float*)x)[0] < 1.0f) { }"
FREE_TOLERANCE = 64 << 20  # bytes that the driver keeps, or that another program allocates meanwhile

# At the problem's check sizes it is correct. At 512 only one block faults, which a sample may miss.
STENCIL = """// %%cuda stencil.naive --block 32 8 --tile 1 1
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    for (int k = 1; k < nz - 1; ++k) {
        int c = i + nx * (j + ny * k);
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - nx * ny] + A0[c + nx * ny]
            - 6.0f * A0[c] / (fac * fac);
    }
    if (nx == 512 && blockIdx.x == 7 && blockIdx.y == 9)
        Anext[(1LL << 40) + i] = 0.0f;
}
"""


def source(statement: str, line: int) -> str:
    """Return a kernel with a statement on the given line, which is at least 4."""
    head = "__global__ void k(float* x)\n{\n    int i = threadIdx.x;\n" + "\n" * (line - 4)
    return f"{head}    {statement}\n    x[i] += 1.0f;\n}}\n"


def free_memory(gpu: Device) -> int:
    gpu.free_unused_memory()
    return int(gpu.context.cupy.cuda.runtime.memGetInfo()[0])  # type: ignore[attr-defined]


def assert_memory_is_given_back(gpu: Device, before: int) -> None:
    """Compare the free memory with that before, unless other tests use the GPU at the same time."""
    end_processes()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        missing = before - free_memory(gpu)
        assert missing < FREE_TOLERANCE, f"{missing / 2**20:.0f} MiB are not given back"


def test_twenty_faults_in_a_row_are_reported_with_their_lines(gpu: Device) -> None:
    # Modules, and the memory that CUDA allocates with the first launch, belong to this process.
    statements = [*FAULTS.values()] * 3
    kernels = [gpu.compile(source(each, 4 + number)) for number, each in enumerate(statements)]
    stencil = config("stencil.naive", (32, 8, 1), (1, 1, 0))
    kernel = gpu.compile(STENCIL, defines=defines(stencil.block, stencil.tile))
    right = gpu.compile("__global__ void k(float* x) { x[threadIdx.x] += 1.0f; }")
    mine = gpu.asarray(np.arange(256, dtype=np.float32))
    right(1, 256, (mine,))
    x = gpu.zeros(256)
    end_processes()
    before = free_memory(gpu)

    for number, faulting in enumerate(kernels):
        with pytest.raises(LaunchError) as caught:
            gpulab.benchmark(faulting, 1, 256, (x,))
        assert caught.value.findings[0].line == 4 + number
        assert "not affected" in str(caught.value), "the kernel did not reach the GPU"
    for _ in range(2):
        with pytest.raises(LaunchError) as caught:
            gpulab.time_variant(kernel, stencil, shape=(512, 512, 512))
        assert caught.value.findings[0].line == 12
        assert "not affected" in str(caught.value), "the kernel did not reach the GPU"

    np.testing.assert_array_equal(gpu.asnumpy(mine), np.arange(1, 257))
    assert not gpu.asnumpy(x).any()
    right(1, 256, (mine,))
    np.testing.assert_array_equal(gpu.asnumpy(mine), np.arange(2, 258))
    assert gpulab.benchmark(right, 1, 256, (mine,)).median_ms > 0
    assert_memory_is_given_back(gpu, before)


def test_endless_kernel_is_stopped_and_its_line_is_reported(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpulab.profiling.benchmark.TIME_LIMIT_S", 10.0)
    x = gpu.zeros(256)
    with pytest.raises(LaunchError, match="did not end within") as caught:
        gpulab.benchmark(gpu.compile(source(ENDLESS, 6)), 1, 256, (x,))
    assert caught.value.findings[0].line == 6
    assert not gpu.asnumpy(x).any()


def test_check_of_a_faulting_cell_leaves_the_context(gpu: Device) -> None:
    wrong = STENCIL.replace("nx == 512 && blockIdx.x == 7 && blockIdx.y == 9", "nx > 0")
    result = check_cell(parse_cell(wrong), gpu)
    assert not result.correct
    assert result.findings[0].line == 12
    assert not gpu.asnumpy(gpu.zeros(4)).any()


def test_benchmark_has_the_variables_of_the_module_and_changes_no_array(gpu: Device) -> None:
    module = gpu.module(
        "__constant__ int far; __global__ void k(float* x) { x[threadIdx.x + ((long long)far << 40)] = 1; }"
    )
    x = gpu.zeros(64)
    kernel = module.get_function()
    assert gpulab.benchmark(kernel, 1, 32, (x[16:],)).median_ms > 0
    assert not gpu.asnumpy(x).any()
    module.set_global("far", 1)
    with pytest.raises(LaunchError):
        gpulab.benchmark(kernel, 1, 32, (x[16:],))


def test_verdict_of_a_worker_process_is_that_of_this_process(gpu: Device) -> None:
    stencil = config("stencil.naive", (32, 8, 1), (1, 1, 0))
    assert problem("stencil").name == stencil.problem.name
    kernel = gpu.compile(STENCIL, defines=defines(stencil.block, stencil.tile))
    assert gpulab.verify(kernel, stencil).correct


def test_call_on_the_users_arrays_says_what_to_restart() -> None:
    script = textwrap.dedent("""\
        import gpulab
        gpu = gpulab.device("cuda:0")
        kernel = gpu.compile("__global__ void k(float* x) { x[threadIdx.x + (1LL << 40)] = 1; }")
        x = gpu.zeros(32)
        for _ in range(2):
            try:
                kernel(1, 32, (x,))
            except gpulab.LaunchError as error:
                print(error)
        """)
    paths = os.pathsep.join([str(ROOT), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )
    if "no CUDA GPU" in ran.stderr:
        pytest.skip("a CUDA GPU is needed")
    assert ran.stdout.count("restart the Python kernel of the notebook") == 2, ran.stdout + ran.stderr
