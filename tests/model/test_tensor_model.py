"""Tests of modelled times of kernels that use tensor cores."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import gpulab
from gpulab.compiler.sass.sass_code import MachineInstruction
from gpulab.gpus import catalogue
from gpulab.gpus.architectures import architecture
from gpulab.model.instruction_mix import machine_blocks
from gpulab.model.warp_timing import CodeBlock, Operation, pipe_cycles

# Products of fragments that stay in registers: only the tensor cores are busy.
PRODUCTS = """
#include <mma.h>
using namespace nvcuda;
__global__ void k(float* out, int n)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    wmma::fill_fragment(a, 1.0f);
    wmma::fill_fragment(b, 1.0f);
    for (int i = 0; i < 4; i++) wmma::fill_fragment(c[i], 0.0f);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 4; i++) wmma::mma_sync(c[i], a, b, c[i]);
    for (int i = 1; i < 4; i++)
        for (int j = 0; j < c[0].num_elements; j++) c[0].x[j] += c[i].x[j];
    wmma::store_matrix_sync(out + 256 * (blockIdx.x * 8 + threadIdx.x / 32), c[0], 16, wmma::mem_row_major);
}
"""


@pytest.mark.parametrize(("gpu", "tflops"), [("h200", 989.4), ("a100", 312)])
def test_products_in_registers_reach_the_published_peak_at_most(gpu: str, tflops: float) -> None:
    dev = gpulab.device(f"sim:{gpu}")
    spec = catalogue.gpu(gpu)
    kernel, blocks, n = dev.compile(PRODUCTS), 16 * spec.sms, 512

    profile = gpulab.profile(kernel, blocks, 256, (dev.empty(blocks * 8 * 256), n))

    assert profile.bottleneck == "tensor"
    assert "tensor cores" in profile.provenance.detail
    flops = 2 * 16**3 * 4 * n * 8 * blocks
    assert profile.terms["tensor"] == pytest.approx(flops / tflops / 1e9, rel=0.01)
    assert profile.terms["tensor"] <= profile.time_ms < 1.15 * profile.terms["tensor"]


def test_products_that_depend_on_each_other_wait_as_the_assembler_schedules_them() -> None:
    dev = gpulab.device("sim:h200")
    chain = PRODUCTS.replace("c[4]", "c[1]").replace("i < 4", "i < 1")
    loop = "    for (int j = 0; j < n"
    kernel = dev.compile(chain.replace(loop, f"    #pragma unroll 1\n{loop}"))
    n = 4096

    profile = gpulab.profile(kernel, 1, 32, (dev.empty(256), n))

    cycles = profile.terms["latency"] * catalogue.gpu("h200").boost_clock_mhz * 1e3 / n
    assert 24.8 < cycles < 2 * 24.8  # measured on an H100 without a loop; the branch adds to it


@pytest.mark.parametrize(
    ("opcode", "operands", "unit", "fmas"),
    [
        ("HMMA.16816.F32.BF16", "R12, R4, R22, RZ", "tensor_bf16_dst_fp32", 2048),
        ("HMMA.16816.F16", "R14, R4, R14, R16", "tensor_fp16_dst_fp16", 2048),
        ("HMMA.1688.F32", "R16, R8, R11, R20", "tensor_fp16_dst_fp32", 1024),
        ("HMMA.1684.F32.TF32", "R4, R8, R10, RZ", "tensor_tf32_dst_fp32", 512),
        ("IMMA.16832.S8.U8", "R4, R8.ROW, R14.COL, R4", "tensor_int8", 4096),
        ("IMMA.8816.S8.S8", "R10, R8.ROW, R9.COL, RZ", "tensor_int8", 1024),
        ("DMMA.8x8x4", "R4, R8, R10, RZ", "tensor_fp64", 256),
        ("DMMA.884", "R4, R8, R10, RZ", "tensor_fp64", 256),
    ],
)
def test_tensor_instructions_of_machine_code(opcode: str, operands: str, unit: str, fmas: int) -> None:
    item = MachineInstruction(0, opcode, "", operands, 1, 1)
    code = SimpleNamespace(blocks=[SimpleNamespace(instructions=[item], targets=())])
    (block,) = machine_blocks(cast(Any, code), cast(Any, [SimpleNamespace(warps=1)]))
    (operation,) = block.operations
    assert (operation.unit, operation.size) == (unit, fmas)


def test_a_type_without_tensor_cores_takes_the_rate_of_single_precision() -> None:
    spec = catalogue.gpu("t4")
    code = [CodeBlock((Operation("tensor_fp64", size=256.0),), runs=10.0)]
    cycles = pipe_cycles(code, spec, architecture(spec))
    assert cycles["tensor"] == pytest.approx(10 * 256 / spec.cores_per_sm)
