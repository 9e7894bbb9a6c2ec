"""Cycles of the parts of L2."""

from __future__ import annotations

from gpulab.model.caches import SiteTraffic
from gpulab.model.l2_cycles import L2Cycles, cycles_of_load, cycles_of_store


def load(lines: int, *, dram: bool) -> L2Cycles:
    sectors = 4 * lines
    if dram:
        return cycles_of_load(SiteTraffic(0, 0, 1, sectors, lines, 0, 0, sectors, lines))
    return cycles_of_load(SiteTraffic(0, 1, 0, sectors, lines, 0, sectors, 0, lines))


def test_line_from_dram_is_looked_up_twice() -> None:
    assert load(1, dram=False) == (1, 1, 2)
    assert load(1, dram=True) == (2, 1, 2)


def test_lines_of_one_instruction_are_requested_together() -> None:
    assert load(4, dram=False).entering < 4 * load(1, dram=False).entering


def test_hit_in_l1_does_not_reach_l2() -> None:
    assert cycles_of_load(SiteTraffic(1, 0, 0, 4, 1, 4, 0, 0, 0)) == (0, 0, 0)


def test_line_that_is_written_in_part_takes_another_cycle() -> None:
    assert cycles_of_store(1, 4, partial=0, evicted=0).entering == 4
    assert cycles_of_store(1, 4, partial=4, evicted=0).entering == 5
    assert cycles_of_store(1, 1, partial=1, evicted=0).entering == 2


def test_line_that_goes_on_to_dram_is_looked_up_more_often() -> None:
    assert cycles_of_store(1, 4, 0, evicted=1).lookups > cycles_of_store(1, 4, 0, evicted=0).lookups > 1


def test_total_is_weighted() -> None:
    assert L2Cycles.total([(2, L2Cycles(1, 2, 3)), (1, L2Cycles(1, 0, 0))]) == (3, 4, 6)
    assert L2Cycles.total([]) == (0, 0, 0)
