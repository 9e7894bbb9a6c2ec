"""NVRTC, NVIDIA's run-time compiler, from its wheel: one call in, text and machine code out.

The wheel and its bindings are loaded at the first compile, so that `import gpulab` stays light. No
driver and no GPU is needed. NVRTC serialises concurrent compiles itself; each call here has its own
program object, so threads need no lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.errors import GpulabError, UsageError

__all__ = ["FILE_NAME", "Output", "check_arch", "compile_text", "install_headers", "version"]

# An absolute name, so that NVRTC puts no working directory before it in `.file` and in the cubin.
FILE_NAME = "/cell.cu"
TIME_LIMIT_S = 120.0  # NVRTC asks between its passes only, so a compile can run some way past it

_INSTALL = "run `pip install nvidia-cuda-nvrtc cuda-bindings`, then restart Python."


@dataclass(frozen=True)
class Output:
    """What one run of NVRTC gave. `ptx` and `cubin` are empty unless `ok`."""

    ok: bool
    log: str
    ptx: str
    cubin: bytes


@functools.cache
def _binding() -> Any:
    if sys.platform == "darwin":
        raise GpulabError(
            "NVIDIA ships no NVRTC for macOS, so CUDA C cannot be compiled here; "
            "use Linux or Windows, or open the lab on Binder."
        )
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise GpulabError(f"NVRTC, the compiler, is not installed here; {_INSTALL}") from None
    try:
        nvrtc.nvrtcVersion()
    except Exception:  # noqa: BLE001 - the bindings have no common error for a library that does not load
        raise GpulabError(f"NVRTC, the compiler, does not load here; {_INSTALL}") from None
    return nvrtc


def _call(name: str, *arguments: Any) -> Any:
    status, *values = getattr(_binding(), name)(*arguments)
    if int(status):
        raise GpulabError(f"NVRTC does not work here ({name}: {status.name}); {_INSTALL}")
    return values[0] if len(values) == 1 else values


@functools.cache
def version() -> tuple[int, int]:
    """NVRTC's own version, such as (13, 5)."""
    major, minor = _call("nvrtcVersion")
    return int(major), int(minor)


@functools.cache
def _architectures() -> tuple[int, ...]:
    return tuple(_call("nvrtcGetSupportedArchs"))


def check_arch(arch: int) -> int:
    """`arch` when this NVRTC compiles for it; otherwise a `UsageError` that lists what it has."""
    if arch not in _architectures():
        known = ", ".join(map(str, _architectures()))
        release = ".".join(map(str, version()))
        raise UsageError(f"NVRTC {release} does not compile for sm_{arch}; it has {known}.")
    return arch


def install_headers(folder: str) -> bool:
    """Write the CUDA headers inside NVRTC's library to `folder`; False when it brings none."""
    binding = _binding()
    if not hasattr(binding, "nvrtcInstallBundledHeaders") or version() < (13, 3):
        return False
    status = binding.nvrtcInstallBundledHeaders(folder.encode(), 0)[0]
    if int(status):
        raise OSError(f"NVRTC could not write its headers ({status.name})")
    return True


def compile_text(text: str, options: Sequence[str], headers: Mapping[str, str]) -> Output:
    """Compile one text, already checked. `headers`: texts by the name in `#include <…>`.

    Raises `UsageError` for an option NVRTC does not take, `GpulabError` when NVRTC itself fails.
    """
    binding = _binding()
    names = [name.encode() for name in headers]
    texts = [text.encode() for text in headers.values()]
    program = _call("nvrtcCreateProgram", text.encode(), FILE_NAME.encode(), len(names), texts, names)
    results = binding.nvrtcResult
    try:
        flags = [option.encode() for option in options]
        with _time_limit(binding, program):
            status = binding.nvrtcCompileProgram(program, len(flags), flags)[0]
        log = _text(program, "ProgramLog")
        if status == results.NVRTC_SUCCESS:
            size = _call("nvrtcGetCUBINSize", program)
            cubin = bytearray(size)
            if size:
                _call("nvrtcGetCUBIN", program, cubin)
            return Output(True, log, _text(program, "PTX"), bytes(cubin))
        if status == results.NVRTC_ERROR_COMPILATION:
            return Output(False, log, "", b"")
        if status == results.NVRTC_ERROR_INVALID_OPTION:
            raise UsageError(f"the compiler does not take these options: {log.strip()}")
        if status.name == "NVRTC_ERROR_CANCELLED":
            raise UsageError(
                f"the compiler was not done after {TIME_LIMIT_S:.0f} s and was stopped; "
                "make the text simpler (fewer loops to unroll, templates, macros)."
            )
        raise GpulabError(f"NVRTC failed ({status.name}); {_INSTALL}")
    finally:
        binding.nvrtcDestroyProgram(program)


def _text(program: Any, kind: str) -> str:
    size = _call(f"nvrtcGet{kind}Size", program)
    buffer = bytearray(size)  # never `b" " * size`: of length 1 that is the interpreter's one b" "
    if size:
        _call(f"nvrtcGet{kind}", program, buffer)
    # NVRTC joins the logs of its stages with a NUL.
    return buffer.rstrip(b"\0").replace(b"\0", b"\n").decode(errors="replace")


@contextlib.contextmanager
def _time_limit(binding: Any, program: Any) -> Iterator[None]:
    """Have NVRTC give up after `TIME_LIMIT_S`.

    It asks some 700 times in a compile, so what it calls is no Python, which would wait for other threads
    each time: the C library's `atoi`, on a text that a timer turns from 0 to 1.
    """
    if not hasattr(binding, "nvrtcSetFlowCallback"):  # before CUDA 12.8
        yield
        return
    said = ctypes.create_string_buffer(b"0")
    library = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    atoi = ctypes.cast(library.atoi, ctypes.c_void_p).value
    timer = threading.Timer(TIME_LIMIT_S, ctypes.memmove, (said, b"1", 1))
    timer.daemon = True
    binding.nvrtcSetFlowCallback(program, atoi, ctypes.addressof(said))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
