"""Kernels that are not finished: right values without a requirement of the step, and unwritten stubs."""

from __future__ import annotations

from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

from gpulab.errors import KernelNotWritten, WrongResult
from tests.notebook.conftest import CellRun

NAIVE = Path(__file__).parents[1] / "kernels" / "stencil" / "right" / "naive_early_return.cu"

# The first hint of opt_4: bottom, current and top in registers; L1 serves the other loads.
ROLLING = """%%cuda stencil.opt_4 --block 32 8 --tile 1 1 0
__global__ void block2D_opt_4(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y, frame = nx * ny;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    int i = x + nx * y;
    float bottom = A0[i], here = A0[i += frame];
    for (int z = 1; z < nz - 1; ++z, i += frame) {
        float top = A0[i + frame];
        Anext[i] = bottom + top + A0[i - 1] + A0[i + 1] + A0[i - nx] + A0[i + nx] - 6.0f * here / (fac * fac);
        bottom = here;
        here = top;
    }
}
"""
STUB = """%%cuda matmul.K4g --block 128 --tile 1 4 4
// Changes from K4: any n, m and p.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    // YOUR CODE HERE
    #error "matmul.K4g is not written yet: put your kernel here and delete this #error line."
}
"""
CHECK = "from gpulab.grading.checks import require_correct\nrequire_correct({!r})"
TABLES = (
    "speedup_table('stencil')",
    "waves_table('stencil', caps=(0,), size=64)",
    "ladder_table('stencil', gpu='h200', size=64)",
    "traffic_table('stencil')",
    "roofline('stencil', size=64).roofline",
)


def renamed_naive() -> str:
    """Return the naive kernel under the name of opt_1, whose requirement it misses."""
    return NAIVE.read_text(encoding="utf-8").removeprefix("//").lstrip().replace("naive", "opt_1")


def tables(shell: InteractiveShell) -> dict[str, str]:
    """Return the tables of the session, and the values of the roofline, as text."""
    texts = {}
    for call in TABLES:
        run = CellRun(shell, f"import gpulab\ngpulab.{call}")
        assert run.error is None, call
        texts[call] = repr(run.result.result)
    return texts


def test_stage_of_an_open_step_is_correct_and_timed(shell: InteractiveShell) -> None:
    run = CellRun(shell, ROLLING)
    assert run.error is None
    assert "✓ stencil.opt_4 is correct" in run.text
    assert "requirement of stencil.opt_4 is not satisfied yet" in run.text
    assert "✗" not in run.text
    assert "speed-up" in run.text

    for call, text in tables(shell).items():
        assert "opt_4" in text, call
        assert "not correct" not in text, call
        assert "requirement of the step is not satisfied yet: opt_4" in text, call
    test = CellRun(shell, CHECK.format("stencil.opt_4"))
    assert isinstance(test.error, WrongResult)


def test_kernel_without_its_requirement_fails_but_has_a_time(shell: InteractiveShell) -> None:
    run = CellRun(shell, renamed_naive())
    assert isinstance(run.error, WrongResult)
    assert "speed-up" in run.text
    for call, text in tables(shell).items():
        assert "not correct" not in text, call
        assert "requirement of the step is not satisfied yet: opt_1" in text, call


def test_stub_raises_in_its_test_cell_only(shell: InteractiveShell) -> None:
    run = CellRun(shell, STUB)
    assert run.error is None
    assert "matmul.K4g is not written yet" in run.text
    test = CellRun(shell, CHECK.format("matmul.K4g"))
    assert isinstance(test.error, KernelNotWritten)
