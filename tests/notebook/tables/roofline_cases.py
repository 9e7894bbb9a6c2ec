"""Synthetic rooflines with a given number of points and ceilings."""

from __future__ import annotations

import random

from gpulab.gpus.catalogue import gpu
from gpulab.profiling.benchmark import Benchmark
from gpulab.profiling.ceilings import published_ceilings
from gpulab.profiling.roofline import Ceiling, Roofline, RooflinePoint
from gpulab.provenance import Provenance

NAMES = ("naive", "opt_1", "opt_2", "opt_3", "opt_4", "K34", "K4g", "Ks", "K5", "K6", "opt_2_b", "opt_4_b")
FLOPS = 10**9


def roofline_case(
    count: int,
    decades: float = 0.01,
    *,
    measured: bool = True,
    key: str = "h200",
    above: int = -1,
    centre: float = 1.0,
    seed: int = 0,
) -> Roofline:
    """Return a roofline with `count` points within `decades` of `centre` flop per byte.

    measured: add measured ceilings to those of the data sheet. above: index of a point above its ceiling.
    """
    spec, rng = gpu(key), random.Random(seed)
    ceilings, points = published_ceilings(spec), []
    if measured:
        shares = (("DRAM", "copy", 0.83), ("DRAM", "triad", 0.86), ("fp32", "FMA", 0.92))
        rates = {ceiling.level: ceiling.rate for ceiling in ceilings}
        ceilings = (
            *(
                Ceiling(level, share * rates[level], Provenance("measured", spec.name), name, 1755.0)
                for level, name, share in shares
            ),
            Ceiling("L2", 2 * rates["DRAM"], Provenance("measured", spec.name), "read", 1755.0),
            Ceiling(
                "shared memory", 0.95 * rates["shared memory"], Provenance("measured", spec.name), "read"
            ),
            *ceilings,
        )
    for number in range(count):
        intensity = centre * 10 ** rng.uniform(-decades, decades)
        reached = 3.0 if number == above else 0.3 + 0.5 * number / count
        gflops = reached * min(intensity * spec.dram_gb_s, spec.peak_fp32_gflops)
        timing = Benchmark.from_samples([FLOPS / gflops / 1e6], Provenance("modelled", spec.name))
        nbytes = FLOPS / intensity
        counted = Provenance("counted", spec.name, "sectors; 9 of 90 blocks")
        geometry = (512, 512, 512), (32, 8, 1), (1, 1, 0)
        points.append(RooflinePoint(NAMES[number], *geometry, FLOPS, nbytes, timing, counted, 0.5, "DRAM"))
    return Roofline("stencil", spec.name, "counted", ceilings, tuple(points), spec.l2_bytes)
