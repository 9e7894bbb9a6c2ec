"""Measure the processor time of a kernel's first launch, and of sanitizing and counting it next.

python -m benchmarks.first_launch

The kernels are the programs of the tests, launched as the tests launch them, with an empty cache of compiled
code. Times are those of all threads of this process and of the disassembler. Modules are imported before.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.simulators.report import machine_line

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


@dataclass
class FirstLaunches:
    """A pytest plugin that measures the first launch of each kernel.

    seconds: by kernel, the processor time of each of `COLUMNS`.
    """

    seconds: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def pytest_configure(self) -> None:
        """Replace `launch` before the tests import it."""
        import gpulab
        from tests.kernels.corpus import program
        from tests.simt import programs

        device = programs.simulator()
        warm_up, x = device.compile(WARM_UP), device.zeros(32)
        warm_up(1, 32, (x,))
        gpulab.sanitize(warm_up, 1, 32, (x,))
        gpulab.counters(warm_up, 1, 32, (x,))

        def launch(
            name: str, grid: Any, block: Any, *args: Any, kernel: str | None = None, shared_mem: int = 0
        ) -> list[npt.NDArray[Any]]:
            def uploaded() -> list[Any]:
                return [device.asarray(a) if isinstance(a, np.ndarray) else a for a in args]

            key = name if kernel is None else f"{name}:{kernel}"
            first, start = uploaded(), _processor_s()
            compiled = device.compile(program(name), kernel)
            times = [start, _processor_s()]
            compiled(grid, block, first, shared_mem)
            times.append(_processor_s())
            if key not in self.seconds:
                gpulab.sanitize(compiled, grid, block, uploaded(), shared_mem=shared_mem)
                times.append(_processor_s())
                gpulab.counters(compiled, grid, block, uploaded(), shared_mem=shared_mem)
                times.append(_processor_s())
                self.seconds[key] = tuple(map(float, np.diff(times)))
            return [
                device.asnumpy(copy) for copy, a in zip(first, args, strict=True) if isinstance(a, np.ndarray)
            ]

        programs.launch = launch


def _processor_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


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
    return table


def main() -> int:
    console = Console(width=120)
    with tempfile.TemporaryDirectory(prefix="gpulab-first-") as cache:
        os.environ["GPULAB_CACHE"] = cache
        launches = FirstLaunches()
        options = ("-q", "-n", "0", "-p", "no:cacheprovider", "--no-header")
        if pytest.main([*options, *FILES], plugins=[launches]):
            return 1
    seconds = np.array(list(launches.seconds.values()))
    console.print(table_of(seconds))
    slowest = sorted(launches.seconds, key=lambda name: -sum(launches.seconds[name][:2]))[:5]
    console.print("slowest: " + ", ".join(f"{n} {sum(launches.seconds[n][:2]):.2f}" for n in slowest))
    limits = ", ".join(f"{limit} s at percentile {percentile}" for percentile, limit in MAX_FIRST_S.items())
    console.print(f"text to first result: at most {limits}")
    console.print(machine_line(machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
