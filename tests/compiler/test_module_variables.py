"""Variables of a module: names, types and extents from the source, sizes from the PTX."""

from __future__ import annotations

import pytest

from gpulab.compiler import compile_program, ptx_program
from gpulab.compiler.declarators import declared_types
from gpulab.compiler.preprocess.phases import read_source

KERNEL = "\n__global__ void k(float* x) { x[0] = 1; }\n"


def declared(text: str, **defines: object) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return dtype and shape of each variable of a source."""
    variables = compile_program(text + KERNEL, defines=defines).variables
    return {name: (variable.dtype, variable.shape) for name, variable in variables.items()}


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("__device__ int v;", ("int32", ())),
        ("__constant__ float v[9];", ("float32", (9,))),
        ("__constant__ float v[2][3] = {{1, 2, 3}, {4, 5, 6}};", ("float32", (2, 3))),
        ("__device__ const unsigned long long v[2] = {1, 2};", ("uint64", (2,))),
        ("extern __device__ int w; __device__ unsigned v = 3;", ("uint32", ())),
        ("__device__ double a, v[4], b;", ("float64", (4,))),
        ("__device__ unsigned char v[5];", ("uint8", (5,))),
        ("__device__ char v;", ("int8", ())),
        ("__device__ bool v[3];", ("bool", (3,))),
        ("__device__ float4 v[2];", ("float32", (2, 4))),
        ("__constant__ uchar3 v;", ("uint8", (3,))),
        ("__device__ float* v;", ("uint64", ())),
        ("typedef short sample; __device__ sample v[2];", ("int16", (2,))),
        ("__device__ __align__(16) float v[4];", ("float32", (4,))),
        ("struct S { float a; int b; }; __device__ S v[2];", ("uint8", (16,))),
        ("template <int N> struct T { int a[N]; }; __device__ T<3> v;", ("uint8", (12,))),
    ],
)
def test_type_and_extents_are_the_declared_ones(declaration: str, expected: tuple[str, object]) -> None:
    assert declared(declaration)["v"] == expected


def test_extents_are_evaluated_with_macros_and_constants() -> None:
    text = "constexpr int R = 2;\n__constant__ float w[2 * R + 1][N];"
    assert declared(text, N=7) == {"w": ("float32", (5, 7))}


def test_extents_that_are_not_known_leave_one_axis() -> None:
    assert declared("__device__ int v[sizeof(float) * 2];") == {"v": ("int32", (8,))}


def test_operator_function_declares_no_variable() -> None:
    text = "__device__ void operator+=(float2& a, float2 b) { a.x += b.x; }\n__constant__ float w;"
    assert declared_types(read_source(text), ("__device__", "__constant__")) == {"w": ("float32", 1)}


def test_variables_of_namespaces_and_functions_have_qualified_names() -> None:
    text = (
        "namespace N { __device__ int v[2]; }\n"
        "__global__ void count(int* x) { static __device__ int calls; x[0] = ++calls; }"
    )
    assert set(declared(text)) == {"N::v", "count::calls"}


def test_strings_and_variables_of_headers_are_left_out() -> None:
    text = (
        "#include <cooperative_groups.h>\n__device__ int mine;\n"
        '__global__ void p() { cooperative_groups::this_thread_block().sync(); printf("hello"); mine = 1; }'
    )
    assert set(declared(text)) == {"mine"}


def test_constant_variables_are_marked() -> None:
    variables = compile_program("__constant__ int c; __device__ int d;" + KERNEL).variables
    assert {name: variable.constant for name, variable in variables.items()} == {"c": True, "d": False}


def test_variables_of_ptx_have_its_types() -> None:
    ptx = (
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .global .align 4 .f32 scale;\n.visible .const .align 8 .b64 table[3];\n"
        ".extern .global .align 4 .u32 elsewhere;\n.global .align 1 .b8 $str[4] = {1, 2, 3, 0};\n"
        ".visible .entry k()\n{\n ret;\n}\n"
    )
    variables = ptx_program(ptx).variables
    assert {name: (v.dtype, v.shape, v.size) for name, v in variables.items()} == {
        "scale": ("float32", (), 4),
        "table": ("uint64", (3,), 24),
    }


def test_variables_survive_the_disk_cache() -> None:
    text = "__constant__ float4 cached[3];" + KERNEL
    assert compile_program(text).variables == compile_program(text).variables != {}
