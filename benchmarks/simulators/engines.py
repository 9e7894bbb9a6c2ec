"""Engines that execute a workload: gpulab's simulator, and Numba's (pocl.py and compiled_c.py have others).

An engine is prepared once for a workload: it compiles, uploads, and checks the result against NumPy. Then
every call of `run` returns the wall time of one launch, so that rounds can be interleaved.
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

from benchmarks.simulators.workloads import Workload, WorkloadLaunch

__all__ = ["Engine", "NumbaSimulator", "Simulator"]

WARM_UP_S = 0.5  # seconds of launches after which the simulator runs optimised code


class Engine(ABC):
    """A program that executes a kernel on the host's cores."""

    name: str
    version = ""
    unavailable = ""  # why it cannot run on this machine
    small = False  # an interpreter runs the small size; only rates are compared

    def has(self, workload: Workload) -> bool:  # noqa: ARG002
        """Return True if this engine has a kernel for the workload."""
        return True

    @abstractmethod
    def prepare(self, workload: Workload) -> WorkloadLaunch:
        """Compile, upload, run once and compare with NumPy. Return the launch that will be timed."""

    @abstractmethod
    def run(self) -> float:
        """Return the seconds of one launch, until its results are available."""

    def close(self) -> None:  # noqa: B027
        """Release the resources of the engine."""


class Simulator(Engine):
    """gpulab's simulator without instrumentation, as it runs the labs' kernels."""

    name = "gpulab"

    def __init__(self) -> None:
        from gpulab.devices import open_device

        self._device = open_device("sim")

    def prepare(self, workload: Workload) -> WorkloadLaunch:
        launch = workload.launch
        self._kernel = self._device.compile(workload.file(".cu").read_text(encoding="utf-8"))
        self._arguments = [
            self._device.asarray(a) if isinstance(a, np.ndarray) else a for a in launch.arguments
        ]
        self._launch = launch
        self.run()
        launch.check(self._device.asnumpy(self._arguments[launch.output]), self.name)
        start = perf_counter()
        while perf_counter() - start < WARM_UP_S:
            self.run()
        return launch

    def run(self) -> float:
        start = perf_counter()
        self._kernel(self._launch.grid, self._launch.block, self._arguments)
        return perf_counter() - start


class NumbaSimulator(Engine):
    """Numba's CUDA simulator, which interprets, at a small size.

    An environment variable switches it on when Numba is imported, so it runs in a separate process
    (`numba_side`) that communicates over a pipe.
    """

    name = "Numba's simulator"
    small = True

    def __init__(self) -> None:
        from importlib.metadata import version

        self.version = f"Numba {version('numba')}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.simulators.numba_side"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        )

    def _request(self, request: dict[str, Any]) -> float:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        print(json.dumps(request), file=requests, flush=True)
        answer = answers.readline()
        if not answer:
            raise RuntimeError("Numba's process ended; its error message is above.")
        return float(json.loads(answer))

    def prepare(self, workload: Workload) -> WorkloadLaunch:
        self._request({"prepare": workload.kernel})
        return workload.small_launch

    def run(self) -> float:
        return self._request({"run": True})

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
