"""`gpulab start`, the command of README, `make lab` and Binder that copies the labs without solutions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="the labs are nbgrader notebooks")

from gpulab.cli import main
from tests.test_documentation import ROOT, commands

pytestmark = pytest.mark.slow

LABS = {path.name for path in (ROOT / "labs").iterdir() if path.is_dir()}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files of the repository that the command reads."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("labs", "grading"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("work", "__pycache__"))
    shutil.copy(ROOT / "postBuild", copy)
    return copy


@pytest.fixture(scope="module")
def built(checkout: Path) -> Path:
    """The folder that JupyterLab opens after Binder has run postBuild in a checkout."""
    prefix = checkout / "environment"
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    subprocess.run(
        ["./postBuild"],
        cwd=checkout,
        env=os.environ | {"NB_PYTHON_PREFIX": str(prefix), "PATH": path},
        check=True,
    )
    (settings,) = prefix.glob("etc/jupyter/*.json")
    return Path(json.loads(settings.read_text(encoding="utf-8"))["ServerApp"]["root_dir"])


def notebooks(folder: Path) -> Iterator[str]:
    yield from (path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.ipynb")))


def test_binder_opens_all_labs_without_solutions(built: Path) -> None:
    assert {path.parent.name for path in built.rglob("*.ipynb")} == LABS
    assert not any("SOLUTION" in text for text in notebooks(built))


def test_binder_leaves_release_and_gradebook_of_the_course_alone(checkout: Path, built: Path) -> None:
    assert built.is_dir()
    assert list((checkout / "grading" / "work").iterdir()) == []


def test_copy_has_all_files_that_the_lab_offers(built: Path) -> None:
    assert (built / "01_stencil" / "given" / "opt_1.cu").is_file()
    assert list(built.glob("03_puzzles/figures/*.svg"))
    assert not list(built.rglob("__pycache__"))


def test_second_call_adds_missing_files_and_keeps_the_others(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["start", "01_stencil", "--course", str(checkout)]
    assert main(call) == 0
    notebook, given = (tmp_path / "my-labs/01_stencil" / name for name in ("stencil.ipynb", "given/opt_1.cu"))
    assert str(notebook.relative_to(tmp_path)) in capsys.readouterr().out
    notebook.write_text("typed", encoding="utf-8")
    given.unlink()  # copies of earlier versions do not have it
    assert main(call) == 0
    assert notebook.read_text(encoding="utf-8") == "typed"
    assert given.is_file()


def test_copy_over_the_solutions_is_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", "--course", str(checkout), "--folder", str(checkout / "labs")]) == 2
    assert "solutions" in capsys.readouterr().err


def test_readme_opens_jupyterlab_in_the_copy_only() -> None:
    opened = commands(ROOT / "README.md", "jupyter lab")
    assert opened
    assert all("my-labs" in line for line in opened)
