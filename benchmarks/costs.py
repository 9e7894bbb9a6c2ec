"""What gpulab itself costs: its import beyond NumPy's, and a lab kernel from text to running code.

Everything is measured in fresh interpreters, because both are paid once in a process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compare import Samples

__all__ = ["CompileCost", "compile_cost", "import_cost", "lab_kernels"]

ROOT = Path(__file__).parent.parent

_IMPORT = """
from time import perf_counter
import numpy
start = perf_counter()
import gpulab
print(perf_counter() - start)
"""

# The first launch is on the smallest shape a kernel is checked on; a second one is taken off, so that
# what is left is the making of the code. NVRTC is timed first and so pays for loading its library.
_COMPILE = """
import json, sys
from time import perf_counter
import numpy as np
from gpulab.cell import read_cells
from gpulab.compiler import compile_program
from gpulab.devices import open_device
from gpulab.evidence.geometry import defines, launch_geometry
from gpulab.problems import problem

path, index = sys.argv[1], int(sys.argv[2])
cell = [c for c in read_cells(path) if c.header.problem][index]
task = problem(cell.header.problem)
how = cell.header.block, cell.header.tile
shape = min(task.check_shapes(cell.header.variant, *how), key=np.prod)
case = task.make_case(shape, np.random.default_rng(0))
launch = launch_geometry(task, shape, *how)
macros = defines(launch.block, launch.tile)
device = open_device("sim")

start = perf_counter()
compile_program(cell.source, defines=macros)
nvrtc = perf_counter() - start

start = perf_counter()
kernel = device.compile(cell.source, task.kernel_name(cell.header.variant), defines=macros)
arguments = [a.value if a.role == "scalar" else device.asarray(a.value) for a in case.arguments]
kernel(launch.grid, launch.block, arguments)
first = perf_counter() - start
start = perf_counter()
kernel(launch.grid, launch.block, arguments)
second = perf_counter() - start
print(json.dumps({"nvrtc": nvrtc, "whole": first - second}))
"""


@dataclass(frozen=True)
class CompileCost:
    """Seconds from a lab kernel's text to code that runs, in a process that never compiled before.

    nvrtc: CUDA C to PTX and cubin, with the load of NVRTC's library. whole: `Device.compile` and what the
    first launch adds, NVRTC included but its library already loaded.
    """

    kernel: str
    nvrtc: Samples
    whole: Samples


def _fresh(code: str, *arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RuntimeError((run.stderr.strip().splitlines() or ["no message"])[-1])
    return run.stdout


def import_cost(repeats: int) -> Samples:
    """Seconds of `import gpulab` in a process that has imported NumPy."""
    _fresh(_IMPORT)  # writes the byte code
    return Samples(tuple(float(_fresh(_IMPORT)) for _ in range(repeats)))


def lab_kernels() -> list[tuple[str, Path, int]]:
    """The problem kernels of the labs' source notebooks: name, notebook, place among its kernels."""
    from gpulab.cell import read_cells

    return [
        (cell.header.name, path, index)
        for path in sorted(ROOT.glob("labs/*/*.ipynb"))
        for index, cell in enumerate(c for c in read_cells(path) if c.header.problem)
    ]


def compile_cost(name: str, notebook: Path, index: int, repeats: int) -> CompileCost:
    """Time one lab kernel `repeats` times, each in a process of its own."""
    runs = [json.loads(_fresh(_COMPILE, str(notebook), str(index))) for _ in range(repeats)]
    return CompileCost(
        name, Samples(tuple(r["nvrtc"] for r in runs)), Samples(tuple(r["whole"] for r in runs))
    )
