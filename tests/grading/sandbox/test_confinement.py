"""The view that a student's process has of the machine, by each mechanism of the sandbox."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import gpulab
from gpulab.grading.sandbox.mechanisms import Mechanism
from gpulab.grading.sandbox.sandboxed_process import SandboxedProcess
from tests.grading.sandbox.conftest import Runner

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]

# Prints which of the paths in its arguments can be read in any way.
READABLE = """
import json, os, sys
def readable(path):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").close()
    except OSError:
        return False
    return True
print(json.dumps([path for path in sys.argv[1:] if readable(path)]))
"""


def test_no_network(run: Runner, mechanism: Mechanism) -> None:
    ended = run(
        "import errno, socket\n"
        "for address in (('127.0.0.1', 22), ('192.0.2.1', 80)):\n"
        "    try: socket.create_connection(address, 5)\n"
        "    except OSError as error: print(errno.errorcode[error.errno])"
    )
    expected = ["ECONNREFUSED", "ENETUNREACH"] if mechanism.namespaces else ["EPERM"] * 2
    assert ended.output.split() == expected


def test_files_of_the_grader_are_not_visible(run: Runner, mechanism: Mechanism, tmp_path: Path) -> None:
    (tmp_path / "gradebook.db").write_bytes(b"grades")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "matmul.ipynb").write_text("{}")
    hidden = [
        tmp_path,
        tmp_path / "gradebook.db",
        tmp_path / "other" / "matmul.ipynb",
        *(REPOSITORY / name for name in (".git", "labs", "grading", "tests", "pyproject.toml")),
        "/etc/passwd",
        "/etc/shadow",
        "/home",
        "/var",
        "/run",
        "/sys",
        "/proc/1/environ",
        "/dev/kmsg",
    ]
    visible = json.loads(run(READABLE, *map(str, hidden)).output)
    if mechanism.name.endswith("bubblewrap") and visible == ["/proc/1/environ"]:  # bubblewrap itself
        assert "PATH" not in run("print(open('/proc/1/environ').read())").output
    else:
        assert visible == []


def test_parents_of_the_package_contain_nothing_else(run: Runner, mechanism: Mechanism) -> None:
    package = Path(gpulab.__file__).resolve().parent
    ended = run("import os, sys; print(os.listdir(sys.argv[1]))", str(package.parent))
    if not package.is_relative_to(sys.prefix):
        assert ended.output.strip() == ("['gpulab']" if mechanism.namespaces else "")


def test_links_of_a_submission_are_left_out(run: Runner, submission: Path, tmp_path: Path) -> None:
    (tmp_path / "gradebook.db").write_bytes(b"grades")
    (submission / "figures").symlink_to(tmp_path)
    (submission / "lab.ipynb").symlink_to(tmp_path / "gradebook.db")
    assert run("import os; print(os.listdir())").output.strip() == "[]"


def test_environment_variables_are_not_passed_on(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_TOKEN", "secret")
    ended = run("import os; print(dict(os.environ))", environment={"GPULAB_GRADING": "1"})
    assert "COURSE_TOKEN" not in ended.output
    assert "'GPULAB_GRADING': '1'" in ended.output
    assert "'CUDA_VISIBLE_DEVICES': ''" in ended.output


def test_home_is_empty_and_writable(run: Runner) -> None:
    ended = run(
        "import os, pathlib\n"
        "for name in ('HOME', 'IPYTHONDIR', 'GPULAB_CACHE', 'TMPDIR'):\n"
        "    folder = pathlib.Path(os.environ[name])\n"
        "    print(list(folder.iterdir()), (folder / 'new').write_text('x'))"
    )
    assert ended.output.splitlines() == ["[] 1"] * 4


def test_given_files_are_read_only(run: Runner, submission: Path, tmp_path: Path) -> None:
    (submission / "lab.ipynb").write_text("{}")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "halo.svg").write_text("<svg/>")
    ended = run(
        "import os, sys\n"
        "def writable(path):\n"
        "    try: open(path, 'a').close()\n"
        "    except OSError: return False\n"
        "    return True\n"
        "print(open('figures/halo.svg').read())\n"
        "print([writable(path) for path in ('lab.ipynb', 'figures/new', '/usr/new', '/new', '/dev/new')])\n"
        "print(writable(os.path.join(sys.argv[1], 'new.py')), writable('own.txt'))",
        str(Path(gpulab.__file__).parent),
        read_only=[tmp_path / "figures"],
    )
    assert ended.output.splitlines() == ["<svg/>", str([False] * 5), "False True"]
    assert not (submission / "own.txt").exists()


@pytest.mark.parametrize(
    "name",
    ["numpy.py", "gpulab.py", "json.py", "sitecustomize.py", "usercustomize.py", "IPython/__init__.py"],
)
def test_modules_beside_the_notebook_are_not_imported(run: Runner, submission: Path, name: str) -> None:
    path = submission / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("print('imported from the submission')")
    code = "import numpy, gpulab, json, IPython; print(len([p for p in sys.path if not p or p == '.']))"
    ended = run(
        f"import sys; {code}",
        environment={"PYTHONPATH": "/submission", "PYTHONSTARTUP": f"/submission/{name}"},
    )
    assert (ended.output, ended.returncode) == ("0\n", 0)


def test_startup_files_of_ipython_are_not_run(run: Runner, submission: Path) -> None:
    startup = submission / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("print('startup file')")
    (submission / "ipython_config.py").write_text("print('configuration')")
    ended = run(
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('print(40 + 2)')"
    )
    assert ended.output == "42\n"


def test_kernel_compiles_and_runs_on_the_simulator(run: Runner) -> None:
    ended = run(
        "import numpy, IPython, gpulab\n"
        "device = gpulab.device('sim')\n"
        "double_it = device.compile('__global__ void double_it(float* x) { x[threadIdx.x] *= 2; }')\n"
        "x = device.full(32, 1.0)\n"
        "double_it(1, 32, (x,))\n"
        "print(device.asnumpy(x).sum())"
    )
    assert ended.output == "64.0\n", ended.errors


def test_process_runs_without_privileges(run: Runner, mechanism: Mechanism) -> None:
    ended = run("print([line for line in open('/proc/self/status') if line.startswith(('CapEff', 'NoNew'))])")
    assert "CapEff:\\t0000000000000000" in ended.output
    assert "NoNewPrivs:\\t1" in ended.output
    if mechanism.name != "landlock":
        assert run("import os; print(os.getuid())").output.strip() != str(os.getuid())


def test_process_starts_programs_and_threads(run: Runner) -> None:
    ended = run(
        "import subprocess, threading\n"
        "thread = threading.Thread(target=subprocess.run, args=[['echo', 'started']])\n"
        "thread.start(), thread.join()"
    )
    assert "started" in ended.output, ended.errors


def test_start_takes_little_cpu_time(run: Runner) -> None:
    # The bound allows for a slow machine; start and these imports take about 0.3 s of CPU time.
    ended = run("import IPython.core.interactiveshell, numpy, os; print(sum(os.times()[:2]))")
    assert float(ended.output) < 2.0


def test_process_reads_requests_and_answers_by_line(mechanism: Mechanism, submission: Path) -> None:
    code = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)"
    with SandboxedProcess(["-c", code], folder=submission) as process:
        process.write(b"one\n")
        assert process.readline(30) == b"ONE\n"
        with pytest.raises(TimeoutError):
            process.readline(0.05)
        process.write(b"two\n")
        assert process.readline(30) == b"TWO\n"
