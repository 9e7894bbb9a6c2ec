"""Execution time of one warp: stalls on registers, units and barriers."""

from __future__ import annotations

import pytest

from gpulab.model.warp_timing import (
    CodeBlock,
    Operation,
    Unit,
    block_times,
    requests_since_stall,
    share_at_barriers,
    stalls,
    waits_by_site,
    warp_cycles,
)

UNITS = {"load": Unit(0, 1), "fp32": Unit(4, 1), "slow": Unit(4, 8), "barrier": Unit(20, 1)}
LATENCY = 100
BARRIER = Operation("barrier")


def latency(step: Operation) -> float:
    return LATENCY


def cycles(*steps: Operation) -> float:
    return block_times([CodeBlock(steps, 1.0)], UNITS, latency)[0].cycles


def load(register: str, site: int = 1) -> Operation:
    return Operation("load", (), (register,), site)


def use(*registers: str) -> Operation:
    return Operation("fp32", registers, ("sum",))


def test_consecutive_loads_cost_one_latency() -> None:
    assert cycles(load("a"), load("b"), use("a", "b")) == pytest.approx(LATENCY + 2)


def test_each_load_that_is_used_immediately_costs_its_latency() -> None:
    assert cycles(load("a"), use("a"), load("b"), use("b")) > 2 * LATENCY


def test_unused_result_costs_only_the_issue() -> None:
    assert cycles(load("a"), load("b")) == 2


def test_busy_unit_delays_the_next_operation() -> None:
    assert cycles(Operation("slow"), Operation("slow")) == 9


def test_loop_waits_for_the_load_of_its_previous_iteration() -> None:
    body = CodeBlock((use("a"), load("a")), runs=10, before=0)
    assert block_times([body], UNITS, latency)[0].cycles == pytest.approx(LATENCY + 1)


def test_stalls_count_the_waits_for_one_kind_of_load() -> None:
    shared = Operation("shared", (), ("c",), 2)
    code = [CodeBlock((load("a"), load("b"), use("a", "b"), shared, use("c")), runs=3.0)]
    units = UNITS | {"shared": Unit(0, 1)}
    assert stalls(code, units) == pytest.approx(3, rel=1e-3)
    assert stalls(code, units, "shared") == pytest.approx(3, rel=1e-3)
    assert stalls(code[:0], units) == 0


def test_barrier_delays_the_next_operation() -> None:
    assert cycles(BARRIER, use()) == 21


def test_warps_without_an_access_since_the_last_barrier_are_not_at_work() -> None:
    """Let 8 warps store, then 2 of them add, and then all compute, each time before a barrier."""
    store, add = Operation("shared_store", (), (), 1), Operation("shared", (), ("a",), 2)
    code = [CodeBlock((store, BARRIER, add, use("a"), BARRIER, use("b"), BARRIER), runs=8.0)]
    assert share_at_barriers(code, {1: 8.0, 2: 2.0}) == pytest.approx((1 + 1 / 4 + 1) / 3)
    assert share_at_barriers([CodeBlock((store,), runs=8.0)], {1: 8.0}) == 1


def test_access_of_the_previous_iteration_counts_at_the_first_barrier_of_a_loop() -> None:
    body = CodeBlock((BARRIER, Operation("shared", (), ("a",), 1)), runs=8.0, before=0)
    assert share_at_barriers([body], {1: 2.0}) == pytest.approx(1 / 4)


def test_warp_cycles_are_averaged_over_the_warps() -> None:
    block = CodeBlock((use(),), runs=30)
    assert warp_cycles([block], block_times([block], UNITS, latency), warps=10) == 3


def test_wait_counts_for_the_load_that_arrives_last() -> None:
    block = CodeBlock((load("a", 1), load("b", 2), use("a", "b"), load("c", 3), use("c")), runs=10)
    waits = waits_by_site([block], block_times([block], UNITS, latency))
    assert waits == pytest.approx({2: 10 * (LATENCY - 1), 3: 10 * (LATENCY - 1)})


def test_requests_count_from_the_last_wait_for_a_load() -> None:
    block = CodeBlock((load("a", 1), load("b", 2), use("a"), load("c", 3), load("d", 4)), runs=10)
    assert requests_since_stall([block]) == {1: 1, 2: 2, 3: 1, 4: 2}


def test_requests_of_earlier_iterations_count_if_the_warp_has_not_waited() -> None:
    body = CodeBlock((load("a", 1), load("b", 2)), runs=10, before=0)
    assert requests_since_stall([body])[2] > 2
