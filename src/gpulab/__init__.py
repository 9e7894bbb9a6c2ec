"""CUDA C labs with or without a GPU: compile, run, check and grade kernels.

Notebooks use the names in `__all__` and no submodules. All names except the errors are loaded when they are
first used, so that `import gpulab` loads neither Jupyter nor LLVM.

Examples
--------
>>> import gpulab
>>> dev = gpulab.device("sim")
>>> double_it = dev.compile("__global__ void double_it(float* x) { x[threadIdx.x] *= 2; }")
>>> x = dev.full(4, 1.5)
>>> double_it(1, 4, (x,))
>>> dev.asnumpy(x)
array([3., 3., 3., 3.], dtype=float32)

The version of the package:

>>> gpulab.__version__
'0...'
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpulab.errors import (
    CompileError,
    Diagnostic,
    GpulabError,
    HeaderError,
    IncludeRefused,
    KernelNotWritten,
    LaunchError,
    LaunchWarning,
    MemoryFault,
    ProblemError,
    UnsupportedInstruction,
    UsageError,
    WrongResult,
)
from gpulab.finding import Finding
from gpulab.released_names import install as _install_released_names

if TYPE_CHECKING:
    from gpulab import problems, timing
    from gpulab.devices.base import Device, Kernel
    from gpulab.exercises.lab_session import start_lab, student
    from gpulab.gpus.catalogue import gpu
    from gpulab.gpus.occupancy import occupancy
    from gpulab.grading.checks.commits import commit
    from gpulab.model.profile import Profile
    from gpulab.notebook.exercise_cell import exercise
    from gpulab.notebook.level import choose_level
    from gpulab.notebook.session_timings import speedup_table
    from gpulab.notebook.sliders.argument_slider import argument_slider
    from gpulab.notebook.sliders.explore import explore
    from gpulab.notebook.tables.comparison_view import beside_published
    from gpulab.notebook.tables.host_loops import loops_table
    from gpulab.notebook.tables.ladder_view import ladder_table
    from gpulab.notebook.tables.measured_table import measured_table
    from gpulab.notebook.tables.roofline_view import roofline
    from gpulab.notebook.tables.sweep_view import sweep_table
    from gpulab.notebook.tables.waves_view import waves_table
    from gpulab.opening import device, profile
    from gpulab.problems import Problem, problem, published
    from gpulab.profiling.benchmark import Benchmark, benchmark
    from gpulab.profiling.counts.counters import counters
    from gpulab.profiling.counts.metrics import Counters
    from gpulab.profiling.speedup import time_variant
    from gpulab.profiling.timeline import timeline
    from gpulab.session import cell as kernel_cell
    from gpulab.session import kernel, kernel_names
    from gpulab.verification.sanitize import sanitize
    from gpulab.verification.verify import verify
    from gpulab.views import html
    from gpulab.views.launch_view import show_counts
    from gpulab.views.tables.catalogue_view import catalogue_table
    from gpulab.views.tables.memory_view import memory_table
    from gpulab.views.tables.published_view import published_table
    from gpulab.views.tables.query_view import device_query
    from gpulab.views.tables.score_table import score_table
    from gpulab.views.tables.sections_view import sections_table
    from gpulab.views.tables.traffic_view import traffic_table
    from gpulab.views.tables.transfer_view import transfer_table
    from gpulab.views.timeline_view import show_timeline

__version__ = "0.2.0"

_install_released_names()

__all__ = [
    "Benchmark",
    "CompileError",
    "Counters",
    "Device",
    "Diagnostic",
    "Finding",
    "GpulabError",
    "HeaderError",
    "IncludeRefused",
    "Kernel",
    "KernelNotWritten",
    "LaunchError",
    "LaunchWarning",
    "MemoryFault",
    "Problem",
    "ProblemError",
    "Profile",
    "UnsupportedInstruction",
    "UsageError",
    "WrongResult",
    "__version__",
    "argument_slider",
    "benchmark",
    "beside_published",
    "catalogue_table",
    "choose_level",
    "commit",
    "counters",
    "device",
    "device_query",
    "exercise",
    "explore",
    "gpu",
    "html",
    "kernel",
    "kernel_cell",
    "kernel_names",
    "ladder_table",
    "load_ipython_extension",
    "loops_table",
    "measured_table",
    "memory_table",
    "occupancy",
    "problem",
    "problems",
    "profile",
    "published",
    "published_table",
    "roofline",
    "sanitize",
    "score_table",
    "sections_table",
    "show_counts",
    "show_timeline",
    "speedup_table",
    "start_lab",
    "student",
    "sweep_table",
    "time_variant",
    "timeline",
    "timing",
    "traffic_table",
    "transfer_table",
    "verify",
    "waves_table",
]

# Public name -> the module that defines it, and its name there; an empty name stands for the module itself.
_LAZY = {
    "Benchmark": ("gpulab.profiling.benchmark", "Benchmark"),
    "Counters": ("gpulab.profiling.counts.metrics", "Counters"),
    "Device": ("gpulab.devices.base", "Device"),
    "Kernel": ("gpulab.devices.base", "Kernel"),
    "Problem": ("gpulab.problems", "Problem"),
    "Profile": ("gpulab.model.profile", "Profile"),
    "argument_slider": ("gpulab.notebook.sliders.argument_slider", "argument_slider"),
    "benchmark": ("gpulab.profiling.benchmark", "benchmark"),
    "beside_published": ("gpulab.notebook.tables.comparison_view", "beside_published"),
    "catalogue_table": ("gpulab.views.tables.catalogue_view", "catalogue_table"),
    "choose_level": ("gpulab.notebook.level", "choose_level"),
    "commit": ("gpulab.grading.checks.commits", "commit"),
    "counters": ("gpulab.profiling.counts.counters", "counters"),
    "device": ("gpulab.opening", "device"),
    "device_query": ("gpulab.views.tables.query_view", "device_query"),
    "exercise": ("gpulab.notebook.exercise_cell", "exercise"),
    "explore": ("gpulab.notebook.sliders.explore", "explore"),
    "gpu": ("gpulab.gpus.catalogue", "gpu"),
    "html": ("gpulab.views.html", ""),
    "kernel": ("gpulab.session", "kernel"),
    "kernel_cell": ("gpulab.session", "cell"),
    "kernel_names": ("gpulab.session", "kernel_names"),
    "ladder_table": ("gpulab.notebook.tables.ladder_view", "ladder_table"),
    "loops_table": ("gpulab.notebook.tables.host_loops", "loops_table"),
    "measured_table": ("gpulab.notebook.tables.measured_table", "measured_table"),
    "memory_table": ("gpulab.views.tables.memory_view", "memory_table"),
    "occupancy": ("gpulab.gpus.occupancy", "occupancy"),
    "problem": ("gpulab.problems", "problem"),
    "problems": ("gpulab.problems", ""),
    "profile": ("gpulab.opening", "profile"),
    "published": ("gpulab.problems.published", ""),
    "published_table": ("gpulab.views.tables.published_view", "published_table"),
    "roofline": ("gpulab.notebook.tables.roofline_view", "roofline"),
    "sanitize": ("gpulab.verification.sanitize", "sanitize"),
    "score_table": ("gpulab.views.tables.score_table", "score_table"),
    "sections_table": ("gpulab.views.tables.sections_view", "sections_table"),
    "show_counts": ("gpulab.views.launch_view", "show_counts"),
    "show_timeline": ("gpulab.views.timeline_view", "show_timeline"),
    "speedup_table": ("gpulab.notebook.session_timings", "speedup_table"),
    "start_lab": ("gpulab.exercises.lab_session", "start_lab"),
    "student": ("gpulab.exercises.lab_session", "student"),
    "sweep_table": ("gpulab.notebook.tables.sweep_view", "sweep_table"),
    "time_variant": ("gpulab.profiling.speedup", "time_variant"),
    "timeline": ("gpulab.profiling.timeline", "timeline"),
    "timing": ("gpulab.timing", ""),
    "traffic_table": ("gpulab.views.tables.traffic_view", "traffic_table"),
    "transfer_table": ("gpulab.views.tables.transfer_view", "transfer_table"),
    "verify": ("gpulab.verification.verify", "verify"),
    "waves_table": ("gpulab.notebook.tables.waves_view", "waves_table"),
}


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'gpulab' has no attribute {name!r}") from None

    if "IPython" in sys.modules:  # a notebook may use gpulab before `%load_ext gpulab`
        from gpulab.notebook.failure import install_if_missing

        install_if_missing()
    home = import_module(module)
    value = getattr(home, attribute) if attribute else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """Register the `%%cuda` magic; IPython calls this for `%load_ext gpulab`.

    Parameters
    ----------
    ipython : IPython.core.interactiveshell.InteractiveShell
        The shell in which the magic is registered.

    Examples
    --------
    The cell magic of a shell without a notebook:

    >>> import gpulab
    >>> from IPython.core.interactiveshell import InteractiveShell
    >>> shell = InteractiveShell()
    >>> gpulab.load_ipython_extension(shell)
    >>> shell.find_cell_magic("cuda").__name__
    'cuda'
    """
    from gpulab.notebook import load

    load(ipython)
