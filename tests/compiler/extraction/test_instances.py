"""The instances of kernel templates that extracted cells name."""

from __future__ import annotations

import pytest

from gpulab.compiler import compile_program
from tests.compiler.extraction.test_device_side import cells

CALLERS = "f<5>(); } template <int N> void f() { g<N + 1>(); } template <int M> void g() {"


@pytest.mark.parametrize(
    ("launch", "instance"),
    [
        ("t<float, 8><<<1, 1>>>();", "t<float, 8>"),
        ("const int n = 4; t<float, n><<<1, 1>>>();", "t<float, 4>"),
        ("t<T, 1><<<1, 1>>>(); t<int, 2><<<1, 1>>>();", "t<int, 2>"),
        ("} template <class T> void f() { t<T, 3><<<1, 1>>>();", "t<float, 3>"),
        ("t<unsigned int, 64 / 2><<<1, 1>>>();", "t<unsigned int, 32>"),
        ("constexpr int n{4U}; t<float, n><< <1, 1>> >();", "t<float, 4>"),
        ("} template <bool B> void f() { t<int, B><<<1, 1>>>();", "t<int, true>"),
        ("const int n = 1 << 3, m = n > 4 ? n * 2 : 1; t<float, m + 1><<<1, 1>>>();", "t<float, 17>"),
        (
            "g<16>(); } template <int M> void g() { constexpr int n{M / 2}; t<int, n><<<1, 1>>>();",
            "t<int, 8>",
        ),
        ("g<int>(); } template <class T> void g() { t<T, 4><<<1, 1>>>();", "t<int, 4>"),
        (
            "g<unsigned int, 3>(); } template <class T, int M> void g() { t<T, M><<<1, 1>>>();",
            "t<unsigned int, 3>",
        ),
        (f"{CALLERS} t<int, M><<<1, 1>>>();", "t<int, 6>"),
        ("f<5>(); } template <int N> void f() { f<N - 1>(); t<int, N><<<1, 1>>>();", "t<int, 5>"),
        ("g<k>(); g<4>(); } template <int M> void g() { t<int, M><<<1, 1>>>();", "t<int, 4>"),
        ("g(); } template <int M = 6> void g() { t<int, M><<<1, 1>>>();", "t<int, 6>"),
        ("const size_t n = (size_t)3 << 19; t<float, n / 2><<<1, 1>>>();", "t<float, 786432>"),
        ("measure(t<double, 2>); t<float, 8><<<1, 1>>>();", "t<float, 8>"),
        ("measure(t<double, 2>, 1);", "t<double, 2>"),
        ("T<double, 2> t(1); t<T, n><<<1, 1>>>();", "t"),
        ("t<T, n><<<1, 1>>>();", "t"),
        ("t<int><<<1, 1>>>();", "t"),
    ],
)
def test_templates_have_the_instance_that_host_code_launches(launch: str, instance: str) -> None:
    text = "template <class T, int N> __global__ void t() {}\ntemplate <> __global__ void s<1>() {}\n"
    t, s = cells(f"{text}int main() {{ {launch} }}\n")
    assert t.instances == (instance,)
    assert s.instances == ()


@pytest.mark.parametrize(
    ("parameters", "arguments", "instance"),
    [
        ("typename T, class Index", "T* x, Index n", "t<float, int>"),
        ("typename T, int N = 4", "T const* y, const T n, int* x", "t<float>"),
        ("typename T", "T f, int* x", "t"),
        ("const int N = 4, typename T = Pair<int, 8>", "T* x", "t<>"),
    ],
)
def test_templates_that_host_code_launches_without_arguments(
    parameters: str, arguments: str, instance: str
) -> None:
    pair = "template <typename A, int N> struct Pair { A a[N]; };\n"
    (cell,) = cells(f"{pair}template <{parameters}> __global__ void t({arguments}) {{ x[0] = {{}}; }}\n")
    assert cell.instances == (instance,)
    expressions = [each for each in cell.instances if "<" in each]
    assert len(compile_program(cell.source, name_expressions=expressions).kernel_names) == len(expressions)


@pytest.mark.parametrize(
    ("host", "instance"),
    [
        ("int main() { int* x; t<<<1, 1>>>(x, 2); }", "t<int>"),
        ("int main() { const double *y = f(2 * n), *x = y; t<<<1, 1>>>(x, 2); }", "t<double>"),
        ("int main() { unsigned char x[8]; t<<<1, 1>>>(x, 2); }", "t<unsigned char>"),
        ("int main() { float4* x = 0; t<<<1, 1>>>(x + 4, 2); }", "t<float4>"),
        ("int main() { int** x = 0; t<<<1, 1>>>(x[2], 2); }", "t<int>"),
        ("int main() { int** x = 0; t<<<1, 1>>>(x, 2); }", "t<int*>"),
        ("int main() { Pair<int>* x; t<<<1, 1>>>(x, 2); }", "t<Pair<int>>"),
        ("int main() { Pair<unsigned, 4> x[4]; t<<<1, 1>>>(x, 2); }", "t<Pair<unsigned, 4>>"),
        ("int main() { outer::Point x[2]; t<<<1, 1>>>(x, 2); }", "t<outer::Point>"),
        ("int main() { void* x; t<<<1, 1>>>((const int*)x, 2); }", "t<int>"),
        ("int main() { void* x; t<<<1, 1>>>(static_cast<double*>(x), 2); }", "t<double>"),
        ("int main() { int* x; t<<<1, 1>>> (x, 2); double* x; }", "t<int>"),
        ("int main() { int* x; t<<<1, 1>>>(f(x), 2); }", "t<float>"),
        ("int main() { int x = 1; f(a * x); t<<<1, 1>>>(&x, 2); }", "t<float>"),
        ("int main() { int* x; t<<<dim3(1 << 2), 1, n > 2>>>(x, 2); }", "t<int>"),
        ("int main() { int* x; t << <1, 1 >> >(x, 2); }", "t<int>"),
        ("int* x; int main() { t<<<1, 1>>>(x, 2); }", "t<int>"),
        ("template <typename T> void f(T* x) { t<<<1, 1>>>(x, 2); } int main() { f<int>(0); }", "t<int>"),
        ("void f(int n, double* x) { t<<<1, 1>>>(x, n); }", "t<double>"),
        ("int main() { unknown* x; t<<<1, 1>>>(x, 2); }", "t<float>"),
        ("int main() { int* x; t<double><<<1, 1>>>(x, 2); }", "t<double>"),
    ],
)
def test_launch_determines_the_types_that_it_leaves_out(host: str, instance: str) -> None:
    text = (
        "template <typename T, int N = 2> struct Pair { T a[N]; };\n"
        "namespace outer { struct Point { int x; }; }\n"
        "template <typename T> __global__ void t(const T* __restrict__ x, int n) { T y = x[n]; }\n"
    )
    (cell,) = cells(f"{text}{host}\n")
    assert cell.instances == (instance,)
    assert compile_program(cell.source, name_expressions=cell.instances).kernel_names


def test_instance_has_the_given_the_deduced_and_the_default_arguments() -> None:
    text = (
        "template <int N, int M = 3, class F = int, int K = 5> __global__ void t(F f, int* x)\n"
        "{ x[N] = f(M); }\n"
        "struct Twice { __device__ int operator()(int n) const { return 2 * n; } };\n"
        "int main() { Twice twice; t<8><<<1, 1>>>(twice, 0); }\n"
    )
    (cell,) = cells(text)
    assert cell.instances == ("t<8, 3, Twice>",)
    assert compile_program(cell.source, name_expressions=cell.instances).kernel_names


def test_explicit_instantiation_names_the_instance() -> None:
    text = (
        "template <typename T, int N> __global__ void t(T* x) { x[0] = N; }\n"
        "template <typename T> void launch(int n, T* x) { t<T, n><<<1, 1>>>(x); }\n"
        "template __global__ void t<int, 2>(int* x);\ntemplate __global__ void t<float, 4>(float* x);\n"
    )
    (cell,) = cells(text)
    assert cell.instances == ("t<int, 2>",)
    assert compile_program(cell.source, name_expressions=cell.instances).pick("t<int, 2>") == "t<int, 2>"


def test_specialized_template_has_an_instance() -> None:
    text = (
        "template <typename T> __global__ void t(T* x) { x[0] = 1; }\n"
        "template <> __global__ void t<int>(int* x) { x[0] = 2; }\n"
    )
    (cell,) = cells(text)
    assert cell.instances == ("t<float>",)
    assert compile_program(cell.source, name_expressions=cell.instances).kernel_names == (
        "t<float>",
        "t<int>",
    )


def test_instances_of_templates_in_namespaces_are_qualified() -> None:
    text = (
        "namespace outer {\nenum class Mode { A, B };\nnamespace inner {\n"
        "template <typename T, Mode M> __global__ void k(T* x) { x[0] = M == Mode::B; }\n}\n"
        "template <typename T> void launch(T* x) { inner::k<T, Mode::B><<<1, 1>>>(x); }\n}\n"
    )
    (cell,) = cells(text)
    assert cell.instances == ("outer::inner::k<float, outer::Mode::B>",)
    assert compile_program(cell.source, name_expressions=cell.instances).kernel_names
