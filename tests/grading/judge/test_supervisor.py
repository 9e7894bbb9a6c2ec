"""Judged submissions of a small notebook: what earns points, and what costs them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbgrader", reason="grading needs the lab extra")

from gpulab.grading.judge import supervisor
from gpulab.grading.judge.judging import limit_cpu, limit_memory
from gpulab.grading.judge.plan import NotebookPlan, PlanCell
from gpulab.grading.judge.records import JudgedSubmission, JudgeTask
from gpulab.grading.judge.student_client import StudentProcess, StudentProcessFailed
from gpulab.grading.judge.supervisor import judge
from gpulab.grading.sandbox.mechanisms import unavailable_reason
from gpulab.grading.sandbox.sandboxed_process import LimitedProcess

pytestmark = pytest.mark.skipif(unavailable_reason() != "", reason=unavailable_reason())

KERNEL = """\
%%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    for (int z = 1; z < nz - 1; z++) {
        const float* A = A0 + x + nx * (y + ny * z);
        Anext[x + nx * (y + ny * z)] = A[1] + A[-1] + A[nx] + A[-nx] + A[nx * ny] + A[-nx * ny]
            - 6.0f * A[0] / (fac * fac);
    }
}"""
STUB = '%%cuda stencil.naive --block 32 8\n// YOUR CODE HERE\n#error "stencil.naive is not written yet"'
PLAN = NotebookPlan(
    "lab",
    (
        PlanCell("setup", "setup", "%load_ext gpulab\nimport gpulab"),
        PlanCell("solution", "naive", KERNEL),
        PlanCell(
            "test",
            "naive_test",
            'from gpulab.grading.checks import require_correct\nrequire_correct("stencil.naive")',
            points=10,
        ),
        PlanCell("answers", "numbers", "numbers = {'a': 1, 'b': 2}", names=("numbers",)),
        PlanCell(
            "test",
            "numbers_test",
            "given = globals().get('numbers', {})\n(given.get('a') == 1) + (given.get('b') == 2)",
            points=2,
        ),
        PlanCell("answers", "double", "def double(x):\n    return 2 * x", names=("double",)),
        PlanCell("test", "double_test", "assert double(21) == 42", points=3),
    ),
)
ANSWERS = "numbers = {'a': 1, 'b': 2}"
DOUBLE = "def double(x):\n    return 2 * x"


def judged(*sources: str, ids: Mapping[int, str] | None = None) -> JudgedSubmission:
    cells = [
        {
            "cell_type": "code",
            "source": source,
            "outputs": [],
            "metadata": {"nbgrader": {"grade_id": (ids or {}).get(index, "")}},
        }
        for index, source in enumerate(sources)
    ]
    return judge(JudgeTask("lab", "student", PLAN, json.dumps({"cells": cells}), b"secret", "sim"))


@pytest.fixture(scope="module")
def right() -> JudgedSubmission:
    return judged(KERNEL, ANSWERS, DOUBLE)


def test_right_submission_earns_all_points(right: JudgedSubmission) -> None:
    assert right.error == ""
    assert right.scores == {"naive_test": 10, "numbers_test": 2, "double_test": 3}


def test_kernel_is_inspected_and_timed(right: JudgedSubmission) -> None:
    (kernel,) = right.kernels
    assert (kernel.name, kernel.state) == ("stencil.naive", "right")
    assert kernel.timing is not None


def test_judged_submission_survives_json(right: JudgedSubmission) -> None:
    assert JudgedSubmission.from_dict(json.loads(json.dumps(right.as_dict()))).as_dict() == right.as_dict()


def test_wrong_kernel_earns_nothing_and_names_the_reason() -> None:
    result = judged(KERNEL.replace("A[-1]", "A[-2]"), ANSWERS, DOUBLE)
    assert result.scores == {"naive_test": 0, "numbers_test": 2, "double_test": 3}
    assert result.kernels[0].state == "wrong"
    assert result.kernels[0].reasons


def test_stub_is_not_written() -> None:
    assert judged(STUB).kernels[0].state == "not written"


def test_partly_written_kernel_is_not_written() -> None:
    assert judged(STUB + "\nint mine() { return 1; }").kernels[0].state == "not written"


def test_missing_cells_earn_nothing() -> None:
    assert sum(judged().scores.values()) == 0


def test_text_that_does_not_compile_has_diagnostics() -> None:
    kernel = judged(KERNEL.replace("return;", "return")).kernels[0]
    assert kernel.state == "does not compile"
    assert kernel.diagnostics


def test_partial_numbers_earn_part_of_the_points() -> None:
    assert judged("numbers = {'a': 1, 'b': 5}").scores["numbers_test"] == 1


@pytest.mark.parametrize(
    "cell",
    [
        "import os\nos._exit(3)",
        "import ctypes\nctypes.string_at(0)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "import sys\nsys.exit()",
        "raise SystemExit",
        "1 / 0",
        "def broken(:",
        "%%nothing\nx",
        "import os\nos.close(0); os.close(1); [os.close(n) for n in range(3, 20)]",
    ],
)
def test_cell_that_fails_costs_only_itself(cell: str) -> None:
    assert judged(cell, ANSWERS, DOUBLE).scores == {"naive_test": 0, "numbers_test": 2, "double_test": 3}


def test_flood_of_output_costs_only_itself() -> None:
    result = judged("for _ in range(300): print('x' * 10**6)", ANSWERS)
    assert result.scores["numbers_test"] == 2
    assert len(json.dumps(result.as_dict())) < 3_000_000
    assert [(incident.kind, incident.reason) for incident in result.incidents] == [
        ("flooded", "it wrote more than 64 MiB of output and was stopped.")
    ]


def test_a_million_short_lines_are_cut_and_cost_nothing() -> None:
    result = judged("for i in range(10**6): print(i)\n" + ANSWERS)
    assert result.scores["numbers_test"] == 2
    assert result.incidents == ()


@pytest.mark.parametrize(
    "cell",
    [
        # An answer that is equal to everything.
        "class Any(float):\n    __eq__ = lambda s, o: True\nnumbers = {'a': Any(7), 'b': Any(7)}",
        # A dictionary that answers what is asked.
        "class D(dict):\n    def get(self, k, d=None): return {'a': 1, 'b': 2}[k]\nnumbers = D()",
        # Checks that are replaced in the student's process.
        "import gpulab.grading.checks as c\nc.require_kernel = c.require_correct = lambda *a, **k: None",
        "import math\nmath.isclose = lambda *a, **k: True",
        "import sys, types\nsys.modules['gpulab.grading.checks'] = types.SimpleNamespace()",
        # Replies that the judge did not ask for.
        'import os\n[os.write(n, b\'{"values": {"numbers": {"items": [["a", 1]]}}}\\n\') for n in (1, 2)]',
        "import atexit\natexit.register(lambda: print(10))",
        "from IPython import get_ipython\nget_ipython().input_transformers_cleanup.append(lambda lines: [])",
        "print(10)\n10",
    ],
)
def test_python_cheat_earns_nothing(cell: str) -> None:
    assert sum(judged(cell).scores.values()) == 0


def test_text_of_a_test_cell_does_not_run() -> None:
    assert sum(judged("10", "10", ids={0: "naive_test", 1: "numbers_test"}).scores.values()) == 0


def test_file_that_is_not_a_notebook_is_an_error() -> None:
    result = judge(JudgeTask("lab", "student", PLAN, "nonsense", b"secret", "sim"))
    assert "not a notebook" in result.error
    assert result.cells == ()


def test_files_of_the_release_lie_beside_the_notebook(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "a.txt").write_text("1")
    tmp_path.chmod(0o755)
    cell = "numbers = {'a': int(open('figures/a.txt').read()), 'b': 2}"
    text = json.dumps({"cells": [{"cell_type": "code", "source": cell, "metadata": {}}]})
    files = {"figures": str(tmp_path / "figures")}
    task = JudgeTask("lab", "student", PLAN, text, b"secret", "sim", files=files)
    assert judge(task).scores["numbers_test"] == 2


def test_wrong_kernel_has_a_picture_in_its_test_cell() -> None:
    cell = judged(KERNEL.replace("A[-1]", "A[-2]")).cells[0]
    shown = [
        output["data"]["text/html"] for output in cell.outputs if output["output_type"] == "display_data"
    ]
    assert any("<svg" in html for html in shown)


def test_saved_output_that_claims_more_points_is_reported() -> None:
    claimed = {"cell_type": "code", "source": "", "outputs": [], "execution_count": 3}
    claimed["metadata"] = {"nbgrader": {"grade_id": "naive_test"}}
    result = judge(JudgeTask("lab", "student", PLAN, json.dumps({"cells": [claimed]}), b"secret", "sim"))
    assert result.scores["naive_test"] == 0
    assert [incident.cell for incident in result.incidents if incident.kind == "claims differ"] == [
        "naive_test"
    ]


def test_right_submission_has_no_incident(right: JudgedSubmission) -> None:
    assert right.incidents == ()


def test_same_text_is_judged_on_the_same_sizes() -> None:
    wrong = KERNEL.replace("A[-1]", "A[-2]")
    assert judged(wrong).kernels[0].reasons == judged(wrong).kernels[0].reasons


def test_process_that_does_not_start_is_an_error_and_not_zero_points() -> None:
    def start() -> LimitedProcess:
        return LimitedProcess(["/bin/sh", "-c", "echo no module named IPython >&2; exit 1"])

    with StudentProcess(start) as student, pytest.raises(StudentProcessFailed, match="IPython"):
        student.run("1", "cell")


def test_submission_is_judged_without_a_sandbox_if_requested() -> None:
    text = json.dumps({"cells": [{"cell_type": "code", "source": ANSWERS, "metadata": {}}]})
    assert (
        judge(JudgeTask("lab", "s", PLAN, text, b"secret", "sim", sandboxed=False)).scores["numbers_test"]
        == 2
    )


def test_server_that_refuses_for_a_moment_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ask, refusals = supervisor._ask_server, iter(range(5))

    def refuse_at_first(*args: Any) -> Any:
        if next(refusals, None) is not None:
            raise ConnectionRefusedError
        return ask(*args)

    monkeypatch.setattr(supervisor, "_ask_server", refuse_at_first)
    run = supervisor.messages(emit_once, deadline=time.monotonic() + 60)
    assert list(run) == [("said", 1)]


def test_memory_of_a_judge_is_limited() -> None:
    run = supervisor.messages(allocate_beyond_the_limit, deadline=time.monotonic() + 60)
    assert list(run) == [("refused", 1 << 30)]


def allocate_beyond_the_limit(emit: Callable[[str, Any], None]) -> None:
    limit_memory(1 << 30)
    try:
        bytearray(2 << 30)
    except MemoryError:
        emit("refused", 1 << 30)


def test_processor_time_of_a_judge_is_limited() -> None:
    run = supervisor.messages(compute_without_end, deadline=time.monotonic() + 60)
    assert list(run) == [
        ("said", 1),
        ("stopped", "it needed more than 40 s of processor time and was stopped."),
    ]


def test_silent_judge_is_stopped_and_its_time_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "SILENCE_S", 60)
    monkeypatch.setattr(supervisor, "CELL_SILENCE_S", 1)
    run = supervisor.messages(emit_and_sleep, deadline=time.monotonic() + 60)
    assert list(run) == [("said", 1), ("stopped", "it did not end within 1 s and was stopped.")]


def emit_and_sleep(emit: Callable[[str, Any], None]) -> None:
    emit("said", 1)
    time.sleep(60)


def compute_without_end(emit: Callable[[str, Any], None]) -> None:
    emit("said", 1)
    limit_cpu(1)
    while True:
        pass


def emit_once(emit: Callable[[str, Any], None]) -> None:
    emit("said", 1)
