"""The headers that a kernel may include: C's, which are written here, and NVIDIA's own.

NVIDIA's headers come from NVRTC's library (`nvrtcInstallBundledHeaders`, CUDA 13.3 and later), from NVIDIA's
wheels, which the extras `cccl` and `curand` install, or from a CUDA Toolkit.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpulab.compiler import nvrtc
from gpulab.compiler.preprocess.c_headers import C_HEADERS
from gpulab.compiler.preprocess.phases import SourceText
from gpulab.errors import UsageError
from gpulab.installation import install_command

__all__ = [
    "NVIDIA_HEADERS",
    "OWN_HEADERS",
    "allowed_headers",
    "header_of",
    "include_folders",
    "is_of_libcuxx",
    "namespace_of",
    "narrowed_headers",
    "nvidia_header",
    "own_headers",
]

# Names that nvcc's own headers declare; NVRTC has them built in.
_BUILT_IN = (
    "builtin_types.h",
    "cuda.h",
    "cuda_device_runtime_api.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cuda_texture_types.h",
    "device_atomic_functions.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "device_types.h",
    "driver_types.h",
    "host_defines.h",
    "math_functions.h",
    "sm_20_atomic_functions.h",
    "sm_30_intrinsics.h",
    "surface_functions.h",
    "surface_indirect_functions.h",
    "surface_types.h",
    "texture_fetch_functions.h",
    "texture_indirect_functions.h",
    "texture_types.h",
    "vector_functions.h",
)

# Thrust selects its back ends by headers whose names are macros, which a kernel could define as any path.
# These take the place of the two that CUB includes.
_THRUST_TAG = """\
#pragma once
#include <thrust/detail/config.h>
#include <thrust/system/{system}/detail/execution_policy.h>
THRUST_NAMESPACE_BEGIN
using {side}_system_tag = thrust::system::{system}::tag;
THRUST_NAMESPACE_END
"""


def _paths(form: str, names: str) -> tuple[str, ...]:
    return tuple(form.format(name) for name in names.split())


_CUB_CLASSES = (
    *_paths("cub/block/block_{}.cuh", "adjacent_difference discontinuity exchange histogram load merge_sort"),
    *_paths("cub/block/block_{}.cuh", "radix_rank radix_sort reduce run_length_decode scan shuffle store"),
    *_paths("cub/warp/warp_{}.cuh", "exchange load merge_sort reduce scan store"),
    *_paths("cub/thread/thread_{}.cuh", "load operators reduce scan search sort store"),
)
_CUB_ALL = "cub/cub.cuh"  # see `own_headers`
# Operators that CUB 3 has removed and that published kernels use, by name.
_CUB_OPERATORS = {"Sum": "std::plus<>", "Max": "maximum<>", "Min": "minimum<>"}
# Shorter texts of headers that libcu++'s barriers and atomic objects include, and of which these use little:
# by name, the text and the words of a source that needs the whole header. See `narrowed_headers`.
_WITH_BARRIERS = _paths("cuda/{}", "atomic barrier latch pipeline semaphore")
_NO_MAXIMUM = """\
#pragma once
#include <cuda/std/detail/__config>
#include <cuda/std/__cccl/prologue.h>
_CCCL_BEGIN_NAMESPACE_CUDA_STD
template <class _Iter, class _Comp> _CCCL_API constexpr _Iter __max_element(_Iter, _Iter, _Comp) = delete;
template <class _Iter, class _Comp> _CCCL_API constexpr _Iter max_element(_Iter, _Iter, _Comp) = delete;
_CCCL_END_NAMESPACE_CUDA_STD
#include <cuda/std/__cccl/epilogue.h>
"""
_NARROWED = {
    # <cuda/barrier> includes 3 MB of functions for single PTX instructions for its experimental part only.
    "cuda/ptx": ("#undef __cccl_lib_experimental_ctk12_cp_async_exposure\n", ("ptx", "experimental")),
    "cuda/std/__algorithm/max_element.h": (_NO_MAXIMUM, ("max_element",)),
    "cuda/std/__limits/numeric_limits_ext.h": ("#pragma once\n", ("numeric_limits",)),
}
_CPP_STANDARD = _paths(
    "{}",
    "array bit complex concepts functional initializer_list numeric optional span tuple type_traits utility "
    "variant",
)

# None of these headers includes, directly or indirectly, a file whose name is a macro, because a kernel could
# define that macro as any path. Thrust's algorithms have such includes, and so has <cub/cub.cuh>.
NVIDIA_HEADERS: tuple[str, ...] = (
    *_paths("cooperative_groups{}.h", "/memcpy_async /reduce /scan"),
    "cooperative_groups.h",
    "cuComplex.h",
    *_CUB_CLASSES,
    *_paths("cub/{}.cuh", "util_math util_ptx util_type"),
    "curand_kernel.h",
    *_paths("cuda/{}", "annotated_ptr atomic barrier bit cmath functional latch numeric pipeline ptx"),
    *_paths("cuda/{}", "semaphore type_traits utility warp"),
    *_paths("cuda/std/{}", "algorithm array atomic barrier bit bitset cassert cfloat chrono climits cmath"),
    *_paths("cuda/std/{}", "complex concepts cstddef cstdint cstdlib cstring expected functional"),
    *_paths("cuda/std/{}", "initializer_list iterator latch limits mdspan numbers numeric optional random"),
    *_paths("cuda/std/{}", "ranges ratio semaphore span tuple type_traits utility variant"),
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_fp8.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "math_constants.h",
    "mma.h",
    *_paths("thrust/{}.h", "functional pair tuple"),
    "vector_types.h",
)


# NVRTC does not compile Thrust's own header; libcu++ has the same class.
_THRUST_COMPLEX = "thrust/complex.h"
_COMPLEX_FUNCTIONS = """
abs arg norm conj polar proj exp log log10 pow sqrt
sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh
"""

OWN_HEADERS: dict[str, str] = {
    **C_HEADERS,
    _THRUST_COMPLEX: "\n".join(
        [
            "#pragma once",
            "#include <cuda/std/complex>",
            "namespace thrust {",
            *(f"using cuda::std::{name};" for name in ("complex", *_COMPLEX_FUNCTIONS.split())),
            "}",
            "",
        ]
    ),
    **dict.fromkeys(_BUILT_IN, ""),
    **{
        name: f"#pragma once\n#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n"
        for name in _CPP_STANDARD
    },
    _CUB_ALL: "",
    **{
        f"thrust/iterator/detail/{side}_system_tag.h": _THRUST_TAG.format(side=side, system=system)
        for side, system in (("device", "cuda"), ("host", "cpp"))
    },
}

# Patterns of the names that some of NVIDIA's headers declare, namespaces included.
_DECLARED = {
    "cooperative_groups.h": r"cooperative_groups",
    "cub/cub.cuh": r"cub",
    "cuComplex.h": r"(?:make_)?cu(?:Float|Double)?Complex",
    "cuda_awbarrier_primitives.h": r"__mbarrier_\w+",
    "cuda_bf16.h": r"(?:__)?nv_bfloat162?|__\w+2bfloat16\w*|__bfloat16\w+",
    "cuda_fp16.h": r"(?:__)?half2?|__\w+2half\w*|__half\w+",
    "cuda_fp8.h": r"__nv_fp8\w*",
    "cuda_pipeline.h": r"__pipeline_\w+",
    "curand_kernel.h": r"curandState\w*|curand_\w+",
    "math_constants.h": r"CUDART_\w+",
    "mma.h": r"nvcuda",
}


def header_of(name: str) -> str:
    """Return NVIDIA's header that declares a name or a namespace, "" if none is known.

    Examples
    --------
    >>> from gpulab.compiler.preprocess.headers import header_of
    >>> header_of("__pipeline_commit"), header_of("cooperative_groups"), header_of("halfway")
    ('cuda_pipeline.h', 'cooperative_groups.h', '')
    """
    return next((header for header, names in _DECLARED.items() if re.fullmatch(names, name)), "")


@functools.cache
def allowed_headers() -> tuple[str, ...]:
    """Return every header name that an `#include` may use, sorted."""
    own = (name for name in OWN_HEADERS if "/detail/" not in name)
    return tuple(sorted({*own, *NVIDIA_HEADERS}))


def own_headers(source: SourceText) -> dict[str, str]:
    """Return the texts of the headers that are written here, by name.

    NVIDIA's <cub/cub.cuh> includes all of CUB and takes many seconds. A kernel uses a class or two of it, so
    that the one given here includes the headers of the classes that the source names.
    """
    used = {token.text for token in source.tokens if token.kind == "identifier"}
    names = [path for path in _CUB_CLASSES if _class_of(path) in used] or ["cub/util_type.cuh"]
    lines = ["#pragma once", *(f"#include <{name}>" for name in names)]
    operators = [
        f"using {name} = ::cuda::{operator};"
        for name, operator in _CUB_OPERATORS.items()
        if re.search(rf"\bcub\s*::\s*{name}\b", source.text)
    ]
    if operators:
        lines += ["#include <cuda/functional>", "#if CCCL_MAJOR_VERSION >= 3"]
        lines += ["namespace cub {", *operators, "}", "#endif"]
    return {**OWN_HEADERS, _CUB_ALL: "\n".join([*lines, ""])}


def is_of_libcuxx(name: str) -> bool:
    """Return True if a header is one of libcu++, CUB or Thrust, or includes one of these."""
    return nvidia_header(name).startswith(("cuda/", "cub/", "thrust/"))


def narrowed_headers(text: str, included: Iterable[str]) -> dict[str, str]:
    """Return shorter texts of headers of libcu++ that a source uses little of, by name.

    text: the source. included: the names of the headers that it includes.
    """
    of_libcuxx = {name for name in included if is_of_libcuxx(name)}
    if not of_libcuxx or not of_libcuxx.issubset(_WITH_BARRIERS):
        return {}
    return {
        name: header for name, (header, words) in _NARROWED.items() if not any(word in text for word in words)
    }


def _class_of(path: str) -> str:
    """Return `BlockReduce` for `cub/block/block_reduce.cuh`."""
    return "".join(word.capitalize() for word in Path(path).stem.split("_"))


def namespace_of(name: str) -> str:
    """Return the namespace that a header declares everything in; "" if there is none."""
    if name in _CPP_STANDARD:
        return "std"
    if name == "mma.h":
        return "nvcuda"
    first = name.partition("/")[0].removesuffix(".h")
    return first if first in ("cooperative_groups", "cub", "cuda", "thrust") else ""


# Headers that those with this beginning include, and that can be missing where these are installed.
_INCLUDED = {"cooperative_groups": "nv/target", "mma.h": "crt/mma.h"}
_lock = threading.Lock()  # several threads may compile at once, but only one may write the folders


def include_folders(names: Iterable[str]) -> tuple[str, ...]:
    """Return the include folders for these headers, after writing NVRTC's own once per user (26 MB).

    Raises `UsageError`, with the command that installs it, if a header of NVIDIA is not installed.
    """
    needed = [header for name in names if (header := nvidia_header(name))]
    if not needed:
        return ()
    needed += [
        included
        for beginning, included in _INCLUDED.items()
        if any(name.startswith(beginning) for name in needed)
    ]
    with _lock:
        folders = [*_bundled_folders()]
    for name in needed:
        if any((folder / name).is_file() for folder in folders):
            continue
        found = next(
            (pair for pair in _other_folders() if any((each / name).is_file() for each in pair)), None
        )
        if found is None:
            raise UsageError(_remedy(name))
        folders += found
    return tuple(map(str, folders))


def nvidia_header(name: str) -> str:
    """Return a header of NVIDIA that is needed for a header; "" if none is."""
    if name in NVIDIA_HEADERS:
        return name
    if name == _CUB_ALL:
        return "cub/util_type.cuh"
    if name == _THRUST_COMPLEX:
        return "cuda/std/complex"
    return f"cuda/std/{name}" if name in _CPP_STANDARD else ""


def _remedy(name: str) -> str:
    if name.startswith("curand"):
        return f"`{name}` comes with `{install_command('curand')}`."
    if name.startswith(("cub/", "thrust/", "cuda/", "nv/")):
        return f"`{name}` comes with `{install_command('cccl')}`, or with NVRTC: {nvrtc.remedy()}."
    return f"`{name}` comes with NVRTC: {nvrtc.remedy()}."


@functools.cache
def _bundled_folders() -> tuple[Path, ...]:
    release = "nvrtc-{}.{}".format(*nvrtc.version())
    for make_folder in (_cache_folder, _temporary_folder):
        try:
            folder = make_folder(release)
            if nvrtc.install_headers(str(folder)):
                return folder, folder / "cccl"
        except (OSError, RuntimeError):  # RuntimeError: the user has no home directory
            continue
    return ()


def _other_folders() -> Iterator[tuple[Path, Path]]:
    """Yield the include folders of NVIDIA's wheels and of CUDA Toolkits, each with its CCCL folder."""
    folders = [folder / "include" for folder in nvrtc.wheel_folders()]
    for folder in (*folders, *_toolkit_folders()):
        yield folder, folder / "cccl"


def _cache_folder(release: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folder = (Path(root) if root else Path.home() / ".cache") / "gpulab" / release
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _temporary_folder(release: str) -> Path:
    """Return a folder for this process only, for users whose home directory is read-only."""
    folder = Path(tempfile.mkdtemp(prefix=f"gpulab-{release}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _toolkit_folders() -> list[Path]:
    roots = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), os.environ.get("CONDA_PREFIX"))
    subfolders = ("include", "targets/x86_64-linux/include")
    return [Path(root) / folder for root in roots if root for folder in subfolders]
