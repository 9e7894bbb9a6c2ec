"""`gpulab.traffic_table`: requests and sectors of the kernels of a session."""

from __future__ import annotations

import pytest

import gpulab
from gpulab import session
from gpulab.cell import parse_cell
from gpulab.errors import UsageError
from tests.kernel_configs import run_in_session

ONE_OF_EACH = """%%cuda stencil.{variant} --block 32 4
__global__ void block2D_{variant}(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{{
    __shared__ float tile[128];
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int t = threadIdx.x + 32 * threadIdx.y;
    for (int z = 1; z < nz - 1; ++z) {{
        tile[t] = A0[x + nx * (y + ny * z)];
        __syncthreads();
        Anext[x + nx * (y + ny * z)] = tile[t ^ 1];
        __syncthreads();
    }}
}}"""


@pytest.fixture(autouse=True)
def new_session(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULAB_DEVICE", "sim")


def test_requests_are_counted_per_32_points() -> None:
    run_in_session(ONE_OF_EACH.format(variant="opt_1"))
    shown = gpulab.traffic_table("stencil").text
    (row,) = (line.split() for line in shown.splitlines() if line.startswith("opt_1"))
    loads, sectors, stores, shared_loads, shared_stores, together = map(float, row[1:])
    # One of each per warp; a little more than one, because boundary points are not part of the work.
    assert loads == stores == shared_loads == shared_stores == pytest.approx(1.05, abs=0.1)
    assert sectors == pytest.approx(4 * loads, abs=0.3)
    assert together == pytest.approx(4 * loads, abs=0.3)
    assert "simulator" in shown


def test_baseline_stands_in_for_the_naive_kernel() -> None:
    run_in_session(ONE_OF_EACH.format(variant="opt_1"))
    text = gpulab.traffic_table("stencil").text
    assert "naive (baseline)" in text
    assert "ships with gpulab" in text
    run_in_session(ONE_OF_EACH.format(variant="naive"))
    assert "baseline" not in gpulab.traffic_table("stencil").text


def test_kernel_that_did_not_compile_is_named_below_the_table() -> None:
    session.keep_cell(parse_cell("%%cuda stencil.opt_2\nint x"))
    assert "`stencil.opt_2`" in gpulab.traffic_table("stencil").text
    run_in_session(ONE_OF_EACH.format(variant="opt_1"))
    assert "`stencil.opt_2`" in gpulab.traffic_table("stencil").text


def test_unknown_problem_raises() -> None:
    with pytest.raises(UsageError, match="stencil"):
        gpulab.traffic_table("laplace")


def test_incorrect_kernel_is_left_out_and_named() -> None:
    run_in_session(ONE_OF_EACH.format(variant="opt_1"))
    run_in_session(ONE_OF_EACH.format(variant="opt_2"))
    session.mark_incorrect("stencil.opt_2")
    text = gpulab.traffic_table("stencil").text
    assert "Left out, because not correct yet: opt_2." in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("opt_")] == ["opt_1"]
