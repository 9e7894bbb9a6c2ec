"""Which device a name opens on a machine without a GPU."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from gpulab.devices import cuda_context, open_device
from gpulab.errors import UsageError


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    """No driver here, and a simulator that only remembers which GPU it was asked for."""
    simulated = ModuleType("gpulab.devices.simulated")
    simulated.simulator = lambda gpu_name: ("sim", gpu_name)
    monkeypatch.setitem(sys.modules, "gpulab.devices.simulated", simulated)
    monkeypatch.setattr(cuda_context, "has_driver", lambda: False)
    monkeypatch.setattr(cuda_context, "_answered", [])


@pytest.mark.parametrize(
    ("name", "gpu"), [(None, "h200"), ("sim", "h200"), ("sim:gtx280", "gtx280"), ("SIM:GTX 280", "gtx280")]
)
def test_a_machine_without_a_gpu_simulates(name, gpu):
    assert open_device(name) == ("sim", gpu)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:1"])
def test_asking_for_a_gpu_that_is_not_there_says_so(name):
    with pytest.raises(UsageError, match="no CUDA GPU answers here"):
        open_device(name)


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x", "cuda:-1", "simulator"])
def test_a_name_that_means_nothing_is_told_what_there_is(name):
    with pytest.raises(UsageError, match="sim:gtx280"):
        open_device(name)


def test_an_unknown_gpu_of_the_simulator_is_told_what_there_is():
    with pytest.raises(UsageError, match=r"voodoo2.*gtx280"):
        open_device("sim:voodoo2")


def test_a_cupy_that_does_not_start_falls_back_to_the_simulator(monkeypatch):
    class Broken(ModuleType):
        def __getattr__(self, name):
            raise RuntimeError("cudaErrorInsufficientDriver")

    monkeypatch.setitem(sys.modules, "cupy", Broken("cupy"))
    monkeypatch.setattr(cuda_context, "has_driver", lambda: True)
    assert open_device() == ("sim", "h200")
    assert "cudaErrorInsufficientDriver" in cuda_context.gpus()[1]


def test_looking_for_a_gpu_imports_neither_cupy_nor_llvm():
    code = (
        "import sys; from gpulab.devices import cuda_context; cuda_context.has_driver = lambda: False; "
        "cuda_context.gpus(); sys.exit(bool({'cupy', 'llvmlite'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
