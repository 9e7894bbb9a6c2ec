"""The headers that a kernel may include: small C headers written here, and NVIDIA's own.

NVRTC predefines CUDA's built-in names (`dim3`, `printf`, `atomicAdd`, …) and has no C standard headers. The C
headers that programs usually include are therefore defined here as strings. NVIDIA's headers come from
NVRTC's library (`nvrtcInstallBundledHeaders`, CUDA 13.3 and later) or from a CUDA Toolkit.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import tempfile
import threading
from pathlib import Path

from gpulab.compiler import nvrtc
from gpulab.errors import GpulabError

__all__ = ["NVIDIA_HEADERS", "OWN_HEADERS", "allowed_headers", "nvidia_include_folders"]

# The types are those of NVIDIA's <cuda/std/cstdint> under NVRTC, because a kernel may include both.
_STDINT = """
typedef signed char int8_t;         typedef unsigned char uint8_t;
typedef signed short int16_t;       typedef unsigned short uint16_t;
typedef signed int int32_t;         typedef unsigned int uint32_t;
typedef signed long long int64_t;   typedef unsigned long long uint64_t;
typedef int64_t intptr_t;           typedef uint64_t uintptr_t;
typedef int64_t intmax_t;           typedef uint64_t uintmax_t;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define SIZE_MAX 18446744073709551615ull
"""

_LIMITS = """
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#if defined(_WIN32)
#define LONG_MIN (-2147483647l - 1)
#define LONG_MAX 2147483647l
#define ULONG_MAX 4294967295ul
#else
#define LONG_MIN (-9223372036854775807l - 1)
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul
#endif
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
"""

# IEEE 754 binary32 and binary64.
_FLOAT = """
#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_EPSILON 1.19209290e-7f
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
"""

_MATH = """
#define INFINITY (__int_as_float(0x7f800000))
#define NAN (__int_as_float(0x7fffffff))
#define HUGE_VALF INFINITY
#define HUGE_VAL (__longlong_as_double(0x7ff0000000000000ll))
#define M_E 2.71828182845904523536
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_SQRT2 1.41421356237309504880
"""

# NVRTC 13.0 has no __builtin_offsetof.
_STDDEF = "#define offsetof(type, member) ((size_t)__INTADDR__(&(((type *)0)->member)))\n"


def _guarded(name: str, text: str) -> str:
    """Return a header with an include guard that keeps the value of any macro that is already defined."""
    lines = [
        f"#ifndef {match[1]}\n{line}\n#endif" if (match := re.match(r"#define (\w+)", line)) else line
        for line in text.strip().splitlines()
    ]
    guard = f"GPULAB_{name}"
    return "\n".join([f"#ifndef {guard}", f"#define {guard}", *lines, "#endif", ""])


_C_HEADERS = {
    "assert.h": "",
    "float.h": _guarded("FLOAT_H", _FLOAT),
    "limits.h": _guarded("LIMITS_H", _LIMITS),
    "math.h": _guarded("MATH_H", _MATH),
    "stddef.h": _guarded("STDDEF_H", _STDDEF),
    "stdint.h": _guarded("STDINT_H", _STDINT),
    "stdio.h": "",
    "stdlib.h": "",
    "string.h": "",
    "time.h": "",
}

OWN_HEADERS: dict[str, str] = {
    **_C_HEADERS,
    **{"c" + name.removesuffix(".h"): text for name, text in _C_HEADERS.items()},
    **dict.fromkeys(("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h"), ""),
}

# None of these headers includes, directly or indirectly, a file whose name is a macro, because a kernel could
# define that macro as any path. Thrust has such includes, and CUB includes Thrust, so both are left out.
NVIDIA_HEADERS: tuple[str, ...] = (
    "cooperative_groups.h",
    "cooperative_groups/memcpy_async.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
    "cuComplex.h",
    "cuda/atomic",
    "cuda/barrier",
    "cuda/pipeline",
    "cuda/std/array",
    "cuda/std/atomic",
    "cuda/std/cmath",
    "cuda/std/complex",
    "cuda/std/cstdint",
    "cuda/std/limits",
    "cuda/std/tuple",
    "cuda/std/type_traits",
    "cuda/std/utility",
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_fp8.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "math_constants.h",
    "mma.h",
    "vector_types.h",
)


def allowed_headers() -> tuple[str, ...]:
    """Return every header name that an `#include` may use, sorted."""
    return tuple(sorted({*OWN_HEADERS, *NVIDIA_HEADERS}))


_lock = threading.Lock()  # several threads may compile at once, but only one may write the folders


def nvidia_include_folders() -> tuple[str, ...]:
    """Return the include folders of `NVIDIA_HEADERS`, after writing them once per user (26 MB) from NVRTC.

    Raises `GpulabError` if NVRTC is older than CUDA 13.3 and no CUDA Toolkit is installed.
    """
    with _lock:
        return _find_folders()


@functools.cache
def _find_folders() -> tuple[str, ...]:
    release = "nvrtc-{}.{}".format(*nvrtc.version())
    for make_folder in (_cache_folder, _temporary_folder):
        try:
            folder = make_folder(release)
            if nvrtc.install_headers(str(folder)):
                return str(folder), str(folder / "cccl")
        except (OSError, RuntimeError):  # RuntimeError: the user has no home directory
            continue
    for folder in _toolkit_folders():
        if (folder / "cooperative_groups.h").is_file():
            return str(folder), str(folder / "cccl")
    raise GpulabError(
        "NVIDIA's headers were not found: this NVRTC is older than CUDA 13.3 and no CUDA Toolkit is "
        "installed; run `pip install -U nvidia-cuda-nvrtc`, or remove the NVIDIA header."
    )


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
