"""The command of a sandbox without namespaces, for containers and machines that forbid them.

The launcher restricts itself by Landlock (files, and with newer kernels TCP and signals) and by a filter of
system calls (all sockets, signals to other processes, changed attributes of files).
"""

from __future__ import annotations

import os
from pathlib import Path

from gpulab.grading.sandbox.sandboxed_program import (
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    SandboxedProgram,
    python_folders,
    unused_user,
)

__all__ = ["confined_command"]

DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
# What libraries read about the machine and their own process; nothing of other processes.
PROCESS_FILES = (
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/vm",
    "/proc/version",
)
GPU_FILES = ("/sys", "/proc/devices", "/proc/driver")  # the driver reads the PCI bus and the NUMA nodes
NAMES_OF_THREADS = "/proc/self"  # the driver fails if it cannot write them


def confined_command(program: SandboxedProgram, *, another_user: bool) -> list[str]:
    """Return the command that runs a program without namespaces.

    another_user: change to a user that no other process has. This process must be root.
    """
    readable = [*SYSTEM_FOLDERS, *SYSTEM_FILES, *map(str, python_folders()), *PROCESS_FILES]
    writable = [*DEVICES]
    if program.gpu:
        readable += GPU_FILES
        writable += [*sorted(map(str, Path("/dev").glob("nvidia*"))), NAMES_OF_THREADS]
    allowed = {
        "entries": list(map(str, program.entries())),
        "readable": readable,
        "writable": writable,
        "grader": os.getpid(),
    }
    return program.launch(user=unused_user() if another_user else None, confined=allowed)
