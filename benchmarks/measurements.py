"""Write the measured and modelled times that the labs show: src/gpulab/problems/measurements.toml.

python -m benchmarks.measurements

The kernels are the solutions of lab 1, with and without three changes that are made to their text: the z axis
split over blocks, the division hoisted out of the loop, and a limit on registers. Without a GPU, the modelled
times are computed again and the measured ones are kept. On a GPU of the catalogue, all are measured again.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

from gpulab.cell import KernelCell, parse_cell, read_cells, require_kernel_cell
from gpulab.compiler.nvrtc import version
from gpulab.devices import open_device
from gpulab.devices.base import Device, Kernel
from gpulab.model.profile import profile_variant
from gpulab.problems.measurements import PIECE_FRAMES, MeasuredKernel, MeasuredTable, measured_kernels
from gpulab.profiling.baseline import time_against_baseline
from gpulab.profiling.speedup import time_variant

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "src" / "gpulab" / "problems" / "measurements.toml"
NOTEBOOK = ROOT / "labs" / "01_stencil" / "stencil.ipynb"
CORPUS = ROOT / "tests" / "kernels" / "stencil" / "right"
MYSTERY = {"A": "naive_pointer_walk", "B": "naive_guard_as_if"}
CAP = 32  # registers, with which 8 blocks of 256 threads are resident on current GPUs
LAUNCHES = 21


@dataclass(frozen=True)
class Configuration:
    """A kernel of a table: its name there, its text with header, and the two facts that the text hides."""

    name: str
    cell: KernelCell
    register_cap: int = 0
    hoisted: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """The part of a row that identifies the kernel in the file."""
        config = self.cell.config
        return self.name, config.block, config.tile, self.register_cap, self.hoisted

    def compile(self, device: Device) -> Kernel:
        """Compile the kernel with its limit on registers."""
        options = (f"--maxrregcount={self.register_cap}",) if self.register_cap else ()
        config = self.cell.config
        return device.compile(self.cell.source, config.kernel_name, config.defines, options=options)


def solution(variant: str) -> str:
    """Return the text of a solution, with its header."""
    cells = read_cells(NOTEBOOK)
    cell = next(require_kernel_cell(cell) for cell in cells if cell.name == f"stencil.{variant}")
    return f"{cell.config}\n{cell.source.lstrip()}"


def hoisted(text: str) -> str:
    """Return a kernel that divides once, before the loop."""
    text, count = re.subn(r"6\.0f \* (\S+) / \(fac \* fac\)", r"weight * \1", text)
    assert count, "the kernel has no division"
    return _before(text, "    int frame = nx * ny;", "    float weight = 6.0f / (fac * fac);\n")


def split(text: str) -> str:
    """Return a kernel whose blocks compute pieces of `PIECE_FRAMES` frames."""
    text = re.sub(r"(--tile \d+ \d+) 0", rf"\1 {PIECE_FRAMES}", text, count=1)
    text = text.replace("for (int z = 1; z < nz - 1; ++z)", "for (int z = first; z < last; ++z)")
    text = re.sub(r"(int i\d? = x \+ nx \* y\d?);", r"\1 + frame * (first - 1);", text)  # kernels that roll
    pieces = (
        "    int first = max(1, (int)blockIdx.z * TILE_Z);\n"
        "    int last = min(nz - 1, ((int)blockIdx.z + 1) * TILE_Z);\n"
    )
    line = next(line for line in text.splitlines() if line.startswith("    int frame = nx * ny;"))
    return text.replace(line + "\n", f"{line}\n{pieces}", 1)


def with_launch_bounds(text: str) -> str:
    """Return a kernel that asks for 8 resident blocks of its size."""
    return text.replace("__global__ void", "__global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, 8)", 1)


def corpus_kernel(name: str) -> str:
    """Return a right kernel of the tests, with a block of 32 x 8."""
    text = (CORPUS / f"{name}.cu").read_text(encoding="utf-8")
    return re.sub(r"--block \d+ \d+", "--block 32 8", text, count=1)


def tables() -> dict[str, list[Configuration]]:
    """Return the configurations of each table."""
    steps = [Configuration(v, cell_of(solution(v))) for v in ("naive", "opt_1", "opt_2", "opt_3", "opt_4")]
    mystery = [Configuration(name, cell_of(corpus_kernel(kernel))) for name, kernel in MYSTERY.items()]
    bounded = cell_of(with_launch_bounds(corpus_kernel(MYSTERY["B"])))
    return {
        "steps": steps,
        "mystery": mystery,
        "mystery_solved": [*mystery, Configuration("B with bounds", bounded)],
        "ablation": list(ablation()),
    }


def ablation() -> Iterator[Configuration]:
    """Yield the kernels with all combinations of the three changes."""
    for variant in ("naive", "opt_1", "opt_2", "opt_3"):
        for is_split, cap, is_hoisted in product((False, True), (0, CAP), (False, True)):
            text = solution(variant)
            text = hoisted(text) if is_hoisted else text
            yield Configuration(variant, cell_of(split(text) if is_split else text), cap, is_hoisted)


def cell_of(text: str) -> KernelCell:
    return require_kernel_cell(parse_cell(text))


def modelled_ms(configuration: Configuration, device: Device) -> float:
    """Return the modelled time on the GPU that `device` simulates."""
    kernel = configuration.compile(device)
    return profile_variant(kernel, configuration.cell.config, device=device).time_ms


def measured_row(
    configuration: Configuration, device: Device, known: MeasuredKernel | None
) -> MeasuredKernel:
    """Return the row of a configuration: modelled again, and measured again on a GPU."""
    config, resources = configuration.cell.config, configuration.compile(device).resources
    ms = known.measured_ms if known else 0.0
    if device.measures_time:
        kernel = configuration.compile(device)
        ms = time_variant(kernel, config, device=device, n_repeat=LAUNCHES).timing.median_ms
    simulated = open_device(f"sim:{device.spec.key}")
    row = MeasuredKernel(
        configuration.name,
        config.block,
        config.tile,
        _blocks(config.at(config.timing_shape, device.spec).grid),
        resources.registers,
        ms,
        modelled_ms(configuration, simulated),
        resources.shared_bytes,
        resources.spill_bytes,
        configuration.register_cap,
        configuration.hoisted,
    )
    return replace(row, instructions=known.instructions, dram_mb=known.dram_mb) if known else row


def lines(device: Device) -> Iterator[str]:
    """Yield the lines of the file."""
    old = {name: measured_kernels(f"stencil.{name}") for name in tables()}
    session = measured_session(device, old["steps"])
    yield "[stencil]"
    for name in ("gpu", "device", "driver", "date", "compiler", "method"):
        yield f'{name} = "{getattr(session, name)}"'
    yield f"shape = {list(session.shape)}"
    yield f"copy_ms = {session.copy_ms:.4g}"
    for name, configurations in tables().items():
        known = {key(row): row for row in old[name].kernels}
        for configuration in configurations:
            row = measured_row(configuration, device, known.get(configuration.key))
            yield ""
            yield f"[[stencil.tables.{name}]]"
            yield from fields(row)


def key(row: MeasuredKernel) -> tuple[object, ...]:
    """Return what identifies a row, as `Configuration.key` does."""
    return row.kernel, row.block, row.tile, row.register_cap, row.hoisted


def fields(row: MeasuredKernel) -> Iterator[str]:
    """Yield the fields of a row that do not have their default value."""
    for name, value in asdict(row).items():
        if isinstance(value, str):
            yield f'{name} = "{value}"'
        elif isinstance(value, tuple):
            yield f"{name} = {list(value)}"
        elif isinstance(value, bool):
            if value:
                yield f"{name} = true"
        elif value:
            yield f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"


def measured_session(device: Device, old: MeasuredTable) -> MeasuredTable:
    """Return the facts of this measurement, or those of the file if this machine has no GPU."""
    if not device.measures_time:
        return old
    (steps,) = [c for c in tables()["steps"] if c.name == "opt_4"]
    comparison = time_against_baseline(steps.compile(device), steps.cell.config, device=device, of="copy")
    return replace(
        old,
        gpu=device.spec.key,
        device=device.name,
        driver=comparison.kernel.provenance.detail,
        date=time.strftime("%Y-%m-%d"),
        method=f"median of {LAUNCHES} launches",
        compiler=f"NVRTC {'.'.join(map(str, version()))}",
        copy_ms=comparison.baseline.median_ms,
    )


def _before(text: str, line: str, addition: str) -> str:
    assert text.count(line) == 1, line
    return text.replace(line, addition + line)


def _blocks(grid: tuple[int, int, int]) -> int:
    return grid[0] * grid[1] * grid[2]


def main() -> None:
    """Write the file."""
    argparse.ArgumentParser(prog="python -m benchmarks.measurements", description=__doc__).parse_args()
    device = open_device()
    if not device.measures_time:
        device = open_device("sim:h200")
    text = "\n".join(lines(device))
    head = "# Times of the labs' kernels. Written by `python -m benchmarks.measurements`.\n\n"
    OUTPUT.write_text(f"{head}{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
