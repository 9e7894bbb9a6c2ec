"""Points for an explorer: found at once or in the background, checked, left and ended."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue

import pytest

from gpulab.cache import DiskCache
from gpulab.cell import parse_cell
from gpulab.devices import open_device
from gpulab.exploration.scheduler import Exploration, Task, _Lane
from gpulab.exploration.search_space import Setting
from gpulab.profiling.bench import Bench
from gpulab.simt.codegen import jit, native

LONG_S = 120  # a busy machine
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
RIGHT = Setting(parse_cell(K1.replace("FIXED", "blockDim.x")), SMALL, "sim")
FOR_64_ONLY = Setting(parse_cell(K1.replace("FIXED", "64")), SMALL, "sim")


class Heard:
    """An exploration, and what it tells."""

    def __init__(self) -> None:
        self.told: Queue[Setting] = Queue()
        self.exploration = Exploration(self.told.put)

    def wait_for(self, done: Callable[[Exploration], bool]) -> None:
        while not done(self.exploration):
            self.told.get(timeout=LONG_S)


@pytest.fixture
def heard() -> Iterator[Heard]:
    found = Heard()
    yield found
    found.exploration.end()


def test_a_point_that_is_waited_for_is_told_and_then_known(heard: Heard) -> None:
    assert heard.exploration.now(RIGHT) is None
    assert heard.told.get(timeout=LONG_S) == RIGHT
    point = heard.exploration.now(RIGHT)
    assert point is not None
    assert point.kernel_gflops
    assert point.words.startswith("bound by")
    assert RIGHT not in heard.exploration.checked


def test_the_background_times_and_then_checks(heard: Heard) -> None:
    wide = RIGHT.at(block=(128, 1, 1))
    heard.exploration.fill([Task(RIGHT, check=False), Task(wide, check=False), Task(RIGHT, check=True)])
    heard.wait_for(lambda exploration: RIGHT in exploration.checked)
    assert heard.exploration.points[wide].timing
    assert wide not in heard.exploration.checked


def test_a_kernel_that_is_right_with_its_own_block_only_is_found_out(heard: Heard) -> None:
    narrow = FOR_64_ONLY.at(block=(32, 1, 1))
    heard.exploration.fill([Task(FOR_64_ONLY, check=True), Task(narrow, check=True)])
    heard.wait_for(lambda exploration: {FOR_64_ONLY, narrow} <= exploration.checked)
    assert heard.exploration.points[FOR_64_ONLY].timing
    assert heard.exploration.points[narrow].wrong
    assert "wrong with this block" in heard.exploration.points[narrow].error


def test_what_is_known_stays_when_the_rest_is_left(heard: Heard) -> None:
    heard.exploration.fill([Task(RIGHT, check=False)])
    heard.wait_for(lambda exploration: RIGHT in exploration.points)
    heard.exploration.fill([Task(RIGHT.at(block=(128, 1, 1)), check=True)])
    heard.exploration.cancel()
    assert heard.exploration.points[RIGHT].timing


def test_a_point_that_was_left_on_its_way_is_not_a_failed_one(heard: Heard) -> None:
    heard.exploration.fill([Task(RIGHT, check=True)])
    with pytest.raises(Empty):  # its process is still starting
        heard.told.get(timeout=0.2)
    heard.exploration.cancel()
    with pytest.raises(Empty):
        heard.told.get(timeout=2)
    assert RIGHT not in heard.exploration.points
    heard.exploration.fill([Task(RIGHT, check=False)])
    heard.wait_for(lambda exploration: RIGHT in exploration.points)
    assert heard.exploration.points[RIGHT].timing


@pytest.mark.parametrize("gpu", ["sim", "sim:gtx280"])
def test_what_is_prepared_is_not_compiled_again(
    gpu: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiled: list[str] = []

    def counted(text: str, *, quickly: bool = False) -> bytes:
        compiled.append(text)
        return compile_text(text, quickly=quickly)

    compile_text = jit.compile_text
    monkeypatch.setattr(jit, "compile_text", counted)
    monkeypatch.setattr(native, "kernel_cache", lambda: DiskCache(tmp_path, 1 << 28))
    with Bench(open_device(gpu), check=False) as bench:
        bench.prepare(RIGHT.cell)
        assert len(compiled) == 1
        assert bench.point(RIGHT.cell, SMALL).kernel_ms
        assert sum("@sim_request" in text for text in compiled) == 1


def test_one_block_of_each_kind_is_prepared_first(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a kind share code, so the others of it then have little left to compile."""
    asked: list[Task] = []
    monkeypatch.setattr(_Lane, "rest", lambda _, tasks: asked.extend(tasks))
    blocks = [(64, 1, 1), (128, 1, 1), (16, 8, 1), (32, 1, 1), (8, 8, 1), (16, 4, 1)]
    settings = [RIGHT.at(block=block) for block in blocks]
    heard.exploration.fill(Task(setting) for setting in settings)
    prepared = [task.setting.block for task in asked if task.prepare]
    assert sorted(prepared[:3]) == [(8, 8, 1), (16, 8, 1), (64, 1, 1)]
    assert prepared[3:] == [(128, 1, 1), (32, 1, 1), (16, 4, 1)]
    assert [task.setting for task in asked if not task.prepare] == settings


def test_nobody_is_told_after_the_end() -> None:
    heard = Heard()
    heard.exploration.now(RIGHT)
    heard.exploration.end()
    with pytest.raises(Empty):
        heard.told.get(timeout=2)


KILLED = """
import os, sys, time
from gpulab.cell import parse_cell
from gpulab.exploration.scheduler import Exploration, Task
from gpulab.exploration.search_space import Setting

if __name__ == "__main__":
    found = Exploration(lambda _: None)
    setting = Setting(parse_cell(sys.stdin.read()), (256, 256, 256), "sim")
    found.fill([Task(setting), Task(setting.at(block=(128, 1, 1))), Task(setting.at(block=(32, 1, 1)))])
    while not found.points:
        time.sleep(0.05)
    for apart in found._apart:
        apart.worker.suspend()
    print(*(apart.worker._process.pid for apart in found._apart if apart.worker._process), flush=True)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process that is held outlives a killed one")
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_processes_that_are_held_end_with_the_one_that_began_them(how: str, tmp_path: Path) -> None:
    script = tmp_path / "explores.py"
    script.write_text(KILLED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), how], input=K1.replace("FIXED", "blockDim.x"), capture_output=True,
        text=True, timeout=LONG_S, check=False,
    )  # fmt: skip
    numbers = [int(word) for word in done.stdout.split()]
    assert numbers, done.stderr
    end = time.monotonic() + LONG_S
    while any(Path("/proc", str(number), "exe").exists() for number in numbers):
        assert time.monotonic() < end
        time.sleep(0.05)
