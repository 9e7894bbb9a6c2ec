"""Levels in a real IPython shell: what is given, what is judged, and what no switch of the level earns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpulab import session
from gpulab.errors import CompileError, UsageError
from gpulab.grading.release.stub import kernel_stub
from gpulab.notebook import level, magic

STUB = f"%%cuda stencil.opt_1 --block 16 16\n__global__ void block2D_opt_1() {{\n{kernel_stub('it')}\n}}\n"
GIVEN = '{"stencil.opt_1": "given/opt_1.cu"}'
CHECK = "from gpulab.grading.checks import require_correct\n"
TEST = CHECK + "require_correct('stencil.opt_1', points={1: 10, 2: 0})"


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level, "_SESSION", level._Session())
    monkeypatch.setattr(session, "_CELLS", {})
    monkeypatch.setattr(magic, "_time", lambda *_: None)  # no time is asked for here


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel_cell: Callable[..., str]) -> Path:
    """A lab's folder, the current one, with a given kernel."""
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "opt_1.cu").write_text("// " + kernel_cell("right"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Origins of the texts that test cells judge; all of them are right."""
    from gpulab.grading import checks

    texts: list[str] = []

    def check(cell: Any, device: object) -> SimpleNamespace:
        del device
        texts.append(cell.origin)
        return SimpleNamespace(correct=True)

    monkeypatch.setattr(checks, "check_again", check)
    return texts


def choose(number: object, given: str = GIVEN) -> str:
    return f"from gpulab import choose_level\nchoose_level({number}, given={given})"


@pytest.mark.usefixtures("lab")
class TestTheCellOfAGivenKernel:
    def test_runs_the_given_text_at_level_2_and_says_so(self, notebook):
        assert notebook.run(choose(2)).error is None
        run = notebook.run(STUB)
        assert run.error is None
        assert "Level 2: opt_1 is given; this is given/opt_1.cu." in run.text
        assert "stencil.opt_1 is right" in run.text
        assert session.cell("stencil.opt_1").header.block == (32, 8, 1)

    def test_is_a_stub_at_level_1(self, notebook):
        notebook.run(choose(1))
        assert isinstance(notebook.run(STUB).error, CompileError)

    def test_is_a_stub_where_no_level_was_chosen(self, notebook):
        assert isinstance(notebook.run(STUB).error, CompileError)

    def test_is_its_authors_as_soon_as_there_is_code_in_it(self, notebook, kernel_cell):
        notebook.run(choose(2))
        run = notebook.run(kernel_cell("no halo"))
        assert run.error is not None
        assert "given" not in run.text

    def test_stays_a_stub_where_another_kernel_is_given(self, notebook):
        notebook.run(choose(2))
        assert isinstance(notebook.run(STUB.replace("opt_1", "opt_2")).error, CompileError)


class TestPoints:
    def test_a_given_kernel_is_checked_and_gives_none(self, notebook, lab, judged):
        notebook.run(choose(2))
        notebook.run(STUB)
        run = notebook.run(TEST)
        assert (run.error, repr(run.result.result)) == (None, "0")
        assert judged == ["given/opt_1.cu"]
        assert run.stderr == ""

    def test_a_given_kernel_gives_none_after_a_change_to_level_1(self, notebook, lab, judged):
        notebook.run(choose(2))
        notebook.run(STUB)
        notebook.run(choose(1))
        assert isinstance(notebook.run(TEST).error, UsageError)
        assert judged == []

    def test_a_given_kernel_gives_none_where_the_test_knows_no_levels(self, notebook, lab, judged):
        notebook.run(choose(2))
        notebook.run(STUB)
        assert isinstance(notebook.run(CHECK + "require_correct('stencil.opt_1')").error, UsageError)

    def test_giving_oneself_a_kernel_earns_nothing(self, notebook, lab, judged):
        notebook.run(choose(2))
        notebook.run(STUB)
        run = notebook.run(CHECK + "require_correct('stencil.opt_1', points={1: 10, 2: 8})")
        assert repr(run.result.result) == "0"

    @pytest.mark.parametrize(
        ("number", "points", "value"),
        [
            (1, "{1: 10, 2: 8}", "None"),
            (2, "{1: 10, 2: 8}", "8"),
            (2, "{1: 10, 2: 7.5}", "7.5"),
            (2, "{1: 10, 2: 10}", "None"),
            (2, "{1: 10}", "None"),
            (2, "None", "None"),
            (2, "{1: 10, 2: 0}", "0"),
        ],
    )
    def test_ones_own_kernel_gives_the_levels_points(
        self, notebook, lab, judged, kernel_cell, number, points, value
    ):
        notebook.run(choose(number))
        notebook.run(kernel_cell("right"))
        run = notebook.run(CHECK + f"require_correct('stencil.opt_1', points={points})")
        assert (run.error, repr(run.result.result)) == (None, value)

    def test_a_stub_that_ran_before_the_level_was_chosen_is_to_run_again(self, notebook, lab):
        notebook.run(STUB)
        notebook.run(choose(2))
        run = notebook.run(TEST)
        assert isinstance(run.error, UsageError)
        assert "once more" in str(run.error)

    @pytest.mark.parametrize("points", ["{}", "{2: 8}", "{1: 8, 2: 10}", "{1: 'ten'}", "10", "{1: -1}"])
    def test_points_that_no_cell_can_give_are_refused(self, notebook, lab, kernel_cell, points):
        notebook.run(kernel_cell("right"))
        run = notebook.run(CHECK + f"require_correct('stencil.opt_1', points={points})")
        assert isinstance(run.error, UsageError)


class TestAChoiceThatCannotBe:
    @pytest.mark.parametrize("number", ["0", "3", "'2'", "2.0", "True", "None"])
    def test_there_are_two_levels(self, notebook, lab, number):
        error = notebook.run(choose(number)).error
        assert isinstance(error, UsageError)
        assert level.level() == 1

    @pytest.mark.parametrize(
        "given",
        [
            "['given/opt_1.cu']",
            '{"stencil.opt_1": 1}',
            '{"stencil.opt_1": "given/nothing.cu"}',
            '{"stencil.opt_1": "given"}',
            '{"stencil.opt_1": "lab.ipynb"}',
            '{"stencil.opt_2": "given/opt_1.cu"}',
            '{"stencil.opt_1": "empty.cu"}',
        ],
        ids=["a list", "no path", "no file", "a folder", "a notebook", "another kernel", "no header"],
    )
    def test_what_is_given_is_a_file_of_that_kernel(self, notebook, lab, given):
        (lab / "lab.ipynb").write_text("{}", encoding="utf-8")
        (lab / "empty.cu").write_text("", encoding="utf-8")
        error = notebook.run(choose(2, given)).error
        assert isinstance(error, UsageError)
        assert level.level() == 1

    def test_level_1_needs_no_files(self, notebook, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert notebook.run(choose(1)).error is None


def test_the_choice_says_what_it_means(notebook, lab):
    assert "stencil.opt_1 (given/opt_1.cu)" in repr(notebook.run(choose(2)).result.result)
    assert "Level 1" in repr(notebook.run(choose(1)).result.result)
