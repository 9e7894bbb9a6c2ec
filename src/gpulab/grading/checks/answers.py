"""Numbers that a student predicts or works out: each one that is right earns its share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.shares import share
from gpulab.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.views.html import View

__all__ = ["Answer", "Truth", "compare_answers", "graded_numbers"]

Truth = float | tuple[float, Provenance | str]  # a right number, alone or with where it comes from

EXACT = 1e-9  # what "the same" means where no tolerance is given: written and computed digits may differ


@dataclass(frozen=True)
class Answer:
    """One number that was asked for. got: None where there is none; words: the verdict on it."""

    name: str
    got: float | None
    right: float
    source: str  # of the right number
    words: str

    @property
    def is_right(self) -> bool:
        return self.words == RIGHT


RIGHT, WRONG, OPEN = "right", "not right", "not answered yet"


def graded_numbers(
    answers: Mapping[str, object],
    truth: Mapping[str, Truth],
    *,
    points: float,
    within: float | Mapping[str, float] = 0.0,
    provenance: Provenance | str = "worked out",
) -> float | None:
    """Show each answer beside the right number, and return what they earn together.

    answers: the student's numbers by name; None, `...` and a name that is missing are not answered yet.
    truth: the right numbers by the same names, each alone or as `(number, where it comes from)`.
    points: the cell's maximum. Each right answer earns an equal share, rounded down to halves in all.
    within: how far an answer may be off, as a part of the right number; one for all, or by name.
    provenance: where the right numbers come from that do not say it themselves.

    Returns None when all are right (which gives the full mark), else the points. Raises `WrongResult` when
    none is right, and `UsageError` for answers that are no dictionary.
    """
    from gpulab.notebook import failure
    from gpulab.notebook.screen import show

    failure.install_here()
    found = compare_answers(answers, truth, within=within, provenance=provenance)
    right = sum(answer.is_right for answer in found)
    unknown = [str(name) for name in answers if name not in truth]
    show(_view(found, unknown, points))
    if right == len(found):
        return None
    if right == 0:
        waiting = sum(answer.words == OPEN for answer in found)
        if waiting == len(found):
            raise WrongResult(f"nothing is answered yet: {', '.join(truth)}. Write a number for each.")
        raise WrongResult(f"none of the {len(found)} numbers is right yet; the table above says more.")
    return share(points, right, len(found))


def compare_answers(
    answers: object,
    truth: Mapping[str, Truth],
    *,
    within: float | Mapping[str, float] = 0.0,
    provenance: Provenance | str = "worked out",
) -> tuple[Answer, ...]:
    """Each number that was asked for, in the order of `truth`."""
    if not isinstance(answers, Mapping):
        first = next(iter(truth), "name")
        raise UsageError(
            f'the answers are a dictionary with a number for each name, such as {{"{first}": 12}}; '
            f"not {'...' if answers is ... else type(answers).__name__}."
        )
    if not truth:
        raise UsageError("there is no right number to compare with.")
    return tuple(_judged(name, answers.get(name), right, within, provenance) for name, right in truth.items())


def _judged(
    name: str,
    got: object,
    truth: Truth,
    within: float | Mapping[str, float],
    provenance: Provenance | str,
) -> Answer:
    right, source = truth if isinstance(truth, tuple) else (truth, provenance)
    if not math.isfinite(right):
        raise UsageError(f"the right number for `{name}` is {right}: nothing can be compared with it.")
    tolerance = within.get(name, 0.0) if isinstance(within, Mapping) else within
    number, words = _number(got)
    if number is not None:
        near = math.isclose(number, right, rel_tol=0.0, abs_tol=max(tolerance, EXACT) * abs(right))
        words = RIGHT if near else WRONG
    return Answer(name, number, float(right), str(source), words)


def _number(got: object) -> tuple[float | None, str]:
    """An answer as a number, or None and what it is instead."""
    if isinstance(got, np.ndarray) and got.ndim == 0:
        got = got[()]
    if got is None or got is ...:
        return None, OPEN
    if isinstance(got, str):
        return None, "text is no number: write it without quotes" if got.strip() else OPEN
    if isinstance(got, (bool, np.bool_)) or not isinstance(got, (Integral, Real)):
        return None, f"no number but {type(got).__name__}"
    if not math.isfinite(got):
        return None, f"{got} is no number to compare with"
    return float(got), ""


def _view(found: tuple[Answer, ...], unknown: list[str], points: float) -> View:
    from gpulab.views.html import note, stack, table

    right = sum(answer.is_right for answer in found)
    signs = {RIGHT: "✓ ", WRONG: "✗ "}
    rows = [
        (
            answer.name,
            "" if answer.got is None else figure(answer.got),
            signs.get(answer.words, "") + answer.words,
            "" if answer.words == OPEN else figure(answer.right),
            "" if answer.words == OPEN else answer.source,
        )
        for answer in found
    ]
    heads = ("what", "your answer", "verdict", "right number", "where it comes from")
    hue = "good" if right == len(found) else "hint"
    more = [f"`{name}` was not asked for: is a name spelled differently?" for name in unknown]
    earned = points if right == len(found) else share(points, right, len(found))
    words = f"{right} of {len(found)} numbers are right: {earned:g} of {points:g} points."
    return stack(table(heads, rows, numeric=(1, 3)), note(hue, words, more))


def figure(number: float) -> str:
    """Whole numbers in full, others with five digits that count."""
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.5g}"
