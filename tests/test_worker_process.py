"""Kernels in a process of their own, here on the simulator, and the process itself."""

from __future__ import annotations

import os
import pickle
import time
from typing import Any

import pytest

from gpulab.cell import Cell, parse_cell
from gpulab.problems import problem, problem_names
from gpulab.verification.outcome import outcome_in_process
from gpulab.worker_process import Worker, WorkerDied
from tests.kernels.corpus import FOLDER


def cell(file: str) -> Cell:
    return parse_cell((FOLDER / "stencil" / file).read_text(encoding="utf-8"), file)


@pytest.mark.parametrize(
    ("file", "exit_code"),
    [("right/naive_macros.cu", 0), ("wrong/skips_last_frame.cu", 1), ("wrong/syntax_error.cu", 1)],
)
def test_the_outcome_comes_back_from_the_process(file: str, exit_code: int) -> None:
    outcome = outcome_in_process(cell(file), "sim", "simulator")
    assert outcome.exit_code == exit_code
    assert outcome.stopped == ""


def test_a_process_that_takes_too_long_is_ended_and_the_kernel_is_wrong() -> None:
    outcome = outcome_in_process(cell("right/naive_macros.cu"), "sim", "simulator", limit_s=0.01)
    assert outcome.exit_code == 1
    assert "did not end" in outcome.reasons[0]


def test_an_error_that_is_not_about_the_kernel_is_not_hidden() -> None:
    with pytest.raises(RuntimeError, match="no_such_gpu"):
        outcome_in_process(cell("right/naive_macros.cu"), "sim:no_such_gpu", "simulator")


@pytest.mark.parametrize("name", problem_names())
def test_what_a_step_promises_can_be_sent_from_process_to_process(name: str) -> None:
    for variant in problem(name).variants.values():
        for promise, sent in zip(variant.promises, pickle.loads(pickle.dumps(variant.promises)), strict=True):
            assert (sent.what, sent.before) == (promise.what, promise.before)


def adder(start: int) -> Any:
    """Built in the worker's process: adds up what it is asked, or does as it is told."""
    total = start

    def answer(asked: Any) -> int:
        nonlocal total
        if asked == "die":
            os._exit(3)
        if asked == "sleep":
            time.sleep(60)
        total += asked
        return total

    return answer


def test_a_worker_is_built_once_and_answers_many_times() -> None:
    with Worker(adder, 10) as worker:
        assert [worker.ask(1), worker.ask(1), worker.ask(5)] == [11, 12, 17]


@pytest.mark.parametrize(("asked", "said"), [("die", "exit code 3"), ("sleep", "did not end")])
def test_a_worker_that_stops_says_how_and_starts_again(asked: str, said: str) -> None:
    with Worker(adder, 10) as worker:
        assert worker.ask(1) == 11
        with pytest.raises(WorkerDied, match=said):
            worker.ask(asked, limit_s=1.0 if asked == "sleep" else 30.0)
        assert worker.ask(1) == 11


def test_a_worker_that_was_never_asked_ends_without_a_word() -> None:
    assert Worker(adder, 10).end() is None
