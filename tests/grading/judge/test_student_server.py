"""The process in the sandbox: outputs of a student's Python cells."""

from __future__ import annotations

import pytest

from gpulab.grading.judge.student_server import answer
from gpulab.notebook.recording_shell import RecordingShell, open_shell


@pytest.fixture
def shell() -> RecordingShell:
    return open_shell()


def test_cell_that_exceeds_its_time_names_its_line_without_a_traceback(shell: RecordingShell) -> None:
    reply = answer(shell, {"do": "run", "source": "x = 1\nwhile True: x += 1", "limit_s": 0.3})
    assert not reply["succeeded"]
    (output,) = reply["outputs"]
    assert output["traceback"] == [
        "CellTimeout: interrupted after 0.3 s",
        "  at line 2 of the Python cell: while True: x += 1",
    ]
