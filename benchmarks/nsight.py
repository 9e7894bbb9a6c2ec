"""`python -m benchmarks.nsight`: what Nsight Compute counts for the labs' kernels and for single rules.

On a machine with a CUDA GPU, CuPy and ncu, in the repository root with PYTHONPATH=src:. ; writes
nsight.json (programs with PTX and machine code, one row of metrics a launch) into the folder OUT names, or
the one given. The simulator's counters are compared with that file: it holds what the GPU really ran.

One process makes all launches of a group, in order, under ncu. A launch that fails is left out; when a
process dies, the next one goes on behind the launch that killed it.
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

from benchmarks.nsight_launches import Launch, launches

GROUPS = ("micro", "stencil", "matmul")
SECONDS_A_GROUP = 170

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
    """ncu on PATH, or in a CUDA Toolkit or Nsight Compute folder."""
    found = shutil.which("ncu")
    if found:
        return found
    places = [*Path("/usr/local").glob("cuda*/bin/ncu"), *Path("/opt/nvidia/nsight-compute").glob("*/ncu")]
    if not places:
        raise SystemExit("there is no ncu here: it comes with the CUDA Toolkit.")
    return str(max(places))


def known_metrics(ncu: str) -> set[str] | None:
    """Names without suffix that this ncu knows for the GPU; None when it does not say."""
    known: set[str] = set()
    for more in ([], ["--query-metrics-collection", "launch"], ["--query-metrics-collection", "source"]):
        answer = subprocess.run(
            [ncu, "--query-metrics", *more], capture_output=True, text=True, timeout=120, check=False
        )
        known |= {line.split()[0] for line in answer.stdout.splitlines() if "__" in line}
    return known or None


# -- the process under ncu -------------------------------------------------------------------------


def make_launches(some: Sequence[Launch], first: int, device_name: str, log: Path) -> None:
    """Make launches from number `first` on, and write down each, before and after."""
    import gpulab

    device = gpulab.device(device_name)
    kernels: dict[tuple[str, str], Any] = {}
    with log.open("a", encoding="utf-8") as file:

        def say(**entry: object) -> None:
            file.write(json.dumps(entry) + "\n")
            file.flush()

        for number, launch in enumerate(some[first:], first):
            say(number=number, state="begins")
            try:
                key = launch.source.name, launch.kernel
                if key not in kernels:
                    kernels[key] = kernel = device.compile(
                        launch.source.text, name=launch.kernel, defines=launch.source.defines
                    )
                    program = kernel.program
                    say(
                        program=launch.source.name,
                        ptx=program.ptx,
                        cubin=base64.b64encode(program.cubin or b"").decode(),
                        resources={name: vars(found) for name, found in program.resources.items()},
                        entries=dict(program.entries),
                    )
                arguments = [
                    device.asarray(value) if getattr(value, "ndim", 0) else value
                    for value in launch.arguments()
                ]
                kernels[key](launch.grid, launch.block, arguments)
                say(number=number, state="ended", entry=kernels[key].program.entry(launch.kernel))
            except gpulab.GpulabError as error:
                say(number=number, state="failed", error=str(error)[:300])


def group_of(group: str, known: Path | None = None) -> list[Launch]:
    """The launches of a group, without those that an earlier result has metrics of."""
    names = set()
    if known is not None:
        earlier = json.loads(known.read_text(encoding="utf-8"))
        names = {one["name"] for one in earlier["launches"] if one["metrics"]}
    return [launch for launch in launches() if launch.group == group and launch.name not in names]


def kept(metrics: Mapping[str, object]) -> dict[str, object]:
    """What a result holds of a launch: sums, and what has no sum; nothing of the GPU itself."""
    leave_out = (".avg", ".max", ".min")
    return {
        name: value
        for name, value in metrics.items()
        if name in METRICS or not (name.endswith(leave_out) or name.startswith(("device__", "smsp__pcsamp")))
    }


# -- the process that calls ncu --------------------------------------------------------------------


def profile(
    ncu: str, group: str, known: Path | None, metrics: Sequence[str], out: Path, keep: Path
) -> dict[str, Any]:
    """Profile a group: rows by launch number, programs, errors; the source page goes to `keep` as it is."""
    count, sections = len(group_of(group, known)), True
    state: dict[str, Any] = {"rows": {}, "programs": {}, "errors": {}, "messages": []}
    first, attempt, ends = 0, 0, time.monotonic() + SECONDS_A_GROUP
    while first < count and attempt < 6 and time.monotonic() < ends:
        attempt += 1
        report, log = out / f"{group}{attempt}.ncu-rep", out / f"{group}{attempt}.jsonl"
        log.write_text("", encoding="utf-8")
        command = [
            ncu, "--target-processes", "all", "--cache-control", "all", "--clock-control", "none",
            "--metrics", ",".join(metrics), *(["--section", "SourceCounters"] if sections else []),
            "--force-overwrite", "--export", str(report),
            sys.executable, "-m", "benchmarks.nsight", "--launch", group, "--first", str(first),
            "--log", str(log), *(["--without", str(known)] if known else []),
        ]  # fmt: skip
        in_time = True
        try:
            answer = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=max(ends - time.monotonic(), 20)
            )
            state["messages"].append((answer.stdout + answer.stderr)[-1500:])
        except subprocess.TimeoutExpired:
            state["messages"].append("out of time")
            in_time = False
        entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        state["programs"] |= {e["program"]: e for e in entries if "program" in e}
        state["errors"] |= {e["number"]: e["error"] for e in entries if e.get("state") == "failed"}
        made = [(e["number"], e["entry"]) for e in entries if e.get("state") == "ended"]
        rows = read_rows(ncu, report)
        if len(rows) < len(made):
            state["messages"].append(f"{len(made)} launches, {len(rows)} rows")
        rows_left = iter(rows)
        for number, entry in made:
            for row in rows_left:
                if row["kernel"] in entry:
                    state["rows"][number] = row
                    break
        if report.exists():
            save_source_page(ncu, report, keep / f"{group}{attempt}-source.csv.gz")
        begun = [e["number"] for e in entries if e.get("state") == "begins"]
        if not begun:
            if not sections:
                break
            sections = False  # perhaps this ncu has no such section
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
    """The raw page of a report: one dict a launch, metric names to numbers."""
    if not report.exists():
        return []
    answer = subprocess.run(
        [ncu, "--import", str(report), "--csv", "--page", "raw", "--print-units", "base"],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    lines = answer.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = []
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        if not (row.get("ID") or "").isdigit():
            continue  # the line with the units
        numbers = {name: number(text) for name, text in row.items() if name and "__" in name}
        rows.append({"kernel": (row.get("Kernel Name") or "").split("(")[0], "metrics": numbers})
    return rows


def number(text: str | None) -> float | int | str | None:
    """A figure of the CSV; text as it is when it is none."""
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
    """Counts of single machine instructions, as ncu prints them."""
    command = [ncu, "--import", str(report), "--csv", "--page", "source", "--print-source", "sass"]
    try:
        answer = subprocess.run(command, capture_output=True, check=False, timeout=200)
    except subprocess.TimeoutExpired:
        return
    file.write_bytes(gzip.compress(answer.stdout + answer.stderr))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nsight", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    parser.add_argument("--groups", nargs="*", default=GROUPS, choices=GROUPS)
    parser.add_argument("--without", type=Path, metavar="FILE", help="leave out what an earlier result has")
    parser.add_argument("--launch", choices=GROUPS, help="make a group's launches, in this process")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--device", default="cuda:0", help="with --launch")
    options = parser.parse_args(arguments)
    if options.launch:
        some = group_of(options.launch, options.without)
        make_launches(some, options.first, options.device, options.log or Path(os.devnull))
        return 0

    ncu = find_ncu()
    known = known_metrics(ncu)
    wanted = [m for m in METRICS if m.startswith("launch__") or known is None or m.partition(".")[0] in known]
    version = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=False).stdout
    result: dict[str, Any] = {
        "ncu": version.strip().splitlines()[-1:],
        "metrics_dropped": [m for m in METRICS if m not in wanted],
        "programs": {},
        "launches": [],
    }
    folder = options.out / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for group in options.groups:
            began = time.monotonic()
            some = group_of(group, options.without)
            state = profile(ncu, group, options.without, wanted, folder, options.out)
            result["programs"] |= state["programs"]
            result[f"messages {group}"] = state["messages"]
            for index, launch in enumerate(some):
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
                        "metrics": kept(row.get("metrics", {})),
                        "error": state["errors"].get(index),
                    }
                )
            (options.out / "nsight.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
            measured = sum(bool(one["metrics"]) for one in result["launches"] if one["group"] == group)
            print(f"{group}: {measured} of {len(some)} launches, {time.monotonic() - began:.0f} s")
            for message in state["messages"]:
                print(message)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("unknown metrics:", ", ".join(result["metrics_dropped"]) or "none")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
