"""Compilation from end to end: PTX with source lines, machine code, no local path, several threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from gpulab.compiler import compile_program, nvrtc, store
from gpulab.errors import CompileError, GpulabError, UsageError

pytestmark = pytest.mark.usefixtures("no_store")

SCALE = """\
__global__ void scale(float* a, float x, int n)
{
  int i = blockIdx.x;
  if (i < n)
    a[i] *= x;
}
"""


def test_program_has_machine_code_and_ptx_with_source_lines() -> None:
    program = compile_program(SCALE)
    assert ".target sm_90" in program.ptx
    assert {line.split()[2] for line in program.ptx.splitlines() if line.strip().startswith(".loc")} >= {
        "1",
        "5",
    }
    assert not program.ptx.endswith("\0")
    assert program.cubin is not None
    assert program.cubin.startswith(b"\x7fELF")
    assert program.source == SCALE
    assert program.arch == 90
    assert compile_program(SCALE.rstrip()).source == SCALE.rstrip()


@pytest.mark.parametrize("arch", [75, 80, 120])
def test_compile_program_compiles_for_other_architectures(arch: int) -> None:
    assert f".target sm_{arch}" in compile_program(SCALE, arch=arch).ptx


def test_unknown_architecture_is_refused_and_supported_ones_are_listed() -> None:
    with pytest.raises(UsageError, match="90"):
        compile_program(SCALE, arch=13)


def test_defines_reach_the_source() -> None:
    text = (
        "__global__ void k(float* a) { int i = threadIdx.x; __shared__ float t[BLOCK_X]; "
        "t[i] = a[i]; __syncthreads(); a[i] = t[BLOCK_X - 1 - i]; }"
    )
    for size in (16, 32):
        assert compile_program(text, defines={"BLOCK_X": size}).resources["k"].shared_bytes == 4 * size


def test_options_reach_nvrtc() -> None:
    text = "__global__ void k(float* a) { a[0] = a[1] * a[2] + a[3]; }"
    assert "fma.rn.f32" in compile_program(text).ptx
    assert "fma.rn.f32" not in compile_program(text, options=["--fmad=false"]).ptx


@pytest.mark.parametrize("text", [SCALE, "#include <cuda_fp16.h>\n#include <vector_types.h>\n" + SCALE])
def test_program_contains_no_local_path(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = compile_program(text)
    assert '"cell.cu"' in program.ptx
    assert program.cubin is not None
    for folder in (tmp_path, Path.home() / ".cache", Path(sys.prefix)):
        assert str(folder) not in program.ptx
        assert os.fsencode(folder) not in program.cubin


@pytest.mark.slow
def test_file_names_of_headers_in_ptx_have_no_folder() -> None:
    program = compile_program(
        "#include <cooperative_groups.h>\n"
        "__global__ void k(float* a) { cooperative_groups::this_thread_block().sync(); a[0] = 1; }\n"
    )
    files = [line.split('"')[1] for line in program.ptx.splitlines() if line.strip().startswith(".file")]
    assert files[0] == "cell.cu"
    assert all(not name.startswith("/") for name in files)
    assert program.cubin is not None
    assert b".cache" not in program.cubin


def test_inline_assembly_compiles() -> None:
    text = '__global__ void k(int* a) { int x; asm volatile("mov.u32 %0, %%laneid;" : "=r"(x)); a[x] = x; }\n'
    assert "%laneid" in compile_program(text).ptx


def test_line_marker_in_assembly_is_refused_before_ptxas_crashes() -> None:
    with pytest.raises(CompileError):
        compile_program('__global__ void k(float* a) { asm volatile("# 1 \\"x\\""); a[0] = 1; }\n')


def test_several_threads_compile_at_once() -> None:
    def compile_one(number: int) -> tuple[str, ...]:
        if number % 2:
            with pytest.raises(CompileError) as caught:
                compile_program(f"\n__global__ void k{number}() {{ nothing{number}; }}\n")
            return tuple(f"{error.line} {error.message}" for error in caught.value.diagnostics)
        return compile_program(f"__global__ void k{number}() {{}}\n").kernel_names

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(compile_one, range(16)))
    assert all(results[i] == (f"k{i}",) for i in range(0, 16, 2))
    assert all(f"nothing{i}" in results[i][0] and results[i][0].startswith("2 ") for i in range(1, 16, 2))


def test_import_of_the_package_does_not_load_nvrtc() -> None:
    code = "import sys, gpulab.compiler; sys.exit(any(name.startswith('cuda') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_nvrtc_in_a_folder_of_pythonpath_is_loaded() -> None:
    # Without `site`, a virtual environment's site-packages is a folder as `pip install --target` makes it.
    code = "from gpulab.compiler import nvrtc; print(*nvrtc.version())"
    folders = [entry for entry in sys.path if entry]
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.split() == [str(number) for number in nvrtc.version()], run.stderr


def test_missing_nvrtc_raises_and_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    nvrtc._binding.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    try:
        with pytest.raises(GpulabError, match="pip install"):
            compile_program(SCALE)
    finally:
        nvrtc._binding.cache_clear()


def test_macos_has_no_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    nvrtc._binding.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    try:
        with pytest.raises(GpulabError, match="macOS"):
            compile_program(SCALE)
    finally:
        nvrtc._binding.cache_clear()


def test_compilation_over_the_time_limit_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "TIME_LIMIT_S", 0.0)
    with pytest.raises(UsageError, match="0 s"):
        compile_program(SCALE)


GROUPS = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void rank_in_tile(int* x)
{{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    x[threadIdx.x] = {value};
}}"""


@pytest.mark.parametrize(
    ("value", "runs"),
    [("tile.thread_rank()", 1), ("cuda::std::is_same<int, long>::value", 2), ("undeclared", 2)],
)
def test_cooperative_groups_do_without_libcuxx_where_they_can(
    monkeypatch: pytest.MonkeyPatch, value: str, runs: int
) -> None:
    compile_text, flags = nvrtc.compile_text, list[Sequence[str]]()

    def recording(text: str, options: Sequence[str], *rest: Any) -> nvrtc.NvrtcOutput:
        flags.append(options)
        return compile_text(text, options, *rest)

    monkeypatch.setattr(nvrtc, "compile_text", recording)
    monkeypatch.setattr(store, "load", lambda key: None)
    with pytest.raises(CompileError, match="undeclared") if value == "undeclared" else nullcontext():
        compile_program(GROUPS.format(value=value))
    assert ["-D_CG_LIMIT_INCLUDED_DEPENDENCIES" in options for options in flags] == [True, False][:runs]


BARRIER = """#include <cuda/barrier>

__global__ void wait_for_all(float* x)
{{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    barrier.arrive_and_wait();
    {statement}
}}"""


@pytest.mark.parametrize(
    ("statement", "runs"),
    [
        ("x[threadIdx.x] = 1;", [True]),
        ("undeclared = 1;", [True]),
        ("cuda::ptx::exit();", [False]),
        ("\n#define PTX pt##x\ncuda::PTX::exit();", [True, False]),
    ],
)
def test_barriers_do_without_ptx_functions_where_they_can(
    monkeypatch: pytest.MonkeyPatch, statement: str, runs: list[bool]
) -> None:
    compile_text, stood_in = nvrtc.compile_text, list[bool]()

    def recording(text: str, options: Sequence[str], headers: Mapping[str, str], *rest: Any) -> Any:
        stood_in.append("cuda/ptx" in headers)
        return compile_text(text, options, headers, *rest)

    monkeypatch.setattr(nvrtc, "compile_text", recording)
    monkeypatch.setattr(store, "load", lambda key: None)
    with pytest.raises(CompileError, match="undeclared") if "undeclared" in statement else nullcontext():
        compile_program(BARRIER.format(statement=statement))
    assert stood_in == runs


def test_headers_that_a_source_needs_whole_are_not_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_text, narrowed = nvrtc.compile_text, list[set[str]]()

    def recording(text: str, options: Sequence[str], headers: Mapping[str, str], *rest: Any) -> Any:
        narrowed.append({name for name in headers if name.startswith("cuda/")})
        return compile_text(text, options, headers, *rest)

    monkeypatch.setattr(nvrtc, "compile_text", recording)
    monkeypatch.setattr(store, "load", lambda key: None)
    largest = "const int values[] = {1, 2}; x[0] = *cuda::std::max_element(values, values + 2);"
    compile_program(BARRIER.format(statement=largest))
    compile_program(BARRIER.format(statement="x[0] = cuda::std::max({1, 2});"))
    compile_program(
        BARRIER.format(statement="x[0] = 1;").replace(
            "barrier>\n", "barrier>\n#include <cuda/std/limits>\n", 1
        )
    )
    assert ["cuda/std/__algorithm/max_element.h" in names for names in narrowed] == [
        False,
        True,
        False,
        False,
    ]
