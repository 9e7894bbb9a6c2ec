"""Old module names, for notebooks that were released before version 0.2.

A released notebook is in a student's folder and is not updated with the package. `install` adds an import
finder for the old modules, which contain exactly the names that those notebooks import.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["install"]

# Old module -> the module that holds its names today, and the names.
RELEASED: dict[str, tuple[str, tuple[str, ...]]] = {
    "gpulab.evidence": ("", ()),
    "gpulab.registry": ("gpulab.session", ("cell", "kernel", "kernel_names")),
    "gpulab.devices.catalogue": ("gpulab.gpus.catalogue", ("gpu",)),
    "gpulab.evidence.geometry": ("gpulab.config", ("defines",)),
    "gpulab.evidence.occupancy": ("gpulab.gpus.occupancy", ("occupancy",)),
    "gpulab.evidence.speedup": ("gpulab.released_names", ("time_variant",)),
    "gpulab.evidence.timing": ("gpulab.released_names", ("time_kernel",)),
    "gpulab.evidence.verify": ("gpulab.released_names", ("verify",)),
    "gpulab.notebook.html": ("gpulab.views.html", ("note", "stack", "table")),
}


class ReleasedNames(MetaPathFinder, Loader):
    """Finder and loader of the modules in `RELEASED`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname not in RELEASED:
            return None

        return ModuleSpec(fullname, self, is_package=not RELEASED[fullname][0])

    def exec_module(self, module: ModuleType) -> None:
        home, names = RELEASED[module.__name__]
        for name in names:
            setattr(module, name, getattr(import_module(home), name))


def time_kernel(
    kernel: Any, grid: Any, block: Any, args: Any, shared_mem: int = 0, *, device: Any, repeats: int = 5
) -> Any:
    """Call `gpulab.benchmark` as notebooks of version 0.1 do."""
    from gpulab.profiling.benchmark import benchmark

    del device
    return benchmark(kernel, grid, block, args, shared_mem, n_repeat=repeats)


def time_variant(kernel: Any, problem: Any, variant: str, block: Any, tile: Any, **options: Any) -> Any:
    """Call `time_variant` as notebooks of version 0.1 do."""
    from gpulab.config import KernelConfig
    from gpulab.profiling.speedup import time_variant as time_config

    return time_config(kernel, KernelConfig(problem, variant, block, tile), **options)


def verify(kernel: Any, problem: Any, block: Any, tile: Any, *, variant: str, **options: Any) -> Any:
    """Call `verify` as notebooks of version 0.1 do."""
    from gpulab.config import KernelConfig
    from gpulab.verification.verify import verify as verify_config

    return verify_config(kernel, KernelConfig(problem, variant, block, tile), **options)


def install() -> None:
    """Make the old module names importable; a second call changes nothing."""
    if not any(isinstance(finder, ReleasedNames) for finder in sys.meta_path):
        sys.meta_path.append(ReleasedNames())
