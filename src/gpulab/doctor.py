"""`gpulab doctor`: what is here, whether it works, and what to do about what does not.

Nothing heavy is imported before it is asked for, and nothing here raises: what fails is an item
that says so.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from gpulab.errors import GpulabError

__all__ = ["Item", "diagnose"]

_Found = tuple[bool, str]  # ok, detail

_KERNEL = """\
__global__ void doctor(float *x) {
    x[threadIdx.x] = 1.0f;
}
"""

# LLVM's names of vector units, widest first: the simulator's warps are vectors of this many bits.
_VECTORS = (("avx512f", 512), ("avx2", 256), ("avx", 256), ("neon", 128), ("sse2", 128), ("vsx", 128))


@dataclass(frozen=True)
class Item:
    """One thing gpulab needs or can use.

    ok: it works, or its absence takes nothing away here. detail: what was found, in words.
    remedy: what to do; empty when ok.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def diagnose() -> list[Item]:
    """Every item, in the order in which gpulab needs them. Takes a second or two."""
    if sys.platform == "darwin":
        nvrtc = "NVIDIA has none for macOS: use a Linux or Windows machine, a container or Binder"
    else:
        nvrtc = "pip install nvidia-cuda-nvrtc cuda-bindings"
    checks: list[tuple[str, Callable[[], _Found], str]] = [
        ("Python", _python, "install Python 3.11 or newer"),
        ("NVRTC", _nvrtc, nvrtc),
        ("llvmlite", _llvmlite, "pip install llvmlite"),
        ("CuPy", _cupy, 'pip install "gpulab[cuda13]", or [cuda12] with a CUDA 12 driver'),
        ("Device", _device, "the simulator needs llvmlite: see above"),
        ("Jupyter", _jupyter, 'pip install "gpulab[lab]"'),
        ("nbgrader", _nbgrader, 'pip install "gpulab[lab]"; only an instructor needs it'),
    ]
    items = []
    for name, check, remedy in checks:
        ok, detail = _guarded(check)
        items.append(Item(name, ok, detail, "" if ok else remedy))
    return items


def _guarded(check: Callable[[], _Found]) -> _Found:
    try:
        return check()
    except GpulabError as error:
        return False, str(error)
    except Exception as error:  # noqa: BLE001 - a broken installation breaks in any way it likes
        told = (str(error).strip() or "no message").splitlines()[0]
        return False, f"{type(error).__name__}: {told}"


def _python() -> _Found:
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return sys.version_info >= (3, 11), detail


def _nvrtc() -> _Found:
    from gpulab.compiler import compile_program
    from gpulab.compiler.nvrtc import version as nvrtc_version

    major, minor = nvrtc_version()
    program = compile_program(_KERNEL)
    registers = program.resources_of("doctor").registers
    return True, f"{major}.{minor}; compiled a kernel ({registers} registers, sm_{program.arch})"


def _llvmlite() -> _Found:
    from llvmlite import __version__, binding

    features = binding.get_host_cpu_features()
    bits = next((bits for name, bits in _VECTORS if features.get(name)), 0)
    width = f"vectors of {bits} bits ({bits // 32} floats)" if bits else "no vector unit known here"
    return True, f"{__version__}; {binding.get_host_cpu_name()}, {width}"


def _cupy() -> _Found:
    from gpulab.devices.cuda_context import gpus, has_driver

    count, why = gpus()
    if count:
        import cupy

        return True, f"{cupy.__version__}; {count} GPU{'s' if count > 1 else ''}"
    if has_driver():
        return False, f"there is an NVIDIA driver here, but {why}"
    return True, "not needed: no NVIDIA driver on this machine"


def _device() -> _Found:
    from gpulab.devices import open_device

    device = open_device()
    major, minor = device.spec.compute_capability
    detail = f"{device.name}, compute capability {major}.{minor}"
    if not device.measures_time:
        detail += "; kernels run on this machine's processor, so their wall time says nothing about a GPU"
    return True, detail


def _jupyter() -> _Found:
    return _packages("jupyterlab", "ipywidgets", "plotly", "anywidget")


def _nbgrader() -> _Found:
    return _packages("nbgrader")


def _packages(*names: str) -> _Found:
    """Installed versions by their metadata: importing them would take seconds."""
    here, missing = [], []
    for name in names:
        try:
            here.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    return (False, f"not installed: {', '.join(missing)}") if missing else (True, ", ".join(here))
