"""Predictions: a student commits an answer, and sees afterwards what is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpulab.exercises.quantity import Quantity

__all__ = ["ChoiceExercise", "Quantity", "Truth"]


@dataclass(frozen=True)
class Truth:
    """The true answer to one question.

    Attributes
    ----------
    text : str
        The answer with its numbers.
    source : str
        The provenance of the numbers.
    """

    text: str
    source: str = ""


@dataclass(frozen=True)
class ChoiceExercise:
    """A prediction, which earns its points by having been made before the truth is shown.

    Attributes
    ----------
    name : str
        Such as "faster". `gpulab.exercises.find_exercise` puts the name of the lab before it.
    title : str
        The heading of its card.
    quantities : tuple of Quantity
        The questions. One without options asks for a number, such as a ratio.
    truth : callable
        Takes the name of the lab and returns the outcome of each question by name, for example from the
        kernels of the session. It may raise a `GpulabError` that says which cell has to run first.
    """

    name: str
    title: str
    quantities: tuple[Quantity, ...]
    truth: Callable[[str], Mapping[str, Truth]]

    @property
    def lab(self) -> str:
        """The name of the lab, which is that of its problem; "" if the exercise was not found by its lab."""
        return self.name.rpartition(".")[0]
