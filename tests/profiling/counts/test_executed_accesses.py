"""Requests of loads and stores that the assembler merges, moves or removes."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.compiler.sass.machine_counts import ExecutedInstruction, MachineCounts
from gpulab.compiler.sass.sass_code import MachineInstruction
from gpulab.profiling.counts.executed_accesses import PtxAccess, executed_shares

# Bodies of kernels whose branches some lanes of every warp take, so that every execution of a load or store
# is a request. The machine code of the first ones has one instruction for stores of several basic blocks.
BODIES = {
    "store in a branch after a store": """
        tile[t] = 0.0f;
        if (lane < n) tile[t] = x[i];
        __syncthreads();
        y[i] = tile[63 - t];""",
    "stores in two branches after a store": """
        tile[t] = 0.0f;
        if (lane < n) tile[t] = x[i];
        if (lane < n / 2) tile[t] = 3.0f;
        __syncthreads();
        y[i] = tile[63 - t];""",
    "two arrays": """
        tile[t] = 0.0f;
        next[t] = 0.0f;
        if (lane < n) { tile[t] = x[i]; next[t] = 2 * x[i]; }
        __syncthreads();
        y[i] = tile[63 - t] + next[63 - t];""",
    "elements of one byte": """
        bytes[t] = 0;
        if (lane < n) bytes[t] = x[i];
        __syncthreads();
        y[i] = bytes[63 - t];""",
    "unrolled loop": """
        float s = 0;
        for (int j = 0; j < n; j++) {
            tile[t] = 0;
            if (2 * j < lane + 7) tile[t] = x[64 * j + t];
            __syncthreads();
            s += tile[63 - t];
            __syncthreads();
        }
        y[i] = s;""",
    "stores of both branches": """
        if (lane < n) tile[t] = x[i]; else tile[t] = 1.0f;
        __syncthreads();
        y[i] = tile[63 - t];""",
    "selected value": """
        tile[t] = lane < n ? x[i] : 2.0f;
        __syncthreads();
        y[i] = tile[63 - t];""",
    "stores to two addresses": """
        if (lane < n) tile[t] = 1.0f; else tile[t ^ 1] = 2.0f;
        __syncthreads();
        y[i] = tile[63 - t];""",
    "loads in both branches": """
        tile[t] = x[i];
        next[t] = 2 * x[i];
        __syncthreads();
        y[i] = lane < n ? 3 * tile[63 - t] : next[63 - t] + 1;""",
    "load in a branch": """
        tile[t] = x[i];
        __syncthreads();
        float s = tile[t ^ 1];
        if (lane < n) s += tile[t ^ 2];
        y[i] = s;""",
}


def counts_of(body: str, n: int) -> gpulab.Counters:
    device = gpulab.device("sim:h200")
    kernel = device.compile(
        f"""__global__ void k(const float* x, float* y, int n)
        {{
            __shared__ float tile[64], next[64];
            __shared__ unsigned char bytes[64];
            int t = threadIdx.x, i = blockIdx.x * 64 + t, lane = t % 32;
            {body}
        }}"""
    )
    return gpulab.counters(kernel, 2, 64, (device.asarray(np.ones(4096, np.float32)), device.zeros(128), n))


@pytest.mark.parametrize("pattern", BODIES)
def test_requests_are_the_instructions_of_the_machine_code(pattern: str) -> None:
    counts = counts_of(BODIES[pattern], n=20)
    assert not counts.caveats
    assert counts.shared_load_requests == counts.opcodes["LDS"] > 0
    assert counts.shared_store_requests == counts.opcodes["STS"] > 0


def test_warp_without_an_active_lane_makes_no_request() -> None:
    counts = counts_of("if (t < n) tile[t] = x[i]; __syncthreads(); y[i] = tile[0];", n=20)
    assert (counts.shared_load_requests, counts.shared_store_requests) == (4, 2)


def test_merged_store_has_the_wavefronts_of_its_addresses() -> None:
    counts = counts_of(
        """
        int column = 32 * lane % 64 + t / 32;
        tile[column] = 0;
        if (lane < n) tile[column] = x[i];
        __syncthreads();
        y[i] = tile[63 - t];""",
        n=32,
    )
    assert counts.shared_store_requests == counts.opcodes["STS"]
    assert counts.shared_store_wavefronts == 2 * counts.shared_store_requests
    assert counts.shared_store_bank_conflicts == counts.shared_store_requests


# -- shares -------------------------------------------------------------------------------------


def shares_of(
    accesses: dict[int, PtxAccess],
    *executed: tuple[str, str, int, int, int],
    others: tuple[int, ...] = (),
    caveats: tuple[str, ...] = (),
) -> dict[int, float]:
    """Return the shares of stores for instructions: opcode, predicate, PTX row, warps and threads."""
    entries = tuple(
        ExecutedInstruction(
            MachineInstruction(16 * n, opcode, predicate, "", 0, row), warps, threads, threads
        )
        for n, (opcode, predicate, row, warps, threads) in enumerate(executed)
    )
    return dict(executed_shares("store", accesses, others, [(1.0, MachineCounts(entries, caveats))]))


def test_store_without_an_instruction_is_not_executed() -> None:
    accesses = {1: PtxAccess("shared", 4, 128), 2: PtxAccess("shared", 4, 128)}
    assert shares_of(accesses, ("STS", "", 1, 4, 128)) == {1: 1, 2: 0}


def test_instruction_at_another_row_performs_the_store_with_as_many_threads() -> None:
    accesses = {1: PtxAccess("shared", 4, 80), 2: PtxAccess("shared", 4, 128)}
    assert shares_of(accesses, ("STS", "", 7, 4, 128)) == {1: 0, 2: 1}


def test_instruction_of_disjoint_branches_performs_both_stores() -> None:
    accesses = {1: PtxAccess("shared", 2, 64), 2: PtxAccess("shared", 4, 128)}
    assert shares_of(accesses, ("STS", "", 7, 6, 192)) == {1: 1, 2: 1}


def test_instruction_at_the_row_of_a_branch_performs_the_store_before_it_too() -> None:
    accesses = {1: PtxAccess("shared", 4, 128), 2: PtxAccess("shared", 2, 40)}
    shares = shares_of(accesses, ("STS", "", 2, 4, 128))
    assert 4 * shares[1] + 2 * shares[2] == 4


def test_executions_without_an_active_lane_are_no_requests() -> None:
    assert shares_of({1: PtxAccess("shared", 2, 40)}, ("STS", "@P0", 1, 4, 40)) == {1: 1}


@pytest.mark.parametrize("caveats", [(), ("estimated",)])
def test_merged_instruction_with_a_predicate_performs_one_store(caveats: tuple[str, ...]) -> None:
    accesses = {1: PtxAccess("shared", 2, 64), 2: PtxAccess("shared", 2, 40)}
    assert shares_of(accesses, ("STS", "@P0", 7, 4, 64), caveats=caveats) == {1: 1, 2: 0}


def test_estimated_executions_do_not_change_a_store_with_an_instruction() -> None:
    accesses = {1: PtxAccess("shared", 4, 128)}
    assert shares_of(accesses, ("STS", "", 1, 3, 96), caveats=("estimated",)) == {1: 1}


def test_instruction_of_another_space_performs_no_store() -> None:
    assert shares_of({1: PtxAccess("shared", 4, 128)}, ("STG", "", 7, 4, 128)) == {1: 0}


def test_instructions_of_other_accesses_perform_no_store() -> None:
    assert shares_of({1: PtxAccess("shared", 4, 128)}, ("STS", "", 7, 4, 128), others=(7,)) == {1: 0}
