"""Compare the times of `gpulab.benchmark` with Nsight Compute's and with those of `cupyx.profiler.benchmark`.

python -m benchmarks.timers [--out FILE]     on a CUDA GPU with CuPy and ncu; writes the figures
python -m benchmarks.timers --page           without a GPU; writes docs/timers.md from the committed figures

Run it in the root of the repository with PYTHONPATH=src:. All tools time the same launches one after the
other, without control of the clocks. ncu profiles some launches after others that warm the GPU up.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from gpulab.cell import read_cells, require_kernel_cell
from gpulab.devices.base import Device, Kernel
from gpulab.devices.launch_limits import dim3
from gpulab.devices.streams import Launch
from gpulab.profiling.benchmark import L2_STATES, Benchmark, SamplingOptions, measure_launches
from gpulab.verification.inputs import place_arguments
from gpulab.views.tables.number_format import byte_size

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "kernels"
FIGURES = tuple(ROOT / "benchmarks" / "figures" / f"timers-{gpu}.json" for gpu in ("h100", "h200"))
PAGE = ROOT / "docs" / "timers.md"

REPEATS = 20  # launches that gpulab and CuPy time
ROUNDS = 4  # in which gpulab and CuPy take turns, because clocks change while the GPU warms up
ROW_US = 5000.0  # length of the shorter row of launches that CuPy times
PROFILED, UNPROFILED = 7, 20  # launches that ncu times, and that run before them
TIME, CLOCK = "gpu__time_duration.sum", "smsp__cycles_elapsed.avg.per_second"
LONG_US = 100.0  # from this time on, gpulab and ncu should agree within TOLERANCE
TOLERANCE = 0.02

COPY = """extern "C" __global__ void copy(const float* from, float* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}"""
SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28)  # elements that the kernel copies
CELLS = (
    ("stencil/right/naive_guard_as_if.cu", "256"),
    ("stencil/right/naive_guard_as_if.cu", "512"),
    ("stencil/right/opt_2_rolling_registers.cu", "512"),
    ("stencil/right/opt_4_float4.cu", "512"),
    ("matmul/right/K1_guard_as_if.cu", "512"),
    ("matmul/right/K1_guard_as_if.cu", "2048"),
    ("matmul/right/K5_tiles.cu", "2048"),
    ("matmul/right/K6_register_tile.cu", "4096"),
)


@dataclass(frozen=True)
class TimedLaunch:
    """A launch. prepare: compiles it for a device and returns the kernel, grid, block and arguments."""

    name: str
    prepare: Callable[[Device], tuple[Kernel, Any, Any, list[Any]]]


def timed_launches() -> list[TimedLaunch]:
    """Return the launches, from 1 us to some milliseconds."""
    return [*map(_copy, SIZES), *(_cell(file, size) for file, size in CELLS)]


def _copy(elements: int) -> TimedLaunch:
    def prepare(device: Device) -> tuple[Kernel, Any, Any, list[Any]]:
        arrays = [device.zeros(elements), device.zeros(elements)]
        return device.compile(COPY), -(-elements // 256), 256, [*arrays, np.int32(elements)]

    return TimedLaunch(f"copy of {byte_size(4 * elements)}", prepare)


def _cell(file: str, size: str) -> TimedLaunch:
    cell = require_kernel_cell(read_cells(CORPUS / file)[0])
    config = cell.config
    shape = config.problem.parse_shape(size)

    def prepare(device: Device) -> tuple[Kernel, Any, Any, list[Any]]:
        launch = config.at(shape, device.spec)
        kernel = device.compile(cell.source, config.kernel_name, config.defines)
        inputs = config.problem.arguments(shape, np.random.default_rng(0))
        return kernel, launch.grid, launch.block, list(place_arguments(device, inputs).values())

    return TimedLaunch(f"{Path(file).stem} {config.problem.format_shape(shape)}", prepare)


# -- measurement ---------------------------------------------------------------------------------------


def measure(device: Any, launch: TimedLaunch) -> dict[str, Any]:
    """Return the times that gpulab and CuPy measure, in microseconds."""
    from cupyx.profiler import benchmark as cupyx_benchmark

    kernel, grid, block, args = launch.prepare(device)
    function = _cupy_function(kernel)
    sizes = dim3(grid, "grid"), dim3(block, "block")

    def own(l2: str, repeats: int) -> Benchmark:
        options = SamplingOptions(n_repeat=repeats, l2=l2)
        return measure_launches(Launch(kernel, grid, block, args), options)

    def launches(count: int) -> None:
        for _ in range(count):
            function(*sizes, tuple(args))

    def times(count: int, repeats: int) -> list[float]:
        warm_up = max(2, UNPROFILED // count)
        perf = cupyx_benchmark(launches, (count,), n_repeat=repeats, n_warmup=warm_up)
        return [float(time) * 1e6 for time in perf.gpu_times.ravel()]

    cold, first = own("cold", REPEATS), own("warm", REPEATS)
    in_row = max(1, round(ROW_US / (first.median_ms * 1e3)))
    warm: list[Benchmark] = []
    added: list[float] = []
    for _ in range(ROUNDS):
        each = REPEATS // ROUNDS
        warm.append(own("warm", each))
        rows = zip(times(in_row, each), times(2 * in_row, each), strict=True)
        added += [(longer - shorter) / in_row for shorter, longer in rows]
    return {
        "name": launch.name,
        "gpulab_warm": _own_times(warm),
        "gpulab_cold": _own_times([cold]),
        "cupyx": _spread(times(1, REPEATS)),
        "cupyx_added": {**_spread(added), "row": in_row},
    }


def _own_times(rounds: Sequence[Benchmark]) -> dict[str, Any]:
    """Return gpulab's times in microseconds: the medians of those of the rounds."""
    last = rounds[-1]
    return {
        "median": statistics.median(each.median_ms for each in rounds) * 1e3,
        "p20": statistics.median(each.p20_ms for each in rounds) * 1e3,
        "p80": statistics.median(each.p80_ms for each in rounds) * 1e3,
        "clock_mhz": last.clock_mhz,
        "clock_limits": last.clock_limits,
        "launches_per_sample": last.launches_per_sample,
    }


def _spread(times: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(times), "low": min(times), "high": max(times)}


def _cupy_function(kernel: Kernel) -> Any:
    """Return the kernel as a user of CuPy has it, from the same machine code."""
    import cupy

    program = kernel.program
    assert program.cubin is not None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(program.cubin)
        return cupy.RawModule(path=str(file)).get_function(program.entry(kernel.name))


def run_profiled(device: Any) -> None:
    """Run every launch several times, of which ncu profiles the last ones."""
    import cupy

    for launch in timed_launches():
        kernel, grid, block, args = launch.prepare(device)
        with device.asynchronous_launches():
            for _ in range(UNPROFILED):
                kernel(grid, block, args)
        device.synchronize()
        cupy.cuda.profiler.start()
        for _ in range(PROFILED):
            kernel(grid, block, args)
        cupy.cuda.profiler.stop()


def nsight_rows(l2: str) -> list[dict[str, float]]:
    """Return time in microseconds and clock in MHz of every profiled launch, in order."""
    from benchmarks.counters.nsight import find_ncu, profiled_launches

    command = [
        find_ncu(), "--profile-from-start", "off", "--clock-control", "none",
        "--cache-control", "all" if l2 == "cold" else "none",
        "--metrics", f"{TIME},{CLOCK}", "--csv", "--page", "raw", "--print-units", "base",
        sys.executable, "-m", "benchmarks.timers", "--profiled",
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    launches = profiled_launches(run.stdout)
    if not launches:
        raise SystemExit(f"ncu printed no table:\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}")
    return [{"us": one["metrics"][TIME] / 1e3, "mhz": one["metrics"][CLOCK] / 1e6} for one in launches]


def measure_all(out: Path) -> None:
    import gpulab
    from gpulab.compiler.nvrtc import version
    from gpulab.devices.cuda.nvml import open_nvml

    device = gpulab.device("cuda:0")
    launches = timed_launches()
    rows = [measure(device, launch) for launch in launches]
    device.free_unused_memory()
    for l2 in L2_STATES:
        profiled = nsight_rows(l2)
        if len(profiled) != PROFILED * len(launches):
            raise SystemExit(f"ncu profiled {len(profiled)} launches of {PROFILED * len(launches)}.")
        for number, row in enumerate(rows):
            part = profiled[number * PROFILED : (number + 1) * PROFILED]
            row[f"ncu_{l2}"] = {
                "median": statistics.median(each["us"] for each in part),
                "clock_mhz": statistics.median(each["mhz"] for each in part),
            }
    nvml = open_nvml()
    figures = {
        "device": device.name,
        "driver": nvml.driver_version() if nvml else "",
        "nvrtc": ".".join(map(str, version())),
        "date": datetime.now(UTC).date().isoformat(),
        "launches": rows,
    }
    out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(page([figures]))


# -- page ----------------------------------------------------------------------------------------------

HEAD = """# Times compared with other tools

`gpulab.benchmark` measures with CUDA events ([gpu.md](gpu.md) describes how). This page compares its times
with `gpu__time_duration` of Nsight Compute (`ncu`) and with `cupyx.profiler.benchmark`, on the same launches.
`python -m benchmarks.timers` measures them on a GPU; `python -m benchmarks.timers --page` writes this page
from the figures in [benchmarks/figures](../benchmarks/figures).

Times are in microseconds: medians of {repeats} launches, and of {profiled} under ncu, whose clock control is
off. *warm*: L2 holds what the launch before left there. *cold*: gpulab reads twice the size of L2 before each
launch, and ncu flushes all caches (`--cache-control all`). A kernel that is shorter than its launch is timed
as a graph of many launches, which `graph` marks. Its mean is below ncu's time, because the GPU prepares a
launch of a graph while the one before runs; two events around a single launch add about 1.5 us instead.

CuPy waits for the GPU, records an event, launches and records another event. The first event therefore
happens before the host has launched the kernel, and the time contains this part of the launch, whatever the
kernel takes. gpulab's delay kernel leaves it out, as Nsight Compute does. To compare the two, CuPy times a
row of n launches and one of 2n: the difference, divided by n, is the time of a launch without this part.
Both tools take turns in {rounds} rounds.
"""


def page(figures: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of docs/timers.md: a section for each GPU."""
    head = HEAD.format(repeats=REPEATS, profiled=PROFILED, rounds=ROUNDS)
    return "\n".join([head, *(line for each in figures for line in _section(each))])


def _section(figures: Mapping[str, Any]) -> Iterator[str]:
    rows: Sequence[Mapping[str, Any]] = figures["launches"]
    yield f"## {figures['device']}\n"
    yield f"Driver {figures['driver']}, NVRTC {figures['nvrtc']}, {figures['date']}.\n"
    yield "### Nsight Compute\n"
    yield "| launch | L2 | gpulab | p20 to p80 | ncu | difference | SM clock, gpulab / ncu (MHz) |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        for l2 in L2_STATES:
            own, ncu = row[f"gpulab_{l2}"], row[f"ncu_{l2}"]
            graph = " (graph)" if own["launches_per_sample"] > 1 else ""
            yield (
                f"| {row['name']} | {l2}{graph} | {own['median']:.1f} | "
                f"{own['p20']:.1f} to {own['p80']:.1f} | "
                f"{ncu['median']:.1f} | {difference(row, l2):+.1%} | "
                f"{own['clock_mhz'] or 0:.0f} / {ncu['clock_mhz']:.0f} |"
            )
    for l2 in L2_STATES:
        long = [difference(row, l2) for row in rows if row[f"ncu_{l2}"]["median"] >= LONG_US]
        within = sum(abs(each) <= TOLERANCE for each in long)
        most = max(map(abs, long), default=0.0)
        yield (
            f"\nL2 {l2}: {within} of {len(long)} launches of {LONG_US:.0f} us or more agree within "
            f"{TOLERANCE:.0%}; the largest difference is {most:.1%}."
        )
    if all("cupyx_added" in row for row in rows):
        yield "\n### CuPy\n"
        yield from _cupy_table(rows)
    yield ""


def _cupy_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| launch | gpulab | CuPy, one launch | low to high | n | difference / n | low to high |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        own, alone, added = row["gpulab_warm"], row["cupyx"], row["cupyx_added"]
        yield (
            f"| {row['name']} | {own['median']:.1f} | {alone['median']:.1f} | "
            f"{alone['low']:.1f} to {alone['high']:.1f} | {added['row']} | "
            f"{added['median']:.1f} | {added['low']:.1f} to {added['high']:.1f} |"
        )
    long = [row for row in rows if row["gpulab_warm"]["median"] >= LONG_US]
    near = [abs(row["gpulab_warm"]["median"] / row["cupyx_added"]["median"] - 1) for row in long]
    within = sum(map(within_cupyx, long))
    yield (
        f"\nFor {within} of {len(long)} launches of {LONG_US:.0f} us or more, gpulab's time is between the "
        f"lowest and the highest of {REPEATS}\ndifferences. The largest difference to their median is "
        f"{max(near, default=0.0):.1%}."
    )


def read_figures(file: Path) -> dict[str, Any]:
    """Return the figures of one GPU."""
    figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return figures


def difference(row: Mapping[str, Any], l2: str) -> float:
    """Return how much longer gpulab's time is than ncu's, as a fraction of ncu's."""
    measured: float = row[f"gpulab_{l2}"]["median"] / row[f"ncu_{l2}"]["median"]
    return measured - 1


def within_cupyx(row: Mapping[str, Any]) -> bool:
    """Return True if gpulab's time is within the spread of CuPy's times without the host's part."""
    return bool(row["cupyx_added"]["low"] <= row["gpulab_warm"]["median"] <= row["cupyx_added"]["high"])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timers", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "timers.json")
    parser.add_argument("--page", action="store_true", help="write docs/timers.md")
    parser.add_argument("--profiled", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.page:
        PAGE.write_text(page(map(read_figures, FIGURES)), encoding="utf-8")
    elif options.profiled:
        import gpulab

        run_profiled(gpulab.device("cuda:0"))
    else:
        measure_all(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
