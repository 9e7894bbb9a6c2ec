"""Measure times and bottlenecks of the labs' kernels on a GPU, for the performance model.

python -m benchmarks.model_measure [--out FOLDER]

Needs a CUDA GPU, CuPy and ncu; run it in the root of the repository with PYTHONPATH=src:. It writes
model.json into FOLDER (default: the environment variable OUT):

- the latencies and rates of the GPU, by micro-kernels (`benchmarks.model_microbenchmarks`),
- the median time of every launch of `benchmarks.model_launches`, between two events, after a warm-up,
- Nsight Compute's metrics of these launches.

Every kernel is verified on the problem's small sizes before it is timed. A launch that ends its process is
left out, and the next process continues after it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.counters.nsight import find_ncu, read_rows
from benchmarks.measurement_log import appended, progress_since
from benchmarks.model_launches import TimedLaunch, config_of, geometry_of, timed_launches

STALLS = (
    "long_scoreboard", "short_scoreboard", "barrier", "lg_throttle", "mio_throttle", "wait", "not_selected",
    "math_pipe_throttle", "no_instruction", "branch_resolve", "dispatch_stall", "membar", "selected",
)  # fmt: skip
METRICS = (
    "gpu__time_duration.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed.avg.per_cycle_elapsed",
    "sm__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "sm__warps_active.avg.per_cycle_active",
    "smsp__inst_executed.sum",
    "smsp__inst_issued.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    *(f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio" for stall in STALLS),
)
SLOW_MS = 60.0  # kernels that take longer are not profiled
SAMPLES, SAMPLED_MS = 9, 400  # samples of a time, and the total time after which no more are taken


class Bench:
    """Kernels and arrays on the GPU; arrays are created once for each shape."""

    def __init__(self) -> None:
        import gpulab

        self.device: Any = gpulab.device("cuda:0")
        self.arrays: dict[tuple[int, ...], Any] = {}

    def array(self, shape: tuple[int, ...], number: int) -> Any:
        """Return the array of random values for the argument with this number."""
        import cupy

        key = (*shape, number)
        if key not in self.arrays:
            self.arrays[key] = cupy.random.random(shape, dtype=cupy.float32) - np.float32(0.5)
        return self.arrays[key]

    def launch(self, launch: TimedLaunch) -> tuple[Any, Any, list[Any]]:
        """Return kernel, grid and arguments of a launch."""
        config = config_of(launch)
        kernel = self.device.compile(launch.source, name=config.kernel_name, defines=config.defines)
        grid, shape = geometry_of(launch)
        args = [
            self.array(argument.value.shape, number) if argument.kind == "pointer" else argument.value
            for number, argument in enumerate(config.problem.arguments(shape, None))
        ]
        return kernel, grid, args

    def time(self, launch: TimedLaunch) -> dict[str, Any]:
        """Return the median time of a launch and the kernel's resources, or an error for wrong values."""
        from gpulab.verification.verify import verify

        kernel, grid, args = self.launch(launch)
        if not verify(kernel, config_of(launch), seed=1).correct:
            return {"error": "wrong values"}

        samples: list[float] = []
        self.device.time(lambda: kernel(grid, launch.block, args))
        while len(samples) < SAMPLES and sum(samples) < SAMPLED_MS:
            samples.append(self.device.time(lambda: kernel(grid, launch.block, args)))
        return {
            "ms": statistics.median(samples),
            "samples": len(samples),
            "spread": (max(samples) - min(samples)) / statistics.median(samples),
            "registers": kernel.resources.registers,
            "shared": kernel.resources.shared_bytes,
        }


def run_stage(log: Path, stage: str, seconds: float) -> None:
    """Run one stage in this process, and write the entry of each launch to the log.

    "micro" measures the micro-kernels, "time" times the launches that have no entry yet, and "ncu" runs the
    launches once, for the profiler that this process runs under.
    """
    bench, deadline = Bench(), time.monotonic() + seconds
    entries = read(log)
    with appended(log) as write:
        if stage == "micro":
            from benchmarks.model_microbenchmarks import microbenchmarks

            write(label="micro", micro=microbenchmarks(bench.device))
            return

        for launch in timed_launches():
            entry = entries.get(launch.label, {})
            if time.monotonic() > deadline:
                return
            if stage == "time" and not entry:
                write(label=launch.label, error="the process died")
                try:
                    write(label=launch.label, **bench.time(launch))
                except Exception as error:  # noqa: BLE001  (it is part of the result)
                    write(label=launch.label, error=str(error)[:200])
            if stage == "ncu" and entry.get("ms", 1e9) < SLOW_MS:
                kernel, grid, args = bench.launch(launch)
                write(label=launch.label, profiled=True)
                kernel(grid, launch.block, args)


def read(log: Path) -> dict[str, dict[str, Any]]:
    """Return the entries of the log by label; a later line overrides an earlier one, a time an error."""
    entries: dict[str, dict[str, Any]] = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        fields = json.loads(line)
        entry = entries.setdefault(fields["label"], {})
        if "ms" in fields:
            entry.pop("error", None)
        entry.update(fields)
    return entries


def compile_error(launch: TimedLaunch) -> str:
    """Compile a launch's kernel into the disk cache and return the error message, empty without an error."""
    from gpulab.compiler import compile_program

    try:
        compile_program(launch.source, arch=90, defines=config_of(launch).defines)
    except Exception as error:  # noqa: BLE001  (it is part of the result)
        return str(error)[:200]
    return ""


def run_process(*arguments: str, profiler: Sequence[str] = (), limit_s: float) -> None:
    """Run a stage in a separate process, which is stopped after `limit_s` seconds."""
    command = [*profiler, sys.executable, "-m", "benchmarks.model_measure", *arguments]
    try:
        subprocess.run(command, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        print("time limit reached:", *arguments)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_measure", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    parser.add_argument("--stage", choices=("micro", "time", "ncu"), help=argparse.SUPPRESS)
    parser.add_argument("--timing-seconds", type=float, default=150)
    parser.add_argument("--ncu-seconds", type=float, default=200)
    options = parser.parse_args()
    log = options.out / "model.jsonl"
    if options.stage:
        run_stage(
            log, options.stage, options.ncu_seconds if options.stage == "ncu" else options.timing_seconds
        )
        return 0

    progress = progress_since(time.monotonic())
    launches, out = timed_launches(), str(options.out)
    with ProcessPoolExecutor(14) as pool:
        errors = zip(launches, pool.map(compile_error, launches), strict=True)
        refused = {launch.label: error for launch, error in errors if error}
    progress(f"compiled {len(launches)}, of which {len(refused)} failed")

    run_process("--stage", "micro", "--out", out, limit_s=90)
    progress("micro-kernels")

    deadline = time.monotonic() + options.timing_seconds
    while time.monotonic() < deadline and any(launch.label not in read(log) for launch in launches):
        left = deadline - time.monotonic()
        limits = ("--timing-seconds", str(left))
        run_process("--stage", "time", "--out", out, *limits, limit_s=left + 15)
    progress(f"timed {sum('ms' in entry for entry in read(log).values())}")

    ncu, report = find_ncu(), options.out / "model.ncu-rep"
    profiler = (
        ncu, "--target-processes", "all", "--cache-control", "none", "--clock-control", "none",
        "--kernel-name", "regex:(mmkernel|block2D)", "--metrics", ",".join(METRICS),
        "--force-overwrite", "--export", str(report),
    )  # fmt: skip
    limits = ("--ncu-seconds", str(options.ncu_seconds))
    run_process("--stage", "ncu", "--out", out, *limits, profiler=profiler, limit_s=options.ncu_seconds + 60)
    rows = read_rows(ncu, report)
    progress(f"profiled {len(rows)}")

    entries = read(log)
    lines = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    profiled = [line["label"] for line in lines if "profiled" in line]
    for label, row in zip(profiled, rows, strict=False):
        entries[label]["ncu"] = {name: value for name, value in row["metrics"].items() if name in METRICS}

    smi = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem", "--format=csv,noheader"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    version = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=False).stdout
    result: dict[str, Any] = {
        "gpu": smi.stdout.strip(),
        "ncu": version.strip().splitlines()[-1:],
        "micro": entries.pop("micro", {}).get("micro"),
        "refused": refused,
        "launches": [{**vars(one), "label": one.label, **entries.get(one.label, {})} for one in launches],
    }
    (options.out / "model.json").write_text(json.dumps(result), encoding="utf-8")
    report.unlink(missing_ok=True)

    print(json.dumps(result["micro"], indent=1))
    for launch in result["launches"]:
        print(launch["label"], launch.get("ms"), launch.get("error", ""), len(launch.get("ncu", {})))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
