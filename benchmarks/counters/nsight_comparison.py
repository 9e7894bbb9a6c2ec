"""Comparison of `gpulab.counters` with Nsight Compute's figures of the same launches.

The simulator gets the programs that the GPU ran and the same arguments; no GPU is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gpulab
from benchmarks.counters.nsight_figures import COMPARED, NsightFigures
from benchmarks.counters.nsight_launches import NsightLaunch
from gpulab.compiler import compile_program
from gpulab.compiler.program import Resources
from gpulab.devices.simulator.simulated_device import SimulatedDevice, SimulatedKernel

__all__ = ["LaunchComparison", "MetricComparison", "agreement", "compare"]

FEWEST_REGISTERS = 16  # the GPU allocates, and Nsight Compute reports, at least as many


@dataclass(frozen=True)
class MetricComparison:
    """One metric of one launch, counted by gpulab and measured by Nsight Compute."""

    launch: str
    metric: str
    counted: int
    measured: int

    @property
    def relative(self) -> float:
        """The difference, relative to the measured value."""
        return (self.counted - self.measured) / max(self.measured, 1)


@dataclass(frozen=True)
class LaunchComparison:
    """One launch: its metrics by short name, and the caveats of gpulab's counts."""

    launch: NsightLaunch
    metrics: Mapping[str, MetricComparison]
    caveats: tuple[str, ...]


def compare(figures: NsightFigures, launches: Sequence[NsightLaunch]) -> Iterator[LaunchComparison]:
    """Yield the comparison of every launch that Nsight Compute measured."""
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    kernels: dict[tuple[str, str], SimulatedKernel] = {}

    for launch in launches:
        measured = figures.measured.get(launch.name)
        if measured is None:
            continue
        key = launch.source.name, launch.kernel
        if key not in kernels:
            kernels[key] = _measured_kernel(device, launch, figures.programs[launch.source.name])

        arguments = [
            device.asarray(value) if getattr(value, "ndim", 0) else value for value in launch.arguments()
        ]
        counters = gpulab.counters(kernels[key], launch.grid, launch.block, arguments)
        counted = _counted(counters)
        metrics = {
            name: MetricComparison(launch.name, name, counted[name], measured[name])
            for name in COMPARED
            if name in counted and name in measured
        }
        yield LaunchComparison(launch, metrics, counters.caveats)


def agreement(
    comparisons: Sequence[LaunchComparison],
) -> dict[str, tuple[int, int, MetricComparison | None]]:
    """Return, by metric, the launches that agree exactly, all launches, and the worst difference if any."""
    rows = {}
    for name in COMPARED:
        metrics = [one.metrics[name] for one in comparisons if name in one.metrics]
        different = [metric for metric in metrics if metric.counted != metric.measured]
        worst = max(different, key=lambda metric: abs(metric.relative), default=None)
        rows[name] = len(metrics) - len(different), len(metrics), worst
    return rows


def _measured_kernel(
    device: SimulatedDevice, launch: NsightLaunch, program: Mapping[str, Any]
) -> SimulatedKernel:
    """Return the kernel that the GPU ran, on the simulator."""
    recompiled = compile_program(launch.source.text, defines=launch.source.defines)
    measured = replace(
        recompiled,
        ptx=program["ptx"],
        cubin=program["cubin"],
        entries=program["entries"],
        resources={name: Resources(**resources) for name, resources in program["resources"].items()},
    )
    return device.module_of(measured).get_function(launch.kernel)


def _counted(counters: gpulab.Counters) -> dict[str, int]:
    """Return gpulab's counts by the short names of `COMPARED`."""
    counted = {
        name: round(counters[metric])
        for name, metric in COMPARED.items()
        if metric in counters and name != "registers"
    }
    counted["registers"] = max(FEWEST_REGISTERS, counters.registers_per_thread)
    for kind in ("load", "store"):
        counted[f"shared {kind} requests"] = counters.total("requests", "shared", kind)
    conflicts = [counters.total("bank_conflicts", "shared", kind) for kind in ("load", "store")]
    counted["bank conflicts"] = sum(conflicts)
    return counted
