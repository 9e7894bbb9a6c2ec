"""The exercises of the labs: what they ask, with which parameters, and the right answers.

A lab's module declares its exercises as data. An entry point of the group `gpulab.exercises` names them; its
own name is that of the lab. Parameters follow from the release's seed and the student's id, so that each
student has numbers of their own. Nothing here gives points: `gpulab.commit` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from gpulab.entry_points import entry_points_of
from gpulab.errors import UsageError

if TYPE_CHECKING:
    from gpulab.exercises.choice_exercise import ChoiceExercise
    from gpulab.exercises.kernel_exercise import KernelExercise
    from gpulab.exercises.number_exercise import NumberExercise

__all__ = ["exercise_names", "find_exercise", "kernel_exercises"]

GROUP = __name__  # group of entry points: the name of this package


def find_exercise(name: str) -> NumberExercise | ChoiceExercise:
    """Return an exercise such as "stencil.idle_threads"; raise `UsageError` if there is none."""
    exercises = _exercises_of(str(name).partition(".")[0])
    if name not in exercises:
        known = ", ".join(exercises or exercise_names())
        raise UsageError(f"there is no exercise `{name}`; choose from {known}.")
    return exercises[name]


def exercise_names() -> tuple[str, ...]:
    """Return the names of all exercises, by lab."""
    return tuple(name for lab in _labs() for name in _exercises_of(lab))


def kernel_exercises() -> dict[str, KernelExercise]:
    """Return all exercises with a small kernel, by the name in the header of their cell."""
    from gpulab.exercises.kernel_exercise import KernelExercise

    declared = [exercise for lab in _labs() for exercise in _declared(lab)]
    return {exercise.name: exercise for exercise in declared if isinstance(exercise, KernelExercise)}


def _exercises_of(lab: str) -> dict[str, NumberExercise | ChoiceExercise]:
    """Return the exercises of a lab without those that have a kernel, by their names with that of the lab."""
    from gpulab.exercises.kernel_exercise import KernelExercise

    questions = [exercise for exercise in _declared(lab) if not isinstance(exercise, KernelExercise)]
    return {f"{lab}.{each.name}": replace(each, name=f"{lab}.{each.name}") for each in questions}


def _labs() -> list[str]:
    return sorted({entry.name for entry in entry_points_of(GROUP)})


@cache
def _declared(lab: str) -> Sequence[NumberExercise | ChoiceExercise | KernelExercise]:
    """Return the exercises that the entry points of a lab's name declare."""
    entries = [entry for entry in entry_points_of(GROUP) if entry.name == lab]
    return [exercise for entry in entries for exercise in entry.load()]
