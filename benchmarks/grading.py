"""Measure `gpulab grade` on a class beside nbgrader's own `autograde` of the same notebooks, in one run.

python -m benchmarks.grading [--count N] [--stock N] [--lab LAB ...]

Half of the class are right in everything; the others are the wrong submissions of the sample class and the
cheats of the tests, in turn. Each right submission has statements of its own in its kernels, so that no
kernel is found in the cache. The points in the gradebook are compared with the expected ones. nbgrader's
stock `autograde` executes the whole notebooks, with this course's sources and without the judge.

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.simulators.report import machine_line
from gpulab.grading.pipeline.course import open_course
from gpulab.grading.pipeline.gradebook import read_grades
from gpulab.grading.release.sample_class import (
    SampleSubmission,
    read_samples,
    score_differences,
    submit_sample,
)
from tests.cheats.cheat_samples import read_cheats

REPOSITORY = Path(__file__).parents[1]
GPULAB = (sys.executable, "-m", "gpulab")
OWN_CACHE = "own_cache"  # compiled kernels of a command, instead of the user's
SAMPLE_INTERVAL_S = 0.5
NO_BLOCK = 70_000  # index in y that no block has: a grid has at most 65,535 rows
PR_SET_CHILD_SUBREAPER = 36  # an option of prctl(2), defined in <linux/prctl.h>
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


def make_course(folder: Path, labs: Sequence[str]) -> Path:
    """Copy labs and the course's settings, and return the folder of the settings."""
    for lab in labs:
        shutil.copytree(REPOSITORY / "labs" / lab, folder / "labs" / lab)
    settings = folder / "grading"
    settings.mkdir()
    for name in ("nbgrader_config.py", "rubric.toml"):
        shutil.copy(REPOSITORY / "grading" / name, settings)
    return settings


def unique(source: str, number: int) -> str:
    """Return a kernel with statements that no other kernel has and that change no value."""
    never = [f"blockIdx.y == {NO_BLOCK + number + index}" for index in range(1 + number % 5)]
    never[-1] += f" && blockIdx.x != {number}" if number & 2 else ""
    statements = "".join(f"\n    if ({condition}) return;" for condition in never)
    return re.sub(r"(__global__[^{;]*\{)", rf"\1{statements}", source, count=1)


def submissions(lab: str, count: int) -> Iterator[SampleSubmission]:
    """Yield `count` submissions of a lab, every second one of which is right."""
    samples = read_samples(REPOSITORY / "grading" / "sample_class" / lab)
    cheats = [cheat for cheat in read_cheats(lab) if not (cheat.is_control or cheat.functions or cheat.open)]
    right = next(sample for sample in samples if sample.student == "all_right")
    others = [sample for sample in samples if sample is not right] + [cheat.sample for cheat in cheats]
    for number in range(count):
        if number % 2:
            sample = others[number // 2 % len(others)]
        else:
            kernels = {name: unique(source, number) for name, source in right.kernels.items()}
            sample = replace(right, kernels=kernels)
        yield replace(sample, student=f"s{number:03d}_{sample.student}")


def measured(name: str, count: int, command: Sequence[str], folder: Path) -> GradingTime:
    """Run a command and return its time, processor time and memory."""
    peak, ended = 0.0, threading.Event()
    before, start = _ended_s(), time.perf_counter()
    environment = {**os.environ, "GPULAB_CACHE": str(folder / OWN_CACHE)}
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


def submit_class(folder: Path, labs: Sequence[str], count: int) -> dict[str, list[SampleSubmission]]:
    """Release labs and submit a class of each; return the submissions by lab."""
    settings = make_course(folder, labs)
    submitted: dict[str, list[SampleSubmission]] = {}
    for lab in labs:
        subprocess.run([*GPULAB, "release", lab], cwd=settings, check=True, stdout=subprocess.DEVNULL)
        (released,) = (settings / "work" / "release" / lab).glob("*.ipynb")
        submitted[lab] = list(submissions(lab, count))
        for sample in submitted[lab]:
            submit_sample(sample, released, settings / "work" / "submitted")
    return submitted


def measure_class(settings: Path, count: int) -> Iterator[GradingTime]:
    """Yield the times of `gpulab grade`: cold with one worker and with two, and unchanged."""
    grade = [*GPULAB, "grade", "--device", "sim"]
    for jobs in (1, 2):
        for name in ("work/results", "work/cache", OWN_CACHE):
            shutil.rmtree(settings / name, ignore_errors=True)
        yield measured(f"gpulab grade --jobs {jobs}", count, [*grade, "--jobs", str(jobs)], settings)
    yield measured("gpulab grade, unchanged", count, grade, settings)


def differences(settings: Path, submitted: Mapping[str, Sequence[SampleSubmission]]) -> list[str]:
    """Return one line for each score in the gradebook that is not as expected."""
    course = open_course(settings / "nbgrader_config.py")
    lines = []
    for lab, samples in submitted.items():
        scores = read_grades(course, lab).scores
        for sample in samples:
            automatic = {
                name: score for name, score in scores[sample.student].items() if name.endswith("_test")
            }
            lines += [f"{lab}: {line}" for line in score_differences(sample, automatic)]
    return lines


def measure_stock(folder: Path, lab: str, count: int) -> GradingTime:
    """Return the time of nbgrader's `autograde` on submissions of each kind."""
    stock = folder / "stock"
    stock.mkdir()
    (stock / "nbgrader_config.py").write_text(STOCK_CONFIG.format(root=str(folder)), encoding="utf-8")
    nbgrader = [sys.executable, "-m", "nbgrader"]
    shutil.copytree(folder / "grading" / "work" / "release", stock / "release")
    students = sorted((folder / "grading" / "work" / "submitted").glob(f"*/{lab}"))[:count]
    for student in students:
        shutil.copytree(student, stock / "submitted" / student.parent.name / lab)
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
    parser.add_argument("--count", type=int, default=40, help="submissions of each lab")
    parser.add_argument(
        "--stock", type=int, default=8, help="submissions for nbgrader's autograde; 0: without"
    )
    parser.add_argument("--lab", action="append", help="may be repeated; default: 01_stencil")
    options = parser.parse_args()
    labs = options.lab or ["01_stencil"]
    console = Console()
    _adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="gpulab-class-") as name:
        folder = Path(name)
        submitted = submit_class(folder, labs, options.count)
        times = []
        for row in measure_class(folder / "grading", len(labs) * options.count):
            times.append(row)
            console.print(f"{row.name}: {row.wall_s:.1f} s, {row.cpu_s:.1f} s of processor time")
        unexpected = differences(folder / "grading", submitted)
        stock = [measure_stock(folder, labs[0], options.stock)] if options.stock else []

    one, two, _ = times
    console.print(table_of([*times, *stock]))
    console.print(f"from one worker to two: {one.wall_s / two.wall_s:.2f} (at least {MIN_SCALING})")
    for row in stock:
        throughput = row.per_submission_s / two.per_submission_s
        console.print(
            f"throughput of two workers over nbgrader autograde: {throughput:.1f} (at least {MIN_THROUGHPUT})"
        )
    console.print("\n".join(unexpected) or "every submission has its expected points")
    console.print(machine_line(machine()))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
