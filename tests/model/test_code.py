"""How long a warp takes by itself: who waits for whom."""

from __future__ import annotations

import pytest

from gpulab.model.code import CodeBlock, Step, Unit, block_cycles, warp_cycles

UNITS = {"load": Unit(0, 1), "fp32": Unit(4, 1), "slow": Unit(4, 8), "barrier": Unit(20, 1)}
FAR = 100


def latency(step: Step) -> float:
    return FAR


def cycles(*steps: Step) -> float:
    return block_cycles([CodeBlock(steps, 1.0)], UNITS, latency)[0]


def load(register: str) -> Step:
    return Step("load", (), (register,), site=1)


def use(*registers: str) -> Step:
    return Step("fp32", registers, ("sum",))


def test_loads_in_a_row_cost_their_latency_once() -> None:
    assert cycles(load("a"), load("b"), use("a", "b")) == pytest.approx(FAR + 2)


def test_a_load_that_is_used_at_once_costs_its_latency_every_time() -> None:
    assert cycles(load("a"), use("a"), load("b"), use("b")) > 2 * FAR


def test_a_value_that_nobody_reads_costs_its_turn_only() -> None:
    assert cycles(load("a"), load("b")) == 2


def test_a_unit_that_is_busy_is_waited_for() -> None:
    assert cycles(Step("slow"), Step("slow")) == 9


def test_a_loop_waits_for_what_its_last_round_asked_for() -> None:
    body = CodeBlock((use("a"), load("a")), runs=10, before=0)
    assert block_cycles([body], UNITS, latency)[0] == pytest.approx(FAR + 1)


def test_a_barrier_takes_its_time_though_it_writes_nothing() -> None:
    assert cycles(Step("barrier"), use()) == 21


def test_cycles_are_the_mean_over_the_warps() -> None:
    block = CodeBlock((use(),), runs=30)
    assert warp_cycles([block], UNITS, latency, warps=10) == 3
