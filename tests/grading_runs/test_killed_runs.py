"""A run that is killed at a random moment, and resumed, leaves the gradebook of an undisturbed run."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.pipeline.course import Course
from tests.grading.conftest import make_course
from tests.grading.small_class import difficult_course
from tests.grading_runs.grading_process import (
    copy_of,
    gradebook_content,
    judge_servers,
    start_grading,
)

LIMIT_S = 240
RANDOM = random.Random(15)  # the moments are the same in every run of the tests
OFTEN = 3  # moments of each kind that every run tries; `make test-weekly` tries the others
NOT_JUDGED = 1  # exit code: the class has submissions that cannot be read


class Undisturbed:
    """A graded course, and a released one to copy. seconds: how long grading takes."""

    def __init__(self, root: Path) -> None:
        (root / "course").mkdir()
        self.released = difficult_course(make_course(root / "course"))
        graded = copy_of(self.released, root / "graded")
        start = time.monotonic()
        finish(graded)
        self.seconds = time.monotonic() - start
        self.content = gradebook_content(graded)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("class"))


def finish(course: Course, *options: str) -> str:
    """Grade to the end; return what was printed."""
    process = start_grading(course, *options)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == NOT_JUDGED, output
    return output


def moments(count: int, *first: float) -> pytest.MarkDecorator:
    """Parametrize a test with random moments of a run, from 0 to 1."""
    values = [*first, *(RANDOM.random() for _ in range(count - len(first)))]
    others = [pytest.param(value, marks=pytest.mark.weekly) for value in values[OFTEN:]]
    return pytest.mark.parametrize("moment", [*values[:OFTEN], *others], ids="{:.2f}".format)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill a run without a chance to clean up; its workers see that it is gone."""
    process.kill()
    process.communicate(timeout=60)  # its workers hold the pipe until they end


@moments(8)
def test_killed_run_is_resumed(undisturbed: Undisturbed, tmp_path: Path, moment: float) -> None:
    course = copy_of(undisturbed.released, tmp_path / "course")
    process = start_grading(course)
    time.sleep(moment * undisturbed.seconds)
    kill_group(process)
    finish(course)
    assert gradebook_content(course) == undisturbed.content


@moments(8, 0.0)
def test_killed_server_of_judges_costs_nothing(
    undisturbed: Undisturbed, tmp_path: Path, moment: float
) -> None:
    course = copy_of(undisturbed.released, tmp_path / "course")
    process = start_grading(course)
    while process.poll() is None and not judge_servers(process):
        time.sleep(0.05)
    time.sleep(moment * undisturbed.seconds / 2)
    for server in judge_servers(process):
        with contextlib.suppress(OSError):
            os.kill(server.pid, signal.SIGKILL)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == NOT_JUDGED, output
    assert gradebook_content(course) == undisturbed.content


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a scheduler and a worker; yield the address and the scheduler's process."""
    file = folder / "scheduler.json"
    environment = {
        **os.environ,
        "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    roles = {
        "scheduler": ["--host", "127.0.0.1", "--port", "0", *common],
        "worker": ["--nthreads", "1", "--nworkers", "1", "--local-directory", str(folder), *common],
    }
    processes = {
        role: subprocess.Popen(
            [sys.executable, "-m", "dask", role, *options],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for role, options in roles.items()
    }
    try:
        deadline = time.monotonic() + 60
        while not file.is_file() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        yield json.loads(file.read_text(encoding="utf-8"))["address"], processes["scheduler"]
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            process.kill()


def test_running_cluster_grades_a_class(undisturbed: Undisturbed, tmp_path: Path) -> None:
    course = copy_of(undisturbed.released, tmp_path / "course")
    with cluster(tmp_path) as (address, _):
        finish(course, "--scheduler", address)
    assert gradebook_content(course) == undisturbed.content


@moments(5)
def test_run_of_a_killed_scheduler_is_resumed(
    undisturbed: Undisturbed, tmp_path: Path, moment: float
) -> None:
    course = copy_of(undisturbed.released, tmp_path / "course")
    with cluster(tmp_path) as (address, scheduler):
        process = start_grading(course, "--scheduler", address)
        time.sleep(1 + moment * undisturbed.seconds)
        scheduler.kill()
        output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode in {NOT_JUDGED, 2}, output
    assert "Traceback" not in output
    finish(course)
    assert gradebook_content(course) == undisturbed.content


def test_interrupted_run_names_who_is_done(undisturbed: Undisturbed, tmp_path: Path) -> None:
    course = copy_of(undisturbed.released, tmp_path / "course")
    process = start_grading(course)
    results = course.work / "written" / "tiny"
    while process.poll() is None and not list(results.glob("*.json")):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT_S)
    if process.returncode != NOT_JUDGED:  # it can be finished by then
        assert process.returncode == 130, output
        assert "Graded so far:" in output
        assert "Traceback" not in output
    finish(course)
    assert gradebook_content(course) == undisturbed.content
