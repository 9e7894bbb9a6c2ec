"""Times and Nsight Compute's metrics of the launches on a GPU.

python -m benchmarks.foreign_model.measure --bundle FOLDER [--out FOLDER] [--seconds N]

Needs a CUDA GPU, CuPy and ncu, and a folder that `python -m benchmarks.foreign_model bundle` has written; run
it in the root of the repository with PYTHONPATH=src:. It writes foreign.json into the output folder (default:
the environment variable OUT). Each stage runs in a process of its own, which is started again after a launch
that ends it:

- "time": the median time of up to nine launches between two events, after one launch that is not timed.
  Arrays that a launch changes get their old values before each launch.
- "ncu": Nsight Compute's metrics of one launch.
- "labs": the time of each launch of the labs in `model-h200.json.xz`, and "labs-ncu", its metrics.

With --missing, only launches without metrics in the figures are measured.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import New, Part
from benchmarks.counters.nsight import find_ncu, read_rows
from benchmarks.foreign_model.bundle import read_programs
from benchmarks.foreign_model.figures import measured
from benchmarks.foreign_model.launch_list import foreign_launches
from benchmarks.measurement_log import appended, progress_since
from benchmarks.model_errors import measured_launches
from benchmarks.model_launches import config_of, geometry_of
from benchmarks.model_measure import METRICS, SAMPLED_MS, SAMPLES, SLOW_MS, read

STAGES = ("time", "ncu", "labs", "labs-ncu")
PATTERN = 1 << 20  # elements of the random numbers that fill the arrays of the labs


def store_arguments(label: str, index: int, folder: Path) -> str:
    """Write the launch with its arrays to a folder, without expected values; return an error message."""
    try:
        launch = foreign_launches()[index].launch()
        restored = sorted(n for n in launch.expect if isinstance(launch.args[n], np.ndarray | Part))
        fields = {
            "grid": launch.grid, "block": launch.block, "args": list(launch.args), "shared": launch.shared,
            "variables": dict(launch.variables), "restored": restored,
        }  # fmt: skip
        with (folder / f"{index}.pickle").open("wb") as file:
            pickle.dump(fields, file, protocol=5)
    except Exception as error:  # noqa: BLE001  (it is part of the result)
        return f"{label}: {error}"[:200]
    return ""


class Bench:
    """The launches on the GPU."""

    def __init__(self, bundle: Path, data: Path, device: str) -> None:
        import gpulab

        self.device: Any = gpulab.device(device)
        self.data, self.programs = data, read_programs(bundle)
        self.filled: dict[tuple[int, ...], Any] = {}
        self.restored_bytes = 0

    def launcher(self, stage: str, number: int, label: str) -> tuple[Callable[[], None], Any, Any]:
        """Return functions that launch a kernel and restore its arguments, and the kernel's resources."""
        part, self.restored_bytes = "labs" if stage.startswith("labs") else "foreign", 0
        program, name = self.programs[part][label]
        kernel = self.kernel(program, name)
        if part == "labs":
            launch = measured_launches()[label]
            grid, shape = geometry_of(launch)
            args = [
                self.array(each.value.shape, each.value.dtype, number)
                if each.kind == "pointer"
                else each.value
                for number, each in enumerate(config_of(launch).problem.arguments(shape, None))
            ]
            return lambda: kernel(grid, launch.block, args), None, kernel.resources

        data = (self.data / f"{number}.pickle").read_bytes()
        fields = pickle.loads(data)  # noqa: S301  (written by `store_arguments`)
        for variable, values in fields["variables"].items():
            kernel.module.set_global(variable, values)
        copies: dict[int, Any] = {}
        args = [self.argument(value, copies) for value in fields["args"]]
        sources = {n: self.argument(fields["args"][n], {}) for n in fields["restored"]}
        self.restored_bytes = sum(source.nbytes for source in sources.values())

        def restore() -> None:
            for n, source in sources.items():
                if self.device.kind == "cuda":  # a copy by the driver, without a kernel
                    args[n].data.copy_from_device_async(source.data, source.nbytes)
                else:
                    args[n][...] = source

        run = lambda: kernel(fields["grid"], fields["block"], tuple(args), fields["shared"])  # noqa: E731
        return run, restore if sources else None, kernel.resources

    def kernel(self, program: Any, name: str) -> Any:
        if self.device.kind == "cuda":
            from gpulab.devices.cuda.cuda_device import CudaModule

            return CudaModule(self.device, program).get_function(name)
        return self.device.module_of(program).get_function(name)

    def array(self, shape: tuple[int, ...], dtype: Any, number: int) -> Any:
        """Return an array of random numbers for the argument with this number."""
        key = (*shape, number)
        if key not in self.filled:
            if sum(each.nbytes for each in self.filled.values()) > 8 << 30:
                self.filled.clear()
            pattern = np.random.default_rng(number).random(PATTERN, np.float32) - np.float32(0.5)
            self.filled[key] = self.device.asarray(np.resize(pattern, shape).astype(dtype, copy=False))
        return self.filled[key]

    def argument(self, value: Any, copies: dict[int, Any]) -> Any:
        if isinstance(value, New):
            return self.device.zeros(value.shape, value.dtype)
        if isinstance(value, np.ndarray):
            return copies.setdefault(id(value), self.device.asarray(value))
        if isinstance(value, Part):
            return self.device.asarray(value.array)[value.start :]
        return value

    def time(self, run: Callable[[], None], restore: Any) -> dict[str, Any]:
        """Return the median time of a launch."""
        samples: list[float] = []
        self.device.time(run, before=restore)
        while len(samples) < SAMPLES and sum(samples) < SAMPLED_MS:
            samples.append(self.device.time(run, before=restore))
        median = statistics.median(samples)
        return {"ms": median, "samples": len(samples), "spread": (max(samples) - min(samples)) / median}


def missing(options: argparse.Namespace) -> set[str]:
    """Return the launches to measure."""
    known = measured()["launches"] if options.missing else {}
    labels = {each.label for each in foreign_launches()}
    return {label for label in labels if "ncu" not in known.get(label, {})}


def labels_of(stage: str) -> list[str]:
    """Return the launches of a stage."""
    if stage.startswith("labs"):
        return list(measured_launches())
    return [each.label for each in foreign_launches()]


def run_stage(stage: str, log: Path, options: argparse.Namespace) -> None:
    """Run one stage in this process and write the entry of each launch to the log."""
    deadline, entries = time.monotonic() + options.seconds, read(log)
    bench, wanted = Bench(options.bundle, options.data, options.device), missing(options)
    with appended(log) as write:
        for number, label in enumerate(labels_of(stage)):
            entry = entries.get(label, {})
            if time.monotonic() > deadline:
                return
            if stage in ("time", "ncu") and label not in wanted:
                continue
            if stage in ("time", "labs"):
                if entry:
                    continue
                write(label=label, error="the process died")
                try:
                    run, restore, resources = bench.launcher(stage, number, label)
                    times = bench.time(run, restore)
                    used = {"registers": resources.registers, "shared": resources.shared_bytes}
                    if bench.restored_bytes:
                        used["restored_bytes"] = bench.restored_bytes
                    write(label=label, **times, **used)
                except Exception as error:  # noqa: BLE001  (it is part of the result)
                    write(label=label, error=str(error)[:200])
                    if not bench.device.usable:
                        return
            elif entry.get("ms", 1e9) < SLOW_MS and "profiled" not in entry:
                run, _, _ = bench.launcher(stage, number, label)
                write(label=label, profiled=True)
                run()
                bench.device.synchronize()


def run_process(
    stage: str, options: argparse.Namespace, seconds: float, profiler: Sequence[str] = (), grace: float = 30
) -> None:
    command = [
        *profiler, sys.executable, "-m", "benchmarks.foreign_model.measure", "--stage", stage,
        "--bundle", str(options.bundle), "--data", str(options.data), "--out", str(options.out),
        "--device", options.device, "--seconds", str(seconds), *(["--missing"] if options.missing else []),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=False, timeout=seconds + grace)
    except subprocess.TimeoutExpired:
        print("time limit reached:", stage, flush=True)


def profiled(stage: str, options: argparse.Namespace, seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run a stage under ncu and yield the metrics of each launch."""
    ncu, report = find_ncu(), options.out / f"{stage}.ncu-rep"
    metrics = [*METRICS, "launch__registers_per_thread", "launch__occupancy_limit_registers"]
    profiler = (
        ncu, "--target-processes", "all", "--cache-control", "none", "--clock-control", "none",
        "--metrics", ",".join(metrics), "--force-overwrite", "--export", str(report),
    )  # fmt: skip
    log = options.out / f"{'labs' if stage.startswith('labs') else 'time'}.jsonl"
    run_process(stage, options, seconds, profiler)
    rows = read_rows(ncu, report)
    lines = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    labels = [line["label"] for line in lines if "profiled" in line]
    print(f"{stage}: {len(labels)} launches, {len(rows)} rows", flush=True)
    for label, row in zip(labels, rows, strict=False):
        kept = {name: value for name, value in row["metrics"].items() if name in metrics}
        yield label, {"kernel": row["kernel"], **kept}
    report.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign_model.measure", description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seconds", type=float, default=400, help="for all stages")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--missing", action="store_true", help="measure launches without metrics")
    options = parser.parse_args()
    if options.stage:
        name = "labs" if options.stage.startswith("labs") else "time"
        run_stage(options.stage, options.out / f"{name}.jsonl", options)
        return 0

    start = time.monotonic()
    progress = progress_since(start)

    def left() -> float:
        return float(start + options.seconds - time.monotonic())

    shared = Path("/dev/shm")  # noqa: S108  (the arrays take about 15 GB)
    roomy = shared.is_dir() and shutil.disk_usage(shared).free > 32 << 30
    options.data = (shared if roomy else options.out.parent) / "foreign-arguments"
    options.data.mkdir(parents=True, exist_ok=True)
    labels = [each.label for each in foreign_launches()]
    wanted = [n for n, label in enumerate(labels) if label in missing(options)]
    with ProcessPoolExecutor(options.workers) as pool:
        names, folders = [labels[n] for n in wanted], [options.data] * len(wanted)
        errors = [each for each in pool.map(store_arguments, names, wanted, folders) if each]
    progress(f"arguments in {options.data}; {errors}")

    cuda = options.device.startswith("cuda")
    metrics: dict[str, dict[str, Any]] = {}
    stages = {"time": 0.4, "ncu": 0.6} | ({} if options.missing else {"labs": 0.6, "labs-ncu": 0.9})
    for stage, share in stages.items():
        seconds = share * left()
        if seconds < 10:
            break
        if stage.endswith("ncu"):
            if cuda:
                metrics |= dict(profiled(stage, options, seconds))
        else:
            log = options.out / f"{stage}.jsonl"
            ends = time.monotonic() + seconds
            while time.monotonic() < ends and len(read(log)) < (
                len(wanted) if stage == "time" else len(labels_of(stage))
            ):
                before = len(read(log))
                run_process(stage, options, ends - time.monotonic())
                if len(read(log)) == before:
                    break
            progress(f"{stage}: {sum('ms' in entry for entry in read(log).values())} times")
        progress(f"{stage} done")
    shutil.rmtree(options.data)

    result: dict[str, Any] = {
        "nvrtc": read_programs(options.bundle)["nvrtc"],
        "gpu": _output("nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem",
                       "--format=csv,noheader"),
        "ncu": _output(find_ncu(), "--version").splitlines()[-1:] if cuda else [],
        "errors": errors,
    }  # fmt: skip
    for part, name in (("foreign", "time"), ("labs", "labs")):
        entries = read(options.out / f"{name}.jsonl")
        for label, entry in entries.items():
            entry.pop("profiled", None)
            if label in metrics:
                entry["ncu"] = metrics[label]
        result[part] = list(entries.values())
    (options.out / "foreign.json").write_text(json.dumps(result), encoding="utf-8")
    for part in ("foreign", "labs"):
        for entry in result[part]:
            print(entry["label"], entry.get("ms"), entry.get("error", ""), len(entry.get("ncu", {})))
    return 0


def _output(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
