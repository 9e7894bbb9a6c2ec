"""`require_kernel`: the check of the small kernels of lab 0."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpulab import session
from gpulab.cell import parse_cell
from gpulab.errors import CompileError, GpulabError, KernelNotWritten, UsageError, WrongResult
from gpulab.exercises.lab0_kernels import KERNELS
from gpulab.exercises.lab_session import current_lab
from gpulab.grading.checks import require_kernel, require_one_of
from gpulab.grading.release.stub import kernel_stub
from gpulab.notebook import screen
from gpulab.notebook.failure import rendered
from gpulab.views.html import View

pytestmark = pytest.mark.usefixtures("empty_session")

AXPY = """%%cuda axpy
__global__ void axpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}"""
TOTAL = """%%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) part = 0;
    __syncthreads();
    if (i < n) atomicAdd(&part, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(sum, part);
}"""
TREE = """%%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(sum, part[0]);
}"""
SHUFFLES = """%%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part[8];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, mine = i < n ? x[i] : 0;
    for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
    if (t % 32 == 0) part[t / 32] = mine;
    __syncthreads();
    if (t > 0) return;
    for (int k = 1; k < 8; ++k) mine += part[k];
    atomicAdd(sum, mine);
}"""
SERIAL = """%%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, all = 0;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    if (t > 0) return;
    for (int k = 0; k < 256; ++k) all += part[k];
    atomicAdd(sum, all);
}"""
HISTOGRAM = """%%cuda histogram
__global__ void histogram(const int* x, int n, int* bins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[x[i]], 1);
}"""
PRIVATE = """%%cuda histogram
__global__ void histogram(const int* x, int n, int* bins)
{
    __shared__ int part[16];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 16) part[t] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&part[x[i]], 1);
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], part[t]);
}"""
TURNS = """%%cuda in_turn
__global__ void in_turn(int* order)
{
    __shared__ int turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    for (int k = 0; k < blockDim.x; ++k) {
        if (threadIdx.x == k) order[turn] = k, turn = turn + 1;
        __syncthreads();
    }
}"""
NO_TURNS = """%%cuda in_turn
__global__ void in_turn(int* order) { order[threadIdx.x] = threadIdx.x; }"""
IN_TURN = """%%cuda in_turn
__global__ void in_turn(int* order)
{
    __shared__ volatile int turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    while (turn != threadIdx.x) { }
    order[turn] = threadIdx.x;
    turn = turn + 1;
}"""
OWN_TURNS = """%%cuda in_turn
__global__ void in_turn(int* order)
{
    __shared__ int turn[64];
    turn[threadIdx.x] = threadIdx.x;
    for (int k = 1; k < blockDim.x; ++k) __syncthreads();
    for (int k = 0; k < blockDim.x; ++k) if (k == threadIdx.x) order[k] = turn[k];
}"""
POLLS = """%%cuda in_turn
__global__ void in_turn(int* order)
{
    __shared__ int turn;
    int t = threadIdx.x;
    if (t == 0) atomicExch(&turn, 0);
    __syncthreads();
    for (bool done = false; !done;) {
        if (atomicAdd(&turn, 0) == t) {
            order[t] = t;
            atomicAdd(&turn, 1);
            done = true;
        }
    }
}"""

ROW_MAJOR = """%%cuda row_major --block 16 16
__global__ void row_major(float* C, const float* A, const float* B, int rows, int columns, int depth)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < depth; ++k)
        sum += A[y * depth + k] * B[k * columns + x];
    C[y * columns + x] = sum;
}"""


def run(source: str) -> str:
    """Store a cell in the session and check its kernel; return the name of the kernel."""
    cell = parse_cell(source)
    session.keep_cell(cell)
    require_kernel(cell.name, points=2)
    return cell.name


@pytest.mark.parametrize("source", [AXPY, TOTAL, TREE, SHUFFLES, TURNS, POLLS, ROW_MAJOR])
def test_right_kernel_earns_its_points(source: str) -> None:
    assert current_lab().points[run(source)] == 2


def test_access_past_the_end_names_line_and_thread() -> None:
    with pytest.raises(WrongResult, match=r"line 5: thread .* just past the end of x"):
        run(AXPY.replace("if (i < n) ", ""))


def test_wrong_value_names_the_element_and_the_likely_cause() -> None:
    with pytest.raises(WrongResult, match=r"y\[0\] is .* No thread changed it"):
        run(AXPY.replace("if (i < n) ", "if (i < 0) "))


def test_failed_check_takes_the_points_of_an_earlier_one() -> None:
    run(AXPY)
    with pytest.raises(WrongResult):
        run(AXPY.replace("i < n", "i < 0"))
    assert current_lab().points["axpy"] == 0


def test_missed_requirement_says_that_the_values_are_right() -> None:
    each = TOTAL.replace("if (threadIdx.x == 0) atomicAdd(sum, part);", "if (i < n) atomicAdd(sum, x[i]);")
    with pytest.raises(WrongResult, match=r"the values are right, but there are [0-9,]+ atomic operations"):
        run(each)


def test_input_that_changes_is_reported() -> None:
    with pytest.raises(
        WrongResult, match=r"must not write to x\. It is parameter 1 of the kernel, and an input"
    ):
        run(TOTAL.replace("const int* x", "int* x").replace("sum, part);", "sum, part), x[0] = 1000;"))


def test_loop_that_needs_independent_threads_is_refused() -> None:
    with pytest.raises(WrongResult, match="before Volta"):
        run(IN_TURN)


def test_threads_without_turns_are_refused() -> None:
    with pytest.raises(WrongResult, match="0 updates of shared memory"):
        run(NO_TURNS)


def test_turns_without_order_are_refused() -> None:
    together = NO_TURNS.replace("{ ", "{ __shared__ int turn; atomicAdd(&turn, 1); ")
    with pytest.raises(WrongResult, match="2 requests"):
        run(together)


def test_barriers_between_threads_that_exchange_nothing_are_refused() -> None:
    with pytest.raises(WrongResult, match="no thread reads what another one stores"):
        run(OWN_TURNS)


def test_first_barrier_of_turns_is_required() -> None:
    with pytest.raises(WrongResult, match="reads turn"):
        run(TURNS.replace("__syncthreads();", "", 1).replace("threadIdx.x == k", "threadIdx.x == turn"))


def test_race_in_the_condition_of_turns_is_reported() -> None:
    loop = TURNS.replace("for (int k = 0; k < blockDim.x; ++k)", "while (turn < blockDim.x)")
    with pytest.raises(WrongResult, match="writes turn, which another thread reads"):
        run(loop.replace("threadIdx.x == k", "threadIdx.x == turn").replace("= k,", "= turn,"))


def test_volatile_does_not_replace_a_barrier() -> None:
    lecture = IN_TURN.replace(
        "while (turn != threadIdx.x) { }", "while (turn < blockDim.x) if (turn == threadIdx.x) {"
    )
    with pytest.raises(WrongResult, match="remove `volatile`"):
        run(lecture.replace("turn + 1;", "turn + 1; }"))


def test_sum_in_floats_is_wrong() -> None:
    with pytest.raises(WrongResult, match=r"sum\[0\] is \d+, not \d+"):
        run(TREE.replace("__shared__ int", "__shared__ float"))


def test_sum_by_one_thread_of_a_block_is_refused() -> None:
    with pytest.raises(WrongResult, match="load 263 values one after the other"):
        run(SERIAL)


def test_finding_comes_without_values() -> None:
    with pytest.raises(WrongResult) as caught:
        run(TREE.replace("i < n ? x[i] : 0", "x[i]"))
    assert "past the end of x" in str(caught.value)
    assert "are wrong" not in str(caught.value)


def test_index_without_the_block_is_asked_for() -> None:
    with pytest.raises(WrongResult, match=r"blockIdx.x \* blockDim.x\?") as caught:
        run(AXPY.replace("blockIdx.x * blockDim.x + ", ""))
    assert "tomic" not in str(caught.value)


def test_endless_kernel_ends() -> None:
    with pytest.raises(GpulabError):
        run(IN_TURN.replace("turn != threadIdx.x", "true"))


def test_other_block_in_the_header_is_refused() -> None:
    with pytest.raises(UsageError, match="--block 256"):
        run(TOTAL.replace("--block 256", "--block 128"))


def test_failure_is_shown_with_the_source_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[View] = []
    monkeypatch.setattr(screen, "show", shown.append)
    with pytest.raises(WrongResult) as caught:
        run(AXPY.replace("if (i < n) ", ""))
    assert "   5 |     y[i] = a * x[i] + y[i];" in shown[0].text
    (line,) = rendered(caught.value)
    assert "correct the index" in shown[0].text
    assert "correct the index" not in line


@pytest.mark.parametrize(
    "parameters", ["float a, const float* x, float* y", "int n, float a, const double* x, double* y"]
)
def test_other_parameters_are_refused(parameters: str) -> None:
    kernel = AXPY.replace("int n, float a, const float* x, float* y", parameters).replace("i < n", "i < 1")
    with pytest.raises(UsageError, match=re.escape("(int, float, float*, float*)")):
        run(kernel)


@pytest.mark.parametrize(
    "count",
    [
        "if (i == 0) for (int k = 0; k < n; ++k) ++bins[x[k]];",
        "if (i < 16) for (int k = 0; k < n; ++k) bins[i] += x[k] == i;",
    ],
)
def test_counts_without_sharing_the_elements_are_refused(count: str) -> None:
    with pytest.raises(WrongResult, match="let each thread count one element"):
        run(HISTOGRAM.replace("if (i < n) atomicAdd(&bins[x[i]], 1);", count))


def test_unknown_exercise_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="axpy"):
        require_kernel("nothing", points=1)


def test_missing_kernel_names_its_cell() -> None:
    with pytest.raises(UsageError, match="%%cuda"):
        require_kernel("axpy", points=1)


def test_every_exercise_is_in_the_notebook() -> None:
    text = (Path(__file__).parents[3] / "labs/00_devicequery/devicequery.ipynb").read_text(encoding="utf-8")
    assert set(re.findall(r'require_kernel\(\\"(\w+)\\"', text)) == {exercise.name for exercise in KERNELS}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("B[k * columns + x]", "B[k * rows + x]"),
        ("A[y * depth + k]", "A[y * columns + k]"),
        ("C[y * columns + x]", "C[y * rows + x]"),
        ("k < depth", "k < rows"),
    ],
)
def test_mistake_that_squares_hide_is_found_at_another_size(right: str, wrong: str) -> None:
    with pytest.raises(WrongResult, match=r"row_major is not correct.\nrows = (\d+), columns = (?!\1)"):
        run(ROW_MAJOR.replace(right, wrong))


def test_wrong_element_of_a_matrix_has_its_row_and_column() -> None:
    with pytest.raises(WrongResult, match=r"C\[16\] is nan, not .* row 0, column 16. No thread stored it"):
        run(ROW_MAJOR.replace("blockIdx.x * BLOCK_X + ", ""))


def test_block_of_another_shape_is_refused() -> None:
    with pytest.raises(UsageError, match="blocks of 16 x 16 threads: keep `--block 16 16`"):
        run(ROW_MAJOR.replace("--block 16 16", "--block 32 8"))


def test_unwritten_kernel_is_named() -> None:
    with pytest.raises(KernelNotWritten, match=r"axpy is not written yet: .* line 4 by"):
        run(f"%%cuda axpy\n__global__ void axpy() {{\n{kernel_stub('axpy')}\n}}")


def test_written_kernel_decides_the_error_of_a_choice() -> None:
    for name, body in (("K34", kernel_stub("matmul.K34")), ("K4g", "int x = ;")):
        session.keep_cell(parse_cell(f"%%cuda matmul.{name}\n__global__ void mmkernel() {{\n{body}\n}}"))
    with pytest.raises(CompileError, match="expected an expression"):
        require_one_of(("matmul.K34", "matmul.K4g"), points=7)
