"""Executed machine instructions, derived from PTX counts and compared with Nsight Compute on a GPU.

machine_launches.json contains six launches of `benchmarks.counters` on an H200 (ncu 2025.3.1, CUDA 13.0): the
machine code, the executions of each PTX block, and the metrics.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpulab.compiler.sass.machine_counts import MachineCounts, machine_counts
from gpulab.compiler.sass.ptx_blocks import IterationGroups, PtxBlock, PtxInstruction
from gpulab.compiler.sass.sass_code import MachineCode, MachineInstruction

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
            divergences,
            {int(k): IterationGroups(*counts) for k, counts in groups.items()},
        )
        for number, targets, warps, threads, divergences, groups, instructions in LAUNCHES[name]["ptx"]
    ]


def counts_of(name: str) -> MachineCounts:
    return machine_counts(code_of(name), ptx_of(name))


@pytest.fixture(params=LAUNCHES)
def launch(request: pytest.FixtureRequest) -> str:
    return request.param


def measured(launch: str, metric: str) -> int:
    return LAUNCHES[launch]["measured"][metric]


def test_warp_instructions_equal_the_gpus(launch: str) -> None:
    assert counts_of(launch).warps == measured(launch, "smsp__inst_executed.sum")


def test_thread_instructions_equal_the_gpus(launch: str) -> None:
    assert counts_of(launch).threads == measured(launch, "smsp__thread_inst_executed.sum")


def test_thread_instructions_with_a_true_predicate_equal_the_gpus(launch: str) -> None:
    assert counts_of(launch).threads_on == measured(launch, "smsp__thread_inst_executed_pred_on.sum")


@pytest.mark.parametrize("op", ["FFMA", "FADD", "FMUL"])
def test_floating_point_operations_equal_the_gpus(launch: str, op: str) -> None:
    metric = f"smsp__sass_thread_inst_executed_op_{op.lower()}_pred_on.sum"
    executed = [entry for entry in counts_of(launch).executed if entry.instruction.op == op]
    assert sum(entry.threads_on for entry in executed) == measured(launch, metric)


@pytest.mark.parametrize("op", WARPS)
def test_loads_and_stores_equal_the_gpus(launch: str, op: str) -> None:
    warps = sum(entry.warps for entry in counts_of(launch).executed if entry.instruction.op == op)
    assert warps == measured(launch, WARPS[op])


def test_complete_ptx_counts_give_no_caveats(launch: str) -> None:
    assert counts_of(launch).caveats == ()


def test_counts_by_line_add_up_to_the_kernel(launch: str) -> None:
    counts = counts_of(launch)
    assert sum(entry.warps for line in counts.by_line().values() for entry in line) == counts.warps


def test_uncounted_iterations_give_a_caveat() -> None:
    name = "matmul/K1_guard_as_if 64x96x128"
    counts = machine_counts(code_of(name), [replace(block, iteration_groups={}) for block in ptx_of(name)])
    assert counts.caveats


def test_loop_with_equal_trip_counts_needs_no_iteration_counts() -> None:
    name = "matmul/K1_guard_as_if 64x96x128"
    counts = machine_counts(code_of(name), [replace(block, iteration_groups={}) for block in ptx_of(name)])
    assert counts.warps == measured(name, "smsp__inst_executed.sum")


def test_uncounted_divergences_give_a_caveat() -> None:
    name = "stencil/opt_2_halo_from_global 65x47x9"
    counts = machine_counts(code_of(name), [replace(block, divergences=None) for block in ptx_of(name)])
    assert counts.caveats


def test_thread_counts_need_no_divergence_counts() -> None:
    name = "stencil/opt_2_halo_from_global 65x47x9"
    counts = machine_counts(code_of(name), [replace(block, divergences=None) for block in ptx_of(name)])
    assert counts.threads == measured(name, "smsp__thread_inst_executed.sum")


def test_launch_without_executed_blocks_counts_nothing() -> None:
    name = "matmul/K3_two_rows 64x32x96"
    nothing = [replace(block, warps=0, threads=0, iteration_groups={}) for block in ptx_of(name)]
    assert machine_counts(code_of(name), nothing).warps == 0


def test_instructions_that_prepare_a_load_are_no_copies_of_a_loop() -> None:
    rows = ("MOV 1", "R2UR 3", "R2UR 3", "LDG 3", "DSETP 4", "BRA 5", "IADD3 6", "BRA 7", "STG 8", "EXIT 9")
    branches = {5: ("@P0", (8 * 16,)), 7: ("@P1", (1 * 16,))}
    code = MachineCode("search", tuple(
        MachineInstruction(16 * number, op, predicate, "", 0, int(row), targets)
        for number, (op, row) in enumerate(map(str.split, rows))
        for predicate, targets in [branches.get(number, ("", ()))]
    ))  # fmt: skip
    texts = (
        ("mov.u32",),
        ("ld.global.f64", "setp.ge.f64", "bra"),
        ("add.s32", "bra"),
        ("st.global.f64", "ret"),
    )
    first, blocks = (1, 3, 6, 8), []
    executed = ((1, (1,)), (3, (3, 2)), (2, (1, 3)), (1, ()))  # the search ends in its third iteration
    for number, (opcodes, (warps, targets)) in enumerate(zip(texts, executed, strict=True)):
        items = tuple(PtxInstruction(opcode, first[number] + n) for n, opcode in enumerate(opcodes))
        blocks.append(PtxBlock(number, items, targets, warps, 32 * warps, 0))
    counts = machine_counts(code, blocks)
    assert [entry.warps for entry in counts.executed] == [1, 3, 3, 3, 3, 3, 2, 2, 1, 1]
