"""What the texts of a notebook say: points of test cells, and the level that was chosen."""

from __future__ import annotations

import pytest

from gpulab.errors import UsageError
from gpulab.grading.pipeline.declared import Choice, calls_in, choice_in, hides_its_value

IMPORT = "from gpulab.grading.checks import require_correct\n\n"
FILES = {"stencil.opt_1": "given/opt_1.cu"}
GIVEN = f"given={FILES!r}"


@pytest.mark.parametrize(
    ("text", "variant", "points"),
    [
        ("require_correct('stencil.opt_1')", "stencil.opt_1", {}),
        ("require_correct('stencil.opt_1', points={1: 10, 2: 0})", "stencil.opt_1", {1: 10, 2: 0}),
        ("require_correct('stencil.opt_1', {1: 10})  # again", "stencil.opt_1", {1: 10}),
        ("checks.require_speed('a.b', of='copy', steps={0.5: 5, 0.7: 10})", "a.b", {1: 10}),
        ("graded_numbers(answers, {'a': 1}, points=6, within=0.1)", "", {1: 6}),
    ],
)
def test_a_call_is_read_from_its_text(text: str, variant: str, points: dict[int, float]) -> None:
    (call,) = calls_in(IMPORT + text, "here")
    assert (call.variant, dict(call.points)) == (variant, points)


def test_points_that_are_not_written_as_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="here"):
        calls_in("require_correct('stencil.opt_1', points=POINTS)", "here")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("require_correct('a', points={1: 2})", False),
        ("require_correct('a', points={1: 2})  # a comment; with a semicolon", False),
        ("require_correct(\n    'ä', points={1: 2}\n)\n", False),
        ("require_correct('a', points={1: 2});", True),
        ("require_correct('ä', points={1: 2}) ;", True),
        ("require_correct('a', points={1: 2})\nprint()", True),
        ("value = require_correct('a', points={1: 2})", True),
        ("print(require_correct('a', points={1: 2}))", True),
        ("", True),
    ],
)
def test_a_value_that_ends_the_cell_is_told_from_one_that_does_not(text: str, hidden: bool) -> None:
    assert hides_its_value(text) is hidden


@pytest.mark.parametrize(
    ("cells", "choice"),
    [
        ([f"gpulab.choose_level(2, {GIVEN})"], Choice(2, FILES)),
        ([f"LEVEL = 2\ngpulab.choose_level(LEVEL, {GIVEN})"], Choice(2, FILES)),
        (["LEVEL = 2", f"choose_level(LEVEL, {GIVEN})"], Choice(2, FILES)),
        (["LEVEL = 1", f"%load_ext gpulab\nchoose_level(LEVEL, {GIVEN})"], Choice(1, FILES)),
        (["choose_level(2)", "choose_level(1)"], Choice(1)),
        (["choose_level(level=2)"], Choice(2)),
        (["choose_level(int(input()))"], Choice(None)),
        (["choose_level(2)", "this is no python"], Choice(2)),
        (["%%cuda stencil.opt_1\nchoose_level(2)"], None),
        (["x = 1"], None),
        ([], None),
    ],
)
def test_the_level_is_that_of_the_last_choice(cells: list[str], choice: Choice | None) -> None:
    assert choice_in(cells) == choice
