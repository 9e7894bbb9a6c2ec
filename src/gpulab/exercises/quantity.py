"""Quantities that an exercise asks for, and the comparison of answers with the right values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["Answer", "CheckedAnswer", "Quantity", "check_answers", "format_value"]

Answer = float | str

MIN_TOLERANCE = 1e-9  # relative; a number that was typed may differ from a computed one in the last digits

RIGHT, NOT_YET, MISSING, ANSWERED = "right", "not yet", "missing", "answered"
OTHER_UNIT = "not yet: check the unit"
UNIT_FACTORS = (100.0, 1e3, 1e6, 1e9, 1e12)  # wrong units: percent for a fraction, or G for T


@dataclass(frozen=True)
class Quantity:
    """A quantity that an exercise asks for.

    Attributes
    ----------
    name : str
        The key of the answer in the student's dictionary.
    text : str
        What the quantity is.
    unit : str
        Unit of the number; empty for a count.
    tolerance : float
        Relative tolerance of the number.
    options : tuple of str
        The texts to choose from; empty if the answer is a number.
    """

    name: str
    text: str
    unit: str = ""
    tolerance: float = 0.0
    options: tuple[str, ...] = ()

    def read(self, answer: object) -> tuple[Answer | None, str]:
        """Return an answer as a number or an option, or None and a phrase that says what is wrong with it."""
        if isinstance(answer, np.ndarray) and answer.ndim == 0:
            answer = answer[()]
        if answer is None or answer is ... or (isinstance(answer, str) and not answer.strip()):
            return None, MISSING
        return self._read_option(answer) if self.options else _read_number(answer)

    def accepts(self, answer: Answer, right: Answer) -> bool:
        """Return True if an answer that `read` returned is right."""
        if isinstance(answer, str) or isinstance(right, str):
            return answer == right
        tolerance = max(self.tolerance, MIN_TOLERANCE) * abs(right)
        return math.isclose(answer, right, rel_tol=0.0, abs_tol=tolerance)

    def has_other_unit(self, answer: Answer, right: Answer) -> bool:
        """Return True if an answer would be right in another unit, such as GFLOPS in place of TFLOPS."""
        if isinstance(answer, str) or not self.unit:
            return False
        return any(
            self.accepts(answer * factor, right) or self.accepts(answer / factor, right)
            for factor in UNIT_FACTORS
        )

    def _read_option(self, answer: object) -> tuple[Answer | None, str]:
        if isinstance(answer, str):
            for option in self.options:
                if answer.strip().casefold() == option.casefold():
                    return option, ANSWERED
        return None, "not one of: " + ", ".join(f'"{option}"' for option in self.options)


def _read_number(answer: Any) -> tuple[Answer | None, str]:
    if isinstance(answer, str):
        return None, "text, not a number: write it without quotes"
    if isinstance(answer, (bool, np.bool_)) or not isinstance(answer, Real):
        return None, "not a number"
    try:
        number = float(answer)
    except OverflowError:
        return None, "too large"
    if not math.isfinite(number):
        return None, f"{number} is not a finite number"
    return number, ANSWERED


@dataclass(frozen=True)
class CheckedAnswer:
    """An answer compared with the right value.

    Attributes
    ----------
    quantity : Quantity
        The quantity that was asked for.
    value : number, str or None
        The answer; None if there is none.
    verdict : str
        `RIGHT`, `NOT_YET`, `OTHER_UNIT`, `MISSING`, `ANSWERED` if there was nothing to compare with, or a
        phrase that says what is wrong with the answer.
    """

    quantity: Quantity
    value: Answer | None
    verdict: str

    @property
    def is_right(self) -> bool:
        return self.verdict == RIGHT

    @property
    def is_answered(self) -> bool:
        return self.value is not None


def check_answers(
    quantities: Sequence[Quantity], answers: Mapping[Any, object], right: Mapping[str, Answer] | None = None
) -> tuple[CheckedAnswer, ...]:
    """Compare answers with the right values, or only read them if there are none."""
    checked = []
    for quantity in quantities:
        value, verdict = quantity.read(answers.get(quantity.name))
        if value is not None and right is not None:
            verdict = _compare(quantity, value, right[quantity.name])
        checked.append(CheckedAnswer(quantity, value, verdict))
    return tuple(checked)


def _compare(quantity: Quantity, value: Answer, right: Answer) -> str:
    if quantity.accepts(value, right):
        return RIGHT
    return OTHER_UNIT if quantity.has_other_unit(value, right) else NOT_YET


def format_value(value: object) -> str:
    """Return a whole number with all its digits, another number with five, and anything else as its text."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.5g}"
