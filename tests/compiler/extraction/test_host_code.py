"""Programs with host code: one message that says what to cut."""

from __future__ import annotations

import pytest

from gpulab.compiler import compile_program
from gpulab.errors import CompileError, Diagnostic, IncludeRefused

KERNEL = "__global__ void k(float* x) { x[0] = 1; }\n"
HOST = "void check(int code) {}\nint main() {\n  float* x;\n  cudaMalloc(&x, 4);\n  k<<<1, 1>>>(x);\n}\n"


def errors(text: str) -> list[Diagnostic]:
    with pytest.raises(CompileError) as caught:
        compile_program(text)
    return caught.value.diagnostics


def test_host_code_gives_one_error_that_names_functions_and_includes() -> None:
    with pytest.raises(IncludeRefused) as caught:
        compile_program('#include <vector>\n#include "helper_cuda.h"\n' + KERNEL + HOST)
    (error,) = caught.value.diagnostics
    assert error.line == 4
    assert all(part in error.message for part in ("`main` (line 5)", "lines 1, 2", "gpulab extract"))


def test_host_code_without_includes_gives_one_error() -> None:
    (error,) = errors(KERNEL + HOST)
    assert "`main`" in error.message
    assert "#include" not in error.message


def test_errors_of_kernels_are_reported_with_the_host_code() -> None:
    host, other = errors("__global__ void k(float* x) { x[0] = y; }\n" + HOST)
    assert "gpulab extract" in host.message
    assert '"y" is undefined' in other.message


def test_function_without_a_specifier_is_no_host_code() -> None:
    (error,) = errors("float f(float x) { return x; }\n" + KERNEL)
    assert "`__device__`" in error.message
