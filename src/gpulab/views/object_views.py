"""Displays of objects that a notebook prints: findings, counters, profiles and kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.devices.base import Kernel
from gpulab.finding import Findings
from gpulab.model.estimate import DESCRIPTIONS
from gpulab.profiling.counts.metrics import Counters
from gpulab.views import verdict_view
from gpulab.views.html import View, card, paragraph, stack, table
from gpulab.views.tables.builder import Column, table_view
from gpulab.views.tables.number_format import byte_size, milliseconds, percentage

if TYPE_CHECKING:
    from gpulab.model.profile import Profile

__all__ = ["counters_object_view", "findings_object_view", "kernel_object_view", "profile_object_view"]

_LAUNCH = "launch"  # the term of a profile that precedes the others in time
_SHOWN_SHARE = 0.01  # a part that needs less than this share of the launch's time is left out
_MEANINGS = DESCRIPTIONS | {
    "latency": "the instructions of one warp, with its waits",
    _LAUNCH: "the time until the first block starts",
}


def findings_object_view(findings: Findings) -> View:
    """Return the findings of a launch with their source lines, or a line that says that there are none."""
    if not findings:
        return paragraph("No errors found by memcheck, racecheck, initcheck and synccheck.")
    views = []
    for finding in findings:
        hue = "hint" if finding.severity == "warning" else "bad"
        title = f"{finding.tool}: {finding.title}"
        views.append(card(hue, title, verdict_view.findings_view([finding], findings.source)))
    return stack(*views)


def counters_object_view(counters: Counters) -> View:
    """Return the counts of a launch under Nsight Compute's names."""
    rows = [[name, f"{value:,.12g}"] for name, value in counters.metrics.items()]
    notes = [paragraph(text, dim=True) for text in counters.caveats]
    return stack(table(["metric", "value"], rows, numeric=[1], caption=str(counters.provenance)), *notes)


@dataclass(frozen=True)
class _Term:
    """A row of a profile: a part of the GPU, and the milliseconds that it needs by itself."""

    part: str
    ms: float

    @property
    def meaning(self) -> str:
        return _MEANINGS[self.part]


_TERM_COLUMNS = (
    Column("part", "part"),
    Column("meaning", "meaning"),
    Column("ms", "ms", milliseconds, bar=True),
)


def profile_object_view(profile: Profile) -> View:
    """Return the modelled time of a launch, and the time that each part of the GPU needs by itself."""
    shown_ms = _SHOWN_SHARE * profile.time_ms
    terms = [_Term(*item) for item in profile.terms.items() if item[1] >= shown_ms]
    terms.sort(key=lambda term: (term.part == _LAUNCH, -term.ms))
    caption = (
        f"Times that each part of the GPU needs by itself: {profile.provenance}. The parts work at the same "
        "time, so a kernel takes about as long as the largest of them, after its launch. Times below "
        f"{percentage(_SHOWN_SHARE)} of it are left out."
    )
    used = (
        f"Theoretical occupancy: {percentage(profile.occupancy.fraction)}, {profile.occupancy.warps_per_sm} "
        f"of {profile.occupancy.max_warps} warps per SM; {profile.registers} registers per thread; "
        f"{byte_size(round(profile.dram_bytes))} read from and written to DRAM."
    )
    return card(
        "plain",
        f"{milliseconds(profile.time_ms)} ms, modelled for the {profile.provenance.device}",
        paragraph(f"{profile.explanation[0].upper()}{profile.explanation[1:]}."),
        table_view(_TERM_COLUMNS, terms, caption),
        paragraph(used, dim=True),
        paragraph(f"Executed by the simulator: {profile.sampled}.", dim=True),
    )


def kernel_object_view(kernel: Kernel) -> View:
    """Return the name, the parameters, the device and the resource usage of a kernel."""
    used = kernel.resources
    parameters = ", ".join(
        f"{p.name}: {f'{p.element} array' if p.kind == 'pointer' and p.element else p.kind}"
        for p in kernel.program.signatures.get(kernel.name, ())
    )
    rows = [
        ["parameters", parameters],
        ["device", kernel.device.name],
        ["registers per thread", str(used.registers)],
        ["shared memory per block", f"{used.shared_bytes:,} bytes"],
        ["local memory per thread", f"{used.local_bytes:,} bytes"],
    ]
    return table(["kernel", kernel.name], rows)
