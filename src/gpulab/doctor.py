"""Diagnosis of the installation for `gpulab doctor`: the state of each component, and remedies.

Packages are imported only by the check that needs them. A check is a function that returns an item's state
or raises an exception, which is then reported as the state.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from textwrap import shorten
from typing import TYPE_CHECKING

from gpulab.errors import GpulabError
from gpulab.installation import install_command, outdated_packages, package_command

if TYPE_CHECKING:
    from gpulab.devices.base import Device

__all__ = ["Item", "diagnose"]

_Result = tuple[bool, str] | tuple[bool, str, str]  # `ok`, `detail` and, if it depends on them, `remedy`

# The test kernel doubles all numbers but the last.
_KERNEL = """\
__global__ void doctor(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) x[i] = 2.0f * x[i];
}
"""
_NUMBERS = 100  # in two blocks of two warps, the last of which is not full

_MESSAGE_WIDTH = 600  # characters of an exception that are shown; LLVM quotes whole functions

# LLVM's names of vector extensions, and their width in bits; widest first. The simulator uses the widest.
_VECTORS = (("avx512f", 512), ("avx2", 256), ("avx", 256), ("neon", 128), ("sse2", 128), ("vsx", 128))


@dataclass(frozen=True)
class Item:
    """The state of one component.

    Attributes
    ----------
    name : str
        The component.
    ok : bool
        It works, or it is not needed on this machine.
    detail : str
        Version and properties, or the reason why it does not work.
    remedy : str
        What to do; "" if `ok`.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def diagnose() -> list[Item]:
    """Return the state of every component, most basic first; takes one or two seconds."""
    from gpulab.compiler import nvrtc

    # Each has the remedy for all its failures, unless the check returns another one.
    checks: list[tuple[str, Callable[[], _Result], str]] = [
        ("Python", _python, "install Python 3.11 or newer"),
        ("Packages", _packages, ""),
        ("NVRTC", _nvrtc, nvrtc.remedy()),
        ("Headers", _headers, nvrtc.remedy()),
        ("llvmlite", _llvmlite, f"run `{package_command('llvmlite')}`"),
        ("Simulator", _simulator, "see the items above"),
        ("Driver", _driver, ""),
        ("GPUs", _gpus, ""),
        ("CuPy", _cupy, f"run `{install_command('cuda13')}`"),
        ("Counters", _counters, ""),
        ("Device", _device, "see the items above; GPULAB_DEVICE=sim selects the simulator"),
        ("Memory", _memory, "free memory, or use smaller sizes"),
        ("Jupyter", _jupyter, f"run `{install_command('lab')}`"),
        ("nbgrader", _nbgrader, f"run `{install_command('lab')}` (needed only by instructors)"),
        ("Sandbox", _sandbox, "see the message (needed only by instructors)"),
    ]
    items = []
    for name, check, remedy in checks:
        ok, detail, *own_remedy = _run_check(check)
        items.append(Item(name, ok, detail, "" if ok else "".join(own_remedy) or remedy))
    return items


def _run_check(check: Callable[[], _Result]) -> _Result:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a broken installation can raise any exception
        kind = "" if isinstance(error, GpulabError) else f"{type(error).__name__}: "
        return False, shorten(f"{kind}{str(error) or 'no message'}", _MESSAGE_WIDTH)


def _python() -> _Result:
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return sys.version_info >= (3, 11), detail


def _packages() -> _Result:
    """Return whether the installed packages have versions that gpulab accepts, from their metadata."""
    try:
        gpulab = version("gpulab")
    except PackageNotFoundError:
        return True, "not compared, because this copy of gpulab was not installed"
    outdated = outdated_packages()
    if not outdated:
        return True, f"gpulab {gpulab}; the packages that it uses are as new as it needs them"
    detail = "; ".join(f"{needed} is needed, {found} is installed" for needed, found in outdated.items())
    return False, detail, f"run `{package_command(*outdated)}`"


def _nvrtc() -> _Result:
    from gpulab.compiler import compile_program
    from gpulab.compiler.nvrtc import version as nvrtc_version

    major, minor = nvrtc_version()
    program = compile_program(_KERNEL)
    registers = program.resources_of("doctor").registers
    return True, f"{major}.{minor}; compiled a test kernel ({registers} registers, sm_{program.arch})"


def _headers() -> _Result:
    """Return which of NVIDIA's headers kernels can include; cuRAND's is an extra that few kernels need."""
    from gpulab.compiler.preprocess.headers import include_folders

    include_folders(["cooperative_groups.h", "cub/cub.cuh"])
    try:
        include_folders(["curand_kernel.h"])
    except GpulabError as error:
        return True, f"CUDA, CUB, libcu++; {error}"
    return True, "CUDA, CUB, libcu++, cuRAND"


def _llvmlite() -> _Result:
    from llvmlite import __version__, binding

    features = binding.get_host_cpu_features()
    bits = next((bits for name, bits in _VECTORS if features.get(name)), 0)
    width = f"vectors of {bits} bits ({bits // 32} floats)" if bits else "unknown vector extension"
    return True, f"{__version__}; {binding.get_host_cpu_name()}, {width}"


def _simulator() -> _Result:
    from gpulab.devices import open_device

    _launch(open_device("sim"))
    return True, "compiled and ran a test kernel, whose values are right"


def _driver() -> _Result:
    from gpulab.compiler.nvrtc import version as nvrtc_version
    from gpulab.devices.cuda.cuda_context import has_driver
    from gpulab.devices.cuda.gpu_diagnosis import diagnose_driver
    from gpulab.devices.cuda.nvml import open_nvml

    compiler = None
    with suppress(GpulabError):
        compiler = nvrtc_version()
    found = diagnose_driver(open_nvml(), has_driver(), compiler)
    return found.ok, found.detail, found.remedy


def _gpus() -> _Result:
    from gpulab.devices.cuda.cuda_context import has_driver
    from gpulab.devices.cuda.gpu_diagnosis import diagnose_gpus
    from gpulab.devices.cuda.nvml import open_nvml

    found = diagnose_gpus(open_nvml(), has_driver(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    return found.ok, found.detail, found.remedy


def _counters() -> _Result:
    from gpulab.devices.cuda.gpu_diagnosis import counters_restricted, diagnose_counters

    found = diagnose_counters(counters_restricted())
    return found.ok, found.detail


def _cupy() -> _Result:
    from gpulab.devices.cuda.cuda_context import gpus, has_driver

    count, reason = gpus()
    if count:
        import cupy

        return True, f"{cupy.__version__}; {count} GPU{'s' if count > 1 else ''}"
    if has_driver():
        return False, f"an NVIDIA driver is installed, but {reason}"
    return True, "not needed: no NVIDIA driver is installed"


def _device() -> _Result:
    from gpulab.devices import open_device
    from gpulab.devices.device_process import run_in_process

    device = open_device()
    major, minor = device.spec.compute_capability
    detail = f"{device.name}, compute capability {major}.{minor}"
    if not device.measures_time:
        detail += "; kernels run on the CPU, so their wall time says nothing about a GPU"
    if device.needs_own_process:
        run_in_process(device, _launch, device)
        detail += "; a test kernel ran in a worker process"
    return True, detail


def _launch(device: Device) -> None:
    """Compile and launch the test kernel; raise `GpulabError` if it computes wrong values."""
    import numpy as np

    numbers = np.arange(_NUMBERS, dtype=np.float32)
    x = device.asarray(numbers)
    device.compile(_KERNEL)(2, 64, (x, _NUMBERS))
    expected = np.where(numbers < _NUMBERS - 1, 2 * numbers, numbers)
    if wrong := int(np.count_nonzero(device.asnumpy(x) != expected)):
        raise GpulabError(f"a test kernel on {device.name} computed {wrong} wrong values of {_NUMBERS}.")


def _memory() -> _Result:
    from gpulab.simt.runtime.host_memory import SHARE, host_budget, host_bytes

    gib, of_gib = (f"{size / 2**30:.1f} GiB" for size in (host_budget().limit, host_bytes()))
    return True, f"{gib} for the arrays of simulated devices ({100 * SHARE:.0f} % of {of_gib})"


def _jupyter() -> _Result:
    return _installed("jupyterlab", "ipywidgets", "plotly", "anywidget")


def _nbgrader() -> _Result:
    return _installed("nbgrader")


def _sandbox() -> _Result:
    """Start a student's program in the sandbox that `gpulab grade` would use."""
    from gpulab.grading.sandbox.mechanisms import chosen_mechanism, unavailable_reason

    if reason := unavailable_reason():
        return False, reason
    return True, chosen_mechanism().about


def _installed(*names: str) -> _Result:
    """Return the installed versions from package metadata, because importing would take seconds."""
    installed, missing = [], []
    for name in names:
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    return (False, f"not installed: {', '.join(missing)}") if missing else (True, ", ".join(installed))
