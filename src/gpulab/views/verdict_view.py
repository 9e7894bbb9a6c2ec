"""What verification found: the green line, or what is wrong, where, and how it looks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpulab.finding import Finding
from gpulab.problems import problem as problem_named
from gpulab.views.html import View, disclosure, note, stack, table
from gpulab.views.plane import plane_view

if TYPE_CHECKING:
    from gpulab.problems.base import Problem
    from gpulab.verification.verdict import Mismatch, ShapeResult, Verdict

__all__ = ["findings_view", "printed_view", "summary", "verdict_view"]

_LINES = 200  # of a kernel's printf; more is cut, and says so


def summary(name: str, verdict: Verdict) -> str:
    """The verdict in one line: of all sizes together, or of a fault, or of the first wrong one."""
    problem = problem_named(verdict.problem)
    if verdict.correct:
        sizes = ", ".join(problem.format_shape(result.shape) for result in verdict.results)
        return f"{name} is right on {sizes}: {sum(r.total for r in verdict.results):,} points"
    wrong = sorted((r for r in verdict.results if not r.correct), key=lambda r: not r.fault)
    if not wrong:
        return f"{name} is not right"
    failed = wrong[0]
    size = problem.format_shape(failed.shape)
    if failed.fault:
        return f"{name} did not run to its end on {size}: {failed.fault.rstrip('.')}"
    if failed.wrong:
        return f"{name} is wrong on {size}: {failed.wrong:,} of {failed.total:,} points"
    return f"{name} is wrong on {size}: {'; '.join(_besides(failed))}"


def verdict_view(name: str, verdict: Verdict, source: str = "", other_reasons: Sequence[str] = ()) -> View:
    """All that is to be said of a verdict.

    source: the kernel's text, to show the line a finding names. other_reasons: sentences that are
    not about values (a technique that was asked for and is not there).
    """
    if verdict.correct and not other_reasons:
        return note("good", f"✓ {summary(name, verdict)}.")
    if verdict.correct:
        head = note("bad", f"✗ the values are right, but {name} is not what was asked for", other_reasons)
        return stack(head, findings_view(verdict.findings, source))
    problem = problem_named(verdict.problem)
    failed = [result for result in verdict.results if not result.correct]
    faulted = next((result for result in failed if result.fault), None)
    title = summary(name, verdict)
    if faulted is not None and verdict.findings:  # which have their own boxes, with their lines
        title = f"{name} did not run to its end on {problem.format_shape(faulted.shape)}"
    head = note("bad", f"✗ {title}", other_reasons)
    only_a_fault = faulted is not None and len(verdict.results) == 1
    hints = list(dict.fromkeys(result.hint for result in failed if result.hint))
    planes = [plane_view(result.plane) for result in failed if result.plane is not None]
    # One picture says it; those of the other sizes wait folded away, and a terminal leaves them out.
    more = View(disclosure("the same on the other sizes", stack(*planes[1:])).html) if planes[1:] else None
    return stack(
        head,
        findings_view(verdict.findings, source),
        _sizes(problem, verdict.results) if verdict.results and not only_a_fault else None,
        note("hint", "hint", hints) if hints else None,
        planes[0] if planes else None,
        more,
    )


def findings_view(findings: Iterable[Finding], source: str = "") -> View:
    """Each finding with the source line it names."""
    lines = source.splitlines()
    notes = []
    for finding in findings:
        times = f" (seen {finding.count:,} times)" if finding.count > 1 else ""
        known = 0 < finding.line <= len(lines)
        code = f"{finding.line:>4} | {lines[finding.line - 1]}" if known else ""
        notes.append(note("bad", f"{finding}{times}", code=code))
    return stack(*notes)


def printed_view(text: str) -> View:
    """What the kernel's printf wrote."""
    if not text:
        return View()
    lines = text.splitlines()
    shown = "\n".join(lines[:_LINES])
    if len(lines) > _LINES:
        shown += f"\n… and {len(lines) - _LINES:,} lines more"
    return note("plain", "printed by the kernel", code=shown)


def _sizes(problem: Problem, results: Sequence[ShapeResult]) -> View:
    """One row for each size that was run."""
    rows, lines = [], []
    for result in results:
        size = problem.format_shape(result.shape)
        if result.correct:
            rows.append((size, "✓ right", "", "", ""))
            lines.append(f"{size}: right")
            continue
        count = f"✗ {result.wrong:,} of {result.total:,} wrong"
        if not result.wrong:
            count = "✗ did not end well" if result.fault else "✗ values right, but"
        first, worst = _point(problem, result.first), _point(problem, result.worst)
        worst = "the same" if first and first == worst else worst
        besides = "; ".join(_besides(result))
        rows.append((size, count, first, worst, besides))
        parts = (("first at", first), ("worst at", worst), ("also:", besides))
        words = [f"{label} {text}" for label, text in parts if text and text != "the same"]
        lines.append(f"{size}: {count.removeprefix('✗ ')}" + "".join(f"\n    {word}" for word in words))
    # In characters a table of five wide columns would not fit a terminal: a list says the same.
    columns = [i for i in range(5) if any(row[i] for row in rows)]
    headers = ("size", "points", "first", "worst", "also")
    html = table([headers[i] for i in columns], [[row[i] for i in columns] for row in rows]).html
    return View(html, "\n".join(lines))


def _point(problem: Problem, mismatch: Mismatch | None) -> str:
    if mismatch is None:
        return ""
    place = ", ".join(f"{n}={i}" for n, i in zip(problem.index_names, mismatch.index, strict=True))
    return f"{place}: expected {mismatch.expected:.6g}, got {_value(mismatch.got)}"


def _value(value: float) -> str:
    return "nan" if math.isnan(value) else f"{value:.6g}"


def _besides(result: ShapeResult) -> list[str]:
    """What else is wrong with a result, beyond the number of wrong points."""
    parts = []
    if result.never_written:
        parts.append(f"{result.never_written:,} points never written")
    if result.non_finite:
        parts.append(f"{result.non_finite:,} values nan or infinite")
    if result.shell_touched:
        parts.append(f"{result.shell_touched:,} points of the outer shell written")
    parts += [f"the kernel changed its input {name}" for name in result.input_changed]
    return parts
