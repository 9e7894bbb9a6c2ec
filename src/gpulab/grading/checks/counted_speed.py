"""The speed of a kernel relative to the reference solution without a GPU, by the counts of one launch.

A multiprocessor needs at least

- one cycle for each four sectors (128 bytes) of global memory and for each wavefront of shared memory, which
  pass through the same 128-byte data path of the L1 cache,
- one cycle for each request of 32 lanes to memory, and
- one cycle for each four warp instructions, because it has four schedulers.

The largest of the three bounds a launch. PTX has any number of registers: the accesses to local memory of a
kernel whose values do not fit into the registers of a GPU are those of its machine code. These rates hold for
all architectures from Volta on (CUDA C++ Programming Guide, "Compute Capabilities"; NVIDIA, "Volta:
Architecture and performance optimization", GTC 2018). DRAM traffic is left out: kernels of the same problem
need the same bytes.

The grader counts the reference solution on the same size and inputs. A notebook has no reference solution: it
scales the counts that ship with gpulab by the problem's work, which is at most 3 % from the grader's counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

from gpulab.config import KernelConfig
from gpulab.errors import WrongResult
from gpulab.problems.baselines import shipped_cost
from gpulab.profiling.counts.cell_counts import CellCount, count_cell
from gpulab.verification.counted_launch import compare_counted_launch

if TYPE_CHECKING:
    import numpy as np

    from gpulab.cell import KernelCell
    from gpulab.devices.base import Kernel
    from gpulab.problems.base import Shape

__all__ = ["CountedCost", "cost_of", "count_against_reference", "count_against_shipped"]

SECTORS_PER_CYCLE, INSTRUCTIONS_PER_CYCLE = 4, 4
LOCAL_ACCESSES = ("LDL", "STL")  # machine instructions that access local memory
MAX_COMMON_UNIT = 256  # points on an axis: a larger common multiple of two blocks is not used


@dataclass(frozen=True)
class CountedCost:
    """The cycles that a launch needs at least on one multiprocessor, by resource."""

    data: float
    requests: float
    instructions: float

    @property
    def cycles(self) -> float:
        """The largest of the three."""
        return max(self.data, self.requests, self.instructions)


def cost_of(count: CellCount) -> CountedCost:
    """Return the cost of a counted launch."""
    sectors = wavefronts = requests = local = 0
    for site in count.recorded.sites:
        for space, counted in site.counts.items():
            sectors += counted.units * (space == "global")
            wavefronts += counted.units * (space == "shared")
            local += counted.executions * (space == "local")
            requests += counted.executions * (space in ("global", "shared"))
    counters = count.recorded.counters
    if count.recorded.code is not None:
        local = sum(counters.opcodes.get(opcode, 0) for opcode in LOCAL_ACCESSES)
    # Local memory lies in global memory, one coalesced line for each request of 4-byte elements.
    data = sectors / SECTORS_PER_CYCLE + wavefronts + local
    return CountedCost(data, requests + local, counters.warp_instructions / INSTRUCTIONS_PER_CYCLE)


def count_against_reference(
    cell: KernelCell, kernel: Kernel, reference: KernelCell, rng: np.random.Generator
) -> tuple[CountedCost, CountedCost]:
    """Count both kernels on the same size and inputs; return the costs of the kernel and of the reference.

    Raises `WrongResult` if the kernel computes wrong values on this launch.
    """
    from gpulab.verification.check import compile_cell

    configs = (cell.config, reference.config)
    shape, seed = _common_shape(configs, rng), int(rng.integers(1 << 63))
    own = _count_own(cell, kernel, shape, seed)
    solution = compile_cell(reference, kernel.on_simulator.device)
    best = count_cell(reference, solution, shape=shape, seed=seed, machine=False)
    return own, cost_of(best)


def count_against_shipped(cell: KernelCell, kernel: Kernel) -> tuple[CountedCost, CountedCost] | None:
    """Count a kernel; return its cost and that of the solution, from the counts that ship with gpulab.

    Return None if none ship for the step. Raises `WrongResult` if the kernel computes wrong values on this
    launch.
    """
    problem = cell.config.problem
    shipped = shipped_cost(problem.name, cell.config.variant)
    if shipped is None:
        return None
    reference = KernelConfig(problem, shipped.variant, shipped.block, shipped.tile)
    shape = _common_shape((cell.config, reference))
    ratio = problem.work(shape) / problem.work(shipped.shape)
    best = (ratio * cycles for cycles in (shipped.data, shipped.requests, shipped.instructions))
    return _count_own(cell, kernel, shape, seed=0), CountedCost(*best)


def _count_own(cell: KernelCell, kernel: Kernel, shape: Shape, seed: int) -> CountedCost:
    """Return the cost of a student's kernel; raise `WrongResult` if its values are wrong on this launch."""
    own = count_cell(cell, kernel, shape=shape, seed=seed, machine=kernel.resources.spill_bytes > 0)
    compared = compare_counted_launch(own)
    if not compared.correct:
        reasons = [f"on the counted launch, {reason}" for reason in compared.reasons]
        raise WrongResult("\n".join([f"{cell.name} is not correct.", *reasons]))
    return cost_of(own)


def _common_shape(configs: Sequence[KernelConfig], rng: np.random.Generator | None = None) -> Shape:
    """Return a size that consists of whole blocks of both kernels, if it is not too large.

    rng: adds a block on some axes; None takes the smallest size.
    """
    shape, problem = [], configs[0].problem
    for axis, extents in enumerate(zip(*(config.counted_shape for config in configs), strict=True)):
        units = [c.problem.block_points(c.block, c.tile)[axis] for c in configs]
        legal = [c.problem.shape_multiples(c.variant, c.block, c.tile)[axis] for c in configs]
        unit = lcm(*units, *legal)
        if unit > MAX_COMMON_UNIT:
            unit = lcm(*legal)
        more = int(rng.integers(0, 2)) if rng is not None and unit <= max(extents) // 2 else 0
        size = list(problem.sizes.values())[axis]
        shape.append(size.nearest(unit * (-(-max(extents) // unit) + more), unit))
    return tuple(shape)
