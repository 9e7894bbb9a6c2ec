"""Subprocesses of grading: their environment, their time limit, and the error line of their log."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpulab.errors import UsageError

__all__ = ["environment", "last_error", "run_process", "visible_gpus"]

ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
EXCEPTION_LINE = re.compile(r"[\w.]*(Error|Exception|Interrupt)\b")
LOG_PREFIX = re.compile(r"^\[.*?\| ERROR\]\s*")  # start of an error line in nbgrader's log


def environment(work: Path) -> dict[str, str]:
    """Return environment variables with which nbgrader works in an environment that is not activated."""
    scripts = sysconfig.get_path("scripts")
    python_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
        **os.environ,
        # The subprocess runs in another folder, so relative entries would change their meaning.
        "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in python_path if entry),
        # nbgrader calls `alembic` by its bare name; the one of this environment must be found first.
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)]),
        "JUPYTER_PREFER_ENV_PATH": "1",  # prefer this environment's Jupyter kernel to one in the home folder
        "IPYTHONDIR": str(work / "ipython"),  # no start-up files and no history of the instructor
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # keep the debugger from warning on stderr
        "PYTHONUNBUFFERED": "1",
    }


def visible_gpus(device: str | None) -> dict[str, str]:
    """Return the environment variables that make `gpulab.device()` in a notebook open `device`.

    A notebook uses a CUDA GPU if one is visible, so the other GPUs are hidden. None hides nothing.
    """
    if device is None:
        return {}
    kind, _, number = device.partition(":")
    if device == "sim":
        return {"CUDA_VISIBLE_DEVICES": ""}
    if kind == "cuda" and (not number or number.isdecimal()):
        return {"CUDA_VISIBLE_DEVICES": number or "0"}
    raise UsageError(f"submissions cannot be graded on `{device}`; choose from sim, cuda or cuda:N.")


def run_process(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float | None
) -> subprocess.CompletedProcess[str]:
    """Run a command and return its output, with stderr in stdout.

    Unlike `subprocess.run` it also kills all descendants when the time is up: a Jupyter kernel has a session
    of its own and would survive its parent. Raises `subprocess.TimeoutExpired` with the output so far.
    """
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
        output, _ = process.communicate(timeout=timeout_s)
    except BaseException as error:
        kill_tree(process.pid)
        output, _ = process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise subprocess.TimeoutExpired(list(command), timeout_s or 0.0, output=output) from None
        raise
    return subprocess.CompletedProcess(list(command), process.returncode, output)


def kill_tree(pid: int) -> None:
    """Kill a process and its descendants."""
    import psutil  # type: ignore[import-untyped]  # a dependency of ipykernel

    try:
        parent = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return
    tree = [*parent.children(recursive=True), parent]
    for process in tree:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(tree, timeout=5)


def last_error(log: str) -> str:
    """Return the line of nbgrader's log that says why it stopped."""
    lines = [line.strip() for line in ANSI_COLOUR.sub("", log).splitlines() if line.strip()]
    # The line of the last exception is more precise than nbgrader's own "there was an error".
    exceptions = [line for line in lines if EXCEPTION_LINE.match(line)]
    errors = [line for line in lines if "| ERROR]" in line]
    for candidates in (exceptions, errors, lines):
        if candidates:
            return LOG_PREFIX.sub("", candidates[-1])
    return "it ended without any output."
