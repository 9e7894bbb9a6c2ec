"""Extraction of kernels from programs: each cell compiles, and has what its kernel needs and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulab.compiler import compile_program
from gpulab.compiler.extraction.device_side import ExtractedCell, extract, read_items
from gpulab.compiler.extraction.top_level import items_of
from gpulab.compiler.preprocess.phases import read_source
from gpulab.errors import UsageError

PROGRAM = """\
#include <stdio.h>
#include <vector>
#include "helper_cuda.h"
#define BLOCK 64
#define CHECK(call) do { if (call) exit(1); } while (0)
#if defined(WIDE)
typedef double real;
#else
typedef float real;
#endif
struct Plan { std::vector<float> data; };
struct Pair { real a, b; };
float* buffer = NULL;

// the sum of a pair
__device__ real sum(Pair p) { return p.a + p.b; }

__global__ void add(real* out, const Pair* in) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  out[i] = sum(in[i]);
}

__global__ void fill(float* x) { x[threadIdx.x] = 1; }

int main() {
  CHECK(cudaMalloc(&buffer, 4));
  fill<<<1, BLOCK>>>(buffer);
}
"""


def cells(text: str) -> list[ExtractedCell]:
    return extract(items_of(read_source(text)))


def test_each_kernel_becomes_a_cell_that_compiles() -> None:
    add, fill = cells(PROGRAM)
    assert compile_program(add.source).kernel_names == ("add",)
    assert compile_program(fill.source).kernel_names == ("fill",)
    assert "typedef double real;" in add.source
    assert "// the sum of a pair" in add.source
    for unneeded in ("main", "CHECK", "Plan", "buffer", "include"):
        assert unneeded not in add.source
    assert fill.source == "__global__ void fill(float* x) { x[threadIdx.x] = 1; }\n"


def test_kernels_that_share_a_module_variable_are_in_one_cell() -> None:
    text = (
        "__device__ int g; __global__ void put() { g = 1; }\n__global__ void other() {}\n"
        "__global__ void get(int* x) { *x = g; }\n"
    )
    assert [cell.kernels for cell in cells(text)] == [("other",), ("put", "get")]


def test_kernels_that_share_a_class_with_virtual_functions_are_in_one_cell() -> None:
    text = (
        "struct Shape { __device__ virtual float area() = 0; };\nstruct Size { float x; };\n"
        "struct Square : Shape { float x; __device__ float area() { return x * x; } };\n"
        "__global__ void create(Shape** s) { *s = new Square; }\n__global__ void other(Size* s) {}\n"
        "__global__ void measure(Shape** s, Size* size) { size->x = (*s)->area(); }\n"
    )
    assert [cell.kernels for cell in cells(text)] == [("other",), ("create", "measure")]


def test_kernel_that_is_defined_in_two_branches_keeps_both() -> None:
    text = "#if A\n__global__ void k(int* x) { *x = 1; }\n#else\n__global__ void k() {}\n#endif\nint f() {}\n"
    (cell,) = cells(text)
    assert cell.source.count("__global__") == 2
    assert compile_program(cell.source).kernel_names == ("k",)


def test_operators_of_used_types_are_kept() -> None:
    text = (
        "__device__ float3 operator+(float3 a, float3 b) { return a; }\n"
        "__device__ int2 operator+(int2 a, int2 b) { return a; }\n"
        "__global__ void k(float3* x) { *x = *x + *x; }\n"
    )
    (cell,) = cells(text)
    assert "operator+(float3" in cell.source
    assert "int2" not in cell.source


def test_operators_of_needed_classes_are_kept() -> None:
    text = (
        "struct A { float x; };\nstruct B { float x; };\n"
        "__device__ A operator+(const A& a, const A& b) { A sum = {a.x + b.x}; return sum; }\n"
        "__device__ B operator+(const B& a, const B& b) { return a; }\n"
        "__global__ void k(A* x) { *x = *x + *x; }\n"
    )
    (cell,) = cells(text)
    assert "operator+(const A&" in cell.source
    assert "B" not in cell.source
    assert compile_program(cell.source).kernel_names == ("k",)


def test_specialisations_by_macros_are_kept() -> None:
    text = (
        "template <class T> struct Zero { virtual __device__ T get() = 0; };\n"
        "template <class T> struct Other {};\n"
        "#define ZERO(t) template <> struct Zero<t> { __device__ t get() { return 0; } }\n"
        "ZERO(int);\nZERO(float);\n"
        "#define OTHER(t) template <> struct Other<t> { }\nOTHER(int);\n"
        "__global__ void k(float* x) { Zero<float> zero; *x = zero.get(); }\n"
    )
    (cell,) = cells(text)
    assert "ZERO(float);" in cell.source
    assert "other" not in cell.source.lower()
    assert compile_program(cell.source).kernel_names == ("k",)


def test_device_functions_that_launchers_pass_to_templates_are_kept() -> None:
    text = (
        "__device__ float twice(float x) { return 2 * x; }\n"
        "__device__ float square(float x) { return x * x; }\n"
        "__device__ float cube(float x) { return x * x * x; }\n"
        "template <float (*f)(float)> __global__ void k(float* x) { *x = f(*x); }\n"
        "template <float (*f)(float)> void launch(float* x) { k<f><<<1, 1>>>(x); }\n"
        "void host(float* x) { launch<twice>(x); k<square><<<1, 1>>>(x); other<cube>(x); }\n"
    )
    (cell,) = cells(text)
    assert "float twice" in cell.source
    assert "float square" in cell.source
    assert "cube" not in cell.source


def test_types_that_launchers_pass_to_templates_are_kept() -> None:
    text = (
        "#include <cuda_bf16.h>\nstruct A { float x; };\nstruct B { float x; };\n"
        "template <class S, class T> __global__ void k(S* x, T* y) { *x = *x; }\n"
        "template <class S, class T> void launch(S* x, T* y) { k<S, T><<<1, 1>>>(x, y); }\n"
        "void host() { A a; __nv_bfloat16 b; launch<A, __nv_bfloat16>(&a, &b); }\n"
    )
    (cell,) = cells(text)
    assert "struct A" in cell.source
    assert "struct B" not in cell.source
    assert "#include <cuda_bf16.h>" in cell.source


def test_using_a_name_of_std_is_kept_if_its_header_is_added() -> None:
    text = (
        "using std::max; using std::is_same; using std::vector;\n"
        "template <class T> __global__ void k(int* x) { *x = max(*x, is_same<T, int>::value); }\n"
    )
    (cell,) = cells(text)
    assert cell.source.count("using") == 1
    assert "using std::is_same;" in cell.source


def test_allowed_headers_are_kept_if_their_namespace_is_used() -> None:
    text = (
        "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n#include <iostream>\n#include <stdint.h>\n"
        "namespace cg = cooperative_groups;\n__global__ void a(half* x) { *x = 1; }\n"
        "__global__ void b() { cg::this_thread_block().sync(); }\n"
    )
    a, b = cells(text)
    assert "cooperative_groups" not in a.source
    assert "#include <cuda_fp16.h>" in a.source
    assert "#include <cooperative_groups.h>\n" in b.source
    assert "namespace cg = cooperative_groups;" in b.source
    assert "iostream" not in b.source
    assert "stdint" not in b.source


def test_member_functions_for_the_host_are_left_out() -> None:
    text = """\
class Base { public: void* operator new(size_t n) { void* p; cudaMallocManaged(&p, n); return p; } };
struct A : public Base {
  float x, (*f)(float);
  A(float y) : x(y) {}
  A() = default;
  ~A();
  friend std::ostream& operator<<(std::ostream& o, const A& a) { return o << a.x; }
private:
  template <class T> void host(T t) { printf("%g", x); }
public:
  __host__ __device__ float twice() const { return 2 * x; }
};
__global__ void k(A* a) { a->x = a->twice(); }
"""
    (cell,) = cells(text)
    assert compile_program(cell.source).kernel_names == ("k",)
    assert "float x, (*f)(float);" in cell.source
    for left_out in ("ostream", "host(T t)", "cudaMallocManaged", "~A"):
        assert left_out not in cell.source


def test_constructors_for_the_host_are_left_out() -> None:
    text = (
        "struct V { float x[2];\n__device__ V(float a, float b) : x{ a, b } {}\n"
        "V(const float* p) : x{ p[0], p[1] } { host(); }\n__device__ float sum() { return x[0] + x[1]; } };\n"
        "__global__ void k(float* x) { x[0] = V(x[0], x[1]).sum(); }\n"
    )
    (cell,) = cells(text)
    assert "host" not in cell.source
    assert compile_program(cell.source).kernel_names == ("k",)


def test_using_namespace_is_kept_if_the_cell_has_the_namespace() -> None:
    text = (
        "namespace a { __device__ int f() { return 1; } }\nnamespace b { int g() { return 1; } }\n"
        "using namespace a;\nusing namespace b;\nusing namespace std;\n"
        "__global__ void k(int* x) { *x = f(); }\n"
    )
    (cell,) = cells(text)
    assert "using namespace a;" in cell.source
    assert cell.source.count("using") == 1
    assert compile_program(cell.source).kernel_names == ("k",)


def test_headers_of_types_are_added() -> None:
    (cell,) = cells('#include "cublas_v2.h"\n__global__ void k(__nv_bfloat16* x, half* y) {}\n')
    assert cell.source.startswith("#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n")


def test_constexpr_member_functions_become_device_functions() -> None:
    text = (
        "#define HD __host__ __device__\n"
        "template <int N> struct A { static constexpr int n = N; HD constexpr int one() const { return 1; }\n"
        "static constexpr int size() { return N; }\nconstexpr int twice() const noexcept { return 2 * n; }\n"
        "__device__ int f() { if constexpr (N > 1) { return 1; } constexpr int m = size(); return m; } };\n"
        "__global__ void k(int* x) { A<4> a; x[0] = a.size() + a.twice() + a.one() + a.f(); }\n"
    )
    (cell,) = cells(text)
    assert cell.source.count("__device__ constexpr") == 2
    assert compile_program(cell.source).kernel_names == ("k",)


def test_header_of_curand_is_kept_if_it_is_used() -> None:
    text = (
        "#include <curand_kernel.h>\n__global__ void k(float* x) { x[0] = 1; }\n"
        "__global__ void draw(curandState* s, float* x) { x[0] = curand_uniform(s); }\n"
    )
    k, draw = cells(text)
    assert k.source == "__global__ void k(float* x) { x[0] = 1; }\n"
    assert draw.source.startswith("#include <curand_kernel.h>\n")


def test_table_of_host_functions_is_left_out() -> None:
    kernel = "__global__ void k(int* x) { x[0] = 1; }\n"
    (cell,) = cells(kernel + "void f(const int* x) {}\nvoid (*table[])(const int* x) = {f};\n")
    assert cell.source == kernel


def test_floating_constants_become_constant_expressions() -> None:
    text = "const float A = 2;\nstatic const float B = 1 / A;\n__global__ void k(float* x) { *x = B; }\n"
    (cell,) = cells(text)
    assert compile_program(cell.source).kernel_names == ("k",)


@pytest.mark.parametrize("alias", ["typedef float real;", "using real = double;", "#define real float"])
def test_constants_of_a_type_that_is_floating_become_constant_expressions(alias: str) -> None:
    text = f"{alias}\nconst real A = 2;\nconst real B = A * A;\n__global__ void k(float* x) {{ *x = B; }}\n"
    (cell,) = cells(text)
    assert compile_program(cell.source).kernel_names == ("k",)


def test_constexpr_functions_become_device_functions() -> None:
    text = (
        "#define HD __host__ __device__\n// a constexpr function\nconstexpr int one() { return 1; }\n"
        "HD constexpr int two() { return 2; }\n"
        "__global__ void k(int* x) { __shared__ int s[one() + two()]; s[0] = 1; x[0] = s[0]; }\n"
    )
    (cell,) = cells(text)
    assert "// a constexpr function\n__device__ constexpr int one()" in cell.source
    assert compile_program(cell.source).kernel_names == ("k",)


def test_headers_of_the_folders_are_read_once_and_missing_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "size.h").write_text("#pragma once\n#define N 4\n")
    (tmp_path / "device.cuh").write_text(
        '#include "device.cuh"\n#include <size.h>\n__device__ int n() { return N; }\n'
    )
    main = tmp_path / "main.cu"
    main.write_text('#include "device.cuh"\n#include "gone.h"\n__global__ void k(int* x) { *x = n(); }\n')
    file = read_items(main, [tmp_path / "lib"])
    (cell,) = extract(file.items)
    assert cell.source.count("#define N 4") == 1
    assert compile_program(cell.source).kernel_names == ("k",)
    assert file.missing == ["gone.h"]


def test_braces_in_an_attribute_do_not_begin_the_body() -> None:
    text = (
        "struct S { static constexpr int n = 64; };\n"
        "__global__ static __launch_bounds__(decltype(S{})::n) void k(int* x) { x[0] = 1; }\n"
    )
    (cell,) = cells(text)
    assert cell.kernels == ("k",)
    assert compile_program(cell.source).kernel_names == ("k",)


def test_kernel_that_is_defined_outside_of_its_namespace() -> None:
    text = (
        "namespace n { const int N = 8; __global__ void k(int* x); }\n"
        "__global__ void n::k(int* x) { x[0] = N; }\n"
        "template <int N> __global__ void t(int* x);\n"
        "template <> __global__ void t<1>(int* x) { x[0] = 1; }\n"
    )
    k, t = cells(text)
    assert (k.kernels, t.kernels) == (("k",), ("t",))
    assert compile_program(k.source).kernel_names == ("n::k",)


def test_function_whose_execution_spaces_are_a_macro_of_another_header_is_kept(tmp_path: Path) -> None:
    (tmp_path / "spaces.h").write_text("#pragma once\n#define HD __host__ __device__\n")
    (tmp_path / "size.h").write_text(
        '#include "spaces.h"\nHD inline int size(int n) { return 2 * n; }\nint host(int n) { return n; }\n'
    )
    (tmp_path / "main.cu").write_text(
        '#include "size.h"\nHD int half(int n) { return n / 2; }\n'
        "__global__ void k(int* x) { x[0] = size(half(x[0])); }\n"
    )
    (cell,) = extract(read_items(tmp_path / "main.cu").items)
    assert compile_program(cell.source).kernel_names == ("k",)
    assert "host(int n)" not in cell.source


def test_copy_of_a_library_is_replaced_by_the_installed_one(tmp_path: Path) -> None:
    (tmp_path / "3rdparty" / "cub").mkdir(parents=True)
    (tmp_path / "3rdparty" / "cub" / "cub.cuh").write_text('#error "not read"\n')
    text = '#include "3rdparty/cub/cub.cuh"\n__global__ void k(int* x) { cub::CTA_SYNC(); }\n'
    (tmp_path / "a.cu").write_text(text)
    (cell,) = extract(read_items(tmp_path / "a.cu").items)
    assert cell.source.startswith("#include <cub/cub.cuh>\n")


def test_file_that_cannot_be_read_raises_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.cu"):
        read_items(tmp_path / "gone.cu")


@pytest.mark.parametrize(
    ("namespace", "header", "type_name"),
    [("std", "array", "array<int, 4>"), ("cuda::std", "cuda/std/complex", "complex<float>")],
)
def test_header_stays_if_its_names_come_by_a_using_directive(
    namespace: str, header: str, type_name: str
) -> None:
    directive = f"#include <{header}>\nusing namespace {namespace};\n"
    (cell,) = cells(f"{directive}__global__ void k({type_name}* x) {{ x[0] = x[1]; }}\n")
    assert cell.source.startswith(directive)
    compile_program(cell.source)


def test_header_of_a_name_of_std_is_added_under_a_using_directive() -> None:
    text = (
        "#include <vector>\nusing namespace std;\n__global__ void k(bool* x) { *x = is_same<int, bool>(); }\n"
    )
    (cell,) = cells(text)
    assert cell.source.startswith("#include <type_traits>\nusing namespace std;\n")


def test_using_directive_is_left_out_if_the_file_declares_the_name() -> None:
    own = "__device__ int gcd(int a, int b) { return a; }\n"
    (cell,) = cells(f"using namespace std;\n{own}__global__ void k(int* x) {{ *x = gcd(x[0], x[1]); }}\n")
    assert "std" not in cell.source


def test_comparison_in_a_return_type_does_not_hide_the_function() -> None:
    text = (
        "#include <type_traits>\ntemplate <typename T> __device__ typename "
        "std::enable_if<sizeof(T) == 4, T>::type same(T x) { return x; }\n"
        "__global__ void k(float* x) { *x = same(*x); }\n"
    )
    (cell,) = cells(text)
    assert "enable_if" in cell.source
    compile_program(cell.source)
