"""Declarations that cannot work: one sentence that names the line and the reason."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import numpy as np
import pytest

from gpulab.cell import KernelCell, parse_cell
from gpulab.devices import open_device
from gpulab.errors import GpulabError, ProblemError
from gpulab.problems import declared_function, load_problems, random_values, sum_error
from gpulab.problems.base import INTERFACE
from gpulab.problems.requirement import METRICS
from gpulab.verification.check import check_cell
from gpulab.verification.requirements import MEASURES
from tests.foreign_problems import PROBLEMS, TRANSPOSE, write_problems


@pytest.fixture(autouse=True)
def no_other_labs(no_labs: None) -> None:
    pass


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def declare(folder: Path, old: str, new: str) -> None:
    """Load the problems with one change and compute the references of all of them."""
    text = PROBLEMS.replace(old, new, 1)
    assert text != PROBLEMS
    for problem in load_problems(write_problems(folder, text)).values():
        step = next(iter(problem.variants))
        shape = problem.check_shapes(step, (32, 1, 1), problem.default_tile)[0]
        problem.make_case(shape, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('Input("a", ("rows", "columns"))', 'Input("a", ("rows", "depth"))', "`depth` is no size"),
        ('), "rows", "columns"),', '), "rows", "width"),', "the argument `width` is no size"),
        ('Output("b", ', 'Input("b", ', "has no output"),
        ('Input("a", ', 'Input("b", ', "two arguments of transpose have the same name"),
        ('Input("a", ', 'Input("2a", ', "`2a` is not the name of a parameter"),
        ('dtype="int32", values', 'dtype="half", values', "the dtype `half`; choose from float64"),
        ("Size.fixed(256)", "Size(256, smallest=512)", "smallest 512, timed 256, largest 2147483647"),
        ('Step("naive", "one', 'Step("na ive", "one', "`na ive` is not the name of a step; use letters"),
        ('"tiled",\n', '"naive",\n', "the step naive must have a name of its own"),
        ('baseline="naive"', 'baseline="nive"', "an earlier step as its baseline"),
        ("at_most=6, baseline_value=32", "baseline_value=32", "needs at_most or at_least"),
        ('"transpose",\n', '"trans-pose",\n', "`trans-pose` is not the name of a problem"),
        ('"transpose",\n', '"histogram", kernel="transpose",\n', "another problem with the name histogram"),
        ('"transpose",\n', f'"transpose", interface={INTERFACE + 1},\n', "Install a newer gpulab"),
        ('"rows": 4096, "columns": 4096', '"rows": 1 << 16, "columns": 1 << 16', "is too large"),
        ('"rows": 4096, "columns": 4096', '"rows": 1 << 20, "columns": 8', "65,535"),
        ('Input("a", ("rows", "columns"))', 'Input("a", ())', "the array a would have the extents ()"),
        ('Input("x", ("n",)), Input("w"', 'Input("x", lambda n: (n - 9,)), Input("w"', "the extents (-2,)"),
        ("lambda a: a.T", "lambda b: b.T", "the reference has the parameter b; parameters are named after"),
        ("lambda a: a.T", "lambda a: a[0]", "the reference returned the shape"),
        ("lambda a: a.T", 'lambda a: "text"', "it must return an array of numbers"),
        ("lambda a: a.T", "lambda a: a.T / 0", "NaN or infinite"),
        ("lambda a: a.T", "lambda a: a.missing", "the reference failed: AttributeError"),
        ("lambda a: a.T", "lambda a: a.T / 3", "no kernel can satisfy the error bound"),
        ("gamma(7) * f * convolved", "-f * convolved", "the error bound is negative or NaN"),
        ("gamma(7) * f * convolved", "99 * f * convolved", "the error bound accepts every kernel"),
        ("values=(0, 256))", "values=lambda rng, shape: [1])", "`values` of data returned the shape (1,)"),
        ("min(-(-n // block[0]), 8)", "0", "what `grid` returns must be one to three numbers"),
        ("slice(0, nx - 1))", "nx)", "it must be a slice for each axis"),
        ("slice(0, nx - 1))", "slice(0, nx - 1)) + nothing", "`written` failed: NameError"),
    ],
)  # fmt: skip
def test_declaration_is_refused_with_its_line(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(ProblemError) as caught:
        declare(tmp_path, old, new)
    message = str(caught.value)
    assert reason in message
    assert "problem.py, line " in message
    assert "\n" not in message


def test_message_names_the_line_of_the_argument(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as caught:
        declare(tmp_path, 'Input("data", ("n",)', 'Input("da ta", ("n",)')
    line = line_of(PROBLEMS, 'Input("data"')
    assert f"problem.py, line {line}:" in str(caught.value)


def test_message_names_the_line_in_a_function_that_fails(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as caught:
        declare(tmp_path, "return np.convolve(np.pad(x, 2)", "return np.convolve(np.pad(x, 2) + missing")
    assert f"problem.py, line {line_of(PROBLEMS, 'return np.convolve')}: the reference" in str(caught.value)


def test_reference_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared_function, "LIMIT_S", 0.2)
    endless = "def convolved(x, w):\n    while True:\n        w = w + 1\n"
    with pytest.raises(ProblemError, match="has not returned after 0") as caught:
        declare(tmp_path, "def convolved(x, w):\n", endless)
    start = line_of(PROBLEMS, "def convolved")
    line = re.search(r"line (\d+):", str(caught.value))
    assert line is not None
    assert int(line[1]) in (start + 1, start + 2)
    for thread in threading.enumerate():
        if thread.name == "gpulab: the reference":
            thread.join(60)
            assert not thread.is_alive()


def test_size_that_a_kernel_cannot_know_is_refused(tmp_path: Path) -> None:
    text = PROBLEMS.replace('"n",\n        "bins",', '"n",').replace('("bins",)', "(256,)")
    with pytest.raises(ProblemError, match="the size bins is neither an argument nor an extent"):
        load_problems(write_problems(tmp_path, text.replace("Size.fixed(256)", "256")))


def test_unknown_metric_is_refused_with_the_most_similar_one(tmp_path: Path) -> None:
    text = PROBLEMS.replace('"sectors_per_store"', '"sectors_per_stroke"')
    load_problems(write_problems(tmp_path, text))
    cell = parse_cell(TRANSPOSE.replace("naive --block 32 8", "tiled --block 32 32"))
    with pytest.raises(
        ProblemError, match=r"line \d+: .*`sectors_per_stroke`; do you mean `sectors_per_store`"
    ):
        check_cell(cell, open_device("sim"), seed=1)


def test_every_metric_is_computed() -> None:
    assert METRICS.keys() == MEASURES.keys()


@pytest.mark.parametrize("name", ["transpose", "histogram", "convolution", "total", "shift"])
def test_check_shapes_are_legal_and_differ(tmp_path: Path, name: str) -> None:
    problem = load_problems(write_problems(tmp_path))[name]
    step = next(iter(problem.variants))
    for block in ((32, 8, 1), (256, 1, 1), (1, 1, 1)):
        shapes = problem.check_shapes(step, block, problem.default_tile)
        assert len(set(shapes)) >= 3
        assert [problem.checked_shape(shape) for shape in shapes] == list(shapes)


def test_sizes_within_one_block_are_several(tmp_path: Path) -> None:
    text = PROBLEMS.replace('sizes={"n": 1 << 22}', 'sizes={"n": Size(1024, largest=1024)}')
    problem = load_problems(write_problems(tmp_path, text))["total"]
    assert problem.check_shapes("strided", (1024, 1, 1), (1, 1, 1)) == ((1024,), (7,), (1019,))


def test_axis_of_the_grid_is_known_from_a_function_of_the_size(tmp_path: Path) -> None:
    text = PROBLEMS.replace('extents=("n",),\n    grid', "extents=lambda n: (-(-n // 2),),\n    grid")
    problem = load_problems(write_problems(tmp_path, text))["total"]
    assert problem.grid_axes == (0,)


def test_sum_of_random_numbers_is_within_its_error_and_zero_is_not() -> None:
    rng = np.random.default_rng(0)
    for length in (10, 1000, 1 << 20):
        for terms in (random_values(rng, (length,)), rng.random(length, dtype=np.float32)):
            exact, bound = terms.sum(dtype=np.float64), float(sum_error(terms))
            serial = np.cumsum(terms, dtype=np.float32)[-1]
            assert abs(serial - exact) <= bound
            assert bound < abs(exact)
            assert bound < 1e-3 * np.abs(terms).sum(dtype=np.float64)


def test_error_bound_of_a_single_sum_is_not_judged(tmp_path: Path) -> None:
    text = PROBLEMS.replace("reference=lambda x: [x.sum()]", "reference=lambda x: [x.sum()], error_bound=1e9")
    problem = load_problems(write_problems(tmp_path, text))["total"]
    assert problem.make_case((64,), np.random.default_rng(0)).tolerance == 1e9


def test_step_without_guard_is_checked_on_whole_blocks(tmp_path: Path) -> None:
    text = PROBLEMS.replace('"one element for each thread"', '"one element", whole_blocks=True')
    problem = load_problems(write_problems(tmp_path, text))["transpose"]
    for rows, columns in problem.check_shapes("naive", (32, 8, 1), (1, 2, 1)):
        assert (rows % 16, columns % 32) == (0, 0)
    cell = parse_cell("%%cuda transpose.naive --block 32 8")
    assert isinstance(cell, KernelCell)
    with pytest.raises(GpulabError, match="multiples of 8, 32"):
        cell.config.require_size((7, 32))
