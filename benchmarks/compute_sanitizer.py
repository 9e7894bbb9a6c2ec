"""`python -m benchmarks.compute_sanitizer`: what NVIDIA's compute-sanitizer says of the sanitizer's corpus.

On a machine with a CUDA GPU and compute-sanitizer, in the repository root with PYTHONPATH=src:. ; every
kernel under tests/kernels/findings runs once under each of the four tools. Writes compute_sanitizer.json
into the folder OUT names, or to the file given. With --table it runs nothing: it writes docs/sanitizer.md
from benchmarks/figures/compute-sanitizer-h200.json and from what `gpulab.sanitize` says here; --table FILE
makes the figures from such a result first.

Each run is a process of its own, `sanitizer_launch.py`, with a time limit, since some of the wrong kernels
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
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "sanitizer.md"
FIGURES = ROOT / "benchmarks" / "figures" / "compute-sanitizer-h200.json"
LAUNCH = [sys.executable, "-I", "-S", str(Path(__file__).with_name("sanitizer_launch.py").resolve())]
_WHO = ("nvidia", "ours")
# The reason why NVIDIA's tools do not report the faults that only gpulab finds.
_WHY = {
    "memcheck": "One kernel reads constant memory, the other reads shared memory before its first byte.",
    "racecheck": "NVIDIA's racecheck checks shared memory only; most of these races are in global memory.",
    "initcheck": "These reads are from shared memory, which initcheck of this version does not check.",
    "synccheck": (
        "Threads that return before a barrier are not reported. If lanes or warps wait for each other, the\n"
        "GPU hangs and there is no report either; the tables show `no end`."
    ),
}
KEPT_OUTPUT = 5000  # characters of each run, so that the file can be read again by other rules

_OURS = re.compile(r"cell\.cu:(\d+)")
_ELSEWHERE = re.compile(r"\bin ([^\s:]+):(\d+)")
_ERRORS = re.compile(r"ERROR SUMMARY: (\d+) error")
_HAZARDS = re.compile(r"RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?\)")
# What begins at the left margin and is no report.
_FRAME = re.compile(
    r"COMPUTE-SANITIZER|\w+ SUMMARY|Program hit|Target application|Process didn't|No attachable|\(Identical|$"
)
_PLACES = re.compile(r"0x[0-9a-f]+|\(\d+, ?\d+, ?\d+\)|\b(?:Thread|thread|block) (?=\()")


def find_tool() -> str:
    """compute-sanitizer's path; ends the program where there is none."""
    names = [*Path("/usr/local").glob("cuda*/bin/compute-sanitizer")]
    names += [*Path("/usr/local").glob("cuda*/compute-sanitizer/compute-sanitizer")]
    found = shutil.which("compute-sanitizer") or next(
        (str(name) for name in sorted(names, reverse=True)), None
    )
    if found is None:
        sys.exit("compute-sanitizer was not found, neither on PATH nor under /usr/local/cuda*/")
    return found


def said(command: Sequence[str]) -> str:
    """A command's output, errors included; its complaint where it does not run."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return result.stdout + result.stderr


def options_of(text: str) -> dict[str, list[str]]:
    """The options of each tool, as far as `--help`, which is `text`, knows them."""

    def described(name: str) -> str:
        found = re.search(rf"--{name}\b(.*?)(?=\n\s*(?:-\w \[ )?--|\Z)", text, re.DOTALL)
        return found[0] if found else ""

    common = ["--print-limit", "1000"] if described("print-limit") else []
    # Frames on the device name the line in the kernel of what was inlined; the host's frames are ours.
    if described("show-backtrace"):
        common += ["--show-backtrace", "device" if "device" in described("show-backtrace") else "no"]
    if described("report-api-errors"):
        common += ["--report-api-errors", "no"]
    own: dict[str, list[str]] = {tool: [] for tool in TOOLS}
    if described("padding"):
        own["memcheck"] = ["--padding", "1024"]
    if described("racecheck-report"):
        own["racecheck"] = ["--racecheck-report", "all"]
    for name in sorted(set(re.findall(r"--([\w-]*initcheck[\w-]*)", text))):
        # The choice that takes in shared memory, under whatever name this version has it.
        if "shared" in described(name).lower():
            choice = "all" if re.search(r"\ball\b", described(name)) else "yes"
            own["initcheck"] += [f"--{name}", choice]
    return {tool: ["--tool", tool, *common, *own[tool]] for tool in TOOLS}


def prepare(case: Any, folder: Path) -> str | None:
    """Machine code and arguments of one case as files in `folder`; why not, if it does not compile."""
    from gpulab.compiler import compile_program
    from gpulab.devices.launch_limits import dim3
    from gpulab.errors import GpulabError

    try:
        program = compile_program(case.source, arch=90)
    except GpulabError as error:
        return str(error)
    name = program.pick(None)
    arguments: list[dict[str, object]] = []
    for number, (given, parameter) in enumerate(zip(case.arguments, program.signatures[name], strict=True)):
        if given.shape is None:
            value = given.host.tobytes()
            if len(value) != parameter.size:
                return f"argument {number} has {len(value)} bytes and the parameter {parameter.size}"
            arguments.append({"value": value.hex()})
        elif given.host is None:
            arguments.append({"bytes": given.nbytes})
        else:
            (folder / f"{number}.bin").write_bytes(given.host.tobytes())
            arguments.append({"bytes": given.nbytes, "file": f"{number}.bin"})
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


def run(command: Sequence[str], log: Path, limit: float) -> tuple[int | None, str]:
    """Exit status (None when stopped) and output of a command that may not end by itself."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
        status: int | None = None
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            # The interrupt lets the tool write what it has; the kernel's process may be past hearing it.
            for number, patience in ((signal.SIGINT, 2), (signal.SIGKILL, 10)):
                with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(process.pid, number)
                    process.wait(patience)
    return status, log.read_text(encoding="utf-8", errors="replace")


def read(text: str) -> dict[str, Any]:
    """Counts and reports in a tool's output; equal reports are counted, not repeated."""
    reports: list[tuple[str, set[int], set[str]]] = []
    for line in text.splitlines():
        found = re.match(r"=========(?: (.*))?$", line)
        if not found:
            continue
        words = found[1] or ""
        if words and not words[0].isspace():
            if _FRAME.match(words):
                continue
            if not words.startswith(("and ", "Current Value", "Incoming Value")) or not reports:
                reports.append((_headline(words), set(), set()))
        if reports:
            reports[-1][1].update(int(number) for number in _OURS.findall(words))
            reports[-1][2].update(
                f"{Path(f).name}:{n}" for f, n in _ELSEWHERE.findall(words) if "cell.cu" not in f
            )
    counted = Counter((head, tuple(sorted(lines)), tuple(sorted(other))) for head, lines, other in reports)
    errors, hazards = _ERRORS.search(text), _HAZARDS.search(text)
    return {
        "errors": int(errors[1]) if errors else int(hazards[1]) if hazards else None,
        "hazards": [int(hazards[k]) for k in (1, 2, 3)] if hazards else None,
        "reports": [
            {"text": head, "lines": list(lines), "elsewhere": list(other), "count": count}
            for (head, lines, other), count in counted.items()
        ],
    }


def _headline(words: str) -> str:
    """A report's first line without what differs from thread to thread."""
    plain = re.sub(r"(?i)^(error|warning|info): ", "", words)
    plain = _PLACES.sub("", re.split(r" at | in block \(", plain)[0])
    return re.sub(r"\s+", " ", plain).strip(" :")


def state_of(status: int | None, output: str) -> str:
    """How the run ended, in a word or two."""
    if status is None:
        return "time limit"
    if "launch: ended" in output:
        return "ended"
    refused = re.search(r"launch: (\w+) gives (\d+)", output)
    return f"{refused[1]} gives {refused[2]}" if refused else f"exit status {status}"


def measure(options: argparse.Namespace) -> None:
    """All cases under all tools, into `options.out`."""
    from tests.kernels.findings.findings import cases

    start = time.perf_counter()
    tool = find_tool()
    flags = options_of(said([tool, "--help"]))
    corpus = cases(options.only)
    kernels: dict[str, dict[str, Any]] = {case.id: {} for case in corpus}
    result: dict[str, Any] = {
        "version": said([tool, "--version"]).strip(),
        "gpu": said(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).strip(),
        "options": flags,
        "kernels": kernels,
    }

    def one(case_id: str, which: str, folder: Path) -> tuple[str, str, dict[str, Any]]:
        left = options.budget - (time.perf_counter() - start)
        if left < 5:
            return case_id, which, {"state": "not run"}
        began = time.perf_counter()
        command = [tool, *flags[which], *LAUNCH, str(folder)]
        status, output = run(command, folder / f"{which}.log", min(options.limit, left))
        answer = {
            "state": state_of(status, output),
            "seconds": round(time.perf_counter() - began, 1),
            **read(output),
            "output": output[:KEPT_OUTPUT],
        }
        return case_id, which, answer

    def save() -> None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        ready: dict[str, Path] = {}
        for case in corpus:
            folder = Path(scratch) / case.id
            folder.mkdir(parents=True)
            problem = prepare(case, folder)
            if problem is None:
                ready[case.id] = folder
            else:
                kernels[case.id] = {
                    which: {"state": "does not compile", "output": problem} for which in TOOLS
                }
        print(
            f"{len(ready)} of {len(corpus)} kernels compiled, {time.perf_counter() - start:.0f} s", flush=True
        )
        # A tool that refuses an option, or does not work here at all, shows it on a kernel that is right.
        right = [case.id for case in corpus if case.tool is None and case.id in ready][:1]
        for case_id, which in product(right, TOOLS):
            *_, answer = one(case_id, which, ready[case_id])
            if answer["state"] != "ended":
                print(f"{which} does without its options: {answer.get('output', '')}", flush=True)
                flags[which] = ["--tool", which]
                *_, answer = one(case_id, which, ready[case_id])
            if answer["state"] != "ended":
                sys.exit(f"{which} does not run here: {answer['state']}\n{answer.get('output', '')}")
        # What may hang goes last: it must not take the time of the others.
        order = sorted((case.hangs, case.tool == "synccheck", at) for at, case in enumerate(corpus))
        with ThreadPoolExecutor(options.jobs) as pool:
            pending = [
                pool.submit(one, corpus[at].id, which, ready[corpus[at].id])
                for *_, at in order
                if corpus[at].id in ready
                for which in TOOLS
            ]
            for done, future in enumerate(pending, start=1):
                case_id, which, answer = future.result()
                kernels[case_id][which] = answer
                if done % 40 == 0 or done == len(pending):
                    save()
                    print(f"{done} of {len(pending)} runs, {time.perf_counter() - start:.0f} s", flush=True)
    result["seconds"] = round(time.perf_counter() - start)
    save()
    states = Counter(answer["state"] for answers in kernels.values() for answer in answers.values())
    print(", ".join(f"{state}: {count}" for state, count in states.most_common()))


# The figures


def keep(file: Path) -> None:
    """Make `FIGURES` from a file of `measure`: everything but the tool's raw output, a kernel a line."""
    measured = json.loads(file.read_text(encoding="utf-8"))
    head = {name: value for name, value in measured.items() if name != "kernels"}
    rows = []
    for name, answers in measured["kernels"].items():
        kept = {
            which: {key: answer[key] for key in ("state", "errors", "hazards", "reports") if answer.get(key)}
            for which, answer in answers.items()
        }
        rows.append(f"  {json.dumps(name)}: {json.dumps(kept)}")
    text = (
        json.dumps(head, indent=1).removesuffix("\n}") + ',\n "kernels": {\n' + ",\n".join(rows) + "\n }\n}\n"
    )
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(text, encoding="utf-8")


# The page


def nvidia_says(answers: dict[str, Any]) -> dict[str, set[int]]:
    """For each tool that reports something, the lines it names (0: none of the kernel's)."""
    found: dict[str, set[int]] = {}
    for which, answer in answers.items():
        if not answer.get("errors"):
            continue
        lines = {line for report in answer["reports"] for line in report["lines"]}
        found[which] = lines or {0}
    return found


def nvidia_cell(answers: dict[str, Any]) -> str:
    parts = []
    for which, lines in nvidia_says(answers).items():
        texts = Counter(
            {report["text"]: report["count"] for report in answers[which]["reports"] if report["text"]}
        )
        first = texts.most_common(1)[0][0] if texts else "errors"
        first = re.sub(r"^(\(.*\) )?Potential (\w+ hazard) detected", r"\1\2", first).rstrip(".")
        parts.append(f"{which}: {first}{_lines(lines)}")
    stopped = [which for which, answer in answers.items() if answer["state"] == "time limit"]
    if stopped:
        parts.append("no end" if len(stopped) == len(TOOLS) else f"no end under {', '.join(stopped)}")
    missing = [
        which for which, answer in answers.items() if answer["state"] in ("not run", "does not compile")
    ]
    if missing:
        parts.append(f"not run: {', '.join(missing)}")
    return "<br>".join(parts) or "nothing"


def _lines(lines: set[int]) -> str:
    known = sorted(lines - {0})
    return f" in line{'s' if len(known) > 1 else ''} {', '.join(map(str, known))}" if known else ", no line"


def ours_cell(findings: Sequence[Any]) -> str:
    texts = [f"{f.tool}: {f.kind}{_lines({f.line})}" for f in findings]
    return "<br>".join(dict.fromkeys(texts)) or "nothing"


@dataclass(frozen=True)
class Row:
    """One kernel on the page. nvidia, ours: "named", "elsewhere" or "silent"; the cells are Markdown."""

    group: str
    name: str
    link: str
    what: str
    nvidia: str
    ours: str
    nvidia_cell: str
    ours_cell: str

    @property
    def text(self) -> str:
        return f"| {self.link} | {self.what} | {self.nvidia_cell} | {self.ours_cell} |"


def row_of(case: Any, answers: dict[str, Any], device: Any) -> Row:
    """A case of the corpus: what NVIDIA's tool said, and what ours says now."""
    from gpulab import sanitize
    from tests.kernels.findings.findings import FOLDER

    kernel = device.compile(case.source)
    ours = sanitize(kernel, case.grid, case.block, case.device_arguments(device), shared_mem=case.shared_mem)
    cause = {*case.lines, case.fault_line}

    def says(lines: set[int]) -> str:
        return "named" if lines & cause else "elsewhere" if lines else "silent"

    place = (FOLDER / case.file).relative_to(ROOT).as_posix()
    name = case.id.split("/")[1].replace("_", " ")
    expected = f" Fault{_lines(set(case.lines))}." if case.lines else ""
    return Row(
        case.tool or "right",
        name,
        f"[{name}](../{place})",
        f"{case.what[0].upper()}{case.what[1:]}.{expected}",
        says({line for lines in nvidia_says(answers).values() for line in lines}),
        says({finding.line for finding in ours}),
        nvidia_cell(answers),
        ours_cell(ours),
    )


def write_table() -> None:
    """docs/sanitizer.md from `FIGURES` and from what `gpulab.sanitize` says here."""
    import gpulab
    from tests.kernels.findings.findings import cases

    measured = json.loads(FIGURES.read_text(encoding="utf-8"))
    device = gpulab.device("sim")
    known = measured["kernels"]
    rows = [row_of(case, known[case.id], device) for case in cases() if case.id in known]
    PAGE.write_text(_page(measured, rows), encoding="utf-8")
    print(f"{len(rows)} cases in {PAGE.relative_to(ROOT)}")


def _page(measured: dict[str, Any], rows: list[Row]) -> str:
    groups = [group for group in (*TOOLS, "right") if any(row.group == group for row in rows)]
    found = re.search(r"Version ([\d.]+)", measured["version"], re.IGNORECASE)
    version = found[1] if found else measured["version"]
    gpu, _, driver = measured["gpu"].splitlines()[0].partition(", ")
    wrong = [row for row in rows if row.group != "right"]
    right = len(rows) - len(wrong)
    alarms = {who: [r for r in rows if r.group == "right" and getattr(r, who) != "silent"] for who in _WHO}
    lines = [
        "# Comparison of `gpulab.sanitize` with NVIDIA's compute-sanitizer",
        "",
        "Both tools checked the kernels in `tests/kernels/findings`:",
        f"{len(wrong)} wrong kernels with one planted fault each, and {right} right kernels that could",
        "cause a false alarm.",
        "",
        "## Summary",
        "",
        "| kernels with a fault for | kernels | found by compute-sanitizer | found by gpulab |",
        "|---|---|---|---|",
    ]
    for group in groups:
        some = [row for row in rows if row.group == group]
        if group != "right":
            counts = [sum(getattr(row, who) == "named" for row in some) for who in _WHO]
            lines.append(f"| {group} | {len(some)} | {counts[0]} | {counts[1]} |")
    counts = [sum(getattr(row, who) == "named" for row in wrong) for who in _WHO]
    lines += [
        f"| **all** | **{len(wrong)}** | **{counts[0]}** | **{counts[1]}** |",
        "",
        "A fault counts as found if at least one report of any of the four tools names a line of the fault.",
        "A report that names only other lines does not count.",
        "",
        f"False alarms on the {right} right kernels: {len(alarms['nvidia'])} of compute-sanitizer,",
        f"{len(alarms['ours'])} of gpulab.",
        "",
    ]
    missed = [row for row in wrong if row.nvidia == "named" != row.ours]
    lines += [_named("Found by compute-sanitizer only", missed), ""]
    for group in groups:
        more = [row for row in wrong if row.group == group and row.ours == "named" != row.nvidia]
        if more:
            lines += [_named(f"Found by gpulab only ({group})", more), _WHY[group], ""]
    lines += ["False alarms of compute-sanitizer:", ""]
    lines += [f"- {row.link}: {row.what} {row.nvidia_cell}." for row in alarms["nvidia"]]
    lines += ["", _named("False alarms of gpulab", alarms["ours"]), ""]
    flags = {which: _options(words[2:]) for which, words in measured["options"].items()}
    everywhere = [option for option in flags[TOOLS[0]] if all(option in own for own in flags.values())]
    options = [f"- all tools: {', '.join(f'`{option}`' for option in everywhere)}"]
    for which in TOOLS:
        own = [f"`{option}`" for option in flags[which] if option not in everywhere]
        options += [f"- {which}: {', '.join(own)}"] if own else []
    lines += [
        "## Method",
        "",
        f"compute-sanitizer {version} ran on one {gpu}, driver {driver}: one launch of each kernel under",
        "each of the four tools, in a separate process that was stopped after 30 seconds. Options:",
        "",
        *options,
        "",
        "NVRTC compiled the kernels for sm_90, with line numbers and full optimisation. compute-sanitizer",
        "instruments machine code on a GPU, gpulab instruments PTX on the simulator. The reports are in",
        "[benchmarks/figures](../benchmarks/figures). `python -m benchmarks.compute_sanitizer` measures",
        "them; with `--table` it writes this page.",
    ]
    for group in groups:
        title = "Right kernels" if group == "right" else f"Wrong kernels: {group}"
        lines += [
            "",
            f"## {title}",
            "",
            "| kernel | description | compute-sanitizer reports | gpulab reports |",
            "|---|---|---|---|",
        ]
        lines += [row.text for row in rows if row.group == group]
    return "\n".join(lines) + "\n"


def _named(title: str, rows: Sequence[Row]) -> str:
    return f"{title}: {'; '.join(row.link for row in rows) if rows else 'none'}."


def _options(words: Sequence[str]) -> list[str]:
    return [" ".join(pair) for pair in zip(words[::2], words[1::2], strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compute_sanitizer", description=__doc__)
    out = Path(os.environ.get("OUT", ".")) / "compute_sanitizer.json"
    parser.add_argument("out", nargs="?", type=Path, default=out, help=f"the file to write (default {out})")
    parser.add_argument(
        "--only", default="", metavar="PREFIX", help="kernels whose name begins so: racecheck/"
    )
    parser.add_argument("--jobs", type=int, default=12, help="processes at once (default 12)")
    parser.add_argument("--limit", type=float, default=30, help="seconds a run may take (default 30)")
    parser.add_argument("--budget", type=float, default=450, help="seconds for everything (default 450)")
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        nargs="?",
        const=FIGURES,
        help="write docs/sanitizer.md; from FILE: make the figures of it first",
    )
    options = parser.parse_args()
    if options.table:
        if options.table != FIGURES:
            keep(options.table)
        write_table()
    else:
        measure(options)


if __name__ == "__main__":
    main()
