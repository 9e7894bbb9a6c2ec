"""Exercises that docs/authoring.md declares beside its transpose, with kernels for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpulab.cell import parse_cell
from gpulab.config import KernelConfig
from gpulab.devices import open_device
from gpulab.errors import ProblemError, UsageError
from gpulab.grading.checks.sizes import draw_check_inputs
from gpulab.problems import Input, Output, Problem, Scalar, Size, Step, load_problems, registry
from gpulab.profiling.counts.counters import record_launch
from gpulab.verification.check import CheckResult, check_cell
from gpulab.verification.compare import compare
from gpulab.views.cell_view import checked_view

PAGE = Path(__file__).parents[2] / "docs" / "authoring.md"
DECLARATIONS = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)

SPMV = """\
%%cuda spmv.scalar --block 128
__global__ void spmv(float* y, const float* value, const int* column, const int* start, const float* x, int n)
{
    int r = blockIdx.x * BLOCK_X + threadIdx.x;
    if (r >= n) return;
    float sum = 0;
    for (int k = start[r]; k < start[r + 1]; ++k) sum += value[k] * x[column[k]];
    y[r] = sum;
}
"""
SORT = """\
%%cuda sort.in_shared
__global__ void sort(float* x, int n)
{
    extern __shared__ float s[];
    for (int i = threadIdx.x; i < n; i += BLOCK_X) s[i] = x[i];
    __syncthreads();
    for (int k = 2; k <= n; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            for (int i = threadIdx.x; i < n; i += BLOCK_X)
                if ((i ^ j) > i && (s[i] > s[i ^ j]) == !(i & k)) {
                    float t = s[i];
                    s[i] = s[i ^ j];
                    s[i ^ j] = t;
                }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < n; i += BLOCK_X) x[i] = s[i];
}
"""
NEAREST = """\
%%cuda nearest.naive
__global__ void nearest(int* label, float* distance, const float2* point, const float2* centre, int n, int k)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i >= n) return;
    float least = 1e30f;
    for (int c = 0; c < k; ++c) {
        float x = point[i].x - centre[c].x, y = point[i].y - centre[c].y, d = x * x + y * y;
        if (d < least) {
            least = d;
            label[i] = c;
        }
    }
    distance[i] = least;
}
"""
MANDELBROT = """\
%%cuda mandelbrot.naive
__global__ void mandelbrot(int* count, float x0, float y0, int width, int height)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (i >= width || j >= height) return;
    float a = x0 + 0.02f * i, b = y0 + 0.02f * j, x = 0, y = 0;
    int n = 0;
    for (; n < 50 && x * x + y * y <= 4; ++n) {
        float next = x * x - y * y + a;
        y = 2 * x * y + b;
        x = next;
    }
    count[j * width + i] = n;
}
"""
COMPACT = """\
%%cuda compact.ballot --block 128
__global__ void compact(float* kept, int* count, const float* x, int n)
{
    int i = n - 1 - (int) (blockIdx.x * BLOCK_X + threadIdx.x), lane = threadIdx.x % 32;
    float v = i >= 0 ? x[i] : 0;
    unsigned votes = __ballot_sync(~0u, v > 0);
    int start = 0;
    if (lane == 0) start = atomicAdd(count, __popc(votes));
    start = __shfl_sync(~0u, start, 0);
    if (v > 0) kept[start + __popc(votes & ((1u << lane) - 1))] = v;
}
"""


@pytest.fixture(autouse=True)
def declared(no_labs: None, tmp_path: Path) -> None:
    for number, text in enumerate(DECLARATIONS):
        path = tmp_path / f"problem{number}.py"
        path.write_text(text, encoding="utf-8")
        load_problems(path)


def check(text: str) -> CheckResult:
    """Check a kernel on sizes as the grader draws them."""
    cell = parse_cell(text)
    inputs = draw_check_inputs(cell, np.random.default_rng(1))
    return check_cell(
        cell, open_device("sim"), inputs.shapes, seed=1, counted=inputs.counted, timed=inputs.timed
    )


@pytest.mark.parametrize(
    "text",
    [SPMV, SORT, NEAREST, MANDELBROT, COMPACT],
    ids=["spmv", "sort", "nearest", "mandelbrot", "compact"],
)
def test_kernel_of_another_kind_is_correct(text: str) -> None:
    assert check(text).reasons == ()


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (SPMV, "k < start[r + 1]", "k <= start[r + 1]", "past the end of column"),
        (SPMV, "x[column[k]]", "x[column[start[r]]]", "values are wrong"),
        (SORT, "== !(i & k)", "== !!(i & k)", "values are wrong"),
        (
            SORT,
            "extern __shared__ float s[]",
            "extern __shared__ double s[]",
            "bytes of dynamic shared memory",
        ),
        (NEAREST, "label[i] = c;", "label[i] = c + 1;", ", label: "),
        (NEAREST, "distance[i] = least", "distance[i] = sqrtf(least)", ", distance: "),
        (MANDELBROT, "y * y <= 4", "y * y <= 2", "values are wrong"),
        (MANDELBROT, "x0 + 0.02f * i", "x0 + 0.02f * j", "values are wrong"),
        (COMPACT, "(1u << lane)", "(2u << lane)", "first at kept[0] in sorted order: expected 0."),
        (COMPACT, "] = v;", "] = x[i / 2];", "values are wrong"),
        (NEAREST, "int* label", "float* label", "parameter 1 must be int* (label)"),
    ],
)
def test_wrong_kernel_of_another_kind_is_refused(text: str, old: str, new: str, message: str) -> None:
    assert old in text
    result = check(text.replace(old, new))
    assert message in " ".join(result.reasons)


def problem_of(*arguments: Input | Output | Scalar | str, **facts: object) -> Problem:
    """Return a problem with the output y and further arguments, or with other facts."""
    given: dict[str, Any] = {
        "arguments": (Output("y", ("n",)), *arguments),
        "sizes": {"n": 64},
        "reference": lambda x: x,
        "steps": (Step("naive", "each element"),),
    }
    return Problem("made", **given | facts)


def test_values_may_depend_on_sizes_and_earlier_arguments() -> None:
    made = problem_of(
        Input("x", ("n",), dtype="int32", values=lambda generator, shape, n: generator.permutation(n)),
        Scalar("last", lambda generator, x: x[-1], dtype="int32"),
        "n",
    )
    case = made.make_case((50,), np.random.default_rng(0))
    assert sorted(case.value("x")) == list(range(50))
    assert case.value("last") == case.value("x")[-1]


def test_function_of_values_that_fails_is_reported_with_its_line() -> None:
    made = problem_of(Input("x", ("n",), values=lambda rng, shape: shape[1]), "n")
    with pytest.raises(
        ProblemError, match=r"test_exercise_kinds.py, line \d+: `values` of x failed: IndexError"
    ):
        made.make_case((50,), np.random.default_rng(0))


def test_values_of_a_function_are_not_redrawn_in_parts() -> None:
    made = problem_of(Input("x", ("n",), values=lambda rng, shape: np.sort(rng.random(shape))), "n")
    rng = np.random.default_rng(0)
    _, x, _ = made.arguments((50,), rng)
    assert made.redrawn(x, rng, (1,)) is None


def test_sizes_are_those_that_are_listed() -> None:
    size = Size.among(8, 64, 16, 32)
    assert [size.nearest(extent) for extent in (1, 9, 32, 999)] == [8, 16, 32, 64]
    made = problem_of(Input("x", ("n",)), "n", sizes={"n": size})
    assert {extent for shape in made.check_shapes("naive", (16, 1, 1), (1, 1, 1)) for extent in shape} <= {
        8,
        16,
        32,
        64,
    }
    with pytest.raises(UsageError, match="n must be one of 8, 16, 32, 64 for made; it is 10"):
        made.parse_shape("10")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (lambda x: x, "the reference must return 2 arrays, one for each of the outputs: y, z"),
        (lambda x: (x, x, x), "the reference must return 2 arrays"),
        (lambda x: (x, x[1:]), r"the reference returned the shape \(49,\); the output z has \(50,\)"),
    ],
)
def test_reference_of_two_outputs_returns_two_arrays(reference: object, message: str) -> None:
    made = problem_of(Output("z", ("n",)), Input("x", ("n",)), "n", reference=reference)
    with pytest.raises(ProblemError, match=message):
        made.make_case((50,), np.random.default_rng(0))


def test_outputs_may_be_named_by_the_reference() -> None:
    def reference(x: object) -> object:
        return {"z": 2 * np.asarray(x), "y": x}

    made = problem_of(Output("z", ("n",)), Input("x", ("n",)), "n", reference=reference)
    case = made.make_case((50,), np.random.default_rng(0))
    (other,) = case.others
    assert (case.output.name, other.output.name) == ("y", "z")
    np.testing.assert_array_equal(other.expected, 2 * case.expected)


def test_relative_requirement_of_the_first_step_is_refused() -> None:
    from gpulab.problems import Requirement

    steps = (Step("naive", "x", requirements=(Requirement("barriers", at_most=1, relative=True),)),)
    with pytest.raises(ProblemError, match="naive has no step before it"):
        problem_of(Input("x", ("n",)), "n", steps=steps)


def hints_of(
    problem: Problem, shape: tuple[int, ...], change: Callable[[np.ndarray], np.ndarray]
) -> set[str]:
    """Return the hints on outputs that are changed, for several inputs."""
    launch = KernelConfig(problem, "naive", (256, 1, 1), (1, 1, 1)).at(shape)
    hints = set()
    for seed in range(20):
        case = problem.make_case(shape, np.random.default_rng(seed))
        hints.add(compare(case, launch, change(case.expected.astype(case.output.value.dtype))).hint)
    return hints


def test_whole_numbers_that_agree_by_chance_give_no_hint() -> None:
    whole = Problem(
        "largest",
        arguments=(Output("y", ("rows",), dtype="int32"), Input("x", ("rows", "n")), "rows", "n"),
        sizes={"rows": 4096, "n": 70},
        reference=lambda x: x.argmax(axis=1),
        steps=(Step("naive", "a thread for each row"),),
    )

    def constant(right: np.ndarray) -> np.ndarray:
        return np.full_like(right, max(right[17], 1))

    def some_others(right: np.ndarray) -> np.ndarray:
        right[::100] = (right[::100] + 23) % 70
        return right

    assert hints_of(whole, (269, 70), constant) == {""}
    assert hints_of(whole, (269, 70), some_others) == {""}


def test_components_of_vectors_are_named() -> None:
    cross = problem_of(
        arguments=(Output("y", ("n", 2), c_type="float2"), Input("x", ("n", 2), c_type="float2"), "n"),
    )
    assert cross.index_names == ("i", "component")
    assert cross.extents((50,)) == (50, 1, 1)
    assert cross.declaration == "made(float2* y, const float2* x, int n)"


def test_reference_may_work_in_place() -> None:
    def doubled(x: np.ndarray) -> np.ndarray:
        x *= 2
        return x

    made = problem_of(Input("x", ("n",)), "n", reference=doubled, error_bound=lambda x: 1e-3 * abs(x))
    case = made.make_case((50,), np.random.default_rng(0))
    np.testing.assert_allclose(case.tolerance, 1e-3 * abs(case.value("x")))


def test_order_of_results_matters_unless_declared() -> None:
    def wrong(any_order: bool) -> set[int]:
        free = problem_of(
            arguments=(Output("y", ("n",), any_order=any_order), Input("x", ("n",)), "n"),
        )
        launch = KernelConfig(free, "naive", (256, 1, 1), (1, 1, 1)).at((60,))
        case = free.make_case((60,), np.random.default_rng(1))
        given = case.value("x")
        return {compare(case, launch, made).wrong for made in (given[::-1], np.roll(given, 1))}

    assert wrong(any_order=True) == {0}
    assert wrong(any_order=False) == {60}


def test_results_with_several_axes_have_an_order() -> None:
    with pytest.raises(ProblemError, match="the output y cannot be in any order: it must have one axis"):
        problem_of(arguments=(Output("y", ("n", 2), any_order=True), Input("x", ("n", 2)), "n"))


def test_integers_that_float64_does_not_have_are_refused() -> None:
    made = problem_of(
        arguments=(Output("y", ("n",), dtype="int64"), "n"), reference=lambda n: np.arange(n) + 2**60
    )
    with pytest.raises(ProblemError, match="integers are compared as float64"):
        made.make_case((50,), np.random.default_rng(0))


def test_grid_of_many_blocks_is_counted_in_whole() -> None:
    many = Problem(
        "many",
        arguments=(Output("y", ("n", 32)), Input("x", ("n", 32)), "n"),
        sizes={"n": 1 << 14},
        reference=lambda x: x,
        grid=lambda n: n,
        steps=(Step("naive", "a block for each row", block=1024),),
    )
    counted = many.counted_shape("naive", (1024, 1, 1), (1, 1, 1))
    assert counted == (1024,)
    source = "__global__ void many(float* y, const float* x, int n) { y[blockIdx.x] = 1; }"
    kernel = open_device("sim").compile(source)
    arguments = [kernel.device.zeros(2048), kernel.device.zeros(2048), 2048]
    assert record_launch(kernel, 2048, 1024, arguments, machine=False).sites


def test_sizes_that_do_not_fit_together_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    valid = Problem(
        "valid",
        arguments=(Output("y", lambda n, k: (n - k + 1,)), Input("x", ("n",)), Input("w", ("k",)), "n", "k"),
        sizes={"n": Size(1 << 20, smallest=64), "k": 64},
        reference=lambda x, w: np.convolve(x, w, "valid"),
        error_bound=1e-4,
        steps=(Step("naive", "each element"),),
    )
    monkeypatch.setattr(registry, "_known", lambda name: valid)
    cell = parse_cell("%%cuda valid.naive --block 32\n__global__ void valid() {}")
    for seed in range(20):
        inputs = draw_check_inputs(cell, np.random.default_rng(seed))
        for shape in (*inputs.shapes, inputs.counted.shape, *inputs.timed.shapes):
            assert valid.checked_shape(shape) == shape


def test_dynamic_shared_memory_counts_as_memory_of_the_kernel() -> None:
    cell, device = parse_cell(SORT), open_device("sim")
    text = str(checked_view(cell, check_cell(cell, device, seed=1), device))
    assert "4,096 bytes of shared memory per block" in text


def test_reference_that_does_not_take_moved_values_gives_no_hint() -> None:
    repeated = Problem(
        "repeated",
        arguments=(
            Output("y", lambda n: (2 * n,)),
            Input("x", ("n",)),
            Input(
                "start",
                lambda n: (n + 1,),
                dtype="int32",
                values=lambda rng, shape, n: np.r_[0, np.sort(rng.integers(0, 2 * n, n - 1)), 2 * n],
            ),
            "n",
        ),
        sizes={"n": 1024},
        reference=lambda x, start: np.repeat(x, np.diff(start)),
        steps=(Step("naive", "a thread for each element of x"),),
    )

    def others(right: np.ndarray) -> np.ndarray:
        return right + 1

    assert hints_of(repeated, (60,), others) == {""}


def test_mistake_that_fails_does_not_stop_the_check() -> None:
    made = problem_of(Input("x", ("n",)), "n", mistakes={"nothing": lambda x: x.missing})
    assert hints_of(made, (60,), lambda right: right + np.float32(0.5)) == {""}
