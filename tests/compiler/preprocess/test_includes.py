"""The include guard: attempts to make the compiler open a file, checked with the real NVRTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpulab.compiler import compile_program, nvrtc
from gpulab.compiler.preprocess.c_headers import IMPLICIT_HEADER
from gpulab.errors import CompileError, GpulabError, IncludeRefused, UsageError

# The content of the secret file is a syntax error, so that NVRTC would quote it if it read the file.
SECRET = "TOPSECRET_4711"
KERNEL = "__global__ void k(float* a) { a[0] = 1; }\n"
INFINITE = "__global__ void k(float* a) { a[0] = FLT_MAX; }\n"  # a name that is defined without a header

# Sources by name; FILE is replaced by the path of the secret file.
REFUSED = {
    "include": '#include "FILE"\n',
    "angle brackets": "#include <FILE>\n",
    "after a blank line": '\n   \t#  include\t"FILE"\n',
    "no blank": '#include"FILE"\n',
    "digraph": '%:include "FILE"\n',
    "spliced": '#inc\\\nlude "FILE"\n',
    "spliced with a carriage return": '#inc\\\r\nlude "FILE"\n',
    "spliced digraph": '%\\\n:in\\\nclude "FILE"\n',
    "spliced twice": '#inc\\\\\n\nlude "FILE"\n',
    "spliced everywhere": "".join(c + "\\\n" for c in "#include") + ' "FILE"\n',
    "comment before": '/* a */ # /* b */ include /* c */ "FILE"\n',
    "comment over lines before": '/* a\n b */ #include "FILE"\n',
    "comment over lines inside": '# /*\n*/ include "FILE"\n',
    "code, then a comment over lines": 'int a; /*\n*/ #include "FILE"\n',
    "after a closed comment": '/* */ /*/ */#include "FILE"\n',
    "comment that seems open": '// /*\n#include "FILE"\n',
    "comment that seems spliced": '// \\ x\n#include "FILE"\n',
    "after a string with a comment": '"/*"\n#include "FILE"\n',
    "after a character with a quote": '\'"\'\n#include "FILE"\n',
    "after a digit separator": "1'000; /*'*/\n#include \"FILE\"\n",
    "after an unclosed string": '"abc\n#include "FILE"\n',
    "after an unclosed character": '\'\n#include "FILE"\n',
    "after a lone quote in #error": '#if 0\n#error don\'t /*\n#endif\n#include "FILE"\n//*/',
    "after a raw string": 'R"(/*)"\n#include "FILE"\n',
    "after a raw string with a delimiter": 'R"x(" )" /*)x"\n#include "FILE"\n',
    "after what is no raw string": 'XR"(/*)"\n#include "FILE"\n//)"',
    "inside a raw string": 'const char* s = R"(\n#include "FILE"\n)";\n',
    "a raw string in a skipped group": '#if 0\nR"(\n#endif\n#include "FILE"\n#if 0\n)"\n#endif\n',
    "in a skipped group": '#if 0\n#include "FILE"\n#endif\n',
    "form feed": '\f#\finclude\f"FILE"\n',
    "vertical tab": '\v#\vinclude\v"FILE"\n',
    "lone carriage return": '// c\r#include "FILE"\n',
    "byte order mark": '\ufeff#include "FILE"\n',
    "in a macro's argument": '#define F(x) x\nF(\n#include "FILE"\n)\n',
    "macro": '#define X "FILE"\n#include X\n',
    "macro of an allowed name": "#define X <math.h>\n#include X\n",
    "macro in angle brackets": "#define X FILE\n#include <X>\n",
    "two names": '#include <math.h> "FILE"\n',
    "allowed name, then up": "#include <cuda/../FILE>\n",
    "allowed name in a folder": '#include "./math.h"\n',
    "include_next": '#include_next "FILE"\n',
    "import": '#import "FILE"\n',
    "embed": '__device__ char x[] = {\n#embed "FILE"\n};\n',
    "using": '#using "FILE"\n',
    "line": '#line 1 "FILE"\n@\n',
    "line without a file": "#line 7\n",
    "line marker": '# 1 "FILE"\n@\n',
    "a directive of strings": '# "FILE"\n',
    "ident": '#ident "FILE"\n',
    "assert": "#assert machine(x)\n",
    "universal character name": '#\\u0069nclude "FILE"\n',
    "universal hash": '\\u0023include "FILE"\n#include "FILE"\n',
    "has_include": '#if __has_include("FILE")\n#error THERE\n#endif\n',
    "has_include defined": "#ifdef __has_include\n#endif\n",
    "has_include in a macro": '#define H __has_include("FILE")\n#if H\n#error THERE\n#endif\n',
    "has_include spliced": '#if __has_\\\ninclude("FILE")\n#error THERE\n#endif\n',
    "has_include pasted": '#define H(a, b) a##b\n#if H(__has_, include)("FILE")\n#error THERE\n#endif\n',
    "has_include pasted with a digraph": (
        '#define H(a, b) a %:%: b\n#if H(__has_, include)("FILE")\n#error THERE\n#endif\n'
    ),
    "has_include pasted twice": (
        '#define P(a, b) a##b\n#define Q P\n#define R Q(__has_, include)("FILE")\n'
        "#if 0\n#elif R\n#error THERE\n#endif\n"
    ),
    "has_include pasted by a later macro": (
        '#define A B(__has_, include)("FILE")\n#define B(x, y) x##y\n#if A\n#error THERE\n#endif\n'
    ),
    "has_include pasted by a macro's argument": (
        '#define B(x, y) x##y\n#define C(f) f(__has_, include)("FILE")\n#if C(B)\n#error THERE\n#endif\n'
    ),
    "has_include pasted by a header's macro": (
        '#include <cuda/std/cstdint>\n#if _CCCL_PP_CAT(__has_, include)("FILE")\n#error THERE\n#endif\n'
    ),
    "has_include pasted by a header's renamed macro": (
        "#include <cuda/std/cstdint>\n#define C _CCCL_PP_CAT\n#define D(f) f\n"
        '#if 1 + C + C(__has_, include)("FILE")\n#error THERE\n#endif\n'
    ),
    "has_include with a universal character name": '#if __has_\\u0069nclude("FILE")\n#error THERE\n#endif\n',
    "has_include_next": '#if __has_include_next("FILE")\n#endif\n',
    "has_embed": '#if __has_embed("FILE")\n#endif\n',
    "_Pragma": '_Pragma("include_alias(\\"math.h\\", \\"FILE\\")")\n#include "math.h"\n',
    "_Pragma of a macro": "#define P include_alias\n_Pragma(P)\n",
    "__pragma": '__pragma(include_alias("math.h", "FILE"))\n#include "math.h"\n',
    "pragma include_alias": '#pragma include_alias("math.h", "FILE")\n#include "math.h"\n',
    "pragma hdrstop": "#pragma hdrstop\n",
    "pragma spliced": '#pragma inc\\\nlude_alias("math.h", "FILE")\n',
    "module import": 'import "FILE";\n',
    "module import of a header": "import <FILE>;\n",
    "exported module import": "export import <FILE>;\n",
    "module": "module;\n",
}

# Sources that the guard does not refuse as directives, but that must not compile either.
WRONG = {
    "trigraph": '??=include "FILE"\n',
    "trigraph splice": '#inc??/\nlude "FILE"\n',
    "blanks after the backslash": '#inc\\  \nlude "FILE"\n',
    "null character": '//\0\n#include "FILE"\n',
    "control character": '\x1a#include "FILE"\n',
    "after a macro": '#define E\nE #include "FILE"\n',
    "assembly file": 'ASM(".file 7 \\"FILE\\"\\n.loc 7 1 1\\nnothing;")',
    "assembly include": 'ASM(".include \\"FILE\\"")',
    "assembly incbin": 'ASM(".incbin \\"FILE\\"")',
    "assembly preprocessor": 'ASM("\\n#include \\"FILE\\"\\n")',
    "assembly line marker": 'ASM("\\n# 1 \\"FILE\\"\\n")',
    "assembly line marker after code": 'ASM("mov.u32 %%0, 5; # 7 \\"FILE\\"\\n nothing;" :: "r"(1))',
    "assembly from pieces": 'ASM("\\x23" " 1 " "\\"FILE\\"\\n")',
}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.h"
    path.write_text(f"int {SECRET} = nothing;\n {SECRET} ;\n@ {SECRET}\n")
    return path


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """NVRTC's unfiltered log, PTX and cubin of each compile."""
    seen: list[str] = []
    compile_text = nvrtc.compile_text

    def record(
        text: str, options: list[str], headers: dict[str, str], expressions: Sequence[str] = ()
    ) -> nvrtc.NvrtcOutput:
        output = compile_text(text, options, headers, expressions)
        seen.append(f"{output.log}{output.ptx}{output.cubin!r}")
        return output

    monkeypatch.setattr(nvrtc, "compile_text", record)
    return seen


def in_assembly(text: str) -> str:
    """Return a kernel with the inline assembly of `ASM(…)`; any other text unchanged."""
    if not text.startswith("ASM("):
        return text
    return f"__global__ void k(float* a) {{ asm volatile{text[3:]}; a[0] = 1; }}\n"


def everything_shown_by(error: BaseException) -> str:
    """Return the messages of an error and of its causes."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    diagnostics = getattr(error, "diagnostics", [])
    return f"{error}{error.args}{diagnostics}{everything_shown_by(cause) if cause else ''}"


def test_nvrtc_without_the_guard_quotes_the_file(secret: Path) -> None:
    output = nvrtc.compile_text(f'#include "{secret}"\n', ["--gpu-architecture=sm_90"], {})
    assert SECRET in output.log


@pytest.mark.parametrize("attempt", REFUSED.values(), ids=REFUSED.keys())
def test_attempt_is_refused_before_nvrtc_runs(attempt: str, secret: Path, logs: list[str]) -> None:
    with pytest.raises(IncludeRefused) as caught:
        compile_program(attempt.replace("FILE", str(secret)) + KERNEL)
    assert logs == []
    assert SECRET not in everything_shown_by(caught.value)
    assert all(error.line > 0 and error.column > 0 for error in caught.value.diagnostics)


@pytest.mark.parametrize("attempt", WRONG.values(), ids=WRONG.keys())
def test_attempt_without_a_directive_fails_and_shows_no_secret(
    attempt: str, secret: Path, logs: list[str]
) -> None:
    with pytest.raises(CompileError) as caught:
        compile_program(in_assembly(attempt.replace("FILE", str(secret))) + KERNEL)
    assert SECRET not in everything_shown_by(caught.value)
    assert SECRET not in "".join(logs)


@pytest.mark.parametrize(
    "name",
    [
        "math.h",
        "cuda_fp16.h",
        "stdint.h",
        "cuda_runtime.h",
        "__nv_nvrtc_builtin_header.h",
        "cell.cu",
        IMPLICIT_HEADER,
    ],
)
def test_file_with_an_allowed_name_in_the_working_directory_is_not_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logs: list[str]
) -> None:
    (tmp_path / name).write_text(f"int {SECRET} = nothing;\n")
    monkeypatch.chdir(tmp_path)
    program = compile_program('#include "math.h"\n#include "cuda_fp16.h"\n#include <stdint.h>\n' + INFINITE)
    assert program.kernel_names == ("k",)
    assert SECRET not in "".join(logs)


@pytest.mark.parametrize(
    "options",
    [
        ["-I/etc"],
        ["-I", "/etc"],
        ["--include-path=/etc"],
        ["-include", "/etc/passwd"],
        ["--pre-include=/etc/passwd"],
        ["-include=/etc/passwd"],
        ["--use-pch=x"],
        ["--create-pch=/tmp/x"],
        ["--pch"],
        ["--pch-dir=/tmp"],
        ["--time=/tmp/x"],
        ["--fdevice-time-trace=/tmp/x"],
        ["--use-bundled-headers=/tmp/x"],
        ["-dlto"],
        ["@/etc/passwd"],
        ["/etc/passwd"],
        ["--ptxas-options=-v"],
        ["-DX=1\n#include </etc/passwd>"],
        ["-DX=__has_include(</etc/passwd>)"],
        ["-DX(a)=__has_include(a)"],
        ["-D", "__has_include"],
        ["-DX=a##b"],
        ["-DX=/*"],
        ["-DX=//"],
        ["-DX=\\"],
        ['-DX="open'],
        ["-U__has_include"],
    ],
    ids=" ".join,
)
def test_option_that_could_read_or_write_a_file_is_refused(options: list[str], logs: list[str]) -> None:
    with pytest.raises(UsageError):
        compile_program(KERNEL, options=options)
    assert logs == []


@pytest.mark.parametrize(
    "value",
    ["1\n#include </etc/passwd>", "__has_include(</etc/passwd>)", "a##b", "/*", "\\", '"', "_Pragma", "\0"],
)
def test_macro_value_that_is_not_a_plain_value_is_refused(value: str) -> None:
    with pytest.raises(UsageError):
        compile_program(KERNEL, defines={"X": value})


@pytest.mark.parametrize(
    "name",
    ["k<8>\n#include </etc/passwd>", "k<__has_include(</etc/passwd>)>", '"k', "k##b", "k\\", "#k", "%:k", ""],
)
def test_name_expression_that_is_not_a_name_is_refused(name: str, logs: list[str]) -> None:
    with pytest.raises(UsageError):
        compile_program(KERNEL, name_expressions=[name])
    assert logs == []


ALLOWED = {
    "in a line comment": '// #include "nothing.h"\n',
    "in a comment": '/*\n#include "nothing.h"\n*/\n',
    "in a spliced comment": '// a \\\n#include "nothing.h"\n',
    "in a string": '__device__ const char* s = "#include <nothing.h>";\n',
    "in a raw string": '__device__ const char* s = R"(a // "b" /* #include <nothing.h>)";\n',
    "in a raw string over lines": '__device__ const char* s = R"x(a\n)" b\n)x";\n',
    "a raw string after a splice": 'static_assert( \\\nsizeof(R"(\n)") == 2, "one newline");\n',
    "in a skipped #error": "#if 0\n#error don't\n#endif\n",
    "allowed headers": '#include <math.h>\n#include "stdio.h"\n%:include <cuda_runtime.h>\n',
    "an allowed header, spliced and commented": "# /* a */ inc\\\nlude <math.h> // b\n",
    "conditions": "#if defined(BLOCK_X) && (BLOCK_X > 16) || !defined X\n#elif 1\n#else\n#endif\n",
    "a condition without a blank": "#if!defined(X)\n#endif\n",
    "a condition that calls a macro": (
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define T 4\n"
        "#if MAX(T, 3) > 2 && __CUDA_ARCH__ >= 750\n#endif\n"
    ),
    "pasting outside conditions": "#define V(a) v##a\n__device__ int V(1);\n#if 1\n#endif\n",
    "pragmas": "#pragma once\n#pragma nv_diag_suppress 177\n",
    "_Pragma": '#define UNROLL _Pragma("unroll 4")\n',
    "an empty directive": "#\n  #  // nothing\n",
}


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED.keys())
def test_allowed_source_compiles(text: str) -> None:
    assert compile_program(text + KERNEL).kernel_names == ("k",)


def test_refusal_names_the_place_and_the_header() -> None:
    with pytest.raises(IncludeRefused) as caught:
        compile_program("int a;\n\n  #inc\\\nlude <iostream>\n")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.line, diagnostic.column, diagnostic.source_line) == (3, 3, "  #inc\\")
    assert diagnostic.message.startswith("`iostream` is for host code")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("helper_cuda.h", "delete this line"),
        ("cublas_v2.h", "delete this line"),
        ("vector", "delete this line"),
        ("helper_math.h", "paste the operators"),
        ("cooperativ_groups.h", "`cooperative_groups.h`"),
        ("block_reduce.cuh", "`cub/block/block_reduce.cuh`"),
        ("thrust/sort.h", "`cub/cub.cuh`"),
        ("bitset", "`cuda/std/bitset`"),
        ("mine.h", "Paste the part"),
    ],
)
def test_refusal_names_the_nearest_thing_that_works(name: str, advice: str) -> None:
    with pytest.raises(IncludeRefused) as caught:
        compile_program(f"#include <{name}>\n" + KERNEL)
    (diagnostic,) = caught.value.diagnostics
    assert advice in diagnostic.message
    assert len(diagnostic.message) < 200


@pytest.mark.parametrize(
    ("name", "advice"), [("unrol", "do you mean `#pragma unroll`?"), ("omp", "allowed: unroll,")]
)
def test_refused_pragma_names_what_works(name: str, advice: str) -> None:
    with pytest.raises(IncludeRefused, match=re.escape(advice)):
        compile_program(f"#pragma {name} 4\n" + KERNEL)


def test_all_refused_lines_are_reported_together() -> None:
    with pytest.raises(IncludeRefused) as caught:
        compile_program("#include <iostream>\n#include <math.h>\n#include <vector>\n")
    assert [error.line for error in caught.value.diagnostics] == [1, 3]


@pytest.mark.parametrize("hidden", ['éR"x(\n)x"/*/\n*/', "é1'a\"/*'\n*/", 'xé8R"(\n"/*)"\n*/', "\u00a0"])
def test_character_outside_ascii_does_not_hide_an_include(secret: Path, logs: list[str], hidden: str) -> None:
    with pytest.raises(GpulabError, match=r"U\+00(E9|A0)"):
        compile_program(f'{hidden}#include "{secret}"\n')
    assert SECRET not in "".join(logs)


PIECES = st.sampled_from(
    re.split(
        r"\|",
        '#|%:|include |inc|lude |"FILE"|<FILE>|\n|\n|\\\n|\\ \n|\r|\f|/*|*/|//|"|\'|R"(|R"x(|)"|)x"|(|)|XR"(|'
        "1'0|#if 0\n|#endif\n|#define X |X|#define F(a) a\n|F(|##|?? /\n|\\|/*/|#error don't|_Pragma|é|"
        '\n#include "FILE"\n|\n%:include <FILE>\n|*/#include "FILE"\n|asm("|;|{|}|__device__ int i;\n',
    )
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, min_size=2, max_size=16).map("".join))
def test_random_source_does_not_read_the_file(secret: Path, logs: list[str], mixture: str) -> None:
    logs.clear()
    shown = ""
    try:
        compile_program(mixture.replace("FILE", str(secret)))
    except GpulabError as error:
        shown = everything_shown_by(error)
    assert SECRET not in shown + "".join(logs)
