"""Cells that run too early, twice, or after a restart say what is missing in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from gpulab import session
from gpulab.errors import CompileError, GpulabError, UsageError
from gpulab.notebook import magic, session_timings
from tests.notebook.conftest import CellRun

TEST = "from gpulab.grading.checks import require_correct\nrequire_correct('stencil.opt_1')"


@pytest.fixture(autouse=True)
def restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has run yet."""
    monkeypatch.setattr(session, "_CELLS", {})
    monkeypatch.setattr(session, "_KERNELS", {})
    monkeypatch.setattr(session_timings, "_TABLES", {})
    monkeypatch.setattr(magic, "_time", lambda *_: None)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], CellRun]]:
    """A shell in which `%load_ext gpulab` did not run."""
    monkeypatch.delattr(GpulabError, "_render_traceback_", raising=False)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    yield lambda text: CellRun(shell, text)
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    "text",
    [
        TEST,
        TEST.replace("')", "', points={1: 10, 2: 0})"),
        (
            "from gpulab.grading.checks import require_speed\n"
            "require_speed('stencil.opt_1', of='copy', steps={0.5: 5})"
        ),
        "from gpulab.grading.checks import graded_numbers\ngraded_numbers(..., {'a': 1}, points=1)",
    ],
    ids=["require_correct", "with levels", "require_speed", "graded_numbers"],
)
def test_a_test_cell_before_everything_else_says_what_is_missing(
    bare: Callable[[str], CellRun], text: str
) -> None:
    run = bare(text)
    assert isinstance(run.error, UsageError)
    assert "Traceback" not in run.stdout
    assert run.stderr == ""


def test_a_test_cell_before_its_kernel_cell_names_it(notebook):
    error = notebook.run(TEST).error
    assert isinstance(error, UsageError)
    assert "%%cuda stencil.opt_1" in str(error)


def test_a_kernel_that_is_asked_for_too_early_is_a_sentence(notebook):
    run = notebook.run("import gpulab\ngpulab.kernel('mine')")
    assert isinstance(run.error, UsageError)
    assert "Traceback" not in run.stdout


def test_a_kernel_whose_text_no_longer_compiles_is_not_the_old_one(notebook):
    notebook.run("%%cuda mine\n__global__ void mine() { }")
    assert isinstance(notebook.run('%%cuda mine\n#error "no"').error, CompileError)
    error = notebook.run("import gpulab\ngpulab.kernel('mine')").error
    assert isinstance(error, UsageError)
    assert "did not compile" in str(error)


def test_an_empty_table_is_a_sentence(notebook):
    run = notebook.run("import gpulab\ngpulab.speedup_table('stencil')")
    assert "run its kernel cells" in repr(run.result.result)


def test_a_table_of_an_unknown_problem_has_no_traceback(notebook):
    run = notebook.run("import gpulab\ngpulab.speedup_table('nothing')")
    assert isinstance(run.error, GpulabError)
    assert "Traceback" not in run.stdout


def test_loading_twice_changes_nothing(notebook, kernel_cell):
    notebook.run("%load_ext gpulab")
    assert notebook.run("%reload_ext gpulab").error is None
    assert notebook.run(TEST).error is not None
