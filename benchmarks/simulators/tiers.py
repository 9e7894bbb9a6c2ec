"""Cost of counting and sanitizing: the simulator's instrumented tiers against its values tier and Oclgrind.

Oclgrind is an OpenCL simulator that detects data races (Price and McIntosh-Smith, "Oclgrind: An Extensible
OpenCL Device Simulator", IWOCL 2015). Its launch of the same size takes half a minute, so it runs in the
first rounds only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.simulators.compare import Samples
from benchmarks.simulators.costs import ROOT
from benchmarks.simulators.engines import WARM_UP_S
from benchmarks.simulators.workloads import WORKLOADS, Workload, WorkloadLaunch

__all__ = ["MINIMUM_RATIOS", "SIZES", "WITH_OCLGRIND", "Tiers", "measure_tiers"]

TIERS = ("values", "values, one core", "counted", "sanitized")
SIZES = {"sgemm_tiled": 256, "sgemm_k1": 256, "stencil_naive": 128}
WITH_OCLGRIND = "sgemm_tiled"
WITH_PEER = "sanitized / Oclgrind"
OCLGRIND_ROUNDS = 3
# Required minimum of each ratio of rates.
MINIMUM_RATIOS = {"counted / values": 0.3, "sanitized / values": 0.2, WITH_PEER: 100.0}
RATIOS = (*MINIMUM_RATIOS, "sanitized / values, one core")


@dataclass(frozen=True)
class Tiers:
    """Seconds of a launch by tier (and of Oclgrind), and ratios of rates, taken within a round."""

    workload: Workload
    work: int
    seconds: dict[str, Samples]
    ratios: dict[str, Samples]

    def rate(self, tier: str) -> float:
        """Return the points or FMAs per second of a tier."""
        return self.work / self.seconds[tier].median


class _Simulator:
    """A kernel that is uploaded once and can be launched in any tier."""

    def __init__(self, workload: Workload) -> None:
        from gpulab.compiler.sass.decoding import machine_code
        from gpulab.compiler.sass.memory_forms import shared_forms
        from gpulab.devices import open_device
        from gpulab.devices.simulator.simulated_device import SimulatedDevice

        device = open_device("sim")
        assert isinstance(device, SimulatedDevice)
        self.launch: WorkloadLaunch = workload.launch
        self.device = device
        self.kernel = device.compile(workload.file(".cu").read_text(encoding="utf-8"))
        self.arguments = [
            device.asarray(a) if isinstance(a, np.ndarray) else a for a in self.launch.arguments
        ]
        program = self.kernel.program
        code = machine_code(program, self.kernel.name) if program.cubin is not None else None
        forms = shared_forms(code, program.ptx) if code is not None else {}
        # The forms of shared memory accesses that `gpulab.counters` gives to the counters tier.
        self.forms = tuple(
            (row, of_row[0].width, of_row[0].shift) if of_row else (row, 0, 0)
            for row, of_row in forms.items()
            if len(of_row) < 2
        )
        for tier in TIERS:
            self.run(tier)  # generates the code
            result = device.asnumpy(self.arguments[self.launch.output])
            self.launch.check(result, f"gpulab, {tier}")
            start = perf_counter()
            while perf_counter() - start < WARM_UP_S:
                self.run(tier)

    def run(self, tier: str) -> float:
        """Return the seconds of a launch, until its values and the tier's results are available."""
        from gpulab.simt.instrument.counters.counter_recorder import CounterRecorder
        from gpulab.simt.instrument.racecheck.racecheck_recorder import RacecheckRecorder
        from gpulab.simt.instrument.recorder import Recorder

        start = perf_counter()
        recorder: Recorder | None = None
        if tier == "values, one core":
            recorder = Recorder()
            recorder.cores = 1
        elif tier == "counted":
            recorder = CounterRecorder(self.forms)
        elif tier == "sanitized":
            recorder = RacecheckRecorder(self.device.memory, prod(self.launch.grid))
        self.kernel.record(recorder, self.launch.grid, self.launch.block, self.arguments)
        if isinstance(recorder, CounterRecorder):
            recorder.sites()
            recorder.touched_sectors()
        elif isinstance(recorder, RacecheckRecorder):
            findings = recorder.hazards()
            recorder.finish()
            assert not findings, "the kernels are correct"
        return perf_counter() - start

    def typical(self, tier: str) -> float:
        """Return the median of a few launches, because launches of a few milliseconds scatter."""
        seconds: list[float] = []
        while len(seconds) < 3 or (sum(seconds) < 0.1 and len(seconds) < 20):
            seconds.append(self.run(tier))
        return median(seconds)


class Oclgrind:
    """Oclgrind with `--data-races` on one workload, in a separate process (`oclgrind_side`)."""

    def __init__(self, workload: Workload) -> None:
        program = shutil.which("oclgrind")
        if program is None:
            raise RuntimeError("Oclgrind is not installed (Debian: apt install oclgrind)")
        self._process = subprocess.Popen(
            [program, "--data-races", sys.executable, "-m", "benchmarks.simulators.oclgrind_side"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            self.version: str = self._answer()["version"]
            self._request({"prepare": workload.kernel, "size": workload.size})
        except BaseException:
            self.close()
            raise

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "its process ended"}
        if "error" in answer:
            raise RuntimeError(f"Oclgrind does not run here: {answer['error']}")
        return answer

    def run(self) -> float:
        return float(self._request({"run": True})["seconds"])

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def open_oclgrind(workload: Workload) -> tuple[Oclgrind | None, str]:
    """Return Oclgrind, or None if it is not installed, and a remark about it."""
    try:
        peer = Oclgrind(workload)
    except (OSError, RuntimeError) as error:
        return None, str(error)
    return peer, f"Oclgrind --data-races: {peer.version}, launched in at most {OCLGRIND_ROUNDS} rounds"


def measure_tiers(
    rounds: int, *, peers: bool = True, step: Callable[[], None] = lambda: None
) -> tuple[list[Tiers], str]:
    """Measure every workload of `SIZES` in interleaved rounds. Return the costs and a remark about Oclgrind.

    Without `peers`, Oclgrind is left out. `step` is called after every round of a workload, for a progress
    bar.
    """
    tiers, remark = [], "Oclgrind: left out"
    for work in sorted(
        (w for w in WORKLOADS if w.kernel in SIZES), key=lambda w: list(SIZES).index(w.kernel)
    ):
        workload = replace(work, size=SIZES[work.kernel])
        simulator = _Simulator(workload)
        samples: dict[str, list[float]] = {tier: [] for tier in TIERS}
        peer = None
        if peers and work.kernel == WITH_OCLGRIND:
            peer, remark = open_oclgrind(workload)
        try:
            for number in range(rounds):
                for tier in TIERS:
                    samples[tier].append(simulator.typical(tier))
                if peer is not None and number < OCLGRIND_ROUNDS:
                    samples.setdefault("Oclgrind", []).append(peer.run())
                step()
        finally:
            if peer is not None:
                peer.close()
        seconds = {name: Samples(tuple(values)) for name, values in samples.items()}
        tiers.append(Tiers(workload, simulator.launch.work, seconds, _ratios(samples)))
    return tiers, remark


def _ratios(samples: dict[str, list[float]]) -> dict[str, Samples]:
    """Return the ratios of rates: seconds of the second tier over seconds of the first, by round."""
    ratios = {}
    for ratio in RATIOS:
        first, second = ratio.split(" / ")
        pairs = zip(samples[first], samples.get(second, ()), strict=False)
        values = tuple(b / a for a, b in pairs)
        if values:
            ratios[ratio] = Samples(values)
    return ratios
