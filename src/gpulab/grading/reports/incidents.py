"""Incidents of grading: submissions that hung, crashed or flooded their output, and claims that differ."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulab.grading.judge.records import Incident
from gpulab.grading.reports.assignment_report import AssignmentReport

__all__ = ["incidents"]

_KERNEL_HANGS = re.compile(r"its warp was stopped after|never leaves this loop|did not end")


def incidents(report: AssignmentReport, student: str) -> list[Incident]:
    """Return the incidents of a submission, including kernels that do not terminate."""
    found = []
    if student in report.ungraded:
        found.append(Incident("not graded", "", report.ungraded[student]))
    inspection = report.inspections.get(student)
    if inspection is None:
        return found

    found += inspection.incidents
    if inspection.error and student not in report.ungraded:
        found.append(Incident("not graded", "", inspection.error))
    for kernel in inspection.kernels:
        sentence = _first_match(kernel.reasons + kernel.findings)
        if sentence:
            found.append(Incident("hung", kernel.name, sentence))
    return found


def _first_match(sentences: Sequence[str]) -> str:
    return next((sentence for sentence in sentences if _KERNEL_HANGS.search(sentence)), "")
