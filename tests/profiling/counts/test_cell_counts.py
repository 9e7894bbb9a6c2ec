"""Tests of the counts of a cell's kernel by source line."""

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


def count(cell, shape=None) -> LaunchReport:
    device = gpulab.device("sim:h200")
    return count_cell(cell, compile_cell(cell, device), shape=shape, sampled=True).report


@pytest.fixture(scope="module")
def tiles() -> LaunchReport:
    return count(read_cells(KERNELS / "matmul/right/K5_tiles.cu")[0])


@pytest.fixture(scope="module")
def uncoalesced() -> LaunchReport:
    return count(read_cells(KERNELS / "matmul/right/Ks_rows_across_threads.cu")[0])


def line_of(counts, number):
    return next(line for line in counts.lines if line.number == number)


def test_every_source_line_has_a_row(tiles):
    text = (KERNELS / "matmul/right/K5_tiles.cu").read_text().splitlines()
    assert [line.text for line in tiles.lines] == text
    assert [line.number for line in tiles.lines] == list(range(1, len(text) + 1))


def test_line_counts_add_up_to_the_launch(tiles):
    totals = tiles.counters
    loads = [g for line in tiles.lines for g in line.accesses if (g.space, g.kind) == ("global", "load")]
    assert sum(g.traffic.units for g in loads) == totals.global_load_sectors
    assert sum(g.traffic.requests for g in loads) == totals.global_load_requests
    assert sum(line.share for line in tiles.lines) == pytest.approx(1, abs=0.05)


def test_bank_conflict_is_counted_at_its_line(tiles):
    store = line_of(tiles, 11).wavefronts
    assert (store.per_request, store.fewest_per_request, store.excess) == (2, 1, 2)
    assert line_of(tiles, 10).wavefronts.excess == 1
    assert line_of(tiles, 12).wavefronts is None


def test_uncoalesced_access_is_counted_at_its_line(uncoalesced):
    line = line_of(uncoalesced, 9)
    distant, adjacent = line.accesses
    assert (distant.array, distant.traffic.per_request, distant.traffic.fewest_per_request) == ("c", 32, 4)
    assert (adjacent.array, adjacent.traffic.per_request, adjacent.traffic.excess) == ("b", 1, 1)
    assert line.waste == 28 * distant.traffic.requests


def test_instructions_of_an_unrolled_loop_form_one_group(tiles):
    groups = line_of(tiles, 14).accesses
    assert {g.array for g in groups} == {"bt", "ct"}
    assert {g.instructions for g in groups} == {16}


KINDS = ["matmul/right/K5_tiles", "matmul/right/K3_float4_rows", "stencil/right/opt_3_pair_in_x_adjacent",
         "stencil/right/opt_4_float4", "stencil/right/naive_unsigned"]  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_worst_request_touches_as_many_sectors_as_were_counted(name):
    counts = count(read_cells(KERNELS / f"{name}.cu")[0])
    groups = [g for line in counts.lines for g in line.accesses]
    assert groups
    for group in groups:
        if group.space == "global":
            assert len(group.worst.touched) == group.worst.units
        elif group.width == 4:
            assert group.worst.deepest == group.worst.units
        assert group.array


def test_size_can_be_chosen_and_is_part_of_the_origin(uncoalesced):
    cell = read_cells(KERNELS / "matmul/right/Ks_rows_across_threads.cu")[0]
    small = count(cell, (32, 32, 32))
    assert small.size == "32x32x32"
    assert small.counters.warp_instructions < uncoalesced.counters.warp_instructions
    assert small.size in small.origin
    assert small.as_dict()["exact"] is True


def test_sampled_counts_are_not_exact():
    cell = read_cells(KERNELS / "stencil/right/naive_unsigned.cu")[0]
    counts = count(cell, (1040, 1040, 3))
    assert counts.counters.sampled_blocks is not None
    assert str(counts.counters.sampled_blocks) in counts.origin
    assert counts.as_dict()["exact"] is False


def test_counts_with_caveats_are_not_exact(tiles):
    uncertain = replace(tiles, counters=replace(tiles.counters, caveats=("caveat",)))
    assert uncertain.origin != tiles.origin
    assert uncertain.as_dict()["exact"] is False


def test_fault_raises():
    path = next((KERNELS / "stencil/wrong").glob("reads_past_the_array.cu"))
    with pytest.raises(MemoryFault):
        count(read_cells(path)[0])


def test_traffic_adds_and_divides():
    assert Traffic(10, 40, 40).excess == 1
    assert Traffic(0, 0, 0).per_request == 0
    assert Traffic(10, 40, 40) + Traffic(2, 64, 8) == Traffic(12, 104, 48)
