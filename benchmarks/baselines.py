"""Write the figures of the baselines that ship with gpulab: src/gpulab/problems/baselines.toml.

python -m benchmarks.baselines [--output FILE]

The kernels are the solutions of the first graded kernel of labs 1 and 2. Their times are modelled for every
GPU of the catalogue, and their requests are counted by the simulator. Of the open steps, which are graded by
their speed, the file has the counts of one launch. Run it again if one of these kernels, the performance
model or the compiler changes; tests/problems/test_baselines.py fails until then.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gpulab.cell import KernelCell, read_cells, require_kernel_cell
from gpulab.compiler.nvrtc import version
from gpulab.devices import open_device
from gpulab.devices.base import Kernel
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import names
from gpulab.grading.checks.counted_speed import CountedCost, cost_of
from gpulab.model.profile import Profile, profile_variant
from gpulab.profiling.counts.cell_counts import count_cell
from gpulab.profiling.counts.version_traffic import counted_traffic
from gpulab.verification.check import compile_cell

ROOT = Path(__file__).parents[1]
DEVICE = "sim:h200"  # kernels are compiled for it, as in a session on the default simulator
OUTPUT = ROOT / "src" / "gpulab" / "problems" / "baselines.toml"
KERNELS = {
    "stencil.naive": ROOT / "labs" / "01_stencil" / "stencil.ipynb",
    "matmul.K1": ROOT / "labs" / "02_matmul" / "matmul.ipynb",
}
OPEN_STEPS = {"stencil.naive": "stencil.opt_4", "matmul.K1": "matmul.K6"}  # by the first kernel of the lab
HEAD = """\
# Figures of the labs' solutions. Written by `python -m benchmarks.baselines`.
# Times are modelled in milliseconds; counts are requests and sectors per 32 units of work, and those of an
# open step are the cycles that one launch needs at least on one multiprocessor.
"""


def baseline_cell(name: str) -> KernelCell:
    """Return the solution of the first kernel of a lab in its notebook."""
    return solution(name, KERNELS[name])


def open_cell(name: str) -> KernelCell:
    """Return the solution of the open step of a lab; name: its first kernel."""
    return solution(OPEN_STEPS[name], KERNELS[name])


def solution(name: str, notebook: Path) -> KernelCell:
    """Return the solution of a kernel in a notebook."""
    return next(require_kernel_cell(cell) for cell in read_cells(notebook) if cell.name == name)


def open_cost(cell: KernelCell) -> CountedCost:
    """Return the cost of an open step, at the size on which its traffic is counted."""
    kernel = compile_cell(cell, open_device(DEVICE))
    return cost_of(count_cell(cell, kernel, machine=False))


def modelled(cell: KernelCell, kernel: Kernel) -> Iterator[tuple[str, Profile]]:
    """Yield the profile of a kernel on each GPU of the catalogue that can run the launch."""
    for key in names():
        with suppress(UsageError):
            yield key, profile_variant(kernel, cell.config, device=kernel.device, gpu=key)


def table(cell: KernelCell) -> Iterator[str]:
    """Yield the lines of one kernel's tables."""
    config = cell.config
    problem = config.problem.name
    kernel = compile_cell(cell, open_device(DEVICE))
    yield f"[{problem}]"
    yield f'variant = "{config.variant}"'
    yield f"block = {list(config.block)}"
    yield f"tile = {list(config.tile)}"
    yield f"shape = {list(config.timing_shape)}"
    yield f'compiler = "{compiler()}"'
    yield f"registers = {kernel.resources.registers}"
    yield ""
    yield f"[{problem}.counts]"
    for name, number in counted_traffic(cell, kernel).per_work.items():
        yield f"{name} = {number:.6g}"
    yield ""
    yield f"[{problem}.open]"
    yield from open_table(open_cell(cell.name))
    for key, profile in modelled(cell, kernel):
        yield ""
        yield f"[{problem}.gpu.{key}]"
        yield f"time_ms = {profile.time_ms:.6g}"
        yield f'bottleneck = "{profile.bottleneck}"'
        yield f"occupancy = {profile.occupancy.fraction:.6g}"
        yield f"dram_bytes = {profile.dram_bytes:.6g}"
    yield ""


def open_table(cell: KernelCell) -> Iterator[str]:
    """Yield the lines of the table of an open step."""
    config, cost = cell.config, open_cost(cell)
    yield f'variant = "{config.variant}"'
    yield f"block = {list(config.block)}"
    yield f"tile = {list(config.tile)}"
    yield f"shape = {list(config.counted_shape)}"
    for name, cycles in vars(cost).items():
        yield f"{name} = {cycles:g}"


def compiler() -> str:
    """Return the compiler that a session uses, as the file names it."""
    return f"NVRTC {'.'.join(map(str, version()))}, sm_{open_device(DEVICE).spec.arch}"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the file to write")
    output = parser.parse_args().output

    lines = [line for name in KERNELS for line in table(baseline_cell(name))]
    output.write_text(HEAD + "\n" + "\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
