"""Programs that use too much of something end, and cost the grader nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpulab.grading.sandbox.resource_limits import ResourceLimits
from gpulab.grading.sandbox.sandboxed_process import SandboxedProcess, descendants, usage_of
from tests.grading.sandbox.conftest import Runner

pytestmark = pytest.mark.slow

LIMITS = ResourceLimits(wall_s=30.0)


@pytest.fixture
def limits_processes(isolation: str) -> None:
    if isolation == "user namespace" and os.geteuid() == 0:
        pytest.skip("Linux does not limit the processes of root, in a user namespace neither")


@pytest.mark.usefixtures("limits_processes")
def test_fork_bomb_is_limited(run: Runner) -> None:
    code = (
        "import os, time\n"
        "started = 0\n"
        "for _ in range(500):\n"
        "    try:\n"
        "        if os.fork() == 0: time.sleep(60)\n"
        "    except OSError: break\n"
        "    started += 1\n"
        "print(started, flush=True); os._exit(0)"
    )
    ended = run(code, limits=replace(LIMITS, processes=50))
    assert 0 < int(ended.output) < 50


@pytest.mark.usefixtures("limits_processes")
def test_endless_fork_bomb_ends(run: Runner) -> None:
    code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    ended = run(code, limits=replace(LIMITS, wall_s=1.0, processes=50))
    assert ended.stopped_by


def test_memory_of_one_process_is_limited(run: Runner) -> None:
    ended = run("x = bytearray(20 << 30)", limits=LIMITS)
    assert "MemoryError" in ended.errors


@pytest.mark.parametrize(
    "allocate",
    ["x = b'x' * (100 << 20)", "import mmap; x = mmap.mmap(-1, 100 << 20); x.write(b'x' * len(x))"],
    ids=["anonymous", "shared"],
)
def test_memory_of_all_processes_is_limited(run: Runner, allocate: str) -> None:
    code = f"import os, time\nfor _ in range(3): os.fork()\n{allocate}\ntime.sleep(60)"
    ended = run(code, limits=replace(LIMITS, memory_bytes=400 << 20))
    assert ended.stopped_by == "it used more than 400 MiB of memory"


@pytest.mark.parametrize("processes", [1, 4])
def test_cpu_time_is_limited(run: Runner, processes: int) -> None:
    code = f"import os\nfor _ in range({processes} // 2): os.fork()\nwhile True: pass"
    ended = run(code, limits=replace(LIMITS, cpu_s=1.0))
    assert ended.stopped_by == "it used more than 1 s of CPU time"


def test_time_without_work_is_limited(run: Runner) -> None:
    ended = run("import time; time.sleep(60)", limits=replace(LIMITS, wall_s=0.5))
    assert ended.stopped_by == "it ran longer than 0.5 s"


def test_size_of_a_file_is_limited(run: Runner) -> None:
    ended = run("open('x', 'wb').write(bytes(3 << 20))", limits=replace(LIMITS, file_bytes=1 << 20))
    assert ended.returncode == 1


@pytest.mark.parametrize("folder", ["/submission", "/tmp", "/dev/shm"])
def test_size_of_all_files_is_limited(run: Runner, folder: str) -> None:
    code = f"for n in range(9): open(f'{folder}/{{n}}', 'wb').write(bytes(1 << 20))"
    ended = run(code, limits=replace(LIMITS, scratch_bytes=4 << 20))
    assert "No space left" in ended.errors


def test_flood_of_output_is_limited(run: Runner) -> None:
    ended = run("while True: print('x' * 1000)", limits=replace(LIMITS, output_bytes=1 << 20))
    assert ended.stopped_by == "it wrote more than 1048576 bytes of output"
    assert len(ended.output) <= 1 << 20


def test_flood_of_errors_is_limited(run: Runner) -> None:
    code = "import sys\nwhile True: sys.stderr.write('x' * 1000)"
    ended = run(code, limits=replace(LIMITS, file_bytes=1 << 20))
    assert ended.returncode != 0
    assert len(ended.errors) <= 10_000


def test_background_processes_end_with_the_program(isolation: str, submission: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0: time.sleep(60)\n"
        "    os._exit(0)\n"
        "print('started', flush=True); sys.stdin.readline()"
    )
    with SandboxedProcess(["-c", code], folder=submission) as process:
        assert process.readline(30) == b"started\n"
        pids = [int(path.name) for path in descendants(process.pid)]
        assert len(pids) >= 5  # two of bubblewrap, the program, and two that it left running
        process.write(b"\n")
        process.read()
        wait_until_ended(pids)


def test_all_processes_end_when_the_grader_closes_the_sandbox(isolation: str, submission: Path) -> None:
    code = "import os, time\nfor _ in range(3): os.fork()\nprint('x', flush=True); time.sleep(60)"
    with SandboxedProcess(["-c", code], folder=submission) as process:
        for _ in range(8):
            process.readline(30)
        pids = [int(path.name) for path in descendants(process.pid)]
    assert len(pids) == 10
    wait_until_ended(pids)


def test_sandbox_ends_when_the_grader_is_killed(isolation: str, submission: Path) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from gpulab.grading.sandbox import bubblewrap\n"
        "from gpulab.grading.sandbox.sandboxed_process import SandboxedProcess, descendants\n"
        "if sys.argv[2] == 'user namespace': bubblewrap.is_privileged = lambda: False\n"
        "process = SandboxedProcess(['-c', 'print(1, flush=True); import time; time.sleep(60)'],\n"
        "                           folder=Path(sys.argv[1]))\n"
        "process.readline(30)\n"
        "print(*(path.name for path in descendants(process.pid)), flush=True)\n"
        "time.sleep(60)"
    )
    grader = subprocess.Popen(
        [sys.executable, "-c", code, str(submission), isolation], stdout=subprocess.PIPE, text=True
    )
    assert grader.stdout is not None
    pids = list(map(int, grader.stdout.readline().split()))
    grader.kill()
    grader.wait()
    grader.stdout.close()
    assert len(pids) == 3
    wait_until_ended(pids)


def test_usage_counts_memory_and_time() -> None:
    usage = usage_of(os.getpid())
    assert usage.tasks >= 1
    assert usage.memory_bytes > 10 << 20
    assert usage.cpu_s > 0


def test_usage_of_processes_that_end_while_it_is_read() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do /bin/true & /bin/true; done"]) as shell:
        try:
            for _ in range(2000):  # many of these calls find a process that has just ended
                assert usage_of(shell.pid).tasks >= 1
        finally:
            shell.kill()


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a) R 1\n\x85b", b"\xe2\x80\xa8"])
def test_usage_of_a_process_whose_name_is_no_text(name: bytes) -> None:
    code = f"import ctypes, sys; ctypes.CDLL(None).prctl(15, {name!r}); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        usage = usage_of(process.pid)
    assert usage.tasks == 1
    assert usage.memory_bytes > 1 << 20


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_ended(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [pid for pid in pids if is_running(pid)] == []
