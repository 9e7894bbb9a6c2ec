"""`python -m benchmarks.nsight_compare FILE`: gpulab.counters beside what Nsight Compute counted.

FILE is a result of `python -m benchmarks.nsight`. The simulator is given the very programs that the GPU ran
(PTX and machine code are in the file) and the same arguments; no GPU is needed.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import gpulab
from benchmarks.nsight_launches import Launch, launches
from gpulab.compiler import compile_program
from gpulab.compiler.program import Resources
from gpulab.devices.simulated import SimulatedDevice, SimulatedKernel

_GLOBAL = ("ld", "st", "red", "atom")

METRICS = (
    *(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum" for op in _GLOBAL),
    *(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in _GLOBAL),
    *(f"smsp__inst_executed_op_shared_{op}.sum" for op in ("ld", "st")),
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st")),
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st")),
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    *(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("ffma", "fadd", "fmul")),
    "launch__registers_per_thread",
)


@dataclass(frozen=True)
class Difference:
    """One metric of one launch."""

    launch: str
    metric: str
    counted: float
    measured: float

    @property
    def relative(self) -> float:
        return abs(self.counted - self.measured) / max(self.measured, 1)


def kernel_of(device: SimulatedDevice, launch: Launch, program: Mapping[str, Any]) -> SimulatedKernel:
    """The kernel that the GPU ran."""
    here = compile_program(launch.source.text, defines=launch.source.defines)
    there = replace(
        here,
        ptx=program["ptx"],
        cubin=base64.b64decode(program["cubin"]),
        entries=program["entries"],
        resources={name: Resources(**found) for name, found in program["resources"].items()},
    )
    return SimulatedKernel(device, there, launch.kernel, independent_threads=True)


def differences(result: Mapping[str, Any], group: str | None) -> Iterator[Difference]:
    """Every metric that both know, launch by launch."""
    device = gpulab.device("sim")
    assert isinstance(device, SimulatedDevice)
    measured = {one["name"]: one["metrics"] for one in result["launches"] if one["metrics"]}
    kernels: dict[tuple[str, str], SimulatedKernel] = {}
    for launch in launches():
        if launch.name not in measured or group not in (None, launch.group):
            continue
        key = launch.source.name, launch.kernel
        if key not in kernels:
            kernels[key] = kernel_of(device, launch, result["programs"][launch.source.name])
        arguments = [
            device.asarray(value) if getattr(value, "ndim", 0) else value for value in launch.arguments()
        ]
        counts = gpulab.counters(kernels[key], launch.grid, launch.block, arguments)
        for metric in METRICS:
            if metric in counts and metric in measured[launch.name]:
                yield Difference(launch.name, metric, counts[metric], measured[launch.name][metric])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nsight_compare", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--group", help="only the launches of this group: micro, stencil or matmul")
    options = parser.parse_args(arguments)
    result = json.loads(options.file.read_text(encoding="utf-8"))
    found = defaultdict(list)
    for one in differences(result, options.group):
        found[one.metric].append(one)
    table = Table("metric", "exact", "of", "worst", "launch", "counted", "measured")
    for metric, some in found.items():
        worst = max(some, key=lambda one: one.relative)
        exact = sum(one.counted == one.measured for one in some)
        row = [metric, str(exact), str(len(some))]
        if exact < len(some):
            row += [f"{worst.relative:.2%}", worst.launch, f"{worst.counted:g}", f"{worst.measured:g}"]
        table.add_row(*row)
    Console(width=200).print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
