"""Every planted mistake is rejected with a message that names it, and the right kernels pass."""

from __future__ import annotations

import pytest

from tests.mutations.checking import message_of
from tests.mutations.mutations import Exercise, Mutation, exercises
from tests.mutations.page import PAGE, row_start

MUTATIONS = [mutation for exercise in exercises() for mutation in exercise.mutations]
BASES = [(exercise, text) for exercise in exercises() for text in exercise.bases]
MISTAKES = {"puzzles": 5}  # of each exercise of a lab, at least; of the other labs 10


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.id)
def test_message_names_the_mistake(mutation: Mutation) -> None:
    message = message_of(mutation.lab, mutation.exercise, mutation.text)
    assert [fragment for fragment in mutation.fragments if fragment not in message] == [], message


@pytest.mark.parametrize(("exercise", "text"), BASES, ids=[exercise.id for exercise, _ in BASES])
def test_kernel_without_the_mistakes_passes(exercise: Exercise, text: str) -> None:
    assert message_of(exercise.lab, exercise.name, text) == ""


def test_exercises_have_enough_mistakes() -> None:
    different = {
        exercise: len({mutation.text for mutation in exercise.mutations}) for exercise in exercises()
    }
    assert [e.id for e in exercises() if different[e] < MISTAKES.get(e.lab, 10)] == []


def test_page_has_every_mistake() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(MUTATIONS)
    assert [row for row, m in zip(rows, MUTATIONS, strict=True) if not row.startswith(row_start(m))] == []
