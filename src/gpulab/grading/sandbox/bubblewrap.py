"""The command line of bubblewrap that isolates a student's Python process.

The process has no network, sees no process but its own, and finds only these files: system libraries and the
Python environment, `gpulab`, the entries of one folder as `/submission`, and empty file systems in memory.
All but the last are read-only.

An ordinary user gets the isolation from a user namespace. For root, the launcher changes to a user that no
other process has, because the kernel does not limit the number of processes of root.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

import gpulab
from gpulab.grading.sandbox import launcher
from gpulab.grading.sandbox.resource_limits import ONE_THREAD, ResourceLimits

__all__ = ["SUBMISSION", "command", "unavailable_reason"]

SUBMISSION = "/submission"  # the working folder of the process
SANDBOX_USER = 65534  # `nobody`, the user inside a user namespace
FIRST_UNUSED_USER = 1_900_000_000  # far above the users of a machine and of its containers
SYSTEM_FOLDERS = ("/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr")
SYSTEM_FILES = (
    "/etc/alternatives",  # Debian's choice of a BLAS library is a link to here
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
)
ENVIRONMENT = {
    "HOME": "/tmp/home",  # noqa: S108  # each sandbox has a /tmp of its own
    "IPYTHONDIR": "/tmp/ipython",  # noqa: S108
    "GPULAB_CACHE": "/tmp/kernels",  # noqa: S108
    "TMPDIR": "/tmp/scratch",  # noqa: S108
    "XDG_RUNTIME_DIR": "/tmp/runtime",  # noqa: S108
    "LANG": "C.UTF-8",
    "LOGNAME": "student",
    "USER": "student",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # keep the debugger from warning on stderr
    **ONE_THREAD,
}


def command(
    argv: Sequence[str],
    *,
    folder: Path,
    read_only: Sequence[Path] = (),
    limits: ResourceLimits | None = None,
    environment: Mapping[str, str] | None = None,
    gpu: bool = False,
) -> list[str]:
    """Return the command that runs a Python program in a sandbox.

    Parameters
    ----------
    argv : sequence of str
        ``["-m", MODULE, ...]`` or ``["-c", COMMAND, ...]``, as for Python.
    folder : Path
        The folder whose files and folders the program finds in `/submission`, its working folder. New files
        there are lost at the end. Symbolic links are left out. If the grader is root, the program runs as
        another user, so the files must be readable by all.
    read_only : sequence of Path, optional
        More files and folders that appear in `/submission` under their own names, such as the release's
        `figures/`.
    limits : ResourceLimits, optional
        The limits that the launcher applies.
    environment : mapping, optional
        Variables in addition to `ENVIRONMENT`. None of the grader's variables are passed on.
    gpu : bool
        True makes the CUDA GPUs of the machine usable, False hides them.

    Notes
    -----
    The first process of bubblewrap keeps its own environment where the sandbox can read it. Start the
    command with an empty environment, as `SandboxedProcess` does.
    """
    limits = limits or ResourceLimits()
    as_root = is_privileged()
    user = FIRST_UNUSED_USER + secrets.randbelow(90_000_000) if as_root else None
    settings = {
        "limits": asdict(limits),
        "limit_address_space": not gpu,
        "user": user,
        "package_folder": str(package_folder().parent),
    }
    variables = {**ENVIRONMENT, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    if not gpu:
        variables["CUDA_VISIBLE_DEVICES"] = ""
    variables |= environment or {}

    return [
        shutil.which("bwrap") or "bwrap",
        *_namespaces(as_root=as_root),
        *_system(),
        *_writable(limits, gpu=gpu),
        *_python(),  # after /tmp, which may contain the environment
        *_submission([*folder.iterdir(), *read_only]),
        "--remount-ro",
        "/",
        "--chdir",
        SUBMISSION,
        "--clearenv",
        *(part for name, value in variables.items() for part in ("--setenv", name, value)),
        "--",
        sys.executable,
        "-I",  # no PYTHON* variables, no user's packages, no working folder on sys.path
        "-B",
        "-X",
        "utf8",
        launcher.__file__,
        json.dumps(settings),
        *argv,
    ]


@cache
def unavailable_reason() -> str:
    """Return the reason why no sandbox can be started on this machine, or "" if one was started."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap needs Linux; on other systems, grade in a Linux container."
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (`apt install bubblewrap`)."

    with tempfile.TemporaryDirectory() as folder:
        argv = command(["-c", "import gpulab, numpy"], folder=Path(folder))
        try:
            trial = subprocess.run(argv, env={}, capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap does not start: {error}."

    if trial.returncode == 0:
        return ""
    lines = trial.stderr.strip().splitlines() or [f"exit code {trial.returncode}"]
    if "--size" in trial.stderr:
        return "bubblewrap is too old; version 0.7 or newer is needed."
    return (
        f"bubblewrap does not work here ({lines[-1]}). The kernel must allow user namespaces to this user. "
        "If the grader is root, the Python environment must be readable by all users."
    )


def is_privileged() -> bool:
    """Return True if this process is root of the machine, and not only root of a user namespace."""
    if os.geteuid() != 0:
        return False
    return Path("/proc/self/uid_map").read_text(encoding="ascii").split()[:2] == ["0", "0"]


def package_folder() -> Path:
    """Return the folder of the package `gpulab`."""
    return Path(gpulab.__file__).resolve().parent


def _namespaces(*, as_root: bool) -> Iterator[str]:
    yield from ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--hostname", "sandbox", "--die-with-parent", "--new-session")
    if as_root:
        yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    else:
        yield from ("--unshare-user", "--uid", str(SANDBOX_USER), "--gid", str(SANDBOX_USER))


def _system() -> Iterator[str]:
    for name in SYSTEM_FOLDERS:
        path = Path(name)
        if path.is_symlink():  # /lib is a link to usr/lib on most systems
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    yield from ("--perms", "0755", "--dir", "/etc")
    for name in SYSTEM_FILES:
        yield from ("--ro-bind-try", name, name)


def _python() -> Iterator[str]:
    """Bind the Python environment and `gpulab`, but not the folders that contain them."""
    folders = [Path(path) for path in (sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)]
    folders.append(Path(sys.executable).resolve().parent.parent)
    folders += [folder.resolve() for folder in folders]

    shown = [Path(name) for name in SYSTEM_FOLDERS]
    for folder in [*sorted(set(folders), key=lambda path: len(path.parts)), package_folder()]:
        if not any(folder.is_relative_to(other) for other in shown):
            shown.append(folder)
            # bubblewrap makes the parents unreadable for the user that the launcher changes to.
            for parent in [*reversed(folder.parents)][1:]:
                if not any(parent.is_relative_to(other) for other in shown):
                    yield from ("--perms", "0755", "--dir", str(parent))
            yield from ("--ro-bind", str(folder), str(folder))


def _writable(limits: ResourceLimits, *, gpu: bool) -> Iterator[str]:
    memory = ("--perms", "1777", "--size", str(limits.scratch_bytes), "--tmpfs")
    yield from ("--proc", "/proc", "--dev", "/dev")
    if gpu:
        for device in sorted(Path("/dev").glob("nvidia*")):
            yield from ("--dev-bind-try", str(device), str(device))
        yield from ("--ro-bind-try", "/sys", "/sys")  # the driver reads the PCI bus and the NUMA nodes
    for folder in ("/dev/shm", "/tmp", SUBMISSION):  # noqa: S108
        yield from (*memory, folder)
    yield from ("--remount-ro", "/dev")


def _submission(entries: Sequence[Path]) -> Iterator[str]:
    for entry in entries:
        # bubblewrap would follow a link that a submission contains to a file of the grader.
        if not entry.is_symlink() and (entry.is_file() or entry.is_dir()):
            yield from ("--ro-bind", str(entry.absolute()), f"{SUBMISSION}/{entry.name}")
