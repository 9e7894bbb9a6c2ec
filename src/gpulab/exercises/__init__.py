"""The exercises of the labs: what they ask, with which parameters, and the right answers.

A lab's module declares its exercises as data. Parameters follow from the release's seed and the student's id,
so that each student has numbers of their own. Nothing here gives points: `gpulab.commit` does.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from gpulab.errors import UsageError

if TYPE_CHECKING:
    from gpulab.exercises.choice_exercise import ChoiceExercise
    from gpulab.exercises.kernel_exercise import KernelExercise
    from gpulab.exercises.number_exercise import NumberExercise

__all__ = ["exercise_names", "find_exercise", "kernel_exercises"]

# Each lab has the modules LAB_exercises and LAB_kernels in this folder.
LABS = tuple(
    module.name.removesuffix("_exercises")
    for module in iter_modules(__path__)
    if module.name.endswith("_exercises")
)


def find_exercise(name: str) -> NumberExercise | ChoiceExercise:
    """Return an exercise such as "stencil.idle_threads"; raise `UsageError` if there is none."""
    lab = str(name).partition(".")[0]
    exercises = _exercises_of(lab) if lab in LABS else {}
    if name not in exercises:
        known = ", ".join(exercises or exercise_names())
        raise UsageError(f"there is no exercise `{name}`; choose from {known}.")
    return exercises[name]


def exercise_names() -> tuple[str, ...]:
    """Return the names of all exercises, by lab."""
    return tuple(name for lab in LABS for name in _exercises_of(lab))


def kernel_exercises() -> dict[str, KernelExercise]:
    """Return all exercises with a small kernel, by the name in the header of their cell."""
    modules = (import_module(f"gpulab.exercises.{lab}_kernels") for lab in LABS)
    return {name: exercise for module in modules for name, exercise in module.KERNELS.items()}


def _exercises_of(lab: str) -> dict[str, NumberExercise | ChoiceExercise]:
    module = import_module(f"gpulab.exercises.{lab}_exercises")
    return {exercise.name: exercise for exercise in module.EXERCISES}
