"""Incidents of grading: submissions that hung, crashed or flooded their output, and claims that differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpulab.grading.reports.assignment_report import AssignmentReport

__all__ = ["Incident", "incidents"]

# The first pattern that occurs in the sentence decides.
_KINDS = (
    ("flooded", re.compile(r"\bof output\b|output limit|flooded", re.IGNORECASE)),
    ("claims differ", re.compile(r"\bclaim|\bdiffers?\b|\bcontradict", re.IGNORECASE)),
    (
        "hung",
        re.compile(
            r"not terminate|not end\b|still running|exceeded its|timed out|time limit|hung", re.IGNORECASE
        ),
    ),
    ("crashed", re.compile(r"process|no valid reply|memory|killed|signal|crashed|worker", re.IGNORECASE)),
)
_KERNEL_HANGS = re.compile(r"does not terminate|did not end", re.IGNORECASE)


@dataclass(frozen=True)
class Incident:
    """One incident. kind: "hung", "crashed", "flooded", "claims differ", "not graded" or "other"."""

    kind: str
    text: str


def incidents(report: AssignmentReport, student: str) -> list[Incident]:
    """Return the incidents of a submission, including kernels that do not terminate."""
    found = []
    if student in report.ungraded:
        found.append(Incident("not graded", report.ungraded[student]))
    inspection = report.inspections.get(student)
    if inspection is None:
        return found

    texts = [*inspection.incidents, *([inspection.error] if inspection.error else [])]
    found += [Incident(_kind(text), text) for text in texts]
    for kernel in inspection.kernels:
        sentence = _first_match(kernel.reasons + kernel.findings)
        if sentence:
            found.append(Incident("hung", f"{kernel.name}: {sentence}"))
    return found


def _kind(text: str) -> str:
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), "other")


def _first_match(sentences: Sequence[str]) -> str:
    return next((sentence for sentence in sentences if _KERNEL_HANGS.search(sentence)), "")
