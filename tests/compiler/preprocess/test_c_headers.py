"""Names that nvcc knows without any header, and functions of namespace std."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab.compiler import compile_program
from gpulab.compiler.preprocess.c_headers import implicit_definitions
from gpulab.compiler.preprocess.phases import read_source

KERNEL = "__global__ void k(float* x) {{ {0} }}\n"


@pytest.mark.parametrize(
    "expression",
    [
        "sizeof(uint) == 4 && sizeof(uchar) == 1 && sizeof(ushort) == 2 && sizeof(uint32_t) == 4",
        "FLT_MAX > 3e38f && FLT_EPSILON < 2e-7f && DBL_MAX > 1e308 && UINT_MAX == ~0u && INT_MIN < 0",
        "M_PI > 3.14159 && M_PI < 3.1416",
        "INFINITY > FLT_MAX && NAN != NAN",
        "std::min(1, 2) == 1 && std::max<double>(1, 2.5) == 2.5 && std::clamp(7, 1, 3) == 3",
        "std::numeric_limits<int>::max() == 2147483647 && std::numeric_limits<unsigned char>::max() == 255",
        "std::numeric_limits<float>::infinity() > std::numeric_limits<float>::max()",
        "std::numeric_limits<float>::lowest() < -3e38f && std::numeric_limits<long>::is_signed",
        "std::numeric_limits<int>::digits == 31 && std::numeric_limits<double>::digits == 53",
        "UINT64_C(1) << 40 == 1099511627776ull && sizeof(UINT32_C(1)) == 4 && UINT8_C(7) == INT16_C(7)",
        "sizeof(std::size_t) == 8 && sizeof(std::uint16_t) == 2",
        "sizeof(u_int32_t) == 4 && sizeof(uint_fast8_t) == 1 && sizeof(int_least64_t) == 8",
        "RAND_MAX == 2147483647 && EXIT_FAILURE == 1 && CLOCKS_PER_SEC == 1000000",
        "sizeof(__int128) == 16 && sizeof(__uint128_t) == 16",
    ],
)
def test_names_are_known_without_a_header(expression: str) -> None:
    assert compile_program(
        f'static_assert({expression}, "");\n' + KERNEL.format("x[0] = 1;")
    ).kernel_names == ("k",)


def test_functions_of_std_have_the_overloads_of_cmath() -> None:
    body = (
        "float y = x[0]; x[0] = std::sqrt(y) + std::abs(-y) + std::pow(y, 2) + std::floor(1.5f);"
        "x[0] += std::fma(y, y, y);"
        'static_assert(sizeof(std::sqrt(y)) == 4 && sizeof(std::sqrt(2.0)) == 8, "");'
        "if (std::isnan(y)) std::swap(x[1], x[2]); x[1] = std::abs(-3);"
    )
    device = gpulab.device("sim")
    x = device.asarray(np.array([4, 0, 0], np.float32))
    device.compile("#include <cmath>\n#include <algorithm>\n" + KERNEL.format(body))(1, 1, (x,))
    np.testing.assert_array_equal(device.asnumpy(x), [2 + 4 + 16 + 1 + 20, 3, 0])


def test_names_in_the_instance_of_a_template_are_known() -> None:
    text = "template <class T> __global__ void k(T* x) { x[0] = 1; }"
    assert compile_program(text, name_expressions=["k<uint8_t>"]).pick("k<uint8_t>")


def test_using_namespace_std_makes_its_names_known() -> None:
    body = "x[0] = min(numeric_limits<float>::max(), x[1]); swap(x[2], x[3]); x[4] = std::powf(2, 3);"
    assert compile_program("using namespace std;\n" + KERNEL.format(body)).kernel_names == ("k",)


@pytest.mark.parametrize(
    "declaration",
    [
        "#define INFINITY 1e30f\n",
        "#  define M_PI 3\n",
        "typedef unsigned int uint;\n",
        "using uchar = unsigned char;\n",
        "struct uint { int x; };\n",
        "enum { INT_MAX = 4 };\n",
        "constexpr float FLT_MAX = 1;\n",
        "__constant__ const int UINT_MAX = 7;\n",
        "typedef struct { int x; } ushort;\n",
    ],
)
def test_declarations_of_a_source_take_precedence(declaration: str) -> None:
    source = declaration + KERNEL.format("x[0] = 1;")
    assert implicit_definitions(read_source(source), {}) == ""
    assert compile_program(source).warnings == ()


def test_macros_of_the_command_line_take_precedence() -> None:
    text = 'static_assert(M_PI == 3, "");\n' + KERNEL.format("x[0] = 1;")
    assert compile_program(text, defines={"M_PI": 3}).kernel_names == ("k",)


def test_register_is_ignored_as_by_nvcc() -> None:
    assert compile_program(KERNEL.format("register float y = x[1]; x[0] = y;")).kernel_names == ("k",)


def test_source_may_ask_for_nvcc() -> None:
    text = "#ifndef __NVCC__\n#define __device__\n#endif\n__device__ float one() { return 1; }\n"
    assert compile_program(text + KERNEL.format("x[0] = one();")).kernel_names == ("k",)


def test_spellings_of_gnu_for_inline_assembly() -> None:
    body = r'__asm__ __volatile__("mov.f32 %0, 0f3F800000;" : "=f"(x[0])); __asm("membar.gl;");'
    assert "membar.gl" in compile_program(KERNEL.format(body)).ptx


def test_spellings_of_gnu_for_qualifiers() -> None:
    assert compile_program(KERNEL.format("__const__ int a = 1; __volatile int b = a; x[b] = a;")).ptx


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sqrt(n)", 2.0),
        ("std::sqrt(n) + floor(n / 3)", 3.0),
        ("exp(0u) + log((size_t)1) + ceil((char)2)", 3.0),
        ("pow(n, 2) + pow(2.5f, n - 2) + fmod(n, 3.0)", 23.25),
        ("atan2(0, n) + fmax(n, 5)", 5.0),
    ],
)
def test_functions_of_cmath_accept_integers(expression: str, value: float) -> None:
    device = gpulab.device("sim")
    x = device.zeros(1, np.float32)
    device.compile(f"__global__ void k(float* x, int n) {{ x[0] = {expression}; }}")(1, 1, (x, 4))
    assert device.asnumpy(x)[0] == value


def test_errors_beside_a_function_of_integers_are_reported() -> None:
    with pytest.raises(gpulab.CompileError) as caught:
        compile_program(KERNEL.format("x[0] = sqrt(2);\n y = 1;"))
    assert [each.line for each in caught.value.diagnostics] == [2]


@pytest.mark.parametrize("arch", [80, 90])
def test_functions_of_dependent_launches_are_known(arch: int) -> None:
    body = "cudaGridDependencySynchronize(); x[0] = 1; cudaTriggerProgrammaticLaunchCompletion();"
    ptx = compile_program(KERNEL.format(body), arch=arch).ptx
    assert ptx.count("griddepcontrol") == 2 * (arch == 90)


def test_source_without_such_names_gets_no_definition() -> None:
    text = "#include <cmath>\n" + KERNEL.format("x[0] = sqrtf(min(x[0], 1.0f)) + cuda::std::min(1, 2);")
    assert implicit_definitions(read_source(text), {}) == ""


def test_line_numbers_are_those_of_the_source() -> None:
    with pytest.raises(gpulab.CompileError) as caught:
        compile_program("__device__ uint n;\n" + KERNEL.format("x[0] = INFINITY; y = 1;"))
    assert caught.value.diagnostics[0].line == 2


@pytest.mark.parametrize("header", ["type_traits", "utility", "tuple", "array"])
def test_headers_of_the_cpp_standard_are_those_of_libcudacxx(header: str) -> None:
    uses = {
        "type_traits": "static_assert(std::is_same<int, int>::value);",
        "utility": "std::pair<int, float> p(1, x[0]); x[0] = p.second;",
        "tuple": "std::tuple<int, float> t(1, 2); x[0] = std::get<1>(t);",
        "array": "std::array<float, 2> a{1, 2}; x[0] = a[1];",
    }
    assert compile_program(f"#include <{header}>\n" + KERNEL.format(uses[header])).kernel_names == ("k",)
