"""Calls in the worker process of a device, with stand-ins whose kernels are Python functions."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.compiler.program import Program
from gpulab.devices.base import Device
from gpulab.devices.device_process import end_processes, run_in_process
from gpulab.errors import CompileError, KernelNotWritten, LaunchError, MemoryFault, UnsupportedInstruction
from gpulab.finding import Finding
from gpulab.profiling.benchmark import benchmark
from gpulab.worker_process import in_worker
from tests.python_device import PythonDevice, PythonKernel

ROOT = Path(__file__).parents[2]
LONG_S = 60.0  # for a worker process to start on a busy machine


class LosableDevice(PythonDevice):
    """A device that a fault makes unusable in the process of the fault."""

    kind = "losable"
    needs_own_process = True
    measures_time = True
    lost = False

    def __reduce__(self) -> Any:
        return opened, ()

    @property
    def usable(self) -> bool:
        return not self.lost


@cache
def opened() -> LosableDevice:
    return LosableDevice()


class FaultingKernel(PythonKernel):
    """A kernel that faults, in any process."""

    def __init__(self, device: LosableDevice) -> None:
        super().__init__("k", fault, Program("", "", 90))
        self.device = device

    def __reduce__(self) -> Any:
        return FaultingKernel, (self.device,)

    def __call__(self, *_: Any) -> None:
        fault(self.device)


@pytest.fixture
def device() -> Iterator[LosableDevice]:
    yield LosableDevice()
    end_processes()


def process_id() -> int:
    return os.getpid()


def fault(device: LosableDevice) -> None:
    device.lost = True
    raise MemoryFault("out of bounds", [Finding("memcheck", "illegal_address", 0, None, None, "far away")])


def lose_quietly(device: LosableDevice) -> int:
    device.lost = True
    return os.getpid()


def nested(device: Device) -> tuple[bool, int, int]:
    return in_worker(), os.getpid(), run_in_process(device, process_id)


def test_device_without_need_for_a_process_is_used_in_this_one() -> None:
    assert run_in_process(PythonDevice(), process_id) == os.getpid()


def test_process_serves_many_calls_and_nested_ones(device: LosableDevice) -> None:
    process = run_in_process(device, process_id, limit_s=LONG_S)
    assert process != os.getpid()
    assert run_in_process(device, nested, device) == (True, process, process)


def test_arrays_of_the_caller_keep_their_values(device: LosableDevice) -> None:
    values = np.zeros(4)
    changed = run_in_process(device, np.add, values, 1, limit_s=LONG_S)
    assert (changed.tolist(), values.tolist()) == ([1] * 4, [0] * 4)


def test_faults_in_a_row_reach_the_caller_and_each_ends_its_process(device: LosableDevice) -> None:
    processes = set()
    for _ in range(2):
        processes.add(run_in_process(device, process_id, limit_s=LONG_S))
        with pytest.raises(MemoryFault, match="out of bounds") as caught:
            run_in_process(device, fault, device)
        assert [finding.kind for finding in caught.value.findings] == ["illegal_address"]
        assert not device.lost
    assert len(processes) == 2


def test_process_ends_if_a_call_loses_the_device_and_returns(device: LosableDevice) -> None:
    first = run_in_process(device, lose_quietly, device, limit_s=LONG_S)
    assert run_in_process(device, process_id, limit_s=LONG_S) != first


def test_endless_call_is_stopped_and_reported(device: LosableDevice) -> None:
    run_in_process(device, process_id, limit_s=LONG_S)
    with pytest.raises(LaunchError, match=r"(?s)0.5 s.*not affected") as caught:
        run_in_process(device, time.sleep, 60, limit_s=0.5)
    assert [finding.kind for finding in caught.value.findings] == ["launch_timeout"]


class UnopenedDevice(LosableDevice):
    """A device that no other process can open."""

    kind = "unopened"

    def __reduce__(self) -> Any:
        return refuse, ()


def refuse() -> Device:
    raise gpulab.UsageError("one process at a time")


def test_device_that_the_process_cannot_open_is_reported(device: LosableDevice) -> None:
    for _ in range(2):
        with pytest.raises(gpulab.UsageError, match="one process at a time"):
            run_in_process(UnopenedDevice(), process_id, limit_s=LONG_S)


def test_end_of_the_process_is_reported(device: LosableDevice) -> None:
    with pytest.raises(LaunchError, match="exit code 3") as caught:
        run_in_process(device, os._exit, 3, limit_s=LONG_S)
    assert [finding.kind for finding in caught.value.findings] == ["launch_failure"]


def test_benchmark_reports_the_line_that_the_simulator_finds(device: LosableDevice) -> None:
    simulator = gpulab.device("sim")
    simulated = simulator.compile("__global__ void k(float* x)\n{\n    x[threadIdx.x + 1] = 0;\n}")
    kernel = FaultingKernel(device)
    kernel.on_simulator = simulated
    with pytest.raises(MemoryFault, match=r"(?s)line 3.*out of bounds") as caught:
        benchmark(kernel, 1, 32, [np.zeros(32, np.float32)])
    assert (caught.value.findings[0].line, caught.value.findings[0].thread) == (3, (31, 0, 0))


ERRORS = [
    CompileError([gpulab.Diagnostic(3, 1, "error", "no")]),
    KernelNotWritten("matmul.K1", (7, 10)),
    UnsupportedInstruction("tex.1d", 4),
    MemoryFault("m", [Finding("memcheck", "k", 1, None, None, "m")]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_can_be_sent_to_another_process(error: gpulab.GpulabError) -> None:
    sent = pickle.loads(pickle.dumps(error))
    assert (type(sent), str(sent), vars(sent)) == (type(error), str(error), vars(error))


def test_script_without_a_guard_is_not_run_again_in_the_process(tmp_path: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""\
            from gpulab.devices.device_process import run_in_process
            from tests.devices.test_device_process import LosableDevice, process_id
            print("begin")
            run_in_process(LosableDevice(), process_id)
            print("end")
            """)
    )
    paths = os.pathsep.join([str(ROOT), *sys.path])
    ran = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert ran.stdout.split() == ["begin", "end"]
