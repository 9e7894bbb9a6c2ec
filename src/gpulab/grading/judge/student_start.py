"""The start of a student's process: in a sandbox, or without one if the instructor disables it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from gpulab.grading.judge.records import JudgeTask
from gpulab.grading.sandbox.resource_limits import ONE_THREAD, ResourceLimits
from gpulab.grading.sandbox.sandboxed_process import LimitedProcess, SandboxedProcess
from gpulab.grading.sandbox.sandboxed_program import package_folder

__all__ = ["student_starter"]

SERVER = "gpulab.grading.judge.student_server"
GRADED = {"GPULAB_GRADING": "1"}  # `%%cuda` stores a cell and leaves its check to the judge
LIMITS = ResourceLimits(wall_s=150.0, cpu_s=150.0)  # for all cells of a notebook together

# Isolated mode (-I) ignores the folder of the notebook, the user's packages and every PYTHON* variable, so
# the folders that the judge imports from are passed.
_SERVE = f"import sys; sys.path[:0] = sys.argv[1:]; from {SERVER} import serve; serve()"


def student_starter(task: JudgeTask, scratch: Path) -> Callable[[], LimitedProcess]:
    """Return the function that starts the student's process of a task.

    scratch: an empty folder. Besides its own files, the process finds only the release's.
    """
    release = [Path(path) for path in task.files.values()]

    def start() -> LimitedProcess:
        if task.sandboxed:
            return SandboxedProcess(
                ["-m", SERVER], folder=scratch, read_only=release, limits=LIMITS, environment=GRADED
            )
        folder = scratch / "submission"
        if not folder.is_dir():
            folder.mkdir()
            for path in release:
                copy = shutil.copytree if path.is_dir() else shutil.copy2
                copy(path, folder / path.name)
        imported = [path for path in sys.path if Path(path).is_dir() and Path(path) != Path.cwd()]
        home = {name: str(folder) for name in ("HOME", "TMPDIR", "IPYTHONDIR", "GPULAB_CACHE")}
        shown = {"PATH": os.defpath, "LANG": "C.UTF-8", "CUDA_VISIBLE_DEVICES": ""}
        return LimitedProcess(
            [sys.executable, "-I", "-c", _SERVE, str(package_folder().parent), *imported],
            limits=LIMITS,
            environment={**GRADED, **ONE_THREAD, **home, **shown},
            folder=folder,
        )

    return start
