"""How far the performance model is off: beside published times, and beside times measured on an H200.

The kernels of the published tables and the measured times are in the repository, in benchmarks/; a package
that was installed from a wheel has neither.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from gpulab.config import KernelConfig, defines
from gpulab.devices import open_device
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu as gpu_named
from gpulab.model.profile import Profile, profile_variant
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block, Shape
from gpulab.problems.published import PublishedRow, rows
from gpulab.profiling.transfers import time_copies

__all__ = ["Compared", "Summary", "kendall_tau", "measured_rows", "named_alike", "published_rows", "summary"]

HIGH = 0.6  # of its peak: a part that is busier bounds a kernel, by Nsight Compute's rules for speed of light
PUBLISHED = {"Ks": "Ks", "K1": "K1", "K2": "K2", "K3": "K2", "K4": "K2", "K34": "K2", "K5": "K5"}
_ONE = {"sm": ("issue", "fp32", "fma", "integer", "fp64", "special"), "L1": ("L1",), "memory": ("L2", "DRAM")}
_NCU = {
    "sm": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    "L1": ("l1tex__throughput.avg.pct_of_peak_sustained_active",),
    "memory": (
        "lts__throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
}


@dataclass(frozen=True)
class Compared:
    """One time that is known beside the model's, in milliseconds.

    gpu: the catalogue's key. label: kernel, block and tile. kind: "kernel" or "overall" (with copies).
    fitted: whether parameters of the model were chosen by this time. bound, ncu: what bounds it by the
    model, and by Nsight Compute where that was asked. problem: that the kernel belongs to.
    """

    gpu: str
    variant: str
    label: str
    kind: str
    known_ms: float
    modelled_ms: float
    fitted: bool
    bound: str = ""
    ncu: str = ""
    problem: str = ""

    @property
    def error(self) -> float:
        """Of the time: 0.1 where the model's is 10 % too long."""
        return self.modelled_ms / self.known_ms - 1


@dataclass(frozen=True)
class Summary:
    """Errors are absolute, of the time, 0.1 for 10 %; tau is Kendall's rank correlation."""

    count: int
    mean: float
    worst: float
    tau: float


def summary(compared: Sequence[Compared]) -> Summary:
    """Raises `UsageError` where there is nothing to compare."""
    if not compared:
        raise UsageError("there is nothing to compare.")
    errors = [abs(one.error) for one in compared]
    tau = kendall_tau([(one.known_ms, one.modelled_ms) for one in compared])
    return Summary(len(compared), fmean(errors), max(errors), tau)


def kendall_tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Kendall's tau-a without ties: pairs in the same order less pairs in the other, by those in either."""
    same = other = 0
    for number, (x, y) in enumerate(pairs):
        for u, v in pairs[:number]:
            sign = (x - u) * (y - v)
            same += sign > 0
            other += sign < 0
    return (same - other) / (same + other) if same + other else 1.0


@dataclass(frozen=True)
class _Checkout:
    root: Path

    def read(self, path: str) -> bytes:
        try:
            return (self.root / path).read_bytes()
        except OSError:
            raise UsageError(
                f"there is no {path} in {self.root}: run this in gpulab's repository, or name it."
            ) from None

    @cached_property
    def measured(self) -> Mapping[str, Any]:
        data: Mapping[str, Any] = json.loads(
            lzma.decompress(self.read("benchmarks/figures/model-h200.json.xz"))
        )
        return data


def published_rows(repository: Path, sources: Iterable[str] = ("t10", "gtx280")) -> Iterator[Compared]:
    """Every row of the tables of a GPU, modelled: the kernel alone where that was published, else overall."""
    checkout = _Checkout(repository)
    for row in (row for key in sources for row in rows(key)):
        if row.variant in PUBLISHED and row.gpu:
            yield _published(checkout, row)


def _published(checkout: _Checkout, row: PublishedRow) -> Compared:
    known = problem_named(row.problem)
    name = PUBLISHED[row.variant]
    text = checkout.read(f"benchmarks/published_kernels/{name}.cu").decode()
    block, tile = row.block or known.block_of(row.variant), row.tile or (1, 1, 1)
    if row.variant == "Ks":
        block = (1, block[0] * block[1], 1)
    shape: Shape = row.shape or known.timing_shape(row.variant, block, tile)
    text = text.replace("K_UNROLL", str(row.k_unroll))
    profile = _profile(row.problem, row.variant, text, block, tile, shape, row.gpu)
    work = known.flops(shape) / 1e6
    overall = row.kernel_gflops is None
    published = row.overall_gflops if overall else row.kernel_gflops
    if published is None:
        raise UsageError(f"the row {row.label} has no time.")
    modelled = profile.time_ms
    if overall:
        modelled += time_copies(open_device("sim"), known, shape, gpu=row.gpu).median_ms
    label = f"{row.label} {'x'.join(map(str, block))}"
    return Compared(
        row.gpu, row.variant, label, "overall" if overall else "kernel", work / published, modelled,
        row.gpu == "t10", profile.bottleneck, problem=row.problem,
    )  # fmt: skip


def measured_rows(repository: Path, limit: int | None = None) -> Iterator[Compared]:
    """Every launch that was measured on the H200, modelled. limit: only so many, spread over them."""
    launches = [one for one in _Checkout(repository).measured["launches"] if "ms" in one]
    fitted = set(sorted({one["name"] for one in launches})[::2])  # every other kernel
    step = max(len(launches) // limit, 1) if limit else 1
    for one in launches[::step]:
        block: Block = tuple(one["block"])
        tile: Block = tuple(one["tile"])
        shape = problem_named(one["problem"]).timing_shape(one["variant"], block, tile)
        profile = _profile(one["problem"], one["variant"], one["source"], block, tile, shape, "h200")
        label = f"{one['name']} {'x'.join(map(str, block))} {'x'.join(map(str, tile))}"
        yield Compared(
            "h200", one["variant"], label, "kernel", one["ms"], profile.time_ms,
            one["name"] in fitted, _bound(profile), _ncu_bound(one.get("ncu", {})), one["problem"],
        )  # fmt: skip


def named_alike(compared: Sequence[Compared]) -> tuple[int, int]:
    """How many launches the model and Nsight Compute name the same bound for, and of how many."""
    both = [one for one in compared if one.ncu]
    return sum(one.bound == one.ncu for one in both), len(both)


def _bound(profile: Profile) -> str:
    """The busiest part, if it is busy for 60 % of the time, as Nsight Compute has it; else latency."""
    time_ms = profile.time_ms - profile.terms["launch"]
    busy = {
        part: max(profile.terms.get(name, 0.0) for name in names) / time_ms for part, names in _ONE.items()
    }
    return _busiest(busy)


def _ncu_bound(metrics: Mapping[str, float]) -> str:
    busy = {part: max(metrics.get(name, 0.0) for name in names) / 100 for part, names in _NCU.items()}
    return _busiest(busy) if metrics else ""


def _busiest(busy: Mapping[str, float]) -> str:
    part = max(busy, key=lambda name: busy[name])
    return part if busy[part] >= HIGH else "latency"


def _profile(
    problem: str, variant: str, text: str, block: Block, tile: Block, shape: Shape, gpu: str
) -> Profile:
    known, device = problem_named(problem), open_device("sim:h200")
    kernel = device.compile(text, known.kernel_name(variant), defines(block, tile))
    gpu_named(gpu)
    config = KernelConfig(known, variant, block, tile)
    return profile_variant(kernel, config, device=device, shape=shape, gpu=gpu)
