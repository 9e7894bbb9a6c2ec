"""The result of a verification: one line if it is correct, otherwise what is wrong and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.devices.kernel_output import LINES_IN_CELL, shown_lines
from gpulab.finding import Finding
from gpulab.problems import problem as problem_named
from gpulab.problems.requirement import MISSED_REQUIREMENT
from gpulab.views.html import View, card, disclosure, note, paragraph, preformatted, stack, table
from gpulab.views.plane import plane_view

if TYPE_CHECKING:
    from gpulab.problems.base import Problem
    from gpulab.verification.verdict import Mismatch, ShapeResult, Verdict

__all__ = ["cause", "findings_view", "printed_view", "summary", "verdict_view"]

_FINDINGS = 2  # findings that are not folded; later ones often follow from the first


def summary(name: str, verdict: Verdict) -> str:
    """Return the verdict in one line: a fault if there is one, else the first wrong size."""
    problem = problem_named(verdict.problem)
    if verdict.correct:
        sizes = ", ".join(problem.format_shape(result.shape) for result in verdict.results)
        return f"{name} is correct on {sizes}: {sum(r.total for r in verdict.results):,} values"

    if not verdict.results:
        return f"{name} was not run"
    wrong = _most_important_first(verdict.results)
    if not wrong:
        return f"the values of {name} are correct in this run, but the sanitizer found an error"
    failed = wrong[0]
    size = problem.format_shape(failed.shape)
    if failed.fault:
        return f"{name} failed on {size}: {failed.fault.rstrip('.')}"
    if failed.wrong:
        return f"{name} is wrong on {size}: {failed.wrong:,} of {failed.total:,} values"
    if errors := _other_errors(failed):
        return f"{name} is wrong on {size}: {'; '.join(errors)}"
    return f"{name} is wrong {_uncounted_reasons(failed)[0]}"


def cause(verdict: Verdict) -> str:
    """Return the most likely cause of a wrong verdict in one sentence; "" if none is known."""
    hints = [result.hint for result in verdict.results if result.hint]
    causes = [*hints, *verdict.findings] if _hint_first(verdict) else [*verdict.findings, *hints]
    return next(map(str, causes), "")


def verdict_view(name: str, verdict: Verdict, source: str = "", other_reasons: Sequence[str] = ()) -> View:
    """Return the verdict; if it is wrong, a card with the causes, a picture, and the folded details.

    source: the kernel's text, for the lines that findings name. other_reasons: sentences about requirements
    other than correct values.
    """
    if verdict.correct and not other_reasons:
        return note("good", f"✓ {summary(name, verdict)}.")
    if verdict.correct:
        title = f"✗ {MISSED_REQUIREMENT.format(name)}"
        return card("bad", title, *map(paragraph, other_reasons), findings_view(verdict.findings, source))

    problem = problem_named(verdict.problem)
    failed = [result for result in verdict.results if not result.correct]
    faulted = next((result for result in failed if result.fault), None)
    title = summary(name, verdict)
    if faulted is not None and verdict.findings:  # the finding has the message
        title = f"{name} failed on {problem.format_shape(faulted.shape)}"
    only_a_fault = faulted is not None and len(verdict.results) == 1

    planes = [plane_view(result.plane) for result in failed if result.plane is not None]
    # The first picture is usually enough. The others are folded in HTML and left out in a terminal.
    others = View(disclosure("other sizes", stack(*planes[1:])).html) if planes[1:] else None
    sizes = None
    if verdict.results and not only_a_fault:
        sizes = disclosure("values by size", _sizes_view(problem, verdict.results))
    causes = [findings_view(verdict.findings, source), _hint_view(problem, verdict.results)]
    first = _most_important_first(verdict.results)[:1]
    return card(
        "bad",
        f"✗ {title}",
        *(paragraph(reason) for result in first for reason in _uncounted_reasons(result)[1:]),
        *map(paragraph, other_reasons),
        *(causes[::-1] if _hint_first(verdict) else causes),
        planes[0] if planes else None,
        sizes,
        others,
    )


def findings_view(findings: Sequence[Finding], source: str = "") -> View:
    """Return findings with their source lines, those after the first few folded."""
    shown = [_finding_view(finding, source) for finding in findings]
    if len(shown) <= _FINDINGS:
        return stack(*shown)
    more = len(shown) - _FINDINGS
    rest = disclosure(f"{more} more finding{'s' * (more > 1)}", stack(*shown[_FINDINGS:]))
    return stack(*shown[:_FINDINGS], rest)


def _most_important_first(results: Sequence[ShapeResult]) -> list[ShapeResult]:
    """Return the wrong results; the first one is that of the headline: a fault if there is one."""
    return sorted((result for result in results if not result.correct), key=lambda result: not result.fault)


def _hint_first(verdict: Verdict) -> bool:
    """Return True if a hint is nearer to the cause than the findings.

    A race leaves no point unwritten. With both, an index is wrong, and the race may follow from it.
    """
    results = verdict.results
    races = any(finding.tool == "racecheck" for finding in verdict.findings)
    return races and not any(r.fault for r in results) and any(r.hint and r.never_written for r in results)


def _hint_view(problem: Problem, results: Sequence[ShapeResult]) -> View | None:
    """Return the hint of the size in the headline, or of another size, which is then named."""
    wrong = _most_important_first(results)
    hinted = next((result for result in wrong if result.hint), None)
    if hinted is None:
        return None
    where = "" if hinted is wrong[0] else f" for {problem.format_shape(hinted.shape)}"
    return paragraph(f"Hint{where}: {hinted.hint}")


def _finding_view(finding: Finding, source: str) -> View:
    """Return the message of a finding, and the line of the source that it names."""
    times = f" (seen {finding.count:,} times)" if finding.count > 1 else ""
    lines = source.splitlines()
    has_line = 0 < finding.line <= len(lines)
    code = preformatted(f"{finding.line:>4} | {lines[finding.line - 1]}") if has_line else None
    return stack(paragraph(f"{finding}{times}"), code)


def printed_view(text: str) -> View:
    """Return the output of the kernel's printf."""
    if not text:
        return View()
    return note("plain", "printed by the kernel", code=shown_lines(text, LINES_IN_CELL).removesuffix("\n"))


def _sizes_view(problem: Problem, results: Sequence[ShapeResult]) -> View:
    """Return one row for each size that was run."""
    rows, lines = [], []
    for result in results:
        size = problem.format_shape(result.shape)
        if result.correct:
            rows.append((size, "✓ correct", "", "", ""))
            lines.append(f"{size}: correct")
            continue

        outcome = f"✗ {result.wrong:,} of {result.total:,} wrong"
        if not result.wrong:
            outcome = "✗ failed" if result.fault else "✗ values correct; other errors"
        first, worst = _mismatch(problem, result.first), _mismatch(problem, result.worst)
        worst = "the same" if first and first == worst else worst
        others = "; ".join(_other_errors(result))
        rows.append((size, outcome, first, worst, others))

        parts = (("first at", first), ("worst at", worst), ("also:", others))
        details = [f"\n    {label} {text}" for label, text in parts if text and text != "the same"]
        lines.append(f"{size}: {outcome.removeprefix('✗ ')}{''.join(details)}")

    # A table of five wide columns does not fit into a terminal, so the plain text is a list.
    columns = [i for i in range(5) if any(row[i] for row in rows)]
    headers = ("size", "values", "first", "worst", "also")
    html = table([headers[i] for i in columns], [[row[i] for i in columns] for row in rows]).html
    return View(html, "\n".join(lines))


def _mismatch(problem: Problem, mismatch: Mismatch | None) -> str:
    if mismatch is None:
        return ""
    index = problem.format_index(mismatch.index, mismatch.output)
    if mismatch.output and len(mismatch.index) > 1:
        index = f"{mismatch.output}, {index}"
    expected, got = mismatch.texts
    return f"{index}: expected {expected}, got {got}"


def _uncounted_reasons(result: ShapeResult) -> tuple[str, ...]:
    """Return the reasons of a wrong result without a number of wrong values, as that of a sampled launch."""
    counted = result.correct or result.fault or result.wrong or _other_errors(result)
    return () if counted else result.reasons


def _other_errors(result: ShapeResult) -> list[str]:
    """Return the errors of a result other than wrong values."""
    errors = []
    if result.never_written:
        errors.append(f"{result.never_written:,} values never written")
    if result.non_finite:
        errors.append(f"{result.non_finite:,} values nan or infinite")
    if result.boundary_written:
        errors.append(f"{result.boundary_written:,} points of the boundary written")
    errors += [f"the kernel changed its input {name}" for name in result.input_changed]
    return errors
