"""Answers with parameters of each student, judged: whose numbers earn points, and what the report says."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.exercises import find_exercise
from gpulab.exercises.number_exercise import NumberExercise
from gpulab.grading.judge.plan import NotebookPlan, PlanCell
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.judge.supervisor import judge

SETUP = "%load_ext gpulab\nimport gpulab\n\ngpulab.start_lab(seed=2026, points=5)"
TASK = 'task = gpulab.exercise("stencil.idle_threads")'
TEST = 'gpulab.commit("stencil.idle_threads", globals().get("idle"), points=5, next="opt_1")'
COMPUTED = """\
blocks = -(-task.nx // 32) * -(-task.ny // 8)
idle = {"blocks": blocks, "threads": 256 * blocks, "no_point": 256 * blocks - task.nx * task.ny}
idle["writing"] = (task.nx - 2) * (task.ny - 2)
idle["idle_percent"] = 100 - 100 * idle["writing"] / idle["threads"]"""


def plan(seed: int = 2026) -> NotebookPlan:
    return NotebookPlan(
        "lab",
        (
            PlanCell("setup", "setup", SETUP.replace("2026", str(seed))),
            PlanCell("other", "", 'gpulab.student("")'),
            PlanCell("setup", "idle_task", TASK),
            PlanCell("answers", "idle", COMPUTED, names=("idle",)),
            PlanCell("test", "idle_test", TEST, points=5),
        ),
    )


def student_cell(student: str) -> str:
    return f'gpulab.student("{student}")  # type your student id'


def judged(student: str, *sources: str, seed: int = 2026) -> JudgedSubmission:
    cells = [{"cell_type": "code", "source": source, "outputs": [], "metadata": {}} for source in sources]
    text = json.dumps({"cells": cells})
    return judge(JudgeTask("lab", student, plan(seed), text, b"secret", "sim", sandboxed=False))


def numbers(student: str, seed: int = 2026) -> dict[str, Any]:
    exercise = find_exercise("stencil.idle_threads")
    assert isinstance(exercise, NumberExercise)
    return dict(exercise.right(exercise.draw(f"{seed} student {student}")))


def typed(values: dict[str, Any]) -> str:
    return f"idle = {values!r}"


def output_of(result: JudgedSubmission) -> str:
    return json.dumps(result.as_dict()["cells"])


def score(result: JudgedSubmission) -> float:
    assert result.error == ""
    return result.scores["idle_test"]


def test_answers_computed_from_the_parameters_earn_full_points() -> None:
    result = judged("ada", SETUP, student_cell("Ada "), TASK, COMPUTED, TEST)
    assert score(result) == 5
    assert result.incidents == ()
    assert "so far" not in output_of(result)


def test_typed_numbers_of_the_folders_student_earn_full_points_without_an_id() -> None:
    assert score(judged("ada", SETUP, student_cell(""), TASK, typed(numbers("ada")))) == 5


def test_another_students_numbers_earn_nothing_and_belong_to_other_parameters() -> None:
    result = judged("ada", SETUP, student_cell("ada"), TASK, typed(numbers("bob")))
    assert score(result) == 0
    assert "belong to other parameters" in output_of(result)
    assert [(incident.kind, incident.cell) for incident in result.incidents] == [
        ("other parameters", "idle_test")
    ]


def test_another_students_notebook_earns_nothing_and_names_the_id() -> None:
    result = judged("ada", SETUP, student_cell("bob"), TASK, COMPUTED)
    assert score(result) == 0
    incident = result.incidents[0]
    assert incident.kind == "other student id"
    assert "`bob`" in incident.reason


def test_practice_numbers_earn_nothing_and_are_named() -> None:
    result = judged("ada", SETUP, student_cell(""), TASK, COMPUTED)
    assert score(result) == 0
    assert "practice parameters" in output_of(result)


def test_numbers_of_an_earlier_release_earn_nothing() -> None:
    old = typed(numbers("ada", seed=2025))
    assert score(judged("ada", SETUP, student_cell("ada"), TASK, old)) == 0


def test_seed_is_that_of_the_teacher() -> None:
    changed = SETUP.replace("2026", "1")
    assert score(judged("ada", changed, student_cell("ada"), TASK, typed(numbers("ada", seed=1)))) == 0


def test_regrade_repeats_the_verdict() -> None:
    cells = (SETUP, student_cell("ada"), TASK, typed({**numbers("ada"), "writing": 7}))
    first, again = (judged("ada", *cells) for _ in range(2))
    assert score(first) == 4
    assert first.cells == again.cells


@pytest.mark.parametrize(
    "answer",
    [
        "idle = 'blocks'",
        "idle = {'blocks': '36', 'threads': float('nan'), 'no_point': True, 'writing': 10**300}",
        "idle = {'blocks': 10**400, 'threads': [1], 'no_point': {}, 'writing': lambda: 1}",
        "idle = {1: 2, 'x' * 5000: 3}",
        "idle = [1, 2]",
        "idle = lambda: {}",
        "idle = object()",
        "del idle",
        "idle = {name: None for name in 'ab'}",
        "class D(dict):\n    def get(self, *a): raise ValueError\nidle = D(blocks=1)",
    ],
)
def test_answers_that_are_no_numbers_give_a_sentence(answer: str) -> None:
    result = judged("ada", SETUP, student_cell("ada"), TASK, answer)
    assert score(result) == 0
    (error,) = [output for output in result.cells[0].outputs if output["output_type"] == "error"]
    assert error["ename"] in {"UsageError", "WrongResult"}
    assert len(error["evalue"].splitlines()) == 1
    assert not any("Traceback" in line for line in error["traceback"])


def test_right_values_are_not_in_the_report() -> None:
    result = judged("ada", SETUP, student_cell("ada"), TASK, "idle = {'blocks': 1}")
    assert f"{numbers('ada')['writing']:,}" not in output_of(result)


@pytest.mark.parametrize(
    "cheat",
    [
        "gpulab.exercises = None",
        "import gpulab.exercises.lab_session as s\ns.STATE.student = 'bob'",
        "gpulab.commit = lambda *a, **k: None",
        "gpulab.start_lab(seed=1)",
    ],
)
def test_changes_in_the_students_process_change_no_verdict(cheat: str) -> None:
    assert score(judged("ada", SETUP, cheat, TASK, typed(numbers("bob")), TEST)) == 0
