"""Kernel templates: instances by name expressions, their names, and messages about missing instances."""

from __future__ import annotations

import pytest

from gpulab.compiler import compile_program
from gpulab.errors import CompileError, UsageError

TEMPLATE = "template <int N> __global__ void k(float* x) { x[threadIdx.x] = N; }\n"


def test_instance_is_compiled_and_named_by_its_arguments() -> None:
    program = compile_program(TEMPLATE, name_expressions=["k<8>", "k< 4*4 >"])
    assert set(program.kernel_names) == {"k<8>", "k<16>"}
    assert [program.pick(name) for name in ("k<8>", "k< 4*4 >", "k<16>")] == ["k<8>", "k<16>", "k<16>"]
    assert program.signatures["k<8>"][0].name == "x"
    assert program.resources_of("k<16>").registers > 0


def test_explicit_instances_are_named_by_their_arguments() -> None:
    program = compile_program(
        "template <class T, unsigned N> __global__ void k(T* x) { x[threadIdx.x] = N; }\n"
        "template __global__ void k<float, 2>(float*);\ntemplate __global__ void k<int, 2>(int*);\n"
    )
    assert set(program.kernel_names) == {"k<float, 2>", "k<int, 2>"}
    assert program.pick("k<int,2>") == "k<int, 2>"
    with pytest.raises(UsageError, match="k<float, 2>, k<int, 2>"):
        program.pick("k")


def test_name_without_arguments_picks_the_only_instance() -> None:
    program = compile_program(TEMPLATE + "template __global__ void k<8>(float*);")
    assert program.pick("k") == program.pick(None) == "k<8>"


@pytest.mark.parametrize(
    ("parameters", "example"),
    [
        ("int N", "k<8>"),
        ("typename T, class U, unsigned N", "k<float, float, 8>"),
        ("bool Check", "k<true>"),
    ],
)
@pytest.mark.parametrize("name", [None, "k"])
def test_template_without_instance_names_an_example(parameters: str, example: str, name: str | None) -> None:
    text = f"template <{parameters}>\n__global__ void __launch_bounds__(64) k(float* x) {{ }}\n"
    with pytest.raises(UsageError) as caught:
        compile_program(text).pick(name)
    assert f'"{example}"' in str(caught.value)


def test_template_in_a_namespace_names_an_example_in_it() -> None:
    text = "namespace n { template <int N> __global__ void k(float* x) {} }\n"
    with pytest.raises(UsageError, match=r'`n::k` is a template.*"n::k<8>"'):
        compile_program(text).pick("n::k")


@pytest.mark.parametrize("name", ["k<float>", "q<3>", "k<8", "k"])
def test_name_that_is_no_instance_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_program(TEMPLATE, name_expressions=[name])
    message = str(caught.value)
    assert f"`{name}`" in message
    assert "__nv_name_map" not in message
    assert "\n" not in message


def test_error_in_the_source_comes_before_the_name() -> None:
    with pytest.raises(CompileError) as caught:
        compile_program(TEMPLATE + "__global__ void b() { y; }", name_expressions=["q<3>"])
    assert [diagnostic.line for diagnostic in caught.value.diagnostics] == [2]


def test_message_of_the_assembler_names_the_instance() -> None:
    text = "template <int N>\n__global__ void k(int* x) { __shared__ int s[N]; s[*x] = 1; *x = s[x[1]]; }\n"
    with pytest.raises(CompileError, match="`k<100000>` declares 400,000 bytes") as caught:
        compile_program(text, name_expressions=["k<100000>"])
    assert caught.value.diagnostics[0].line == 2
