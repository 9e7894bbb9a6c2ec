"""Kernel cells compiled by NVRTC and run by the simulator, after `%load_ext gpulab`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulab.errors import CompileError, LaunchError, UsageError, WrongResult
from tests.notebook.conftest import CellRun

SOURCE = '<div class="gp-source">'
KERNELS = Path(__file__).parents[1] / "kernels" / "stencil"


def cell_of(path):
    """Return a .cu file as a kernel cell: its first line without the slashes."""
    return path.read_text().removeprefix("//").lstrip()


@pytest.mark.parametrize("path", sorted((KERNELS / "right").glob("*.cu"))[:2], ids=lambda path: path.stem)
def test_correct_kernel_is_timed_and_added_to_the_table(shell, path):
    run = CellRun(shell, cell_of(path))
    assert run.error is None
    assert "gp-good" in run.html
    assert "gp-table" in run.html


def test_failed_assertion_is_no_memory_fault(shell):
    cell = cell_of(KERNELS / "right" / "naive_early_return.cu").replace("{", "{ assert(nx < 0);", 1)
    run = CellRun(shell, cell)
    assert type(run.error) is LaunchError
    assert "the assertion `nx < 0` failed" in run.text


def test_missing_halo_is_wrong_at_block_edges(shell):
    run = CellRun(
        shell,
        """%%cuda stencil.opt_1 --block 16 8
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (i < 1 || j < 1 || i > nx - 2 || j > ny - 2) return;
    for (int k = 1; k < nz - 1; k++) {
        int p = i + nx * (j + ny * k);
        float west = threadIdx.x == 0 ? 0.0f : A0[p - 1];
        Anext[p] = west + A0[p + 1] + A0[p - nx] + A0[p + nx] + A0[p - nx * ny] + A0[p + nx * ny]
                 - 6.0f * A0[p] / (fac * fac);
    }
}
""",
    )
    assert isinstance(run.error, WrongResult)
    assert "x 16, y 1-45</title>" in run.html
    assert "x 17" not in run.html


def test_compile_error_shows_the_cell_line_with_a_caret(shell):
    run = CellRun(shell, "%%cuda mine\n\n__global__ void f(float* a)\n{\n    a[threadIdy.x] = 1;\n}\n")
    assert isinstance(run.error, CompileError)
    assert "5 |     a[threadIdy.x] = 1;\n       |       ^" in run.text
    assert "line 5: identifier" in run.stdout  # the cause, for whoever jumps past the card


def test_plain_kernel_can_be_launched_from_python(shell):
    CellRun(shell, "%%cuda ones\n__global__ void ones(float* a) { a[threadIdx.x] = 1.0f; }")
    run = CellRun(
        shell,
        "import gpulab\ndev = gpulab.device()\nx = dev.zeros(32)\n"
        "gpulab.kernel('ones')(1, 32, [x])\ndev.asnumpy(x).sum()",
    )
    assert run.error is None
    assert run.result.result == 32


def test_output_order_is_verdict_source_resources(shell):
    run = CellRun(shell, cell_of(KERNELS / "right" / "naive_guard_as_if.cu"))
    places = [run.html.index(word) for word in ('"gp-note gp-good"', SOURCE, "registers")]
    assert places == sorted(places)


def test_wrong_kernel_without_a_fault_is_counted(shell):
    run = CellRun(shell, cell_of(KERNELS / "wrong" / "divides_by_fac.cu"))
    assert isinstance(run.error, WrongResult)
    assert SOURCE in run.html


def test_faulting_kernel_is_not_counted(shell):
    assert SOURCE not in CellRun(shell, cell_of(KERNELS / "wrong" / "reads_past_the_array.cu")).html


def test_environment_variable_switches_counting_off(shell, monkeypatch):
    monkeypatch.setenv("GPULAB_COUNTERS", "off")
    run = CellRun(shell, cell_of(KERNELS / "right" / "naive_guard_as_if.cu"))
    assert run.error is None
    assert SOURCE not in run.html


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%cuda k", "the source contains no code"),
        ("%%cuda k --block 32\n\n", "the source contains no code"),
        ("%%cuda", "the header does not name a kernel"),
    ],
)
def test_kernel_cell_without_a_body_is_refused_in_gpulabs_words(shell, cell, words):
    run = CellRun(shell, cell)
    assert isinstance(run.error, UsageError)
    assert words in str(run.error)
