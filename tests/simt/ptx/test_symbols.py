"""Names of shared variables in PTX, as NVRTC mangles them."""

from __future__ import annotations

import re

import pytest

from gpulab.compiler import compile_program
from gpulab.simt.ptx.symbols import variable_name


@pytest.mark.parametrize(
    "function",
    [
        "__device__ float f(__half v) {{ {body} }}",
        "template <class T> __device__ float f(T v) {{ {body} }}",
        "struct E4ab {{ __half h; }}; __device__ float f(E4ab* v) {{ {body} }}",
    ],
)
@pytest.mark.parametrize("name", ["tile", "E4", "s1_0"])
def test_name_of_a_shared_variable_is_that_of_the_source(function: str, name: str) -> None:
    block = f"{{ __shared__ float {name}[8]; {name}[threadIdx.x] = 1; __syncthreads(); x += {name}[7]; }}"
    body = f"float x = 0; {block} {block} return x;"
    argument = "(E4ab*)nullptr" if "E4ab" in function else "__half(1.f)"
    kernel = f"__global__ void k(float* x) {{ x[0] = f({argument}); }}"
    ptx = compile_program(f"#include <cuda_fp16.h>\n{function.format(body=body)}\n{kernel}\n").ptx
    symbols = set(re.findall(r"_ZZ\w+", ptx))
    assert len(symbols) == 2
    assert {variable_name(symbol) for symbol in symbols} == {name}
