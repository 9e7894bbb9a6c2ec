"""Where a course's files are, and how nbgrader is called on them without activating anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.errors import GpulabError, UsageError

__all__ = ["CONFIG_NAME", "Answer", "Course", "GradingError", "find_course", "open_course"]

CONFIG_NAME = "nbgrader_config.py"
STEPS = ("release", "submitted", "autograded", "feedback")


class GradingError(GpulabError):
    """A step of grading did not go through; the message says which and what to do."""


@dataclass(frozen=True)
class Answer:
    """How one call of nbgrader ended. `log` is everything it said."""

    ok: bool
    log: str
    why: str = ""  # one line for a person, "" when ok


@dataclass(frozen=True)
class Course:
    """The folders of one course, as its nbgrader_config.py names them.

    work holds logs and what gpulab itself makes; `options` are the settings that differ from the
    configuration file (another work folder), as nbgrader's own command-line options. device: where
    submissions run, "sim" or "cuda:N"; None for a CUDA GPU when one answers, else the simulator.
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
    def desk(self) -> Path:
        """The instructor's folder: the configuration, the rubric, the sample class."""
        return self.config_file.parent

    def assignments(self) -> list[str]:
        """Labs that have a notebook, in order of their names."""
        return sorted({path.parent.name for path in self.source.glob("*/*.ipynb")})

    def students(self, assignment: str) -> list[str]:
        """Who handed in something for this assignment, in order of their names."""
        return sorted(path.parent.parent.name for path in self.submitted.glob(f"*/{assignment}/*.ipynb"))

    def pick(self, assignment: str | None, *, among: Sequence[str], what: str) -> list[str]:
        """The named assignment, or all of `among`; `UsageError` when there is no such thing."""
        if not among:
            raise UsageError(f"there is {what} in {self.source}.")
        if assignment is None:
            return list(among)
        name = Path(assignment).name
        if name not in among:
            raise UsageError(f"there is no assignment `{assignment}` here; there is: {', '.join(among)}.")
        return [name]

    def environment(self) -> dict[str, str]:
        """The variables that nbgrader and the kernels it starts are given."""
        return environment(self.work) | visible_gpus(self.device)

    def nbgrader(self, step: str, assignment: str, *extra: str, limit_s: float | None = None) -> Answer:
        """Run one nbgrader command in a process of its own and wait for its end.

        limit_s: after so many seconds the process and all it started are ended.
        """
        command = [sys.executable, "-m", "nbgrader", step, assignment]
        command += [*self.options, *extra]
        self.work.mkdir(parents=True, exist_ok=True)
        try:
            # nbgrader reads the nbgrader_config.py of the folder it is called in.
            done = run_to_the_end(command, cwd=self.desk, env=self.environment(), limit_s=limit_s)
        except subprocess.TimeoutExpired as late:
            said = late.output or ""
            return Answer(False, said, f"it was still running after {limit_s:.0f} s and was ended.")
        ok = done.returncode == 0
        return Answer(ok, done.stdout, "" if ok else last_error(done.stdout))


def find_course(start: Path | None = None) -> Path:
    """The nearest grading/nbgrader_config.py, or nbgrader_config.py, in this folder or above it."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        for candidate in (folder / "grading" / CONFIG_NAME, folder / CONFIG_NAME):
            if candidate.is_file():
                return candidate
    raise UsageError(
        f"no grading/{CONFIG_NAME} here or in a folder above: call this in the course's folder, "
        "or say where it is with --course FOLDER."
    )


def open_course(config_file: Path, work: Path | None = None) -> Course:
    """Read a course's configuration as nbgrader does; with `work`, everything made goes there instead."""
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config.loader import PyFileConfigLoader

    config_file = config_file.resolve()
    try:
        config: Any = PyFileConfigLoader(config_file.name, path=str(config_file.parent)).load_config()
    except Exception as broken:  # noqa: BLE001  (whatever an instructor's Python file raises)
        raise UsageError(f"{config_file} cannot be read: {type(broken).__name__}: {broken}") from None
    options: dict[str, str] = {}
    root = Path(str(config.CourseDirectory.get("root") or config_file.parent)).resolve()
    if work is not None:
        work = work.resolve()
        inside = work.relative_to(root) if work.is_relative_to(root) else work
        options = {f"{step}_directory": str(inside / step) for step in STEPS}
        options["db_url"] = f"sqlite:///{work / 'gradebook.db'}"
        config.CourseDirectory.update(options)
    config.CourseDirectory.root = str(root)
    folders = CourseDirectory(config=config)
    if not folders.db_url.startswith("sqlite:///"):
        raise UsageError(f"{config_file}: gpulab reads SQLite gradebooks only, not {folders.db_url}.")
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


def visible_gpus(device: str | None) -> dict[str, str]:
    """What makes a notebook's own choice of a device come out as `device`.

    A notebook takes a GPU when one answers, so the GPUs that must not be taken are hidden.
    """
    if device is None:
        return {}
    kind, _, number = device.partition(":")
    if device == "sim":
        return {"CUDA_VISIBLE_DEVICES": ""}
    if kind == "cuda" and (not number or number.isdecimal()):
        return {"CUDA_VISIBLE_DEVICES": number or "0"}
    raise UsageError(f"a class cannot be graded on `{device}`; it can on: sim, cuda, cuda:NUMBER.")


def environment(work: Path) -> dict[str, str]:
    """The variables of the process at hand, changed so that nbgrader works without activating anything."""
    scripts = sysconfig.get_path("scripts")
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
        **os.environ,
        # Another folder is the current one there, so nothing may be relative to this one.
        "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in own if entry),
        # nbgrader calls `alembic` by its bare name: this environment's must be the one found.
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)]),
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's kernel before one in the user's home
        "IPYTHONDIR": str(work / "ipython"),  # no start-up files and no history of the instructor's own
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # or the debugger warns on stderr
        "PYTHONUNBUFFERED": "1",
    }


def run_to_the_end(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], limit_s: float | None
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run` that also ends grandchildren when time is up: kernels have sessions of their own."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        said, _ = process.communicate(timeout=limit_s)
    except BaseException as stopped:
        end_tree(process.pid)
        said, _ = process.communicate()
        if isinstance(stopped, subprocess.TimeoutExpired):
            raise subprocess.TimeoutExpired(list(command), limit_s or 0.0, output=said) from None
        raise
    return subprocess.CompletedProcess(list(command), process.returncode, said)


def end_tree(pid: int) -> None:
    """End a process and everything it started."""
    import psutil  # type: ignore[import-untyped]  # ipykernel brings it

    try:
        parent = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return
    family = [*parent.children(recursive=True), parent]
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(family, timeout=5)


def last_error(log: str) -> str:
    """The line of nbgrader's log that says why it stopped."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", log)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    # The last exception's own line says more than nbgrader's "there was an error".
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    errors = [line for line in lines if "| ERROR]" in line]
    for found in (raised, errors, lines):
        if found:
            return re.sub(r"^\[.*?\| ERROR\]\s*", "", found[-1])
    return "it ended without a word."
