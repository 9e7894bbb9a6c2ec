"""The headers a kernel may include: gpulab's own small ones, and those that NVRTC carries along.

NVRTC has CUDA's built-in names (`dim3`, `printf`, `atomicAdd`, …) without any header, and no C header
at all. So the C headers that students write out of habit are answered here, from memory; NVIDIA's own
come out of NVRTC's library (`nvrtcInstallBundledHeaders`, CUDA 13.3 and later) or from a CUDA Toolkit.
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

# The same types as in NVIDIA's <cuda/std/cstdint> under NVRTC: both may be read together.
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

# NVRTC 13.0 does not know __builtin_offsetof yet.
_STDDEF = "#define offsetof(type, member) ((size_t)__INTADDR__(&(((type *)0)->member)))\n"


def _guarded(name: str, text: str) -> str:
    """`text` read once only; a macro that an NVIDIA header defined before it keeps its value."""
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

# None of these reaches, through its own includes, an `#include` of a macro: a kernel's `#define` could
# lead such a one to any file (thrust has some, and cub reads thrust; so neither is here).
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
    """Every name that may stand in an `#include`, sorted."""
    return tuple(sorted({*OWN_HEADERS, *NVIDIA_HEADERS}))


_lock = threading.Lock()  # two threads may compile at once, and the folders are written once


def nvidia_include_folders() -> tuple[str, ...]:
    """Folders that hold `NVIDIA_HEADERS`, written once per user from NVRTC's own library (26 MB).

    Raises `GpulabError` when there is no copy: an NVRTC older than CUDA 13.3 and no CUDA Toolkit.
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
        except (OSError, RuntimeError):  # RuntimeError: there is no home at all
            continue
    for folder in _toolkit_folders():
        if (folder / "cooperative_groups.h").is_file():
            return str(folder), str(folder / "cccl")
    raise GpulabError(
        "this NVRTC brings no CUDA headers of its own, and there is no CUDA Toolkit here; "
        "run `pip install -U nvidia-cuda-nvrtc`, or leave the NVIDIA header out."
    )


def _cache_folder(release: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folder = (Path(root) if root else Path.home() / ".cache") / "gpulab" / release
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _temporary_folder(release: str) -> Path:
    """For a home that cannot be written: headers for this process only."""
    folder = Path(tempfile.mkdtemp(prefix=f"gpulab-{release}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _toolkit_folders() -> list[Path]:
    roots = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), os.environ.get("CONDA_PREFIX"))
    inside = ("include", "targets/x86_64-linux/include")
    return [Path(root) / folder for root in roots if root for folder in inside]
