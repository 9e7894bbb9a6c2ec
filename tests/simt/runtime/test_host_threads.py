"""Threads run tasks side by side, return what they return or raise, and are used again."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from gpulab.errors import LaunchError
from gpulab.simt.runtime.host_threads import HostThreads, host_threads


def test_tasks_run_side_by_side() -> None:
    threads, done, barrier = HostThreads(3, 1 << 20), SimpleQueue[object](), threading.Barrier(3)

    def run(number: int) -> int:
        barrier.wait(10)  # a task alone would not pass
        return number**2

    for number in range(3):
        threads.submit(run, number, done)
    assert sorted(done.get(timeout=10) for _ in range(3)) == [0, 1, 4]  # type: ignore[type-var]


def test_exception_is_a_result() -> None:
    threads, done = HostThreads(1, 1 << 20), SimpleQueue[object]()
    threads.submit(lambda number: 1 // number, 0, done)
    assert isinstance(done.get(timeout=10), ZeroDivisionError)
    threads.submit(lambda number: 1 // number, 1, done)
    assert done.get(timeout=10) == 1


def test_launches_with_the_same_stack_share_threads() -> None:
    assert host_threads(1 << 24) is host_threads(1 << 24)
    assert host_threads(1 << 24) is not host_threads(1 << 25)


def test_thread_that_cannot_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(LaunchError, match="can't start new thread"):
        HostThreads(2, 1 << 20)
