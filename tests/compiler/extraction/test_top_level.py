"""The top level of CUDA C++ files: kinds, names and texts of declarations and directives."""

from __future__ import annotations

import pytest

from gpulab.compiler.extraction.top_level import ItemKind, SourceItem, items_of
from gpulab.compiler.preprocess.phases import read_source


def items(text: str) -> list[SourceItem]:
    return items_of(read_source(text))


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("__global__ void k(float* x) { x[0] = 1; }", ItemKind.KERNEL, {"k"}),
        (
            "template <int N, class T = A<2>> __global__ void __launch_bounds__(N) k(T* x) {}",
            ItemKind.KERNEL,
            {"k"},
        ),
        ("__global__ void BOUNDS(N, 4) k(float* x) {}", ItemKind.KERNEL, {"k"}),
        ("__global__ void BOUNDS(N) k<int>(float* x) {}", ItemKind.KERNEL, {"k"}),
        ("__global__ void BOUNDS(N)\nstatic k(float* x) {}", ItemKind.KERNEL, {"k"}),
        ("__device__ float f(int n) NOT_INLINED(n) {}", ItemKind.DEVICE_FUNCTION, {"f"}),
        ('extern "C" __global__ void k() {}', ItemKind.KERNEL, {"k"}),
        ("template <> __global__ void k<int>(int* x) {}", ItemKind.KERNEL, {"k"}),
        ("template __global__ void k<8>(float*);", ItemKind.KERNEL, {"k"}),
        ("__global__ void k(float*);", ItemKind.KERNEL, {"k"}),
        (
            "static __device__ __forceinline__ float2 f(float a) { return {a, a}; }",
            ItemKind.DEVICE_FUNCTION,
            {"f"},
        ),
        ("constexpr int f(int n) { return n + 1; }", ItemKind.DEVICE_FUNCTION, {"f"}),
        ("__device__ float3 operator+(float3 a, float3 b) {}", ItemKind.DEVICE_FUNCTION, {"operator"}),
        ("__device__ float A::f() const { return x; }", ItemKind.DEVICE_FUNCTION, {"A", "f"}),
        ("int main(int argc, char** argv) { return 0; }", ItemKind.HOST_FUNCTION, {"main"}),
        ("TEST(Suite, Name) { run(); }", ItemKind.HOST_FUNCTION, {"TEST"}),
        ("struct pair make(int a) { }", ItemKind.HOST_FUNCTION, {"make"}),
        ("void f(int);", ItemKind.HOST_FUNCTION, {"f"}),
        ("struct __align__(16) A { float x; };", ItemKind.TYPE, {"A"}),
        ("template <class T> class A : public B<T> { __device__ int f() {} };", ItemKind.TYPE, {"A"}),
        ("struct A;", ItemKind.TYPE, {"A"}),
        ("typedef struct { float x, y; } A, *B;", ItemKind.TYPE, {"A", "B"}),
        ("typedef struct __align__(8) T { float x; } A;", ItemKind.TYPE, {"T", "A"}),
        ("typedef unsigned char byte;", ItemKind.TYPE, {"byte"}),
        ("typedef float (*function)(float);", ItemKind.TYPE, {"function"}),
        ("typedef float row[16];", ItemKind.TYPE, {"row"}),
        ("enum color { RED = 1, GREEN };", ItemKind.TYPE, {"color", "RED", "GREEN"}),
        ("using T = float;", ItemKind.TYPE, {"T"}),
        ("namespace cg = cooperative_groups;", ItemKind.TYPE, {"cg"}),
        ("__constant__ float c[3][N], d = 1;", ItemKind.DEVICE_VARIABLE, {"c", "d"}),
        ("__device__ const float c[] = {1, 2};", ItemKind.CONSTANT, {"c"}),
        ("extern __shared__ float s[];", ItemKind.CONSTANT, {"s"}),
        ("const int N = A < B ? 1 : 2, M(3);", ItemKind.CONSTANT, {"N", "M"}),
        ("static constexpr int N = f(2, 3);", ItemKind.CONSTANT, {"N"}),
        ("texture<float, 2, cudaReadModeElementType> t;", ItemKind.CONSTANT, {"t"}),
        ("float* host = NULL;", ItemKind.HOST_VARIABLE, {"host"}),
        ("dim3 grid(1, 2);", ItemKind.HOST_FUNCTION, {"grid"}),
        ("using namespace nvcuda::wmma;", ItemKind.USING_NAMESPACE, {"wmma"}),
        ("#define N(a) \\\n  (a + 1)", ItemKind.MACRO, {"N"}),
        ("#ifdef A\n__device__\n#endif\nint f() {}", ItemKind.DEVICE_FUNCTION, {"f"}),
        ('#include "a.h"', ItemKind.INCLUDE, set()),
    ],
)
def test_declaration_has_kind_and_names(text: str, kind: ItemKind, names: set[str]) -> None:
    (item,) = items(text)
    assert (item.kind, item.names, item.text) == (kind, names, text)


def test_execution_space_behind_a_macro_is_found() -> None:
    kinds = [item.kind for item in items("#define HD __host__ __device__\nHD int f() { return 1; }\n")]
    assert kinds == [ItemKind.MACRO, ItemKind.DEVICE_FUNCTION]


def test_namespaces_and_conditions_are_markers() -> None:
    text = '#ifdef A\nnamespace n {\nextern "C" {\nint f() {}\n}\n}\n#else\nint g() {}\n#endif\n'
    assert [item.kind.name for item in items(text)] == [
        "OPENING", "OPENING", "HOST_FUNCTION", "CLOSING", "BRANCH", "HOST_FUNCTION", "CLOSING",
    ]  # fmt: skip


def test_conditional_branches_in_a_body_do_not_unbalance_its_brackets() -> None:
    text = "__global__ void k() {\n#if A\n  for (;;) {\n#else\n  while (1) {\n#endif\n  }\n}\nint f() {}\n"
    assert [item.names for item in items(text)] == [{"k"}, {"f"}]


def test_function_whose_head_is_in_a_condition_is_one_item_with_it() -> None:
    function = "#if A\n__global__ void k(int* a) {\n#else\n__global__ void k(float* a) {\n#endif\n}\n"
    kernel, other = items(f"{function}int f() {{}}\n")
    assert (kernel.kind, kernel.names, other.names) == (ItemKind.KERNEL, {"k"}, {"f"})
    assert kernel.text == function.rstrip()


def test_function_whose_head_ends_a_condition_ends_at_its_bracket() -> None:
    text = "#if A\nint n;\nvoid k(int* a) {\n#else\nvoid k(float* a) {\n#endif\n}\nint f() {}\n"
    assert [item.names for item in items(text)] == [set(), {"n"}, {"k"}, {"f"}]


def test_condition_in_a_declaration_ends_in_it() -> None:
    text = "#if A\n__device__\n#endif\n#if B\ntypedef float T;\n#endif\nint f() {}\n"
    assert [item.names for item in items(text)] == [{"T"}, {"f"}]


def test_item_has_the_comments_above_and_beside_it_and_its_lines() -> None:
    text = "// a file\n\n// of f\nint f()\n{\n}\nconst int N = 1;  // of N\n"
    function, constant = items(text)
    assert function.text == "\n// of f\nint f()\n{\n}"
    assert (function.line, function.last_line) == (4, 6)
    assert constant.text == "const int N = 1;  // of N"
