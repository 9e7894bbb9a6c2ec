"""Points for speed: the rate of a kernel relative to a baseline, which runs in turns with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.draws import random_generator
from gpulab.grading.checks.points import Score, is_points
from gpulab.grading.checks.points_line import record_points, show_points
from gpulab.grading.checks.recheck import last_cell, recheck_cell
from gpulab.views.tables.number_format import percentage

if TYPE_CHECKING:
    import numpy as np

    from gpulab.cell import KernelCell
    from gpulab.devices.base import Device, Kernel
    from gpulab.grading.checks.counted_speed import CountedCost
    from gpulab.problems.base import Shape
    from gpulab.profiling.baseline import BaselineComparison
    from gpulab.verification.check import CheckResult
    from gpulab.views.html import View

__all__ = ["require_speed"]

FULL_POINTS = 0.9  # share of the reference solution's speed that earns full points


def require_speed(
    name: str,
    *,
    of: str,
    steps: Mapping[float, float],
    next: str = "",  # noqa: A002  (the name in a notebook)
) -> float | None:
    """Check a kernel cell again, time it together with a baseline, and return the points it reaches.

    The grader judges the kernel against the lab's reference solution, which runs in turns with it on the same
    device: the thresholds of `steps` are scaled so that 90 % of its speed give full points. Without a GPU it
    compares the counts of one launch (see `gpulab.grading.checks.counted_speed`). A notebook has no reference
    solution and shows the fraction of the baseline; without a GPU, it compares with the counts of the lab's
    solution that ship with gpulab. For a step without such counts, a correct kernel that meets the
    memory-traffic requirements then gets full points.

    Size and inputs of the timed launches are drawn, and their values are checked.

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
        maximum of the cell. In the grader, a fraction `f` stands for ``0.9 * f / max(steps)`` of the speed of
        the reference solution.
    next : str, optional
        The next task, shown when all points are earned.

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
        The kernel computes wrong values, faults, races, misses a requirement of its step, or is faster than
        the device allows, which is reported for review.

    Examples
    --------
    The last line of a test cell:

    >>> from gpulab.grading.checks import require_speed
    >>> require_speed("stencil.opt_4", of="copy", steps={0.5: 5, 0.85: 15})  # doctest: +SKIP
    """
    from gpulab import session
    from gpulab.cell import require_kernel_cell
    from gpulab.devices import open_device
    from gpulab.notebook import failure, level
    from gpulab.profiling.baseline import BASELINES

    failure.install_if_missing()
    thresholds = _thresholds(steps)
    record_points(name, 0)
    if of not in BASELINES:
        raise UsageError(f"unknown baseline `{of}`; choose from {', '.join(BASELINES)}.")
    cell = last_cell(name)
    if level.is_given(cell):
        raise UsageError(
            f"the cell of {name} ran the given kernel ({cell.origin}), which earns no points: write your own."
        )

    device = open_device()
    result = recheck_cell(cell, device)
    kernel_cell, reference = require_kernel_cell(cell), session.reference_of(name)
    rng = random_generator(name)

    if device.measures_time:
        comparison = _time(kernel_cell, result.kernel, device, of, reference, rng)
        return _points_by_time(name, thresholds, comparison, next)
    return _points_by_counts(name, thresholds, kernel_cell, result, reference, rng, next)


def _time(
    cell: KernelCell,
    kernel: Kernel | None,
    device: Device,
    of: str,
    reference: KernelCell | None,
    rng: np.random.Generator,
) -> BaselineComparison:
    """Time a kernel with its baseline; raise `WrongResult` for wrong values and for an impossible time."""
    from gpulab.profiling.baseline import time_against_baseline
    from gpulab.verification.check import compile_cell

    assert kernel is not None
    comparison = time_against_baseline(
        kernel,
        cell.config,
        device=device,
        of=of,
        shape=_timed_shape(cell, reference, rng),
        reference=(compile_cell(reference, device), reference.config) if reference is not None else None,
        rng=rng,
    )
    if comparison.mismatch:
        raise WrongResult(f"{cell.name} is not correct.\n{comparison.mismatch}")
    if comparison.excess:
        raise WrongResult(f"{cell.name} earns no points and is reported for review: {comparison.excess}.")
    return comparison


def _points_by_time(
    name: str, thresholds: Mapping[float, float], comparison: BaselineComparison, following: str
) -> float | None:
    """Show the times, and return the points for them: relative to the reference solution if there is one."""
    from gpulab.notebook.screen import show

    fraction = comparison.fraction_of_reference
    if fraction is None:
        fraction = comparison.fraction
    else:
        thresholds = _of_reference(thresholds)
    show(_speed_view(name, comparison, thresholds))
    return _give_points(name, thresholds, fraction, following)


def _points_by_counts(
    name: str,
    thresholds: Mapping[float, float],
    cell: KernelCell,
    result: CheckResult,
    reference: KernelCell | None,
    rng: np.random.Generator,
    following: str,
) -> float | None:
    """Show the counts of the kernel and of the solution, and return the points for them.

    Without counts of a solution, a correct kernel gets full points.
    """
    from gpulab.grading.checks.counted_speed import count_against_reference, count_against_shipped
    from gpulab.notebook.screen import show

    kernel = result.kernel
    if kernel is None or not kernel.program.ptx:
        costs = None
    elif reference is not None:
        costs = count_against_reference(cell, kernel, reference, rng)
    else:
        costs = count_against_shipped(cell, kernel)
    if costs is None:
        show(_untimed_view(name, result))
        return _give_points(name, thresholds, max(thresholds), following)

    own, best = costs
    thresholds = _of_reference(thresholds)
    show(_counted_view(name, own, best, thresholds, shipped=reference is None))
    return _give_points(name, thresholds, min(best.cycles / own.cycles, 1.0), following)


def _give_points(
    name: str, thresholds: Mapping[float, float], fraction: float, following: str
) -> float | None:
    """Show and return the points of the highest threshold that is reached; None for the maximum."""
    maximum = max(thresholds.values())
    earned = max((points for step, points in thresholds.items() if fraction >= step), default=0.0)
    show_points(name, earned, maximum, following)
    return None if earned == maximum else Score(earned, maximum)


def _timed_shape(cell: KernelCell, reference: KernelCell | None, rng: np.random.Generator) -> Shape:
    """Return a random size near the timing size that both kernels accept."""
    from gpulab.grading.checks.sizes import random_timed_shape

    shape = random_timed_shape(cell, rng)
    if reference is None:
        return shape
    config = reference.config
    units = config.problem.shape_multiples(config.variant, config.block, config.tile)
    return tuple(-(-extent // unit) * unit for extent, unit in zip(shape, units, strict=True))


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


def _of_reference(thresholds: Mapping[float, float]) -> dict[float, float]:
    """Return the thresholds as fractions of the reference solution's speed."""
    return {FULL_POINTS * step / max(thresholds): points for step, points in thresholds.items()}


def _untimed_view(name: str, result: CheckResult) -> View:
    """Return the view of a kernel that was checked without a GPU."""
    from gpulab.views.html import note

    lines = []
    if result.technique is not None:
        for checked in result.technique.results:
            bound = "at least" if checked.requirement.is_lower_bound else "at most"
            value, limit = checked.texts()
            lines.append(f"{checked.metric}: {value}, required {bound} {limit} (counted by the simulator)")
    correct = "values and memory traffic" if lines else "values"
    lines.append(f"A time needs a GPU. Full points are given for correct {correct}.")
    return note("good", f"✓ {name} is correct.", lines)


def _counted_view(
    name: str, own: CountedCost, best: CountedCost, thresholds: Mapping[float, float], *, shipped: bool
) -> View:
    """Return the view of the counts of a kernel and of the reference solution, or of its shipped counts."""
    from gpulab.views.html import note, stack, table

    rows = [
        (label, f"{cost.data:,.0f}", f"{cost.requests:,.0f}", f"{cost.instructions:,.0f}")
        for label, cost in ((name, own), ("reference solution", best))
    ]
    headers = ("kernel", "data path of L1", "memory requests", "instructions")
    caption = "Cycles that one launch needs at least on one multiprocessor. Counted by the simulator."
    if shipped:
        caption += " The solution's counts ship with gpulab; the grader counts both kernels at another size."
    fraction = best.cycles / own.cycles
    full = fraction >= max(thresholds)
    return stack(
        table(headers, rows, numeric=(1, 2, 3), caption=caption),
        _steps_table("of the reference solution's speed", thresholds, fraction),
        note(
            "good" if full else "hint",
            f"{name} reaches {percentage(fraction, 1)} of the reference solution's speed.",
        ),
    )


def _steps_table(of: str, thresholds: Mapping[float, float], fraction: float) -> View:
    """Return the table of the points and of the thresholds that were reached."""
    from gpulab.views.html import table

    steps = [
        (f"from {percentage(step)}", f"{points:g}", "✓ reached" if fraction >= step else "")
        for step, points in thresholds.items()
    ]
    return table((of, "points", ""), steps, numeric=(1,))


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
    fraction, of = comparison.fraction, "the baseline's rate"
    if comparison.reference is not None:
        ratio = comparison.kernel.median_ms / comparison.reference.median_ms
        rate = comparison.kernel_rate * ratio
        rows.append(("reference solution", f"{comparison.reference.median_ms:.4g}", f"{rate:,.0f}"))
        fraction, of = 1 / ratio, "the reference solution's speed"
    caption = f"Times: {comparison.kernel.provenance}."
    times = table(("kernel", "time (ms)", comparison.unit), rows, numeric=(1, 2), caption=caption)
    full = fraction >= max(thresholds)
    return stack(
        times,
        _steps_table(f"of {of}", thresholds, fraction),
        note("good" if full else "hint", f"{name} reaches {percentage(fraction, 1)} of {of}."),
    )
