"""A memory-traffic requirement that a lab step must meet.

A kernel that gives correct values may still be the previous step under a new name. Each step therefore
states which metric it changes, and how far, relative to the step that it improves on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import Any

__all__ = ["MISSED_REQUIREMENT", "Requirement"]

Block = tuple[int, int, int]

MISSED_REQUIREMENT = "the values of {} are correct, but a requirement is not satisfied"


def unknown_limit(block: Block, tile: Block) -> float:
    """Return NaN: the limit function of a requirement that was received from another process.

    Results computed in the other process carry their own limits, so this one is never needed.
    """
    del block, tile
    return nan


@dataclass(frozen=True)
class Requirement:
    """A limit on one metric, counted on one launch of the student's kernel.

    Attributes
    ----------
    measure : str
        Key of the function that computes the metric, in `gpulab.verification.requirements.MEASURES`.
    metric : str
        Name of the metric with its unit, as students read it.
    limit : callable
        Takes the block and the tile of the launch and returns the largest accepted value (the smallest,
        if `at_least`). It lies between the value that the step needs and the value of the baseline, so
        that different implementations of the step pass.
    baseline_value : float
        The metric of the baseline kernel, for messages.
    array : str
        The input whose loads are counted; empty if loads of all arrays are. Loads of memory that is not an
        input, such as the output or a `__device__` variable, are counted for every input, because they may
        read a copy of it.
    at_least : bool
        True if `limit` is a lower bound.
    baseline : str
        Name of the kernel that `baseline_value` belongs to.
    advice : str
        A sentence that says why the limit exists or what to do; empty if the metric says enough.
    """

    measure: str
    metric: str
    limit: Callable[[Block, Block], float]
    baseline_value: float
    array: str = ""
    at_least: bool = False
    baseline: str = "the previous step"
    advice: str = ""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: without `limit`, which may be a function that cannot be pickled."""
        return self.__dict__ | {"limit": unknown_limit}
