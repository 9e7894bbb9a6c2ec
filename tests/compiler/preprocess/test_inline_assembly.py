"""The check for `#` in the strings of a source, which decides how it is compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gpulab.compiler import nvrtc
from gpulab.compiler.build import compile_program
from gpulab.compiler.preprocess.headers import NVIDIA_HEADERS, include_folders
from gpulab.compiler.preprocess.inline_assembly import _OF_HEADERS, may_write_hash
from gpulab.compiler.preprocess.phases import read_source

LANE = (
    '__global__ void k(int* a) { int x; asm volatile("mov.u32 %0, %%laneid;\\n\\t" : "=r"(x)); a[0] = x; }\n'
)

HARMLESS = {
    "assembly": LANE,
    "C linkage": 'extern "C" ' + LANE,
    "directives": "#include <cuda_fp16.h>\n # define N 4\n#if __CUDA_ARCH__ >= 800\n#endif\n" + LANE,
    "include guard": "#ifndef _KERNEL_H_\n#define _KERNEL_H_\n#endif\n" + LANE,
    "pasting": "#define NAME(a) a ## _b\n" + LANE,
    "characters": "__device__ char c[] = {'C', '\\0', '\\n', '\"'};\n" + LANE,
}
SUSPECT = {
    "hash": 'asm("# 1");',
    "escape": r'asm("\x23 1");',
    "octal escape": r'asm("\43 1");',
    "octal escape after zero": r'asm("\043 1");',
    "universal character name": r'asm("\u0023 1");',
    "raw string": 'asm(R"(mov)");',
    "stringizing": "#define S(x) #x\nasm(S(a));",
    "digraph": "#define S(x) %:x\nasm(S(a));",
    "hash of an object-like macro": "#define H #\n",
    "hash as an argument": "S(# 1);",
    "pasted string": '#define H "##"\n',
    "constant array": 'asm("%0" :: "C"(text));',
    "constant array after a macro": '#define extern\nasm("%0" :: extern "C"(text));',
    "macro of a header": "asm(_CCCL_TO_STRING(a));",
    "macro of a header under another name": "#define S _CCCL_TO_STRING\nasm(S(a));",
    "macro of a header after a word of a directive": "#define S define _CCCL_TO_STRING\nasm(S(a));",
    "unclosed quote": "#error don't\n",
}


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS.keys())
def test_usual_source_writes_no_hash(source: str) -> None:
    assert not may_write_hash(read_source(source), {})


@pytest.mark.parametrize("source", SUSPECT.values(), ids=SUSPECT.keys())
def test_source_that_could_write_a_hash_is_found(source: str) -> None:
    assert may_write_hash(read_source(source), {})


@pytest.mark.parametrize("value", ['"# 1"', r'"\x23 1"', '"C"'])
def test_macro_of_an_option_that_could_write_a_hash_is_found(value: str) -> None:
    assert may_write_hash(read_source(LANE), {"S": value})


def test_macro_of_an_option_that_hides_a_constraint_is_found() -> None:
    assert may_write_hash(read_source('asm("%0" :: extern "C"(text));'), {"extern": ""})


@pytest.fixture
def runs(no_store: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The architecture of each run of NVRTC."""
    seen: list[str] = []
    compile_text = nvrtc.compile_text

    def record(
        text: str, options: list[str], headers: dict[str, str], expressions: Sequence[str] = ()
    ) -> nvrtc.NvrtcOutput:
        seen.append(next(option.split("=")[1] for option in options if "gpu-architecture" in option))
        return compile_text(text, options, headers, expressions)

    monkeypatch.setattr(nvrtc, "compile_text", record)
    return seen


def test_assembly_without_a_hash_is_compiled_once(runs: list[str]) -> None:
    compile_program(LANE + "// compiled once\n")
    assert runs == ["sm_90"]


def test_assembly_with_a_string_that_has_a_hash_is_compiled_to_ptx_first(runs: list[str]) -> None:
    compile_program(LANE + '__device__ const char* text() { return "#"; }\n')
    assert runs == ["compute_90", "sm_90"]


@pytest.mark.slow
def test_macros_of_headers_that_make_strings_have_the_known_prefixes() -> None:
    folders = [Path(folder) for folder in include_folders([NVIDIA_HEADERS[0], "cuda/atomic"])]
    paths = {
        path for folder in folders for path in folder.rglob("*.*") if path.suffix in (".h", ".cuh", ".hpp")
    }
    names = {name for path in paths for name in stringizing_macros(path.read_text(errors="replace"))}
    assert names
    assert [name for name in sorted(names) if not _OF_HEADERS.fullmatch(name)] == []


def stringizing_macros(header: str) -> Iterator[str]:
    """Yield the macros of a header that use the operator `#` and that it does not undefine."""
    text = re.sub(r"\\\n|//.*", "", header)
    for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)(.*)", text, re.MULTILINE):
        operands = "|".join(name.strip() for name in match[2].split(","))
        undefined = re.search(rf"#[ \t]*undef[ \t]+{match[1]}\b", text)
        if operands and not undefined and re.search(rf"(?<!#)#[ \t]*(?:{operands})\b", match[3]):
            yield match[1]
