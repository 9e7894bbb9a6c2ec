"""The first program in a sandbox: applies the limits, gives up privileges, and runs a module or a command.

The grader starts this file as a script, so it imports the standard library, and modules of this folder that
do the same. Its first argument is JSON text; the others are `-m MODULE` or `-c COMMAND`, and the arguments of
that program.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["apply_limits", "main"]

HARD_CPU_S = 2  # seconds between the signal that a process may handle and the one that ends it
# Variables with folders of the program's own, and where they are among its writable files.
PRIVATE_FOLDERS = {
    "HOME": "home",
    "IPYTHONDIR": "ipython",
    "GPULAB_CACHE": "kernels",
    "TMPDIR": "scratch",
    "XDG_RUNTIME_DIR": "runtime",
}
CAPABILITY_VERSION = 0x20080522  # <linux/capability.h>
KEYCTL = {"x86_64": 250, "aarch64": 219}  # <asm/unistd.h>
KEYCTL_JOIN_SESSION_KEYRING = 1  # <linux/keyctl.h>


def apply_limits(limits: Mapping[str, float], *, limit_address_space: bool, counted_before: int) -> None:
    """Set the limits of this process and of those that it starts.

    counted_before: processes and threads outside the sandbox that the kernel counts with those in it.
    """
    import resource  # the grader imports this file on Windows, too

    cpu_s = int(limits["cpu_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + HARD_CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for limit, value in (
        (resource.RLIMIT_NPROC, limits["processes"] + counted_before),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
    ):
        _, hard = resource.getrlimit(limit)
        allowed = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(limit, (allowed, allowed))

    if limit_address_space:
        resource.setrlimit(resource.RLIMIT_AS, (int(limits["address_bytes"]),) * 2)

    # If the machine runs out of memory, the kernel ends this process before any other.
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def tasks_of_user(user: int) -> int:
    """Return the number of processes and threads of a user."""
    tasks = 0
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and process.stat().st_uid == user:
                tasks += sum(1 for _ in (process / "task").iterdir())
        except OSError:  # it has ended, or is not shown
            continue
    return tasks


def leave_keyring() -> None:
    """Join a new session keyring: the grader's may hold tickets and tokens. Some containers have none."""
    number = KEYCTL.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None).syscall(ctypes.c_long(number), KEYCTL_JOIN_SESSION_KEYRING, None)


def drop_privileges(user: int | None) -> None:
    """Become another user, unless it is None, and give up all capabilities."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header = struct.pack("=Ii", CAPABILITY_VERSION, 0)
    if ctypes.CDLL(None).capset(header, bytes(24)) != 0:
        raise OSError("the capabilities cannot be given up")


def main(arguments: list[str]) -> None:
    """Prepare this process and run the program."""
    settings: dict[str, Any] = json.loads(arguments[0])
    kind, program, *rest = arguments[1:]
    # An isolated Python ignores PYTHONPATH. The folder of this file is not on sys.path, either.
    if settings["package_folder"] not in sys.path:
        sys.path.insert(0, settings["package_folder"])
    from gpulab.grading.sandbox import guardian, landlock, system_calls

    user, confined = settings["user"], settings["confined"]
    counted_before, private = 0, Path("/tmp")  # noqa: S108  # a sandbox with namespaces has its own
    if confined is not None:
        limit_bytes = int(settings["limits"]["scratch_bytes"])
        folder = guardian.fork_guarded(
            confined["entries"], user=user, grader=confined["grader"], limit_bytes=limit_bytes
        )
        private = folder / guardian.PRIVATE
        counted_before = tasks_of_user(os.getuid() if user is None else user)

    apply_limits(
        settings["limits"],
        limit_address_space=not settings["gpu"],
        counted_before=counted_before,
    )
    leave_keyring()
    drop_privileges(user)
    os.environ.clear()
    os.environ.update(settings["environment"])
    for name, folder_name in PRIVATE_FOLDERS.items():
        (private / folder_name).mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ[name] = str(private / folder_name)
    if confined is not None:
        os.chdir(private / "submission")
        landlock.restrict_files(
            [
                *((path, landlock.READ) for path in [*confined["readable"], folder / guardian.GIVEN]),
                *((path, landlock.READ_WRITE) for path in confined["writable"]),
                (private, landlock.ALL),
            ]
        )
    system_calls.restrict_system_calls(namespaces=confined is None, gpu=settings["gpu"])

    if kind == "-m":
        sys.argv = [program, *rest]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *rest]
        exec(compile(program, "<command>", "exec"), {"__name__": "__main__"})  # noqa: S102


if __name__ == "__main__":
    main(sys.argv[1:])
