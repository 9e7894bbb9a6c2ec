"""Cells that run too early, twice, or after a restart: errors without a traceback."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gpulab
from gpulab.errors import CompileError, GpulabError, UsageError
from gpulab.notebook import magic
from tests.ipython_shell import new_shell
from tests.notebook.conftest import CellRun

TEST = "from gpulab.grading.checks import require_correct\nrequire_correct('stencil.opt_1')"


@pytest.fixture(autouse=True)
def new_session(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(magic, "time_cell", lambda *_: None)


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], CellRun]:
    """Run cells in a shell in which `%load_ext gpulab` did not run."""
    monkeypatch.delattr(GpulabError, "_render_traceback_", raising=False)
    shell = new_shell()
    return lambda text: CellRun(shell, text)


@pytest.mark.parametrize(
    "text",
    [
        TEST,
        TEST.replace("')", "', points={1: 10, 2: 0})"),
        (
            "from gpulab.grading.checks import require_speed\n"
            "require_speed('stencil.opt_1', of='copy', steps={0.5: 5})"
        ),
        "from gpulab.grading.checks import require_kernel\nrequire_kernel('axpy', points=1)",
    ],
    ids=["require_correct", "with levels", "require_speed", "require_kernel"],
)
def test_check_in_a_new_session_raises_usage_error_without_traceback(
    unloaded: Callable[[str], CellRun], text: str
) -> None:
    run = unloaded(text)
    assert isinstance(run.error, UsageError)
    assert "Traceback" not in run.stdout
    assert run.stderr == ""


def test_check_before_its_kernel_cell_names_the_cell(notebook):
    error = notebook.run(TEST).error
    assert isinstance(error, UsageError)
    assert "%%cuda stencil.opt_1" in str(error)


def test_missing_kernel_is_a_usage_error_without_traceback(notebook):
    run = notebook.run("import gpulab\ngpulab.kernel('mine')")
    assert isinstance(run.error, UsageError)
    assert "Traceback" not in run.stdout


def test_kernel_is_dropped_when_its_cell_no_longer_compiles(notebook):
    notebook.run("%%cuda mine\n__global__ void mine() { }")
    assert isinstance(notebook.run('%%cuda mine\n#error "no"').error, CompileError)
    error = notebook.run("import gpulab\ngpulab.kernel('mine')").error
    assert isinstance(error, UsageError)
    assert "mine" in str(error)


def test_speedup_table_of_a_new_session_has_the_baseline_alone(notebook):
    run = notebook.run("import gpulab\ngpulab.speedup_table('stencil')")
    assert run.error is None
    shown = repr(run.result.result)
    assert "ships with gpulab" in shown
    assert "opt_1" not in shown


def test_speedup_table_of_an_unknown_problem_has_no_traceback(notebook):
    run = notebook.run("import gpulab\ngpulab.speedup_table('nothing')")
    assert isinstance(run.error, GpulabError)
    assert "Traceback" not in run.stdout


def test_error_before_the_extension_is_loaded_has_no_traceback(unloaded, monkeypatch):
    monkeypatch.delitem(vars(gpulab), "speedup_table", raising=False)  # an earlier test may have used it
    run = unloaded("import gpulab\ngpulab.speedup_table('nothing')")
    assert isinstance(run.error, UsageError)
    assert "Traceback" not in run.stdout


def test_extension_can_be_loaded_twice(notebook, kernel_cell):
    notebook.run("%load_ext gpulab")
    assert notebook.run("%reload_ext gpulab").error is None
    assert notebook.run(TEST).error is not None
