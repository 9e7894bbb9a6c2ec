"""Measure `gpulab grade` on a class beside nbgrader's own `autograde` of the same notebooks, in one run.

python -m benchmarks.grading [--count N] [--stock N] [--lab LAB]

The class repeats the sample submissions of a lab. Each kernel gets a statement of its own, so that no two
texts are equal and none is found in the cache of kernels. nbgrader's stock `autograde` executes the whole
notebooks, with this course's sources and without the judge.

Processor time is that of all processes of the command, also of those that outlive it (Linux only). It is
larger while other programs run. Memory is the largest sum of the proportional set sizes of all processes of
the command.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.report import machine_line
from gpulab.grading.release.sample_class import SampleSubmission, read_samples, submit_sample

REPOSITORY = Path(__file__).parents[1]
SAMPLE_INTERVAL_S = 0.5
PR_SET_CHILD_SUBREAPER = 36  # of prctl, from <linux/prctl.h>
MIN_THROUGHPUT = 2.5  # times that of nbgrader's autograde
MIN_SCALING = 1.7  # from one worker to two

# The stock pipeline of nbgrader 0.9 on the same course; the time limit is that of a slow notebook.
STOCK_CONFIG = """
c = get_config()
c.CourseDirectory.root = {root!r}
c.CourseDirectory.source_directory = "labs"
c.CourseDirectory.release_directory = "stock/release"
c.CourseDirectory.submitted_directory = "stock/submitted"
c.CourseDirectory.autograded_directory = "stock/autograded"
c.CourseDirectory.db_url = "sqlite:///{root}/stock/gradebook.db"
c.Execute.timeout = 300
c.OverwriteCells.add_missing_cells = True
"""


@dataclass(frozen=True)
class GradingTime:
    """One measured command on `count` submissions."""

    name: str
    count: int
    wall_s: float
    cpu_s: float
    memory_mb: float

    @property
    def per_submission_s(self) -> float:
        return self.wall_s / self.count


def make_course(folder: Path, lab: str) -> Path:
    """Copy a lab and the course's settings, and return the folder of the settings."""
    shutil.copytree(REPOSITORY / "labs" / lab, folder / "labs" / lab)
    settings = folder / "grading"
    settings.mkdir()
    for name in ("nbgrader_config.py", "rubric.toml"):
        shutil.copy(REPOSITORY / "grading" / name, settings)
    return settings


def unique(source: str, number: int) -> str:
    """Return a kernel with a statement that no other kernel has and that changes no value."""
    size = "nx" if "nx" in source else "n"
    own = rf"\1\n    if ({size} == -{1000 + number}) return;"
    return re.sub(r"(__global__[^{;]*\{)", own, source, count=1)


def submissions(samples: Sequence[SampleSubmission], count: int) -> Iterator[SampleSubmission]:
    """Yield `count` submissions with different kernels."""
    for number in range(count):
        sample = samples[number % len(samples)]
        kernels = {name: unique(source, number) for name, source in sample.kernels.items()}
        yield replace(sample, student=f"s{number:03d}_{sample.student}", kernels=kernels)


def measured(name: str, count: int, command: Sequence[str], folder: Path) -> GradingTime:
    """Run a command and return its time, processor time and memory."""
    peak, ended = 0.0, threading.Event()
    before, start = _ended_s(), time.perf_counter()
    environment = {**os.environ, "GPULAB_CACHE": str(folder / "own_cache")}  # empty at first
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the modules of an installed package are compiled
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )

    def watch() -> None:
        nonlocal peak
        while not ended.wait(SAMPLE_INTERVAL_S):
            peak = max(peak, _memory_mb(process.pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    _, errors = process.communicate()
    wall, cpu = time.perf_counter() - start, _ended_s() - before
    ended.set()
    watcher.join()
    if process.returncode not in (0, 1):  # 1: a submission could not be graded
        raise SystemExit(f"{' '.join(command)} failed:\n{errors.decode(errors='replace')[-2000:]}")
    return GradingTime(name, count, wall, cpu, peak)


def _adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that their time is counted."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _ended_s() -> float:
    """Wait for the end of all descendants and return the processor time of those that have ended."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _memory_mb(pid: int) -> float:
    total = 0
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
    return total / 2**20


def measure_class(folder: Path, lab: str, count: int) -> Iterator[GradingTime]:
    """Yield the times of `gpulab grade`: cold with one worker and with two, and unchanged."""
    settings = make_course(folder, lab)
    gpulab = [sys.executable, "-m", "gpulab"]
    subprocess.run([*gpulab, "release", lab], cwd=settings, check=True, stdout=subprocess.DEVNULL)
    (released,) = (settings / "work" / "release" / lab).glob("*.ipynb")
    for sample in submissions(read_samples(REPOSITORY / "grading" / "sample_class" / lab), count):
        submit_sample(sample, released, settings / "work" / "submitted")

    grade = [*gpulab, "grade", lab, "--device", "sim"]
    for jobs in (1, 2):
        for name in ("results", "cache"):
            shutil.rmtree(settings / "work" / name, ignore_errors=True)
        yield measured(f"gpulab grade --jobs {jobs}", count, [*grade, "--jobs", str(jobs)], settings)
    yield measured("gpulab grade, unchanged", count, grade, settings)


def measure_stock(folder: Path, lab: str, count: int) -> GradingTime:
    """Return the time of nbgrader's `autograde` on submissions of each kind."""
    stock = folder / "stock"
    stock.mkdir()
    (stock / "nbgrader_config.py").write_text(STOCK_CONFIG.format(root=str(folder)), encoding="utf-8")
    nbgrader = [sys.executable, "-m", "nbgrader"]
    shutil.copytree(folder / "grading" / "work" / "release", stock / "release")
    students = sorted((folder / "grading" / "work" / "submitted").iterdir())[:count]
    for student in students:
        shutil.copytree(student, stock / "submitted" / student.name)
    # nbgrader reads the maximum points and the locked cells from a gradebook of the same release.
    shutil.copy(folder / "grading" / "work" / "gradebook.db", stock)
    return measured("nbgrader autograde", len(students), [*nbgrader, "autograde", lab, "--force"], stock)


def table_of(times: Sequence[GradingTime]) -> Table:
    """Return a table with a row for each command."""
    table = Table(title="Grading a class (measured)")
    for heading in ("command", "submissions", "time s", "s each", "CPU s each", "memory MB"):
        table.add_column(heading, justify="left" if heading == "command" else "right")
    for row in times:
        figures = (row.wall_s, row.per_submission_s, row.cpu_s / row.count)
        table.add_row(
            row.name, str(row.count), *(f"{value:.2f}" for value in figures), f"{row.memory_mb:.0f}"
        )
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=__doc__)
    parser.add_argument("--count", type=int, default=16, help="submissions of the class")
    parser.add_argument("--stock", type=int, default=8, help="submissions for nbgrader's autograde")
    parser.add_argument("--lab", default="01_stencil")
    options = parser.parse_args()
    console = Console()
    _adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="gpulab-class-") as name:
        times = []
        for row in measure_class(Path(name), options.lab, options.count):
            times.append(row)
            console.print(f"{row.name}: {row.wall_s:.1f} s, {row.cpu_s:.1f} s of processor time")
        stock = measure_stock(Path(name), options.lab, options.stock)

    one, two, _ = times
    console.print(table_of([*times, stock]))
    throughput = stock.per_submission_s / two.per_submission_s
    console.print(
        f"throughput of two workers over nbgrader autograde: {throughput:.1f} (at least {MIN_THROUGHPUT}); "
        f"from one worker to two: {one.wall_s / two.wall_s:.2f} (at least {MIN_SCALING})"
    )
    console.print(machine_line(machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
