"""Run NVIDIA's compute-sanitizer on the sanitizer's corpus.

python -m benchmarks.sanitizer.compute_sanitizer [OUT] [--only PREFIX] [--jobs N] [--limit S] [--budget S]
python -m benchmarks.sanitizer.compute_sanitizer --table [FILE]

The first form needs a CUDA GPU and compute-sanitizer; run it in the root of the repository with
PYTHONPATH=src:. Every kernel under tests/kernels/findings runs once under each of the four tools, and the
reports are written to OUT (default: compute_sanitizer.json in the folder of the environment variable OUT).

The second form writes docs/sanitizer.md from benchmarks/figures/compute-sanitizer-h200.json and from what
`gpulab.sanitize` reports. With FILE, it first makes these figures from the output of the first form.

Each run is a separate process of `sanitizer_launch.py` with a time limit, because some of the wrong kernels
never end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.sanitizer.sanitizer_page import FIGURES, TOOLS, store_figures, write_page

__all__ = ["main"]

LAUNCH = [sys.executable, "-I", "-S", str(Path(__file__).with_name("sanitizer_launch.py").resolve())]
STORED_OUTPUT = 5000  # characters of each run, so that the output can be parsed again with other rules

_LINE = re.compile(r"cell\.cu:(\d+)")
_OTHER_FILE = re.compile(r"\bin ([^\s:]+):(\d+)")
_ERRORS = re.compile(r"ERROR SUMMARY: (\d+) error")
_HAZARDS = re.compile(r"RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?\)")
# Unindented lines that do not begin a report.
_FRAME = re.compile(
    r"COMPUTE-SANITIZER|\w+ SUMMARY|Program hit|Target application|Process didn't|No attachable|\(Identical|$"
)
_PLACES = re.compile(r"0x[0-9a-f]+|\(\d+, ?\d+, ?\d+\)|\b(?:Thread|thread|block) (?=\()")


def find_tool() -> str:
    """Return the path of compute-sanitizer; end the program if it is not installed."""
    installed = [*Path("/usr/local").glob("cuda*/bin/compute-sanitizer")]
    installed += [*Path("/usr/local").glob("cuda*/compute-sanitizer/compute-sanitizer")]
    path = shutil.which("compute-sanitizer") or max(map(str, installed), default=None)
    if path is None:
        sys.exit("compute-sanitizer was not found, neither on PATH nor under /usr/local/cuda*/")
    return path


def output_of(command: Sequence[str]) -> str:
    """Return the output of a command with its errors, or the message if it does not start."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return result.stdout + result.stderr


def options_of(help_text: str) -> dict[str, list[str]]:
    """Return the options of each tool, as far as the output of `--help` describes them."""

    def description(name: str) -> str:
        match = re.search(rf"--{name}\b(.*?)(?=\n\s*(?:-\w \[ )?--|\Z)", help_text, re.DOTALL)
        return match[0] if match else ""

    common = ["--print-limit", "1000"] if description("print-limit") else []
    # Device frames name the kernel's line of inlined code; host frames would be those of our launcher.
    if description("show-backtrace"):
        common += ["--show-backtrace", "device" if "device" in description("show-backtrace") else "no"]
    if description("report-api-errors"):
        common += ["--report-api-errors", "no"]

    own: dict[str, list[str]] = {tool: [] for tool in TOOLS}
    if description("padding"):
        own["memcheck"] = ["--padding", "1024"]
    if description("racecheck-report"):
        own["racecheck"] = ["--racecheck-report", "all"]
    for name in sorted(set(re.findall(r"--([\w-]*initcheck[\w-]*)", help_text))):
        # Include shared memory, whatever this version calls the option.
        if "shared" in description(name).lower():
            choice = "all" if re.search(r"\ball\b", description(name)) else "yes"
            own["initcheck"] += [f"--{name}", choice]
    return {tool: ["--tool", tool, *common, *own[tool]] for tool in TOOLS}


def prepare(case: Any, folder: Path) -> str | None:
    """Write machine code and arguments of a case to `folder`; return the error if it does not compile."""
    from gpulab.compiler import compile_program
    from gpulab.devices.launch_limits import dim3
    from gpulab.errors import GpulabError

    try:
        program = compile_program(case.source, arch=90)
    except GpulabError as error:
        return str(error)

    name = program.pick(None)
    arguments: list[dict[str, object]] = []
    for number, (argument, parameter) in enumerate(
        zip(case.arguments, program.signatures[name], strict=True)
    ):
        if argument.shape is None:
            value = argument.host.tobytes()
            if len(value) != parameter.size:
                return f"argument {number} has {len(value)} bytes and the parameter {parameter.size}"
            arguments.append({"value": value.hex()})
        elif argument.host is None:
            arguments.append({"bytes": argument.nbytes})
        else:
            (folder / f"{number}.bin").write_bytes(argument.host.tobytes())
            arguments.append({"bytes": argument.nbytes, "file": f"{number}.bin"})

    assert program.cubin is not None
    (folder / "kernel.cubin").write_bytes(program.cubin)
    job = {
        "entry": program.entry(name),
        "grid": dim3(case.grid, "grid"),
        "block": dim3(case.block, "block"),
        "shared_mem": case.shared_mem,
        "arguments": arguments,
    }
    (folder / "launch.json").write_text(json.dumps(job), encoding="utf-8")
    return None


def run(command: Sequence[str], log: Path, limit_s: float) -> tuple[int | None, str]:
    """Return exit status and output of a command; the status is None if it was stopped after `limit_s`."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
        status: int | None = None
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            # On an interrupt the tool still writes its reports; a hanging kernel may ignore it.
            for number, patience_s in ((signal.SIGINT, 2), (signal.SIGKILL, 10)):
                with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(process.pid, number)
                    process.wait(patience_s)
    return status, log.read_text(encoding="utf-8", errors="replace")


def parse(output: str) -> dict[str, Any]:
    """Return the error counts and reports in a tool's output; equal reports are counted, not repeated."""
    reports: list[tuple[str, set[int], set[str]]] = []  # headline, lines of the kernel, lines of other files
    for line in output.splitlines():
        match = re.match(r"=========(?: (.*))?$", line)
        if not match:
            continue
        text = match[1] or ""
        if text and not text[0].isspace():
            if _FRAME.match(text):
                continue
            if not text.startswith(("and ", "Current Value", "Incoming Value")) or not reports:
                reports.append((_headline(text), set(), set()))
        if reports:
            reports[-1][1].update(int(number) for number in _LINE.findall(text))
            reports[-1][2].update(
                f"{Path(f).name}:{n}" for f, n in _OTHER_FILE.findall(text) if "cell.cu" not in f
            )

    counted = Counter((head, tuple(sorted(lines)), tuple(sorted(other))) for head, lines, other in reports)
    errors, hazards = _ERRORS.search(output), _HAZARDS.search(output)
    return {
        "errors": int(errors[1]) if errors else int(hazards[1]) if hazards else None,
        "hazards": [int(hazards[k]) for k in (1, 2, 3)] if hazards else None,
        "reports": [
            {"text": head, "lines": list(lines), "elsewhere": list(other), "count": count}
            for (head, lines, other), count in counted.items()
        ],
    }


def _headline(text: str) -> str:
    """Return a report's first line without the parts that differ from thread to thread."""
    plain = re.sub(r"(?i)^(error|warning|info): ", "", text)
    plain = _PLACES.sub("", re.split(r" at | in block \(", plain)[0])
    return re.sub(r"\s+", " ", plain).strip(" :")


def state_of(status: int | None, output: str) -> str:
    """Return how a run ended, in a few words."""
    if status is None:
        return "time limit"
    if "launch: ended" in output:
        return "ended"
    refused = re.search(r"launch: (\w+) gives (\d+)", output)
    return f"{refused[1]} gives {refused[2]}" if refused else f"exit status {status}"


def measure(options: argparse.Namespace) -> None:
    """Run all cases under all tools and write the reports to `options.out`."""
    from tests.kernels.findings.findings import cases

    start = time.perf_counter()
    program = find_tool()
    flags = options_of(output_of([program, "--help"]))
    corpus = cases(options.only)
    kernels: dict[str, dict[str, Any]] = {case.id: {} for case in corpus}
    result: dict[str, Any] = {
        "version": output_of([program, "--version"]).strip(),
        "gpu": output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).strip(),
        "options": flags,
        "kernels": kernels,
    }

    def check(case_id: str, tool: str, folder: Path) -> tuple[str, str, dict[str, Any]]:
        left = options.budget - (time.perf_counter() - start)
        if left < 5:
            return case_id, tool, {"state": "not run"}
        began = time.perf_counter()
        command = [program, *flags[tool], *LAUNCH, str(folder)]
        status, output = run(command, folder / f"{tool}.log", min(options.limit, left))
        answer = {
            "state": state_of(status, output),
            "seconds": round(time.perf_counter() - began, 1),
            **parse(output),
            "output": output[:STORED_OUTPUT],
        }
        return case_id, tool, answer

    def save() -> None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    def progress(text: str) -> None:
        print(f"{text}, {time.perf_counter() - start:.0f} s", flush=True)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        ready: dict[str, Path] = {}
        for case in corpus:
            folder = Path(scratch) / case.id
            folder.mkdir(parents=True)
            error = prepare(case, folder)
            if error is None:
                ready[case.id] = folder
            else:
                kernels[case.id] = {tool: {"state": "does not compile", "output": error} for tool in TOOLS}
        progress(f"{len(ready)} of {len(corpus)} kernels compiled")

        # A correct kernel shows whether a tool accepts its options, and whether it runs here at all.
        correct = [case.id for case in corpus if case.tool is None and case.id in ready][:1]
        for case_id, tool in product(correct, TOOLS):
            *_, answer = check(case_id, tool, ready[case_id])
            if answer["state"] != "ended":
                print(f"{tool} runs without its options: {answer.get('output', '')}", flush=True)
                flags[tool] = ["--tool", tool]
                *_, answer = check(case_id, tool, ready[case_id])
            if answer["state"] != "ended":
                sys.exit(f"{tool} does not run here: {answer['state']}\n{answer.get('output', '')}")

        # Kernels that may hang come last, so that they do not use up the time of the others.
        order = sorted((case.hangs, case.tool == "synccheck", at) for at, case in enumerate(corpus))
        with ThreadPoolExecutor(options.jobs) as pool:
            pending = [
                pool.submit(check, corpus[at].id, tool, ready[corpus[at].id])
                for *_, at in order
                if corpus[at].id in ready
                for tool in TOOLS
            ]
            for done, future in enumerate(pending, start=1):
                case_id, tool, answer = future.result()
                kernels[case_id][tool] = answer
                if done % 40 == 0 or done == len(pending):
                    save()
                    progress(f"{done} of {len(pending)} runs")

    result["seconds"] = round(time.perf_counter() - start)
    save()
    states = Counter(answer["state"] for answers in kernels.values() for answer in answers.values())
    print(", ".join(f"{state}: {count}" for state, count in states.most_common()))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sanitizer.compute_sanitizer", description=__doc__
    )
    out = Path(os.environ.get("OUT", ".")) / "compute_sanitizer.json"
    parser.add_argument("out", nargs="?", type=Path, default=out, help=f"the file to write (default {out})")
    parser.add_argument("--only", default="", metavar="PREFIX", help="kernels with this prefix: racecheck/")
    parser.add_argument("--jobs", type=int, default=12, help="parallel processes (default 12)")
    parser.add_argument("--limit", type=float, default=30, help="seconds of one run (default 30)")
    parser.add_argument("--budget", type=float, default=450, help="seconds of all runs (default 450)")
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        nargs="?",
        const=FIGURES,
        help="write docs/sanitizer.md; with FILE, make the figures from it first",
    )
    options = parser.parse_args()
    if options.table:
        if options.table != FIGURES:
            store_figures(options.table)
        write_page()
    else:
        measure(options)


if __name__ == "__main__":
    main()
