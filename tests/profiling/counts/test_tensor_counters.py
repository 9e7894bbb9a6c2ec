"""Tests of the counters of kernels with tensor-core instructions."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.compiler.sass.sass_code import MachineInstruction
from gpulab.profiling.counts.metrics import Counters
from gpulab.profiling.counts.tensor_products import TensorProduct, machine_product

KERNEL = """
#include <mma.h>
using namespace nvcuda;
__global__ void k(float* c, const half* a, const half* b)
{
    __shared__ __align__(32) half s[16 * PITCH];
    for (int i = threadIdx.x; i < 256; i += 32) s[i / 16 * PITCH + i % 16] = b[i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, s, PITCH);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
"""


def counted(pitch: int, options: tuple[str, ...] = ()) -> Counters:
    dev = gpulab.device("sim:h200")
    kernel = dev.compile(KERNEL, defines={"PITCH": pitch}, options=options)
    arrays = (dev.empty((16, 16)), dev.zeros((16, 16), np.float16), dev.zeros((16, 16), np.float16))
    return gpulab.counters(kernel, 3, 32, arrays)


@pytest.mark.parametrize(("pitch", "conflicts"), [(16, 1), (24, 0), (64, 7)])
def test_bank_conflicts_of_a_fragment_in_shared_memory(pitch: int, conflicts: int) -> None:
    """Eight rows of 16 bytes are one wavefront if they lie in different banks, as for `ldmatrix`."""
    counts = counted(pitch)
    (load,) = [a for a in counts.accesses if a.space == "shared" and a.kind == "load"]
    assert (load.requests, load.wavefronts, load.bank_conflicts) == (
        3,
        3 * 4 * (1 + conflicts),
        12 * conflicts,
    )


def test_requests_are_those_of_the_machine_code() -> None:
    counts = counted(24)
    assert counts.opcodes["LDSM"] == 3
    fragments = [a for a in counts.accesses if a.opcode.startswith("wmma") and a.space == "global"]
    loads = [a for a in fragments if a.kind == "load"]
    stores = [a for a in fragments if a.kind == "store"]
    assert [a.requests for a in loads] == [3] * 4
    assert [(a.width, a.requests, a.sectors) for a in stores] == [(8, 3, 3 * 8)] * 4
    assert counts.global_load_requests == counts.opcodes["LDG"]
    assert counts.global_store_requests == counts.opcodes["STG"]


def test_tensor_instructions_are_those_of_the_machine_code() -> None:
    counts = counted(24)
    assert counts.tensor_instructions == counts.opcodes["HMMA"] == 3 * 2
    assert counts["sm__inst_executed_pipe_tensor_op_hmma.sum"] == 6
    assert counts["sm__inst_executed_pipe_tensor_op_imma.sum"] == 0
    assert counts["sm__inst_executed_pipe_tensor.sum"] == 6


def test_operations_of_tensor_cores_are_those_of_the_shape() -> None:
    counts = counted(24)
    products = 3 * 2 * 16**3  # of three warps
    assert counts.tensor_operations == {"fp16_dst_fp32": products}
    assert counts["sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum"] == products
    assert counts["sm__ops_path_tensor_op_hmma_src_tf32_dst_fp32.sum"] == 0
    assert counts.tensor_flops == counts.flops == products
    # The instruction is in <mma.h>; the call of mma_sync is on line 15 of the kernel.
    assert {number: line.tensor_flops for number, line in counts.lines.items() if line.flops} == {
        15: products
    }


def test_operations_of_integers_are_no_floating_point_operations() -> None:
    source = """
__global__ void k(int* out, float x)
{
    int d0 = 0, d1 = 0, d2 = 0, d3 = 0, a = threadIdx.x;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %4}, {%4}, "
                 "{%0, %1, %2, %3};" : "+r"(d0), "+r"(d1), "+r"(d2), "+r"(d3) : "r"(a));
    out[threadIdx.x] = d0 + d1 + d2 + d3 + (int) (x * a);
}
"""
    dev = gpulab.device("sim:h200")
    counts = gpulab.counters(dev.compile(source), 2, 32, (dev.empty(32, np.int32), 1.0))
    assert counts.tensor_operations == {"int8": 2 * 2 * 16 * 8 * 16}
    assert (counts.tensor_flops, counts.flops) == (0, 2 * 32)


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("HMMA.16816.F32.BF16", TensorProduct("bf16_dst_fp32", 16, 8, 16)),
        ("HMMA.16816.F16", TensorProduct("fp16_dst_fp16", 16, 8, 16)),
        ("HMMA.1688.F32", TensorProduct("fp16_dst_fp32", 16, 8, 8)),
        ("HMMA.884.F32.F32.STEP2", TensorProduct("fp16_dst_fp32", 8, 8, 4)),
        ("HMMA.1684.F32.TF32", TensorProduct("tf32_dst_fp32", 16, 8, 4)),
        ("IMMA.16832.S8.U8", TensorProduct("int8", 16, 8, 32)),
        ("DMMA.8x8x4", TensorProduct("fp64", 8, 8, 4)),
        ("FFMA", None),
    ],
)
def test_product_of_a_machine_instruction(opcode: str, expected: TensorProduct | None) -> None:
    assert machine_product(MachineInstruction(0, opcode, "", "R1, R2", 1, 1)) == expected


def test_tensor_instructions_of_ptx() -> None:
    dev = gpulab.device("sim:h200")
    program = dev.compile(KERNEL, defines={"PITCH": 24}).program
    kernel = dev.load_ptx(program.ptx)
    arrays = (dev.empty((16, 16)), dev.zeros((16, 16), np.float16), dev.zeros((16, 16), np.float16))
    counts = gpulab.counters(kernel, 3, 32, arrays)
    assert counts.instruction_set == "PTX"
    assert counts.tensor_instructions == 3
    assert counts.tensor_operations == {"fp16_dst_fp32": 3 * 2 * 16**3}
