"""Errors of the performance model: modelled times against published times, and against times of an H200."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.model_launches import TimedLaunch, config_of
from benchmarks.recordings import recorded
from gpulab.config import KernelConfig
from gpulab.devices import open_device
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu
from gpulab.model.estimate import Estimate
from gpulab.model.profile import Profile, estimate_recording, profile_variant, variant_launch
from gpulab.model.recording import LaunchRecording
from gpulab.model.sampling import SampledLaunch
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block, Shape
from gpulab.problems.published import PublishedRow, rows
from gpulab.profiling.transfers import time_copies

__all__ = [
    "ErrorSummary",
    "TimeComparison",
    "kendall_tau",
    "measured_launches",
    "measured_rows",
    "published_rows",
    "recording_of",
    "same_bound",
    "summarise",
]

FOLDER = Path(__file__).parent
MEASURED = FOLDER / "figures" / "model-h200.json.xz"
# Files of `published_kernels` by the variant of a published row.
PUBLISHED = {"Ks": "Ks", "K1": "K1", "K2": "K2", "K3": "K2", "K4": "K2", "K34": "K2", "K5": "K5"}
# A part that is busy for this share of the time bounds a kernel, by Nsight Compute's speed-of-light rules.
BUSY = 0.6
# Parts by the terms of the model and by the metrics of Nsight Compute. L2 and DRAM are one part, because all
# bytes of DRAM pass through L2.
_TERMS = {
    "sm": ("issue", "fp32", "fma", "integer", "fp64", "special", "constant", "load_store"),
    "L1": ("L1",),
    "memory": ("L2", "DRAM"),
}
_METRICS = {
    "sm": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    "L1": ("l1tex__throughput.avg.pct_of_peak_sustained_active",),
    "memory": (
        "lts__throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
}


@dataclass(frozen=True)
class TimeComparison:
    """A published or measured time and the modelled one, in milliseconds.

    Attributes
    ----------
    gpu : str
        Key in the catalogue.
    variant, problem : str
        Of the kernel.
    label : str
        Kernel, block and tile.
    kind : str
        "kernel", or "overall" for a time that includes copies.
    reference_ms, modelled_ms : float
    fitted : bool
        True if parameters of the model were fitted to this time.
    bound, ncu : str
        The part that bounds the kernel, by the model and by Nsight Compute; empty if that was not measured.
    """

    gpu: str
    variant: str
    label: str
    kind: str
    reference_ms: float
    modelled_ms: float
    fitted: bool
    bound: str = ""
    ncu: str = ""
    problem: str = ""

    @property
    def error(self) -> float:
        """Relative error of the modelled time: 0.1 if it is 10 % too long."""
        return self.modelled_ms / self.reference_ms - 1


@dataclass(frozen=True)
class ErrorSummary:
    """Number of times, mean and largest absolute relative error, and Kendall's rank correlation."""

    count: int
    mean: float
    worst: float
    tau: float


def summarise(comparisons: Sequence[TimeComparison]) -> ErrorSummary:
    """Return the summary of the errors. Raise `UsageError` if there are none."""
    if not comparisons:
        raise UsageError("there are no times to compare.")
    errors = [abs(one.error) for one in comparisons]
    tau = kendall_tau([(one.reference_ms, one.modelled_ms) for one in comparisons])
    return ErrorSummary(len(comparisons), fmean(errors), max(errors), tau)


def kendall_tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Kendall's tau: concordant minus discordant pairs, divided by their sum. Ties do not count."""
    concordant = discordant = 0
    for number, (x, y) in enumerate(pairs):
        for u, v in pairs[:number]:
            sign = (x - u) * (y - v)
            concordant += sign > 0
            discordant += sign < 0
    total = concordant + discordant
    return (concordant - discordant) / total if total else 1.0


def same_bound(comparisons: Sequence[TimeComparison]) -> tuple[int, int]:
    """Return the launches that the same part bounds by the model and by Nsight Compute, and all launches."""
    measured = [one for one in comparisons if one.ncu]
    return sum(one.bound == one.ncu for one in measured), len(measured)


def published_rows(sources: Iterable[str] = ("t10", "gtx280")) -> Iterator[TimeComparison]:
    """Yield the comparison of every published row, of the kernel alone if that was published."""
    for row in (row for key in sources for row in rows(key)):
        if row.variant in PUBLISHED and row.gpu:
            yield _published(row)


def _published(row: PublishedRow) -> TimeComparison:
    problem = problem_named(row.problem)
    block = row.block or problem.block_of(row.variant)
    if row.variant == "Ks":
        block = (1, block[0] * block[1], 1)
    config = KernelConfig(problem, row.variant, block, row.tile or (1, 1, 1))
    shape = row.shape or config.timing_shape

    source = (FOLDER / "published_kernels" / f"{PUBLISHED[row.variant]}.cu").read_text(encoding="utf-8")
    profile = _profile(config, source.replace("K_UNROLL", str(row.k_unroll)), shape, row.gpu)

    includes_copies = row.kernel_gflops is None
    gflops = row.overall_gflops if includes_copies else row.kernel_gflops
    if gflops is None:
        raise UsageError(f"the published row {row.label} has no time.")
    modelled_ms = profile.time_ms
    if includes_copies:
        modelled_ms += time_copies(open_device("sim"), problem, shape, gpu=row.gpu).median_ms
    return TimeComparison(
        gpu=row.gpu,
        variant=row.variant,
        label=f"{row.label} {'x'.join(map(str, block))}",
        kind="overall" if includes_copies else "kernel",
        reference_ms=problem.flops(shape) / 1e6 / gflops,
        modelled_ms=modelled_ms,
        fitted=row.gpu == "t10",
        bound=profile.bottleneck,
        problem=row.problem,
    )


def measured_launches() -> dict[str, TimedLaunch]:
    """Return the launches that were measured on the H200, by label."""
    names = [field.name for field in fields(TimedLaunch)]
    data: Mapping[str, Any] = json.loads(lzma.decompress(MEASURED.read_bytes()))
    launches = [
        TimedLaunch(**{name: each[name] for name in names}) for each in data["launches"] if "ms" in each
    ]
    return {each.label: replace(each, block=_three(each.block), tile=_three(each.tile)) for each in launches}


def _three(extents: Sequence[int]) -> Block:
    x, y, z = extents
    return x, y, z


def measured_rows(limit: int | None = None) -> Iterator[TimeComparison]:
    """Yield the comparison of every launch that was measured on the H200, or of `limit` of them."""
    data: Mapping[str, Any] = json.loads(lzma.decompress(MEASURED.read_bytes()))
    launches = [launch for launch in data["launches"] if "ms" in launch]
    fitted = set(sorted({launch["name"] for launch in launches})[::2])  # every other kernel, by name
    step = max(len(launches) // limit, 1) if limit else 1
    timed = measured_launches()

    for launch in launches[::step]:
        one = timed[launch["label"]]
        _, estimated = estimate_recording(recording_of(one), gpu("h200"))
        yield TimeComparison(
            gpu="h200",
            variant=one.variant,
            label=one.label.partition("/")[2],
            kind="kernel",
            reference_ms=launch["ms"],
            modelled_ms=estimated.time_ms,
            fitted=one.name in fitted,
            bound=_modelled_bound(estimated),
            ncu=_measured_bound(launch.get("ncu", {})),
            problem=one.problem,
        )


def recording_of(launch: TimedLaunch) -> LaunchRecording:
    """Return the recording of a launch of the labs on an H200."""
    spec, config = gpu("h200"), config_of(launch)

    def make() -> SampledLaunch:
        kernel = open_device("sim:h200").compile(launch.source, config.kernel_name, config.defines)
        return variant_launch(kernel, config, spec)

    return recorded(spec, make, launch)


def _profile(config: KernelConfig, source: str, shape: Shape, gpu: str) -> Profile:
    device = open_device("sim:h200")
    kernel = device.compile(source, config.kernel_name, config.defines)
    return profile_variant(kernel, config, device=device, shape=shape, gpu=gpu)


def _modelled_bound(estimated: Estimate) -> str:
    time_ms = estimated.time_ms - estimated.terms["launch"]
    return _busiest(
        {
            part: max(estimated.terms.get(name, 0.0) for name in names) / time_ms
            for part, names in _TERMS.items()
        }
    )


def _measured_bound(metrics: Mapping[str, float]) -> str:
    if not metrics:
        return ""
    return _busiest(
        {part: max(metrics.get(name, 0.0) for name in names) / 100 for part, names in _METRICS.items()}
    )


def _busiest(busy: Mapping[str, float]) -> str:
    """Return the busiest part, or latency if no part is busy for `BUSY` of the time."""
    part = max(busy, key=lambda name: busy[name])
    return part if busy[part] >= BUSY else "latency"
