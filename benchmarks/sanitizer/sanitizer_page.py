"""Text of docs/sanitizer.md: the comparison of `gpulab.sanitize` with NVIDIA's compute-sanitizer."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FIGURES", "PAGE", "TOOLS", "SanitizerRow", "row_of", "store_figures", "write_page"]

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sanitizer.md"
FIGURES = ROOT / "benchmarks" / "figures" / "compute-sanitizer-h200.json"
_TOOLKITS = ("nvidia", "gpulab")
# The reason why NVIDIA's tools do not report the faults that only gpulab finds.
_REASONS = {
    "memcheck": "One kernel reads constant memory, the other reads shared memory before its first byte.",
    "racecheck": "NVIDIA's racecheck checks shared memory only; most of these races are in global memory.",
    "initcheck": "These reads are from shared memory, which initcheck of this version does not check.",
    "synccheck": (
        "Threads that return before a barrier are not reported. If lanes or warps wait for each other, the\n"
        "GPU hangs and there is no report either; the tables show `no end`."
    ),
}


@dataclass(frozen=True)
class SanitizerRow:
    """One kernel on the page.

    Attributes
    ----------
    group : str
        The tool that its fault is for, or "right".
    nvidia, gpulab : str
        "named" if a report names a line of the fault, "elsewhere" if reports name other lines only, else
        "silent".
    link, description, nvidia_cell, gpulab_cell : str
        The columns of the table, in Markdown.
    """

    group: str
    name: str
    link: str
    description: str
    nvidia: str
    gpulab: str
    nvidia_cell: str
    gpulab_cell: str

    @property
    def text(self) -> str:
        return f"| {self.link} | {self.description} | {self.nvidia_cell} | {self.gpulab_cell} |"


def store_figures(file: Path) -> None:
    """Make `FIGURES` from the output of `compute_sanitizer.measure`, without the tools' raw output."""
    measured = json.loads(file.read_text(encoding="utf-8"))
    head = {name: value for name, value in measured.items() if name != "kernels"}
    rows = []
    for name, answers in measured["kernels"].items():
        stored = {
            tool: {key: answer[key] for key in ("state", "errors", "hazards", "reports") if answer.get(key)}
            for tool, answer in answers.items()
        }
        rows.append(f"  {json.dumps(name)}: {json.dumps(stored)}")  # one line for each kernel
    text = (
        json.dumps(head, indent=1).removesuffix("\n}") + ',\n "kernels": {\n' + ",\n".join(rows) + "\n }\n}\n"
    )
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(text, encoding="utf-8")


def write_page() -> None:
    """Write docs/sanitizer.md from `FIGURES` and from what `gpulab.sanitize` reports."""
    import gpulab
    from tests.kernels.findings.findings import cases

    measured = json.loads(FIGURES.read_text(encoding="utf-8"))
    device = gpulab.device("sim")
    kernels = measured["kernels"]
    rows = [row_of(case, kernels[case.id], device) for case in cases() if case.id in kernels]
    PAGE.write_text(page(measured, rows), encoding="utf-8")
    print(f"{len(rows)} cases in {PAGE.relative_to(ROOT)}")


def row_of(case: Any, answers: Mapping[str, Any], device: Any) -> SanitizerRow:
    """Return the row of a case: the stored reports of NVIDIA's tools, and gpulab's findings."""
    from gpulab import sanitize
    from tests.kernels.findings.findings import FOLDER

    kernel = device.compile(case.source)
    findings = sanitize(
        kernel, case.grid, case.block, case.device_arguments(device), shared_mem=case.shared_mem
    )
    fault_lines = {*case.lines, case.fault_line}

    def outcome(lines: set[int]) -> str:
        return "named" if lines & fault_lines else "elsewhere" if lines else "silent"

    path = (FOLDER / case.file).relative_to(ROOT).as_posix()
    name = case.id.split("/")[1].replace("_", " ")
    fault = f" Fault{_in_lines(set(case.lines))}." if case.lines else ""
    return SanitizerRow(
        group=case.tool or "right",
        name=name,
        link=f"[{name}](../{path})",
        description=f"{case.what[0].upper()}{case.what[1:]}.{fault}",
        nvidia=outcome({line for lines in _reported_lines(answers).values() for line in lines}),
        gpulab=outcome({finding.line for finding in findings}),
        nvidia_cell=_nvidia_cell(answers),
        gpulab_cell=_gpulab_cell(findings),
    )


def _reported_lines(answers: Mapping[str, Any]) -> dict[str, set[int]]:
    """Return the lines that each reporting tool names; 0 if it names none of the kernel's."""
    by_tool: dict[str, set[int]] = {}
    for tool, answer in answers.items():
        if answer.get("errors"):
            by_tool[tool] = {line for report in answer["reports"] for line in report["lines"]} or {0}
    return by_tool


def _nvidia_cell(answers: Mapping[str, Any]) -> str:
    parts = []
    for tool, lines in _reported_lines(answers).items():
        texts = Counter(
            {report["text"]: report["count"] for report in answers[tool]["reports"] if report["text"]}
        )
        first = texts.most_common(1)[0][0] if texts else "errors"
        first = re.sub(r"^(\(.*\) )?Potential (\w+ hazard) detected", r"\1\2", first).rstrip(".")
        parts.append(f"{tool}: {first}{_in_lines(lines)}")

    stopped = [tool for tool, answer in answers.items() if answer["state"] == "time limit"]
    if stopped:
        parts.append("no end" if len(stopped) == len(TOOLS) else f"no end under {', '.join(stopped)}")
    missing = [t for t, answer in answers.items() if answer["state"] in ("not run", "does not compile")]
    if missing:
        parts.append(f"not run: {', '.join(missing)}")
    return "<br>".join(parts) or "nothing"


def _gpulab_cell(findings: Sequence[Any]) -> str:
    texts = [f"{f.tool}: {f.kind}{_in_lines({f.line})}" for f in findings]
    return "<br>".join(dict.fromkeys(texts)) or "nothing"


def _in_lines(lines: set[int]) -> str:
    numbers = sorted(lines - {0})
    if not numbers:
        return ", no line"
    return f" in line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def page(measured: Mapping[str, Any], rows: Sequence[SanitizerRow]) -> str:
    """Return the page in Markdown."""
    groups = [group for group in (*TOOLS, "right") if any(row.group == group for row in rows)]
    match = re.search(r"Version ([\d.]+)", measured["version"], re.IGNORECASE)
    version = match[1] if match else measured["version"]
    gpu, _, driver = measured["gpu"].splitlines()[0].partition(", ")
    wrong = [row for row in rows if row.group != "right"]
    right = len(rows) - len(wrong)
    alarms = {
        who: [r for r in rows if r.group == "right" and getattr(r, who) != "silent"] for who in _TOOLKITS
    }
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
        members = [row for row in rows if row.group == group]
        if group != "right":
            counts = [sum(getattr(row, who) == "named" for row in members) for who in _TOOLKITS]
            lines.append(f"| {group} | {len(members)} | {counts[0]} | {counts[1]} |")
    counts = [sum(getattr(row, who) == "named" for row in wrong) for who in _TOOLKITS]
    lines += [
        f"| **all** | **{len(wrong)}** | **{counts[0]}** | **{counts[1]}** |",
        "",
        "A fault counts as found if at least one report of any of the four tools names a line of the fault.",
        "A report that names only other lines does not count.",
        "",
        f"False alarms on the {right} right kernels: {len(alarms['nvidia'])} of compute-sanitizer,",
        f"{len(alarms['gpulab'])} of gpulab.",
        "",
    ]
    missed = [row for row in wrong if row.nvidia == "named" != row.gpulab]
    lines += [_named("Found by compute-sanitizer only", missed), ""]
    for group in groups:
        only_gpulab = [row for row in wrong if row.group == group and row.gpulab == "named" != row.nvidia]
        if only_gpulab:
            lines += [_named(f"Found by gpulab only ({group})", only_gpulab), _REASONS[group], ""]
    lines += ["False alarms of compute-sanitizer:", ""]
    lines += [f"- {row.link}: {row.description} {row.nvidia_cell}." for row in alarms["nvidia"]]
    lines += ["", _named("False alarms of gpulab", alarms["gpulab"]), ""]
    flags = {tool: _options(words[2:]) for tool, words in measured["options"].items()}
    everywhere = [option for option in flags[TOOLS[0]] if all(option in own for own in flags.values())]
    options = [f"- all tools: {', '.join(f'`{option}`' for option in everywhere)}"]
    for tool in TOOLS:
        own = [f"`{option}`" for option in flags[tool] if option not in everywhere]
        options += [f"- {tool}: {', '.join(own)}"] if own else []
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
        "[benchmarks/figures](../benchmarks/figures). `python -m benchmarks.sanitizer.compute_sanitizer`",
        "measures them; with `--table` it writes this page.",
        "",
        "[races.md](races.md) has the results on Indigo, a public suite of kernels with and without races.",
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


def _named(title: str, rows: Sequence[SanitizerRow]) -> str:
    return f"{title}: {'; '.join(row.link for row in rows) if rows else 'none'}."


def _options(words: Sequence[str]) -> list[str]:
    return [" ".join(pair) for pair in zip(words[::2], words[1::2], strict=True)]
