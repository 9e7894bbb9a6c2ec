"""The timeline of copies and kernels: when each one ran, in which stream, and what overlapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from gpulab.devices.base import Device
from gpulab.devices.launch_limits import dim3
from gpulab.devices.streams import DeviceOperation, Launch
from gpulab.errors import UsageError
from gpulab.profiling.transfers import copy_rate
from gpulab.provenance import Provenance
from gpulab.timing import covered

__all__ = ["Timeline", "TimelineSpan", "timeline"]


@dataclass(frozen=True)
class TimelineSpan:
    """One copy or kernel on the timeline.

    Attributes
    ----------
    kind : {"copy to device", "copy to host", "kernel"}
        The type of the operation.
    label : str
        The name of the kernel, or the size of the copy.
    stream : int
        0 for an operation without a stream; the streams are numbered from 1 in the order of their first use.
    pinned : bool
        True for a copy from or to page-locked host memory.
    start_ms, stop_ms : float
        Milliseconds since the timeline was started.
    """

    kind: str
    label: str
    stream: int
    pinned: bool
    start_ms: float
    stop_ms: float

    @property
    def duration_ms(self) -> float:
        return self.stop_ms - self.start_ms


class Timeline:
    """A recording of copies and kernels; `gpulab.timeline` creates it.

    Use it in a ``with`` statement: it records all copies and kernels of the device inside the block, and
    synchronises the device at the end of the block.

    Attributes
    ----------
    title : str
        The name of the recorded program.
    spans : tuple of TimelineSpan
        The operations, in the order in which the host started them.
    provenance : Provenance
        "measured" on a GPU, "modelled" on the simulator.
    """

    def __init__(self, device: Device, title: str = "") -> None:
        self.title = title
        self.spans: tuple[TimelineSpan, ...] = ()
        self._device = device
        measured = device.measures_time
        detail = "CUDA events" if measured else "copies by the bus, one kernel at a time"
        self.provenance = Provenance("measured" if measured else "modelled", device.name, detail)
        self._clock: _EventClock | _ModelClock | None = None

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds from the start of the first operation to the end of the last one."""
        if not self.spans:
            return 0.0
        return max(span.stop_ms for span in self.spans) - min(span.start_ms for span in self.spans)

    @property
    def busy_ms(self) -> float:
        """The sum of the times of all operations, in milliseconds: the elapsed time if nothing overlapped."""
        return sum(span.duration_ms for span in self.spans)

    @property
    def overlap_ms(self) -> float:
        """Milliseconds that the operations save because they overlap."""
        return self.busy_ms - covered((span.start_ms, span.stop_ms) for span in self.spans)

    def __enter__(self) -> Self:
        if self._device.observer is not None:
            raise UsageError("another timeline is recording on this device; end its `with` block first.")
        self._device.synchronize()
        self._clock = _EventClock(self._device) if self._device.measures_time else _ModelClock(self._device)
        self._device.observer = self._clock.observe
        return self

    def __exit__(self, *_: object) -> None:
        assert self._clock is not None
        self._device.observer = None
        self._device.synchronize()
        self.spans = tuple(self._clock.spans())

    def __repr__(self) -> str:
        name = f"{self.title}: " if self.title else ""
        return (
            f"{name}{len(self.spans)} operations, {self.elapsed_ms:.3g} ms elapsed, "
            f"{self.overlap_ms:.3g} ms overlapped ({self.provenance})"
        )


def timeline(device: Device | None = None, title: str = "") -> Timeline:
    """Record when the copies and kernels of a device run.

    Parameters
    ----------
    device : Device, optional
        An open device; by default the one that `gpulab.device()` opens.
    title : str, optional
        The name of the recorded program, for `gpulab.show_timeline`.

    Returns
    -------
    Timeline
        Use it in a ``with`` statement. Afterwards it has `elapsed_ms`, `overlap_ms` and `spans`.

    Raises
    ------
    UsageError
        If another timeline is recording on the device.

    Notes
    -----
    On a GPU, CUDA events measure the operations. A copy is taken to start after the previous copy in the
    same direction, because the GPU has one copy engine for each direction.

    On the simulator the timeline is modelled. One engine copies to the device, one copies to the host, and
    one kernel runs at a time. An operation starts when its stream, its engine and the host have reached it.
    Copies take their bytes divided by the bandwidth that `gpulab.transfer_table` shows, kernels the time of
    `gpulab.profile`. The host waits for operations without a stream and for copies of pageable memory; the
    time that it needs to queue an operation is left out.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim:h200")
    >>> halves = [dev.pinned_empty(1 << 20) for _ in range(2)]
    >>> with gpulab.timeline(dev) as times:
    ...     for half in halves:
    ...         stream = dev.stream()
    ...         x = dev.asarray(half, stream=stream)
    ...         _ = dev.asnumpy(x, stream=stream, out=half)
    >>> [span.kind for span in times.spans[:2]]
    ['copy to device', 'copy to host']
    >>> times.overlap_ms > 0
    True
    """
    if device is None:
        from gpulab.devices import open_device

        device = open_device()
    return Timeline(device, title)


class _StreamNumbers:
    """Consecutive numbers for streams, in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[int | None, int] = {None: 0}

    def of(self, operation: DeviceOperation) -> int:
        stream = operation.stream
        return self._numbers.setdefault(None if stream is None else stream.number, len(self._numbers))


class _ModelClock:
    """The schedule of a simulated GPU, modelled in milliseconds."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._numbers = _StreamNumbers()
        self._host_ms = 0.0  # when the host reaches its next call
        self._engine_ms: dict[str, float] = {}  # when each engine is free
        self._stream_ms: dict[int, float] = {}  # when each stream is idle
        self._spans: list[TimelineSpan] = []
        self._kernels: dict[Any, float] = {}

    @contextmanager
    def observe(self, operation: DeviceOperation) -> Iterator[None]:
        yield
        duration = self._duration_ms(operation)
        number = self._numbers.of(operation)
        waits = self._stream_ms.values() if number == 0 else [self._stream_ms.get(number, 0.0)]
        start = max([self._host_ms, self._engine_ms.get(operation.kind, 0.0), *waits])
        stop = start + duration

        self._engine_ms[operation.kind] = self._stream_ms[number] = stop
        pageable = operation.kind != "kernel" and not operation.pinned
        if operation.stream is None or pageable:
            self._host_ms = stop
        self._spans.append(
            TimelineSpan(operation.kind, operation.label, number, operation.pinned, start, stop)
        )

    def spans(self) -> Sequence[TimelineSpan]:
        return self._spans

    def _duration_ms(self, operation: DeviceOperation) -> float:
        if operation.launch is None:
            gb_s, _ = copy_rate(self._device.spec, operation.pinned)
            return operation.nbytes / gb_s / 1e6
        return self._kernel_ms(operation.launch)

    def _kernel_ms(self, launch: Launch) -> float:
        """Return the modelled time of a launch; launches that differ only in the values are modelled once."""
        arguments = tuple(str(getattr(value, "shape", ()) or value) for value in launch.args)
        geometry = dim3(launch.grid, "grid"), dim3(launch.block, "block"), launch.shared_mem
        key = launch.kernel, geometry, arguments
        if key not in self._kernels:
            grid, block, shared_mem = geometry
            profile = self._device.profile(launch.kernel, grid, block, launch.args, shared_mem)
            self._kernels[key] = profile.time_ms
        return self._kernels[key]


class _EventClock:
    """Measured times of operations, by CUDA events on their streams."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._numbers = _StreamNumbers()
        self._origin = device.record_event()
        self._recorded: list[
            tuple[DeviceOperation, int, Any, Any]
        ] = []  # the operation, its stream and its events

    @contextmanager
    def observe(self, operation: DeviceOperation) -> Iterator[None]:
        start = self._device.record_event(operation.stream)
        yield
        stop = self._device.record_event(operation.stream)
        self._recorded.append((operation, self._numbers.of(operation), start, stop))

    def spans(self) -> Iterator[TimelineSpan]:
        free_ms: dict[str, float] = {}  # when the copy engine of each direction is free
        for operation, number, *events in self._recorded:
            start, stop = (self._device.elapsed_ms(self._origin, event) for event in events)
            if operation.kind != "kernel":
                start = min(max(start, free_ms.get(operation.kind, 0.0)), stop)
                free_ms[operation.kind] = stop
            yield TimelineSpan(operation.kind, operation.label, number, operation.pinned, start, stop)
