"""Calls of NVRTC, NVIDIA's run-time compiler, which is installed as a wheel.

The library and its bindings are loaded by the first compilation, so that `import gpulab` stays fast. No
driver and no GPU is needed. NVRTC serialises concurrent compilations; each call here has its own program
object, so that threads need no lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulab.errors import GpulabError, UsageError
from gpulab.installation import package_command

__all__ = [
    "FILE_NAME",
    "NAMES_FILE",
    "NvrtcOutput",
    "check_arch",
    "compile_text",
    "install_headers",
    "remedy",
    "version",
    "wheel_folders",
]

# An absolute name, so that NVRTC does not prepend the working directory in `.file` and in the cubin. It has a
# folder, because NVRTC 13.5 reads past the end of a text if the folder is the root ("/cell.cu"): it then
# repeats the working directory up to megabytes and in some compilations ends the process.
FILE_NAME = "/gpulab/cell.cu"
NAMES_FILE = "__nv_name_map"  # the file in which NVRTC reads name expressions, one `#pragma` for each

# Time limit of one compilation, in seconds; a kernel takes well under one. NVRTC checks it between its passes
# only, so that a compilation may take longer.
TIME_LIMIT_S = 120.0

# NVRTC's library in NVIDIA's wheel; not the `builtins` beside it.
_LIBRARY = "bin/**/nvrtc64_[0-9]*.dll" if sys.platform == "win32" else "lib/libnvrtc.so.[0-9]*"


@dataclass(frozen=True)
class NvrtcOutput:
    """The output of one run of NVRTC; all but the log is empty unless `ok`.

    lowered: the PTX symbols of the name expressions.
    """

    ok: bool
    log: str
    ptx: str
    cubin: bytes
    lowered: Mapping[str, str] = field(default_factory=dict)


def remedy() -> str:
    """Return what to do where NVRTC does not work."""
    if sys.platform == "darwin":
        return "use a machine or a container with Linux, since NVIDIA does not provide NVRTC for macOS"
    return f"run `{package_command('nvidia-cuda-nvrtc', 'cuda-bindings')}` and restart Python"


@functools.cache
def _binding() -> Any:
    if sys.platform == "darwin":
        raise GpulabError(f"CUDA C cannot be compiled on macOS; {remedy()}.")
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise GpulabError(f"the compiler NVRTC cannot be imported ({error}); {remedy()}.") from error
    try:
        _load(nvrtc)
    except Exception as error:  # the bindings raise various exceptions if the library does not load
        raise GpulabError(
            f"the compiler NVRTC cannot be loaded ({type(error).__name__}: {error}); {remedy()}."
        ) from error
    return nvrtc


def _load(binding: Any) -> None:
    """Load NVRTC's library, from the folder of the wheel if the bindings do not find it.

    They search site-packages, not the folders of PYTHONPATH, where `pip install --target` puts wheels.
    """
    try:
        binding.nvrtcVersion()
    except Exception:
        libraries = [file for folder in wheel_folders() for file in sorted(folder.glob(_LIBRARY))]
        if not libraries:
            raise
        ctypes.CDLL(str(libraries[-1]))  # the bindings take a library that is loaded already
        binding.nvrtcVersion()


def wheel_folders() -> list[Path]:
    """Return the folders into which NVIDIA's wheels of CUDA are installed."""
    spec = importlib.util.find_spec("nvidia")
    places = (spec.submodule_search_locations if spec else None) or ()
    return [folder for place in places for folder in sorted(Path(place).glob("cu1*"))]


def _call(name: str, *arguments: Any) -> Any:
    status, *values = getattr(_binding(), name)(*arguments)
    if int(status):
        raise GpulabError(f"NVRTC failed ({name}: {status.name}); {remedy()}.")
    return values[0] if len(values) == 1 else values


@functools.cache
def version() -> tuple[int, int]:
    """Return NVRTC's version, such as (13, 5)."""
    major, minor = _call("nvrtcVersion")
    return int(major), int(minor)


@functools.cache
def _architectures() -> tuple[int, ...]:
    return tuple(_call("nvrtcGetSupportedArchs"))


def check_arch(arch: int) -> int:
    """Return `arch`; raise `UsageError` if NVRTC does not compile for it."""
    if arch not in _architectures():
        supported = ", ".join(f"sm_{number}" for number in _architectures())
        release = ".".join(map(str, version()))
        raise UsageError(f"NVRTC {release} does not compile for sm_{arch}; it supports {supported}.")
    return arch


def install_headers(folder: str) -> bool:
    """Write the CUDA headers of NVRTC's library to `folder`; return False if it contains none."""
    binding = _binding()
    if not hasattr(binding, "nvrtcInstallBundledHeaders") or version() < (13, 3):
        return False
    status = binding.nvrtcInstallBundledHeaders(folder.encode(), 0)[0]
    if int(status):
        raise OSError(f"NVRTC could not write its headers ({status.name})")
    return True


def compile_text(
    text: str, options: Sequence[str], headers: Mapping[str, str], expressions: Sequence[str] = ()
) -> NvrtcOutput:
    """Compile a text that the include guard has checked.

    headers: the texts of headers, by the name in `#include <…>`. expressions: names of kernels, among them
    instances of templates, which NVRTC then compiles.

    Raises `UsageError` if NVRTC does not accept an option or exceeds the time limit, and `GpulabError` if it
    fails for another reason than the text.
    """
    binding = _binding()
    names = [name.encode() for name in headers]
    texts = [text.encode() for text in headers.values()]
    program = _call("nvrtcCreateProgram", text.encode(), FILE_NAME.encode(), len(names), texts, names)
    results = binding.nvrtcResult

    try:
        flags = [option.encode() for option in options]
        for expression in expressions:
            _call("nvrtcAddNameExpression", program, expression.encode())
        with _time_limit(binding, program):
            status = binding.nvrtcCompileProgram(program, len(flags), flags)[0]
        log = _text(program, "ProgramLog")
        if status == results.NVRTC_SUCCESS:
            size = _call("nvrtcGetCUBINSize", program)
            cubin = bytearray(size)
            if size:
                _call("nvrtcGetCUBIN", program, cubin)
            lowered = {name: _lowered_name(program, name) for name in expressions}
            return NvrtcOutput(True, log, _text(program, "PTX"), bytes(cubin), lowered)
        if status == results.NVRTC_ERROR_COMPILATION:
            return NvrtcOutput(False, log, "", b"")
        if status == results.NVRTC_ERROR_INVALID_OPTION:
            raise UsageError(f"NVRTC does not accept these options: {log.strip()}")
        if status.name == "NVRTC_ERROR_CANCELLED":
            raise UsageError(
                f"compilation did not finish within {TIME_LIMIT_S:.0f} seconds and was stopped; "
                "simplify the source (fewer unrolled loops, templates and macros)."
            )
        raise GpulabError(f"NVRTC failed ({status.name}); {remedy()}.")
    finally:
        binding.nvrtcDestroyProgram(program)


def _lowered_name(program: Any, expression: str) -> str:
    """Return the PTX symbol of a name expression."""
    symbol = _call("nvrtcGetLoweredName", program, expression.encode())
    return symbol.decode() if isinstance(symbol, bytes) else str(symbol)


def _text(program: Any, kind: str) -> str:
    size = _call(f"nvrtcGet{kind}Size", program)
    # Not `b" " * size`: for size 1 that is an object shared by the whole interpreter, and NVRTC writes to it.
    buffer = bytearray(size)
    if size:
        _call(f"nvrtcGet{kind}", program, buffer)
    # NVRTC separates the logs of its stages by NUL.
    return buffer.rstrip(b"\0").replace(b"\0", b"\n").decode(errors="replace")


@contextlib.contextmanager
def _time_limit(binding: Any, program: Any) -> Iterator[None]:
    """Cancel a compilation within this block after `TIME_LIMIT_S`.

    NVRTC calls its flow callback about 700 times per compilation. A Python function would wait for the
    interpreter lock each time. The callback is therefore the C library's `atoi`, and its argument is a string
    that a timer changes from "0" (continue) to "1" (cancel).
    """
    if not hasattr(binding, "nvrtcSetFlowCallback"):  # before CUDA 12.8
        yield
        return

    cancel = ctypes.create_string_buffer(b"0")
    library = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    atoi = ctypes.cast(library.atoi, ctypes.c_void_p).value
    timer = threading.Timer(TIME_LIMIT_S, ctypes.memmove, (cancel, b"1", 1))
    timer.daemon = True
    binding.nvrtcSetFlowCallback(program, atoi, ctypes.addressof(cancel))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
