"""Exercises with right answers: parameters for each student, quantities, and worked steps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from types import SimpleNamespace

from gpulab.errors import UsageError
from gpulab.exercises.quantity import Answer, Quantity

__all__ = ["DrawnParameter", "ExerciseTask", "NumberExercise", "Quantity"]

MAX_DRAWS = 1000  # draws that `accept` may refuse one after the other
MAX_SEARCHED = 20_000  # sets of parameters that wrong answers are compared with
MIN_EVIDENCE = 3  # quantities; fewer fit some other parameters by chance


class ExerciseTask(SimpleNamespace):
    """The parameters of one student as attributes, such as `task.nx`.

    Examples
    --------
    >>> from gpulab.exercises.number_exercise import ExerciseTask
    >>> ExerciseTask(nx=130, ny=70).nx
    130
    """


@dataclass(frozen=True)
class DrawnParameter:
    """A parameter of an exercise.

    Attributes
    ----------
    name : str
        The attribute of `ExerciseTask` that has its value.
    choices : sequence
        The possible values, of which each student gets one.
    text : str
        Its meaning, with the unit.
    """

    name: str
    choices: Sequence[object]
    text: str = ""


@dataclass(frozen=True)
class NumberExercise:
    """An exercise with right answers.

    Attributes
    ----------
    name : str
        Such as "idle_threads". `gpulab.exercises.find_exercise` puts the name of the lab before it.
    title : str
        The heading of its card.
    parameters : tuple of DrawnParameter
        Drawn for each student; empty if the exercise is the same for everyone.
    quantities : tuple of Quantity
        What is asked.
    right : callable
        Takes the parameters and returns the right answers by quantity. It is a closed formula and takes
        microseconds, because wrong answers are compared with those to many other parameters.
    steps : callable
        Takes the parameters and returns the worked steps, one line each.
    accept : callable, optional
        Takes parameters and returns False to draw again.
    """

    name: str
    title: str
    parameters: tuple[DrawnParameter, ...]
    quantities: tuple[Quantity, ...]
    right: Callable[[ExerciseTask], Mapping[str, Answer]]
    steps: Callable[[ExerciseTask], Sequence[str]]
    accept: Callable[[ExerciseTask], bool] | None = None

    def draw(self, key: str) -> ExerciseTask:
        """Return the parameters that belong to a text; the same text always gives the same parameters."""
        for attempt in range(MAX_DRAWS):
            # A hash, and no generator of random numbers: its sequence may change with the version of NumPy.
            digest = hashlib.sha256(f"{key}\0{self.name}\0{attempt}".encode(errors="replace")).digest()
            number, values = int.from_bytes(digest, "big"), {}
            for parameter in self.parameters:
                number, index = divmod(number, len(parameter.choices))
                values[parameter.name] = parameter.choices[index]
            task = ExerciseTask(**values)
            if self._accepts(task):
                return task
        raise UsageError(f"{self.name}: no parameters were accepted in {MAX_DRAWS} draws.")

    def example(self, own: ExerciseTask, seed: int) -> ExerciseTask | None:
        """Return parameters for a worked example, with other right answers than a student's own.

        seed: of the release. None is returned if the exercise has no parameters.
        """
        if not self.parameters:
            return None
        right = self.right(own)
        examples = (self.draw(f"{seed} example {number}") for number in range(MAX_DRAWS))
        return next((task for task in examples if self.right(task) != right), None)

    def fitting(self, answers: Mapping[str, Answer]) -> ExerciseTask | None:
        """Return the first parameters for which all answers are right; None if there are none.

        Few answers fit some parameters by chance, so that they are not evidence and None is returned.
        """
        if len(self.quantities) < MIN_EVIDENCE or not self.parameters:
            return None
        return next((task for task in self._all_tasks() if self.is_right(answers, task)), None)

    def is_right(self, answers: Mapping[str, Answer], task: ExerciseTask) -> bool:
        """Return True if all answers are right for these parameters."""
        right = self.right(task)
        return all(q.name in answers and q.accepts(answers[q.name], right[q.name]) for q in self.quantities)

    def _accepts(self, task: ExerciseTask) -> bool:
        return self.accept is None or self.accept(task)

    def _all_tasks(self) -> Iterator[ExerciseTask]:
        if prod(len(parameter.choices) for parameter in self.parameters) > MAX_SEARCHED:
            return
        names = [parameter.name for parameter in self.parameters]
        for values in product(*(parameter.choices for parameter in self.parameters)):
            task = ExerciseTask(**dict(zip(names, values, strict=True)))
            if self._accepts(task):
                yield task
