"""Points for speed: a kernel's rate as a part of what a copy or the vendor's product reaches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpulab.errors import UsageError
from gpulab.grading.checks.recheck import check_again, last_run
from gpulab.grading.checks.shares import as_points, is_points

if TYPE_CHECKING:
    from gpulab.profiling.baseline import Beside
    from gpulab.verification.check import CheckResult
    from gpulab.views.html import View

__all__ = ["require_speed"]


def require_speed(name: str, *, of: str, steps: Mapping[float, float]) -> float | None:
    """Check the kernel cell `name` again, time it beside a yardstick, and return the points it reaches.

    of: "copy", where the rate is the problem's unavoidable bytes by the kernel's time, or "sgemm", where it
    is the problem's operations. Kernel and yardstick run in turns.
    steps: the points from each part of the yardstick's rate on, `{0.5: 5, 0.7: 10, 0.85: 15}`; the highest
    one reached counts, and the last is the cell's maximum.

    Returns None when that is reached (the full mark), else points, 0 below the first step. Without a GPU
    there is no time to judge: a kernel that is right and keeps what its step promises gets the full mark.

    Raises `UsageError`, `CompileError` and `WrongResult` as `require_correct` does.
    """
    from gpulab.devices import open_device
    from gpulab.notebook import failure, level
    from gpulab.notebook.screen import show
    from gpulab.problems import problem
    from gpulab.profiling.baseline import BASELINES, time_against_baseline

    failure.install_here()
    ladder = _ladder(steps)
    if of not in BASELINES:
        raise UsageError(f"there is no yardstick `{of}`; there is: {', '.join(BASELINES)}.")
    cell = last_run(name)
    if level.is_given(cell):
        raise UsageError(f"{name} is given ({cell.origin}) and gives no points: write your own kernel.")
    device = open_device()
    result = check_again(cell, device)
    header = cell.header
    if not device.measures_time:
        show(_without_a_gpu(name, result))
        return None
    if not (header.problem and header.variant and header.block and header.tile and result.kernel):
        raise UsageError(f"`{name}` belongs to no problem, so there is nothing to time.")
    beside = time_against_baseline(
        result.kernel,
        problem(header.problem),
        header.variant,
        header.block,
        header.tile,
        device=device,
        of=of,
    )
    reached = max((points for step, points in ladder.items() if beside.fraction >= step), default=0.0)
    show(_view(name, beside, ladder))
    return None if reached == max(ladder.values()) else as_points(reached)


def _ladder(steps: Mapping[float, float]) -> dict[float, float]:
    """The steps from the lowest on; `UsageError` for what cannot be steps."""
    ladder = _sorted(steps)
    if not ladder or list(ladder.values()) != sorted(set(ladder.values())):
        raise UsageError(
            "the steps are points by the part of the yardstick that earns them, more for more, as in "
            f"{{0.5: 5, 0.7: 10, 0.85: 15}}; not {steps!r}."
        )
    return ladder


def _sorted(steps: object) -> dict[float, float]:
    """The steps in their order; none where one of them is no number above zero."""
    pairs = list(steps.items()) if isinstance(steps, Mapping) else []
    if any(not is_points(each) or each == 0 for pair in pairs for each in pair):
        return {}
    return {float(step): float(points) for step, points in sorted(pairs)}


def _without_a_gpu(name: str, result: CheckResult) -> View:
    from gpulab.views.html import note

    lines = []
    if result.technique is not None:
        for kept in result.technique.kept:
            limit = f"{'at least' if kept.requirement.at_least else 'at most'} {kept.limit:.2f}"
            lines.append(
                f"{kept.requirement.metric}: {kept.figure:.2f}, {limit} asked for (counted by the simulator)"
            )
    what = "its values and its traffic were" if lines else "only its values were"
    lines.append(f"Its time needs a GPU: here {what} judged, and they give the full mark.")
    return note("good", f"✓ {name} is right.", lines)


def _view(name: str, beside: Beside, ladder: Mapping[float, float]) -> View:
    from gpulab.profiling.baseline import BASELINES
    from gpulab.views.html import note, stack, table

    rows = [
        (name, f"{beside.kernel.median_ms:.4g}", f"{beside.kernel_rate:,.0f}"),
        (BASELINES[beside.of], f"{beside.yardstick.median_ms:.4g}", f"{beside.yardstick_rate:,.0f}"),
    ]
    caption = f"Times: {beside.kernel.provenance}."
    times = table(("what", "time (ms)", beside.unit), rows, numeric=(1, 2), caption=caption)
    reached = [
        (f"from {step:.0%}", f"{points:g}", "✓ reached" if beside.fraction >= step else "")
        for step, points in ladder.items()
    ]
    full = beside.fraction >= max(ladder)
    return stack(
        times,
        table(("of the yardstick", "points", ""), reached, numeric=(1,)),
        note("good" if full else "hint", f"{name} reaches {beside.fraction:.1%} of it."),
    )
