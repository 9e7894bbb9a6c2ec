"""Work that is done when the extension is loaded, before the first kernel cell."""

from __future__ import annotations

import threading

import pytest

from gpulab.compiler import nvrtc
from gpulab.errors import GpulabError
from gpulab.notebook import load, screen, warm_up
from tests.notebook.conftest import Notebook


def test_warm_up_runs_to_its_end() -> None:
    warm_up.warm_up()


def test_warm_up_without_a_compiler_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise GpulabError("the compiler NVRTC is not installed.")

    monkeypatch.setattr(nvrtc, "compile_text", missing)
    failures: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    followed: list[bool] = []
    warm_up.start(then=lambda: followed.append(True)).join()
    assert failures == []
    assert followed == []


def test_work_that_needs_a_warm_process_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(warm_up, "warm_up", lambda: done.append("warm"))
    warm_up.start(then=lambda: done.append("then")).join()
    assert done == ["warm", "then"]


@pytest.mark.parametrize(
    ("in_notebook", "grading", "starts"), [(True, "", True), (False, "", False), (True, "1", False)]
)
def test_only_a_notebook_that_is_not_graded_warms_up(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, in_notebook: bool, grading: str, starts: bool
) -> None:
    started: list[bool] = []
    monkeypatch.setattr(warm_up, "start", lambda then: started.append(True))
    monkeypatch.setattr(screen, "is_notebook", lambda shell: in_notebook)
    monkeypatch.setenv("GPULAB_GRADING", grading)
    load(notebook.shell)
    assert bool(started) == starts
