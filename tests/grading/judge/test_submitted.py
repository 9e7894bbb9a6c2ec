"""Texts of a submitted notebook, and the choice of the cells that run."""

from __future__ import annotations

import json

import pytest

from gpulab.errors import UsageError
from gpulab.grading.judge.plan import NotebookPlan, PlanCell
from gpulab.grading.judge.submitted import (
    SubmittedCell,
    cells_to_run,
    function_text,
    leaderboard_name,
    read_submission,
    typed_student_id,
)

SETUP = "%load_ext gpulab\nimport gpulab"
HELPERS = "def helper():\n    return 2"
PLOT = "import gpulab\ngpulab.explore('stencil.opt_1')"
TEST = "assert answer == 2"
PLAN = NotebookPlan(
    "lab",
    (
        PlanCell("setup", "setup", SETUP),
        PlanCell("other", "", HELPERS),
        PlanCell("other", "", PLOT),
        PlanCell("answers", "answer", "answer = helper()", names=("answer",)),
        PlanCell("test", "answer_test", TEST, points=2.0),
    ),
)


def chosen(*sources: str) -> list[str]:
    cells = [SubmittedCell(source) for source in sources]
    return [cells[index].source for index in sorted(cells_to_run(cells, PLAN))]


def test_unchanged_cell_without_a_needed_name_does_not_run() -> None:
    assert chosen(SETUP, PLOT, "answer = 2", TEST) == [SETUP, "answer = 2"]


def test_unchanged_cell_that_defines_a_needed_name_runs() -> None:
    assert chosen(SETUP, HELPERS, PLOT, "answer = helper()") == [SETUP, HELPERS, "answer = helper()"]


def test_unchanged_cell_does_not_run_for_an_import_of_the_setup_cell() -> None:
    own = "answer = gpulab.gpu('h200')"
    assert chosen(SETUP, PLOT, own) == [SETUP, own]
    assert chosen(PLOT, own) == [PLOT, own]  # the setup cell was deleted


def test_changed_cell_runs() -> None:
    assert chosen(PLOT + "  # changed") == [PLOT + "  # changed"]


def test_test_cell_does_not_run_under_any_text() -> None:
    assert cells_to_run([SubmittedCell("answer = 2", "answer_test")], PLAN) == frozenset()


def notebook(*cells: object) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_source_may_be_a_list_of_lines() -> None:
    text = notebook({"cell_type": "code", "source": ["a = 1\n", "b = 2"], "metadata": {}})
    assert read_submission(text) == (SubmittedCell("a = 1\nb = 2"),)


@pytest.mark.parametrize(
    "cell", [None, 3, {}, {"cell_type": "markdown", "source": "x"}, {"cell_type": ["code"], "source": "x"}]
)
def test_other_cells_are_left_out(cell: object) -> None:
    assert read_submission(notebook(cell)) == ()


@pytest.mark.parametrize("marks", [3, [], {"grade_id": 7}, {"grade_id": None}])
def test_metadata_of_any_form_is_read(marks: object) -> None:
    cell = {"cell_type": "code", "source": "x", "metadata": {"nbgrader": marks}}
    assert read_submission(notebook(cell)) == (SubmittedCell("x"),)


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", "[" * 100_000, '{"cells": 3}'])
def test_text_that_is_not_a_notebook_raises(text: str) -> None:
    with pytest.raises(UsageError):
        read_submission(text)


def test_large_notebook_raises() -> None:
    with pytest.raises(UsageError, match="50 MB"):
        read_submission(" " * (50 << 20) + "{}    ")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("LEADERBOARD_NAME = 'Owl'", "Owl"),
        ("LEADERBOARD_NAME = None", None),
        ("LEADERBOARD_NAME = input()", None),
        ("LEADERBOARD_NAME = 'x' * 99", None),
        ("other = 1", None),
        (r"LEADERBOARD_NAME = '\u202eOwl\u2066 \x1b[31m\n of\ud800 Athens '", "Owl [31m of Athens"),
        (r"LEADERBOARD_NAME = '\u200b\n'", None),
    ],
)
def test_leaderboard_name_is_a_constant(source: str, name: str | None) -> None:
    assert leaderboard_name([SubmittedCell(source)]) == name


def test_leaderboard_name_is_cut() -> None:
    assert leaderboard_name([SubmittedCell(f"LEADERBOARD_NAME = '{'x' * 99}'")]) == "x" * 40


@pytest.mark.parametrize(
    ("sources", "student_id"),
    [
        (['gpulab.student("ada")  # your id'], "ada"),
        (["import gpulab\n\ngpulab.student(' ada ')"], "ada"),
        (["gpulab.student('bob')", "gpulab.student('ada')"], "ada"),
        (['gpulab.student("")'], ""),
        ([r'gpulab.student("a\udfffb\u202e\n")'], "a b"),
        (["gpulab.student(name)"], ""),
        (["gpulab.student()"], ""),
        (["mine.student('bob')", "student('bob')"], ""),
        (["gpulab.student('bob'"], ""),
        ([], ""),
    ],
)
def test_typed_student_id_is_the_last_constant(sources: list[str], student_id: str) -> None:
    assert typed_student_id(list(map(SubmittedCell, sources))) == student_id


@pytest.mark.parametrize("number", [f"0x{'F' * 5000}", "1e999"])
def test_text_of_a_function_leaves_out_constants_without_a_literal(number: str) -> None:
    cells = [f"LARGE = {number}", "SIDE = 32", "def f():\n    return SIDE"]
    text = function_text(list(map(SubmittedCell, cells)), "f")
    assert text == "SIDE = 32\ndef f():\n    return SIDE"
