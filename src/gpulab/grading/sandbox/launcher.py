"""The first program in a sandbox: applies the limits, gives up privileges, and runs a module or a command.

`bubblewrap.py` starts this file as a script, so it imports the standard library only. Its first argument is
JSON text; the others are `-m MODULE` or `-c COMMAND`, and the arguments of that program.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import runpy
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["apply_limits", "main"]

HARD_CPU_S = 2  # seconds between the signal that a process may handle and the one that ends it
PRIVATE_FOLDERS = ("HOME", "IPYTHONDIR", "GPULAB_CACHE", "TMPDIR", "XDG_RUNTIME_DIR")


class SystemCalls(NamedTuple):
    """The numbers of the system calls that make user namespaces, on one kind of processor."""

    architecture: int
    clone: int
    unshare: int
    clone3: int


SYSTEM_CALLS = {  # <linux/audit.h> and <asm/unistd.h>
    "x86_64": SystemCalls(0xC000003E, clone=56, unshare=272, clone3=435),
    "aarch64": SystemCalls(0xC00000B7, clone=220, unshare=97, clone3=435),
}
CLONE_NEWUSER = 0x10000000  # <linux/sched.h>
X32_CALLS = 0x40000000  # numbers of x86-64's calls with 32-bit pointers begin here
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2  # <linux/prctl.h>, <linux/seccomp.h>
LOAD, RETURN = 0x20, 0x06  # <linux/bpf_common.h>
JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT = 0x15, 0x35, 0x45
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # bytes in `struct seccomp_data`
FAIL, ALLOW = 0x00050000, 0x7FFF0000  # <linux/seccomp.h>


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


def forbid_user_namespaces() -> None:
    """Forbid this process, and those that it starts, to make user namespaces.

    In a user namespace of its own, a process may mount file systems in memory that no limit applies to. The
    system calls return an error, by a filter as `seccomp(2)` describes it.
    """
    machine = os.uname().machine
    if machine not in SYSTEM_CALLS:
        raise OSError(f"no filter of system calls for the processor {machine}")
    calls = SYSTEM_CALLS[machine]

    # Each instruction: operation, steps to skip if true, steps to skip if false, operand.
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 0, 7, calls.architecture),
        (LOAD, 0, 0, NUMBER),
        (JUMP_IF_AT_LEAST, 5, 0, X32_CALLS),
        (JUMP_IF_EQUAL, 5, 0, calls.clone3),  # its flags are in memory; C libraries call `clone` instead
        (JUMP_IF_EQUAL, 1, 0, calls.unshare),
        (JUMP_IF_EQUAL, 0, 4, calls.clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_IF_ANY_BIT, 0, 2, CLONE_NEWUSER),
        (RETURN, 0, 0, FAIL | errno.EPERM),
        (RETURN, 0, 0, FAIL | errno.ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]

    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    text = ctypes.create_string_buffer(code, len(code))
    filter_of_calls = struct.pack("@HP", len(program), ctypes.addressof(text))

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), filter_of_calls):
        raise OSError(ctypes.get_errno(), "the kernel accepts no filter of system calls")


def main(arguments: list[str]) -> None:
    """Prepare this process and run the program."""
    settings: dict[str, Any] = json.loads(arguments[0])
    kind, program, *rest = arguments[1:]

    apply_limits(settings["limits"], limit_address_space=settings["limit_address_space"])
    if settings["user"] is not None:
        drop_privileges(settings["user"])
    forbid_user_namespaces()
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
