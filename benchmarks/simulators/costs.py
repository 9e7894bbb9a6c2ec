"""Start-up costs of gpulab: its import without NumPy's, and a lab kernel from source to running code.

Both occur once in a process, so they are measured in new interpreters.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.simulators.compare import Samples

__all__ = ["CompileCost", "compile_cost", "import_cost", "lab_kernels"]

ROOT = Path(__file__).parents[2]

_IMPORT = """
from time import perf_counter
import numpy
start = perf_counter()
import gpulab
print(perf_counter() - start)
"""

# The first launch, on the smallest shape on which a kernel is verified, includes code generation. The time of
# a second launch is subtracted.
_COMPILE = """
import sys
from time import perf_counter
import numpy as np
from gpulab.cell import KernelCell, read_cells
from gpulab.devices import open_device

path, index = sys.argv[1], int(sys.argv[2])
cell = [c for c in read_cells(path) if isinstance(c, KernelCell)][index]
config = cell.config
shape = min(config.check_shapes, key=np.prod)
case = config.problem.make_case(shape, np.random.default_rng(0))
launch = config.at(shape)
device = open_device("sim")
arguments = [a.value if a.role == "scalar" else device.asarray(a.value) for a in case.arguments]
import llvmlite.binding

start = perf_counter()
kernel = device.compile(cell.source, config.kernel_name, defines=config.defines)
kernel(launch.grid, launch.block, arguments)
first = perf_counter() - start
start = perf_counter()
kernel(launch.grid, launch.block, arguments)
print(first - (perf_counter() - start))
"""


@dataclass(frozen=True)
class CompileCost:
    """Seconds from a lab kernel's source to running code, each time in a new process.

    Attributes
    ----------
    cold : Samples
        With an empty disk cache: NVRTC is loaded and called, and LLVM is called.
    warm : Samples
        With the disk cache that the cold run left.
    """

    kernel: str
    cold: Samples
    warm: Samples


def _fresh(code: str, *arguments: str, cache: str = "off") -> str:
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GPULAB_CACHE": cache},
    )
    if run.returncode:
        raise RuntimeError((run.stderr.strip().splitlines() or ["the process ended without a message"])[-1])
    return run.stdout


def import_cost(repeats: int) -> Samples:
    """Return the seconds of `import gpulab` in a process that has imported NumPy."""
    _fresh(_IMPORT)  # compiles the byte code
    return Samples(tuple(float(_fresh(_IMPORT)) for _ in range(repeats)))


def lab_kernels() -> list[tuple[str, Path, int]]:
    """Return name, notebook and position of the problem kernels in the labs' source notebooks."""
    from gpulab.cell import KernelCell, read_cells

    return [
        (cell.name, path, index)
        for path in sorted(ROOT.glob("labs/*/*.ipynb"))
        for index, cell in enumerate(c for c in read_cells(path) if isinstance(c, KernelCell))
    ]


def compile_cost(name: str, notebook: Path, index: int, repeats: int) -> CompileCost:
    """Time one lab kernel `repeats` times, each in a new process."""
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            for seconds in (cold, warm):
                seconds.append(float(_fresh(_COMPILE, str(notebook), str(index), cache=cache)))
    return CompileCost(name, Samples(tuple(cold)), Samples(tuple(warm)))
