"""Who runs it: gpulab's simulator and Numba's behind one small interface (PoCL is in pocl.py).

An engine is prepared once for a workload (compiled, uploaded, checked against NumPy) and then gives
the wall time of one launch each time it is asked, so that rounds can be interleaved.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.workloads import Launch, Workload

__all__ = ["Engine", "NumbaSimulator", "Simulator"]


class Engine(ABC):
    """One way to execute a kernel on the host's cores."""

    name: str
    version = ""
    small = False  # True for an interpreter, which gets the small size; rates are compared

    def has(self, workload: Workload) -> bool:  # noqa: ARG002
        """Whether this engine has a kernel for the workload."""
        return True

    @abstractmethod
    def prepare(self, workload: Workload) -> Launch:
        """Compile, upload, run once and compare with NumPy; returns the launch that will be timed."""

    @abstractmethod
    def run(self) -> float:
        """Seconds for one launch, from the call until its values are there."""

    def close(self) -> None:  # noqa: B027
        """Give back what the engine holds."""


class Simulator(Engine):
    """gpulab's simulator, values only: the tier in which the labs' kernels run."""

    name = "gpulab"

    def __init__(self) -> None:
        from gpulab.devices import open_device

        self._device = open_device("sim")

    def prepare(self, workload: Workload) -> Launch:
        launch = workload.launch
        self._kernel = self._device.compile(workload.file(".cu").read_text(encoding="utf-8"))
        self._arguments = [
            self._device.asarray(a) if isinstance(a, np.ndarray) else a for a in launch.arguments
        ]
        self._launch = launch
        self.run()
        launch.check(self._device.asnumpy(self._arguments[launch.output]), self.name)
        return launch

    def run(self) -> float:
        start = perf_counter()
        self._kernel(self._launch.grid, self._launch.block, self._arguments)
        return perf_counter() - start


class NumbaSimulator(Engine):
    """Numba's CUDA simulator, at a small size: it interprets. It is switched on by an environment variable
    that must be there when Numba is imported, so it has its own process and answers over a pipe.
    """

    name = "Numba's simulator"
    small = True

    def __init__(self) -> None:
        from importlib.metadata import version

        self.version = f"Numba {version('numba')}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.numba_side"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        )

    def _ask(self, question: dict[str, Any]) -> float:
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        print(json.dumps(question), file=to, flush=True)
        answer = back.readline()
        if not answer:
            raise RuntimeError("Numba's process ended; its message is above")
        return float(json.loads(answer))

    def prepare(self, workload: Workload) -> Launch:
        self._ask({"prepare": workload.kernel})
        return workload.small_launch

    def run(self) -> float:
        return self._ask({"run": True})

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
