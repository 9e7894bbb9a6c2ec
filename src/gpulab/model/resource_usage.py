"""What a launch demands of one GPU: from its code and its requests to cycles and bytes of each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from gpulab.gpus.architectures import Timings
from gpulab.gpus.catalogue import GpuSpec
from gpulab.model.access_sites import apart, l2_bytes, mixed, sites_of, traffic_of
from gpulab.model.code import CodeBlock, Step, Unit, warp_cycles
from gpulab.model.estimate import Work, estimate
from gpulab.model.launch_sample import AccessSample, LaunchSample

__all__ = ["AccessSample", "LaunchSample", "loads_per_stall", "resource_usage", "units_of"]

FOLDED = 1.5  # turns of an instruction that reads an operand from shared memory itself (1.x)
WARP_PASSES = 3  # of the SM's way to memory, for each warp that begins (docs/model.md, "What was looked at")
# Warps lose step where the SM or L2 would take so many times as long as they wait for memory; and of L2 so
# much holds what came first (docs/model.md, "What was looked at").
LOSES_STEP, HOLDS = 1.1, 0.84
FAR = 1e6  # cycles, beside which all others are nothing


def resource_usage(seen: LaunchSample, spec: GpuSpec, timings: Timings) -> Work:
    """The launch as the model takes it."""
    work = _work(seen, spec, timings)
    waves = work.blocks / (spec.sms * work.resident)
    if seen.ended or not seen.traffic or waves <= 2:
        return work
    # Warps that wait for memory stay in step: who is ahead waits for DRAM, and the others catch up. Where
    # something else holds them all up, nothing holds them together.
    terms = estimate(spec, timings, work).terms
    footprint = work.dram_bytes / waves  # what the blocks of one wave ask for, each byte once
    spread = apart(seen, max(1 - HOLDS * spec.l2_bytes / max(footprint, 1), 0.0))
    asked, alone = _asked(seen), traffic_of(replace(seen, traffic=spread))
    l2 = sum(asked.get(row, 0.0) * l2_bytes(one) for row, one in alone.items() if one is not None)
    held_up = max(ms for name, ms in terms.items() if name not in ("latency", "launch", "DRAM", "L2"))
    held_up = max(held_up, l2 / (timings.l2_bytes_per_cycle * spec.boost_clock_mhz * 1e3))
    if held_up < LOSES_STEP * terms["latency"]:
        return work
    # The first wave begins in step, and the last one ends early.
    traffic = mixed(seen.traffic, spread, 1 - 2 / waves)
    return _work(replace(seen, traffic=traffic), spec, timings)


def _work(seen: LaunchSample, spec: GpuSpec, timings: Timings) -> Work:
    """The launch with the traffic as it was seen."""
    blocks, warps = prod(seen.grid), spec.warps(prod(seen.block))
    sites = sites_of(seen, spec, timings)
    clock = spec.boost_clock_mhz / 1e3  # cycles a nanosecond
    levels = (timings.l1_cycles, timings.l2_cycles, timings.dram_ns * clock)

    def latency(step: Step) -> float:
        site = sites.get(step.site or 0)
        if site is None or step.unit in ("store", "shared_store"):
            return 0.0
        if step.unit in ("shared", "fp32_shared"):
            cycles = timings.shared_cycles + max(site.passes - 1, 0)
        else:
            cycles = sum(share * far for share, far in zip(site.levels, levels, strict=True))
        return cycles * asked[step.site or 0] / max(runs[step.site or 0], 1e-9)

    runs, asked = _runs_by_site(seen.code), _asked(seen)
    instructions = sum(
        block.runs * sum(FOLDED if step.unit == "fp32_shared" else 1 for step in block.steps)
        for block in seen.code
    )
    l1_cycles = sum(count * sites[row].passes for row, count in asked.items())
    if spec.coalescing != "half_warp_segments":  # an instruction without an active lane takes its turn, too
        l1_cycles += sum(count - asked.get(row, count) for row, count in runs.items())
        l1_cycles += WARP_PASSES * blocks * warps
    units = units_of(spec, timings, warps)
    alone = warp_cycles(seen.code, units, latency, blocks * warps)
    turn = (instructions / timings.issue_per_cycle + l1_cycles) / (blocks * warps)
    behind = (warps - 1) * turn * _from_barriers(seen.code, units)
    return Work(
        blocks=blocks,
        resident=seen.resident,
        warps=warps,
        warp_cycles=alone + behind,
        instructions=instructions,
        pipes=_pipes(seen.code, spec, timings),
        l1_cycles=l1_cycles,
        l2_bytes=sum(count * sites[row].l2_bytes for row, count in asked.items()),
        dram_bytes=sum(count * sites[row].dram_bytes for row, count in asked.items()),
    )


def _from_barriers(code: Sequence[CodeBlock], units: Mapping[str, Unit]) -> float:
    """The share of a warp's work for which it has the rest of its block before it.

    Warps leave a barrier together and come to the next one when the last of them does, which has had to let
    all others go first. Between two barriers they do so until they first wait for memory; then their turns
    lie in the shadow of the wait.
    """
    barriers = sum(block.runs for block in code for step in block.steps if step.unit == "barrier")
    return barriers / max(_waits(code, units), barriers) if barriers else 0.0


def _waits(code: Sequence[CodeBlock], units: Mapping[str, Unit]) -> float:
    """How often warps wait for loads from global memory."""
    return warp_cycles(code, units, lambda step: FAR if step.unit == "load" else 0.0, 1) / FAR


def loads_per_stall(code: Sequence[CodeBlock], units: Mapping[str, Unit]) -> int:
    """How many requests to global memory a warp has on their way when it waits for one of them."""
    waits = _waits(code, units)
    requests = sum(block.runs for block in code for step in block.steps if step.unit in ("load", "store"))
    return max(round(requests / waits), 1) if waits >= 1 else 1


def _asked(seen: LaunchSample) -> dict[int, float]:
    """The requests of each access. Under a predicate a warp comes to an instruction and asks for nothing; and
    what PTX asks for twice the assembler may keep in a register.
    """
    runs = _runs_by_site(seen.code)
    return {
        row: min(count, seen.accesses[row].requests) for row, count in runs.items() if row in seen.accesses
    }


def _runs_by_site(code: Sequence[CodeBlock]) -> dict[int, float]:
    """How often warps come to each access."""
    found: dict[int, float] = {}
    for block in code:
        for step in block.steps:
            if step.site is not None:
                found[step.site] = found.get(step.site, 0.0) + block.runs
    return found


# -- the SM's units ----------------------------------------------------------------------------------


def units_of(spec: GpuSpec, timings: Timings, warps: int) -> dict[str, Unit]:
    """What executes each kind of instruction, as one warp sees it: its scheduler's share of the SM.

    warps: of a block, for its barriers.
    """

    def unit(cycles: float, lanes: float, turns: float = 1.0) -> Unit:
        return Unit(cycles, turns * spec.warp_size * timings.schedulers / lanes)

    plain, clock = timings.arithmetic_cycles, spec.boost_clock_mhz / 1e3
    load = Unit(0.0, spec.warp_size / timings.load_lanes)
    turn = timings.schedulers / timings.issue_per_cycle
    return {
        "fp32": unit(plain, spec.cores_per_sm),
        "fp32_shared": unit(timings.shared_cycles, spec.cores_per_sm, FOLDED),
        "fma": unit(plain, timings.integer_lanes),
        "integer": unit(plain, timings.integer_lanes),
        "fp64": unit(4 * plain, timings.fp64_lanes),
        "special": unit(timings.special_cycles, timings.special_lanes),
        "load": load,
        "store": load,
        "shared": Unit(timings.shared_cycles, load.busy),
        "shared_store": load,
        "local": Unit(timings.l1_cycles or timings.dram_ns * clock, load.busy),
        "local_store": load,
        "constant": Unit(timings.constant_cycles, turn),
        "uniform": Unit(2 * plain, turn),
        "branch": Unit(plain, turn),
        "barrier": Unit(timings.barrier_cycles + warps * timings.barrier_cycles_per_warp, turn),
    }


def _pipes(code: Sequence[CodeBlock], spec: GpuSpec, timings: Timings) -> dict[str, float]:
    """Cycles that the launch keeps each arithmetic unit of one SM."""
    lanes = {
        "fp32": float(spec.cores_per_sm), "fp32_shared": spec.cores_per_sm / FOLDED,
        "fma": timings.integer_lanes, "integer": timings.integer_lanes, "fp64": timings.fp64_lanes,
        "special": timings.special_lanes,
    }  # fmt: skip
    found = dict.fromkeys(lanes, 0.0)
    for block in code:
        for step in block.steps:
            if step.unit in found:
                found[step.unit] += block.runs * spec.warp_size / lanes[step.unit]
    found["fp32"] += found.pop("fp32_shared")
    return found
