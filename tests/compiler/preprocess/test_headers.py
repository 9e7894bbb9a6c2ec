"""Allowed headers: each compiles, and none includes a file outside its folder."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gpulab
from gpulab.compiler import compile_program, nvrtc
from gpulab.compiler.preprocess import headers
from gpulab.compiler.preprocess.headers import (
    NVIDIA_HEADERS,
    OWN_HEADERS,
    include_folders,
    own_headers,
)
from gpulab.compiler.preprocess.phases import read_source
from gpulab.errors import GpulabError, UsageError
from gpulab.installation import install_command

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


# Headers of C, which need none of NVIDIA's.
C_HEADERS = [name for name, text in OWN_HEADERS.items() if "#include" not in text and "/cub" not in name]


def installed(name: str) -> bool:
    try:
        return bool(include_folders([name]))
    except GpulabError:
        return False


needs_curand = pytest.mark.skipif(
    not installed("curand_kernel.h"), reason="the extra curand is not installed"
)
INSTALLED_HEADERS = [name for name in NVIDIA_HEADERS if installed(name)]


def including(names: tuple[str, ...] | list[str]) -> str:
    return "".join(f"#include <{name}>\n" for name in names) + KERNEL


def test_own_headers_compile_together_and_twice() -> None:
    program = compile_program(including([*C_HEADERS, *reversed(C_HEADERS)]))
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
    compile_program(including(C_HEADERS) + f'static_assert({expression}, "");\n')


def test_small_nvidia_headers_compile() -> None:
    assert compile_program(including(list(SMALL))).kernel_names == ("k",)


@pytest.mark.weekly
@pytest.mark.parametrize(
    "folder",
    ["", "cooperative_groups", "cub", "cub/block", "cub/thread", "cub/warp", "cuda", "cuda/std", "thrust"],
)
def test_nvidia_headers_compile_with_own_headers(folder: str) -> None:
    # One by one they take four times as long, because the headers of a folder include the same others.
    names = [name for name in INSTALLED_HEADERS if name.rpartition("/")[0] == folder]
    assert names
    assert compile_program(including([*C_HEADERS, *names, *C_HEADERS])).warnings == ()


def test_no_allowed_header_includes_a_file_named_by_a_macro() -> None:
    # A kernel's own #define could make such a macro the name of any file.
    every_class = " ".join(map(_camel_case, NVIDIA_HEADERS)).replace(".", "")
    own = own_headers(read_source(every_class))
    folders = [Path(folder) for folder in include_folders(INSTALLED_HEADERS)]
    todo = [("", name) for name in {*INSTALLED_HEADERS, *OWN_HEADERS}]
    seen = set[str]()
    while todo:
        path, text = _read(*todo.pop(), own, folders)
        if path in seen:
            continue
        seen.add(path)
        for included in re.findall(r"^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(.*)$", text, re.MULTILINE):
            literal = re.match(r'<([^<>]+)>|"([^"]+)"', included)
            assert literal, f"{path}: #include {included}"
            todo.append((path if literal[2] else "", literal[literal.lastindex or 0]))
    assert len(seen) > 500


def _read(includer: str, name: str, own: dict[str, str], folders: list[Path]) -> tuple[str, str]:
    """Return path and text of a header as NVRTC finds it; an empty text if there is no such file.

    includer: the header that includes it in quotation marks, or "".
    """
    if name in own:
        return name, own[name]
    places = [Path(includer).parent, *folders] if includer else folders
    found = next((place / name for place in places if (place / name).is_file()), None)
    return str(found), found.read_text(errors="replace").replace("\\\n", "") if found else ""


def _camel_case(path: str) -> str:
    return "".join(word.capitalize() for word in Path(path).stem.split("_"))


REDUCE = """\
#include <cub/cub.cuh>
__global__ void total(const float* x, float* y) {
  typedef cub::BlockReduce<float, 128> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  float sum = Reduce(storage).Sum(x[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
"""
COMPLEX = """\
#include <thrust/complex.h>
#include <thrust/functional.h>
__global__ void k(thrust::complex<float>* z) {
  int i = threadIdx.x;
  z[i] = thrust::conj(z[i]) * thrust::complex<float>(0, 2) + thrust::abs(z[i]);
}
"""
RANDOM = """\
#include <curand_kernel.h>
__global__ void draw(unsigned long long seed, float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState state;
  curand_init(seed, i, 0, &state);
  x[2 * i] = curand_uniform(&state);
  x[2 * i + 1] = curand_uniform(&state);
}
"""


@pytest.mark.slow
def test_block_reduction_of_cub_runs_on_the_simulator() -> None:
    device = gpulab.device("sim")
    x = np.arange(256, dtype=np.float32)
    y = device.empty(2)
    device.compile(REDUCE)(2, 128, (device.asarray(x), y))
    np.testing.assert_array_equal(device.asnumpy(y), x.reshape(2, 128).sum(axis=1))


@pytest.mark.slow
def test_operators_that_cub_has_removed_are_known() -> None:
    text = REDUCE.replace(".Sum(x[blockIdx.x * 128 + threadIdx.x])", ".Reduce(x[threadIdx.x], cub::Max())")
    assert compile_program(text).kernel_names == ("total",)


def test_complex_numbers_of_thrust_are_those_of_libcudacxx() -> None:
    device = gpulab.device("sim")
    z = np.array([3 + 4j, -1 - 2j], np.complex64)
    on_device = device.asarray(z)
    device.compile(COMPLEX)(1, 2, (on_device,))
    np.testing.assert_allclose(device.asnumpy(on_device), z.conj() * 2j + np.abs(z), rtol=1e-6)


@pytest.mark.slow
@needs_curand
def test_random_numbers_of_curand_are_uniform_on_the_simulator() -> None:
    device = gpulab.device("sim")
    x = device.empty(512)
    device.compile(RANDOM)(4, 64, (7, x))
    values = device.asnumpy(x)
    assert len(set(values.tolist())) > 500
    assert ((values > 0) & (values <= 1)).all()
    assert abs(values.mean() - 0.5) < 0.06  # 0.013 is the standard deviation of the mean


@pytest.mark.parametrize(
    ("header", "included", "remedy"),
    [
        ("cooperative_groups.h", "cccl/nv/target", "`nv/target` comes with `python -m pip install "),
        ("mma.h", "crt/mma.h", "`crt/mma.h` comes with NVRTC"),
    ],
)
def test_header_is_completed_by_another_folder(
    header: str, included: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel, toolkit = tmp_path / "wheel", tmp_path / "toolkit"
    (toolkit / included).parent.mkdir(parents=True)
    (toolkit / included).touch()
    for folder in (wheel, toolkit):
        folder.mkdir(exist_ok=True)
        (folder / header).touch()
    monkeypatch.setattr(nvrtc, "install_headers", lambda _folder: False)
    monkeypatch.setattr(headers, "_other_folders", lambda: ((f, f / "cccl") for f in (wheel, toolkit)))
    headers._bundled_folders.cache_clear()
    try:
        folders = include_folders([header])
        (toolkit / included).unlink()
        with pytest.raises(UsageError, match=re.escape(remedy)):
            include_folders([header])
    finally:
        headers._bundled_folders.cache_clear()
    assert folders == tuple(map(str, (wheel, wheel / "cccl", toolkit, toolkit / "cccl")))


def test_missing_extra_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "_other_folders", lambda: iter(()))
    with pytest.raises(UsageError) as caught:
        compile_program(RANDOM)
    assert str(caught.value) == f"`curand_kernel.h` comes with `{install_command('curand')}`."


def test_missing_nvidia_headers_raise_and_name_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers._bundled_folders.cache_clear()
    monkeypatch.setattr(nvrtc, "install_headers", lambda _folder: False)
    monkeypatch.setattr(headers, "_other_folders", lambda: iter(()))
    try:
        with pytest.raises(GpulabError, match=r"pip install .*nvidia-cuda-nvrtc"):
            include_folders(["cuda_fp16.h"])
        with pytest.raises(GpulabError, match=re.escape(install_command("cccl"))):
            include_folders(["cub/cub.cuh"])
    finally:
        headers._bundled_folders.cache_clear()


def test_nvidia_headers_are_found_when_the_cache_folder_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers._bundled_folders.cache_clear()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    try:
        folders = include_folders(["cooperative_groups.h"])
        assert (Path(folders[0]) / "cooperative_groups.h").is_file()
    finally:
        headers._bundled_folders.cache_clear()
