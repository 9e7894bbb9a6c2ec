"""`gpulab.exercise`: the parameters of an exercise, shown in the cell that asks for them."""

from __future__ import annotations

from gpulab.exercises.number_exercise import ExerciseTask

__all__ = ["exercise"]


def exercise(name: str) -> ExerciseTask:
    """Show an exercise with the student's own parameters, and return the parameters.

    Parameters
    ----------
    name : str
        Lab and exercise, such as ``"stencil.idle_threads"``.

    Returns
    -------
    ExerciseTask
        The parameters as attributes, such as ``task.nx``. They follow from the id that `gpulab.student` was
        called with, and from the seed of the release. An exercise that is the same for everyone has none.

    Raises
    ------
    UsageError
        There is no such exercise.

    Examples
    --------
    >>> import gpulab
    >>> task = gpulab.exercise("stencil.idle_threads")
    Idle threads of the naive kernel
    parameter  value  meaning
    ...
    >>> 98 <= task.nx < 190
    True
    """
    from gpulab.exercises import find_exercise
    from gpulab.exercises.exercise_view import exercise_card
    from gpulab.exercises.lab_session import current_lab, own_key
    from gpulab.exercises.number_exercise import NumberExercise
    from gpulab.notebook import failure
    from gpulab.notebook.screen import show

    failure.install_if_missing()
    found, name_of_student = find_exercise(name), current_lab().student
    task = found.draw(own_key()) if isinstance(found, NumberExercise) else ExerciseTask()
    owner = "Practice parameters: no student id was given."
    if name_of_student:
        owner = f"The parameters of {name_of_student}."
    show(exercise_card(found, task, owner))
    return task
