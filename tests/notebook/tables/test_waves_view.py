"""`gpulab.waves_table`: registers, resident blocks and waves of a session's kernels."""

from __future__ import annotations

import pytest

import gpulab
from gpulab import session
from tests.kernel_configs import run_in_session

NAIVE = """%%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y, frame = nx * ny;
    bool inner = 0 < x && x < nx - 1 && 0 < y && y < ny - 1;
    for (int z = FIRST; z < LAST; ++z) {
        int i = x + nx * y + frame * z;
        if (inner)
            Anext[i] = A0[i - frame] + A0[i + frame] + A0[i - nx] + A0[i + nx] + A0[i - 1] + A0[i + 1]
                     - 6.0f * A0[i] / (fac * fac);
    }
}"""
WHOLE = NAIVE.replace("FIRST", "1").replace("LAST", "nz - 1")
PIECES = NAIVE.replace("FIRST", "(TILE_Z ? max(1, (int)blockIdx.z * TILE_Z) : 1)").replace(
    "LAST", "(TILE_Z ? min(nz - 1, ((int)blockIdx.z + 1) * TILE_Z) : nz - 1)"
)


@pytest.fixture(autouse=True)
def new_session(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULAB_DEVICE", "sim:h200")


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith("naive")]


def test_cap_gives_more_resident_blocks_and_fewer_waves() -> None:
    run_in_session(WHOLE)
    free, capped = rows(gpulab.waves_table("stencil").text)
    assert free[1:3] == ["all", "none"]
    assert (*capped[1:3], capped[4]) == ("all", "32", "32")
    assert int(free[4]) > 32
    assert "8" in capped
    assert "0.97" in capped
    assert "modelled, H200" in gpulab.waves_table("stencil").text


def test_kernel_that_uses_the_tile_is_split_too() -> None:
    run_in_session(PIECES)
    found = rows(gpulab.waves_table("stencil", caps=(0,), size=256).text)
    assert [row[1] for row in found] == ["all", "64"]


def test_kernel_that_is_wrong_with_a_tile_has_no_time() -> None:
    run_in_session(PIECES.replace("+ 1) * TILE_Z)", "+ 1) * TILE_Z - 1)"))
    text = gpulab.waves_table("stencil", caps=(0,), size=64).text
    right, wrong = rows(text)
    assert "not" not in right
    assert wrong[1:7] == ["64", "none", "not", "timed", "(1)", "-"]
    assert "(1) naive: wrong values with this block and tile" in text


def test_session_without_kernels_gives_a_line_of_text() -> None:
    assert "Run its kernel cells" in gpulab.waves_table("stencil").text


def test_incorrect_kernel_is_left_out_and_named() -> None:
    run_in_session(WHOLE)
    run_in_session(WHOLE.replace("naive", "opt_1"))
    session.mark_incorrect("stencil.opt_1")
    text = gpulab.waves_table("stencil", caps=(0,), size=64).text
    assert "Left out, because not correct yet: opt_1." in text
    assert len(rows(text)) == 1
    session.mark_incorrect("stencil.naive")
    assert gpulab.waves_table("stencil").text == "Left out, because not correct yet: naive, opt_1."
