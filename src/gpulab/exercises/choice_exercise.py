"""Predictions: a student commits an answer, and sees afterwards what is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpulab.exercises.quantity import Quantity

__all__ = ["ChoiceExercise", "Quantity", "Truth"]


@dataclass(frozen=True)
class Truth:
    """The true answer to one question. text: with its numbers. source: their provenance."""

    text: str
    source: str = ""


@dataclass(frozen=True)
class ChoiceExercise:
    """A prediction, which earns its points by having been made before the truth is shown.

    Attributes
    ----------
    name : str
        Lab and exercise, such as "stencil.faster_opt_1".
    title : str
        The heading of its card.
    quantities : tuple of Quantity
        The questions. One without options asks for a number, such as a ratio.
    truth : callable
        Returns the outcome of each question by name, for example from the kernels of the session. It may
        raise a `GpulabError` that says which cell has to run first.
    """

    name: str
    title: str
    quantities: tuple[Quantity, ...]
    truth: Callable[[], Mapping[str, Truth]]
