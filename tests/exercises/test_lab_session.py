"""The student of a session, and the keys that parameters are drawn from."""

from __future__ import annotations

from typing import Any

import pytest

from gpulab.errors import UsageError
from gpulab.exercises.lab1_exercises import IDLE_THREADS
from gpulab.exercises.lab_session import current_lab, grade_as, own_key, practice_key, start_lab, student

pytestmark = pytest.mark.usefixtures("new_lab")


def key_of(student_id: str) -> str:
    student(student_id)
    return own_key()


@pytest.mark.parametrize("spelling", ["Ada", " ada ", "ADA"])
def test_spellings_of_one_id_have_one_key(spelling: str) -> None:
    assert key_of(spelling) == key_of("ada")


@pytest.mark.parametrize("spelling", ["", "  "])
def test_empty_id_selects_the_practice_parameters(spelling: str) -> None:
    assert key_of(spelling) == practice_key()


def test_id_that_no_file_can_store_has_parameters() -> None:
    assert IDLE_THREADS.draw(key_of("a\ud800")).nx > 0


def test_keys_differ_by_student_and_by_release() -> None:
    start_lab(seed=1)
    keys = {key_of("ada"), key_of("bob"), key_of(""), key_of("practice")}
    start_lab(seed=2)
    assert len(keys | {key_of("ada"), key_of("")}) == 6


def test_id_of_the_grader_is_not_replaced() -> None:
    grade_as("ada")
    student("bob")
    assert current_lab().student == "ada"


@pytest.mark.parametrize("student_id", [None, 7, ["ada"]])
def test_id_that_is_no_text_is_refused(student_id: Any) -> None:
    with pytest.raises(UsageError, match="quotes"):
        student(student_id)


@pytest.mark.parametrize(
    "arguments", [{"seed": "x"}, {"seed": True}, {"seed": 1, "points": -1}, {"seed": 1, "points": {2: "8"}}]
)
def test_wrong_seed_or_points_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"must be"):
        start_lab(**arguments)
