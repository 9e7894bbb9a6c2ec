"""The explorer's scheduler: foreground, background, verification, cancellation and end."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue

import pytest

from gpulab.cache import DiskCache
from gpulab.cell import parse_cell, require_kernel_cell
from gpulab.devices import open_device
from gpulab.exploration.scheduler import Exploration, Task
from gpulab.exploration.search_space import Candidate
from gpulab.profiling.bench import Bench
from gpulab.simt.codegen import jit, native

LONG_S = 120  # on a busy machine
K1 = """%%cuda matmul.K1 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * FIXED + threadIdx.x, j = blockIdx.y;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
"""
SMALL = (256, 256, 256)


def candidate(source: str) -> Candidate:
    return Candidate(require_kernel_cell(parse_cell(source)), SMALL, "sim")


CORRECT = candidate(K1.replace("FIXED", "blockDim.x"))
CORRECT_FOR_64 = candidate(K1.replace("FIXED", "64"))


class Explored:
    """An exploration and its reports."""

    def __init__(self) -> None:
        self.reports: Queue[Candidate] = Queue()
        self.exploration = Exploration(self.reports.put)

    def wait_until(self, done: Callable[[Exploration], bool]) -> None:
        while not done(self.exploration):
            self.reports.get(timeout=LONG_S)


@pytest.fixture
def explored() -> Iterator[Explored]:
    made = Explored()
    yield made
    made.exploration.end()


def test_requested_candidate_is_reported_and_then_known(explored: Explored) -> None:
    assert explored.exploration.request(CORRECT) is None
    assert explored.reports.get(timeout=LONG_S) == CORRECT
    point = explored.exploration.request(CORRECT)
    assert point is not None
    assert point.kernel_gflops
    assert point.explanation
    assert CORRECT not in explored.exploration.checked


def test_background_times_and_then_verifies(explored: Explored) -> None:
    wide = CORRECT.at(block=(128, 1, 1))
    explored.exploration.fill([Task(CORRECT), Task(wide), Task(CORRECT, check=True)])
    explored.wait_until(lambda exploration: CORRECT in exploration.checked)
    assert explored.exploration.points[wide].timing
    assert wide not in explored.exploration.checked


def test_kernel_that_is_correct_for_one_block_only_is_detected(explored: Explored) -> None:
    narrow = CORRECT_FOR_64.at(block=(32, 1, 1))
    explored.exploration.fill([Task(CORRECT_FOR_64, check=True), Task(narrow, check=True)])
    explored.wait_until(lambda exploration: {CORRECT_FOR_64, narrow} <= exploration.checked)
    assert explored.exploration.points[CORRECT_FOR_64].timing
    assert explored.exploration.points[narrow].wrong


def test_points_survive_a_cancellation(explored: Explored) -> None:
    explored.exploration.fill([Task(CORRECT)])
    explored.wait_until(lambda exploration: CORRECT in exploration.points)
    explored.exploration.fill([Task(CORRECT.at(block=(128, 1, 1)), check=True)])
    explored.exploration.cancel()
    assert explored.exploration.points[CORRECT].timing


def test_cancelled_candidate_is_not_reported_and_can_be_timed_later(explored: Explored) -> None:
    explored.exploration.fill([Task(CORRECT, check=True)])
    with pytest.raises(Empty):  # the worker process is still starting
        explored.reports.get(timeout=0.2)
    explored.exploration.cancel()
    with pytest.raises(Empty):
        explored.reports.get(timeout=2)
    assert CORRECT not in explored.exploration.points
    explored.exploration.fill([Task(CORRECT)])
    explored.wait_until(lambda exploration: CORRECT in exploration.points)
    assert explored.exploration.points[CORRECT].timing


@pytest.mark.parametrize("gpu", ["sim", "sim:gtx280"])
def test_prepared_code_is_not_compiled_again(
    gpu: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiled: list[str] = []

    def counted(text: str, *, quickly: bool = False) -> bytes:
        if quickly:  # code that runs for long is optimised, which depends on the load of the machine
            compiled.append(text)
        return compile_text(text, quickly=quickly)

    compile_text = jit.compile_text
    monkeypatch.setattr(jit, "compile_text", counted)
    monkeypatch.setattr(native, "kernel_cache", lambda: DiskCache(tmp_path, 1 << 28))
    with Bench(open_device(gpu), check=False) as bench:
        bench.prepare(CORRECT.cell)
        assert len(compiled) == 1
        assert bench.point(CORRECT.cell, SMALL).kernel_ms
        assert sum("@sim_request" in text for text in compiled) == 1


def test_one_block_of_each_class_is_prepared_first(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of a class share code, so the others have little left to compile."""
    ran: Queue[Task] = Queue()
    monkeypatch.setattr("gpulab.worker_process.Worker.call", lambda _, task: ran.put(task))
    blocks = [(64, 1, 1), (128, 1, 1), (16, 8, 1), (32, 1, 1), (8, 8, 1), (16, 4, 1)]
    candidates = [CORRECT.at(block=block) for block in blocks]
    explored.exploration.fill(map(Task, candidates))
    tasks = [ran.get(timeout=LONG_S) for _ in range(2 * len(blocks))]
    prepared = [task.candidate.block for task in tasks if task.prepare]
    assert sorted(prepared[:3]) == [(8, 8, 1), (16, 8, 1), (64, 1, 1)]
    assert prepared[3:] == [(128, 1, 1), (32, 1, 1), (16, 4, 1)]
    assert [task.candidate for task in tasks if not task.prepare] == candidates


def test_nothing_is_reported_after_the_end() -> None:
    explored = Explored()
    explored.exploration.request(CORRECT)
    explored.exploration.end()
    with pytest.raises(Empty):
        explored.reports.get(timeout=2)


KILLED = """
import multiprocessing, os, sys, time
from gpulab.cell import parse_cell
from gpulab.exploration.scheduler import Exploration, Task
from gpulab.exploration.search_space import Candidate

if __name__ == "__main__":
    exploration = Exploration(lambda _: None)
    candidate = Candidate(parse_cell(sys.stdin.read()), (256, 256, 256), "sim")
    exploration.fill([Task(candidate), Task(candidate.at(block=(128, 1, 1)), check=True)])
    while not exploration.points:
        time.sleep(0.05)
    print(*(process.pid for process in multiprocessing.active_children()), flush=True)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_worker_process_ends_with_its_parent(how: str, tmp_path: Path) -> None:
    script = tmp_path / "explores.py"
    script.write_text(KILLED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), how], input=K1.replace("FIXED", "blockDim.x"), capture_output=True,
        text=True, timeout=LONG_S, check=False,
    )  # fmt: skip
    numbers = [int(number) for number in done.stdout.split()]
    assert numbers, done.stderr
    end = time.monotonic() + LONG_S
    while any(Path("/proc", str(number), "exe").exists() for number in numbers):
        assert time.monotonic() < end
        time.sleep(0.05)
