"""`python -m benchmarks.model_measure`: times and bottlenecks of the labs' kernels on a GPU, for the model.

On a machine with a CUDA GPU, CuPy and ncu, in the repository root with PYTHONPATH=src:. ; writes
model.json into the folder OUT names: the latencies and rates of the machine by small kernels of their own
(`benchmarks.model_microbenchmarks`), the median time of every launch of `benchmarks.model_launches`, warm,
between two events, and what Nsight Compute says of them.

Every kernel is checked on the problem's small sizes before it is timed. A launch that kills its process is
left out, and the next process goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.model_launches import Timed, config_of, geometry_of, timed_launches
from benchmarks.nsight import find_ncu, read_rows

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


def _compile(one: Timed) -> str:
    """Into the cache on disk; what went wrong, if anything did."""
    from gpulab.compiler import compile_program
    from gpulab.config import defines

    try:
        compile_program(one.source, arch=90, defines=defines(one.block, one.tile))
    except Exception as error:  # noqa: BLE001  (told in the result)
        return str(error)[:200]
    return ""


class Bench:
    """Kernels and arrays on the GPU; arrays are made once for each shape."""

    def __init__(self) -> None:
        import gpulab

        self.device: Any = gpulab.device("cuda:0")
        self.arrays: dict[tuple[int, ...], Any] = {}

    def array(self, shape: tuple[int, ...], which: int) -> Any:
        import cupy

        key = (*shape, which)
        if key not in self.arrays:
            self.arrays[key] = cupy.random.random(shape, dtype=cupy.float32) - np.float32(0.5)
        return self.arrays[key]

    def launch(self, one: Timed) -> tuple[Any, Any, list[Any]]:
        from gpulab.config import defines
        from gpulab.problems import problem

        known = problem(one.problem)
        kernel = self.device.compile(
            one.source, name=known.kernel_name(one.variant), defines=defines(one.block, one.tile)
        )
        grid, shape = geometry_of(one)
        args = [
            self.array(a.value.shape, n) if a.kind == "pointer" else a.value
            for n, a in enumerate(known.arguments(shape, None))
        ]
        return kernel, grid, args

    def timed(self, one: Timed) -> dict[str, Any]:
        from gpulab.verification.verify import verify

        kernel, grid, args = self.launch(one)
        verdict = verify(kernel, config_of(one), device=self.device, seed=1)
        if not verdict.correct:
            return {"error": "wrong values"}
        samples: list[float] = []
        self.device.time(lambda: kernel(grid, one.block, args))
        while len(samples) < 9 and sum(samples) < 400:
            samples.append(self.device.time(lambda: kernel(grid, one.block, args)))
        return {
            "ms": statistics.median(samples),
            "samples": len(samples),
            "spread": (max(samples) - min(samples)) / statistics.median(samples),
            "registers": kernel.resources.registers,
            "shared": kernel.resources.shared_bytes,
        }


def work(path: Path, mode: str, seconds: float) -> None:
    """In its own process: go through the launches that have no entry yet, and write each one down."""
    bench, ends = Bench(), time.monotonic() + seconds
    known = read(path)
    with path.open("a", encoding="utf-8") as file:

        def say(**entry: object) -> None:
            file.write(json.dumps(entry) + "\n")
            file.flush()

        if mode == "micro":
            from benchmarks.model_microbenchmarks import microbenchmarks

            say(label="micro", micro=microbenchmarks(bench.device))
            return
        for one in timed_launches():
            entry = known.get(one.label, {})
            if time.monotonic() > ends:
                return
            if mode == "time" and not entry:
                say(label=one.label, error="the process died")
                try:
                    say(label=one.label, **bench.timed(one))
                except Exception as error:  # noqa: BLE001  (told in the result)
                    say(label=one.label, error=str(error)[:200])
            if mode == "ncu" and entry.get("ms", 1e9) < SLOW_MS:
                kernel, grid, args = bench.launch(one)
                say(label=one.label, profiled=True)
                kernel(grid, one.block, args)


def read(path: Path) -> dict[str, dict[str, Any]]:
    """By label what was written down last; an error goes once there is a result."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        entry = json.loads(line)
        known = found.setdefault(entry["label"], {})
        if "ms" in entry:
            known.pop("error", None)
        known.update(entry)
    return found


def in_process(*arguments: str, before: tuple[str, ...] = (), limit_s: float) -> None:
    command = [*before, sys.executable, "-m", "benchmarks.model_measure", *arguments]
    try:
        subprocess.run(command, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        print("out of time:", *arguments)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_measure", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    parser.add_argument("--work", choices=("micro", "time", "ncu"))
    parser.add_argument("--timing-seconds", type=float, default=150)
    parser.add_argument("--ncu-seconds", type=float, default=200)
    options = parser.parse_args()
    log = options.out / "model.jsonl"
    if options.work:
        work(log, options.work, options.ncu_seconds if options.work == "ncu" else options.timing_seconds)
        return 0
    began = time.monotonic()

    def step(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", flush=True)

    with ProcessPoolExecutor(14) as pool:
        refused = {
            one.label: why
            for one, why in zip(timed_launches(), pool.map(_compile, timed_launches()), strict=True)
            if why
        }
    step(f"compiled {len(timed_launches())}, {len(refused)} refused")
    in_process("--work", "micro", "--out", str(options.out), limit_s=90)
    step("micro")
    ends = time.monotonic() + options.timing_seconds
    while time.monotonic() < ends and any(one.label not in read(log) for one in timed_launches()):
        left = ends - time.monotonic()
        in_process(
            "--work", "time", "--out", str(options.out), "--timing-seconds", str(left), limit_s=left + 15
        )
    step(f"timed {sum('ms' in e for e in read(log).values())}")
    ncu, report = find_ncu(), options.out / "model.ncu-rep"
    before = (
        ncu, "--target-processes", "all", "--cache-control", "none", "--clock-control", "none",
        "--kernel-name", "regex:(mmkernel|block2D)", "--metrics", ",".join(METRICS),
        "--force-overwrite", "--export", str(report),
    )  # fmt: skip
    in_process(
        "--work", "ncu", "--out", str(options.out), "--ncu-seconds", str(options.ncu_seconds),
        before=before, limit_s=options.ncu_seconds + 60,
    )  # fmt: skip
    rows = read_rows(ncu, report)
    step(f"profiled {len(rows)}")
    entries = read(log)
    profiled = [
        json.loads(line)["label"]
        for line in log.read_text(encoding="utf-8").splitlines()
        if "profiled" in json.loads(line)
    ]
    for label, row in zip(profiled, rows, strict=False):
        entries[label]["ncu"] = {k: v for k, v in row["metrics"].items() if k in METRICS}
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
        "launches": [
            {**vars(one), "label": one.label, **entries.get(one.label, {})} for one in timed_launches()
        ],
    }
    (options.out / "model.json").write_text(json.dumps(result), encoding="utf-8")
    report.unlink(missing_ok=True)
    print(json.dumps(result["micro"], indent=1))
    for one in result["launches"]:
        print(one["label"], one.get("ms"), one.get("error", ""), len(one.get("ncu", {})))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
