"""Times kernel cells at any size, block and tile; compiles and checks a text once for each block and tile."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, prod
from types import TracebackType
from typing import Self

from gpulab.cell import Cell, require_kernel_cell
from gpulab.devices.base import Device, Kernel
from gpulab.errors import CompileError, LaunchError, MemoryFault, UnsupportedInstruction, UsageError
from gpulab.gpus.occupancy import occupancy
from gpulab.model.profile import prepare_variant, profile_variant
from gpulab.problems import Shape
from gpulab.profiling.benchmark import modelled
from gpulab.profiling.point import Point
from gpulab.profiling.speedup import time_variant
from gpulab.profiling.transfers import time_copies
from gpulab.verification.check import compile_cell, preflight
from gpulab.verification.verify import signature_reason, verify
from gpulab.worker_process import Worker, WorkerDied, WorkerFunction

__all__ = ["Bench"]


class Bench:
    """`with Bench(device) as bench: bench.point(cell, (4096, 4096, 4096))`.

    device_name: the device as `open_device` takes it. On a GPU the kernels run in a process of their own,
    which ends with the `with`.
    check: leave out the time of a kernel whose values are wrong on the problem's check sizes; `point` may say
    otherwise.
    iterations: launches that are timed.
    """

    def __init__(
        self, device: Device, device_name: str | None = None, *, check: bool = True, iterations: int = 3
    ) -> None:
        self._device, self._check = device, check
        self._worker: Worker | None = None
        self._time: WorkerFunction
        if device.needs_own_process:
            self._worker = Worker(_bench_there, device_name, iterations, name="gpulab bench")
            self._time = self._worker.call
        else:
            self._time = _Stand(device, iterations).timed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is not None:
            self._worker.end()

    def point(self, cell: Cell, shape: Shape, *, check: bool | None = None) -> Point:
        """The cell's kernel at this size, with the block and tile of its header.

        What cannot be launched, is wrong or faults is a point without a time, and raises nothing. Raises
        `UsageError` for a cell of no problem.
        """
        config = require_kernel_cell(cell).config
        point = Point(config, shape)
        try:
            launch = config.at(shape, self._device.spec)
            config.require_size(shape)
        except UsageError as error:
            return replace(point, why_not=str(error))
        point = replace(point, grid=launch.grid)
        try:
            answer: Point = self._time(cell, point, self._check if check is None else check)
        except WorkerDied as stopped:
            return replace(point, why_not=f"{stopped}.", wrong=True)
        if answer.why_not and self._worker is not None:  # a fault takes the CUDA context with it
            self._worker.end()
        return answer

    def prepare(self, cell: Cell) -> None:
        """Make all code for a cell, on the simulator, so that its first point takes less time.

        What is found is kept on disk, where there is room for it; what is wrong with the cell is not said.
        """
        if self._device.measures_time:
            return
        config = require_kernel_cell(cell).config
        with suppress(CompileError, UsageError, UnsupportedInstruction):
            prepare_variant(compile_cell(cell, self._device), config, device=self._device)


@dataclass(frozen=True)
class _Prepared:
    """A kernel for one block and tile, or why there is none."""

    kernel: Kernel | None = None
    why_not: str = ""
    wrong: bool = False


class _Stand:
    """Where kernels of a bench run: in the process it is made in."""

    def __init__(self, device: Device, iterations: int) -> None:
        self._device, self._iterations = device, iterations
        self._prepared: dict[tuple[Cell, bool], _Prepared] = {}

    def timed(self, cell: Cell, point: Point, check: bool) -> Point:
        """The point with its time, or with the reason why it has none."""
        if (cell, check) not in self._prepared:
            self._prepared[cell, check] = self._prepare(cell, point, check)
        prepared = self._prepared[cell, check]
        if prepared.kernel is None:
            return replace(point, why_not=prepared.why_not, wrong=prepared.wrong)
        try:
            timed = self._measured(prepared.kernel, point)
        except LaunchError as error:
            # A launch that was refused, for want of memory say, is nobody's fault: nothing was found in it.
            faulted = isinstance(error, MemoryFault) or bool(error.findings)
            return replace(point, why_not=str(error), wrong=faulted)
        except (UsageError, UnsupportedInstruction) as error:
            return replace(point, why_not=str(error))
        with suppress(UsageError):  # nobody knows this GPU's bus
            copies = time_copies(self._device, point.config.problem, point.shape)
            return replace(timed, copies=copies)
        return timed

    def _measured(self, kernel: Kernel, point: Point) -> Point:
        """The point with the kernel's time: on a GPU as many launches as asked for, else the model's."""
        device = self._device
        if not device.measures_time and kernel.program.ptx:
            profile = profile_variant(kernel, point.config, device=device, shape=point.shape)
            return replace(
                point,
                timing=modelled(profile, self._iterations),
                occupancy=profile.occupancy.fraction,
                bottleneck=profile.bottleneck,
                words=profile.explanation,
            )
        timed = time_variant(
            kernel,
            point.config,
            device=device,
            shape=point.shape,
            n_repeat=self._iterations,
            limit_s=inf,  # all launches that were requested are timed
        )
        resources = kernel.resources
        resident = occupancy(device.spec, prod(point.block), resources.registers, resources.shared_bytes)
        return replace(point, timing=timed.timing, occupancy=resident.fraction)

    def _prepare(self, cell: Cell, point: Point, check: bool) -> _Prepared:
        """Compile the text for the point's block and tile, and check it when that was asked for."""
        device = self._device
        try:
            kernel = compile_cell(cell, device)
            reason = signature_reason(kernel, point.config)
            if not reason and check:
                # Values only: code is made for each block and tile, and watched code is slow to make.
                verdict = preflight(kernel, point.config, device) or verify(
                    kernel, point.config, device=device, sanitized=False
                )
                if not verdict.correct:
                    first = " ".join(verdict.reasons[:1]).partition(" Hint:")[0]
                    reason = f"wrong with this block and tile: {first}"
        except CompileError as error:
            said = next((d for d in error.diagnostics if d.severity == "error"), None)
            words = f"line {said.line}: {said.message}" if said else str(error)
            return _Prepared(why_not=f"it does not compile: {words}", wrong=True)
        except (UsageError, UnsupportedInstruction) as error:
            return _Prepared(why_not=str(error))
        return _Prepared(why_not=reason, wrong=True) if reason else _Prepared(kernel)


def _bench_there(device_name: str | None, iterations: int) -> WorkerFunction:
    """The stand of a new process."""
    from gpulab.devices import open_device

    return _Stand(open_device(device_name), iterations).timed
