"""Diagnostics: lines and columns of the student's source, and what their messages name."""

from __future__ import annotations

import pytest

from gpulab.compiler import compile_program
from gpulab.compiler.messages.diagnostics import parse_log
from gpulab.compiler.preprocess.phases import read_source
from gpulab.errors import CompileError, Diagnostic


def errors(text: str) -> list[Diagnostic]:
    with pytest.raises(CompileError) as caught:
        compile_program(text)
    return caught.value.diagnostics


def kernel(body: str) -> str:
    return f"__global__ void k(float* a)\n{{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (kernel("  a[0] = nothing;"), 3, 10),
        (kernel("\ta[0] = nothing;"), 3, 9),
        (kernel("  a[0] = /* é 中 */ nothing;"), 3, 20),
        (kernel('  printf("é中"); a[0] = nothing;'), 3, 24),
        (kernel("  a[0] = 1 + \\\n    2 + \\\n  nothing;"), 5, 3),
        (kernel("/* one\n two */ a[0] = nothing;"), 4, 16),
        ("#define ADD(x) \\\n  (x + 1)\n" + kernel("  a[0] = ADD(nothing);"), 5, 10),
        ("\n\n\r\n" + kernel("  a[0] = nothing;"), 6, 10),
        ("\ufeff" + kernel("  a[0] = nothing;"), 3, 10),
        ("#include <math.h>\n#include <stdint.h>\n" + kernel("  a[0] = nothing;"), 5, 10),
    ],
)
def test_error_has_the_line_and_column_of_the_students_source(text: str, line: int, column: int) -> None:
    (error,) = errors(text)
    assert (error.line, error.column, error.severity) == (line, column, "error")
    assert error.source_line[column - 1 :].startswith("nothing") or "ADD" in error.source_line
    assert "nothing" in error.message


def test_error_directive_gives_its_text() -> None:
    (error,) = errors('// YOUR CODE HERE\n#error "write your own \\"kernel\\", don\'t copy: é"\n')
    assert error.line == 2
    assert error.message == 'write your own "kernel", don\'t copy: é'


def test_source_line_is_the_students() -> None:
    (error,) = errors(kernel("  a[0] = 1; /* kept */ nothing;"))
    assert error.source_line == "  a[0] = 1; /* kept */ nothing;"


def test_str_of_a_diagnostic_has_the_source_line_and_a_caret() -> None:
    (error,) = errors(kernel("\ta[0] = nothing;"))
    assert str(error).splitlines()[1:] == ["    \ta[0] = nothing;", "    \t       ^"]


def test_errors_are_in_the_order_of_the_source() -> None:
    assert [error.line for error in errors(kernel("  a[0] = one;\n\n  a[1] = two;"))] == [3, 5]


@pytest.mark.parametrize("text", ["int f() { return 0; }\n", "float x;\n"])
def test_host_code_error_names_the_missing_specifier(text: str) -> None:
    assert "`__device__`" in errors(text)[0].message
    assert "JIT" not in errors(text)[0].message


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("const float a = 2;\n__constant__ float b = 1 / a;\n" + kernel("  a[0] = b;"), "`constexpr float`"),
        (kernel("  a[0] = __shfl_down(a[0], 1);"), "`__shfl_down_sync(0xffffffff, …)`"),
        (kernel("  a[0] = __any(a[0] > 1);"), "`__any_sync(0xffffffff, …)`"),
        (kernel("  cudaMalloc(&a, 4);"), "cannot call CUDA's runtime"),
        (kernel("  std::plus<float> p;"), "`cuda::std::plus`"),
        ("texture<float, 2> t;\n", "`cudaTextureObject_t`"),
        ("surface<void, 2> s;\n", "`cudaSurfaceObject_t`"),
        ("__global__ void f() {}\n" + kernel("  f<<<1, 1>>>();"), "cannot launch a kernel"),
        (kernel("  float2 b = (float2){1, 2};"), "write `T{…}`"),
    ],
)
def test_message_says_what_works_instead(text: str, advice: str) -> None:
    assert advice in errors(text)[0].message


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("atomicAdd(a[0], 1.0f);", "the address of an element"),
        ("const float* b = a; atomicAdd(b, 1.0f);", "`const`"),
        ("short* b = (short*)a; atomicAdd(b, 1);", "no such function for these types"),
    ],
)
def test_atomic_function_with_wrong_arguments_gets_advice(body: str, advice: str) -> None:
    (error,) = errors(kernel(f"  {body}"))
    assert error.message.startswith("atomicAdd is called with arguments of types (")
    assert advice in error.message


def test_arguments_that_fit_several_functions_are_named_by_their_types() -> None:
    (error,) = errors(kernel("  a[0] = max(a[0], 0);"))
    assert error.message.startswith("`max` is called with arguments of types (float, int)")
    assert "the same type" in error.message


@pytest.mark.parametrize("word", ["_global_", "__globl__", "global"])
def test_misspelt_specifier_is_one_error(word: str) -> None:
    (error,) = errors(kernel("  a[0] = 1;").replace("__global__", word))
    assert error.message == f"`{word}` is not a specifier; do you mean `__global__`?"


def test_misspelt_specifier_in_a_kernel_is_one_error() -> None:
    (error,) = errors(kernel("  __shard__ float t[32];\n  t[0] = 1;\n  a[0] = t[0];"))
    assert error.line == 3


def test_missing_brace_names_the_line_of_the_open_one() -> None:
    (error,) = errors("// a comment\n" + kernel("  if (a[0] > 0) {\n    a[0] = 1;"))
    assert (error.line, error.message) == (6, 'expected a "}" for the "{" of line 3')


@pytest.mark.parametrize("character", ["“", "\u00a0", "é", "−"])
def test_character_outside_ascii_is_reported_once(character: str) -> None:
    reported = [
        error
        for error in errors(kernel(f"  int b ={character}3;"))
        if "token" in error.message or "U+" in error.message
    ]
    assert [(error.line, error.column) for error in reported] == [(3, 10)]
    assert f"U+{ord(character):04X}" in reported[0].message


def test_too_much_shared_memory_is_reported_at_the_kernel_in_bytes() -> None:
    (error,) = errors(kernel("  __shared__ float t[200000]; t[threadIdx.x] = 1; a[0] = t[3];"))
    assert error.line == 1
    assert "800,000" in error.message
    assert "`k`" in error.message


def test_function_without_a_body_is_named() -> None:
    (error,) = errors("__device__ float missing(float);\n" + kernel("  a[0] = missing(a[1]);"))
    assert error.line == 1
    assert "`missing`" in error.message


def test_error_in_inline_assembly_has_its_line() -> None:
    found = errors(kernel('  a[0] = 1;\n  asm("nothing.here %0;" :: "f"(a[0]));'))
    assert {error.line for error in found} == {4}
    assert "nothing" in " ".join(error.message for error in found)


def test_source_that_ends_too_early_has_a_line() -> None:
    assert all(0 < error.line <= 3 for error in errors("__global__ void k(float* a) {\n  a[0] = 1;\n\n"))


def test_error_inside_a_header_has_the_line_that_instantiated_it() -> None:
    found = errors(
        "#include <cuda_pipeline.h>\n#include <cuda_fp16.h>\n__global__ void k(float* a) {\n"
        "  nvcuda::experimental::pipeline p; memcpy_async(a[0], *(const double*)a, p);\n}\n"
    )
    assert {error.line for error in found} <= {0, 4}
    assert all("/cuda" not in error.message for error in found)


def test_candidate_in_a_header_is_named_without_path_or_text() -> None:
    (error,) = errors("#include <cuda_fp16.h>\n" + kernel("  a[0] = __hadd(a, a);"))
    assert error.line == 4
    assert "__hadd(__half, __half)" in error.message
    assert "cuda_fp16" not in str(error)
    assert "__NV_TL__" not in str(error)


def test_warnings_have_lines_and_no_message_numbers() -> None:
    program = compile_program(kernel("  if (a == 0) return;\n  unsigned u = -1;\n  a[u] = 1;"))
    (warning,) = program.warnings
    assert warning.startswith("line 4: ")
    assert "#68" not in warning


def test_unused_names_give_no_warnings() -> None:
    assert (
        compile_program(kernel("  int unused; int set = 3; int later; later = 4; a[0] = 1;")).warnings == ()
    )


def test_warning_directive_is_a_warning() -> None:
    (warning,) = compile_program("#warning look here\n" + kernel("a[0] = 1;")).warnings
    assert "look here" in warning


@pytest.mark.parametrize(
    ("body", "line", "column"),
    [
        ("int i = threadIdx.x\n    if (i < 4) x[i] = 1;", 2, 20),
        ("x[0] = 1  // one\n}", 2, 9),
        ("x[0] = 1 x[1] = 2;", 2, 10),
    ],
)
def test_missing_semicolon_is_reported_where_it_is_missing(body: str, line: int, column: int) -> None:
    with pytest.raises(CompileError) as error:
        compile_program(f"__global__ void k(float* x) {{\n{body}\n}}")
    first = error.value.diagnostics[0]
    assert 'expected a ";"' in first.message
    assert (first.line, first.column) == (line, column)


def test_names_of_the_statement_after_a_missing_semicolon_are_not_called_undefined() -> None:
    with pytest.raises(CompileError) as error:
        compile_program(
            "__global__ void k(float* x) {\nint i = threadIdx.x\nint m = 4, n = 8;\nif (i < m) x[i] = n;\n}"
        )
    (diagnostic,) = error.value.diagnostics
    assert 'expected a ";"' in diagnostic.message


@pytest.mark.parametrize(
    ("statement", "header"),
    [
        ("__pipeline_commit();", "cuda_pipeline.h"),
        ("half h = 1; a[0] = h;", "cuda_fp16.h"),
        ("cooperative_groups::this_grid().sync();", "cooperative_groups.h"),
        ("nvcuda::wmma::mem_row_major;", "mma.h"),
    ],
)
def test_undefined_name_of_a_header_names_the_header(statement: str, header: str) -> None:
    error, *_ = errors(kernel(f"  {statement}"))
    assert f"#include <{header}>" in error.message


def test_undefined_name_suggests_a_similar_one() -> None:
    (error,) = errors(kernel("  int frame = 3;\n  a[threadIdX.x] = frame;"))
    assert "`threadIdx`" in error.message
    (error,) = errors(kernel("  int frame = 3;\n  a[0] = farme;"))
    assert "`frame`" in error.message


@pytest.mark.parametrize("macro", ["BLOCK_X", "TILE_Y"])
def test_undefined_macro_of_the_header_names_the_option(macro: str) -> None:
    (error,) = errors(kernel(f"  int TILE_Z = 3;\n  a[{macro}] = TILE_Z;"))
    assert "`--block` in the first line" in error.message
    assert "do you mean" not in error.message


def test_undefined_name_like_no_other_gets_no_suggestion() -> None:
    (error,) = errors(kernel("  a[0] = nothing;"))
    assert error.message.endswith('"nothing" is undefined')


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("  __shared__ float s[blockDim.x]; a[0] = s[0];", "must be a constant"),
        ("  const float b = 1; b = 2; a[0] = b;", "cannot be assigned to"),
        ("#define N 8\n  int N = 2; a[0] = N;", "`N` is a macro, which line 3 defines"),
        ("#define N 8\n  auto f = [](int N) { return 1.0f; }; a[0] = f(2);", "`N` is a macro"),
        ("  a = 2.0f * a;", "use one element, such as `x[i]`"),
        ("  float i = 1; a[i] = 1;", "must be a whole number"),
        ("  a[0] = 1 / (a[1]^2);", "write a power as a product"),
        ("  float x = 2; a[0] = 2^x;", "write a power as a product"),
        ("  a[0] = a[1] ** 2;", "write a power as a product"),
        ("  const float* b = a; float x = b; a[0] = x;", "use one element, such as `x[i]`"),
        ("  a[0] = blockDim.X;", "its parts are `.x`, `.y` and `.z`"),
        ("  a[blockIdx * blockDim] = 0;", "use their parts, such as `.x`"),
        ("  a[0] = __shfl_down_sync(a[0], 1);", "the mask of the lanes"),
        ("  __shard__ float t[32]; t[0] = 1; a[0] = t[0];", "do you mean `__shared__`?"),
        ("  If (a[0] > 1) a[0] = 1;", "do you mean `if`?"),
        ("  atomicadd(a, 1.0f);", "do you mean `atomicAdd`?"),
        ("  a(0) = 1;", "written with brackets"),
        ("  a[0][1] = 1;", "with one index"),
        ("  return a[0];", "`void`"),
        ("  int i = threadIdx; a[i] = 1;", "write `.x`, `.y` or `.z`"),
        ("  int i = blockDim; a[i] = 1;", "write `.x`, `.y` or `.z`"),
        ("  const float* b = a; float4 v = b[0]; a[0] = v.x;", "reads four floats"),
        ("  float4 v = *(float4*)a; a[0] = v[1];", "the parts of a float4"),
        ("  float4 v = *(float4*)a; v = 2.0f * v; a[0] = v.x;", "the operator * does not exist"),
        ("  if a[0] > 1: a[0] = 1;", "after `if`, and a `)`"),
        ("  A[0] = 1;", "do you mean `a`?"),
    ],
)
def test_message_for_beginners_replaces_that_of_the_compiler(statement: str, words: str) -> None:
    assert words in errors(kernel(statement))[0].message


def test_name_of_another_block_is_explained() -> None:
    (error,) = errors(kernel("  if (a[0] > 0) {\n    int i = 2;\n  }\n  a[i] = 1;"))
    assert error.line == 6
    assert "of line 4 exists only inside its own braces" in error.message


def test_brace_without_its_opening_one_is_explained() -> None:
    error = errors(kernel("  a[0] = 1;\n}"))[0]
    assert "is a `{` missing above" in error.message


def test_clearer_message_has_no_note_of_the_compiler() -> None:
    (error,) = errors(kernel("  __shared__ float s[blockDim.x]; a[0] = s[0];"))
    assert error.message.endswith("are not constants")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("__global__ void k(half* x, int n) { x[0] = n; }", "cuda_fp16.h"),
        ("__global__ void k(at::Half* x, int n) { x[0] = n; }", "`at`"),
    ],
)
def test_unknown_type_of_the_first_parameter_is_one_error(text: str, word: str) -> None:
    later = "__global__ void l(float* x) { x[0] = nothing; }"
    first, *others = errors(f"{text}\n{later}\n")
    assert (first.line, first.column) == (1, 19)
    assert word in first.message
    assert [error.line for error in others] == [2] * len(others)


@pytest.mark.parametrize("name", ["k", "child"])
def test_launch_in_a_kernel_is_named(name: str) -> None:
    found = errors(kernel(f"  {name}<<<1, 32>>>(a);\n  cudaDeviceSynchronize();"))
    assert all("dynamic parallelism" in error.message for error in found)


@pytest.mark.parametrize(
    "text",
    [
        "def axpy(n, a, x, y):\n    for i in range(n):\n        y[i] = a * x[i] + y[i]\n",
        "import numpy as np\n" + kernel("  a[0] = 1;"),
        "from numba import cuda\nx = 1\n",
    ],
)
def test_python_is_one_error(text: str) -> None:
    (error,) = errors(text)
    assert error.line == 1
    assert "Python" in error.message


def test_word_that_python_has_too_is_no_python() -> None:
    (error,) = errors(kernel("  for (int i = 0; i < 4; ++i) a[0] = from;"))
    assert error.message == 'identifier "from" is undefined'


def test_warning_about_a_header_is_not_reported() -> None:
    log = 'cuda_fp16.h(12): warning #177-D: variable "x" was declared but never referenced\n'
    assert parse_log(log, read_source(kernel("  a[0] = 1;"))) == []
