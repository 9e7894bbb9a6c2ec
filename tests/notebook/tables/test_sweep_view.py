"""`gpulab.sweep_table`: one kernel cell in several configurations."""

from __future__ import annotations

import pytest

import gpulab
from gpulab import session
from gpulab.cell import parse_cell
from gpulab.errors import UsageError

FIXED_TO_32 = """%%cuda stencil.naive --block 32 4
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y, frame = nx * ny;
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1) return;
    for (int z = 1; z < nz - 1; ++z) {
        int i = x + nx * y + frame * z;
        Anext[i] = A0[i - 1] + A0[i + 1] + A0[i - nx] + A0[i + nx] + A0[i - frame] + A0[i + frame]
                 - 6.0f * A0[i] / (fac * fac);
    }
}"""


def test_each_block_has_a_row_and_a_wrong_one_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULAB_DEVICE", "sim")
    session.keep_cell(parse_cell(FIXED_TO_32))
    shown = gpulab.sweep_table("stencil.naive", blocks=[(32, 2), (16, 4)], sizes=["34x18x5"])
    right, wrong = (line for line in shown.text.splitlines() if "1x1x0" in line)
    assert "stencil.naive at 34x18x5." in shown.text
    assert right.startswith("*")
    assert "32x2 " in right
    assert "not timed (1)" in wrong
    assert "(1) wrong with this block and tile" in shown.text


def test_cell_that_has_not_run_raises() -> None:
    with pytest.raises(UsageError, match=r"stencil\.nobody"):
        gpulab.sweep_table("stencil.nobody", blocks=[(32, 8)])
