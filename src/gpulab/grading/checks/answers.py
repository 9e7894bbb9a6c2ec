"""Numbers that a student predicts or calculates; each correct one earns an equal share of the points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks.points import partial_score
from gpulab.provenance import Provenance

if TYPE_CHECKING:
    from gpulab.views.html import View

__all__ = ["GradedAnswer", "ReferenceValue", "compare_answers", "graded_numbers"]

ReferenceValue = float | tuple[float, Provenance | str]  # a correct number, alone or with its source

MIN_TOLERANCE = 1e-9  # relative; a number that was typed may differ from a computed one in the last digits

CORRECT, WRONG, MISSING = "correct", "wrong", "not answered"


@dataclass(frozen=True)
class GradedAnswer:
    """One answer compared with its reference value.

    value: the answer as a number; None if there is none. source: the source of the reference value.
    verdict: `CORRECT`, `WRONG`, `MISSING`, or a phrase that says why the answer is not a number.
    """

    name: str
    value: float | None
    reference: float
    source: str
    verdict: str

    @property
    def is_correct(self) -> bool:
        return self.verdict == CORRECT


def graded_numbers(
    answers: Mapping[str, object],
    truth: Mapping[str, ReferenceValue],
    *,
    points: float,
    within: float | Mapping[str, float] = 0.0,
    provenance: Provenance | str = "worked out",
) -> float | None:
    """Compare numbers with their reference values, show a table, and return the points they earn.

    Parameters
    ----------
    answers : mapping of str to number
        The student's numbers by name. None, ``...`` and a missing name mean that there is no answer yet.
    truth : mapping of str to number or (number, source)
        The reference values by the same names, each alone or with its source.
    points : float
        Maximum of the cell. Each correct answer earns an equal share; the sum is rounded down to half points.
    within : float or mapping of str to float, default 0
        Relative tolerance of an answer: one for all, or one for each name.
    provenance : Provenance or str, default "worked out"
        Source of the reference values that are given without one.

    Returns
    -------
    float or None
        The points if some answers are wrong, else None, which nbgrader counts as full points.

    Raises
    ------
    WrongResult
        No answer is correct.
    UsageError
        `answers` is not a mapping, or `truth` is empty or not finite.

    Examples
    --------
    The last line of a test cell:

    >>> from gpulab.grading.checks import graded_numbers
    >>> answers = {"threads": 256, "blocks": 64}
    >>> graded_numbers(answers, {"threads": 256, "blocks": 128}, points=3)  # doctest: +SKIP
    1.5
    """
    from gpulab.notebook import failure
    from gpulab.notebook.screen import show

    failure.install_if_missing()
    graded = compare_answers(answers, truth, within=within, provenance=provenance)
    correct = sum(answer.is_correct for answer in graded)
    unknown = [str(name) for name in answers if name not in truth]
    show(_answers_view(graded, unknown, points))

    if correct == len(graded):
        return None
    if correct == 0:
        if all(answer.verdict == MISSING for answer in graded):
            raise WrongResult(f"no answers yet: write a number for each of {', '.join(truth)}.")
        raise WrongResult(f"none of the {len(graded)} numbers is correct; see the table above.")
    return partial_score(points, correct, len(graded))


def compare_answers(
    answers: object,
    truth: Mapping[str, ReferenceValue],
    *,
    within: float | Mapping[str, float] = 0.0,
    provenance: Provenance | str = "worked out",
) -> tuple[GradedAnswer, ...]:
    """Return each answer with its verdict, in the order of `truth`; see `graded_numbers`."""
    if not isinstance(answers, Mapping):
        first = next(iter(truth), "name")
        got = "..." if answers is ... else type(answers).__name__
        raise UsageError(
            f'the answers must be a dictionary of numbers by name, such as {{"{first}": 12}}; got {got}.'
        )
    if not truth:
        raise UsageError("there are no reference values to compare with.")
    return tuple(
        _graded(name, answers.get(name), reference, within, provenance) for name, reference in truth.items()
    )


def _graded(
    name: str,
    answer: object,
    reference: ReferenceValue,
    within: float | Mapping[str, float],
    provenance: Provenance | str,
) -> GradedAnswer:
    expected, source = reference if isinstance(reference, tuple) else (reference, provenance)
    if not math.isfinite(expected):
        raise UsageError(f"the reference value of `{name}` is {expected}, which is not a finite number.")

    value, verdict = _as_number(answer)
    if value is not None:
        tolerance = within.get(name, 0.0) if isinstance(within, Mapping) else within
        abs_tol = max(tolerance, MIN_TOLERANCE) * abs(expected)
        verdict = CORRECT if math.isclose(value, expected, rel_tol=0.0, abs_tol=abs_tol) else WRONG
    return GradedAnswer(name, value, float(expected), str(source), verdict)


def _as_number(answer: object) -> tuple[float | None, str]:
    """Return an answer as a number, or None and a phrase that says why it is not one."""
    if isinstance(answer, np.ndarray) and answer.ndim == 0:
        answer = answer[()]
    if answer is None or answer is ...:
        return None, MISSING
    if isinstance(answer, str):
        return None, "text, not a number: write it without quotes" if answer.strip() else MISSING
    if isinstance(answer, (bool, np.bool_)) or not isinstance(answer, (Integral, Real)):
        return None, f"not a number but {type(answer).__name__}"
    if not math.isfinite(answer):
        return None, f"{answer} is not a finite number"
    return float(answer), ""


def _answers_view(graded: tuple[GradedAnswer, ...], unknown: list[str], points: float) -> View:
    """Return the table of answers. The reference value of a missing answer is not shown."""
    from gpulab.views.html import note, stack, table

    marks = {CORRECT: "✓ ", WRONG: "✗ "}
    rows = [
        (
            answer.name,
            "" if answer.value is None else format_number(answer.value),
            marks.get(answer.verdict, "") + answer.verdict,
            "" if answer.verdict == MISSING else format_number(answer.reference),
            "" if answer.verdict == MISSING else answer.source,
        )
        for answer in graded
    ]
    headers = ("quantity", "your answer", "verdict", "correct value", "source")

    correct = sum(answer.is_correct for answer in graded)
    earned = points if correct == len(graded) else partial_score(points, correct, len(graded))
    summary = f"{correct} of {len(graded)} numbers are correct: {earned:g} of {points:g} points."
    hints = [f"`{name}` is not one of the names: check its spelling." for name in unknown]
    hue = "good" if correct == len(graded) else "hint"
    return stack(table(headers, rows, numeric=(1, 3)), note(hue, summary, hints))


def format_number(number: float) -> str:
    """Return a whole number with all its digits, any other with five significant digits."""
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.5g}"
