"""Levels in a real IPython shell: given kernels, the points of each level, and invalid choices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpulab import session
from gpulab.errors import UsageError
from gpulab.grading.release.stub import kernel_stub
from gpulab.notebook import level, magic

STUB = f"%%cuda stencil.opt_1 --block 16 16\n__global__ void block2D_opt_1() {{\n{kernel_stub('it')}\n}}\n"
GIVEN = '{"stencil.opt_1": "given/opt_1.cu"}'
CHECK = "from gpulab.grading.checks import require_correct\n"
TEST = CHECK + "require_correct('stencil.opt_1', points={1: 10, 2: 0})"


@pytest.fixture(autouse=True)
def new_session(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level, "STATE", level.LevelState())
    monkeypatch.setattr(magic, "time_cell", lambda *_: None)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel_cell: Callable[..., str]) -> Path:
    """Make the folder of a lab with a given kernel the current one."""
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "opt_1.cu").write_text("// " + kernel_cell("right"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rechecked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the origins of the cells that are checked again; all of them are correct."""
    from gpulab.grading import checks

    origins: list[str] = []

    def check(cell: Any, device: object, *, whole_launch: bool) -> SimpleNamespace:
        assert whole_launch
        origins.append(cell.origin)
        return SimpleNamespace(correct=True, count_error="")

    monkeypatch.setattr(checks, "recheck_cell", check)
    return origins


def choose(number: object, given: str = GIVEN) -> str:
    return f"from gpulab import choose_level\nchoose_level({number}, given={given})"


@pytest.mark.usefixtures("lab")
class TestGivenKernelCell:
    def test_stub_runs_the_given_file_at_level_2(self, notebook):
        assert notebook.run(choose(2)).error is None
        run = notebook.run(STUB)
        assert run.error is None
        assert "given/opt_1.cu" in run.text
        assert "stencil.opt_1" in run.text
        assert session.cell("stencil.opt_1").header.block == (32, 8, 1)

    def test_stub_is_not_written_at_level_1(self, notebook):
        notebook.run(choose(1))
        assert "not written yet" in notebook.run(STUB).text

    def test_stub_is_not_written_without_a_level(self, notebook):
        assert "not written yet" in notebook.run(STUB).text
        assert "stencil.opt_1" not in session.kernel_names()

    def test_cell_with_own_code_runs_as_it_is(self, notebook, kernel_cell):
        notebook.run(choose(2))
        run = notebook.run(kernel_cell("no halo"))
        assert run.error is not None
        assert "given" not in run.text

    def test_stub_of_a_kernel_that_is_not_given_is_not_written(self, notebook):
        notebook.run(choose(2))
        assert "not written yet" in notebook.run(STUB.replace("opt_1", "opt_2")).text


class TestPoints:
    def test_given_kernel_is_checked_and_earns_0(self, notebook, lab, rechecked):
        notebook.run(choose(2))
        notebook.run(STUB)
        run = notebook.run(TEST)
        assert (run.error, repr(run.result.result)) == (None, "0")
        assert rechecked == ["given/opt_1.cu"]
        assert run.stderr == ""

    def test_given_kernel_is_refused_after_a_change_to_level_1(self, notebook, lab, rechecked):
        notebook.run(choose(2))
        notebook.run(STUB)
        notebook.run(choose(1))
        assert isinstance(notebook.run(TEST).error, UsageError)
        assert rechecked == []

    def test_given_kernel_is_refused_by_a_check_without_levels(self, notebook, lab, rechecked):
        notebook.run(choose(2))
        notebook.run(STUB)
        assert isinstance(notebook.run(CHECK + "require_correct('stencil.opt_1')").error, UsageError)

    def test_given_kernel_earns_0_if_the_level_would_give_points(self, notebook, lab, rechecked):
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
    def test_own_kernel_earns_the_points_of_the_level(
        self, notebook, lab, rechecked, kernel_cell, number, points, value
    ):
        notebook.run(choose(number))
        notebook.run(kernel_cell("right"))
        run = notebook.run(CHECK + f"require_correct('stencil.opt_1', points={points})")
        assert (run.error, repr(run.result.result)) == (None, value)

    def test_stub_that_ran_before_choose_level_must_run_again(self, notebook, lab):
        notebook.run(STUB)
        notebook.run(choose(2))
        run = notebook.run(TEST)
        assert isinstance(run.error, UsageError)
        assert "%%cuda stencil.opt_1" in str(run.error)

    @pytest.mark.parametrize("points", ["{}", "{2: 8}", "{1: 8, 2: 10}", "{1: 'ten'}", "'ten'", "{1: -1}"])
    def test_invalid_points_are_refused(self, notebook, lab, kernel_cell, points):
        notebook.run(kernel_cell("right"))
        run = notebook.run(CHECK + f"require_correct('stencil.opt_1', points={points})")
        assert isinstance(run.error, UsageError)


class TestInvalidChoice:
    @pytest.mark.parametrize("number", ["0", "3", "'2'", "2.0", "True", "None"])
    def test_unknown_level_is_refused_and_level_1_stays(self, notebook, lab, number):
        error = notebook.run(choose(number)).error
        assert isinstance(error, UsageError)
        assert level.current_level() == 1

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
    def test_file_that_is_not_a_source_of_the_kernel_is_refused(self, notebook, lab, given):
        (lab / "lab.ipynb").write_text("{}", encoding="utf-8")
        (lab / "empty.cu").write_text("", encoding="utf-8")
        error = notebook.run(choose(2, given)).error
        assert isinstance(error, UsageError)
        assert level.current_level() == 1

    def test_level_1_ignores_missing_files(self, notebook, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert notebook.run(choose(1)).error is None


def test_choice_is_shown_with_the_given_files(notebook, lab):
    assert "given/opt_1.cu" in repr(notebook.run(choose(2)).result.result)
    assert "given/opt_1.cu" not in repr(notebook.run(choose(1)).result.result)
