"""Points for speed: the rate of a kernel relative to a baseline, which runs in turns with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.grading.checks.points import as_score, is_points
from gpulab.grading.checks.recheck import last_cell, recheck_cell

if TYPE_CHECKING:
    from gpulab.profiling.baseline import BaselineComparison
    from gpulab.verification.check import CheckResult
    from gpulab.views.html import View

__all__ = ["require_speed"]


def require_speed(name: str, *, of: str, steps: Mapping[float, float]) -> float | None:
    """Check a kernel cell again, time it together with a baseline, and return the points it reaches.

    Without a GPU there is no time to grade: a correct kernel that meets the memory-traffic requirements of
    its step gets full points.

    Parameters
    ----------
    name : str
        The kernel as its header names it, such as ``"stencil.opt_4"``.
    of : {"copy", "sgemm"}
        The baseline: a copy in device memory, whose rate is compared in GB/s of compulsory bytes, or the
        vendor's single-precision matrix product, compared in GFLOPS.
    steps : mapping of float to float
        Points by the fraction of the baseline's rate from which they are earned, such as
        ``{0.5: 5, 0.7: 10, 0.85: 15}``. The highest fraction that is reached counts; the last one gives the
        maximum of the cell.

    Returns
    -------
    float or None
        None for full points, else the points; 0 below the first step.

    Raises
    ------
    UsageError
        No such cell has run, it holds a given kernel, or `of` or `steps` are not valid.
    CompileError
        The source does not compile.
    WrongResult
        The kernel computes wrong values, faults, races, or misses a requirement of its step.

    Examples
    --------
    The last line of a test cell:

    >>> from gpulab.grading.checks import require_speed
    >>> require_speed("stencil.opt_4", of="copy", steps={0.5: 5, 0.85: 15})  # doctest: +SKIP
    """
    from gpulab.cell import require_kernel_cell
    from gpulab.devices import open_device
    from gpulab.notebook import failure, level
    from gpulab.notebook.screen import show
    from gpulab.profiling.baseline import BASELINES, time_against_baseline

    failure.install_if_missing()
    thresholds = _thresholds(steps)
    if of not in BASELINES:
        raise UsageError(f"unknown baseline `{of}`; choose from {', '.join(BASELINES)}.")
    cell = last_cell(name)
    if level.is_given(cell):
        raise UsageError(
            f"the cell of {name} ran the given kernel ({cell.origin}), which earns no points: write your own."
        )

    device = open_device()
    result = recheck_cell(cell, device)
    if not device.measures_time:
        show(_untimed_view(name, result))
        return None

    assert result.kernel is not None
    config = require_kernel_cell(cell).config
    comparison = time_against_baseline(result.kernel, config, device=device, of=of)
    earned = max((points for step, points in thresholds.items() if comparison.fraction >= step), default=0.0)
    show(_speed_view(name, comparison, thresholds))
    return None if earned == max(thresholds.values()) else as_score(earned)


def _thresholds(steps: object) -> dict[float, float]:
    """Return the steps in ascending order; raise `UsageError` unless a larger fraction earns more points."""
    items = list(steps.items()) if isinstance(steps, Mapping) else []
    valid = bool(items) and all(is_points(number) and number > 0 for item in items for number in item)
    thresholds = {float(step): float(points) for step, points in sorted(items)} if valid else {}
    if not thresholds or list(thresholds.values()) != sorted(set(thresholds.values())):
        raise UsageError(
            "`steps` maps fractions of the baseline's rate to points, more for a larger fraction, as in "
            f"{{0.5: 5, 0.7: 10, 0.85: 15}}; got {steps!r}."
        )
    return thresholds


def _untimed_view(name: str, result: CheckResult) -> View:
    """Return the view of a kernel that was checked without a GPU."""
    from gpulab.views.html import note

    lines = []
    if result.technique is not None:
        for checked in result.technique.results:
            bound = "at least" if checked.requirement.at_least else "at most"
            lines.append(
                f"{checked.requirement.metric}: {checked.value:.2f}, required {bound} {checked.limit:.2f} "
                "(counted by the simulator)"
            )
    correct = "values and memory traffic" if lines else "values"
    lines.append(f"A time needs a GPU. Full points are given for correct {correct}.")
    return note("good", f"✓ {name} is correct.", lines)


def _speed_view(name: str, comparison: BaselineComparison, thresholds: Mapping[float, float]) -> View:
    """Return the view of both times and of the steps that were reached."""
    from gpulab.profiling.baseline import BASELINES
    from gpulab.views.html import note, stack, table

    rows = [
        (name, f"{comparison.kernel.median_ms:.4g}", f"{comparison.kernel_rate:,.0f}"),
        (
            BASELINES[comparison.of],
            f"{comparison.baseline.median_ms:.4g}",
            f"{comparison.baseline_rate:,.0f}",
        ),
    ]
    caption = f"Times: {comparison.kernel.provenance}."
    times = table(("kernel", "time (ms)", comparison.unit), rows, numeric=(1, 2), caption=caption)
    steps = [
        (f"from {step:.0%}", f"{points:g}", "✓ reached" if comparison.fraction >= step else "")
        for step, points in thresholds.items()
    ]
    full = comparison.fraction >= max(thresholds)
    return stack(
        times,
        table(("of the baseline's rate", "points", ""), steps, numeric=(1,)),
        note("good" if full else "hint", f"{name} reaches {comparison.fraction:.1%} of the baseline's rate."),
    )
