"""Measure the launches of `benchmarks.counters.nsight_launches` with Nsight Compute.

python -m benchmarks.counters.nsight [--out FOLDER] [--groups GROUP ...] [--without FILE]

Needs a CUDA GPU, CuPy and ncu; run it in the root of the repository with PYTHONPATH=src:. It writes
nsight.json into FOLDER (default: the environment variable OUT): the programs that ran, with PTX and machine
code, and the metrics of each launch. `nsight_compare` compares gpulab's counters with that file.

One process under ncu makes all launches of a group, in order. A launch that fails is left out. If the process
dies, the next one continues after the launch that ended it.
"""

from __future__ import annotations

import argparse
import base64
import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.counters.nsight_launches import NsightLaunch, launches
from benchmarks.measurement_log import appended

GROUPS = ("micro", "stencil", "matmul")
SECONDS_PER_GROUP = 170

_SPACES = (
    "global_ld", "global_st", "global_red", "global_atom", "shared_ld", "shared_st", "shared_atom",
    "local_ld", "local_st", "shared", "global", "ldsm", "ldgsts", "branch",
)  # fmt: skip
_OPERATIONS = (
    "ffma", "fadd", "fmul", "dfma", "dadd", "dmul", "fp32", "fp64", "integer", "conversion", "bit",
    "control", "memory", "misc", "inter_thread_communication", "uniform",
)  # fmt: skip
_GLOBAL = ("global_op_ld", "global_op_st", "global_op_red", "global_op_atom", "local_op_ld", "local_op_st")

METRICS = tuple(
    [f"l1tex__t_{what}_pipe_lsu_mem_{op}.sum" for what in ("requests", "sectors") for op in _GLOBAL]
    + [f"l1tex__data_pipe_lsu_wavefronts_mem_shared{op}.sum" for op in ("", "_op_ld", "_op_st", "_op_atom")]
    + [f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared{op}.sum" for op in ("", "_op_ld", "_op_st")]
    + [f"smsp__{how}_executed_op_{op}.sum" for how in ("inst", "sass_inst") for op in _SPACES]
    + [f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in _OPERATIONS]
    + [
        "smsp__inst_executed.sum",
        "smsp__inst_issued.sum",
        "smsp__thread_inst_executed.sum",
        "smsp__thread_inst_executed_pred_on.sum",
        "smsp__thread_inst_executed_per_inst_executed.ratio",
        "smsp__branch_targets_threads_divergent.sum",
        "smsp__sass_branch_targets_threads_divergent.sum",
        "smsp__sass_branch_targets_threads_uniform.sum",
        "smsp__sass_branch_targets.sum",
        "smsp__warps_launched.sum",
        "launch__registers_per_thread",
        "launch__occupancy_limit_registers",
        "dram__bytes_read.sum",
        "dram__bytes_write.sum",
        "lts__t_sectors_op_read.sum",
        "lts__t_sectors_op_write.sum",
        "lts__t_sectors_srcunit_tex_op_read.sum",
        "lts__t_sectors_srcunit_tex_op_write.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
        "gpu__time_duration.sum",
        "sm__cycles_elapsed.max",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
    ]
)  # fmt: skip


def find_ncu() -> str:
    """Return the path of ncu: on PATH, or in a folder of the CUDA Toolkit or of Nsight Compute."""
    on_path = shutil.which("ncu")
    if on_path:
        return on_path
    installed = [*Path("/usr/local").glob("cuda*/bin/ncu"), *Path("/opt/nvidia/nsight-compute").glob("*/ncu")]
    if not installed:
        raise SystemExit("ncu was not found; it is part of the CUDA Toolkit.")
    return str(max(installed))


def available_metrics(ncu: str) -> set[str] | None:
    """Return the metrics of the GPU, without suffixes; None if ncu does not list them."""
    metrics: set[str] = set()
    for options in ([], ["--query-metrics-collection", "launch"], ["--query-metrics-collection", "source"]):
        listed = subprocess.run(
            [ncu, "--query-metrics", *options], capture_output=True, text=True, timeout=120, check=False
        )
        metrics |= {line.split()[0] for line in listed.stdout.splitlines() if "__" in line}
    return metrics or None


# -- the process under ncu -------------------------------------------------------------------------


def run_launches(selected: Sequence[NsightLaunch], first: int, device_name: str, log: Path) -> None:
    """Run the launches from number `first` on, and write to the log before and after each."""
    import gpulab

    device = gpulab.device(device_name)
    kernels: dict[tuple[str, str], Any] = {}
    with appended(log) as write:
        for number, launch in enumerate(selected[first:], first):
            write(number=number, state="begins")
            try:
                key = launch.source.name, launch.kernel
                if key not in kernels:
                    kernels[key] = kernel = device.compile(
                        launch.source.text, name=launch.kernel, defines=launch.source.defines
                    )
                    program = kernel.program
                    write(
                        program=launch.source.name,
                        ptx=program.ptx,
                        cubin=base64.b64encode(program.cubin or b"").decode(),
                        resources={name: vars(used) for name, used in program.resources.items()},
                        entries=dict(program.entries),
                    )
                arguments = [
                    device.asarray(value) if getattr(value, "ndim", 0) else value
                    for value in launch.arguments()
                ]
                kernels[key](launch.grid, launch.block, arguments)
                write(number=number, state="ended", entry=kernels[key].program.entry(launch.kernel))
            except gpulab.GpulabError as error:
                write(number=number, state="failed", error=str(error)[:300])


def launches_of(group: str, earlier: Path | None = None) -> list[NsightLaunch]:
    """Return the launches of a group, without those that an earlier result has metrics of."""
    measured = set()
    if earlier is not None:
        result = json.loads(earlier.read_text(encoding="utf-8"))
        measured = {entry["name"] for entry in result["launches"] if entry["metrics"]}
    return [launch for launch in launches() if launch.group == group and launch.name not in measured]


def stored_metrics(metrics: Mapping[str, object]) -> dict[str, object]:
    """Return the metrics of a launch that a result stores: `METRICS`, and sums of all others."""
    no_sums, of_gpu = (".avg", ".max", ".min"), ("device__", "smsp__pcsamp")
    return {
        name: value
        for name, value in metrics.items()
        if name in METRICS or not (name.endswith(no_sums) or name.startswith(of_gpu))
    }


# -- the process that calls ncu --------------------------------------------------------------------


def profile(
    ncu: str, group: str, earlier: Path | None, metrics: Sequence[str], reports: Path, out: Path
) -> dict[str, Any]:
    """Profile a group and return its rows by launch number, its programs and its errors.

    ncu's reports are written to `reports`, and their source pages to `out`.
    """
    count, sections = len(launches_of(group, earlier)), True
    state: dict[str, Any] = {"rows": {}, "programs": {}, "errors": {}, "messages": []}
    first, attempt, ends = 0, 0, time.monotonic() + SECONDS_PER_GROUP
    while first < count and attempt < 6 and time.monotonic() < ends:
        attempt += 1
        report, log = reports / f"{group}{attempt}.ncu-rep", reports / f"{group}{attempt}.jsonl"
        log.write_text("", encoding="utf-8")
        command = [
            ncu, "--target-processes", "all", "--cache-control", "all", "--clock-control", "none",
            "--metrics", ",".join(metrics), *(["--section", "SourceCounters"] if sections else []),
            "--force-overwrite", "--export", str(report),
            sys.executable, "-m", "benchmarks.counters.nsight", "--launch", group, "--first", str(first),
            "--log", str(log), *(["--without", str(earlier)] if earlier else []),
        ]  # fmt: skip
        in_time = True
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=max(ends - time.monotonic(), 20)
            )
            state["messages"].append((run.stdout + run.stderr)[-1500:])
        except subprocess.TimeoutExpired:
            state["messages"].append("out of time")
            in_time = False

        entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        state["programs"] |= {e["program"]: e for e in entries if "program" in e}
        state["errors"] |= {e["number"]: e["error"] for e in entries if e.get("state") == "failed"}
        ended = [(e["number"], e["entry"]) for e in entries if e.get("state") == "ended"]
        rows = read_rows(ncu, report)
        if len(rows) < len(ended):
            state["messages"].append(f"{len(ended)} launches, {len(rows)} rows")
        remaining = iter(rows)
        for number, entry in ended:
            for row in remaining:
                if row["kernel"] in entry:
                    state["rows"][number] = row
                    break
        if report.exists():
            save_source_page(ncu, report, out / f"{group}{attempt}-source.csv.gz")

        begun = [e["number"] for e in entries if e.get("state") == "begins"]
        if not begun:
            if not sections:
                break
            sections = False  # this version of ncu may not have the section
            continue
        done = {e["number"] for e in entries if e.get("state") in ("ended", "failed")}
        if not rows and sections:
            sections = False
            continue
        for number in set(begun) - done if in_time else ():
            state["errors"][number] = "the process died in this launch"
        first = max(begun) + 1
    return state


def read_rows(ncu: str, report: Path) -> list[dict[str, Any]]:
    """Return the kernel and the metrics of each launch from the raw page of a report."""
    if not report.exists():
        return []
    printed = subprocess.run(
        [ncu, "--import", str(report), "--csv", "--page", "raw", "--print-units", "base"],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    return profiled_launches(printed.stdout)


def profiled_launches(printed: str) -> list[dict[str, Any]]:
    """Return the kernel and the metrics of each launch from what ncu printed: the raw page as CSV."""
    lines = printed.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = []
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        if not (row.get("ID") or "").isdigit():
            continue  # the row of the units
        metrics = {name: number(text) for name, text in row.items() if name and "__" in name}
        rows.append({"kernel": (row.get("Kernel Name") or "").split("(")[0], "metrics": metrics})
    return rows


def number(text: str | None) -> float | int | str | None:
    """Return a field of the CSV as a number, or as it is if it is none."""
    if text is None:
        return None
    plain = text.replace(",", "").strip()
    try:
        return int(plain)
    except ValueError:
        pass
    try:
        return float(plain)
    except ValueError:
        return text


def save_source_page(ncu: str, report: Path, file: Path) -> None:
    """Save ncu's source page, which has the counts of each machine instruction."""
    command = [ncu, "--import", str(report), "--csv", "--page", "source", "--print-source", "sass"]
    try:
        printed = subprocess.run(command, capture_output=True, check=False, timeout=200)
    except subprocess.TimeoutExpired:
        return
    file.write_bytes(gzip.compress(printed.stdout + printed.stderr))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.counters.nsight", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    parser.add_argument("--groups", nargs="*", default=GROUPS, choices=GROUPS)
    parser.add_argument("--without", type=Path, metavar="FILE", help="skip launches of an earlier result")
    parser.add_argument("--launch", choices=GROUPS, help="run the launches of a group in this process")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--device", default="cuda:0", help="with --launch")
    options = parser.parse_args(arguments)
    if options.launch:
        selected = launches_of(options.launch, options.without)
        run_launches(selected, options.first, options.device, options.log or Path(os.devnull))
        return 0

    ncu = find_ncu()
    available = available_metrics(ncu)
    metrics = [
        m
        for m in METRICS
        if m.startswith("launch__") or available is None or m.partition(".")[0] in available
    ]
    version = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=False).stdout
    result: dict[str, Any] = {
        "ncu": version.strip().splitlines()[-1:],
        "metrics_dropped": [m for m in METRICS if m not in metrics],
        "programs": {},
        "launches": [],
    }

    folder = options.out / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for group in options.groups:
            start = time.monotonic()
            selected = launches_of(group, options.without)
            state = profile(ncu, group, options.without, metrics, folder, options.out)
            result["programs"] |= state["programs"]
            result[f"messages {group}"] = state["messages"]
            for index, launch in enumerate(selected):
                row = state["rows"].get(index, {})
                result["launches"].append(
                    {
                        "group": group,
                        "name": launch.name,
                        "program": launch.source.name,
                        "kernel": launch.kernel,
                        "grid": launch.grid,
                        "block": launch.block,
                        "patterns": launch.patterns,
                        "metrics": stored_metrics(row.get("metrics", {})),
                        "error": state["errors"].get(index),
                    }
                )
            (options.out / "nsight.json").write_text(json.dumps(result, indent=1), encoding="utf-8")

            measured = sum(bool(e["metrics"]) for e in result["launches"] if e["group"] == group)
            print(f"{group}: {measured} of {len(selected)} launches, {time.monotonic() - start:.0f} s")
            for message in state["messages"]:
                print(message)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("unknown metrics:", ", ".join(result["metrics_dropped"]) or "none")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
