"""CUDA C labs with or without a GPU: compile, run, check and grade kernels.

The names below are what a notebook uses. All but the errors are loaded when they are first asked
for, so that `import gpulab` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpulab.errors import (
    CompileError,
    Diagnostic,
    GpulabError,
    HeaderError,
    IncludeRefused,
    LaunchError,
    MemoryFault,
    UnsupportedInstruction,
    UsageError,
    WrongResult,
)
from gpulab.finding import Finding

if TYPE_CHECKING:
    from gpulab.devices import open_device as device
    from gpulab.evidence.counters import counters
    from gpulab.evidence.sanitize import sanitize
    from gpulab.notebook import speedup_figure, speedup_table
    from gpulab.registry import kernel

__version__ = "0.1.0"

__all__ = [
    "CompileError",
    "Diagnostic",
    "Finding",
    "GpulabError",
    "HeaderError",
    "IncludeRefused",
    "LaunchError",
    "MemoryFault",
    "UnsupportedInstruction",
    "UsageError",
    "WrongResult",
    "__version__",
    "counters",
    "device",
    "kernel",
    "load_ipython_extension",
    "sanitize",
    "speedup_figure",
    "speedup_table",
]

_LAZY = {
    "counters": ("gpulab.evidence.counters", "counters"),
    "device": ("gpulab.devices", "open_device"),
    "kernel": ("gpulab.registry", "kernel"),
    "sanitize": ("gpulab.evidence.sanitize", "sanitize"),
    "speedup_figure": ("gpulab.notebook", "speedup_figure"),
    "speedup_table": ("gpulab.notebook", "speedup_table"),
}


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'gpulab' has no attribute {name!r}") from None
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext gpulab`: registers the `%%cuda` magic."""
    from gpulab.notebook import load

    load(ipython)
