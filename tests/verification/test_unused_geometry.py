"""Warnings about numbers of a header that a kernel does not use."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.verification.check import check_cell, load_cell
from gpulab.verification.unused_geometry import unused_geometry

STENCIL = """// %%cuda stencil.naive {options}
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (i < 1 || j < 1 || i > nx - 2 || j > ny - 2) return;
    for (int k = 1; k < nz - 1; k++) {{
        int p = i + nx * (j + ny * k), f = nx * ny;
        Anext[p] = A0[p - 1] + A0[p + 1] + A0[p - nx] + A0[p + nx] + A0[p - f] + A0[p + f]
                 - 6.0f * A0[p] / (fac * fac);
    }}
}}"""
PRODUCT = """// %%cuda matmul.K1 {options}
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = {j};
    float sum = 0.0f;
    {pragma}
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}}"""


def warnings(text: str) -> tuple[str, ...]:
    cell = parse_cell(text)
    return unused_geometry(cell, load_cell(cell, gpulab.device("sim")))


@pytest.mark.parametrize("options", ["--block 32 8", "--block 16 16 --tile 1 1 0", "--block 32 1"])
def test_kernel_that_uses_its_header_has_no_warning(options: str) -> None:
    assert warnings(STENCIL.format(options=options)) == ()


def test_blocks_that_all_compute_the_same_are_named() -> None:
    (warning,) = warnings(STENCIL.format(options="--block 32 8 --tile 1 1 1"))
    assert "does not use blockIdx.z, and the grid has 512 blocks along z" in warning
    assert "0 as the z of --tile" in warning


def test_threads_that_all_compute_the_same_are_named() -> None:
    (warning,) = warnings(PRODUCT.format(options="--block 64 4", j="blockIdx.y", pragma=""))
    assert "does not use threadIdx.y, and a block has 4 threads along y" in warning


def test_atomic_operations_can_distribute_the_work() -> None:
    text = PRODUCT.format(options="--block 64 4", j="blockIdx.y + 0 * atomicAdd((int*)a, 0)", pragma="")
    assert warnings(text) == ()


@pytest.mark.parametrize(
    ("options", "pragma", "words"),
    [
        ("--block 64 --tile 1 1 8", "", "the z of --tile, 8, has no effect"),
        ("--block 64 --tile 1 1 8", "#pragma unroll TILE_Z", ""),
        ("--block 64", "", ""),
        ("--block 64 --tile 2", "", ""),  # it changes the grid
    ],
)
def test_tile_without_an_effect_is_named(options: str, pragma: str, words: str) -> None:
    found = warnings(PRODUCT.format(options=options, j="blockIdx.y", pragma=pragma))
    assert len(found) == bool(words)
    assert words in "".join(found)


@pytest.mark.parametrize(
    ("options", "index", "number"),
    [
        ("--tile 4 1", "0", 1),
        ("--block 32 --tile 4", "0", 1),
        ("--tile 4", "TILE_X", 0),
        ("--block 8", "0", 0),
    ],
)
def test_tile_of_a_plain_cell_is_for_its_macros(options: str, index: str, number: int) -> None:
    text = f"// %%cuda k {options}\n__global__ void k(float* x) {{ x[threadIdx.x + {index}] = 0; }}"
    if "TILE_X" in text:
        text = text.replace("--tile", "--block 8 --tile")
    assert len(warnings(text)) == number


def test_warning_is_part_of_the_result() -> None:
    text = PRODUCT.format(options="--block 64 --tile 1 1 8", j="blockIdx.y", pragma="")
    assert check_cell(parse_cell(text), gpulab.device("sim")).warnings[-1].startswith("the z of --tile")


def test_one_point_of_a_thread_in_place_of_its_tile_is_named() -> None:
    result = check_cell(parse_cell(STENCIL.format(options="--block 32 8 --tile 2 1 0")), gpulab.device("sim"))
    assert any("each thread computes one point along x, but --tile gives it 2" in r for r in result.reasons)
