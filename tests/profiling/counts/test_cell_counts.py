"""A cell's kernel counted line by line, on the simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gpulab
from gpulab.cell import read_cells
from gpulab.errors import MemoryFault
from gpulab.profiling.counts.cell_counts import LaunchReport, count_cell
from gpulab.profiling.counts.source_lines import Traffic
from gpulab.verification.check import compile_cell

KERNELS = Path(__file__).parents[2] / "kernels"


def counted(cell, shape=None) -> LaunchReport:
    device = gpulab.device("sim:h200")
    return count_cell(cell, compile_cell(cell, device), shape=shape).report


@pytest.fixture(scope="module")
def tiles() -> LaunchReport:
    return counted(read_cells(KERNELS / "matmul/right/K5_tiles.cu")[0])


@pytest.fixture(scope="module")
def columns() -> LaunchReport:
    return counted(read_cells(KERNELS / "matmul/right/Ks_rows_across_threads.cu")[0])


def at(counts, number):
    return next(line for line in counts.lines if line.number == number)


def test_every_line_of_the_text_has_a_row(tiles):
    text = (KERNELS / "matmul/right/K5_tiles.cu").read_text().splitlines()
    assert [line.text for line in tiles.lines] == text
    assert [line.number for line in tiles.lines] == list(range(1, len(text) + 1))


def test_rows_add_up_to_the_launch(tiles):
    every = tiles.counters
    loads = [g for line in tiles.lines for g in line.accesses if (g.space, g.kind) == ("global", "load")]
    assert sum(g.traffic.units for g in loads) == every.global_load_sectors
    assert sum(g.traffic.requests for g in loads) == every.global_load_requests
    assert sum(line.share for line in tiles.lines) == pytest.approx(1, abs=0.05)


def test_a_bank_conflict_stands_at_its_line(tiles):
    store = at(tiles, 11).wavefronts
    assert (store.per_request, store.fewest_per_request, store.excess) == (2, 1, 2)
    assert at(tiles, 10).wavefronts.excess == 1
    assert at(tiles, 12).wavefronts is None


def test_accesses_far_apart_stand_at_their_line(columns):
    line = at(columns, 9)
    far, near = line.accesses
    assert (far.array, far.traffic.per_request, far.traffic.fewest_per_request) == ("c", 32, 4)
    assert (near.array, near.traffic.per_request, near.traffic.excess) == ("b", 1, 1)
    assert line.waste == 28 * far.traffic.requests


def test_copies_of_an_unrolled_loop_are_drawn_once(tiles):
    groups = at(tiles, 14).accesses
    assert {g.array for g in groups} == {"bt", "ct"}
    assert {g.instructions for g in groups} == {16}


KINDS = ["matmul/right/K5_tiles", "matmul/right/K3_float4_rows", "stencil/right/opt_3_pair_in_x_adjacent",
         "stencil/right/opt_4_float4", "stencil/right/naive_unsigned"]  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_drawing_has_as_many_sectors_as_were_counted(name):
    counts = counted(read_cells(KERNELS / f"{name}.cu")[0])
    drawn = [g for line in counts.lines for g in line.accesses]
    assert drawn
    for group in drawn:
        if group.space == "global":
            assert len(group.worst.touched) == group.worst.units
        elif group.width == 4:
            assert group.worst.deepest == group.worst.units
        assert group.array


def test_the_size_can_be_chosen_and_is_told(columns):
    cell = read_cells(KERNELS / "matmul/right/Ks_rows_across_threads.cu")[0]
    other = counted(cell, (32, 32, 32))
    assert other.size == "32x32x32"
    assert other.counters.warp_instructions < columns.counters.warp_instructions
    assert other.origin == "counted by the simulator (H200) on 32x32x32: exact"


def test_a_sample_says_so():
    cell = read_cells(KERNELS / "stencil/right/naive_unsigned.cu")[0]
    counts = counted(cell, (1040, 1040, 3))
    assert counts.counters.sampled_blocks is not None
    assert "a sample of" in counts.origin
    assert counts.as_dict()["exact"] is False


def test_what_is_not_certain_is_not_called_exact(tiles):
    doubtful = replace(tiles, counters=replace(tiles.counters, caveats=("one line is an estimate",)))
    assert doubtful.origin.endswith("exact, except as noted")
    assert doubtful.as_dict()["exact"] is False


def test_a_fault_is_raised():
    path = next((KERNELS / "stencil/wrong").glob("reads_past_the_array.cu"))
    with pytest.raises(MemoryFault):
        counted(read_cells(path)[0])


def test_what_takes_no_more_than_it_must_has_nothing_to_gain():
    assert Traffic(10, 40, 40).excess == 1
    assert Traffic(0, 0, 0).per_request == 0
    assert Traffic(10, 40, 40) + Traffic(2, 64, 8) == Traffic(12, 104, 48)
