"""The start of a student's process: in a sandbox, or without one if the instructor says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import gpulab
from gpulab.grading.judge.records import JudgeTask

__all__ = ["student_starter"]

# The process imports the judge's own gpulab. Isolated mode (-I) ignores the folder of the notebook, the
# user's site-packages and every PYTHON* variable.
_SERVE = (
    "import sys; sys.path.insert(0, {root!r}); from gpulab.grading.judge.student_server import serve; serve()"
)


def student_starter(task: JudgeTask) -> Callable[[], subprocess.Popen[bytes]]:
    """Return the function that starts the student's process of a task."""
    root = str(Path(gpulab.__file__).resolve().parents[1])
    command = [sys.executable, "-I", "-c", _SERVE.format(root=root)]

    def start() -> subprocess.Popen[bytes]:
        folder = Path(tempfile.mkdtemp(prefix="gpulab-submission-"))
        for name, path in task.files.items():
            shutil.copytree(path, folder / name)
        return subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    return start


def _environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "IPYTHONDIR": str(folder / ".ipython"),
        "GPULAB_CACHE": str(folder / ".cache"),
        "GPULAB_GRADING": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "LANG": "C.UTF-8",
    }
