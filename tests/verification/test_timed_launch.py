"""Sampled blocks at the size that is timed: kernels that are wrong there only, and unusual right ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.config import LaunchConfig
from gpulab.problems.base import Shape
from gpulab.verification.check import CheckResult, check_cell
from gpulab.verification.partial_launch import PartialLaunch
from gpulab.verification.timed_launch import TimedInputs, compare_timed_launch
from gpulab.verification.verdict import ShapeResult

STENCIL_SIZE, MATMUL_SIZE = (160, 128, 64), (384, 320, 192)  # larger than any size of the check
SEEDS = range(3)

STENCIL = """// %%cuda stencil.{header}
extern "C" __global__ void block2D_{variant}(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const bool large = nx > 150;
    const int i = {i}, j = {j};
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1, f = nx * ny;
    const bool inside = i < nx && j < ny, inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    {before}
    for (int k = {first}; k < {last}; ++k) {{
        const int c = i + nx * j + f * k;
        if (inside) tile[ty][tx] = A0[c];
        if (inner) {{
            if (tx == 1) tile[ty][0] = A0[c - 1];
            if (tx == BLOCK_X) tile[ty][tx + 1] = A0[c + 1];
            if (ty == 1) tile[0][tx] = A0[c - nx];
            if (ty == BLOCK_Y) tile[ty + 1][tx] = A0[c + nx];
        }}
        __syncthreads();
        if (inner)
            Anext[c] = A0[c - f] + A0[c + f] + tile[ty - 1][tx] + tile[ty + 1][tx]
                     + tile[ty][tx - 1] + tile[ty][tx + 1] - {weight} * tile[ty][tx] / (fac * fac);
        {after}
        __syncthreads();
    }}
}}"""

MATMUL = """// %%cuda matmul.K5 --block 16 16
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{{
    __shared__ float bt[16][16], ct[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const bool large = n > 300;
    const int number = blockIdx.x + gridDim.x * blockIdx.y;
    const int i = {column} * 16 + tx, j = {row} * 16 + ty;
    float sum = 0.0f;
    {before}
    for (int k = 0; k < {last}; k += 16) {{
        bt[ty][tx] = {load};
        ct[ty][tx] = c[k + tx + p * j];
        __syncthreads();
        for (int q = 0; q < 16; ++q) sum += bt[q][tx] * ct[ty][q];
        __syncthreads();
    }}
    {store}
}}"""


def stencil(header: str = "opt_1 --block 32 8", **parts: str) -> str:
    values = {
        "i": "blockIdx.x * BLOCK_X + threadIdx.x",
        "j": "blockIdx.y * BLOCK_Y + threadIdx.y",
        "before": "",
        "first": "1",
        "last": "nz - 1",
        "weight": "6.0f",
        "after": "",
    }
    return STENCIL.format(header=header, variant=header.split(maxsplit=1)[0], **values | parts)


def matmul(**parts: str) -> str:
    values = {
        "column": "blockIdx.x",
        "row": "blockIdx.y",
        "before": "",
        "last": "p",
        "load": "b[i + n * (k + ty)]",
        "store": "a[i + n * j] = sum;",
    }
    return MATMUL.format(**values | parts)


def size_of(text: str) -> Shape:
    return STENCIL_SIZE if "stencil" in text else MATMUL_SIZE


def checked(text: str, *shapes: Shape) -> CheckResult:
    """Check a kernel on the problem's sizes, and a sample of its blocks at other sizes."""
    inputs = TimedInputs(shapes, seed=1)
    return check_cell(parse_cell(text, "kernel.cu"), gpulab.device("sim"), seed=1, timed=inputs)


def compared(text: str, seeds: Iterable[int] = (1,)) -> list[ShapeResult]:
    """Check a kernel, which must be correct on the problem's sizes, and compare samples of a large launch."""
    result = checked(text)
    assert result.correct, result.reasons
    assert result.count is not None
    launch = result.count.launch.config.at(size_of(text))
    return [compare_timed_launch(result.count, launch, np.random.default_rng(seed)) for seed in seeds]


ALL_POINTS = """// %%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int mx = nx - 2, my = ny - 2, threads = gridDim.x * gridDim.y * BLOCK_X * BLOCK_Y, f = nx * ny;
    const int first = threadIdx.x + BLOCK_X * (threadIdx.y + BLOCK_Y * (blockIdx.x + gridDim.x * blockIdx.y));
    for (int q = first; q < mx * my * (nz - 2); q += threads) {
        const int c = q % mx + 1 + nx * (q / mx % my + 1) + f * (q / mx / my + 1);
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - f] + A0[c + f]
                 - 6.0f * A0[c] / (fac * fac);
    }
}"""
RIGHT = {
    "a tile in shared memory": stencil(),
    "a loop over all points with the stride of the grid": ALL_POINTS,
    "z in parts": stencil(
        "opt_1 --block 32 8 --tile 1 1 16",
        first="max(1, (int)blockIdx.z * TILE_Z)",
        last="min(nz - 1, ((int)blockIdx.z + 1) * TILE_Z)",
    ),
    "blocks that begin at the first inner point": stencil(
        i="1 + blockIdx.x * BLOCK_X + threadIdx.x", j="1 + blockIdx.y * BLOCK_Y + threadIdx.y"
    ),
    "blocks in another order": stencil(
        i="(blockIdx.x + gridDim.x * blockIdx.y) / gridDim.y * BLOCK_X + threadIdx.x",
        j="(blockIdx.x + gridDim.x * blockIdx.y) % gridDim.y * BLOCK_Y + threadIdx.y",
    ),
    "a block with more threads than rows": stencil("opt_1 --block 24 5"),
    "only one block of z works": stencil("opt_1 --block 32 8 --tile 1 1 8", before="if (blockIdx.z) return;"),
    "points stored twice": stencil(after="if (inner) Anext[c] = Anext[c];"),
    "a tile of b and of c": matmul(),
    "columns of blocks": matmul(column="number / gridDim.y", row="number % gridDim.y"),
    "blocks from the last to the first": matmul(column="(gridDim.x - 1 - blockIdx.x)"),
    "sums that are added atomically": matmul(store="a[i + n * j] = 0; atomicAdd(&a[i + n * j], sum);"),
}


def reserved_bytes() -> int:
    """Return the private memory that this process has reserved, which the judge of a submission limits."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kibibytes,) = (int(line.split()[1]) for line in lines if line.startswith("VmData:"))
    return kibibytes << 10


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_launch_reserves_memory_for_each_array_once() -> None:
    count = checked(stencil()).count
    assert count is not None
    launch = count.launch.config.at((512, 512, 512))
    before = reserved_bytes()
    partial = PartialLaunch(count, launch, np.random.default_rng(1))
    assert reserved_bytes() - before < 2.5 * partial.output.nbytes


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_right_kernel_is_correct_for_every_sample(text: str) -> None:
    for result in compared(text, SEEDS):
        assert result.correct, result.reasons


WRONG = {
    "returns": (stencil(before="if (large) return;"), "no block writes"),
    "leaves out the last frame": (stencil(last="nz - 1 - large"), "no block writes"),
    "leaves out half of the blocks": (
        stencil(before="if (large && blockIdx.x % 2) return;"),
        "no block writes",
    ),
    "leaves out far blocks": (stencil(before="if (blockIdx.y > 10) return;"), "no block writes"),
    "leaves out blocks in another order": (
        matmul(
            column="number / gridDim.y",
            row="number % gridDim.y",
            before="if (large && number % 3 == 0) return;",
        ),
        "no block writes",
    ),
    "has another weight": (stencil(weight="(large ? 5.99f : 6.0f)"), "is wrong"),
    "copies the input": (stencil(after="if (inner && large) Anext[c] = tile[ty][tx];"), "is wrong"),
    "writes the boundary": (stencil(after="if (large && inside && !inner) Anext[c] = 0;"), "boundary"),
    "writes points of other blocks": (
        stencil(after="if (large && inner && i + 64 < nx - 1) Anext[c + 64] = 1;"),
        "is wrong",
    ),
    "writes the input": (
        stencil(after="if (large && inner) ((float*)A0)[c] = tile[ty][tx];"),
        "stores to the input A0",
    ),
    "reads past the end": (stencil(after="if (large && A0[f * nz + i] > 2) Anext[c] = 0;"), "past the end"),
    "does not end": (stencil(after="if (large) k -= 1;"), "instructions"),
    "sums over half of k": (matmul(last="(large ? p / 2 : p)"), "is wrong"),
    "sums in lower precision": (
        matmul(load="__int_as_float(__float_as_int(b[i + n * (k + ty)]) & (large ? 0xffffe000 : -1))"),
        "is wrong",
    ),
    "stores half of the values": (matmul(store="if (!large || ty < 8) a[i + n * j] = sum;"), "no block"),
    "stores the transpose": (
        matmul(store="a[large && i < m && j < n ? j + n * i : i + n * j] = sum;"),
        "is wrong",
    ),
}


@pytest.mark.parametrize(("text", "reason"), WRONG.values(), ids=WRONG)
def test_kernel_that_is_wrong_at_large_sizes_is_found(text: str, reason: str) -> None:
    (result,) = compared(text)
    assert not result.correct
    assert reason in " ".join(result.reasons)


def test_reason_names_size_and_point() -> None:
    (result,) = compared(stencil(last="nz - 1 - large"))
    assert result.first is not None
    z, y, x = result.first.index
    assert z == STENCIL_SIZE[2] - 2
    assert f"160x128x64: no block writes the point (z={z}, y={y}, x={x})" in result.reasons[0]


def test_reason_of_a_wrong_value_has_both_values() -> None:
    (result,) = compared(stencil(weight="(large ? 0.0f : 6.0f)"))
    assert result.first is not None
    assert f"expected {result.first.expected:.6g}, got {result.first.got:.6g}" in result.reasons[0]


def test_fault_names_points_that_are_stored_repeatedly() -> None:
    store = "for (int r = 0; r < 4; ++r) ((volatile float*)a)[i + n * j] = sum;"
    (result,) = compared(matmul(store=f"{store} if (large) __trap();"))
    assert "each point is stored 4 times" in result.fault


def test_fault_without_repeated_stores_names_none() -> None:
    (result,) = compared(matmul(store="a[i + n * j] = sum; if (large) __trap();"))
    assert "stored" not in result.fault


def test_check_of_a_cell_compares_a_timed_launch() -> None:
    result = checked(stencil(before="if (large) return;"), STENCIL_SIZE)
    assert not result.correct
    assert "at a size that is timed, 160x128x64" in result.reasons[0]


def test_size_that_cannot_be_launched_is_left_out() -> None:
    assert checked(stencil(), (40, 524_289 * 4, 3)).correct  # more blocks in y than a grid has


def test_size_with_too_much_work_for_a_column_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []

    def record(count: object, launch: LaunchConfig, rng: object) -> ShapeResult:
        shapes.append(launch.shape)
        return ShapeResult(launch.shape, correct=True)

    monkeypatch.setattr("gpulab.verification.timed_launch.compare_timed_launch", record)
    monkeypatch.setattr("gpulab.verification.timed_launch.LARGEST_COLUMN", 32 * 8 * 16)
    assert checked(stencil(), (160, 128, 64), (160, 128, 15)).correct
    assert shapes == [(160, 128, 16), (160, 128, 15)]
