"""Executed machine instructions from executed PTX, beside what Nsight Compute counted on a GPU.

machine_launches.json: six launches of `benchmarks.nsight` on an H200 (ncu 2025.3.1, CUDA 13.0): the machine
code, the executions of each PTX block, and the metrics.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpulab.compiler.sass.disassembly import MachineCode, MachineInstruction
from gpulab.compiler.sass.machine_counts import MachineCounts, machine_counts
from gpulab.compiler.sass.ptx_blocks import PtxBlock, PtxInstruction, Rounds

LAUNCHES = {
    launch["launch"]: launch
    for launch in json.loads(Path(__file__).with_name("machine_launches.json").read_text(encoding="utf-8"))
}
WARPS = {
    "LDS": "smsp__inst_executed_op_shared_ld.sum",
    "STS": "smsp__inst_executed_op_shared_st.sum",
    "LDG": "smsp__inst_executed_op_global_ld.sum",
    "STG": "smsp__inst_executed_op_global_st.sum",
}


def code_of(name: str) -> MachineCode:
    rows = LAUNCHES[name]["machine"]
    return MachineCode("kernel", tuple(MachineInstruction(*row[:-1], targets=tuple(row[-1])) for row in rows))


def ptx_of(name: str) -> list[PtxBlock]:
    return [
        PtxBlock(
            number,
            tuple(PtxInstruction(opcode, row) for opcode, row in instructions),
            tuple(targets),
            warps,
            threads,
            parted,
            {int(k): Rounds(*counts) for k, counts in rounds.items()},
        )
        for number, targets, warps, threads, parted, rounds, instructions in LAUNCHES[name]["ptx"]
    ]


def counts_of(name: str) -> MachineCounts:
    return machine_counts(code_of(name), ptx_of(name))


@pytest.fixture(params=LAUNCHES)
def launch(request: pytest.FixtureRequest) -> str:
    return request.param


def measured(launch: str, metric: str) -> int:
    return LAUNCHES[launch]["measured"][metric]


def test_warp_instructions_are_the_gpus(launch: str) -> None:
    assert counts_of(launch).warps == measured(launch, "smsp__inst_executed.sum")


def test_thread_instructions_are_the_gpus(launch: str) -> None:
    assert counts_of(launch).threads == measured(launch, "smsp__thread_inst_executed.sum")


def test_thread_instructions_under_a_true_predicate_are_the_gpus(launch: str) -> None:
    assert counts_of(launch).threads_on == measured(launch, "smsp__thread_inst_executed_pred_on.sum")


@pytest.mark.parametrize("op", ["FFMA", "FADD", "FMUL"])
def test_floating_point_operations_are_the_gpus(launch: str, op: str) -> None:
    metric = f"smsp__sass_thread_inst_executed_op_{op.lower()}_pred_on.sum"
    assert counts_of(launch).on(op) == measured(launch, metric)


@pytest.mark.parametrize("op", WARPS)
def test_loads_and_stores_are_the_gpus(launch: str, op: str) -> None:
    assert counts_of(launch).requests(op) == measured(launch, WARPS[op])


def test_nothing_is_doubted_where_all_was_counted(launch: str) -> None:
    assert counts_of(launch).doubts == ()


def test_lines_add_up_to_the_kernel(launch: str) -> None:
    counts = counts_of(launch)
    assert sum(one.warps for some in counts.by_line().values() for one in some) == counts.warps


def test_a_division_is_counted_for_plain_numbers() -> None:
    assert counts_of("stencil/opt_2_halo_from_global 65x47x9").plain_numbers


def test_a_product_needs_no_plain_numbers() -> None:
    assert not counts_of("matmul/K1_guard_as_if 64x96x128").plain_numbers


def test_rounds_that_nobody_counted_are_doubted() -> None:
    name = "matmul/K1_guard_as_if 64x96x128"
    counts = machine_counts(code_of(name), [replace(block, rounds={}) for block in ptx_of(name)])
    assert counts.doubts


def test_a_loop_of_equal_trips_needs_no_rounds() -> None:
    name = "matmul/K1_guard_as_if 64x96x128"
    counts = machine_counts(code_of(name), [replace(block, rounds={}) for block in ptx_of(name)])
    assert counts.warps == measured(name, "smsp__inst_executed.sum")


def test_partings_that_nobody_counted_are_doubted() -> None:
    name = "stencil/opt_2_halo_from_global 65x47x9"
    counts = machine_counts(code_of(name), [replace(block, parted=None) for block in ptx_of(name)])
    assert counts.doubts


def test_threads_need_no_partings() -> None:
    name = "stencil/opt_2_halo_from_global 65x47x9"
    counts = machine_counts(code_of(name), [replace(block, parted=None) for block in ptx_of(name)])
    assert counts.threads == measured(name, "smsp__thread_inst_executed.sum")


def test_a_launch_that_ran_nothing_counts_nothing() -> None:
    name = "matmul/K3_two_rows 64x32x96"
    nothing = [replace(block, warps=0, threads=0, rounds={}) for block in ptx_of(name)]
    assert machine_counts(code_of(name), nothing).warps == 0
