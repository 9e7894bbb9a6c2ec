"""A real IPython shell, and a device whose kernels behave as a comment in their source says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output

from gpulab.compiler.program import Program, Resources
from gpulab.devices.base import Device, Dim3, Kernel
from gpulab.errors import CompileError, Diagnostic, LaunchError, MemoryFault
from gpulab.finding import Finding
from gpulab.gpus.catalogue import gpu
from gpulab.notebook import load
from gpulab.problems import problem
from tests.ipython_shell import new_shell
from tests.python_device import StandInDevice


class ScriptedKernel(Kernel):
    """Kernel with a behaviour named in its source (`// behaves: NAME`), carried out with NumPy."""

    on_simulator = None

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.printed = ""
        self.launched = False
        self.behaviour = (re.findall(r"// behaves: (.*)", source) or ["right"])[0]
        self.program = Program(source, "", 90, resources={name: Resources(24, 1360, 0, 0)}, warnings=())

    def __call__(self, grid: Dim3, block: Dim3, args: Sequence[Any], shared_mem: int = 0) -> None:
        if self.behaviour == "slow" and not self.launched:
            time.sleep(1.3)
        self.launched = True
        if self.behaviour == "stops":
            raise LaunchError(
                "the kernel never ended.", [Finding("synccheck", "no_end", 4, None, None, "never ends")]
            )
        if self.behaviour == "reads outside":
            finding = Finding(
                "memcheck", "out_of_bounds_read", 4, (2, 0, 0), (0, 3, 0), "thread (0,3) reads A0[-1]"
            )
            raise MemoryFault("a thread read outside A0.", [finding])
        if len(args) != 6:
            return
        fac, A0, Anext = args[:3]
        _stencil(float(fac), A0, Anext)
        if self.behaviour == "no halo":
            Anext[1:-1, 1:-1, 31:-1:32] = 0
        if self.behaviour == "writes the boundary":
            Anext[0] = 1
        if self.behaviour == "prints":
            self.printed = "hello from <thread 0>\n"


class ScriptedDevice(StandInDevice):
    """Device of `ScriptedKernel`s, on NumPy arrays."""

    kind = "sim"
    name = "stand-in"
    spec = gpu("h200")

    def asarray(self, host: npt.ArrayLike) -> Any:
        return np.array(host)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Any:
        return np.empty(shape, dtype)

    def asnumpy(self, array: Any) -> npt.NDArray[Any]:
        return np.array(array)

    def synchronize(self) -> None: ...

    def compile(
        self,
        source: str,
        name: str | None = None,
        defines: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
    ) -> Kernel:
        diagnostics = [
            Diagnostic(
                number,
                1 + line.index("#error"),
                "error",
                f"#error directive: {line.split('#error')[1].strip()}",
                line,
            )
            for number, line in enumerate(source.splitlines(), 1)
            if "#error" in line
        ]
        if diagnostics:
            raise CompileError(diagnostics)
        kernel = ScriptedKernel(name or "kernel", source)
        kernel.device = self
        return kernel

    def load_ptx(self, text: str, name: str | None = None) -> Kernel:
        raise NotImplementedError


def _stencil(fac: float, A0: npt.NDArray[np.float32], Anext: npt.NDArray[np.float32]) -> None:
    A = A0.astype(np.float64)
    total = A[1:-1, 1:-1, :-2] + A[1:-1, 1:-1, 2:] + A[1:-1, :-2, 1:-1] + A[1:-1, 2:, 1:-1]
    total += A[:-2, 1:-1, 1:-1] + A[2:, 1:-1, 1:-1] - 6 * A[1:-1, 1:-1, 1:-1] / (fac * fac)
    Anext[1:-1, 1:-1, 1:-1] = total


class CellRun:
    """Result, error and output of one cell."""

    def __init__(self, shell: InteractiveShell, text: str) -> None:
        with capture_output() as captured:
            self.result = shell.run_cell(text, store_history=False)
        self.stdout, self.stderr = captured.stdout, captured.stderr
        outputs: list[RichOutput] = captured.outputs
        self.html = "".join(o.data.get("text/html", "") for o in outputs)
        self.text = "\n".join(o.data.get("text/plain", "") for o in outputs)
        self.error = self.result.error_before_exec or self.result.error_in_exec


class Notebook:
    """IPython shell with gpulab loaded; `run` runs one cell."""

    def __init__(self, open_device: Callable[[], Device] | None = ScriptedDevice) -> None:
        self.shell = new_shell()
        load(self.shell, open_device)

    def run(self, text: str) -> CellRun:
        return CellRun(self.shell, text)


def time_small_sizes() -> None:
    """Let stencils be timed at a size that NumPy computes quickly."""
    problem("stencil").timing_size = (130, 66, 18)


@pytest.fixture
def shell(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> InteractiveShell:
    """An IPython shell after `%load_ext gpulab`, whose kernel cells run on the simulator."""
    monkeypatch.setenv("GPULAB_DEVICE", "sim")
    fresh = new_shell()
    fresh.run_cell("%load_ext gpulab")
    return fresh


@pytest.fixture
def notebook(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    stencil = problem("stencil")
    monkeypatch.setattr(stencil, "timing_size", stencil.timing_size)  # restored afterwards
    time_small_sizes()
    return Notebook()


@pytest.fixture
def kernel_cell() -> Any:
    """Return a function that returns the source of a stencil cell with a given behaviour."""

    def cell(
        behaviour: str = "right", variant: str = "opt_1", header: str = "--block 32 8 --tile 1 1"
    ) -> str:
        return (
            f"%%cuda stencil.{variant} {header}\n// behaves: {behaviour}\n"
            f"__global__ void block2D_{variant}(float fac, const float* A0, float* Anext,\n"
            "    int nx, int ny, int nz)\n"
            "{ }\n"
        )

    return cell
