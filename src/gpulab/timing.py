"""A program's time by section, as Parboil reports it: IO, GPU, Copy, Driver, Copy_Async, Compute.

    timers = gpulab.timing.Sections(device)
    with timers.section("Copy"):
        x = device.asarray(host)
    with timers.section("GPU"):
        kernel(grid, block, (x,))
    timers.report()

The sections are those of the PASI lab manual (Algorithmic Techniques for Many-core Processors, January 10,
2011), Lab 0, which names and describes them.
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
    "GPU": "kernels, from their start to their end on the GPU, while the host goes on",
    "Copy": "copies that the host waits for, and getting and freeing memory of the GPU",
    "Driver": "the host putting work into the GPU's queue",
    "Copy_Async": "copies that the host does not wait for",
    "Compute": "everything else that the host does",
}
ASYNCHRONOUS = frozenset({"GPU", "Copy_Async"})
OVERLAP = "CPU/GPU Overlap"


@dataclass(frozen=True)
class Span:
    """From when to when something ran, in seconds since the timers began."""

    start_s: float
    stop_s: float

    @property
    def seconds(self) -> float:
        return self.stop_s - self.start_s


@dataclass(frozen=True)
class SectionTime:
    """One section of the report: its spans in the order in which they ran, and whose clock told them.

    asynchronous: whether it ran beside the host, so that its time may be another section's too.
    """

    name: str
    spans: tuple[Span, ...]
    asynchronous: bool
    provenance: Provenance

    @property
    def seconds(self) -> float:
        return sum(span.seconds for span in self.spans)


class Sections:
    """Timers of a program that runs partly on a GPU.

    The host is in one section at a time: a section inside another one takes the time over until it ends.
    GPU and Copy_Async run beside the host when `device` is a CUDA GPU: kernels called there are queued and
    not waited for, the host's own time goes to Driver, and the GPU's events say when they ran. On the
    simulator, and without a device, they are timed like the others, and nothing overlaps.

    clock: seconds; read once when the timers begin and once at both ends of every section.
    """

    def __init__(self, device: Device | None = None, *, clock: Callable[[], float] = perf_counter) -> None:
        self._device = device
        self._gpu = _asynchronous(device)
        self._clock = clock
        self._spans: dict[str, list[Span]] = {name: [] for name in MEANINGS}
        self._queued: list[tuple[str, Any, Any]] = []
        self._open: list[str | None] = []  # the sections that the host is in; None while it only waits
        self._origin: Any = None
        if self._gpu is not None:
            self._gpu.synchronize()  # so that the mark is made now, and both clocks begin together
            self._origin = self._gpu.mark()
        self._began = self._since = clock()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """The block's time goes to the section `name`; `UsageError` for one that there is not."""
        if name not in MEANINGS:
            raise UsageError(f"there is no section `{name}`; there is: {', '.join(MEANINGS)}.")
        if name not in ASYNCHRONOUS or self._gpu is None:
            with self._host(name):
                yield
            return
        with self._host("Driver"), self._gpu.queueing():
            start = self._gpu.mark()
            yield
            self._queued.append((name, start, self._gpu.mark()))

    def wait(self) -> None:
        """Until the device has ended what it was given; the waiting is no section's time."""
        if self._device is not None:
            with self._host(None):
                self._device.synchronize()

    @property
    def overlap(self) -> float:
        """Seconds that are counted more than once: the sections' sum less the time when any of them ran."""
        spans = [span for row in self.report() for span in row.spans]
        return sum(span.seconds for span in spans) - _covered(spans)

    def report(self) -> tuple[SectionTime, ...]:
        """Every section in Parboil's order, those that never ran too. Waits for what is queued.

        A section that is still open is counted up to its last switch.
        """
        spans = {name: list(found) for name, found in self._spans.items()}
        for name, start, stop in self._queued:
            begun, ended = (self._gpu.between(self._origin, mark) / 1e3 for mark in (start, stop))
            spans[name].append(Span(begun, ended))
        return tuple(
            SectionTime(name, tuple(found), self._beside(name), self._provenance(name))
            for name, found in spans.items()
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
        """Give the time since the last switch to the section that the host was in."""
        now = self._clock()
        here = self._open[-1] if self._open else None
        if here is not None and now > self._since:
            self._spans[here].append(Span(self._since - self._began, now - self._began))
        self._since = now

    def _beside(self, name: str) -> bool:
        return name in ASYNCHRONOUS and self._gpu is not None

    def _provenance(self, name: str) -> Provenance:
        if self._beside(name):
            return Provenance("measured", self._gpu.name, "CUDA events")
        if name == "GPU" and self._device is not None:
            return Provenance("simulator wall time", self._device.name)
        return Provenance("measured", "host", "its own clock")


def _asynchronous(device: Device | None) -> Any:
    """The device itself when it works beside the host (a `CudaDevice`), else None."""
    return device if device is not None and device.measures_time else None


def _covered(spans: Iterable[Span]) -> float:
    """Seconds in at least one of the spans."""
    covered, reached = 0.0, float("-inf")
    for span in sorted(spans, key=lambda span: span.start_s):
        covered += max(0.0, span.stop_s - max(span.start_s, reached))
        reached = max(reached, span.stop_s)
    return covered
