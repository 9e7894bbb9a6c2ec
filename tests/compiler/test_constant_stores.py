"""Stores to `__constant__` variables: found in the source, and reported as warnings."""

from __future__ import annotations

import pytest

from gpulab.compiler import compile_program
from gpulab.compiler.constant_stores import constant_stores_of

SOURCE = """struct Pair {{ float a[2]; }};
__constant__ float c[4] = {{1, 2, 3, 4}};
__constant__ Pair pair;
__global__ void k(float* x{parameter})
{{
    {statement}
}}
"""


def stores(statement: str, parameter: str = "") -> list[tuple[int, str]]:
    found = constant_stores_of(SOURCE.format(statement=statement, parameter=parameter))
    return [(store.line, store.name) for store in found]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("c[0] = 1;", "c"),
        ("c[threadIdx.x + x[0] * 2] -= 1;", "c"),
        ("if (x[0] > 0) c[1]++;", "c"),
        ("--c[1];", "c"),
        ("*c = 1;", "c"),
        ("pair.a[1] *= 2;", "pair"),
        ("atomicAdd(&c[2], 1.0f);", "c"),
    ],
)
def test_store_is_found(statement: str, name: str) -> None:
    assert stores(statement) == [(6, name)]


@pytest.mark.parametrize(
    "statement",
    [
        "x[0] = c[0];",
        "x[0] = x[1] * c[0] + pair.a[1];",
        "if (c[0] == 1 || c[1] <= 2 || c[1] != 3) x[0] = 1;",
        "const float* p = &c[1]; x[0] = *p;",
        "float c[4]; c[0] = 1; x[0] = c[x[0] > 0];",  # another variable
        "Pair* other; other->a[0] = 1;",
    ],
)
def test_other_use_is_no_store(statement: str) -> None:
    assert stores(statement) == []


def test_parameter_with_the_name_of_a_constant_is_no_constant() -> None:
    for parameter in (", float* c", ", float *__restrict__ c", ", Pair* c"):
        assert stores("c[0] = 1;", parameter) == []


def test_text_that_is_not_cuda_has_no_stores() -> None:
    assert constant_stores_of("") == []


def test_store_that_the_compiler_removes_is_a_warning() -> None:
    (warning,) = compile_program(
        SOURCE.format(statement="c[1] += 2;\n    x[0] = c[0];", parameter="")
    ).warnings
    assert warning.startswith("line 6: `c` is in constant memory, which only the host can write")
