"""Kernels of problems that a teacher declares in a file: verdicts, pictures, hints and requirements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpulab import session
from gpulab.cell import KernelCell, parse_cell
from gpulab.config import KernelConfig
from gpulab.devices import open_device
from gpulab.errors import ProblemError
from gpulab.grading.checks.sizes import draw_check_inputs
from gpulab.problems import Input, Output, Problem, Step, load_problems
from gpulab.verification.check import CheckResult, check_cell
from gpulab.verification.compare import compare
from gpulab.verification.inputs import poisoned
from gpulab.verification.verdict import State
from tests import foreign_problems
from tests.foreign_problems import write_problems

RIGHT = {
    name: getattr(foreign_problems, name)
    for name in ("TRANSPOSE", "TILED", "HISTOGRAM", "CONVOLUTION", "TOTAL", "DOT", "SHIFT")
}


@pytest.fixture(autouse=True)
def declared(no_labs: None, tmp_path: Path) -> None:
    load_problems(write_problems(tmp_path))


def check(text: str) -> CheckResult:
    return check_cell(parse_cell(text), open_device("sim"), seed=1)


def picture(result: CheckResult) -> np.ndarray:
    assert result.verdict is not None
    assert result.verdict.plane is not None
    return result.verdict.plane.state


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernel_is_correct(name: str) -> None:
    result = check(RIGHT[name])
    assert result.reasons == ()
    assert result.correct


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernel_is_correct_on_the_sizes_that_the_grader_draws(name: str) -> None:
    cell = parse_cell(RIGHT[name])
    assert isinstance(cell, KernelCell)
    inputs = draw_check_inputs(cell, np.random.default_rng(2))
    assert set(inputs.shapes) != set(cell.config.check_shapes)
    result = check_cell(
        cell,
        open_device("sim"),
        inputs.shapes,
        seed=inputs.seed,
        machine_counts=True,
        counted=inputs.counted,
        timed=inputs.timed,
    )
    assert result.reasons == ()
    assert result.count is not None


def test_declared_mistake_is_named() -> None:
    result = check(foreign_problems.TRANSPOSE.replace("b[x * rows + y]", "b[y * columns + x]"))
    assert "the output is a copy of the input" in result.reasons[0]
    assert np.count_nonzero(picture(result) == State.WRONG) > 1000


def test_picture_of_one_axis_has_a_row_for_each_block() -> None:
    result = check(foreign_problems.CONVOLUTION.replace("i >= n", "i >= n || threadIdx.x == 3"))
    state = picture(result)
    assert state.shape == (3, 256)
    assert (state[:, 3] == State.NEVER_WRITTEN).tolist() == [True, True, True]
    assert (state[2, 5:] == State.OUTSIDE).all()


def test_picture_of_three_axes_is_a_plane() -> None:
    result = check(foreign_problems.SHIFT.replace("x < nx - 1", "x < nx - 1 && x != 2"))
    assert set(np.unique(np.nonzero(picture(result) == State.NEVER_WRITTEN)[1])) == {2}


def test_write_to_the_part_that_must_stay_is_reported() -> None:
    result = check(foreign_problems.SHIFT.replace("x < nx - 1", "x < nx").replace("i + 1]", "i] + x"))
    assert any("boundary" in reason for reason in result.reasons)


def test_unsynchronised_update_of_an_initialized_output_is_a_race() -> None:
    result = check(foreign_problems.HISTOGRAM.replace("atomicAdd(counts + data[i], 1u)", "++counts[data[i]]"))
    assert [finding.tool for finding in result.findings] == ["racecheck"]


def test_sum_of_ints_that_is_added_to_undefined_contents_is_named() -> None:
    problem = Problem(
        "count",
        arguments=(Output("sums", ("n",), dtype="int32"), Input("x", ("n",), dtype="int32"), "n"),
        sizes={"n": 4096},
        reference=lambda x: x,
        steps=(Step("one", "an update of each element"),),
    )
    case = problem.make_case((64,), np.random.default_rng(1))
    launch = KernelConfig(problem, "one", (64, 1, 1), (1, 1, 1)).at((64,))
    result = compare(case, launch, poisoned(case.output.value) + case.value("x"))
    assert "initial contents" in result.reasons[0]


def test_initialized_output_is_never_called_unwritten() -> None:
    result = check(foreign_problems.HISTOGRAM.replace("if (i < n)", "if (i < n && data[i] > 9)"))
    assert result.verdict is not None
    assert not result.correct
    assert result.verdict.results[0].never_written == 0


def test_index_that_is_one_too_high_is_named() -> None:
    result = check(foreign_problems.CONVOLUTION.replace("w[k]", "w[(k + 1) % 5]"))
    assert "w is read with an index that is 1 too high" in result.reasons[0]


def test_kernel_that_is_right_at_small_sizes_only_is_wrong() -> None:
    wrong = foreign_problems.HISTOGRAM.replace("if (i < n)", "if (i < n && i < 100000)")
    result = check_cell(parse_cell(wrong), open_device("sim"), seed=1, machine_counts=True)
    assert "at a size that is timed" in result.reasons[0]


def test_previous_step_under_a_new_name_misses_the_requirements() -> None:
    result = check(foreign_problems.TRANSPOSE.replace("naive --block 32 8", "tiled --block 32 32"))
    assert result.technique is not None
    assert [(each.requirement.measure, each.value) for each in result.technique.results] == [
        ("sectors_per_store", 32),
        ("barriers", 0),
    ]
    assert not result.correct


def test_atomics_are_counted_by_element() -> None:
    result = check(foreign_problems.HISTOGRAM.replace("atomic\n", "private\n"))
    assert "atomic operations of threads on global memory, per point: 1 (line 5)" in result.reasons[0]


def test_wrong_signature_names_the_declaration() -> None:
    result = check(foreign_problems.HISTOGRAM.replace("int n, int bins", "int n"))
    declared = "histogram(unsigned int* counts, const int* data, int n, int bins)"
    assert declared in result.reasons[0]


def test_size_of_a_fixed_extent_is_checked() -> None:
    cell = parse_cell(foreign_problems.HISTOGRAM)
    assert isinstance(cell, KernelCell)
    problem = cell.config.problem
    assert problem.parse_shape("500") == (500, 256)
    with pytest.raises(Exception, match="at most 256"):
        problem.parse_shape("500x512")


def test_broken_reference_stops_the_check_and_names_the_line(tmp_path: Path) -> None:
    load_problems(write_problems(tmp_path, foreign_problems.PROBLEMS.replace("lambda a: a.T", "lambda a: a")))
    with pytest.raises(ProblemError, match=r"problem\.py, line \d+: the reference returned the shape"):
        check(foreign_problems.TRANSPOSE)


HALVED = foreign_problems.TILED.replace("tiled", "halved")


def test_relative_requirement_is_not_checked_without_its_baseline(empty_session: None) -> None:
    result = check(HALVED)
    assert any("Run the cell of that kernel first" in warning for warning in result.warnings)


def test_relative_requirement_compares_with_the_cell_of_the_session(empty_session: None) -> None:
    session.keep_cell(parse_cell(foreign_problems.TRANSPOSE))
    assert check(HALVED).correct
    result = check(foreign_problems.TRANSPOSE.replace("naive --block 32 8", "halved --block 32 32"))
    assert result.technique is not None
    (requirement,) = result.technique.results
    assert requirement.limit == requirement.value / 2
    assert "naive has" in result.reasons[0]


def test_relative_requirement_prefers_the_solution_of_the_lab(empty_session: None) -> None:
    solution = parse_cell(foreign_problems.TRANSPOSE)
    assert isinstance(solution, KernelCell)
    wasteful = foreign_problems.TRANSPOSE.replace("if (x <", "for (int k = 0; k < 4; ++k) if (x <")
    session.keep_cell(parse_cell(wasteful.replace("b[", "((volatile float*) b)[")))
    renamed = parse_cell(foreign_problems.TRANSPOSE.replace("naive --block 32 8", "halved --block 32 32"))
    assert check_cell(renamed, open_device("sim"), seed=1).correct
    session.set_reference("transpose.naive", solution)
    try:
        assert not check_cell(renamed, open_device("sim"), seed=1).correct
    finally:
        session.set_reference("transpose.naive", None)


BYTES = """\
from gpulab.problems import Input, Output, Problem, Step

flags = Problem(
    "flags",
    arguments=(Output("flag", ("n",), dtype="uint8"), Input("x", ("n",), dtype="int16", values=(-9, 9)), "n"),
    sizes={"n": 4096},
    reference=lambda x: x > 0,
    steps=(Step("naive", "one element for each thread"),),
)
"""
FLAGS = """\
%%cuda flags.naive
__global__ void flags(unsigned char* flag, const short* x, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i < n) flag[i] = x[i] > 0;
}"""


def test_elements_of_one_byte_are_compared(tmp_path: Path) -> None:
    load_problems(write_problems(tmp_path, BYTES))
    assert check(FLAGS).reasons == ()
    result = check(FLAGS.replace("i < n", "i < n - 1"))
    assert result.verdict is not None
    assert result.verdict.results[0].wrong == 1
    assert result.verdict.results[0].never_written == 0  # one byte may have this value by chance
    result = check(FLAGS.replace("i < n", "i < n / 2"))
    assert result.verdict is not None
    assert result.verdict.results[0].never_written > 100


def test_large_launch_is_halved_along_its_longest_axis() -> None:
    wrong = foreign_problems.TRANSPOSE.replace("y < rows)", "y < rows && columns < 500)")
    result = check_cell(parse_cell(wrong), open_device("sim"), seed=1, machine_counts=True)
    assert result.verdict is not None
    assert result.verdict.results[-1].shape == (1024, 1024)


def test_fault_in_a_problem_with_one_axis_names_the_condition() -> None:
    result = check(foreign_problems.CONVOLUTION.replace("if (i >= n) return;", ""))
    assert "is the access inside a condition on i?" in result.reasons[0]


def test_output_whose_axes_are_not_those_of_the_grid_is_described() -> None:
    result = check(foreign_problems.TRANSPOSE.replace("y < rows)", "y < rows && (x + y) % 2)"))
    assert any("no thread writes it" in reason for reason in result.reasons)


def test_mistake_at_few_points_is_named(tmp_path: Path) -> None:
    wrong = "lambda f, x, w: f * convolved(x, w) * (np.arange(x.size) < x.size - 1)"
    declared = f'mistakes={{"the last element is 0": {wrong}}},'
    text = foreign_problems.PROBLEMS.replace(
        "flops=lambda n, width", f"{declared}\n    flops=lambda n, width"
    )
    load_problems(write_problems(tmp_path, text))
    result = check(foreign_problems.CONVOLUTION.replace("y[i] = f * sum", "y[i] = i + 1 < n ? f * sum : 0"))
    assert "the last element is 0" in result.reasons[0]
    other = check(
        foreign_problems.CONVOLUTION.replace("y[i] = f * sum", "y[i] = i + 1 < n - 1 ? f * sum : 0")
    )
    assert "the last element is 0" not in other.reasons[0]


@pytest.mark.parametrize(
    ("name", "condition", "changed"),
    [
        ("TRANSPOSE", "if (x < columns && y < rows)", ""),
        ("HISTOGRAM", "if (i < n)", ""),
        ("CONVOLUTION", "if (i >= n) return;", ""),
        ("TOTAL", "i < n;", "i <= n;"),
        ("DOT", "i < n ?", "true ?"),
        ("SHIFT", "if (x < nx - 1 && y < ny && z < nz)", ""),
    ],
)
def test_missing_condition_is_a_fault_with_its_line(name: str, condition: str, changed: str) -> None:
    result = check(RIGHT[name].replace(condition, changed))
    assert result.findings[0].tool == "memcheck"
    assert result.findings[0].line > 0


@pytest.mark.parametrize("name", RIGHT)
def test_threads_that_do_nothing_are_wrong_values(name: str) -> None:
    text = RIGHT[name].replace("\n}", "").split("{", 1)
    result = check(f"{text[0]}{{\n    if (threadIdx.x % 32 < 12) return;{text[1]}\n}}")
    assert not result.correct
    assert result.reasons
