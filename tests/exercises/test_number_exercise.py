"""Drawing of parameters, and the search for the parameters that given answers belong to."""

from __future__ import annotations

from collections import Counter

import pytest

from gpulab.errors import UsageError
from gpulab.exercises.number_exercise import DrawnParameter, ExerciseTask, NumberExercise, Quantity


def box(**changes: object) -> NumberExercise:
    fields: dict[str, object] = {
        "name": "test.box",
        "title": "A box",
        "parameters": (DrawnParameter("a", range(2, 12)), DrawnParameter("b", (3, 5, 7))),
        "quantities": (Quantity("sum", ""), Quantity("area", ""), Quantity("far", "")),
        "right": lambda task: {"sum": task.a + task.b, "area": task.a * task.b, "far": task.a - task.b},
        "steps": lambda task: [f"{task.a} + {task.b}"],
    }
    return NumberExercise(**{**fields, **changes})  # type: ignore[arg-type]


def test_same_key_gives_the_same_parameters() -> None:
    assert box().draw("0 student ada") == box().draw("0 student ada")


def test_parameters_are_fixed_for_all_versions_of_the_package() -> None:
    # A change here makes every released notebook disagree with the grader.
    assert [vars(box().draw(f"2026 student {name}")) for name in ("ada", "bob", "eve")] == [
        {"a": 7, "b": 7},
        {"a": 5, "b": 7},
        {"a": 3, "b": 7},
    ]


def test_every_value_is_drawn() -> None:
    drawn = [box().draw(str(number)) for number in range(300)]
    assert Counter(task.b for task in drawn).keys() == {3, 5, 7}
    assert {task.a for task in drawn} == set(range(2, 12))


def test_exercises_with_the_same_parameters_draw_independently() -> None:
    other = box(name="test.other")
    assert [box().draw(str(n)) for n in range(9)] != [other.draw(str(n)) for n in range(9)]


def test_refused_parameters_are_not_drawn() -> None:
    even = box(accept=lambda task: task.a % 2 == 0)
    assert {even.draw(str(number)).a % 2 for number in range(100)} == {0}


def test_parameters_that_are_never_accepted_are_an_error() -> None:
    with pytest.raises(UsageError, match=r"test\.box"):
        box(accept=lambda _: False).draw("0")


def test_answers_of_other_parameters_are_recognised() -> None:
    task = ExerciseTask(a=4, b=7)
    assert box().fitting(box().right(task)) == task


def test_answers_of_refused_parameters_are_not_recognised() -> None:
    odd = box(accept=lambda task: task.a % 2 == 1)
    assert odd.fitting(odd.right(ExerciseTask(a=4, b=7))) is None


@pytest.mark.parametrize(
    "answers", [{"sum": 11, "area": 28, "far": 3}, {"sum": 11, "area": 28}, {}], ids=["wrong", "few", "none"]
)
def test_other_answers_fit_no_parameters(answers: dict[str, float]) -> None:
    assert box().fitting(answers) is None


def test_two_answers_are_no_evidence() -> None:
    two = box(quantities=(Quantity("sum", ""), Quantity("area", "")))
    assert two.fitting({"sum": 11, "area": 28}) is None
