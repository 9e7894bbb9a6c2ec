"""The first process of a sandbox without namespaces: it owns the files and the end of the student's process.

It makes a folder for the program, starts a child that the launcher restricts, and waits. When the child ends,
the grader ends or asks for the end, or the folder grows too large, it kills all processes of the child's
group, which none of them can leave, and removes the folder.

The launcher uses this module, so it imports the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["FILES_LIMIT_EXIT", "fork_guarded"]

FILES_LIMIT_EXIT = 128 + signal.SIGXFSZ if hasattr(signal, "SIGXFSZ") else 153
WATCH_INTERVAL_S = 0.1
DEEPEST = 64  # folders within folders; a deeper one counts as too large
FILE_BYTES = 4096  # lower bound of the space that a file takes
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>

GIVEN, PRIVATE = "given", "private"  # folders of the sandbox: files of the grader, and writable ones


def fork_guarded(entries: Sequence[str], *, user: int | None, grader: int, limit_bytes: int) -> Path:
    """Make a folder and start the process of the program: this function returns there, and only there.

    Parameters
    ----------
    entries : sequence of str
        Files and folders to copy to `GIVEN`, without links.
    user : int or None
        The user of the program, who owns `PRIVATE`; None: the user of this process.
    grader : int
        The process ID of the grader, with which everything ends.
    limit_bytes : int
        Size of all files in `PRIVATE` at which the program is killed.

    Returns
    -------
    Path
        The folder, with `GIVEN` and `PRIVATE`.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    watched = {signal.SIGCHLD, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    folder = _make_folder(entries, user)

    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return folder

    exit_code = 1
    try:
        with contextlib.suppress(OSError):  # the child has done it
            os.setpgid(child, child)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1):
            os.dup2(null, descriptor)
        exit_code = _watch(child, folder / PRIVATE, watched, grader, limit_bytes)
    finally:
        _end(child, folder)
        os._exit(exit_code)


def _make_folder(entries: Sequence[str], user: int | None) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="gpulab-sandbox-"))
    folder.chmod(0o711)
    given, private = folder / GIVEN, folder / PRIVATE
    given.mkdir(mode=0o755)
    private.mkdir(mode=0o700)
    (private / "submission").mkdir(mode=0o700)
    for entry in map(Path, entries):
        if entry.is_dir():
            shutil.copytree(entry, given / entry.name, ignore=_not_regular, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(entry, given / entry.name)
        (private / "submission" / entry.name).symlink_to(given / entry.name)
    if user is not None:
        for path in (private, private / "submission"):
            os.chown(path, user, user)
    return folder


def _not_regular(folder: str, names: list[str]) -> list[str]:
    paths = [(name, Path(folder, name)) for name in names]
    return [name for name, path in paths if path.is_symlink() or not (path.is_file() or path.is_dir())]


def _watch(child: int, private: Path, watched: set[signal.Signals], grader: int, limit_bytes: int) -> int:
    """Return the exit code of the program, once it has ended or must end."""
    while True:
        arrived = signal.sigtimedwait(watched, WATCH_INTERVAL_S)
        if os.getppid() != grader or (arrived is not None and arrived.si_signo == signal.SIGTERM):
            return 128 + signal.SIGTERM
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid == child:  # not reaped yet, so that no other group gets its number
                return ended.si_status + (0 if ended.si_code == os.CLD_EXITED else 128)
            os.waitpid(ended.si_pid, 0)
        if _is_larger(private, limit_bytes):
            return FILES_LIMIT_EXIT


def _is_larger(folder: Path, limit_bytes: int) -> bool:
    """Return True if the files in a folder are larger than a limit, or cannot be counted."""
    total = 0
    waiting = [(str(folder), 0)]
    while waiting:
        path, depth = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += max(FILE_BYTES, 512 * status.st_blocks)
                    if total > limit_bytes or depth > DEEPEST:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
        except FileNotFoundError:  # it was removed meanwhile
            continue
        except OSError:  # a path that is too long, or a folder that its owner may not read
            return True
    return False


def _end(child: int, folder: Path) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    # The programs manage trees of any depth, and folders that their owner may not read.
    for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False)
