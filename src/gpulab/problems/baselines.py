"""Figures of the labs' solutions that ship with gpulab, read from `baselines.toml`.

Until a student's own first kernel is correct, tables, sliders and rooflines compare with the figures of the
first solution. Without a GPU, a notebook compares a step that is graded by its speed with the counts of its
solution. The file holds modelled times and counts only; the text of the kernels is not part of the package.
It is written by ``python -m benchmarks.baselines``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from gpulab.problems.base import Block, Shape

__all__ = ["BaselineTime", "ShippedBaseline", "ShippedCost", "shipped_baseline", "shipped_cost"]


@dataclass(frozen=True)
class BaselineTime:
    """The modelled launch of a baseline on one GPU.

    Attributes
    ----------
    time_ms : float
        Milliseconds.
    bottleneck : str
        What bounds the kernel, as `gpulab.Profile.bottleneck` names it.
    occupancy : float
        Resident warps divided by the most that an SM can hold, 0 to 1.
    dram_bytes : float
        Bytes that the launch moves between DRAM and the chip.
    """

    time_ms: float
    bottleneck: str
    occupancy: float
    dram_bytes: float


@dataclass(frozen=True)
class ShippedBaseline:
    """The figures of the kernel that students of a lab write first.

    Attributes
    ----------
    problem, variant : str
        The kernel's name, in two parts.
    block, tile : tuple of int
        The geometry of the launch.
    shape : tuple of int
        The problem's size.
    compiler : str
        The compiler, its version and the architecture.
    registers : int
        Registers per thread.
    counts : mapping of str to float
        Requests of warps and sectors of 32 bytes per 32 units of work, as `gpulab.traffic_table` shows them.
    times : mapping of str to BaselineTime
        By the GPU's key in the catalogue.
    """

    problem: str
    variant: str
    block: Block
    tile: Block
    shape: Shape
    compiler: str
    registers: int
    counts: Mapping[str, float]
    times: Mapping[str, BaselineTime]

    @property
    def label(self) -> str:
        """The words that accompany its figures wherever they are shown."""
        return "baseline that ships with gpulab (modelled)"


@dataclass(frozen=True)
class ShippedCost:
    """The cost of one launch of the solution of a step that is graded by its speed.

    Attributes
    ----------
    variant : str
        The step.
    block, tile : tuple of int
        The geometry of the launch.
    shape : tuple of int
        The problem's size.
    data, requests, instructions : float
        Cycles of one multiprocessor, as in `gpulab.grading.checks.counted_speed.CountedCost`.
    """

    variant: str
    block: Block
    tile: Block
    shape: Shape
    data: float
    requests: float
    instructions: float


def shipped_cost(problem: str, variant: str) -> ShippedCost | None:
    """Return the cost of the solution of a step; None if none ships with gpulab."""
    figures = _tables().get(problem, {}).get("open", {})
    if figures.get("variant") != variant:
        return None
    block, tile = ((x, y, z) for x, y, z in (figures["block"], figures["tile"]))
    cycles = (figures[name] for name in ("data", "requests", "instructions"))
    return ShippedCost(variant, block, tile, tuple(figures["shape"]), *cycles)


def shipped_baseline(problem: str) -> ShippedBaseline | None:
    """Return the baseline of a problem; None if it has none."""
    return _baselines().get(problem)


@cache
def _tables() -> Mapping[str, Any]:
    """Return the tables of the file, one for each problem."""
    text = files("gpulab.problems").joinpath("baselines.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


@cache
def _baselines() -> Mapping[str, ShippedBaseline]:
    return MappingProxyType({name: _read(name, table) for name, table in _tables().items()})


def _read(problem: str, table: Mapping[str, Any]) -> ShippedBaseline:
    block, tile = ((x, y, z) for x, y, z in (table["block"], table["tile"]))
    times = {key: BaselineTime(**figures) for key, figures in table["gpu"].items()}
    return ShippedBaseline(
        problem,
        table["variant"],
        block,
        tile,
        tuple(table["shape"]),
        table["compiler"],
        table["registers"],
        MappingProxyType(table["counts"]),
        MappingProxyType(times),
    )
