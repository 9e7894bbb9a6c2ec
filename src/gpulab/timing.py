"""A timer that divides a program's time into sections: IO, GPU, Copy, Driver, Copy_Async and Compute.

The sections are those of the Parboil benchmarks, as described in Lab 0 of the PASI lab manual (Algorithmic
Techniques for Many-core Processors, January 10, 2011).

Examples
--------
>>> import gpulab
>>> import numpy as np
>>> dev = gpulab.device("sim")
>>> timers = gpulab.timing.Sections(dev)
>>> with timers.section("Copy"):
...     x = dev.asarray(np.zeros(1000))
>>> [row.name for row in timers.report() if row.seconds > 0]
['Copy']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from gpulab.devices.base import Device
from gpulab.errors import UsageError
from gpulab.provenance import Provenance

__all__ = ["ASYNCHRONOUS", "MEANINGS", "OVERLAP", "SectionTime", "Sections", "Span"]

MEANINGS = {
    "IO": "reading and writing files",
    "GPU": "kernels, from their start to their end on the GPU",
    "Copy": "synchronous copies, and allocating and freeing memory of the GPU",
    "Driver": "submitting work to the GPU's queue",
    "Copy_Async": "asynchronous copies",
    "Compute": "all other work of the host",
}
ASYNCHRONOUS = frozenset({"GPU", "Copy_Async"})
OVERLAP = "CPU/GPU Overlap"


@dataclass(frozen=True)
class Span:
    """The start and the end of some work.

    Attributes
    ----------
    start_s, stop_s : float
        Seconds since the timers were created.
    """

    start_s: float
    stop_s: float

    @property
    def seconds(self) -> float:
        """The duration."""
        return self.stop_s - self.start_s


@dataclass(frozen=True)
class SectionTime:
    """The time of one section.

    Attributes
    ----------
    name : str
        The section.
    spans : tuple of Span
        Its parts, in the order in which they ran.
    asynchronous : bool
        True if the section ran concurrently with the host, so that its time can also be part of another
        section.
    provenance : Provenance
        The clock that measured it.
    """

    name: str
    spans: tuple[Span, ...]
    asynchronous: bool
    provenance: Provenance

    @property
    def seconds(self) -> float:
        """The sum of the spans."""
        return sum(span.seconds for span in self.spans)


class Sections:
    """Timers of a program that runs partly on a GPU.

    Parameters
    ----------
    device : Device, optional
        The device that runs the program's kernels.
    clock : callable, optional
        Returns the time in seconds. It is read once when the timers are created, and at the start and the
        end of each section.

    Notes
    -----
    The host is in one section at a time. A section inside another one interrupts it.

    On a CUDA GPU the sections GPU and Copy_Async are asynchronous: kernels that are called there are queued,
    the time that the host needs for this belongs to Driver, and CUDA events measure when the kernels ran.
    On the simulator, and without a device, they are timed like the other sections, and nothing overlaps.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> fill = dev.compile("__global__ void fill(float* x) { x[threadIdx.x] = 1; }")
    >>> timers = gpulab.timing.Sections(dev)
    >>> with timers.section("GPU"):
    ...     fill(1, 32, (dev.empty(32),))
    >>> timers.report()[1].provenance.kind
    'simulator wall time'
    """

    def __init__(self, device: Device | None = None, *, clock: Callable[[], float] = perf_counter) -> None:
        self._device = device
        self._gpu = _asynchronous(device)
        self._clock = clock
        self._spans: dict[str, list[Span]] = {name: [] for name in MEANINGS}
        self._queued: list[tuple[str, Any, Any]] = []  # (section, event at its start, event at its end)
        self._open: list[str | None] = []  # the sections that the host is in; None while it only waits
        self._origin: Any = None

        if self._gpu is not None:
            self._gpu.synchronize()  # the event is then recorded at once, so that both clocks start together
            self._origin = self._gpu.record_event()
        self._start = self._last_switch = clock()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Add the time of a `with` block to a section.

        Parameters
        ----------
        name : {"IO", "GPU", "Copy", "Driver", "Copy_Async", "Compute"}
            The section; `MEANINGS` describes each.

        Returns
        -------
        context manager
            For a ``with`` statement.

        Raises
        ------
        UsageError
            If there is no such section.
        """
        if name not in MEANINGS:
            raise UsageError(f"there is no section `{name}`; the sections are: {', '.join(MEANINGS)}.")

        if name not in ASYNCHRONOUS or self._gpu is None:
            with self._host(name):
                yield
            return

        with self._host("Driver"), self._gpu.asynchronous_launches():
            start = self._gpu.record_event()
            yield
            self._queued.append((name, start, self._gpu.record_event()))

    def wait(self) -> None:
        """Wait until the device has completed all queued work; this time belongs to no section."""
        if self._device is not None:
            with self._host(None):
                self._device.synchronize()

    @property
    def overlap(self) -> float:
        """Seconds that are part of two sections: the sum of all sections minus the time covered by any."""
        spans = [span for row in self.report() for span in row.spans]
        return sum(span.seconds for span in spans) - covered((span.start_s, span.stop_s) for span in spans)

    def report(self) -> tuple[SectionTime, ...]:
        """Return the time of every section, in Parboil's order.

        The call waits for queued work. A section that is still open is counted up to the last change of
        sections.

        Returns
        -------
        tuple of SectionTime
            One for each section, also for those that never ran.
        """
        spans = {name: list(of_section) for name, of_section in self._spans.items()}
        for name, start, stop in self._queued:
            start_s, stop_s = (self._gpu.elapsed_ms(self._origin, event) / 1e3 for event in (start, stop))
            spans[name].append(Span(start_s, stop_s))

        return tuple(
            SectionTime(name, tuple(of_section), self._runs_asynchronously(name), self._provenance(name))
            for name, of_section in spans.items()
        )

    @contextmanager
    def _host(self, name: str | None) -> Iterator[None]:
        self._switch()
        self._open.append(name)
        try:
            yield
        finally:
            self._switch()
            self._open.pop()

    def _switch(self) -> None:
        """Add the time since the last switch to the section that the host was in."""
        now = self._clock()
        current = self._open[-1] if self._open else None
        if current is not None and now > self._last_switch:
            self._spans[current].append(Span(self._last_switch - self._start, now - self._start))
        self._last_switch = now

    def _runs_asynchronously(self, name: str) -> bool:
        return name in ASYNCHRONOUS and self._gpu is not None

    def _provenance(self, name: str) -> Provenance:
        if self._runs_asynchronously(name):
            return Provenance("measured", self._gpu.name, "CUDA events")
        if name == "GPU" and self._device is not None:
            return Provenance("simulator wall time", self._device.name)
        return Provenance("measured", "host", "its own clock")


def _asynchronous(device: Device | None) -> Any:
    """Return the device if it works concurrently with the host (a `CudaDevice`), else None."""
    return device if device is not None and device.measures_time else None


def covered(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of intervals, each with its start and its end."""
    length, end = 0.0, float("-inf")
    for start, stop in sorted(intervals):
        length += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return length
