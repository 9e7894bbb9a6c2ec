"""Programs in a sandbox, by each mechanism that this machine permits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpulab.grading.sandbox.mechanisms import VARIABLE, Mechanism, mechanisms, trial_error
from gpulab.grading.sandbox.sandboxed_process import SandboxedProcess

NAMES = ("bubblewrap-as-user", "bubblewrap", "landlock-as-user", "landlock")
trial_error = cache(trial_error)


@dataclass(frozen=True)
class Ended:
    """What a program in a sandbox left behind."""

    output: str
    errors: str
    returncode: int | None
    stopped_by: str


Runner = Callable[..., Ended]


@pytest.fixture(params=NAMES)
def mechanism(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mechanism:
    """Select a mechanism of this machine."""
    # The system's bubblewrap comes before the one of a package.
    selected = next(
        (each for each in mechanisms() if each.name.removeprefix("bundled-") == request.param), None
    )
    if selected is None:
        pytest.skip(f"this machine has no {request.param}")
    if error := trial_error(selected):
        pytest.skip(f"{request.param} does not start: {error}")
    monkeypatch.setenv(VARIABLE, selected.name)
    return selected


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "submission"
    folder.mkdir()
    return folder


@pytest.fixture
def run(mechanism: Mechanism, submission: Path) -> Runner:
    """Run a Python command in a sandbox to its end."""

    def run_command(code: str, *arguments: str, read_only: Sequence[Path] = (), **options: Any) -> Ended:
        with SandboxedProcess(
            ["-c", code, *arguments], folder=submission, read_only=read_only, **options
        ) as process:
            output = process.read().decode()
            return Ended(output, process.errors(), process.returncode, process.stopped_by)

    return run_command
