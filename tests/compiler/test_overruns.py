"""Warnings about loops that index a thread's array past its end, on kernels that compile."""

from __future__ import annotations

import pytest

from gpulab.compiler import compile_program


def warnings_of(body: str) -> tuple[str, ...]:
    """Return the warnings about a kernel with this body, whose first line is line 2."""
    source = f"__global__ void k(float* x, const float* y) {{\n{body}\n}}"
    return compile_program(source, defines={"TILE_X": 2, "TILE_Y": 4}).warnings


@pytest.mark.parametrize(
    "loop",
    [
        "for (int v = 0; v < TILE_Y; ++v) x[v] = rows[v];",
        "for (int v = 0; v <= TILE_Y - 1; v++) { x[v] = 2.0f * rows[v]; }",
        "for (int u = 0; u < TILE_X; ++u)\nfor (int v = 1; v < TILE_Y; v += 2) x[v] += y[u] * rows[v];",
        "#pragma unroll\nfor (unsigned int v = 0; v < 4; ++v) x[v] = rows[v];",
    ],
)
def test_index_that_runs_past_the_end(loop: str) -> None:
    (warning,) = warnings_of(f"float rows[TILE_X] = {{}};\n{loop}")
    line = 2 + loop[: loop.index("rows[v]")].count("\n") + 1
    assert warning.startswith(
        f"line {line}: the index `v` of `rows` goes up to 3, but the array has 2 elements"
    )


def test_dimension_of_an_array_with_two() -> None:
    body = (
        "float sum[TILE_Y][TILE_X] = {};\n"
        "for (int v = 0; v < TILE_Y; ++v) for (int u = 0; u < TILE_X; ++u) sum[u][v] += y[u + v];\n"
        "x[0] = sum[0][0];"
    )
    (warning,) = warnings_of(body)
    assert "the index `v` of `sum` goes up to 3, but the array has 2 elements" in warning


@pytest.mark.parametrize(
    "body",
    [
        "float r[TILE_Y] = {}; for (int v = 0; v < TILE_Y; ++v) x[v] = r[v];",
        "float r[TILE_X] = {}; for (int v = 0; v < TILE_Y; ++v) if (v < TILE_X) x[v] = r[v];",
        "float r[TILE_X] = {}; for (int v = 0; v < TILE_Y; ++v) x[v] = v < TILE_X ? r[v] : 0;",
        "float r[TILE_X] = {}; for (int v = 0; v < TILE_Y; ++v) x[v] = r[v / 2];",
        "float r[2] = {}; for (int v = 0; v < 4; v += 3) { x[v] = r[v & 1]; }",
        "float r[4] = {}; for (int v = 0; v < 5; v += 3) x[v] = r[v];",
        "float r[2] = {}; for (int v = 3; v < 2; ++v) x[v] = r[v];",
        "int n = threadIdx.x; float r[2] = {}; for (int v = 0; v < n; ++v) x[v] = r[v];",
        "for (int v = 0; v < 4; ++v) x[v] = (float)y[v] + y[2];",
        "{ float r[2] = {}; x[0] = r[0]; } float r[4] = {}; for (int v = 0; v < 4; ++v) x[v] = r[v];",
    ],
)
def test_index_that_is_in_range_or_guarded_gives_no_warning(body: str) -> None:
    assert warnings_of(body) == ()
