"""Tests of the counters of kernels with tensor-core instructions."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.profiling.counts.metrics import Counters

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


def test_tensor_instructions_of_ptx() -> None:
    dev = gpulab.device("sim:h200")
    program = dev.compile(KERNEL, defines={"PITCH": 24}).program
    kernel = dev.load_ptx(program.ptx)
    arrays = (dev.empty((16, 16)), dev.zeros((16, 16), np.float16), dev.zeros((16, 16), np.float16))
    counts = gpulab.counters(kernel, 3, 32, arrays)
    assert counts.instruction_set == "PTX"
    assert counts.tensor_instructions == 3
