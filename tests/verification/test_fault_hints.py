"""Tests of the hints that launches on other sizes prove, or the place of a thread suggests."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.verification.verdict import ShapeResult
from gpulab.verification.verify import verify
from tests.kernel_configs import config

NAIVE = """extern "C" __global__
void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    for (int z = 1; z < nz - 1; ++z) {
        int i = x + nx * y + nx * ny * z;
        if (0 < x && x < nx - 1 && 0 < y && y < ny - 1)
            Anext[i] = A0[i - 1] + A0[i + 1] + A0[i - nx] + A0[i + nx] + A0[i - nx * ny] + A0[i + nx * ny]
                     - 6.0f * A0[i] / (fac * fac);
    }
}"""


def result_of(*changes: tuple[str, str]) -> ShapeResult:
    """Return the result of the naive kernel with planted mistakes on the size on which it faults."""
    source = NAIVE
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    configuration = config("stencil.naive")
    kernel = gpulab.device("sim").compile(source, "block2D_naive", configuration.defines)
    results = verify(kernel, configuration, seed=1).results
    return next(result for result in results if result.fault)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + nx * y +", "y + nx * x +"),
        ("x < nx - 1 && 0 < y && y < ny - 1", "x < ny - 1 && 0 < y && y < nx - 1"),
    ],
    ids=["index", "condition"],
)
def test_access_past_the_array_because_of_exchanged_axes_is_named(old: str, new: str) -> None:
    result = result_of((old, new))
    assert "where nx = ny" in result.hint
    assert result.hint in result.reasons[0]


def test_missing_condition_is_not_taken_for_exchanged_axes() -> None:
    result = result_of(("x < nx - 1 && ", ""))
    assert "where nx = ny" not in result.hint
    assert "x = 28, and the largest x is 6" in result.hint


def test_thread_on_the_boundary_is_named() -> None:
    result = result_of(
        ("0 < x && ", ""),
        ("z = 1", "z = 0"),
        (" + A0[i - nx * ny]", ""),
        (" + A0[i - nx]", ""),
        ("0 < y && ", ""),
    )
    assert "is on the boundary" in result.hint


def test_inner_thread_with_a_wrong_index_gets_no_hint() -> None:
    result = result_of(("A0[i + nx * ny]", "A0[i + 1000 * nx * ny + 20]"))
    assert not result.hint


@pytest.mark.parametrize(
    ("old", "new", "z"), [("z = 1;", "z = 0;", -1), ("z < nz - 1", "z < nz", 9)], ids=["first", "last"]
)
def test_access_to_a_frame_that_does_not_exist_is_named(old: str, new: str, z: int) -> None:
    hint = result_of((old, new)).hint
    assert f"z = {z}," in hint
    assert "loop over z" in hint
