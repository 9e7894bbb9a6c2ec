"""Faulting cells of one notebook session on a GPU. Needs IPython, ipywidgets and plotly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpulab
from gpulab.devices.base import Device
from gpulab.devices.device_process import end_processes
from gpulab.errors import LaunchError
from tests.gpu.test_faults_on_gpu import STENCIL, assert_memory_is_given_back, free_memory
from tests.ipython_shell import new_shell

for package in ("IPython", "ipywidgets", "plotly"):
    pytest.importorskip(package)

# The simulator finds the first fault before the GPU runs the kernel. The second is in one block at the size
# that is timed, which the GPU reaches unless the simulator's sample of blocks contains it.
CELLS = (
    STENCIL.replace("nx == 512 && blockIdx.x == 7 && blockIdx.y == 9", "nx > 0"),
    STENCIL,
)
LINE = 12  # of the faulting store, in the cell


@pytest.fixture
def shell(gpu: Device, monkeypatch: pytest.MonkeyPatch, empty_session: None) -> Any:
    monkeypatch.setenv("GPULAB_DEVICE", gpu.selector)
    shell = new_shell()
    gpulab.load_ipython_extension(shell)
    return shell


def test_twenty_faulting_cells_leave_the_notebook_alive(
    shell: Any, gpu: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = gpu.asarray(np.arange(256, dtype=np.float32))
    end_processes()
    before = free_memory(gpu)
    on_gpu = 0
    for number in range(20):
        text = CELLS[number % 2].removeprefix("// ")
        error = shell.run_cell(text).error_in_exec
        assert isinstance(error, LaunchError), error
        assert error.findings[0].line == LINE
        assert f"line {LINE}" in str(error)
        on_gpu += "not affected" in str(error)
    assert on_gpu, "no kernel reached the GPU"

    assert_memory_is_given_back(gpu, before)
    shell.user_ns["mine"] = mine
    right = "%%cuda twice\n__global__ void twice(float* x) { x[threadIdx.x] *= 2; }"
    assert shell.run_cell(right).success
    assert shell.run_cell("import gpulab; gpulab.kernel('twice')(1, 256, (mine,))").success
    np.testing.assert_array_equal(gpu.asnumpy(mine), 2 * np.arange(256))
    capsys.readouterr()
