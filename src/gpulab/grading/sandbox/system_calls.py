"""The filter of system calls of a sandbox, as `seccomp(2)` describes it: what is not allowed fails.

`system_calls.toml` lists the allowed calls. The launcher uses this module before it runs a student's program,
so it imports the standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Condition", "filter_program", "restrict_system_calls"]

Instruction = tuple[int, int, int, int]  # operation, steps to skip if true, steps to skip if false, operand

TABLES = Path(__file__).with_suffix(".toml")
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of TABLES; <linux/audit.h>
X32_CALLS = 0x40000000  # numbers of x86-64's calls with 32-bit pointers begin here
FIRST_UNKNOWN = 457  # calls of a kernel newer than the tables
CLONE3, OPENAT2 = 435, 437  # their arguments are in memory; C libraries call `clone` and `openat` instead

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2  # <linux/prctl.h>, <linux/seccomp.h>
LOAD, AND, JUMP, RETURN = 0x20, 0x54, 0x05, 0x06  # <linux/bpf_common.h>
JUMP_IF_EQUAL, JUMP_IF_GREATER, JUMP_IF_AT_LEAST = 0x15, 0x25, 0x35
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, ARGUMENT_BYTES = 0, 4, 16, 8  # in `struct seccomp_data`

ALLOW = (RETURN, 0, 0, 0x7FFF0000)  # <linux/seccomp.h>
REFUSE = (RETURN, 0, 0, 0x00050000 | errno.EPERM)
UNKNOWN = (RETURN, 0, 0, 0x00050000 | errno.ENOSYS)
NOT_FOUND = (RETURN, 0, 0, 0x00050000 | errno.ENOENT)
PRETEND = (RETURN, 0, 0, 0x00050000)  # returns 0 and does nothing

NEW_NAMESPACES = 0x7E020000  # flags of `clone`; a new user namespace could mount file systems in memory
AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SOCK_STREAM, SOCK_SEQPACKET, SOCK_TYPES = 1, 5, 0xF
TRUNCATE, ACCESS_MODE = os.O_TRUNC, 0o3
# Requests that put characters into a terminal, send signals to other processes, or change flags of files.
FORBIDDEN_IOCTLS = (0x5412, 0x541C, 0x8901, 0x8902, 0x40086602, 0x40046602, 0x401C5820)
FORBIDDEN_FCNTLS = (8, 10, 15, 1026)  # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_NOTIFY: signals to other processes


class Condition(NamedTuple):
    """A condition on an argument of a system call: `argument & mask` is among `values`, or is not."""

    argument: int
    values: Sequence[int]
    mask: int = 0xFFFFFFFF
    among: bool = True


def restrict_system_calls(*, namespaces: bool, gpu: bool) -> None:
    """Allow this process, and those that it starts, only the system calls of the tables.

    Parameters
    ----------
    namespaces : bool
        The process has files, processes and a network of its own. Without them it may not connect sockets,
        signal other processes, leave its process group, or change attributes of files that it can read.
    gpu : bool
        The process uses a CUDA GPU, whose driver opens sockets of its own and waits at one.

    Raises
    ------
    OSError
        If the tables do not have this processor, or the kernel accepts no filter.
    """
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(f"no filter of system calls for the processor {machine}")
    program = filter_program(machine, namespaces=namespaces, gpu=gpu, process=os.getpid())
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    text = ctypes.create_string_buffer(code, len(code))
    filter_of_calls = struct.pack("@HP", len(program), ctypes.addressof(text))

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), filter_of_calls):
        raise OSError(ctypes.get_errno(), "the kernel accepts no filter of system calls")


def filter_program(machine: str, *, namespaces: bool, gpu: bool, process: int) -> list[Instruction]:
    """Return the instructions of the filter for a processor, for a program whose process ID is `process`."""
    column, architecture = ARCHITECTURES[machine]
    tables = tomllib.loads(TABLES.read_text(encoding="utf-8"))
    numbers = {
        table: {name: row[column] for name, row in rows.items() if row[column] >= 0}
        for table, rows in tables.items()
    }

    program: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 1, 0, architecture),
        REFUSE,
        (LOAD, 0, 0, NUMBER),
        *_in_range(FIRST_UNKNOWN, 0xFFFFFFFF, UNKNOWN),
        *_if_number(CLONE3, [UNKNOWN]),
        *_if_number(OPENAT2, [UNKNOWN]),
    ]
    if gpu and not namespaces:
        # The driver looks for a service, and fails unless it does not exist. The files of a sandbox permit no
        # socket with a path, so that nothing but a name is bound; `accept` is refused.
        program += _if_number(numbers["private"]["connect"], [NOT_FOUND])
        for name in ("bind", "listen"):
            program += _if_number(numbers["private"][name], [ALLOW])
    conditions = _conditions(namespaces=namespaces, gpu=gpu, process=process)
    for name, number in numbers["limited"].items():
        if name in conditions:
            program += _if_number(number, [*_unless(conditions[name]), ALLOW])
    for table, answer in (
        ("always", ALLOW),
        ("private", ALLOW if namespaces else REFUSE),
        ("attributes", ALLOW if namespaces else PRETEND),
    ):
        for first, last in _ranges(numbers[table].values()):
            program += _in_range(first, last, answer)
    return [*program, REFUSE]


def _conditions(*, namespaces: bool, gpu: bool, process: int) -> dict[str, list[Condition]]:
    """Return the conditions under which a call of the table `limited` is allowed; a missing call never is."""
    # Not datagrams, of which each may have another address.
    streams = [Condition(0, [AF_UNIX]), Condition(1, [SOCK_STREAM, SOCK_SEQPACKET], mask=SOCK_TYPES)]
    conditions = {
        "clone": [Condition(0, [0], mask=NEW_NAMESPACES)],
        "prlimit64": [Condition(0, [0, process])],
        "ioctl": [Condition(1, FORBIDDEN_IOCTLS, among=False)],
        "fcntl": [Condition(1, FORBIDDEN_FCNTLS, among=False)],
        "socketpair": streams,
        "creat": [],
    }
    if namespaces:
        signals: list[Condition] = []
        opened: dict[str, list[Condition]] = {"open": [], "openat": []}
        conditions["socket"] = [Condition(0, [AF_UNIX, AF_INET, AF_INET6])]
    else:
        signals = [Condition(0, [process])]
        if gpu:
            conditions["socket"] = streams
        # Before Linux 6.2, Landlock lets a process empty a file that it opens for reading.
        opened = {
            name: [Condition(flags, [TRUNCATE], TRUNCATE | ACCESS_MODE, among=False)]
            for name, flags in (("open", 1), ("openat", 2))
        }
    return (
        conditions
        | opened
        | dict.fromkeys(("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"), signals)
    )


def _if_number(number: int, body: Sequence[Instruction]) -> list[Instruction]:
    """Run instructions that end with a return if the loaded number of the call is this one."""
    return [(JUMP_IF_EQUAL, 0, len(body), number), *body]


def _in_range(first: int, last: int, answer: Instruction) -> list[Instruction]:
    return [(JUMP_IF_AT_LEAST, 0, 2, first), (JUMP_IF_GREATER, 1, 0, last), answer]


def _unless(conditions: Iterable[Condition]) -> list[Instruction]:
    """Return instructions that refuse the call unless all conditions hold."""
    program: list[Instruction] = []
    for condition in conditions:
        # The lower half of an argument: all that are tested are `int`, and the processors are little-endian.
        program.append((LOAD, 0, 0, FIRST_ARGUMENT + ARGUMENT_BYTES * condition.argument))
        program.append((AND, 0, 0, condition.mask))
        # An equal value leads past REFUSE or, if it must not be among the values, past the jump to it.
        count = len(condition.values)
        program += [(JUMP_IF_EQUAL, count - index, 0, value) for index, value in enumerate(condition.values)]
        program += [REFUSE] if condition.among else [(JUMP, 0, 0, 1), REFUSE]
    return program


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive numbers as first and last number."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs
