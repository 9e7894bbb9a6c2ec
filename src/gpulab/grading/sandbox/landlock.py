"""Restriction of a process to some files by Landlock, for machines that permit no namespaces.

Landlock is a security module of Linux 5.13 and later, which needs no privileges. A process gives up all
access to files but what rules allow, and so do the processes that it starts. The rules do not cover the
names, sizes and attributes of files, which `stat(2)` returns; `system_calls.py` refuses the calls that change
attributes.

The launcher uses this module, so it imports the standard library only. Constants are those of
<linux/landlock.h>.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

__all__ = ["ALL", "READ", "READ_WRITE", "restrict_files", "unavailable_reason", "version"]

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, on all processors
CREATE_VERSION = 1
RULE_PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38  # <linux/prctl.h>

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHARACTER_DEVICE, MAKE_SOCKET, MAKE_BLOCK_DEVICE = 1 << 6, 1 << 9, 1 << 11
MOVE, TRUNCATE, DEVICE_REQUESTS = 1 << 13, 1 << 14, 1 << 15
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_REQUESTS
# Rights that a version of Landlock handles: bits 0 to 12 in the first.
RIGHTS_OF_VERSION = ((1, (1 << 13) - 1), (2, MOVE), (3, TRUNCATE), (5, DEVICE_REQUESTS))
TCP, SCOPES = 3, 3  # bind and connect; abstract sockets and signals
VERSION_OF_TCP, VERSION_OF_SCOPES = 4, 6

READ = EXECUTE | READ_FILE | READ_FOLDER
READ_WRITE = READ_FILE | WRITE_FILE | TRUNCATE | DEVICE_REQUESTS  # rights to devices
ALL = (1 << 16) - 1 - MAKE_CHARACTER_DEVICE - MAKE_BLOCK_DEVICE - MAKE_SOCKET

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None


def version() -> int:
    """Return the version of Landlock's interface in this kernel; 0 without Landlock."""
    return max(0, _call(CREATE_RULESET, None, 0, CREATE_VERSION))


def unavailable_reason() -> str:
    """Return why Landlock cannot be used on this machine, or "" if it can."""
    if _call(CREATE_RULESET, None, 0, CREATE_VERSION) > 0:
        return ""
    match ctypes.get_errno():
        case errno.ENOSYS:
            return "the kernel has no Landlock (Linux 5.13 or newer has it)"
        case errno.EOPNOTSUPP:
            return "Landlock is disabled: the kernel's parameter lsm= must name landlock"
        case errno.EPERM:
            return "a filter of the container forbids Landlock (Docker 23 or newer permits it)"
        case number:
            return f"Landlock does not work: {os.strerror(number)}"


def restrict_files(rules: Iterable[tuple[Path | str, int]]) -> None:
    """Restrict this process, for ever, to the given files; also TCP, and signals to other processes.

    Parameters
    ----------
    rules : iterable of (path, int)
        The rights to a file, or to all files in a folder. Paths that do not exist are left out.

    Raises
    ------
    OSError
        If the kernel has no Landlock.
    """
    present = version()
    handled = 0
    for first, rights in RIGHTS_OF_VERSION:
        handled |= rights if present >= first else 0
    attributes = struct.pack(
        "=QQQ", handled, TCP * (present >= VERSION_OF_TCP), SCOPES * (present >= VERSION_OF_SCOPES)
    )
    size = 24 if present >= VERSION_OF_SCOPES else 16 if present >= VERSION_OF_TCP else 8
    ruleset = _required(CREATE_RULESET, attributes, size, 0)

    for path, rights in rules:
        try:
            descriptor = os.open(path, os.O_PATH)
        except OSError:
            continue
        applicable = handled if stat.S_ISDIR(os.fstat(descriptor).st_mode) else handled & FILE_RIGHTS
        rule = struct.pack("=Qi", rights & applicable, descriptor)
        _required(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0)
        os.close(descriptor)

    assert _libc is not None
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _required(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _call(number: int, *arguments: object) -> int:
    if _libc is None or not hasattr(_libc, "syscall"):
        ctypes.set_errno(errno.ENOSYS)
        return -1
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def _required(number: int, *arguments: object) -> int:
    result = _call(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result
