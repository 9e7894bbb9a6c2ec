"""Every exercise of the labs: names, parameters, right answers and worked steps."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from gpulab.errors import UsageError
from gpulab.exercises import exercise_names, find_exercise
from gpulab.exercises.choice_exercise import ChoiceExercise
from gpulab.exercises.exercise_view import exercise_card
from gpulab.exercises.number_exercise import ExerciseTask, NumberExercise
from gpulab.exercises.quantity import MIN_TOLERANCE, check_answers

NUMBERS = [
    exercise for exercise in map(find_exercise, exercise_names()) if isinstance(exercise, NumberExercise)
]
CHOICES = [
    exercise for exercise in map(find_exercise, exercise_names()) if isinstance(exercise, ChoiceExercise)
]
STUDENTS = [f"0 student {number}" for number in range(40)]

each_number_exercise = pytest.mark.parametrize("exercise", NUMBERS, ids=lambda exercise: exercise.name)


def test_names_are_unique() -> None:
    assert len(set(exercise_names())) == len(exercise_names())


@pytest.mark.parametrize("name", ["stencil.nothing", "nothing", "", "os.path", 7])
def test_unknown_exercise_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match=r"stencil\.idle_threads"):
        find_exercise(name)


@each_number_exercise
def test_right_answers_are_accepted_for_every_student(exercise: NumberExercise) -> None:
    for student in STUDENTS:
        task = exercise.draw(student)
        right = exercise.right(task)
        assert right.keys() == {quantity.name for quantity in exercise.quantities}
        assert all(answer.is_right for answer in check_answers(exercise.quantities, right, right))


@each_number_exercise
def test_answers_are_finite_numbers_or_options(exercise: NumberExercise) -> None:
    right = exercise.right(exercise.draw(STUDENTS[0]))
    for quantity in exercise.quantities:
        value = right[quantity.name]
        assert value in quantity.options if quantity.options else math.isfinite(float(value))


@each_number_exercise
def test_steps_name_the_right_answers(exercise: NumberExercise) -> None:
    task = exercise.draw(STUDENTS[0])
    steps = list(exercise.steps(task))
    assert steps
    assert all(step == step.strip() and step for step in steps)


@each_number_exercise
def test_students_have_different_answers(exercise: NumberExercise) -> None:
    if not exercise.parameters:
        pytest.skip("the exercise is the same for everyone")
    answers = {tuple(exercise.right(exercise.draw(student)).values()) for student in STUDENTS}
    assert len(answers) > len(STUDENTS) / 4


@each_number_exercise
def test_another_student_gets_at_most_half_by_chance(exercise: NumberExercise) -> None:
    if not exercise.parameters:
        pytest.skip("the exercise is the same for everyone")
    right = [exercise.right(exercise.draw(student)) for student in STUDENTS]
    shares = []
    for own, copied in pairwise(right):
        checked = check_answers(exercise.quantities, copied, own)
        shares.append(sum(answer.is_right for answer in checked) / len(checked))
    assert sum(shares) / len(shares) < 0.5


@each_number_exercise
def test_example_has_other_answers_than_the_student(exercise: NumberExercise) -> None:
    for student in STUDENTS:
        own = exercise.draw(student)
        example = exercise.example(own, seed=0)
        if not exercise.parameters:
            assert example is None
            continue
        assert example is not None
        assert exercise.right(example) != exercise.right(own)


@pytest.mark.parametrize("exercise", [*NUMBERS, *CHOICES], ids=lambda exercise: exercise.name)
def test_card_names_every_quantity_and_parameter(exercise: NumberExercise | ChoiceExercise) -> None:
    numbers = isinstance(exercise, NumberExercise)
    task = exercise.draw(STUDENTS[0]) if numbers else ExerciseTask()
    card = exercise_card(exercise, task, "of ada")
    parameters = exercise.parameters if numbers else ()
    for name in [*(q.name for q in exercise.quantities), *(p.name for p in parameters)]:
        assert name in card.html
        assert name in card.text


def test_tolerance_is_below_the_distance_of_neighbouring_counts() -> None:
    assert 10**6 * MIN_TOLERANCE < 1
