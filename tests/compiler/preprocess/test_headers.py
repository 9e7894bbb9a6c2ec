"""Allowed headers: each compiles, and none includes a file outside its folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpulab.compiler import compile_program, nvrtc
from gpulab.compiler.preprocess import headers
from gpulab.compiler.preprocess.headers import NVIDIA_HEADERS, OWN_HEADERS, nvidia_include_folders
from gpulab.errors import GpulabError

KERNEL = "__global__ void k(float* a) { a[0] = 1; }\n"
SMALL = (
    "cuda_fp16.h",
    "cuda_bf16.h",
    "mma.h",
    "cuComplex.h",
    "vector_types.h",
    "math_constants.h",
    "cuda_pipeline.h",
)


def including(names: tuple[str, ...] | list[str]) -> str:
    return "".join(f"#include <{name}>\n" for name in names) + KERNEL


def test_own_headers_compile_together_and_twice() -> None:
    program = compile_program(including([*OWN_HEADERS, *reversed(OWN_HEADERS)]))
    assert program.warnings == ()


@pytest.mark.parametrize(
    "expression",
    [
        "sizeof(int8_t) == 1 && sizeof(uint16_t) == 2 && sizeof(int32_t) == 4 && sizeof(uintptr_t) == 8",
        "INT_MAX == 0x7fffffff && UINT32_MAX == ~0u && LLONG_MIN < 0 && CHAR_BIT == 8",
        "FLT_EPSILON * 8388608.0f == 1.0f && DBL_EPSILON * 4503599627370496.0 == 1.0 && FLT_MAX > 1e38f",
        "M_PI > 3.14159265 && M_PI < 3.14159266",
        "offsetof(float4, y) == 4",
    ],
)
def test_own_headers_define_the_values_of_c(expression: str) -> None:
    compile_program(including(list(OWN_HEADERS)) + f'static_assert({expression}, "");\n')


def test_small_nvidia_headers_compile() -> None:
    assert compile_program(including(list(SMALL))).kernel_names == ("k",)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["", "cooperative_groups", "cuda", "cuda/std"])
def test_nvidia_headers_compile_with_own_headers(folder: str) -> None:
    # One by one they take four times as long, because the headers of a folder include the same others.
    names = [name for name in NVIDIA_HEADERS if name.rpartition("/")[0] == folder]
    assert names
    assert compile_program(including([*OWN_HEADERS, *names, *OWN_HEADERS])).warnings == ()


@pytest.mark.parametrize("name", NVIDIA_HEADERS)
def test_allowed_header_includes_no_file_named_by_a_macro(name: str) -> None:
    # A kernel's own #define could make such a macro the name of any file.
    folders = [Path(folder) for folder in nvidia_include_folders()]
    todo, seen = [next(folder / name for folder in folders if (folder / name).is_file())], set[Path]()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        text = path.read_text(errors="replace").replace("\\\n", "")
        for included in re.findall(r"^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(.*)$", text, re.MULTILINE):
            literal = re.match(r'<([^<>]+)>|"([^"]+)"', included)
            assert literal, f"{path}: #include {included}"
            places = [path.parent, *folders] if literal[2] else folders
            found = (place / literal[literal.lastindex or 0] for place in places)
            todo += [candidate for candidate in found if candidate.is_file()][:1]


def test_missing_nvidia_headers_raise_and_name_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers._find_folders.cache_clear()
    monkeypatch.setattr(nvrtc, "install_headers", lambda _folder: False)
    for name in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(GpulabError, match="pip install"):
        nvidia_include_folders()


def test_nvidia_headers_are_found_when_the_cache_folder_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers._find_folders.cache_clear()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    try:
        folders = nvidia_include_folders()
        assert (Path(folders[0]) / "cooperative_groups.h").is_file()
    finally:
        headers._find_folders.cache_clear()
