"""Stars of a correct kernel: its counts compared with the par of its step.

A par is a count of a good solution, such as the sectors that it loads. Counts are the same on every machine,
so that a score is, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

from gpulab.profiling.counts.cell_counts import CellCount
from gpulab.verification.requirements import RequirementResult, check_limits

__all__ = ["FACTOR", "MOST_STARS", "StarScore", "score_of"]

MOST_STARS = 3
FACTOR = 2.0  # two stars: no count is above this many times its par
EXACT = 1e-3  # relative; counts are ratios, and those of whole warps have few digits


@dataclass(frozen=True)
class StarScore:
    """The counts of a correct kernel, and their par.

    Attributes
    ----------
    name : str
        The step, such as "transpose.tiled".
    results : tuple of RequirementResult
        Each count with its par as the limit.
    """

    name: str
    results: tuple[RequirementResult, ...]

    @property
    def stars(self) -> int:
        """Three at par, two if every count is at most twice its par, one if the kernel is correct."""
        worst = max(map(_excess, self.results))
        return MOST_STARS if worst <= 1 + EXACT else 2 if worst <= FACTOR + EXACT else 1

    @property
    def beats_par(self) -> bool:
        """True if no count is above its par, and one is below."""
        return self.stars == MOST_STARS and min(map(_excess, self.results)) < 1 - EXACT

    @property
    def ratio(self) -> float:
        """The mean of the counts divided by their par, for a ranking of kernels with equal stars."""
        return fmean(map(_excess, self.results))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        counts = [{"what": each.metric, "counted": each.value, "par": each.limit} for each in self.results]
        return {"stars": self.stars, "beats_par": self.beats_par, "ratio": self.ratio, "counts": counts}


def _excess(result: RequirementResult) -> float:
    """Return a count divided by its par. One is added to both if the par is zero."""
    if result.limit == 0:
        return result.value + 1
    if result.requirement.is_lower_bound:
        return result.limit / result.value if result.value else inf
    return result.value / result.limit


def score_of(count: CellCount) -> StarScore | None:
    """Return the score of a correct kernel's counted launch; None if its step has no par."""
    config = count.launch.config
    par = config.problem.variants[config.variant].par
    return StarScore(f"{config.problem.name}.{config.variant}", check_limits(count, par)) if par else None
