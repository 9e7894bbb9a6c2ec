"""The section of docs/races.md on GPURepair's test suite: labels, reports, and why they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.markdown import paragraph
from benchmarks.races.gpurepair_suite import SETS

__all__ = [
    "DIFFERENCES",
    "RepairVerdict",
    "read_repair_verdicts",
    "repair_section",
    "repair_summary",
    "store_repair_verdicts",
]

REPOSITORY = "https://github.com/cs17resch01003/gpurepair"
REPAIR_FIGURES = Path(__file__).parents[1] / "figures" / "gpurepair.json"
# Why reports differ from labels, and for which kernels; found by reading the kernels and their PTX.
DIFFERENCES = {
    "No conflict is left in the compiled code: the compiler removes accesses whose values nothing uses. The "
    "label is right about the source": (
        "Bugged/race_writeread", "Bugged_Cooperative/race_writeread", "CUDA/fail_tests/race_on_shared",
        "CUDA/fail_tests/shared_int", "CUDA/loop_unwind", "CUDA/memcpy/fail_arrayofstruct",
        "CUDA/pointertests/cast",
    ),
    "The kernel has the barrier that orders its accesses, which GPURepair must find necessary. gpulab is "
    "right": (
        "Bugged/race_syncthreads", "Bugged_Cooperative/race_grid_group",
        "Bugged_Cooperative/race_thread_block",
    ),
    "Threads write equal values to one element. That is a race by the model of GPUVerify, and gpulab does "
    "not report it ([simulator.md](simulator.md))": (
        "CUDA/curand_tests/fail/init_race", "CUDA/memcpy/fail_overstep", "CUDA/memcpy/lentoobig",
        "CUDA/memcpy/notexactdiv",
    ),
    "The label assumes that the lanes of a warp run in lockstep (`--warp-sync`), which holds for no GPU "
    "since Volta. gpulab is right": (
        "CUDA/warpsync/2d", "CUDA/warpsync/equality_abstraction_issue", "CUDA/warpsync/intragroup_scan",
        "CUDA/warpsync/scan_warp", "CUDA/warpsync/shuffle",
        "CUDASamples/6_Advanced_threadFenceReduction_reduceMultiPass",
    ),
    "An annotation excludes the blocks that race, and a launch has them. gpulab is right": (
        "CUDA/annotation_tests/test_axiom",
    ),
    "The race needs other values in a `__constant__` array than those of its initialization, which GPUVerify "
    "ignores. gpulab is right": ("CUDA/globalarray/fail",),
    "Not decided: the launch ends at an invalid access, because the array of generators of this script holds "
    "no valid ones": (
        "CUDA/curand_tests/fail/curand_mtgp32_block_race", "CUDA/curand_tests/fail/curand_mtgp32_race",
    ),
}  # fmt: skip
# Reasons why kernels do not run, by a part of the message.
_REFUSALS = {
    "texture references": "CUDA 12 has no texture references",
    "called but not defined": "a function without a definition, for which GPUVerify assumes any result",
}
_OTHER_REFUSAL = "not valid for NVRTC, such as a variable without `__device__`"


@dataclass(frozen=True)
class RepairVerdict:
    """The report of gpulab on one kernel.

    Attributes
    ----------
    name : str
        The kernel's folder.
    label : {"race", "none"}
        Whether the suite states a race or a divergent barrier.
    report : {"race", "barrier", "none", "not run"}
        The finding of racecheck or synccheck.
    detail : str
        The tools of other findings; for a kernel that did not run, the reason.
    """

    name: str
    label: str
    report: str
    detail: str = ""

    @property
    def set_name(self) -> str:
        return self.name.partition("/")[0]

    @property
    def is_found(self) -> bool:
        return self.report in ("race", "barrier")

    @property
    def differs(self) -> bool:
        return self.report != "not run" and self.is_found != (self.label == "race")


def store_repair_verdicts(verdicts: Iterable[RepairVerdict]) -> None:
    """Write the figures, one line for each kernel."""
    rows = ",\n".join(f" {json.dumps(asdict(verdict))}" for verdict in verdicts)
    REPAIR_FIGURES.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def read_repair_verdicts() -> list[RepairVerdict]:
    """Return the stored figures."""
    return [RepairVerdict(**row) for row in json.loads(REPAIR_FIGURES.read_text(encoding="utf-8"))]


def repair_summary(verdicts: Sequence[RepairVerdict] | None = None) -> list[str]:
    """Return the table of all sets, as lines of Markdown."""
    chosen = read_repair_verdicts() if verdicts is None else verdicts
    lines = [
        "| set | kernels | run | labelled | of these reported | not labelled | of these reported |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in SETS:
        rows = [verdict for verdict in chosen if verdict.set_name == name]
        run = [verdict for verdict in rows if verdict.report != "not run"]
        cells = [len(rows), len(run)]
        for label in ("race", "none"):
            group = [verdict for verdict in run if verdict.label == label]
            cells += [len(group), sum(verdict.is_found for verdict in group)]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return lines


def repair_section(verdicts: Sequence[RepairVerdict]) -> list[str]:
    """Return the section as lines of Markdown."""
    ended = [each.name for each in verdicts if not each.is_found and "memcheck" in each.detail]
    return [
        "## GPURepair's kernels",
        "",
        *paragraph(f"""
            [GPURepair]({REPOSITORY}) (Joshi and Muduganti, VMCAI 2021) inserts missing barriers. Its suite
            has {len(verdicts)} CUDA kernels: tests of the verifier GPUVerify (`CUDA`), kernels of NVIDIA's
            SDK whose barriers have been made comments (`CUDASamples`), the micro-benchmarks of AutoSync,
            and its own (`Bugged`). A kernel is labelled as wrong, by a race or a divergent barrier, if
            GPURepair is expected to fail with a repair error, if GPUVerify's copy of a test is expected to
            fail and GPURepair repairs it, or if a barrier of an SDK kernel is a comment. In the other sets,
            all kernels but `unnecessary_barrier` are. "Reported" are findings of racecheck and
            synccheck."""),
        *repair_summary(verdicts),
        "",
        "### Where a report differs from GPURepair's label",
        "",
        "| reason | label | report | kernels | |",
        "|---|---|---|---|---|",
        *_difference_rows(verdicts),
        "",
        *paragraph("""
            `6_Advanced_threadFenceReduction_reduceSinglePass` has the same warp-synchronous code as
            `reduceMultiPass`, and a fence. In kernels with fences, gpulab takes `volatile` accesses of shared
            memory for atomic ([simulator.md](simulator.md)), and it reports nothing there."""),
        *paragraph(f"""
            {len(ended)} launches without such a report end at an invalid access or call. The tests plant null
            pointers, writes to constants or too small an array, or the script has no valid pointers to
            functions and states of generators: {", ".join(ended)}."""),
        "### GPURepair's kernels that do not run",
        "",
        "| reason | kernels | |",
        "|---|---|---|",
        *_refusal_rows(verdicts),
        "",
        *paragraph("""
            Each kernel ran once, with the launch shape of its comment (at most 1,024 threads a block), the
            values that it requires of its parameters, and arrays of 0, 1, 2, …, so that all elements differ.
            The annotations of GPUVerify are macros without effect.
            `python -m benchmarks.races.gpurepair FOLDER` runs the suite, which is not part of gpulab, and
            writes this page."""),
    ]


def _difference_rows(verdicts: Sequence[RepairVerdict]) -> list[str]:
    """Return a row for each reason, label and report."""
    rows = []
    for reason, names in DIFFERENCES.items():
        groups: dict[tuple[str, str], list[str]] = {}
        for verdict in verdicts:
            if verdict.differs and verdict.name in names:
                groups.setdefault((verdict.label, verdict.report), []).append(verdict.name)
        for (label, report), group in groups.items():
            rows.append(f"| {reason} | {label} | {report} | {len(group)} | {', '.join(group)} |")
    return rows


def _refusal_rows(verdicts: Sequence[RepairVerdict]) -> list[str]:
    """Return a row for each reason, the most frequent first."""
    groups: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.report == "not run":
            reasons = (reason for part, reason in _REFUSALS.items() if part in verdict.detail)
            groups.setdefault(next(reasons, _OTHER_REFUSAL), []).append(verdict.name)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [f"| {reason} | {len(names)} | {', '.join(names)} |" for reason, names in ordered]
