"""Programs that use too much of something end, and cost the grader nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpulab.grading.sandbox.mechanisms import VARIABLE, Mechanism
from gpulab.grading.sandbox.resource_limits import ResourceLimits
from gpulab.grading.sandbox.sandboxed_process import SandboxedProcess, descendants, usage_of
from tests.grading.sandbox.conftest import Runner

pytestmark = pytest.mark.slow

LIMITS = ResourceLimits(wall_s=30.0)


@pytest.fixture
def limits_processes(mechanism: Mechanism) -> None:
    if not mechanism.name.endswith("as-user") and os.geteuid() == 0:
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


WRITE_FILES = """
import os, sys, time
folder = os.path.expandvars(sys.argv[1])
for number in range(9):
    open(f"{folder}/{number}", "wb").write(bytes(1 << 20))
    time.sleep(0.1)
print("written")
"""


@pytest.mark.parametrize("folder", [".", "$TMPDIR", "/tmp", "/dev/shm"])
def test_size_of_all_files_is_limited(run: Runner, mechanism: Mechanism, folder: str) -> None:
    ended = run(WRITE_FILES, folder, limits=replace(LIMITS, scratch_bytes=4 << 20))
    assert "written" not in ended.output
    if mechanism.namespaces:
        assert "No space left" in ended.errors
    elif folder.startswith("/"):
        assert "PermissionError" in ended.errors
    else:
        assert ended.stopped_by == "it wrote more than 4 MiB of files"


@pytest.mark.parametrize(
    "fill",
    [
        "for number in range(100_000): open(str(number), 'w').close()",
        "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')",
        "import os\nfor _ in range(100): os.mkdir('d' * 250); os.chdir('d' * 250)",
        "import os; os.mkdir('d', 0o300); open('d/file', 'w').close()",
    ],
    ids=["many files", "deep", "long", "unreadable"],
)
def test_nothing_of_the_files_remains(run: Runner, tmp_path: Path, monkeypatch: Any, fill: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o711)
    monkeypatch.setattr("tempfile.tempdir", str(outside))
    monkeypatch.setenv("TMPDIR", str(outside))
    run(f"{fill}\nimport time; time.sleep(0.5)", limits=replace(LIMITS, scratch_bytes=64 << 20))
    assert list(outside.iterdir()) == []


def test_flood_of_output_is_limited(run: Runner) -> None:
    ended = run("while True: print('x' * 1000)", limits=replace(LIMITS, output_bytes=1 << 20))
    assert ended.stopped_by == "it wrote more than 1048576 bytes of output"
    assert len(ended.output) <= 1 << 20


def test_flood_of_errors_is_limited(run: Runner) -> None:
    code = "import sys\nwhile True: sys.stderr.write('x' * 1000)"
    ended = run(code, limits=replace(LIMITS, file_bytes=1 << 20))
    assert ended.returncode != 0
    assert len(ended.errors) <= 10_000


STAY = """
import os, subprocess, sys, time
def tries(function, *arguments, **options):
    try: function(*arguments, **options)
    except (OSError, subprocess.SubprocessError): pass
sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
tries(subprocess.Popen, sleep, start_new_session=True)
tries(subprocess.Popen, sleep, process_group=0)
subprocess.Popen(sleep)
if os.fork() == 0:
    tries(os.setsid)
    tries(os.setpgid, 0, 0)
    if os.fork() == 0: time.sleep(60)
    os._exit(0)
os.wait3(0)
print("started", flush=True); sys.stdin.readline()
"""


def test_background_processes_end_with_the_program(mechanism: Mechanism, submission: Path) -> None:
    with SandboxedProcess(["-c", STAY], folder=submission) as process:
        assert process.readline(30) == b"started\n"
        pids = [int(path.name) for path in descendants(process.pid)]
        assert len(pids) >= 4  # the sandbox's own, the program, and two that it left running
        process.write(b"\n")
        process.read()
        wait_until_ended(pids)
        assert process.returncode == 0


def test_all_processes_end_when_the_grader_closes_the_sandbox(mechanism: Mechanism, submission: Path) -> None:
    code = "import os, time\nfor _ in range(3): os.fork()\nprint('x', flush=True); time.sleep(60)"
    with SandboxedProcess(["-c", code], folder=submission) as process:
        for _ in range(8):
            process.readline(30)
        pids = [int(path.name) for path in descendants(process.pid)]
    assert len(pids) == 8 + (2 if mechanism.namespaces else 1)
    wait_until_ended(pids)


@pytest.mark.parametrize("code", [STAY, "import time; print('started', flush=True); time.sleep(60)"])
def test_sandbox_ends_when_the_grader_is_killed(mechanism: Mechanism, submission: Path, code: str) -> None:
    grade = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from gpulab.grading.sandbox.sandboxed_process import SandboxedProcess, descendants\n"
        "process = SandboxedProcess(['-c', sys.argv[2]], folder=Path(sys.argv[1]))\n"
        "process.readline(30)\n"
        "print(*(path.name for path in descendants(process.pid)), flush=True)\n"
        "time.sleep(60)"
    )
    grader = subprocess.Popen(
        [sys.executable, "-c", grade, str(submission), code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, VARIABLE: mechanism.name},
    )
    assert grader.stdout is not None
    pids = list(map(int, grader.stdout.readline().split()))
    grader.kill()
    grader.wait()
    grader.stdout.close()
    assert len(pids) >= 2
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
