"""Static reading of cells: points of checks, the value of a cell, and the chosen level."""

from __future__ import annotations

import pytest

from gpulab.errors import UsageError
from gpulab.grading.pipeline.notebook_source import (
    LevelChoice,
    check_calls,
    ends_with_check,
    last_level_choice,
    stated_points,
)

IMPORT = "from gpulab.grading.checks import require_correct\n\n"
FILES = {"stencil.opt_1": "given/opt_1.cu"}
GIVEN = f"given={FILES!r}"


@pytest.mark.parametrize(
    ("source", "variant", "points"),
    [
        ("require_correct('stencil.opt_1')", "stencil.opt_1", {}),
        ("require_correct('stencil.opt_1', points={1: 10, 2: 0})", "stencil.opt_1", {1: 10, 2: 0}),
        ("require_correct('stencil.opt_1', {1: 10})  # again", "stencil.opt_1", {1: 10}),
        ("require_correct('stencil.opt_1', 10, next='opt_2')", "stencil.opt_1", {1: 10}),
        ("gpulab.commit('stencil.idle', globals().get('idle'), points=5, next='opt_1')", "", {1: 5}),
        ("gpulab.commit('stencil.idle', idle)", "", {}),
        ("award('axpy', points=4)", "", {1: 4}),
        ("award('axpy', 4)", "", {1: 4}),
        ("checks.require_speed('a.b', of='copy', steps={0.5: 5, 0.7: 10})", "a.b", {1: 10}),
        ("require_kernel('axpy', points=6)", "axpy", {1: 6}),
    ],
)
def test_check_call_is_parsed(source: str, variant: str, points: dict[int, float]) -> None:
    (call,) = check_calls(IMPORT + source, "cell 1")
    assert (call.variant, dict(call.points)) == (variant, points)


def test_points_that_are_not_constants_are_refused() -> None:
    with pytest.raises(UsageError, match="cell 1"):
        check_calls("require_correct('stencil.opt_1', points=POINTS)", "cell 1")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("require_correct('a', points={1: 2})", True),
        ("require_correct('a', points={1: 2})  # a comment; with a semicolon", True),
        ("require_correct(\n    'ä', points={1: 2}\n)\n", True),
        ("require_correct('a', points={1: 2});", False),
        ("require_correct('ä', points={1: 2}) ;", False),
        ("require_correct('a', points={1: 2})\nprint()", False),
        ("value = require_correct('a', points={1: 2})", False),
        ("print(require_correct('a', points={1: 2}))", False),
        ("", False),
    ],
)
def test_ends_with_check(source: str, expected: bool) -> None:
    assert ends_with_check(source) is expected


@pytest.mark.parametrize(
    ("sources", "choice"),
    [
        ([f"gpulab.choose_level(2, {GIVEN})"], LevelChoice(2, FILES)),
        ([f"LEVEL = 2\ngpulab.choose_level(LEVEL, {GIVEN})"], LevelChoice(2, FILES)),
        (["LEVEL = 2", f"choose_level(LEVEL, {GIVEN})"], LevelChoice(2, FILES)),
        (["LEVEL = 1", f"%load_ext gpulab\nchoose_level(LEVEL, {GIVEN})"], LevelChoice(1, FILES)),
        (["choose_level(2)", "choose_level(1)"], LevelChoice(1)),
        (["choose_level(level=2)"], LevelChoice(2)),
        (["choose_level(int(input()))"], LevelChoice(None)),
        (["choose_level(2)", "not python here"], LevelChoice(2)),
        (["%%cuda stencil.opt_1\nchoose_level(2)"], None),
        (["x = 1"], None),
        ([], None),
    ],
)
def test_last_level_choice(sources: list[str], choice: LevelChoice | None) -> None:
    assert last_level_choice(sources) == choice


@pytest.mark.parametrize(
    ("sources", "points"),
    [
        (["%load_ext gpulab\nimport gpulab\n\ngpulab.start_lab(seed=2026, points=50)"], 50),
        (["start_lab(seed=1, points=5)", "start_lab(seed=1, points=7.5)"], 7.5),
        (["gpulab.start_lab(seed=2026)"], None),
        (["gpulab.start_lab(seed=2026, points={1: 68, 2: 54})"], 68),
        (["x = 1"], None),
    ],
)
def test_stated_points(sources: list[str], points: float | None) -> None:
    assert stated_points(sources) == points
