"""Tests of the memory-traffic requirements of lab steps."""

from __future__ import annotations

from functools import cache

import pytest

import gpulab
from gpulab.cell import parse_cell, require_kernel_cell
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.problems import Requirement, problem
from gpulab.profiling.counts.cell_counts import count_cell
from gpulab.verification.check import CheckResult, check_cell, compile_cell
from gpulab.verification.requirements import RequirementResult, check_requirements

STRIP = """// %%cuda matmul.{variant} --block {block} --tile {tile}
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{{
    {body}
}}"""


@cache
def simulator() -> SimulatedDevice:
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    return device


def checked(text: str) -> CheckResult:
    return check_cell(parse_cell(text, "kernel.cu"), simulator())


def test_unused_shared_array_does_not_satisfy_the_requirement() -> None:
    body = """__shared__ float strip[32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 32) {
        strip[t] = c[k0 + t + p * j];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += b[i + n * (k0 + k)] * c[k0 + k + p * j];
        __syncthreads();
        if (strip[t] == 12345.0f) sum = 0.0f;
    }
    a[i + n * j] = sum;"""
    result = checked(STRIP.format(variant="K2", block=32, tile="1 1", body=body))
    assert result.verdict is not None
    assert result.verdict.correct
    assert not result.correct
    (reason,) = result.reasons
    assert "1.03" in reason
    assert "line 10" in reason


def test_warp_shuffles_satisfy_the_requirement() -> None:
    body = """int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 32) {
        float element = c[k0 + t + p * j];
        for (int k = 0; k < 32; ++k) sum += b[i + n * (k0 + k)] * __shfl_sync(0xffffffffu, element, k);
    }
    a[i + n * j] = sum;"""
    result = checked(STRIP.format(variant="K2", block=32, tile="1 1", body=body))
    assert result.reasons == ()
    assert result.technique is not None
    assert result.technique.met


@pytest.mark.parametrize("columns", [2, 4, 8])
def test_columns_of_a_thread_share_a_load_of_b(columns: int) -> None:
    body = f"""__shared__ float strip[{columns}][32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y * {columns};
    float sum[{columns}] = {{}};
    for (int k0 = 0; k0 < p; k0 += 32) {{
        for (int q = 0; q < {columns}; ++q) strip[q][t] = c[k0 + t + p * (j + q)];
        __syncthreads();
        for (int k = 0; k < 32; ++k) {{
            float x = b[i + n * (k0 + k)];
            for (int q = 0; q < {columns}; ++q) sum[q] += x * strip[q][k];
        }}
        __syncthreads();
    }}
    for (int q = 0; q < {columns}; ++q) a[i + n * (j + q)] = sum[q];"""
    result = checked(STRIP.format(variant="K4", block=32, tile=f"1 {columns}", body=body))
    assert result.reasons == ()
    assert result.technique is not None
    technique = result.technique.as_dict()
    assert technique["met"] is True
    loads_of_b = next(row for row in technique["promises"] if "loads of b" in row["what"])
    assert loads_of_b["counted"] == pytest.approx(1 / columns, rel=0.01)


SERIAL = """// %%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    if (threadIdx.x || threadIdx.y) return;
    for (int z = 1; z < nz - 1; ++z)
        for (int y = blockIdx.y * BLOCK_Y; y < blockIdx.y * BLOCK_Y + BLOCK_Y; ++y)
            for (int x = blockIdx.x * BLOCK_X; x < blockIdx.x * BLOCK_X + BLOCK_X; ++x)
                if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
                    int i = x + nx * (y + ny * z);
                    Anext[i] = A0[i - 1] + A0[i + 1] + A0[i - nx] + A0[i + nx] + A0[i - nx * ny]
                             + A0[i + nx * ny] - 6.0f * A0[i] / (fac * fac);
                }
}"""


def test_step_needs_more_than_one_thread_of_a_block() -> None:
    result = checked(SERIAL)
    assert result.verdict is not None
    assert result.verdict.correct
    assert [reason.partition(":")[0] for reason in result.reasons] == [
        "requests of warps that store to global memory, for each inner point"
    ]


@pytest.mark.parametrize(("block", "met"), [("32", False), ("64", False), ("1 32", True), ("1 64", True)])
def test_slow_order_needs_a_block_along_j(block: str, met: bool) -> None:
    body = """int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;"""
    result = checked(STRIP.format(variant="Ks", block=block, tile="1 1", body=body))
    assert result.technique is not None
    assert result.technique.met is met
    assert any("--block 1 32" in reason for reason in result.reasons) is not met


def test_asynchronous_copy_of_16_bytes_is_one_access() -> None:
    text = """// %%cuda stencil.opt_4 --block 32 4 --tile 4 1 8
#include <cuda_pipeline.h>
extern "C" __global__ void block2D_opt_4(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float4 element[128];
    int t = threadIdx.x + 32 * threadIdx.y;
    __pipeline_memcpy_async(&element[t], A0 + 4 * t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    Anext[t] = element[t].x;
}"""
    cell = require_kernel_cell(parse_cell(text, "kernel.cu"))
    count = count_cell(cell, compile_cell(cell, simulator()), machine=False)
    technique = check_requirements(count)
    assert technique is not None
    copied_read_and_stored = 3 * count.launch.threads / problem("stencil").work(technique.shape)
    assert technique.results[0].requirement.measure == "memory_accesses"
    assert technique.results[0].value == pytest.approx(copied_read_and_stored)


def test_baseline_does_not_satisfy_the_requirements_of_a_step() -> None:
    for name in ("stencil", "matmul"):
        problem_ = problem(name)
        for variant, step in problem_.variants.items():
            block, tile = problem_.block_of(variant), problem_.default_tile
            for requirement in step.requirements:
                baseline = requirement.baseline_value
                result = RequirementResult(requirement, baseline, requirement.limit(block, tile), ())
                assert not result.satisfied, (variant, requirement.metric)


def test_one_point_per_thread_asks_for_the_tile_in_the_header() -> None:
    step = problem("stencil").variants["opt_3"].requirements[0]
    reason = RequirementResult(step, 0.95, 1.7, ()).explain("opt_3")
    assert reason.startswith("points that a thread computes in a frame: 0.95.")
    assert reason.endswith("Is `--tile 1 2 0` in the first line of the cell?")


UNROLLED = """__shared__ float strip[BLOCK_X];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int ks = 0; ks < p; ks += BLOCK_X) {{
        strip[t] = c[ks + t + p * j];
        __syncthreads();
        #pragma unroll {factor}
        for (int k = 0; k < BLOCK_X; k += {step}) {{
            {update}
        }}
        __syncthreads();
    }}
    a[i + n * j] = sum;"""
ONE_STEP = "sum += b[i + n * (ks + k)] * strip[k];"
FOUR_STEPS = " ".join(f"sum += b[i + n * (ks + k + {q})] * strip[k + {q}];" for q in range(4))


@pytest.mark.parametrize("machine", [False, True])
@pytest.mark.parametrize(("factor", "step", "update"), [("TILE_Z", 1, ONE_STEP), ("1", 4, FOUR_STEPS)])
def test_unrolled_loop_satisfies_the_requirement(factor: str, step: int, update: str, machine: bool) -> None:
    body = UNROLLED.format(factor=factor, step=step, update=update)
    text = STRIP.format(variant="K2u", block=64, tile="1 1 4", body=body)
    result = check_cell(parse_cell(text, "kernel.cu"), simulator(), machine_counts=machine)
    assert result.reasons == ()


@pytest.mark.parametrize("tile", ["1 1 1", "1 1 4"])
def test_rolled_loop_is_not_an_unrolled_one(tile: str) -> None:
    body = UNROLLED.format(factor="1", step=1, update=ONE_STEP)
    (reason,) = checked(STRIP.format(variant="K2u", block=64, tile=tile, body=body)).reasons
    assert "branches that a warp executes for each multiply-add: 1.0" in reason
    assert "#pragma unroll TILE_Z" in reason


@pytest.mark.parametrize(
    ("requirement", "value", "limit", "texts"),
    [
        (Requirement("blocks", at_least=1), 512.0, 950.4, ("512", "951")),
        (Requirement("blocks", at_most=1), 4096.0, 1056.9, ("4,096", "1,056")),
        (Requirement("global_loads", at_most=1), 7.0, 4.03, ("7", "4.03")),
        (Requirement("sectors_per_request", at_least=1), 2.5, 8.0, ("2.5", "8")),
        (Requirement("global_loads", at_most=1), 159.951, 35.2, ("160", "35.2")),
        (Requirement("global_loads", at_most=1), 28675.6, 35.2, ("28,676", "35.2")),
        (Requirement("global_loads", at_most=1), 2.1042, 2.1, ("2.1042", "2.1")),
    ],
)
def test_numbers_have_the_digits_that_matter(
    requirement: Requirement, value: float, limit: float, texts: tuple[str, str]
) -> None:
    assert RequirementResult(requirement, value, limit, ()).texts() == texts
