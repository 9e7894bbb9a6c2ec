"""A Python process in a sandbox, with its pipes, and a thread that watches its limits."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from gpulab.grading.sandbox.guardian import FILES_LIMIT_EXIT
from gpulab.grading.sandbox.mechanisms import chosen_mechanism
from gpulab.grading.sandbox.resource_limits import ResourceLimits
from gpulab.grading.sandbox.sandboxed_program import SandboxedProgram

__all__ = ["LimitedProcess", "SandboxedProcess", "Usage", "usage_of"]

WATCH_INTERVAL_S = 0.1
READ_BYTES = 1 << 16
WRITE_LIMIT_S = 30.0  # longest time in which a process reads nothing of what is written to it
CPU_LIMIT_EXIT = 128 + 24  # exit code of a sandbox if SIGXCPU ended the program
ERROR_BYTES = 10_000  # bytes at the end of the standard error output that are kept


@dataclass(frozen=True)
class Usage:
    """The resources that a process and its descendants use.

    Attributes
    ----------
    tasks : int
        Processes and threads.
    memory_bytes : int
        Resident anonymous and shared memory, and memory that is swapped out. Memory that processes share
        is counted once per process.
    cpu_s : float
        CPU time, including that of child processes that have ended.
    """

    tasks: int
    memory_bytes: int
    cpu_s: float


class LimitedProcess:
    """A program with pipes and watched resources, and a time limit for each line that is read from it.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    limits : ResourceLimits, optional
        The limits that a thread of this process watches.
    environment : mapping, optional
        All variables that the program sees.
    folder : Path, optional
        The working folder; by default this process's.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        limits: ResourceLimits | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.limits = limits or ResourceLimits()
        self._stopped_by = ""
        self._buffer = bytearray()
        self._bytes_read = 0
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()

        self._started = time.monotonic()
        self._process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            start_new_session=True,
        )

        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)  # only this end of the pipe
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="sandbox limits", daemon=True)
        self._watcher.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process ID of the first process, outside the sandbox."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while the process runs."""
        return self._process.poll()

    @property
    def stopped_by(self) -> str:
        """The limit that was exceeded, as text for a report, or ""."""
        if not self._stopped_by and self.returncode == CPU_LIMIT_EXIT:
            return self._cpu_limit()
        if not self._stopped_by and self.returncode == FILES_LIMIT_EXIT:
            return f"it wrote more than {self.limits.scratch_bytes >> 20} MiB of files"
        return self._stopped_by

    def write(self, data: bytes) -> None:
        """Write to the standard input.

        Raises BrokenPipeError if the process has ended, and TimeoutError if it reads nothing for
        `WRITE_LIMIT_S`, such as a process that waits until its own output is read.
        """
        stdin = self._process.stdin
        assert stdin is not None
        remaining = memoryview(data)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            while remaining:
                if not selector.select(WRITE_LIMIT_S):
                    raise TimeoutError("the process in the sandbox does not read its input")
                remaining = remaining[stdin.write(remaining) or 0 :]

    def readline(self, timeout_s: float) -> bytes:
        """Return the next line of the standard output, or b"" if the process ended or was stopped.

        Raises TimeoutError if no line is complete after `timeout_s` seconds. The process still runs then.
        """
        deadline = time.monotonic() + timeout_s
        searched = 0  # a line may have megabytes, which are searched once
        while (end := self._buffer.find(b"\n", searched) + 1) == 0:
            searched = len(self._buffer)
            if not self._fill(deadline):
                end = searched
                break
        line = bytes(self._buffer[:end])
        del self._buffer[:end]
        return line

    def read(self) -> bytes:
        """Return the remaining standard output once the process has ended or was stopped."""
        while self._fill(None):
            pass
        data = bytes(self._buffer)
        self._buffer.clear()
        self._wait()
        return data

    def errors(self) -> str:
        """Return the end of the standard error output."""
        size = os.fstat(self._errors.fileno()).st_size
        data = os.pread(self._errors.fileno(), ERROR_BYTES, max(0, size - ERROR_BYTES))
        return data.decode(errors="replace")

    def usage(self) -> Usage:
        """Return the resources that the sandbox uses now."""
        return usage_of(self._process.pid)

    def stop(self, reason: str = "") -> None:
        """End all processes of the group or the sandbox at once, and keep the first reason that is given."""
        self._stopped_by = self._stopped_by or reason
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self._end()

    def _end(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the sandbox and close its pipes."""
        self.stop()
        self._wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _wait(self) -> None:
        """Wait for the end of the process and of the thread that watches it."""
        self._process.wait()
        self._ended.set()
        self._watcher.join()

    def _fill(self, deadline: float | None) -> bool:
        """Read what the pipe holds, and return False at its end or at the limit of the output."""
        assert self._process.stdout is not None
        if deadline is not None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._process.stdout, selectors.EVENT_READ)
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError("the process in the sandbox has not answered in time")

        data = self._process.stdout.read(READ_BYTES) or b""
        self._bytes_read += len(data)
        if self._bytes_read > self.limits.output_bytes:
            self.stop(f"it wrote more than {self.limits.output_bytes} bytes of output")
            return False
        self._buffer += data
        return bool(data)

    def _watch(self) -> None:
        while self._process.poll() is None:
            if reason := self._exceeded():
                self.stop(reason)
                return
            self._ended.wait(WATCH_INTERVAL_S)

    def _cpu_limit(self) -> str:
        return f"it used more than {self.limits.cpu_s:g} s of CPU time"

    def _exceeded(self) -> str:
        """Return the limit that the sandbox exceeds, as text, or ""."""
        limits = self.limits
        most_tasks = limits.processes + 2  # those of the sandbox itself are not limited
        usage = usage_of(self._process.pid, most_tasks)
        if time.monotonic() - self._started > limits.wall_s:
            return f"it ran longer than {limits.wall_s:g} s"
        if usage.cpu_s > limits.cpu_s:
            return self._cpu_limit()
        if usage.memory_bytes > limits.memory_bytes:
            return f"it used more than {limits.memory_bytes >> 20} MiB of memory"
        if usage.tasks > most_tasks:
            return f"it started more than {limits.processes} processes"
        return ""


class SandboxedProcess(LimitedProcess):
    """A Python program in a sandbox.

    Everything that the program starts ends with it. It also ends with the thread that creates this object,
    because the kernel's signal on the end of a parent refers to threads.

    Parameters
    ----------
    argv, folder, **options
        Those of `SandboxedProgram`.
    """

    def __init__(self, argv: Sequence[str], folder: Path, **options: Any) -> None:
        program = SandboxedProgram(argv, folder, **options)
        super().__init__(chosen_mechanism().command(program), limits=program.limits)

    def _end(self) -> None:
        # The first process ends the others: by the end of their namespace, or as `guardian.py` does.
        os.kill(self._process.pid, signal.SIGTERM)


def usage_of(pid: int, most_tasks: float = math.inf) -> Usage:
    """Return the resources that a process and its descendants use, from the files in /proc.

    Processes after `most_tasks` tasks are not counted, because a program can create them faster than they
    are read.
    """
    tasks = memory = ticks = 0
    for process in descendants(pid):
        if tasks > most_tasks:
            break
        with contextlib.suppress(OSError, ValueError, LookupError):  # it may end while it is read
            # A process may give itself a name that is no text.
            lines = (process / "status").read_text(errors="replace").splitlines()
            status = dict(line.split(":", 1) for line in lines if ":" in line)
            memory += sum(
                int(status[name].split()[0]) for name in ("RssAnon", "RssShmem", "VmSwap") if name in status
            )
            # Fields 14 to 17 of `stat` are user and system time, and those of ended children. Field 2, the
            # name of the program in parentheses, may contain blanks.
            fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
            tasks += int(status["Threads"])
    return Usage(tasks, memory << 10, ticks / os.sysconf("SC_CLK_TCK"))


def descendants(pid: int) -> Iterator[Path]:
    """Yield the folders in /proc of a process and its descendants."""
    waiting = [str(pid)]
    while waiting:
        process = Path("/proc", waiting.pop())
        yield process
        tasks: list[Path] = []
        with contextlib.suppress(OSError):  # it may end while it is read
            tasks = list((process / "task").iterdir())
        for task in tasks:
            with contextlib.suppress(OSError):
                waiting += (task / "children").read_text(encoding="utf-8").split()
