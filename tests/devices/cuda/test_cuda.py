"""The CUDA device with a replacement of CuPy: calls that reach CUDA, and errors."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gpulab.compiler import ptx_program
from gpulab.compiler.program import Parameter, Program, Resources
from gpulab.devices import open_device
from gpulab.devices.cuda import cuda_context, cuda_device
from gpulab.devices.listing import listing_entries
from gpulab.errors import LaunchError, MemoryFault, UsageError
from gpulab.gpus.catalogue import gpu
from tests.devices.cuda.fake_cupy import H200, CudaError, FakeCupy, OutOfMemoryError

SIGNATURE = (Parameter("fac", "float", 4), Parameter("A0", "pointer", 8), Parameter("n", "int", 4))
PROGRAM = Program(
    source="",
    ptx="",
    arch=90,
    cubin=b"machine code",
    resources={"k": Resources(registers=16, shared_bytes=1024)},
    signatures={"k": SIGNATURE},
)


@pytest.fixture
def cupy(monkeypatch):
    """One H200, and a compiler that always returns PROGRAM."""
    fake = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(cuda_context, "has_driver", lambda: True)
    monkeypatch.setattr(cuda_context, "_gpu_count", [])
    monkeypatch.setattr(cuda_device, "_opened", {})
    monkeypatch.setattr(cuda_device, "compile_program", lambda *args, **kwargs: PROGRAM)
    loaded = Program(source="", ptx="ptx", arch=90, signatures={"k": SIGNATURE})
    monkeypatch.setattr(
        cuda_device, "ptx_program", lambda text: loaded if text == "ptx" else ptx_program(text)
    )
    return fake


@pytest.fixture
def device(cupy):
    return open_device()


def launches(cupy):
    return [call for call in cupy.calls if call[0] == "launch"]


def test_available_gpu_is_the_default_device(device):
    assert (device.kind, device.name) == ("cuda", "NVIDIA H200")


def test_gpu_of_the_catalogue_has_its_data_sheet(device):
    assert device.spec is gpu("h200")


def test_gpu_outside_the_catalogue_has_the_figures_that_cuda_reports(cupy, monkeypatch):
    other = {**H200, "name": b"NVIDIA GB999", "major": 10, "multiProcessorCount": 148, "totalConstMem": 1}
    monkeypatch.setitem(sys.modules, "cupy", FakeCupy(properties=other))
    spec = open_device("cuda").spec
    assert (spec.sms, spec.arch, spec.constant_bytes, spec.calibrated) == (148, 100, 1, False)


def test_kernel_call_converts_its_arguments_and_waits(cupy, device):
    kernel = device.compile("…")
    kernel(2, (32, 8), (0.5, device.zeros(4), 4))
    _, name, grid, block, (fac, array, n), shared = launches(cupy)[0]
    assert (name, grid, block, shared) == ("k", (2, 1, 1), (32, 8, 1), 0)
    assert (type(fac), type(array), type(n)) == (np.float32, cupy.ndarray, np.int32)
    assert cupy.calls[-1] == "wait"


def test_compile_loads_the_machine_code(cupy, device):
    device.compile("…")
    assert ("load", b"machine code") in cupy.calls


def test_load_ptx_reports_the_resources_of_the_drivers_assembler(cupy, device):
    kernel = device.load_ptx("ptx")
    assert ("load", b"ptx\0") in cupy.calls
    assert kernel.resources == Resources(registers=20, shared_bytes=64, constant_bytes=32)


def test_more_than_48_kib_of_shared_memory_is_allowed_once(cupy, device):
    kernel = device.compile("…")
    for shared_mem in (48 * 1024, 48 * 1024, 1024):
        kernel(1, 1, (1, device.zeros(4), 4), shared_mem)
    assert [call for call in cupy.calls if call[0] == "allow"] == [("allow", 8, 48 * 1024)]


@pytest.mark.parametrize("cooperative", [True, False])
def test_kernel_is_launched_as_it_was_compiled(cooperative, cupy, device):
    device.compile("…", cooperative=cooperative)(2, 32, (1, device.zeros(4), 4))
    assert ("cooperative" in cupy.calls) == cooperative


def test_cooperative_launch_of_too_many_blocks_does_not_reach_cuda(cupy, device):
    with pytest.raises(LaunchError, match="at most 4,224 blocks"):
        device.compile("…", cooperative=True)(5000, 32, (1, device.zeros(4), 4))
    assert not launches(cupy)


def test_launch_over_a_limit_does_not_reach_cuda(cupy, device):
    with pytest.raises(LaunchError, match="2,048 threads"):
        device.compile("…")(1, (64, 32), (1, device.zeros(4), 4))
    assert not launches(cupy)


def test_host_array_does_not_reach_cuda(cupy, device):
    with pytest.raises(LaunchError, match=r"argument 2 \(`A0`\)"):
        device.compile("…")(1, 1, (1, np.zeros(4), 4))
    assert not launches(cupy)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (700, MemoryFault, "illegal_address"),
        (716, MemoryFault, "misaligned_address"),
        (710, LaunchError, "assert"),
        (719, LaunchError, "launch_failure"),
        (702, LaunchError, "launch_timeout"),
    ],
)
def test_error_that_destroys_the_context_has_a_finding_and_a_remedy(cupy, device, status, error, kind):
    kernel, array = device.compile("…"), device.zeros(4)
    cupy.fail_next = CudaError(status, "cudaErrorSomething: words")
    with pytest.raises(LaunchError, match=r"(?s)`k`.*simulator.*restart") as caught:
        kernel(1, 1, (1, array, 4))
    assert type(caught.value) is error
    assert [finding.kind for finding in caught.value.findings] == [kind]


def test_error_in_a_worker_process_does_not_ask_for_a_restart(cupy, device, monkeypatch):
    monkeypatch.setattr("gpulab.worker_process._serving", True)
    kernel, array = device.compile("…"), device.zeros(4)
    cupy.fail_next = CudaError(700, "cudaErrorIllegalAddress: words")
    with pytest.raises(MemoryFault, match="not affected") as caught:
        kernel(1, 1, (1, array, 4))
    assert "restart" not in str(caught.value)
    assert not device.usable


USES = {
    "launch": lambda device, kernel, array: kernel(1, 1, (1, array, 4)),
    "compile": lambda device, kernel, array: device.compile("…"),
    "load_ptx": lambda device, kernel, array: device.load_ptx("ptx"),
    "zeros": lambda device, kernel, array: device.zeros(4),
    "empty": lambda device, kernel, array: device.empty(4),
    "asnumpy": lambda device, kernel, array: device.asnumpy(array),
    "synchronize": lambda device, kernel, array: device.synchronize(),
    "query": lambda device, kernel, array: device.properties(),
    "open it again": lambda device, kernel, array: open_device().synchronize(),
}


@pytest.mark.parametrize("use", USES)
def test_every_use_after_a_lost_context_raises_one_line(cupy, device, use):
    kernel, array = device.compile("…"), device.zeros(4)
    cupy.fail_next = CudaError(700, "cudaErrorIllegalAddress: words")
    with pytest.raises(MemoryFault):
        kernel(1, 1, (1, array, 4))
    with pytest.raises(LaunchError, match=r"\A[^\n]*NVIDIA H200[^\n]*`k`[^\n]*restart[^\n]*\Z"):
        USES[use](device, kernel, array)


def test_device_is_usable_after_an_error_that_leaves_the_context(cupy, device):
    cupy.fail_next = CudaError(701, "cudaErrorLaunchOutOfResources: words")
    with pytest.raises(LaunchError, match="fewer threads per block"):
        device.compile("…")(1, 1, (1, device.zeros(4), 4))
    cupy.fail_next = None
    device.synchronize()


def test_out_of_memory_raises_with_the_size(cupy, device, monkeypatch):
    def full(*args):
        raise OutOfMemoryError("Out of memory allocating 9 bytes")

    monkeypatch.setattr(cupy, "empty", full)
    with pytest.raises(UsageError, match="9 bytes"):
        device.empty(9)


def test_time_enqueues_events_and_launch_behind_a_delay(cupy, device):
    kernel, array = device.compile("…"), device.zeros(4)
    device.time(lambda: None)  # the delay kernel is loaded once
    cupy.calls.clear()
    assert device.time(lambda: kernel(1, 1, (1, array, 4))) == 1.5
    assert [call if isinstance(call, str) else call[0] for call in cupy.calls] == [
        "wait",
        "launch",
        "event",
        "launch",
        "event",
        "wait",
    ]


def test_work_before_a_timed_launch_is_not_timed(cupy, device):
    kernel, array = device.compile("…"), device.zeros(4)
    launch = lambda: kernel(1, 1, (1, array, 4))  # noqa: E731
    device.time(launch)
    cupy.calls.clear()
    device.time(launch, before=lambda: cupy.calls.append("before"))
    names = [call if isinstance(call, str) else call[0] for call in cupy.calls]
    assert names == ["wait", "launch", "before", "event", "launch", "event", "wait"]


def test_properties_are_those_that_cuda_reports(device):
    rows = {entry.label: entry.value for entry in listing_entries(device.properties())}
    assert rows["Number of cores"] == "16896"
    assert rows["CUDA driver version"].startswith("13.0")
    assert rows["CUDA runtime version"] == "12.9"
    assert rows["Theoretical memory bandwidth"] == "4916.7 GB/s"


def test_missing_gpu_index_raises_and_lists_the_gpus(cupy):
    with pytest.raises(UsageError, match=r"cuda:3.*cuda:0"):
        open_device("cuda:3")
