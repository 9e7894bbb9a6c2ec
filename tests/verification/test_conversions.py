"""The hint about a sum in a variable of an integer type."""

from __future__ import annotations

import pytest

import gpulab
from gpulab.cell import parse_cell
from gpulab.compiler import compile_program
from gpulab.verification.check import check_cell
from gpulab.verification.conversions import implicit_truncation

STENCIL = """// %%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (i < 1 || j < 1 || i > nx - 2 || j > ny - 2) return;
    for (int k = 1; k < nz - 1; k++) {
        int p = i + nx * (j + ny * k), f = nx * ny;
        int sum = A0[p - 1] + A0[p + 1] + A0[p - nx] + A0[p + nx] + A0[p - f] + A0[p + f];
        Anext[p] = sum - 6.0f * A0[p] / (fac * fac);
    }
}"""


def truncation(statement: str) -> str:
    return implicit_truncation(compile_program(f"__global__ void k(float* x, int* n)\n{{\n{statement}\n}}"))


@pytest.mark.parametrize("statement", ["int s = x[1] * 2.5f; x[0] = s;", "n[0] = 0; n[0] += x[1];"])
def test_conversion_without_a_cast_is_named_with_its_line(statement: str) -> None:
    assert truncation(statement).startswith("line 3 converts a floating-point number to an integer")


@pytest.mark.parametrize(
    "statement",
    [
        "n[0] = (int)x[1];",
        "n[0] = int(x[1]);",
        "n[0] = static_cast<int>(x[1]);",
        "n[0] = floorf(x[1]);",
        "n[0] = __float2int_rz(x[1]);",
        "x[0] = n[0];",
    ],
)
def test_cast_and_rounding_function_are_meant(statement: str) -> None:
    assert truncation(statement) == ""


def test_sum_in_an_int_is_the_hint_of_wrong_values() -> None:
    result = check_cell(parse_cell(STENCIL), gpulab.device("sim"))
    assert "Hint: line 8 converts a floating-point number to an integer" in result.reasons[0]
