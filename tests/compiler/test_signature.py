"""Kernel names and parameters: sizes from the PTX, names and signedness from the source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulab.compiler import Parameter, compile_program, ptx_program
from gpulab.compiler.mangling import demangled, kernel_names, plain_name
from gpulab.errors import UsageError


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("k", "k"),
        ("_Z13block2D_naivefPKfPfiii", "block2D_naive"),
        ("_ZN1A1B2k3Ev", "A::B::k3"),
        ("_Z2ktIfEvPT_", "kt"),
        ("_ZN1A2ktIfLi3EEEvPT_", "A::kt"),
        ("_ZN39_GLOBAL__N__00000000_7_cell_cu_3cbfcbfa2kaEPf", "ka"),
        ("_ZL2ksPf", "ks"),
        ("_Zoops", "_Zoops"),
        ("_Z99k", "_Z99k"),
    ],
)
def test_plain_name_of_a_mangled_entry(entry: str, name: str) -> None:
    assert plain_name(entry) == name


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("_Z1kILi8EEvPf", "k<8>"),
        ("_ZN1A2ktIfLi3EEEvPT_", "A::kt<float, 3>"),
        ("_Z1kIPKfLb1ELin5ELj7EEvv", "k<const float*, true, -5, 7>"),
        ("_Z1kI6float4S0_EvT_S1_PT0_", "k<float4, float4>"),
        ("_Z1kIN1A1BIiEEEvT_", "k<A::B<int>>"),
        ("_Z1kIL5Color1EEvv", "k<(Color)1>"),
        ("_Z1kIXadL_Z1fvEEEvv", "_Z1kIXadL_Z1fvEEEvv"),
        ("_ZZ6kernelPfE5count", "kernel::count"),
        ("_ZN1A1gE", "A::g"),
    ],
)
def test_demangled_name_has_its_template_arguments(entry: str, name: str) -> None:
    assert demangled(entry) == name


@settings(deadline=None)
@given(st.text(alphabet="_ZNIESLT0123456789PKiftkv", max_size=60))
def test_any_symbol_has_a_name(text: str) -> None:
    assert demangled(f"_Z{text}")


def test_name_that_doubles_with_each_substitution_is_not_demangled() -> None:
    """`k<P<P<…>, P<…>>*>` with 12 levels, as the compiler mangles it, and with one level."""
    closed = "".join(f"S{digit}_E" for digit in "123456789AB")
    endless = f"_Z1kIP1P{'IS0_' * 11}IiiE{closed}EvPi"
    assert demangled("_Z1kIP1PIiiEEvPi") == "k<P<int, int>*>"
    assert demangled(endless) == endless


def test_deeply_nested_type_is_not_demangled() -> None:
    symbol = f"_Z1kI{'P' * 100_000}iEvv"
    assert demangled(symbol) == symbol


def test_overloads_are_named_with_their_parameters() -> None:
    assert kernel_names(["_Z1kPfi", "_Z1kPKi", "_Z1gv"]) == {
        "k(float*, int)": "_Z1kPfi",
        "k(const int*)": "_Z1kPKi",
        "g": "_Z1gv",
    }


def parameters(text: str) -> list[tuple[str, str, int]]:
    program = compile_program(text)
    (signature,) = program.signatures.values()
    return [(p.name, p.kind, p.size) for p in signature]


@pytest.mark.parametrize("linkage", ["", 'extern "C" '])
@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (
            "float fac, const float* A0, float* Anext, int nx",
            ["fac float", "A0 pointer", "Anext pointer", "nx int"],
        ),
        ("const float *__restrict__ a, float * const b", ["a pointer", "b pointer"]),
        (
            "float a[], float (*b)[4], float (&c)[4], int &d",
            ["a pointer", "b pointer", "c pointer", "d pointer"],
        ),
        ("unsigned n, unsigned long long m, size_t s, bool b", ["n uint", "m uint", "s uint", "b uint"]),
        ("int n, long long m, long l, short s, char c", ["n int", "m int", "l int", "s int", "c int"]),
        ("double x, float4 v", ["x float", "v bytes"]),
        ("float * /* in, */ a, // the input\n int n", ["a pointer", "n int"]),
        ("float*, int", ["argument 1 pointer", "argument 2 int"]),
        ("int n = sizeof(int), float* a = 0", ["n int", "a pointer"]),
        ("void (*f)(int, float), int n", ["f pointer", "n int"]),
        ("struct P p, enum E e", ["p bytes", "e int"]),
        ("Pair<int, float> q, int n", ["q bytes", "n int"]),
        ("real* a, real x, index n, handle h", ["a pointer", "x float", "n uint", "h pointer"]),
        ("REAL x, INDEX n", ["x float", "n uint"]),
        ("void", []),
        ("", []),
    ],
)
def test_parameters_are_read_from_the_declaration(declared: str, expected: list[str], linkage: str) -> None:
    text = (
        "#define REAL float\n#define INDEX unsigned\nstruct P { int a; float b[3]; };\nenum E { ONE };\n"
        "template <class A, class B> struct Pair { A a; B b; };\n"
        "typedef float real; using index = unsigned int; typedef const real* handle;\n"
        f"{linkage}__global__ void __launch_bounds__(256) k({declared})\n{{ }}\n"
    )
    assert [f"{name} {kind}" for name, kind, _ in parameters(text)] == expected


def test_parameter_sizes_are_those_of_the_ptx() -> None:
    text = (
        "struct S { int a; float b; double c[3]; };\n"
        "__global__ void k(float x, char c, short h, double d, S s) {}\n"
    )
    assert [size for _, _, size in parameters(text)] == [4, 1, 2, 8, 32]


def test_parameters_hidden_by_a_macro_are_numbered() -> None:
    text = (
        '#define K(n) extern "C" __global__ void n\n#define ARGS float* a, int n\nK(k)(ARGS) { a[n] = 1; }\n'
    )
    assert parameters(text) == [("argument 1", "pointer", 8), ("argument 2", "int", 4)]


def test_parameters_are_named_by_the_definition_not_a_declaration() -> None:
    text = "__global__ void k(float* p, int q);\n__global__ void k(float* a, int n) { a[n] = 1; }\n"
    assert [name for name, _, _ in parameters(text)] == ["a", "n"]


def test_parameters_are_named_by_the_definition_that_is_compiled() -> None:
    text = (
        "#if 0\n__global__ void k(float* old, int n) { old[n] = 1; }\n#else\n"
        "__global__ void k(float* a, int m) { a[m] = 1; }\n#endif\n"
    )
    assert [name for name, _, _ in parameters(text)] == ["a", "m"]


def test_kernels_are_in_the_order_of_the_source() -> None:
    program = compile_program(
        "namespace N { __global__ void b(float* x) { x[0] = 1; } }\n"
        'extern "C" __global__ void a(float* x) { x[0] = 1; }\n'
        "template <class T> __global__ void t(T* x) { x[0] = 1; }\n"
        "__global__ void c(float* x) { x[0] = 1; }\n"
        "template __global__ void t<float>(float*);\ntemplate __global__ void t<int>(int*);\n"
    )
    assert program.kernel_names[:2] == ("N::b", "a")
    assert program.kernel_names[-1] == "c"
    assert {"t<float>", "t<int>"} < set(program.kernel_names)
    assert program.entries["a"] == "a"
    assert program.entry("c") == program.entries["c"] == "_Z1cPf"
    assert set(program.resources) == set(program.signatures) == set(program.entries)
    assert program.signatures["t<int>"] == (Parameter("x", "pointer", 8),)


def test_pick_returns_the_named_kernel_and_refuses_others() -> None:
    program = compile_program("__global__ void a() {}\n__global__ void b() {}\n")
    assert program.pick("b") == "b"
    for name in (None, "c"):
        with pytest.raises(UsageError):
            program.pick(name)


def test_pick_finds_a_kernel_of_a_namespace_by_its_last_name() -> None:
    source = (
        "namespace a {\n__global__ void k() {}\n__global__ void l() {}\n}\n"
        "namespace b { __global__ void l() {} }\n"
    )
    program = compile_program(source)
    assert program.pick("k") == program.pick("a::k") == "a::k"
    with pytest.raises(UsageError, match="a::l, b::l"):
        program.pick("l")


def test_source_without_kernels_compiles_to_a_program_without_kernels() -> None:
    program = compile_program("__device__ int f() { return 1; }\n")
    assert program.kernel_names == ()
    with pytest.raises(UsageError):
        program.pick(None)


PTX = """\
.version 8.0
.target sm_80, debug
.address_size 64
// .visible .entry no(.param .u64 x)
.visible .entry k(
    .param .u64 .ptr .global .align 16 a,
    .param .u64 b, .param .u64 n,
    .param .s32 i, .param .f64 x, .param .align 8 .b8 s[24], .param .pred
)
.maxntid 256, 1, 1
{
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [b];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [n];
    ret;
}
.entry none()
{ ret; }
"""


def test_ptx_program_numbers_its_parameters() -> None:
    program = ptx_program(PTX)
    assert program.arch == 80
    assert program.cubin is None
    assert program.kernel_names == ("k", "none")
    assert [(p.name, p.kind, p.size) for p in program.signatures["k"]] == [
        ("param_0", "pointer", 8),
        ("param_1", "pointer", 8),
        ("param_2", "word", 8),
        ("param_3", "int", 4),
        ("param_4", "float", 8),
        ("param_5", "bytes", 24),
    ]
    assert program.resources_of("k").registers == 0


def test_ptx_program_loads_compiled_ptx() -> None:
    program = compile_program("__global__ void k(const float* a, float* b, int n) { b[n] = a[n]; }\n")
    again = ptx_program(program.ptx)
    assert again.kernel_names == program.kernel_names
    assert [p.kind for p in again.signatures["k"]] == ["pointer", "pointer", "int"]


@pytest.mark.parametrize("text", ["", "hello", "__global__ void k() {}", b"x", None])
def test_ptx_program_refuses_text_that_is_not_ptx(text: object) -> None:
    with pytest.raises(UsageError):
        ptx_program(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("declaration", "element"),
    [
        ("const float* x", "float32"),
        ("double *x", "float64"),
        ("float x[]", "float32"),
        ("unsigned long long* __restrict__ x", "int64"),
        ("const unsigned* x", "int32"),
        ("real* x", "float64"),
        ("float** x", ""),
        ("char* x", ""),
        ("float4* x", ""),
        ("void* x", ""),
    ],
)
def test_element_type_of_a_pointer(declaration: str, element: str) -> None:
    source = f"typedef double real;\n__global__ void k({declaration}) {{ ((int*) x)[0] = 1; }}"
    (parameter,) = compile_program(source).signatures["k"]
    assert (parameter.kind, parameter.element) == ("pointer", element)


def test_type_that_depends_on_an_if_is_not_known() -> None:
    """`real` is double in one branch and float in the other; `index` is the same in both."""
    text = (
        "#if WIDE\ntypedef double real;\ntypedef int index;\n#else\n"
        "typedef float real;\ntypedef int index;\n#endif\n"
        "__global__ void k(real* x, real y, index* n) { x[n[0]] = y; }\n"
    )
    for wide, size in ((0, 4), (1, 8)):
        x, y, n = compile_program(f"#define WIDE {wide}\n{text}").signatures["k"]
        assert (x.element, y.kind, y.size, n.element) == ("", "float", size, "int32")


def test_parameters_that_are_grid_constants_have_their_own_kinds() -> None:
    fixed = "const __grid_constant__"
    program = compile_program(
        "struct Pair { float a; int b; };\n"
        f"__global__ void k({fixed} float f, {fixed} unsigned n, float* {fixed} x, {fixed} Pair p)\n"
        "{ x[n] = f + p.a; }"
    )
    parameters = program.signatures["k"]
    assert [parameter.kind for parameter in parameters] == ["float", "uint", "pointer", "bytes"]
    assert parameters[2].element == "float32"
