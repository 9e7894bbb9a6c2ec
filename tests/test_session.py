"""Tests of the session's cells, kernels and times."""

from __future__ import annotations

import pytest

from gpulab import session
from gpulab.cell import parse_cell
from gpulab.errors import UsageError
from gpulab.notebook import session_timings
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.speedup import VariantTiming
from gpulab.provenance import Provenance
from tests.kernel_configs import config
from tests.python_device import PythonDevice

CELL = parse_cell("%%cuda stencil.naive\n__global__ void block2D_naive() {}\n")

pytestmark = pytest.mark.usefixtures("empty_session")


def test_kernel_of_a_cell_is_returned_by_name() -> None:
    kernel = PythonDevice().kernel(lambda *args: None)
    session.keep_cell(CELL, kernel)
    assert session.cell("stencil.naive") is CELL
    assert session.kernel("stencil.naive") is kernel


def test_name_without_its_problem_is_answered_with_the_whole_name() -> None:
    session.keep_cell(CELL, PythonDevice().kernel(lambda *args: None))
    with pytest.raises(UsageError, match=r"no kernel `naive` .* Do you mean `stencil\.naive`\?"):
        session.kernel("naive")
    with pytest.raises(UsageError, match=r"no kernel `aive` .* Run its %%cuda cell first"):
        session.kernel("aive")


def test_cell_that_does_not_compile_removes_its_previous_kernel() -> None:
    session.keep_cell(CELL, PythonDevice().kernel(lambda *args: None))
    session.keep_cell(CELL)
    assert session.kernel_names() == ()
    with pytest.raises(UsageError, match=r"stencil\.naive"):
        session.kernel("stencil.naive")


def test_released_cell_is_not_written_rather_than_wrong() -> None:
    stub = '    // YOUR CODE HERE\n    #error "part 1 is not written yet"\n'
    session.keep_cell(parse_cell(f"%%cuda stencil.naive\n__global__ void block2D_naive() {{\n{stub}}}\n"))
    with pytest.raises(UsageError, match=r"`stencil\.naive` is not written yet"):
        session.kernel("stencil.naive")


def test_clear_removes_cells_and_kernels() -> None:
    session.keep_cell(CELL, PythonDevice().kernel(lambda *args: None))
    session.clear()
    assert session.cell("stencil.naive") is None
    assert session.kernel_names() == ()


def test_clear_removes_times() -> None:
    timing = Benchmark.from_samples([1.0], Provenance("modelled", "a GPU"))
    session_timings.keep_timing("stencil", VariantTiming(config("stencil.naive"), (9, 9, 9), timing))
    session_timings.clear()
    assert len(session_timings.timings("stencil")) == 0
