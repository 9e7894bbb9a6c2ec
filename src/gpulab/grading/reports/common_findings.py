"""The most common findings of a class: equal errors of many students, counted once per student."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpulab.errors import first_sentence
from gpulab.grading.reports.assignment_report import AssignmentReport, InspectedKernel

__all__ = ["CommonFinding", "common_findings"]

_SIZE = re.compile(r"^(?:\w+ = )?\d+(?:x\d+)*(?:, \w+)?: ")  # the size, and the output if there are several
_ELEMENT = re.compile(r"\b[A-Za-z_]\w*\[[^\]]*\]")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_NUMBER = re.compile(r"-?\d[\d,.]*(?:e[+-]?\d+)?|\bnan\b|\binf\b")
_WRONG_VALUES = re.compile(r"values are wrong; first at")


@dataclass(frozen=True)
class CommonFinding:
    """One kind of error in one kernel.

    Attributes
    ----------
    kernel : str
        Such as "stencil.opt_1".
    sentence : str
        The sentence that the first of the students got.
    students : tuple of str
        The students whose kernel has the error, in the order of the report.
    """

    kernel: str
    sentence: str
    students: tuple[str, ...]


def common_findings(report: AssignmentReport) -> list[CommonFinding]:
    """Return the findings of a class, the most frequent first.

    Sentences that differ only in lines, indices, numbers and names of arrays are one finding.
    """
    found: dict[tuple[str, str], tuple[str, dict[str, None]]] = {}  # the inner dict is an ordered set
    for student in report.students:
        for kernel in report.kernels(student):
            for key, sentence in _sentences(kernel):
                found.setdefault((kernel.name, key), (sentence, {}))[1][student] = None
    ranked = sorted(found.items(), key=lambda item: -len(item[1][1]))
    return [CommonFinding(kernel, sentence, tuple(students)) for (kernel, _), (sentence, students) in ranked]


def _sentences(kernel: InspectedKernel) -> Iterator[tuple[str, str]]:
    """Yield a key and the sentence of each error of a kernel."""
    if kernel.state not in {"wrong", "does not compile"}:
        return
    # One mistake causes many diagnostics; the first names it.
    for diagnostic in kernel.diagnostics[:1]:
        yield _key(diagnostic.message), f"does not compile: {diagnostic.message}"
    for reason in dict.fromkeys((*kernel.reasons, *kernel.findings)):
        sentence = _SIZE.sub("", reason)
        if _WRONG_VALUES.search(sentence):
            # The counts differ from kernel to kernel; the hint names the error.
            hint = sentence.partition("Hint: ")[2]
            yield ("wrong values", "wrong values") if not hint else (_key(hint), f"wrong values: {hint}")
        else:
            yield _key(sentence), first_sentence(sentence)


def _key(sentence: str) -> str:
    """Return the sentence without the parts that differ between kernels."""
    start = sentence.partition(". ")[0]
    return _NUMBER.sub("#", _QUOTED.sub("@", _ELEMENT.sub("@", start)))
