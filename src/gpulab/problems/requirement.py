"""What a step of a lab promises: not another result, but other traffic than the step before it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import Any

__all__ = ["Requirement"]

Block = tuple[int, int, int]


def unknown_limit(block: Block, tile: Block) -> float:
    """The limit of a promise that came from another process: what was counted there keeps its own."""
    del block, tile
    return nan


@dataclass(frozen=True)
class Requirement:
    """One figure that a step changes, counted on one launch.

    measure: what is counted, see `verification.requirements.MEASURES`; `array` names the argument, where it
    is about one. per: what it is divided by, in the student's words ("inner point", "multiply-add").
    limit: of the launch's block and tile, the most that is accepted (the least, where `at_least`); between
    what the step itself needs and what the step before it does, so that there is room for other ways.
    before: the same figure of the step before, for the message; `beside` says which step, if another one.
    """

    measure: str
    what: str
    limit: Callable[[Block, Block], float]
    before: float
    array: str = ""
    at_least: bool = False
    beside: str = "the step before it"

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: `limit` may be a function that only this one knows."""
        return self.__dict__ | {"limit": unknown_limit}

    def is_satisfied(self, figure: float, block: Block, tile: Block) -> bool:
        limit = self.limit(block, tile)
        return figure >= limit if self.at_least else figure <= limit
