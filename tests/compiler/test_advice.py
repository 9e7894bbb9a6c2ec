"""Warnings about variables without a value and about double constants, on kernels that compile."""

from __future__ import annotations

import pytest

from gpulab.compiler import compile_program


def warnings_of(body: str) -> tuple[str, ...]:
    """Return the warnings about a kernel with this body, whose first line is line 2."""
    return compile_program(f"__global__ void k(float* x, int n) {{\n{body}\n}}").warnings


@pytest.mark.parametrize(
    "body",
    [
        "float sum;\nfor (int i = 0; i < n; i++) sum += x[i];\nx[0] = sum;",
        "float c = 0, sum[4];\nfor (int i = 0; i < n; i++) sum[i % 4] += x[i] + c;\nx[0] = sum[n];",
        "int sum;\nfor (int i = 0; i < n; i++) sum++;\nx[0] = sum;",
    ],
)
def test_variable_that_is_updated_before_it_has_a_value(body: str) -> None:
    (warning,) = warnings_of(body)
    assert warning.startswith("line 3: `sum` is uninitialized")
    assert "in line 2" in warning


def test_condition_that_a_semicolon_ends() -> None:
    (warning,) = warnings_of("int i = threadIdx.x;\nif (i < n);\nx[i] = 1;")
    assert warning.startswith("line 3: the semicolon after the condition ends this `if`")


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; ++i);\n    x[0] += 1;",
        "int i = 0;  while (i++ < n);\n{\n    x[i] = 1;\n}",
    ],
)
def test_loop_that_a_semicolon_ends(loop: str) -> None:
    (warning,) = warnings_of(loop)
    assert warning.startswith("line 2: the semicolon ends this ")
    assert "the statement in line 3 is executed once" in warning


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; x[i] > 0; ++i);\nx[1] = 1;",
        "do {\n    x[0] += 1;\n} while (x[0] < n);\nx[1] = 1;",
        "    while (x[0] < n);\nx[1] = 1;",
    ],
)
def test_loop_with_an_empty_statement_gives_no_warning(loop: str) -> None:
    assert warnings_of(loop) == ()


def test_condition_of_a_statement_or_a_loop_gives_no_warning() -> None:
    assert warnings_of("for (int i = 0; x[i] > 0; ++i);\nif (n > 0) { ; }\nif (n > 1) x[0] = 1;") == ()


@pytest.mark.parametrize("statement", ["x[0] == 1;", "__syncthreads;"])
def test_statement_without_effect_says_what_is_missing(statement: str) -> None:
    (warning,) = warnings_of(statement)
    assert "expression has no effect: " in warning


@pytest.mark.parametrize(
    "body",
    [
        "float sum = 0;\nsum += x[n];\nx[0] = sum;",
        "float sum;\nsum = x[1];\nsum += x[n];\nx[0] = sum;",
        "float last;\nfor (int i = 0; i < n; i++) { if (i) x[i] = last; last = x[i + 1]; }",
        "__shared__ float s[32];\ns[threadIdx.x] = 1; __syncthreads(); x[0] = s[n];",
        "{ float sum; }\nfloat sum = 1; sum += n; x[0] = sum;",
    ],
)
def test_variable_with_a_value_gives_no_warning(body: str) -> None:
    assert warnings_of(body) == ()


@pytest.mark.parametrize("expression", ["6.0 * x[1]", "x[1] / 1.", "x[1] + 1e-3", "2 * x[1] - .5"])
def test_double_constant_in_an_expression(expression: str) -> None:
    (warning,) = warnings_of(f"x[0] = {expression};")
    assert warning.startswith("line 2: ")
    assert "double constant" in warning


@pytest.mark.parametrize(
    "body",
    [
        "x[0] = 6.0f * x[1];",
        "float half = 0.5, other = -0.5; x[0] = half * x[1] + other;",
        "double d = 0.5 * x[1]; x[0] = d;",
        "x[0] = fmaxf(x[1], 0.0);",
    ],
)
def test_constant_that_is_converted_or_meant_gives_no_warning(body: str) -> None:
    assert warnings_of(body) == ()


def test_recursion_is_named_as_the_cause_of_an_unknown_stack() -> None:
    text = "__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
    text += "__global__ void k(int* y) { y[0] = fib(y[1]); }"
    (warning,) = compile_program(text).warnings
    assert "the size of the stack of `k` is unknown, because a function calls itself" in warning
