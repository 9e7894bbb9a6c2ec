"""Programs in a sandbox, in each of the two ways in which bubblewrap isolates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpulab.grading.sandbox import bubblewrap
from gpulab.grading.sandbox.sandboxed_process import SandboxedProcess


@dataclass(frozen=True)
class Ended:
    """What a program in a sandbox left behind."""

    output: str
    errors: str
    returncode: int | None
    stopped_by: str


Runner = Callable[..., Ended]


@pytest.fixture(params=["user of its own", "user namespace"])
def isolation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Select how the sandbox is isolated; root can use both ways."""
    if reason := bubblewrap.unavailable_reason():
        pytest.skip(reason)
    if request.param == "user namespace":
        monkeypatch.setattr(bubblewrap, "is_privileged", lambda: False)
    elif not bubblewrap.is_privileged():
        pytest.skip("only root can change to another user")
    return str(request.param)


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "submission"
    folder.mkdir()
    return folder


@pytest.fixture
def run(isolation: str, submission: Path) -> Runner:
    """Run a Python command in a sandbox to its end."""

    def run_command(code: str, *arguments: str, read_only: Sequence[Path] = (), **options: Any) -> Ended:
        with SandboxedProcess(
            ["-c", code, *arguments], folder=submission, read_only=read_only, **options
        ) as process:
            output = process.read().decode()
            return Ended(output, process.errors(), process.returncode, process.stopped_by)

    return run_command
