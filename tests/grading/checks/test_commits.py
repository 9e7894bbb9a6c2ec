"""`gpulab.commit`: verdicts, points, what is revealed, and committed predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulab.exercises
from gpulab.errors import GpulabError, UsageError, WrongResult
from gpulab.exercises import lab_session
from gpulab.exercises.choice_exercise import ChoiceExercise, Truth
from gpulab.exercises.lab_session import current_lab, grade_as, own_key, start_lab, student
from gpulab.exercises.number_exercise import NumberExercise, Quantity
from gpulab.grading.checks.commits import commit
from gpulab.notebook import screen
from gpulab.views.html import View

pytestmark = pytest.mark.usefixtures("new_lab")

IDLE_THREADS = gpulab.exercises.find_exercise("stencil.idle_threads")
assert isinstance(IDLE_THREADS, NumberExercise)
NAME = IDLE_THREADS.name
CASE = NumberExercise(
    name="stencil.case",
    title="A missing barrier",
    parameters=(),
    quantities=(Quantity("line", "the line"), Quantity("first", "event", options=("read", "write"))),
    right=lambda _: {"line": 17, "first": "write"},
    steps=lambda _: ["Line 17 reads before the write."],
)


def measured(lab: str) -> dict[str, Truth]:
    assert lab == "stencil"
    return {"h200": Truth("slower: 1.14 ms", "measured"), "ratio": Truth("0.53", "measured")}


FASTER = ChoiceExercise(
    name="stencil.faster",
    title="Is it faster?",
    quantities=(
        Quantity("h200", "on an H200", options=("faster", "slower")),
        Quantity("ratio", "by which factor"),
    ),
    truth=measured,
)


@pytest.fixture(autouse=True)
def shown(monkeypatch: pytest.MonkeyPatch) -> list[View]:
    views: list[View] = []
    monkeypatch.setattr(screen, "show", views.append)
    known = {exercise.name: exercise for exercise in (IDLE_THREADS, CASE, FASTER)}
    monkeypatch.setattr(gpulab.exercises, "_exercises_of", lambda _: known)
    return views


def answers_of(student_id: str) -> dict[str, Any]:
    """Return the right answers of a student, who stays the student of the session."""
    student(student_id)
    return dict(IDLE_THREADS.right(IDLE_THREADS.draw(own_key())))


def values_of(answers: dict[str, Any]) -> list[str]:
    return [f"{value:,}" for value in answers.values() if value == int(value)]


def test_right_answers_earn_full_points(shown: list[View]) -> None:
    start_lab(seed=3, points=50)
    assert commit(NAME, answers_of("ada"), points=5, next="opt_1") is None
    assert "5 of 5 points · 5 of 50 so far · Next: opt_1" in shown[-1].text


def test_each_right_answer_earns_its_share() -> None:
    answers = {**answers_of("ada"), "blocks": 1, "writing": None}
    assert repr(commit(NAME, answers, points=5)) == "3"
    assert repr(commit(NAME, answers, points=4)) == "2"


def test_no_right_value_of_the_student_is_shown(shown: list[View]) -> None:
    right = answers_of("ada")
    for answers in ({}, {"blocks": 1}, dict.fromkeys(right, 3)):
        with pytest.raises(WrongResult):
            commit(NAME, answers, points=5)
    assert len(shown) == 3
    for view in shown:
        assert not [value for value in values_of(right) if value in view.text or value in view.html]


def test_steps_are_shown_when_every_quantity_has_an_answer(shown: list[View]) -> None:
    right = answers_of("ada")
    commit(NAME, {**right, "blocks": None}, points=5)
    assert "Worked example" not in shown[-1].text
    commit(NAME, {**right, "blocks": 1}, points=5)
    assert "Worked example" in shown[-1].text
    assert "<details>" in shown[-1].html


def test_starting_over_shows_the_same_example(shown: list[View], monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        monkeypatch.setattr(lab_session, "STATE", lab_session.LabSession())
        answers_of("ada")
        with pytest.raises(WrongResult):
            commit(NAME, dict.fromkeys(answers_of("ada"), 3), points=5)
    assert len({view.text for view in shown}) == 1


def test_answers_of_another_student_earn_nothing(shown: list[View]) -> None:
    copied = answers_of("bob")
    student("ada")
    with pytest.raises(WrongResult, match="belong to other parameters"):
        commit(NAME, copied, points=5)
    assert current_lab().points[NAME] == 0
    assert "belong to other parameters" in shown[-1].text


def test_answers_to_the_practice_parameters_are_named(shown: list[View]) -> None:
    practised = answers_of("")
    assert commit(NAME, practised, points=5) is None
    assert "student id is missing" in shown[-1].text
    student("ada")
    with pytest.raises(WrongResult, match="practice parameters"):
        commit(NAME, practised, points=5)


def test_a_slip_keeps_the_points_of_the_other_answers() -> None:
    answers = {**answers_of("ada"), "idle_percent": 99.0}
    assert commit(NAME, answers, points=5) == 4


def test_points_of_a_cell_that_fails_later_are_lost() -> None:
    right = answers_of("ada")
    commit(NAME, right, points=5)
    with pytest.raises(WrongResult):
        commit(NAME, {}, points=5)
    assert current_lab().points == {NAME: 0}


@pytest.mark.parametrize("answers", [[1], 7, "x", ..., set()])
def test_answers_that_are_no_dictionary_are_refused(answers: object) -> None:
    with pytest.raises(UsageError, match="dictionary"):
        commit(NAME, answers, points=5)


def test_missing_answers_say_which_cell_to_run() -> None:
    with pytest.raises(WrongResult, match="run the cell"):
        commit(NAME, None, points=5)


def test_ungraded_cell_does_not_fail() -> None:
    assert commit(NAME, {}) is None


@pytest.mark.parametrize("points", [-1, "5", None])
def test_points_that_are_no_number_are_refused(points: Any) -> None:
    with pytest.raises(UsageError, match="points"):
        commit(NAME, {}, points=points)


def test_unknown_names_are_reported_but_not_all(shown: list[View]) -> None:
    extra = {f"name_{number}" + "x" * 1000: number for number in range(100)}
    commit(NAME, {**answers_of("ada"), **extra}, points=5)
    assert "name_0" in shown[-1].text
    assert "name_50" not in shown[-1].text
    assert len(shown[-1].text) < 3000


def test_markup_in_answers_is_escaped(shown: list[View]) -> None:
    commit(NAME, {**answers_of("ada"), "<b>": 1}, points=5)
    assert "<b>`" not in shown[-1].html
    assert "&lt;b&gt;" in shown[-1].html


@given(st.dictionaries(st.sampled_from(["blocks", "threads", "writing", 3, None]), st.from_type(object)))
def test_any_answers_give_points_or_one_sentence(answers: dict[Any, object]) -> None:
    try:
        assert 0 <= (commit(NAME, answers, points=5) or 0) <= 5
    except GpulabError as error:
        assert "\n" not in str(error)  # noqa: PT017  (no error is right, too)


def test_grader_shows_neither_total_nor_next_task(shown: list[View]) -> None:
    right = answers_of("ada")
    grade_as("ada")
    commit(NAME, right, points=5, next="opt_1")
    assert "5 of 5 points" in shown[-1].text
    assert "so far" not in shown[-1].text
    assert "Next" not in shown[-1].text


def test_explanation_of_a_case_is_shown_when_it_is_solved(shown: list[View]) -> None:
    assert commit(CASE.name, {"line": 17, "first": "read"}, points=4) == 2
    assert "Line 17 reads" not in shown[-1].text
    assert commit(CASE.name, {"line": 17, "first": "Write"}, points=4) is None
    assert "Line 17 reads" in shown[-1].text
    assert "student id" not in shown[-1].text


def test_prediction_earns_its_points_and_shows_the_truth(shown: list[View]) -> None:
    assert commit(FASTER.name, {"h200": "faster", "ratio": 2}, points=2) is None
    assert "slower: 1.14 ms" in shown[-1].text
    assert "2 of 2 points" in shown[-1].text


@pytest.mark.parametrize("answers", [{}, {"h200": "faster"}, {"h200": "maybe", "ratio": 2}])
def test_incomplete_prediction_shows_no_truth(answers: dict[str, object], shown: list[View]) -> None:
    with pytest.raises(WrongResult, match="every question"):
        commit(FASTER.name, answers, points=2)
    assert "1.14" not in shown[-1].text
    assert commit(FASTER.name, answers) is None


def test_first_prediction_of_a_session_counts(shown: list[View]) -> None:
    commit(FASTER.name, {"h200": "faster", "ratio": 2}, points=2)
    commit(FASTER.name, {"h200": "slower", "ratio": 0.5}, points=2)
    assert "faster" in shown[-1].text
    assert "first commit" in shown[-1].text


@pytest.fixture
def unknown_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the truth of the prediction need a cell that did not run."""

    def truth(_lab: str) -> dict[str, Truth]:
        raise UsageError("run the cell of opt_1 first.")

    exercise = replace(FASTER, truth=truth)
    monkeypatch.setattr(gpulab.exercises, "_exercises_of", lambda _: {FASTER.name: exercise})


@pytest.mark.usefixtures("unknown_truth")
def test_prediction_is_committed_before_the_truth_is_known(shown: list[View]) -> None:
    assert commit(FASTER.name, {"h200": "faster", "ratio": 2}, points=2) is None
    assert "run the cell of opt_1 first." in shown[-1].text


@pytest.mark.usefixtures("unknown_truth")
def test_grader_does_not_compute_the_truth(shown: list[View]) -> None:
    grade_as("ada")
    assert commit(FASTER.name, {"h200": "faster", "ratio": 2}, points=2) is None
    assert "opt_1" not in shown[-1].text
    assert "faster" in shown[-1].text
