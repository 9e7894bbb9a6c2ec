"""Modelled times that another process computes while a kernel cell is checked.

The model takes as long as a third of the check, and needs nothing of it but the kernel's code, which is in
the cache of compiled code once the kernel has run. The process starts when the extension is loaded, and ends
with this one or after `IDLE_S` without a cell. A cell whose time it does not return, because it has ended, or
is starting or busy, computes the same time here.
"""

from __future__ import annotations

import os
import pickle
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpulab.simt.runtime.host_threads import cores
from gpulab.worker_process import Worker, WorkerDied, WorkerFunction

if TYPE_CHECKING:
    from gpulab.config import KernelConfig
    from gpulab.devices.base import Kernel
    from gpulab.profiling.speedup import VariantTiming

__all__ = ["PendingTiming", "TimingProcess", "timing_process"]

IDLE_S = 600.0  # the process has about 100 MB of memory, and takes two seconds to start
NICENESS = 19  # the lowest priority, because a cell shows the result of its check before its time


class PendingTiming:
    """A modelled time that is being computed."""

    def __init__(self, config: KernelConfig) -> None:
        self._config = config
        self._done = threading.Event()
        self._timing: VariantTiming | None = None

    def set(self, timing: VariantTiming | None) -> None:
        """End the computation."""
        self._timing = timing
        self._done.set()

    def wait(self) -> VariantTiming | None:
        """Wait for the time and return it; None if the other process could not compute it."""
        self._done.wait()
        return self._timing and replace(self._timing, config=self._config)


class TimingProcess:
    """A process that models the times of kernels at the sizes at which their variants are timed."""

    def __init__(self) -> None:
        self._worker = Worker(_serve_timings, name="gpulab timing", idle_s=IDLE_S)
        self._calling = threading.Lock()
        self._enabled = False

    def start(self) -> None:
        """Start the process, unless it runs or this computer has only one core."""
        self._enabled = cores() > 1
        if self._enabled and not self._worker.is_running and self._calling.acquire(blocking=False):
            self._call(b"", None)

    def request(self, kernel: Kernel, config: KernelConfig) -> PendingTiming | None:
        """Begin to model the time of a kernel on the simulator.

        Returns None if the process is not ready. It starts again if it was started before.
        """
        if not self._enabled:
            return None
        if not self._worker.is_running:
            self.start()
            return None
        try:
            call = pickle.dumps((kernel.device.spec.key, kernel.program, kernel.name, config))
        except Exception:  # noqa: BLE001 - a problem that is declared in the notebook exists here only
            return None
        if not self._calling.acquire(blocking=False):
            return None
        pending = PendingTiming(config)
        self._call(call, pending)
        return pending

    def end(self) -> None:
        """End the process."""
        self._enabled = False
        self._worker.end()

    def _call(self, call: bytes, pending: PendingTiming | None) -> None:
        """Make a call in a thread, which releases the lock."""
        thread = threading.Thread(target=self._wait, args=(call, pending), name="gpulab timing", daemon=True)
        thread.start()

    def _wait(self, call: bytes, pending: PendingTiming | None) -> None:
        timing = None
        try:
            timing = self._worker.call(call)
        except (WorkerDied, RuntimeError, OSError):
            pass  # an error of the kernel is raised again by the cell, which has no time
        finally:
            self._calling.release()
            if pending is not None:
                pending.set(timing)


def _serve_timings() -> WorkerFunction:
    """Return the function that models times in the other process, and use the simulator there once."""
    from gpulab.notebook.warm_up import use_simulator

    with suppress(AttributeError, OSError):  # Windows has no `nice`
        os.nice(NICENESS)
    use_simulator()
    return _modelled


def _modelled(call: bytes) -> VariantTiming | None:
    """Return the time of a kernel; None for an empty call, which only starts the process."""
    from gpulab.devices.simulator.simulated_device import simulator
    from gpulab.profiling.speedup import time_variant

    if not call:
        return None
    key, program, name, config = _loaded(call)
    kernel = simulator(key).module_of(program).get_function(name)
    return time_variant(kernel, config)


def _loaded(call: bytes) -> Any:
    return pickle.loads(call)  # noqa: S301 - from the process of the notebook


timing_process = TimingProcess()
