"""Attacks on the grader's machine, the same by each mechanism of the sandbox: none may work."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpulab.grading.sandbox.mechanisms import Mechanism
from gpulab.grading.sandbox.system_calls import ALLOW, ARCHITECTURES, Instruction, filter_program
from tests.grading.sandbox.conftest import Runner

pytestmark = pytest.mark.slow

KEYCTL, ADD_KEY = 250, 248  # on x86-64
JOIN_SESSION_KEYRING = 1
NEW_USER_NAMESPACE = 0x10000000

# System calls on x86-64 that no notebook needs, with arguments with which a permitted call does something.
CLOSED_CALLS = {
    "keyctl: read the session keyring": [250, 11, -3, 0, 0],
    "keyctl: search the user keyring": [250, 10, -4, 0, 0],
    "add_key": [248, 0, 0, 0, 0, -3],
    "request_key": [249, 0, 0, 0, 0],
    "io_uring_setup": [425, 1, 0],
    "bpf": [321, 0, 0, 0],
    "perf_event_open": [298, 0, 0, -1, -1, 0],
    "userfaultfd": [323, 1],
    "ptrace: attach to the parent": [101, 16, "parent", 0, 0],
    "process_vm_readv": [310, "parent", 0, 0, 0, 0, 0],
    "pidfd_open": [434, "parent", 0],
    "pidfd_getfd": [438, 0, 0, 0],
    "kcmp": [312, "parent", "parent", 0, 0, 0],
    "unshare: user namespace": [272, NEW_USER_NAMESPACE],
    "clone: user namespace": [56, NEW_USER_NAMESPACE | 17, 0, 0, 0, 0],
    "clone3": [435, 0, 0],
    "setns": [308, 0, 0],
    "mount": [165, 0, 0, 0, 0, 0],
    "open_tree": [428, -100, 0, 1],
    "fsopen": [430, 0, 0],
    "open_by_handle_at": [304, -100, 0, 0],
    "personality": [135, 0],
    "swapon": [167, 0, 0],
    "reboot": [169, 0, 0, 0, 0],
    "fanotify_init": [300, 0, 0],
    "shmget": [29, 0, 1 << 20, 0o1600],
    "semget": [64, 0, 1, 0o1600],
    "msgget": [68, 0, 0o1600],
    "mq_open": [240, 0, 0o102, 0o600, 0],
    "setuid": [105, 0],
    "memfd_secret": [447, 0],
}
CALL = """
import ctypes, errno, json, os, sys
libc, results = ctypes.CDLL(None, use_errno=True), {}
for name, numbers in json.loads(sys.argv[1]).items():
    arguments = [os.getppid() if number == "parent" else ctypes.c_long(number) for number in numbers]
    ctypes.set_errno(0)
    value = libc.syscall(*arguments)
    if value == 0 and name.startswith("clone"): os._exit(0)
    results[name] = "works" if value >= 0 else errno.errorcode[ctypes.get_errno()]
print(json.dumps(results))
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_system_calls_of_attacks_are_closed(run: Runner) -> None:
    ended = run(CALL, json.dumps(CLOSED_CALLS))
    results = json.loads(ended.output or "{}")
    assert {name for name, result in results.items() if result not in {"EPERM", "ENOSYS"}} == set()
    assert results.keys() == CLOSED_CALLS.keys(), ended.errors


def test_families_of_sockets_are_closed(run: Runner) -> None:
    code = """
import socket
for family in (socket.AF_NETLINK, socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG, 31):  # 31: Bluetooth
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try: socket.socket(family, kind, 0); print(family, kind)
        except PermissionError: pass
try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print("datagrams")
except PermissionError: pass
"""
    ended = run(code)
    assert (ended.output, ended.errors) == ("", "")


@pytest.fixture
def keyring_with_secret() -> Iterator[None]:
    """Let this process join a session keyring with a secret, as a login does."""
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86-64")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(KEYCTL, JOIN_SESSION_KEYRING, b"gpulab-test") < 0:
        pytest.skip("the kernel has no keyrings for this process")
    libc.syscall(ADD_KEY, b"user", b"ticket", b"secret", ctypes.c_size_t(6), ctypes.c_int(-3))
    yield
    libc.syscall(KEYCTL, JOIN_SESSION_KEYRING, None)


@pytest.mark.usefixtures("keyring_with_secret")
def test_keyring_of_the_grader_is_not_used(mechanism: Mechanism, submission: Path) -> None:
    """The launcher joins a keyring of its own before the filter closes the calls."""
    from gpulab.grading.sandbox.sandboxed_program import SandboxedProgram

    code = (
        "import sys, gpulab.grading.sandbox.system_calls as calls\n"
        "calls.restrict_system_calls = lambda **_: None\n"  # leaves the keyring to be looked at
        "import gpulab.grading.sandbox.launcher as launcher\n"
        "launcher.main(sys.argv[1:])"
    )
    look = (
        "print(open('/proc/self/status').readline()); import ctypes; b = ctypes.create_string_buffer(4096); "
    )
    look += "l = ctypes.CDLL(None); n = l.syscall(250, 10, -3, b'user', b'ticket', 0); print('found', n)"
    command = mechanism.command(SandboxedProgram(["-c", look], submission))
    script = next(index for index, part in enumerate(command) if part.endswith("launcher.py"))
    package = Path(sys.modules["gpulab"].__file__ or "").parents[1]
    command[script : script + 1] = ["-c", f"import sys; sys.path.insert(0, {str(package)!r})\n{code}"]
    ended = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
    assert "found -1" in ended.stdout, ended.stderr


HARM_FILES = """
import os, sys
target = sys.argv[1]
def tries(function, *arguments, **options):
    try: function(*arguments, **options)
    except OSError: pass
for path in (target, os.path.join(os.path.dirname(target), "..", os.path.basename(os.path.dirname(target)),
                                  os.path.basename(target)), f"/proc/self/root{target}", "lab.ipynb"):
    tries(os.chmod, path, 0)
    tries(os.chown, path, 1234, 1234)
    tries(os.utime, path, (1, 1))
    tries(os.setxattr, path, "user.mark", b"x")
    tries(os.truncate, path, 0)
    tries(os.open, path, os.O_RDONLY | os.O_TRUNC)
    tries(os.open, path, os.O_WRONLY)
    tries(os.rename, path, path + "2")
    tries(os.remove, target)
    tries(os.link, path, "linked")
    tries(os.symlink, path, "symlink")
    tries(os.open, "symlink", os.O_WRONLY | os.O_TRUNC)
    tries(os.replace, "symlink", path)
    try: descriptor = os.open(path, os.O_RDONLY)
    except OSError: continue
    tries(os.fchmod, descriptor, 0)
    tries(os.utime, descriptor, (1, 1))
"""


def test_files_of_the_grader_are_not_changed(run: Runner, submission: Path, tmp_path: Path) -> None:
    book, lab = tmp_path / "gradebook.db", submission / "lab.ipynb"
    for path in (book, lab):
        path.write_bytes(b"grades")
        path.chmod(0o644)
    before = [state(path) for path in (book, lab)]
    ended = run(HARM_FILES, str(book))
    assert [state(path) for path in (book, lab)] == before, ended.errors


def state(path: Path) -> tuple[Any, ...]:
    status = path.stat()
    return path.read_bytes(), status.st_mode, status.st_uid, status.st_mtime_ns, os.listxattr(path)


HARM_PROCESS = """
import fcntl, os, resource, signal, sys
victim = int(sys.argv[1])
def tries(function, *arguments):
    try: function(*arguments)
    except (OSError, ValueError): pass
for number in (0, signal.SIGKILL, signal.SIGSTOP):
    tries(os.kill, victim, number)
    tries(os.killpg, victim, number)
    tries(signal.pidfd_send_signal, 0, number)
tries(resource.prlimit, victim, resource.RLIMIT_NOFILE, (3, 3))
tries(os.sched_setaffinity, victim, {0})
tries(os.setpriority, os.PRIO_PROCESS, victim, 19)
read, write = os.pipe()
for command, value in ((10, signal.SIGKILL), (8, victim), (fcntl.F_SETFL, os.O_ASYNC)):
    tries(fcntl.fcntl, read, command, value)
os.write(write, b"x")
for name in ("environ", "mem", "maps", "cwd/secret", "root/etc/passwd", "fd/0", "cmdline"):
    try: open(f"/proc/{victim}/{name}", "rb").read(1); print(name)
    except OSError: pass
"""


def test_processes_of_the_grader_are_not_harmed(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=tmp_path) as victim:
        before = process_state(victim.pid)
        ended = run(HARM_PROCESS, str(victim.pid))
        assert (ended.output, ended.errors) == ("", "")
        assert victim.poll() is None
        assert process_state(victim.pid) == before
        victim.communicate(b"\n")
    assert victim.returncode == 0


def process_state(pid: int) -> tuple[Any, ...]:
    return (
        resource.prlimit(pid, resource.RLIMIT_NOFILE),
        os.sched_getaffinity(pid),
        os.getpriority(os.PRIO_PROCESS, pid),
    )


SEND = """
import socket, sys
address, kind = bytes.fromhex(sys.argv[1]).decode(), int(sys.argv[2])
for pair in (False, True):
    try:
        sender = socket.socketpair(type=kind)[0] if pair else socket.socket(socket.AF_UNIX, kind)
        sender.sendto(b"x", address) if kind == socket.SOCK_DGRAM or pair else sender.connect(address)
        print("sent")
    except OSError:
        pass
"""


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
@pytest.mark.parametrize("abstract", [False, True])
@pytest.mark.parametrize("gpu", [False, True])
def test_sockets_of_the_machine_are_not_reached(
    run: Runner, tmp_path: Path, kind: socket.SocketKind, abstract: bool, gpu: bool
) -> None:
    address = f"\0{tmp_path}" if abstract else str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind(address)
        server.settimeout(0)
        if kind != socket.SOCK_DGRAM:
            server.listen()
        if not abstract:
            Path(address).chmod(0o777)
        run(SEND, address.encode().hex(), str(int(kind)), gpu=gpu)
        with pytest.raises(BlockingIOError):  # nothing has arrived
            server.recv(1) if kind == socket.SOCK_DGRAM else server.accept()


def test_nothing_is_left_for_the_next_student(run: Runner) -> None:
    leave = """
import os, sys
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", ".", os.environ["HOME"], os.environ["TMPDIR"]):
    try: open(f"{folder}/gpulab-left", "w").write("answer")
    except OSError: pass
"""
    find = leave.replace('"w").write("answer")', '"r").read() and print(folder)')
    run(leave)
    assert run(find).output == ""
    assert not Path("/dev/shm/gpulab-left").exists()


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize("namespaces", [False, True])
@pytest.mark.parametrize("gpu", [False, True])
def test_filter_is_an_allow_list(machine: str, namespaces: bool, gpu: bool) -> None:
    """Every number that the tables do not list is refused, also those of other architectures."""
    import tomllib

    from gpulab.grading.sandbox import system_calls

    column, architecture = ARCHITECTURES[machine]
    tables = tomllib.loads(system_calls.TABLES.read_text(encoding="utf-8"))
    listed = {row[column] for rows in tables.values() for row in rows.values()}
    program = filter_program(machine, namespaces=namespaces, gpu=gpu, process=77)

    allowed = {number for number in range(600) if executed(program, architecture, number) == ALLOW[3]}
    assert allowed - listed == set()
    assert {row[column] for row in tables["always"].values()} - {-1} <= allowed
    assert all(executed(program, 0x40000003, number) != ALLOW[3] for number in range(600))
    assert all(executed(program, architecture, 0x40000000 + number) != ALLOW[3] for number in range(600))


def executed(program: list[Instruction], architecture: int, number: int, *arguments: int) -> int:
    """Return the answer of a filter, by interpreting its instructions as the kernel does."""
    data = {0: number, 4: architecture} | {16 + 8 * index: value for index, value in enumerate(arguments)}
    position = accumulator = 0
    while True:
        operation, if_true, if_false, operand = program[position]
        position += 1
        match operation:
            case 0x20:
                accumulator = data.get(operand, 0)
            case 0x54:
                accumulator &= operand
            case 0x05:
                position += operand
            case 0x06:
                return operand
            case 0x15:
                position += if_true if accumulator == operand else if_false
            case 0x25:
                position += if_true if accumulator > operand else if_false
            case 0x35:
                position += if_true if accumulator >= operand else if_false
