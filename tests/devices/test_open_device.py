"""Opening devices by name on a machine without a GPU."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from gpulab.devices import open_device
from gpulab.devices.cuda import cuda_context
from gpulab.errors import UsageError


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    """A machine without a driver, and a simulator that is a pair of its kind and GPU."""
    simulated = ModuleType("gpulab.devices.simulator.simulated_device")
    simulated.simulator = lambda gpu_name: ("sim", gpu_name)
    monkeypatch.setitem(sys.modules, "gpulab.devices.simulator.simulated_device", simulated)
    monkeypatch.setattr(cuda_context, "has_driver", lambda: False)
    monkeypatch.setattr(cuda_context, "_gpu_count", [])


@pytest.mark.parametrize(
    ("name", "gpu"), [(None, "h200"), ("sim", "h200"), ("sim:gtx280", "gtx280"), ("SIM:GTX 280", "gtx280")]
)
def test_open_device_without_a_gpu_opens_the_simulator(name, gpu):
    assert open_device(name) == ("sim", gpu)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:1"])
def test_missing_gpu_raises_and_names_the_simulator(name):
    with pytest.raises(UsageError, match=r'gpulab\.device\("sim"\)'):
        open_device(name)


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x", "cuda:-1", "simulator"])
def test_unknown_name_raises_and_lists_the_forms(name):
    with pytest.raises(UsageError, match="sim:gtx280"):
        open_device(name)


def test_unknown_simulated_gpu_raises_and_lists_the_catalogue():
    with pytest.raises(UsageError, match=r"voodoo2.*gtx280"):
        open_device("sim:voodoo2")


def test_cupy_that_cannot_start_falls_back_to_the_simulator(monkeypatch):
    class Broken(ModuleType):
        def __getattr__(self, name):
            raise RuntimeError("cudaErrorInsufficientDriver")

    monkeypatch.setitem(sys.modules, "cupy", Broken("cupy"))
    monkeypatch.setattr(cuda_context, "has_driver", lambda: True)
    assert open_device() == ("sim", "h200")
    assert "cudaErrorInsufficientDriver" in cuda_context.gpus()[1]


def test_counting_gpus_imports_neither_cupy_nor_llvm():
    code = (
        "import sys; from gpulab.devices.cuda import cuda_context; cuda_context.has_driver = lambda: False; "
        "cuda_context.gpus(); sys.exit(bool({'cupy', 'llvmlite'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
