"""Times of kernel cells at any size, block and tile; a cell is compiled and verified once per geometry."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, prod
from types import TracebackType
from typing import Self

from gpulab.cell import Cell, require_kernel_cell
from gpulab.devices import open_device
from gpulab.devices.base import Device, Kernel
from gpulab.errors import (
    CompileError,
    KernelNotWritten,
    LaunchError,
    MemoryFault,
    UnsupportedInstruction,
    UsageError,
)
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
    """A timer of kernel cells: ``with Bench(device) as bench: bench.point(cell, (4096, 4096, 4096))``.

    Parameters
    ----------
    device : Device
        The device that runs the kernels. On a GPU they run in a worker process, which ends with the
        `with` block.
    device_name : str, optional
        The name with which the worker process opens the device.
    check : bool
        Do not time a kernel whose values are wrong on the problem's check sizes.
    iterations : int
        Launches to time.
    """

    def __init__(
        self, device: Device, device_name: str | None = None, *, check: bool = True, iterations: int = 3
    ) -> None:
        self._device, self._check = device, check
        self._worker: Worker | None = None
        self._time: WorkerFunction
        if device.needs_own_process:
            self._worker = Worker(_timer_in_worker, device_name, iterations, name="gpulab bench")
            self._time = self._worker.call
        else:
            self._time = _CellTimer(device, iterations).time

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is not None:
            self._worker.end()

    def point(self, cell: Cell, shape: Shape, *, check: bool | None = None) -> Point:
        """Time a cell's kernel at one size; if that is not possible, the point's `error` has the reason.

        check: if given, replaces the `check` of the bench. Raises `UsageError` if the cell belongs to no
        problem.
        """
        config = require_kernel_cell(cell).config
        point = Point(config, shape)
        try:
            launch = config.at(shape, self._device.spec)
            config.require_size(shape)
        except UsageError as error:
            return replace(point, error=str(error))

        point = replace(point, grid=launch.grid)
        try:
            timed: Point = self._time(cell, point, self._check if check is None else check)
        except WorkerDied as death:
            return replace(point, error=f"{death}.", wrong=True)
        if timed.error and self._worker is not None:  # a fault invalidates the worker's CUDA context
            self._worker.end()
        return timed

    def prepare(self, cell: Cell) -> None:
        """Compile all code that the cell's first point needs, on the simulator, into the disk cache.

        A cell that does not compile is skipped without an error.
        """
        if self._device.measures_time:
            return
        config = require_kernel_cell(cell).config
        with suppress(CompileError, UsageError, UnsupportedInstruction):
            prepare_variant(compile_cell(cell, self._device), config, device=self._device)


@dataclass(frozen=True)
class _PreparedKernel:
    """A compiled and verified kernel for one geometry, or the reason why there is none."""

    kernel: Kernel | None = None
    error: str = ""
    wrong: bool = False


class _CellTimer:
    """A timer that compiles, verifies and times cells in the current process."""

    def __init__(self, device: Device, iterations: int) -> None:
        self._device, self._iterations = device, iterations
        self._prepared: dict[tuple[Cell, bool], _PreparedKernel] = {}

    def time(self, cell: Cell, point: Point, check: bool) -> Point:
        """Return the point with its time, or with the reason why it could not be timed."""
        if (cell, check) not in self._prepared:
            self._prepared[cell, check] = self._prepare(cell, point, check)
        prepared = self._prepared[cell, check]
        if prepared.kernel is None:
            return replace(point, error=prepared.error, wrong=prepared.wrong)

        try:
            timed = self._time_kernel(prepared.kernel, point)
        except LaunchError as error:
            # A refused launch, for lack of memory for example, is no fault of the kernel.
            faulted = isinstance(error, MemoryFault) or bool(error.findings)
            return replace(point, error=str(error), wrong=faulted)
        except (UsageError, UnsupportedInstruction) as error:
            return replace(point, error=str(error))

        with suppress(UsageError):  # the catalogue does not have the bus of this GPU
            return replace(timed, copies=time_copies(self._device, point.config.problem, point.shape))
        return timed

    def _time_kernel(self, kernel: Kernel, point: Point) -> Point:
        """Return the point with the kernel's time: measured on a GPU, otherwise modelled."""
        device = self._device
        if not device.measures_time and kernel.program.ptx:
            profile = profile_variant(kernel, point.config, device=device, shape=point.shape)
            return replace(
                point,
                timing=modelled(profile, self._iterations),
                occupancy=profile.occupancy.fraction,
                bottleneck=profile.bottleneck,
                explanation=profile.explanation,
            )

        timed = time_variant(
            kernel,
            point.config,
            shape=point.shape,
            n_repeat=self._iterations,
            limit_s=inf,  # all launches that were requested are timed
        )
        resources = kernel.resources
        shared = resources.shared_bytes + point.config.at(point.shape, device.spec).shared_mem
        resident = occupancy(device.spec, prod(point.block), resources.registers, shared)
        return replace(point, timing=timed.timing, occupancy=resident.fraction)

    def _prepare(self, cell: Cell, point: Point, check: bool) -> _PreparedKernel:
        """Compile the text for the point's block and tile, and verify it if requested."""
        device = self._device
        try:
            kernel = compile_cell(cell, device)
            reason = signature_reason(kernel, point.config)
            if not reason and check:
                # Values only: every geometry needs code of its own, and sanitized code compiles slowly.
                verdict = preflight(kernel, point.config, device) or verify(
                    kernel, point.config, sanitized=False
                )
                if not verdict.correct:
                    first = " ".join(verdict.reasons[:1]).partition(" Hint:")[0]
                    reason = f"wrong with this block and tile: {first}"
        except KernelNotWritten as error:
            return _PreparedKernel(error=str(error), wrong=True)
        except CompileError as error:
            first_error = next((d for d in error.diagnostics if d.severity == "error"), None)
            message = f"line {first_error.line}: {first_error.message}" if first_error else str(error)
            return _PreparedKernel(error=f"it does not compile: {message}", wrong=True)
        except (UsageError, UnsupportedInstruction) as error:
            return _PreparedKernel(error=str(error))

        return _PreparedKernel(error=reason, wrong=True) if reason else _PreparedKernel(kernel)


def _timer_in_worker(device_name: str | None, iterations: int) -> WorkerFunction:
    """Return the function that times cells in a worker process."""
    return _CellTimer(open_device(device_name), iterations).time
