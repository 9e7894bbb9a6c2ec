"""Views of an exercise: its parameters, the verdict on each answer, and the worked example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpulab.exercises.choice_exercise import ChoiceExercise, Truth
from gpulab.exercises.number_exercise import ExerciseTask, NumberExercise
from gpulab.exercises.quantity import (
    MISSING,
    NOT_YET,
    OTHER_UNIT,
    RIGHT,
    Answer,
    CheckedAnswer,
    Quantity,
    format_value,
)
from gpulab.views.html import View, disclosure, note, paragraph, stack, table

__all__ = ["answers_table", "exercise_card", "parameters_text", "truth_table", "worked_steps"]

MARKS = {RIGHT: "✓ ", NOT_YET: "✗ ", OTHER_UNIT: "✗ "}


def exercise_card(exercise: NumberExercise | ChoiceExercise, task: ExerciseTask, owner: str) -> View:
    """Return the parameters of a student and the quantities to answer. owner: of the parameters."""
    parameters = None
    if isinstance(exercise, NumberExercise) and exercise.parameters:
        rows = [(p.name, format_value(vars(task)[p.name]), p.text) for p in exercise.parameters]
        parameters = table(("parameter", "value", "meaning"), rows, numeric=(1,), caption=owner)
    asked = [(q.name, q.text, _form(q)) for q in exercise.quantities]
    return stack(note("plain", exercise.title), parameters, table(("answer", "meaning", "form"), asked))


def _form(quantity: Quantity) -> str:
    """Return the form of an answer: the options, or unit and tolerance of a number."""
    if quantity.options:
        return " or ".join(f'"{option}"' for option in quantity.options)
    form = f"number in {quantity.unit}" if quantity.unit else "number"
    return f"{form}, within {100 * quantity.tolerance:.3g} %" if quantity.tolerance else form


def parameters_text(exercise: NumberExercise, task: ExerciseTask) -> str:
    """Return parameters on one line, such as "nx = 130, ny = 70"."""
    values = vars(task)
    return ", ".join(f"{p.name} = {format_value(values[p.name])}" for p in exercise.parameters)


def answers_table(checked: Sequence[CheckedAnswer]) -> View:
    """Return the verdict on each answer; no right value is shown."""
    numbers = not any(answer.quantity.options for answer in checked)
    columns = {
        "quantity": [answer.quantity.name for answer in checked],
        "your answer": ["" if answer.value is None else format_value(answer.value) for answer in checked],
        "unit": [answer.quantity.unit for answer in checked],
        "verdict": [MARKS.get(answer.verdict, "") + answer.verdict for answer in checked],
    }
    if not any(columns["unit"]):
        del columns["unit"]
    rows = list(zip(*columns.values(), strict=True))
    return table(list(columns), rows, numeric=(1,) if numbers else ())


def truth_table(
    quantities: Sequence[Quantity], answers: Mapping[str, Answer], truths: Mapping[str, Truth]
) -> View:
    """Return the committed answers next to the true ones."""
    rows = []
    for quantity in quantities:
        truth = truths.get(quantity.name, Truth(MISSING))
        rows.append((quantity.text, format_value(answers[quantity.name]), truth.text, truth.source))
    return table(("question", "your prediction", "truth", "source"), rows)


def worked_steps(exercise: NumberExercise, task: ExerciseTask) -> View:
    """Return the worked steps for these parameters, folded."""
    parameters = parameters_text(exercise, task)
    summary = f"Worked example for {parameters}" if parameters else "Explanation"
    return disclosure(summary, stack(*map(paragraph, exercise.steps(task))))
