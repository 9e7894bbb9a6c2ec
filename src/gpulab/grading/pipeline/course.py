"""The folders of a course, as its nbgrader_config.py names them, and calls of nbgrader on them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.errors import GpulabError, UsageError
from gpulab.grading.pipeline.processes import environment, last_error, run_process, visible_gpus

__all__ = ["CONFIG_NAME", "Course", "GradingError", "NbgraderRun", "find_course", "open_course"]

CONFIG_NAME = "nbgrader_config.py"
STEPS = ("release", "submitted", "autograded", "feedback")  # nbgrader's folders below the work folder


class GradingError(GpulabError):
    """A step of nbgrader failed; the message names the step and the reason."""


@dataclass(frozen=True)
class NbgraderRun:
    """The outcome of one nbgrader command. log: its output. error: one line, empty if it succeeded."""

    log: str
    error: str = ""

    @property
    def ok(self) -> bool:
        return not self.error


@dataclass(frozen=True)
class Course:
    """The folders of one course.

    work: holds logs, inspections and reports. options: settings that differ from the configuration file, as
    nbgrader's command-line options. device: where submissions run, "sim" or "cuda:N"; None selects a CUDA
    GPU if one is available, else the simulator.
    """

    config_file: Path
    root: Path
    source: Path
    release: Path
    submitted: Path
    autograded: Path
    feedback: Path
    database: Path
    work: Path
    options: tuple[str, ...] = ()
    device: str | None = None

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.database}"

    @property
    def config_folder(self) -> Path:
        """The instructor's folder, with the configuration, the rubric and the sample class."""
        return self.config_file.parent

    def assignments(self) -> list[str]:
        """Return the names of the assignments that have a notebook, sorted."""
        return sorted({path.parent.name for path in self.source.glob("*/*.ipynb")})

    def students(self, assignment: str) -> list[str]:
        """Return the students with a submission for this assignment, sorted."""
        return sorted(path.parent.parent.name for path in self.submitted.glob(f"*/{assignment}/*.ipynb"))

    def select(self, assignment: str | None, *, among: Sequence[str], otherwise: str) -> list[str]:
        """Return the assignment in a list, or all of `among` if `assignment` is None.

        Raises `UsageError` for an assignment that is not in `among`, and with the message `otherwise` if
        `among` is empty.
        """
        if not among:
            raise UsageError(otherwise)
        if assignment is None:
            return list(among)
        name = Path(assignment).name
        if name not in among:
            raise UsageError(f"there is no assignment `{assignment}`; choose from {', '.join(among)}.")
        return [name]

    def environment(self) -> dict[str, str]:
        """Return the environment variables of nbgrader and of the Jupyter kernels that it starts."""
        return environment(self.work) | visible_gpus(self.device)

    def nbgrader(
        self, step: str, assignment: str, *extra: str, timeout_s: float | None = None
    ) -> NbgraderRun:
        """Run one nbgrader command in a process of its own.

        timeout_s: seconds after which the process and its descendants are killed; None waits for the end.
        """
        command = [sys.executable, "-m", "nbgrader", step, assignment, *self.options, *extra]
        self.work.mkdir(parents=True, exist_ok=True)
        try:
            # nbgrader reads the nbgrader_config.py of the current folder.
            done = run_process(command, cwd=self.config_folder, env=self.environment(), timeout_s=timeout_s)
        except subprocess.TimeoutExpired as late:
            return NbgraderRun(late.output or "", f"it was still running after {timeout_s:.0f} s.")
        return NbgraderRun(done.stdout, last_error(done.stdout) if done.returncode else "")


def find_course(start: Path | None = None) -> Path:
    """Return the nearest grading/nbgrader_config.py or nbgrader_config.py, from `start` upwards."""
    folder = (start or Path.cwd()).resolve()
    for parent in (folder, *folder.parents):
        for candidate in (parent / "grading" / CONFIG_NAME, parent / CONFIG_NAME):
            if candidate.is_file():
                return candidate
    raise UsageError(
        f"there is no grading/{CONFIG_NAME} in {folder} or a folder above it: run the command in the folder "
        "of the course, or name it with --course FOLDER."
    )


def open_course(config_file: Path, work: Path | None = None) -> Course:
    """Read the configuration of a course as nbgrader does.

    work: a folder for all files that grading creates, in place of the folders of the configuration.
    """
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config.loader import PyFileConfigLoader

    config_file = config_file.resolve()
    try:
        config: Any = PyFileConfigLoader(config_file.name, path=str(config_file.parent)).load_config()
    except Exception as error:  # noqa: BLE001  (the configuration is Python and may raise anything)
        raise UsageError(f"{config_file} cannot be read: {type(error).__name__}: {error}") from None

    options: dict[str, str] = {}
    root = Path(str(config.CourseDirectory.get("root") or config_file.parent)).resolve()
    if work is not None:
        work = work.resolve()
        base = work.relative_to(root) if work.is_relative_to(root) else work
        options = {f"{step}_directory": str(base / step) for step in STEPS}
        options["db_url"] = f"sqlite:///{work / 'gradebook.db'}"
        config.CourseDirectory.update(options)
    config.CourseDirectory.root = str(root)
    folders = CourseDirectory(config=config)
    if not folders.db_url.startswith("sqlite:///"):
        raise UsageError(f"{config_file}: only SQLite gradebooks are supported, not {folders.db_url}.")

    database = Path(folders.db_url.removeprefix("sqlite:///"))
    return Course(
        config_file=config_file,
        root=root,
        source=root / folders.source_directory,
        release=root / folders.release_directory,
        submitted=root / folders.submitted_directory,
        autograded=root / folders.autograded_directory,
        feedback=root / folders.feedback_directory,
        database=database,
        work=work or database.parent,
        options=tuple(f"--CourseDirectory.{name}={value}" for name, value in options.items()),
    )
