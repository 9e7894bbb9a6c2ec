"""The launches that `benchmarks.model_measure` times: correct kernels of the labs, in many block sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpulab.cell import KernelCell, read_cells, require_kernel_cell
from gpulab.config import KernelConfig
from gpulab.problems import problem
from gpulab.problems.base import Block

__all__ = ["TimedLaunch", "timed_launches"]

ROOT = Path(__file__).parent.parent
STENCIL_BLOCKS = ((32, 8, 1), (32, 4, 1), (64, 4, 1), (16, 16, 1), (128, 2, 1), (32, 16, 1), (32, 2, 1))
NAIVE_BLOCKS = STENCIL_BLOCKS[:4]
MATMUL_BLOCKS = ((32, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1))  # of K1 to K4
TILES = {"K3": ((2, 1, 1), (4, 1, 1)), "K4": ((1, 2, 1), (1, 4, 1)), "K34": ((2, 4, 1), (4, 4, 1))}


@dataclass(frozen=True)
class TimedLaunch:
    """A kernel with its source, in one block and tile."""

    problem: str
    variant: str
    name: str
    source: str
    block: Block
    tile: Block

    @property
    def label(self) -> str:
        block, tile = ("x".join(map(str, b)) for b in (self.block, self.tile))
        return f"{self.problem}/{self.name} {block} {tile}"


@cache
def timed_launches() -> tuple[TimedLaunch, ...]:
    """Return all launches, with unique labels; those of the kernels' own blocks come first."""
    by_kernel = [*(list(_cell_launches(name, cell)) for name, cell in _cells()), *_published()]
    most = max(map(len, by_kernel))
    ordered = [one[n] for n in range(most) for one in by_kernel if n < len(one)]
    return tuple({launch.label: launch for launch in ordered}.values())


def _cells() -> Iterator[tuple[str, KernelCell]]:
    for folder in ("stencil", "matmul"):
        for path in sorted((ROOT / "tests/kernels" / folder / "right").glob("*.cu")):
            yield path.stem, require_kernel_cell(read_cells(path)[0])
    for notebook in sorted((ROOT / "labs").glob("*/*.ipynb")):
        seen = set()
        for cell in read_cells(notebook):
            if isinstance(cell, KernelCell) and cell.name not in seen:
                seen.add(cell.name)  # later cells of this name are experiments with the first
                yield f"lab.{cell.config.variant}", cell


def _published() -> Iterator[list[TimedLaunch]]:
    """Yield the kernels of the published tables, each with its loop unrolled and not unrolled."""
    shapes = {
        "Ks": [((1, 32, 1), (1, 1, 1), 1)],
        "K1": [(block, (1, 1, 1), unroll) for unroll in (1, 4) for block in MATMUL_BLOCKS],
        "K5": [((16, 16, 1), (1, 1, 1), 1)],
        "K2": [
            (block, tile, unroll)
            for tile in ((1, 1, 1), (2, 1, 1), (4, 1, 1), (1, 2, 1), (1, 4, 1), (2, 4, 1), (4, 4, 1))
            for unroll in (1, 4)
            for block in MATMUL_BLOCKS
        ],
    }
    for name, geometries in shapes.items():
        text = (ROOT / "benchmarks/published_kernels" / f"{name}.cu").read_text(encoding="utf-8")
        yield [
            TimedLaunch(
                "matmul",
                {"K2": "K34"}.get(name, name),
                f"{name}.unroll{unroll}",
                text.replace("K_UNROLL", str(unroll)),
                block,
                tile,
            )
            for block, tile, unroll in geometries
        ]


def _cell_launches(name: str, cell: KernelCell) -> Iterator[TimedLaunch]:
    """Yield a cell's launches: its own block and tile, and others if its source is written for them."""
    config, problem_name = cell.config, cell.config.problem.name
    blocks, tiles = [config.block], [config.tile]
    if re.search(r"\bBLOCK_X\b|\bblockDim\b", cell.source):
        if problem_name == "stencil":
            if "blockDim.y" in cell.source or "BLOCK_Y" in cell.source:
                blocks += NAIVE_BLOCKS if name.startswith("naive_") else STENCIL_BLOCKS
        elif config.block[1] == 1:
            blocks += MATMUL_BLOCKS
    if re.search(r"\bTILE_[XY]\b", cell.source):
        tiles += TILES.get(config.variant, ())

    for tile in dict.fromkeys(tiles):
        for block in dict.fromkeys(blocks):
            yield TimedLaunch(problem_name, config.variant, name, cell.source, block, tile)


def config_of(launch: TimedLaunch) -> KernelConfig:
    """Return the configuration of a launch."""
    return KernelConfig(problem(launch.problem), launch.variant, launch.block, launch.tile)


def geometry_of(launch: TimedLaunch) -> tuple[Block, tuple[int, ...]]:
    """Return the grid and the problem size, which is the size at which the labs time a kernel."""
    config = config_of(launch)
    return config.at(config.timing_shape).grid, config.timing_shape
