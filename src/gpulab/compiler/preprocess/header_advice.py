"""Advice about an `#include` that is refused: why, and the nearest thing that works."""

from __future__ import annotations

import difflib

from gpulab.compiler.preprocess.headers import allowed_headers

__all__ = ["include_advice", "is_host_header"]

# Headers of programs: C++'s, the operating system's, those of NVIDIA's libraries and of its samples.
_HOST_HEADERS = """
GL/freeglut.h GL/glew.h GL/glut.h GLFW/glfw3.h atomic cctype cerrno chrono clocale common.h
condition_variable csignal ctype.h cublas.h cublasLt.h cublasXt.h cublas_v2.h cudaEGL.h cudaGL.h
cudaTypedefs.h cuda_egl_interop.h cuda_gl_interop.h cuda_profiler_api.h cuda_runtime_wrapper.h cudnn.h
cufft.h cufftXt.h curand.h cusolverDn.h cusparse.h cusparse_v2.h cwchar deque errno.h exception exception.h
fcntl.h filesystem forward_list fstream future getopt.h helper_cuda.h helper_cuda_drvapi.h
helper_functions.h helper_gl.h helper_image.h helper_string.h helper_timer.h iomanip ios iostream istream
iterator list locale malloc.h map memory mpi.h mutex nccl.h new npp.h nppi.h nvToolsExt.h nvgraph.h nvjpeg.h
nvml.h nvrtc.h nvtx3/nvToolsExt.h omp.h opencv2/opencv.hpp ostream pthread.h queue random ratio regex set
shared_mutex signal.h sstream stack stdexcept streambuf string string_view strings.h sys/mman.h sys/stat.h
sys/time.h system_error thread timer.h typeinfo unistd.h unordered_map unordered_set valarray vector
windows.h
"""
_HOST_FOLDERS = ("boost/", "sys/", "GL/", "opencv2/", "thrust/", "cub/device/")


def is_host_header(name: str) -> bool:
    """Return True for a header that only host code uses."""
    return name in _HOST_HEADERS.split() or name.startswith(_HOST_FOLDERS)


def include_advice(name: str) -> str:
    """Return one sentence about an `#include` that is refused: why, and the nearest thing that works."""
    if name in ("helper_math.h", "cutil_math.h"):
        return (
            f"`{name}` is refused: it belongs to NVIDIA's samples; paste the operators that the kernel uses, "
            "such as `operator+(float3, float3)`, above it."
        )
    if name == "thrust/random.h":
        return f"`{name}` is refused: NVRTC does not compile it; use `cuda/std/random` and `cuda::std::`."
    if name.startswith("thrust/"):
        return f"`{name}` is refused: it launches kernels from host code; in a kernel use `cub/cub.cuh`."
    if f"cuda/std/{name}" in allowed_headers():
        return f"`{name}` is refused; kernels include `cuda/std/{name}` and use `cuda::std::`."
    if is_host_header(name):
        return f"`{name}` is for host code, which is not compiled here: delete this line and the host code."

    short = name.rpartition("/")[2]
    by_short = {allowed.rpartition("/")[2]: allowed for allowed in allowed_headers()}
    if close := difflib.get_close_matches(short, by_short, 1, 0.75):
        return f"`{name}` is refused: a kernel may not read files. Did you mean `{by_short[close[0]]}`?"
    return (
        f"`{name}` is refused: a kernel may not read files. Paste the part of it that the kernel needs; "
        "headers of CUDA (such as `cooperative_groups.h` and `cub/cub.cuh`) and of C are allowed."
    )
