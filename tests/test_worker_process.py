"""Worker processes, and kernel checks that run in one; here on the simulator."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gpulab.cell import Cell, parse_cell
from gpulab.problems import problem, problem_names
from gpulab.verification.outcome import outcome_in_process
from gpulab.worker_process import Worker, WorkerDied
from tests.kernels.corpus import FOLDER

UNLIMITED_S = 30.0  # long enough for a worker process to start on a busy machine


def cell(file: str) -> Cell:
    return parse_cell((FOLDER / "stencil" / file).read_text(encoding="utf-8"), file)


@pytest.mark.parametrize(
    ("file", "exit_code"),
    [("right/naive_macros.cu", 0), ("wrong/skips_last_frame.cu", 1), ("wrong/syntax_error.cu", 1)],
)
def test_outcome_in_process_returns_the_outcome(file: str, exit_code: int) -> None:
    outcome = outcome_in_process(cell(file), "sim", "simulator")
    assert outcome.exit_code == exit_code
    assert outcome.stopped == ""


def test_outcome_in_process_of_a_check_over_its_time_limit_is_wrong() -> None:
    outcome = outcome_in_process(cell("right/naive_macros.cu"), "sim", "simulator", limit_s=0.01)
    assert outcome.exit_code == 1
    assert "0.01 seconds" in outcome.reasons[0]


def test_outcome_in_process_raises_errors_that_the_kernel_did_not_cause() -> None:
    with pytest.raises(RuntimeError, match="no_such_gpu"):
        outcome_in_process(cell("right/naive_macros.cu"), "sim:no_such_gpu", "simulator")


@pytest.mark.parametrize("name", problem_names())
def test_requirements_of_a_variant_can_be_pickled(name: str) -> None:
    for variant in problem(name).variants.values():
        restored = pickle.loads(pickle.dumps(variant.requirements))
        for before, after in zip(variant.requirements, restored, strict=True):
            assert (after.metric, after.baseline_value) == (before.metric, before.baseline_value)


def adder(start: int) -> Any:
    """Return a function that adds its argument to a running total, or ends or blocks its process."""
    total = start

    def add(argument: Any) -> int:
        nonlocal total
        if argument == "exit":
            os._exit(3)
        if argument == "sleep":
            time.sleep(60)
        total += argument
        return total

    return add


def test_worker_builds_its_function_once_for_many_calls() -> None:
    with Worker(adder, 10) as worker:
        assert [worker.call(1), worker.call(1), worker.call(5)] == [11, 12, 17]


@pytest.mark.parametrize(
    ("argument", "limit_s", "reported"), [("exit", UNLIMITED_S, "3"), ("sleep", 1.0, "1 s")]
)
def test_worker_that_died_is_reported_and_restarted(argument: str, limit_s: float, reported: str) -> None:
    with Worker(adder, 10) as worker:
        assert worker.call(1) == 11
        with pytest.raises(WorkerDied, match=reported):
            worker.call(argument, limit_s=limit_s)
        assert worker.call(1) == 11


def test_worker_reports_an_exception_of_its_function_and_keeps_running() -> None:
    with Worker(adder, 10) as worker:
        with pytest.raises(RuntimeError, match="TypeError"):
            worker.call(None)
        assert worker.call(1) == 11


def test_worker_is_running_between_its_first_call_and_its_end() -> None:
    worker = Worker(adder, 10)
    assert not worker.is_running
    worker.call(1)
    assert worker.is_running
    worker.end()
    assert not worker.is_running


def test_ending_a_worker_that_was_never_called_returns_no_exit_code() -> None:
    assert Worker(adder, 10).end() is None


def test_worker_that_is_idle_ends_and_the_next_call_starts_another() -> None:
    with Worker(adder, 10, name="idle worker", idle_s=0.2) as worker:
        assert worker.call(1) == 11
        (process,) = (each for each in multiprocessing.active_children() if each.name == "idle worker")
        process.join(UNLIMITED_S)
        assert process.exitcode == 0
        assert worker.call(1) == 11


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to one process")
def test_interrupts_do_not_end_a_worker_that_is_starting(capfd: pytest.CaptureFixture[str]) -> None:
    with Worker(adder, 10, name="interrupted worker") as worker, ThreadPoolExecutor() as threads:
        result = threads.submit(worker.call, 1)
        while not result.done():
            for process in multiprocessing.active_children():
                if process.name == "interrupted worker" and process.pid is not None:
                    os.kill(process.pid, signal.SIGINT)
            time.sleep(0.01)
        assert result.result() == 11
    assert capfd.readouterr().err == ""


BUSY = """
import multiprocessing, os, threading, time
from gpulab.worker_process import Worker
from tests.test_worker_process import adder

worker = Worker(adder, 10)
worker.call(1)
print(multiprocessing.active_children()[0].pid, flush=True)
threading.Thread(target=worker.call, args=("sleep",), daemon=True).start()
time.sleep(0.2)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_busy_worker_ends_with_its_parent(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    printed = tmp_path / "printed"
    with printed.open("w") as file:  # not a pipe, which the worker would keep open
        command = [sys.executable, "-c", BUSY]
        subprocess.run(command, stdout=file, check=False, env=os.environ | {"PYTHONPATH": paths})
    number = printed.read_text().strip()
    assert number.isdecimal()
    end = time.monotonic() + UNLIMITED_S
    while Path("/proc", number, "exe").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
