"""Executed machine instructions, derived from PTX counts and compared with Nsight Compute on a GPU.

machine_launches.json contains six launches of `benchmarks.counters` on an H200, and seven of kernels whose
machine code has another shape than their PTX, on an H100 (both with ncu 2025.3.1 and CUDA 13.0): the machine
code, the executions of each PTX block, and the metrics. The seven are:

- lane_copies: each lane makes a bulk copy, for which machine code loops over the lanes, and waits for all of
  them in a loop with `mbarrier.try_wait`;
- peeled: a product whose indices have 64 bits, and the first iteration of its loop its own code;
- leader: one lane of each warp uses the result of an `atomicAdd`; places: all lanes do;
- integer_loop, product_loop: loops of integer instructions, and of products of 64 bits, that the assembler
  unrolls four times; division_loop: a loop that calls the subroutine for divisions of 64 bits.
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

# How many of the predicates differ that have no counterpart in PTX: uniform ones, and those of partial sums.
PREDICATE_ERRORS = {"lane_copies": 0.03, "places": 0.06}


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
    on = measured(launch, "smsp__thread_inst_executed_pred_on.sum")
    assert counts_of(launch).threads_on == pytest.approx(on, rel=PREDICATE_ERRORS.get(launch, 0), abs=0)


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


def machine_code(rows: str, branches: dict[int, tuple[str, int]]) -> MachineCode:
    """Return code from opcodes and their PTX lines; `branches` gives the predicate and the target of some."""
    return MachineCode("small", tuple(
        MachineInstruction(16 * number, opcode, predicate, "", 0, int(line), targets)
        for number, (opcode, line) in enumerate(row.split(":") for row in rows.split())
        for predicate, targets in [
            (branches[number][0], (16 * branches[number][1],)) if number in branches else ("", ())
        ]
    ))  # fmt: skip


def ptx_blocks(*blocks: tuple[str, int, tuple[int, ...]], **groups: IterationGroups) -> list[PtxBlock]:
    """Return blocks of full warps from opcodes, executions by warps and targets. Lines count from 1."""
    result, row = [], 1
    for number, (opcodes, warps, targets) in enumerate(blocks):
        items = tuple(PtxInstruction(opcode, row + n) for n, opcode in enumerate(opcodes.split()))
        row += len(items)
        counted = {2: groups[f"of_{number}"]} if f"of_{number}" in groups else {}
        result.append(PtxBlock(number, items, targets, warps, 32 * warps, 0, counted))
    return result


def executions(code: MachineCode, ptx: list[PtxBlock]) -> list[int]:
    return [entry.warps for entry in machine_counts(code, ptx).executed]


def test_instructions_that_prepare_a_load_are_no_copies_of_a_loop() -> None:
    code = machine_code(
        "MOV:1 R2UR:2 R2UR:2 LDG:2 DSETP:3 BRA:4 IADD3:5 BRA:6 STG:7 EXIT:8", {5: ("@P0", 8), 7: ("@P1", 1)}
    )
    search = ptx_blocks(  # it ends in its third iteration
        ("mov.u32", 1, (1,)),
        ("ld.global.f64 setp.ge.f64 bra", 3, (3, 2)),
        ("add.s32 bra", 2, (1, 3)),
        ("st.global.f64 ret", 1, ()),
    )
    assert executions(code, search) == [1, 3, 3, 3, 3, 3, 2, 2, 1, 1]


# A loop of one load and one addition: four iterations in pairs.
PAIRS = ptx_blocks(
    ("mov.u32", 1, (1,)),
    ("ld.global.f32 add.f32 setp.lt.s32 bra", 4, (1, 2)),
    ("st.global.f32 ret", 1, ()),
    of_1=IterationGroups(2, 64, 1, 32),
)


def test_other_instructions_of_the_line_of_a_load_are_no_copies_of_a_loop() -> None:
    code = machine_code("MOV:1 LDG:2 LDG:2 PLOP3:2 FADD:3 FADD:3 ISETP:4 BRA:5 STG:6 EXIT:7", {7: ("@P0", 1)})
    assert executions(code, PAIRS) == [1, *[2] * 7, 1, 1]


def test_block_with_all_iterations_of_a_loop_repeats_for_the_loop_around_it() -> None:
    code = machine_code(
        "ISETP:1 BRA:2 IMAD:3 STS:4 BAR:5 LDS:6 LDS:6 FFMA:7 FFMA:7 BAR:10 BRA:12 STG:13 EXIT:14",
        {1: ("@P0", 11), 10: ("@P1", 3)},
    )
    nested = ptx_blocks(
        ("setp.eq.s32 bra", 3, (5, 1)),
        ("mad.lo.s32", 3, (2,)),
        ("st.shared.f32 bar.sync", 15, (3,)),
        ("ld.shared.f32 fma.rn.f32 setp.ne.s32 bra", 30, (3, 4)),
        ("bar.sync setp.lt.u32 bra", 15, (2, 5)),
        ("st.global.f32 ret", 3, ()),
        of_3=IterationGroups(15, 480, 15, 480),
    )
    assert executions(code, nested) == [3] * 3 + [15] * 8 + [3] * 2


def test_copies_with_a_predicate_do_not_tell_how_often_their_block_runs() -> None:
    code = machine_code(
        "MOV:1 BRA:1 FADD:2 BRA:4 FADD:2 FADD:2 ISETP:3 BRA:4 IADD3:1 STG:5 EXIT:6",
        {1: ("@P3", 9), 3: ("@P2", 8), 7: ("@P1", 4)},
    )
    instructions = list(code.instructions)
    instructions[2] = replace(instructions[2], predicate="@P0")  # the iteration of an odd number
    pairs = ptx_blocks(
        ("mov.u32", 1, (1,)),
        ("add.f32 setp.lt.s32 bra", 4, (1, 2)),
        ("st.global.f32 ret", 1, ()),
        of_1=IterationGroups(2, 64, 1, 32),
    )
    counts = machine_counts(MachineCode("small", tuple(instructions)), pairs)
    assert [entry.warps for entry in counts.executed] == [1] * 4 + [2] * 4 + [1] * 3
    assert [entry.threads_on for entry in counts.executed if entry.instruction.op == "FADD"] == [0, 64, 64]


def test_exchange_in_parts_is_executed_by_no_converged_warp() -> None:
    code = machine_code(
        "LDG:1 BRA.DIV:2 SHFL:2 FADD:3 STG:4 EXIT:5 WARPSYNC:2 COLLECTIVE:2 SHFL:2 FADD:3 FADD:3 BRA:3",
        {1: ("", 6), 11: ("", 4)},
    )
    exchange = ptx_blocks(("ld.global.f32 shfl.sync.bfly.b32 add.f32 st.global.f32 ret", 3, ()))
    assert executions(code, exchange) == [3] * 6 + [0] * 6


@pytest.mark.parametrize("launch", ["lane_copies", "peeled", "leader", "places"])
def test_counts_of_other_shapes_are_no_estimates(launch: str) -> None:
    assert counts_of(launch).caveats == ()


def test_warps_of_which_not_all_are_full_are_an_estimate() -> None:
    partial = [replace(b, threads=b.threads - 16 * b.warps // 2) for b in ptx_of("places")]
    (caveat,) = machine_counts(code_of("places"), partial).caveats
    assert "are estimates" in caveat
