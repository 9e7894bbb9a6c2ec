"""Modelled times that another process computes while a kernel cell is checked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from gpulab.cell import KernelCell, parse_cell
from gpulab.devices.simulator.simulated_device import simulator
from gpulab.notebook import magic, timing_process
from gpulab.notebook.timing_process import TimingProcess
from gpulab.profiling import speedup
from gpulab.profiling.speedup import VariantTiming, time_variant
from gpulab.verification.check import load_cell
from gpulab.worker_process import Worker, WorkerDied
from tests.kernels.corpus import FOLDER
from tests.notebook.conftest import CellRun

TEXT = (FOLDER / "matmul/right/K1_pointer_walk.cu").read_text(encoding="utf-8")


@pytest.fixture
def cell() -> KernelCell:
    parsed = parse_cell(TEXT)
    assert isinstance(parsed, KernelCell)
    return parsed


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[TimingProcess]:
    monkeypatch.setattr(timing_process, "cores", lambda: 2)
    fresh = TimingProcess()
    yield fresh
    fresh.end()


class InlineWorker:
    """A worker whose calls run here, or raise an error."""

    is_running = True

    def __init__(self, call: Any) -> None:
        self.call = call

    def end(self) -> None: ...


def use(process: TimingProcess, call: Any) -> None:
    """Give a process that counts as started a worker that makes calls with `call`."""
    process._worker = InlineWorker(call)  # type: ignore[assignment]
    process._enabled = True


def wait_until_idle(process: TimingProcess) -> None:
    with process._calling:
        pass


def test_process_returns_the_time_that_is_computed_here(process: TimingProcess, cell: KernelCell) -> None:
    kernel = load_cell(cell, simulator("h200"))
    process.start()
    wait_until_idle(process)
    pending = process.request(kernel, cell.config)
    assert pending is not None
    timing = pending.wait()
    assert timing == time_variant(kernel, cell.config)
    assert timing.config is cell.config


def test_process_that_was_not_started_models_nothing(process: TimingProcess, cell: KernelCell) -> None:
    assert process.request(load_cell(cell, simulator("h200")), cell.config) is None


def test_process_does_not_start_on_one_core(process: TimingProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing_process, "cores", lambda: 1)
    started: list[bytes] = []
    monkeypatch.setattr(Worker, "call", lambda worker, call: started.append(call))
    process.start()
    wait_until_idle(process)
    assert not started


def test_process_that_has_ended_starts_again(
    process: TimingProcess, cell: KernelCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[bytes] = []
    monkeypatch.setattr(Worker, "call", lambda worker, call: started.append(call))
    process.start()
    wait_until_idle(process)
    assert process.request(load_cell(cell, simulator("h200")), cell.config) is None
    wait_until_idle(process)
    assert started == [b"", b""]


@pytest.mark.parametrize(
    "error", [WorkerDied("killed"), RuntimeError("the worker process raised LaunchError")]
)
def test_failure_of_the_process_gives_no_time(
    process: TimingProcess, cell: KernelCell, error: Exception
) -> None:
    def fail(call: bytes) -> None:
        raise error

    use(process, fail)
    kernel = load_cell(cell, simulator("h200"))
    for _ in range(2):  # the process can be used again
        pending = process.request(kernel, cell.config)
        assert pending is not None
        assert pending.wait() is None
        wait_until_idle(process)


def test_busy_process_takes_no_further_request(process: TimingProcess, cell: KernelCell) -> None:
    release = threading.Event()
    use(process, lambda call: release.wait() and None)
    kernel = load_cell(cell, simulator("h200"))
    first, second = process.request(kernel, cell.config), process.request(kernel, cell.config)
    release.set()
    assert first is not None
    assert second is None


def test_problem_that_cannot_be_pickled_is_not_requested(
    process: TimingProcess, cell: KernelCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = load_cell(cell, simulator("h200"))
    use(process, lambda call: pytest.fail("the process was called"))
    monkeypatch.setattr(cell.config.problem, "found_by", None)
    assert process.request(kernel, cell.config) is None


@pytest.mark.parametrize("fails", [False, True])
def test_cell_models_its_time_only_if_the_process_does_not(
    shell: InteractiveShell, process: TimingProcess, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    def model(call: bytes) -> VariantTiming | None:
        if fails:
            raise WorkerDied("killed")
        return timing_process._modelled(call)

    use(process, model)
    monkeypatch.setattr(magic, "timing_process", process)
    here: list[str] = []

    def counting(*args: Any, **options: Any) -> VariantTiming:
        here.append(threading.current_thread().name)
        return time_variant(*args, **options)

    monkeypatch.setattr(speedup, "time_variant", counting)
    run = CellRun(shell, TEXT.removeprefix("//").lstrip())
    assert run.error is None
    assert "modelled" in run.html
    assert here == (["MainThread"] if fails else ["gpulab timing"])
