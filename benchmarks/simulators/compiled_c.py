"""C functions, compiled by gcc, as an engine: the time of the same work without a simulated GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.simulators.engines import Engine
from benchmarks.simulators.workloads import Workload, WorkloadLaunch

__all__ = ["CompiledC"]


class CompiledC(Engine):
    """A C function on one thread. Its time is divided by the number of cores that gpulab runs on."""

    name = "C, time / cores"

    def __init__(self) -> None:
        from gpulab.simt.runtime.host_threads import cores

        self._cores = cores()
        compiler = shutil.which("gcc")
        if compiler is None:
            self.unavailable = "no gcc"
            return
        self._compiler = compiler
        run = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True)
        version = run.stdout.strip()
        self.version = f"gcc {version} -O3; the time of one thread, divided by the {self._cores} cores"

    def has(self, workload: Workload) -> bool:
        return workload.file(".c").exists()

    def prepare(self, workload: Workload) -> WorkloadLaunch:
        launch = workload.launch
        with tempfile.TemporaryDirectory(prefix="gpulab-c-") as folder:
            library = Path(folder) / "workload.so"
            source = str(workload.file(".c"))
            subprocess.run(
                [self._compiler, "-O3", "-shared", "-fPIC", "-o", str(library), source], check=True
            )
            self._function = getattr(ctypes.CDLL(str(library)), workload.kernel)
        # The arrays are stored, because a pointer does not keep them alive.
        self._arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.arguments]
        self._arguments = [
            ctypes.c_void_p(a.ctypes.data)
            if isinstance(a, np.ndarray)
            else np.ctypeslib.as_ctypes_type(a.dtype)(a)
            for a in self._arrays
        ]
        self.run()
        launch.check(self._arrays[launch.output], self.name)
        return launch

    def run(self) -> float:
        start = perf_counter()
        self._function(*self._arguments)
        return (perf_counter() - start) / self._cores
