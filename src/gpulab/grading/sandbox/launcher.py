"""The first program in a sandbox: applies the limits, gives up privileges, and runs a module or a command.

`bubblewrap.py` starts this file as a script, so it imports the standard library only. Its first argument is
JSON text; the others are `-m MODULE` or `-c COMMAND`, and the arguments of that program.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["apply_limits", "main"]

HARD_CPU_S = 2  # seconds between the signal that a process may handle and the one that ends it
PRIVATE_FOLDERS = ("HOME", "IPYTHONDIR", "GPULAB_CACHE", "TMPDIR", "XDG_RUNTIME_DIR")


def apply_limits(limits: Mapping[str, float], *, limit_address_space: bool) -> None:
    """Set the limits of this process and of those that it starts."""
    import resource  # the grader imports this file on Windows, too

    cpu_s = int(limits["cpu_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + HARD_CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for limit, name in (
        (resource.RLIMIT_NPROC, "processes"),
        (resource.RLIMIT_NOFILE, "open_files"),
        (resource.RLIMIT_FSIZE, "file_bytes"),
    ):
        resource.setrlimit(limit, (int(limits[name]),) * 2)

    if limit_address_space:
        resource.setrlimit(resource.RLIMIT_AS, (int(limits["address_bytes"]),) * 2)

    # If the machine runs out of memory, the kernel ends this process before any other.
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def drop_privileges(user: int) -> None:
    """Become an unprivileged user; this also drops all capabilities."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def main(arguments: list[str]) -> None:
    """Prepare this process and run the program."""
    settings: dict[str, Any] = json.loads(arguments[0])
    kind, program, *rest = arguments[1:]

    apply_limits(settings["limits"], limit_address_space=settings["limit_address_space"])
    if settings["user"] is not None:
        drop_privileges(settings["user"])
    for name in PRIVATE_FOLDERS:
        Path(os.environ[name]).mkdir(mode=0o700, parents=True, exist_ok=True)

    # An isolated Python ignores PYTHONPATH. The folder of this file is not on sys.path, either.
    if settings["package_folder"] not in sys.path:
        sys.path.insert(0, settings["package_folder"])

    if kind == "-m":
        sys.argv = [program, *rest]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *rest]
        exec(compile(program, "<command>", "exec"), {"__name__": "__main__"})  # noqa: S102


if __name__ == "__main__":
    main(sys.argv[1:])
