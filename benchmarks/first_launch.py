"""Measure the processor time of a kernel's first launch, and of sanitizing and counting it next.

python -m benchmarks.first_launch
python -m benchmarks.first_launch FOLDER...

The first form measures the programs of the tests, launched as the tests launch them: of each program the
kernel that is launched first, because the others find the text compiled. The second form measures 40 kernels
of the repositories in the folders (see `benchmarks.compatibility`): those whose stored outcome is right, in
the order of the hash of their names. Both start with an empty cache of compiled code and one small kernel.
Times are those of all threads of this process and of the disassembler. Modules are imported before.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.compatibility import declared as _  # noqa: F401
from benchmarks.compatibility.checking import instances_of
from benchmarks.compatibility.launches import Launch, declarations
from benchmarks.compatibility.listing import ListedKernel, cell_of, suite_of
from benchmarks.compatibility.loaded_launch import LoadedLaunch
from benchmarks.compatibility.page import FIGURES, Row, Rows
from benchmarks.simulators.report import machine_line
from gpulab.errors import GpulabError, LaunchWarning

FILES = (
    "tests/simt/test_algorithm_kernels.py",
    "tests/simt/test_block_programs.py",
    "tests/simt/test_numeric_kernels.py",
    "tests/simt/test_programs.py",
    "tests/simt/test_teaching_kernels.py",
)
WARM_UP = "__global__ void warm_up(float* x) { x[threadIdx.x] = 1; }"
COLUMNS = ("compile", "first launch", "sanitize", "count")
MAX_FIRST_S = {50: 0.5, 95: 1.5}  # percentile: seconds from the text to the first result
MAX_AGAIN = 0.5  # of this time, for sanitizing the kernel next, and for counting it
FOREIGN_KERNELS = 40

Seconds = Mapping[str, Sequence[float]]  # by kernel, the processor time of each of `COLUMNS`


@dataclass
class Stopwatch:
    """Processor times of calls, in seconds."""

    seconds: list[float] = field(default_factory=list)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function, keep its time, and return its result."""
        start = _processor_s()
        result = function(*args)
        self.seconds.append(_processor_s() - start)
        return result


def _processor_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _simulator() -> Any:
    """Return the simulator after a small kernel was launched, sanitized and counted."""
    import gpulab

    device = gpulab.device("sim")
    warm_up, x = device.compile(WARM_UP), device.zeros(32)
    runs: list[Callable[..., Any]] = [warm_up, *_measures(warm_up)]
    for run in runs:
        run(1, 32, (x,))
    return device


def _measures(kernel: Any) -> list[Callable[..., Any]]:
    """Return the functions that sanitize and count a launch of a kernel."""
    import gpulab

    return [partial(gpulab.sanitize, kernel), partial(gpulab.counters, kernel)]


# Programs of the tests -------------------------------------------------------------------------


@dataclass
class FirstLaunches:
    """A pytest plugin that measures the first launch of each kernel; see `Seconds`."""

    seconds: dict[str, Sequence[float]] = field(default_factory=dict)

    def pytest_configure(self) -> None:
        """Replace `launch` before the tests import it."""
        from tests.kernels.corpus import program
        from tests.simt import programs

        device = _simulator()

        def launch(
            name: str, grid: Any, block: Any, *args: Any, kernel: str | None = None, shared_mem: int = 0
        ) -> list[npt.NDArray[Any]]:
            def uploaded() -> list[Any]:
                return [device.asarray(a) if isinstance(a, np.ndarray) else a for a in args]

            first, watch = uploaded(), Stopwatch()
            compiled = watch.call(device.compile, program(name), kernel)
            watch.call(compiled, grid, block, first, shared_mem)
            if name not in self.seconds:
                for measure in _measures(compiled):
                    watch.call(measure, grid, block, uploaded(), shared_mem)
                self.seconds[name] = watch.seconds
            return [
                device.asnumpy(copy) for copy, a in zip(first, args, strict=True) if isinstance(a, np.ndarray)
            ]

        programs.launch = launch


def measure_programs() -> Seconds:
    """Return the times of the tests' programs; none if a test fails."""
    launches = FirstLaunches()
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "--no-header")
    return {} if pytest.main([*options, *FILES], plugins=[launches]) else launches.seconds


# Kernels of other repositories -----------------------------------------------------------------


def measure_foreign(folders: Sequence[Path], report: Callable[[str], None]) -> Seconds:
    """Return the times of kernels of repositories; `report` takes why a kernel was passed over."""
    warnings.simplefilter("ignore", LaunchWarning)
    places = {suite_of(folder).name: folder.resolve() for folder in folders}
    device = _simulator()
    seconds: dict[str, Sequence[float]] = {}
    for row in _by_hash(places):
        if len(seconds) == FOREIGN_KERNELS:
            break
        name = f"{row.suite} {Path(row.file).name} {row.name} {row.instance}"
        try:
            seconds[name] = _measured(device, places[row.suite], row)
        except GpulabError as error:
            report(f"not measured: {name}: {error}")
    return seconds


def _by_hash(places: Mapping[str, Path]) -> list[Row]:
    """Return a launch of each kernel whose stored outcome is right, in the order of the kernels' hashes."""
    rows: dict[tuple[str, ...], Row] = {}
    for row in Rows.read(FIGURES):
        if row.suite in places and row.is_right and not _launch_of(row).assertion:
            rows.setdefault(row.key[:3], row)
    return sorted(rows.values(), key=lambda row: hashlib.sha256(repr(row.key[:3]).encode()).digest())


def _launch_of(row: Row) -> Launch:
    kernel = ListedKernel(*row.key[:3])
    return declarations[kernel.key].launches(1)[instances_of(kernel).index(row.instance)]


def _measured(device: Any, folder: Path, row: Row) -> Sequence[float]:
    launch, watch = _launch_of(row), Stopwatch()
    source = cell_of(folder, ListedKernel(*row.key[:3]), launch.setup).source
    loaded = watch.call(LoadedLaunch, device, source, row.name, launch)
    for run in (loaded.kernel, *_measures(loaded.kernel)):
        loaded.prepare()
        watch.call(run, launch.grid, launch.block, loaded.args, launch.shared)
    return watch.seconds


# Tables ----------------------------------------------------------------------------------------


def table_of(seconds: npt.NDArray[np.float64]) -> Table:
    """Return the percentiles of the kernels' times, one row for each."""
    first = seconds[:, 0] + seconds[:, 1]
    columns = {
        **dict(zip(COLUMNS, seconds.T, strict=True)),
        "text to first result": first,
        "sanitize / first": seconds[:, 2] / first,
        "count / first": seconds[:, 3] / first,
    }
    table = Table(title=f"First launches of {len(seconds)} kernels (measured, seconds of processor time)")
    for heading in ("percentile", *columns):
        table.add_column(heading, justify="right")
    for percentile in (50, 95, 100):
        figures = (f"{np.percentile(column, percentile):.3f}" for column in columns.values())
        table.add_row(str(percentile), *figures)
    within = [np.count_nonzero(columns[f"{name} / first"] <= MAX_AGAIN) for name in COLUMNS[2:]]
    table.caption = (
        f"Sanitized next in at most {MAX_AGAIN} of the time to the first result: {within[0]} kernels; "
        f"counted: {within[1]}."
    )
    return table


def kernel_table(seconds: Seconds) -> Table:
    """Return the times of each kernel, the slowest first."""
    table = Table("kernel", *COLUMNS)
    for name in sorted(seconds, key=lambda name: -sum(seconds[name][:2])):
        table.add_row(name, *(f"{each:.3f}" for each in seconds[name]))
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_launch")
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="a copy of a repository")
    folders = parser.parse_args(arguments).folders
    console = Console(width=120)
    with tempfile.TemporaryDirectory(prefix="gpulab-first-") as cache:
        os.environ["GPULAB_CACHE"] = cache
        seconds = measure_foreign(folders, console.print) if folders else measure_programs()
    if not seconds:
        return 1
    console.print(kernel_table(seconds))
    console.print(table_of(np.array(list(seconds.values()))))
    limits = ", ".join(f"{limit} s at percentile {percentile}" for percentile, limit in MAX_FIRST_S.items())
    console.print(f"text to first result: at most {limits}")
    console.print(machine_line(machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
