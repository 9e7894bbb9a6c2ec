"""`gpulab.commit`: hand in the answers of an exercise, and see what is right, but no right value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulab.errors import GpulabError, UsageError, WrongResult
from gpulab.grading.checks.points import is_points, partial_score
from gpulab.grading.checks.points_line import points_line, record_points

if TYPE_CHECKING:
    from gpulab.exercises.choice_exercise import ChoiceExercise
    from gpulab.exercises.number_exercise import ExerciseTask, NumberExercise
    from gpulab.exercises.quantity import Answer, CheckedAnswer
    from gpulab.views.html import View

__all__ = ["ForeignAnswers", "commit"]

MAX_UNKNOWN, MAX_NAME = 3, 40  # names that are reported, and their characters

NO_ID = (
    "Your student id is missing: these answers are compared with practice parameters. Type the id in the "
    'cell gpulab.student("") and run the cells of this exercise again.'
)


class ForeignAnswers(WrongResult):
    """The answers are right for other parameters than the student's; the message names both."""


def commit(
    name: str,
    answers: object,
    *,
    points: float = 0,
    next: str = "",  # noqa: A002  (the name in a notebook)
) -> float | None:
    """Hand in the answers of an exercise, show what is right, and return the points.

    Of an exercise with numbers, every answer is marked right, not yet right, or missing. As soon as every
    quantity has an answer, the steps are shown for other parameters. Answers can be corrected and committed
    again.

    Of a prediction, the first commit of the session counts: it earns the points for a valid answer to every
    question, and shows what is true.

    Parameters
    ----------
    name : str
        Lab and exercise, such as ``"stencil.idle_threads"``.
    answers : mapping of str to number or str, or None
        The answers by quantity. None, ``...`` and a missing name mean that there is no answer yet.
    points : float, default 0
        Maximum of the cell. Each right answer earns an equal share; the sum is rounded down to half points.
        With 0 the cell is not graded and never fails.
    next : str, optional
        The next task, shown when all points are earned.

    Returns
    -------
    float or None
        The points if some answers are not right, else None, which nbgrader counts as full points.

    Raises
    ------
    WrongResult
        No answer is right, the answers belong to other parameters, or a prediction is not complete.
    UsageError
        There is no such exercise, or `answers` is not a dictionary.

    Examples
    --------
    >>> import gpulab
    >>> _ = gpulab.student("")
    >>> task = gpulab.exercise("stencil.idle_threads")
    Idle threads of the naive kernel
    ...
    >>> answers = {"blocks": 1, "writing": (task.nx - 2) * (task.ny - 2)}
    >>> gpulab.commit("stencil.idle_threads", answers, points=5)
    quantity ...
    1
    """
    from gpulab.exercises import find_exercise
    from gpulab.exercises.choice_exercise import ChoiceExercise
    from gpulab.notebook import failure

    failure.install_if_missing()
    exercise = find_exercise(name)
    _check_points(points)
    record_points(name, 0)
    if answers is None and points:
        raise WrongResult(f"no answers to {name} yet: run the cell above that defines them.")
    if not isinstance(answers, Mapping):
        got = type(answers).__name__ if answers is not None else "nothing"
        first = exercise.quantities[0].name
        raise UsageError(f'the answers must be a dictionary by name, such as {{"{first}": ...}}; got {got}.')
    if isinstance(exercise, ChoiceExercise):
        return _commit_prediction(exercise, answers, points, next)
    return _commit_numbers(exercise, answers, points, next)


def _check_points(points: object) -> None:
    if not is_points(points):
        raise UsageError(f"`points` must be a number of at least 0; got {points!r}.")


def _commit_numbers(
    exercise: NumberExercise, answers: Mapping[Any, object], points: float, following: str
) -> float | None:
    from gpulab.exercises.exercise_view import answers_table
    from gpulab.exercises.lab_session import current_lab, own_key
    from gpulab.exercises.quantity import check_answers
    from gpulab.notebook.screen import show
    from gpulab.views.html import note, stack

    own = exercise.draw(own_key())
    checked = check_answers(exercise.quantities, answers, exercise.right(own))
    right = sum(answer.is_right for answer in checked)
    foreign = _foreign_parameters(exercise, checked, own)
    if foreign and 2 * right <= len(checked):  # more than a slip: these are the answers to another exercise
        right = 0
    complete = right == len(checked)
    earned = points if complete else partial_score(points, right, len(checked))
    record_points(exercise.name, earned)

    hints = [foreign] if foreign else []
    hints += _unknown_names(checked, answers)
    if exercise.parameters and not current_lab().student:
        hints.append(NO_ID)
    summary = f"{right} of {len(checked)} answers are right."
    if points and (right or not foreign):
        summary += f" {points_line(earned, points, following)}"
    show(
        stack(
            answers_table(checked),
            note("good" if complete else "hint", summary, hints),
            _reveal(exercise, checked, own),
        )
    )
    if complete or not points:
        return None
    if right == 0:
        raise ForeignAnswers(foreign) if foreign else WrongResult(_nothing_right(checked))
    return earned


def _foreign_parameters(
    exercise: NumberExercise, checked: tuple[CheckedAnswer, ...], own: ExerciseTask
) -> str:
    """Return a sentence if all answers are right for other parameters than the student's, else ""."""
    from gpulab.exercises.exercise_view import parameters_text
    from gpulab.exercises.lab_session import practice_key

    values = _values(checked)
    if not exercise.parameters or len(values) < len(checked) or all(answer.is_right for answer in checked):
        return ""
    yours = f"yours are {parameters_text(exercise, own)}."
    practice = exercise.draw(practice_key())
    if exercise.is_right(values, practice):
        return (
            "these answers belong to the practice parameters, which apply as long as no student id is given; "
            + yours
        )
    other = exercise.fitting(values)
    if other is None:
        return ""
    return f"these answers belong to other parameters, {parameters_text(exercise, other)}; {yours}"


def _reveal(exercise: NumberExercise, checked: tuple[CheckedAnswer, ...], own: ExerciseTask) -> View | None:
    """Return the worked steps for other parameters; without parameters, once everything is right."""
    from gpulab.exercises.exercise_view import worked_steps
    from gpulab.exercises.lab_session import current_lab

    if not exercise.parameters:
        return worked_steps(exercise, own) if all(answer.is_right for answer in checked) else None
    example = exercise.example(own, current_lab().seed)
    answered = all(answer.is_answered for answer in checked)
    return worked_steps(exercise, example) if answered and example is not None else None


def _commit_prediction(
    exercise: ChoiceExercise, answers: Mapping[Any, object], points: float, following: str
) -> float | None:
    from gpulab.exercises.exercise_view import answers_table
    from gpulab.exercises.lab_session import current_lab
    from gpulab.exercises.quantity import check_answers
    from gpulab.notebook.screen import show
    from gpulab.views.html import note, stack

    lab, checked = current_lab(), check_answers(exercise.quantities, answers)
    values, hints = _values(checked), _unknown_names(checked, answers)
    if len(values) < len(checked):
        show(stack(answers_table(checked), note("hint", "Answer every question, then run this cell.", hints)))
        if points:
            raise WrongResult(f"{exercise.name} is not committed: answer every question first.")
        return None

    first = lab.committed.setdefault(exercise.name, values)
    record_points(exercise.name, points)
    if first != values:
        hints.append("The first commit of this session counts; the answers were changed after it.")
    summary = points_line(points, points, following) if points else "Committed."
    shown = answers_table(checked) if lab.graded else _truth(exercise, first)
    show(stack(shown, note("good", summary, hints)))
    return None


def _truth(exercise: ChoiceExercise, committed: Mapping[str, Answer]) -> View:
    """Return the committed answers next to the true ones."""
    from gpulab.exercises.exercise_view import truth_table
    from gpulab.views.html import note

    try:
        return truth_table(exercise.quantities, committed, exercise.truth(exercise.lab))
    except GpulabError as error:
        return note("hint", "The truth cannot be shown yet. Run this cell again later.", [str(error)])


def _values(checked: tuple[CheckedAnswer, ...]) -> dict[str, Answer]:
    return {answer.quantity.name: answer.value for answer in checked if answer.value is not None}


def _unknown_names(checked: tuple[CheckedAnswer, ...], answers: Mapping[Any, object]) -> list[str]:
    known = {answer.quantity.name for answer in checked}
    unknown = [str(name)[:MAX_NAME] for name in answers if name not in known]
    return [f"`{name}` is not one of the names: check its spelling." for name in unknown[:MAX_UNKNOWN]]


def _nothing_right(checked: tuple[CheckedAnswer, ...]) -> str:
    from gpulab.exercises.quantity import MISSING

    if all(answer.verdict == MISSING for answer in checked):
        names = ", ".join(answer.quantity.name for answer in checked)
        return f"no answers yet: write one for each of {names}."
    return f"none of the {len(checked)} answers is right yet; see the table above."
