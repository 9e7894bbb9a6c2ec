"""What `benchmarks.model_measure` times: the labs' right kernels, in the blocks that their texts allow."""

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

__all__ = ["Timed", "timed_launches"]

ROOT = Path(__file__).parent.parent
STENCIL_BLOCKS = ((32, 8, 1), (32, 4, 1), (64, 4, 1), (16, 16, 1), (128, 2, 1), (32, 16, 1), (32, 2, 1))
NAIVE_BLOCKS = STENCIL_BLOCKS[:4]
ROWS = ((32, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1))  # blocks of K1 to K4
TILES = {"K3": ((2, 1, 1), (4, 1, 1)), "K4": ((1, 2, 1), (1, 4, 1)), "K34": ((2, 4, 1), (4, 4, 1))}


@dataclass(frozen=True)
class Timed:
    """A kernel in one block and tile. source: the text as it was compiled."""

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
def timed_launches() -> tuple[Timed, ...]:
    """All of them, with the blocks of the headers first; labels are unique."""
    found = [*(list(_of(name, cell)) for name, cell in _cells()), *_published()]
    ordered = [some[n] for n in range(max(map(len, found))) for some in found if n < len(some)]
    return tuple({one.label: one for one in ordered}.values())


def _cells() -> Iterator[tuple[str, KernelCell]]:
    for folder in ("stencil", "matmul"):
        for path in sorted((ROOT / "tests/kernels" / folder / "right").glob("*.cu")):
            yield path.stem, require_kernel_cell(read_cells(path)[0])
    for notebook in sorted((ROOT / "labs").glob("*/*.ipynb")):
        seen = set()
        for cell in read_cells(notebook):
            if isinstance(cell, KernelCell) and cell.name not in seen:
                seen.add(cell.name)  # a later cell of the same name is an experiment with the first
                yield f"lab.{cell.config.variant}", cell


def _published() -> Iterator[list[Timed]]:
    """The kernels of the published tables, rolled as NVIDIA's compiler of 2008 left them, and unrolled."""
    shapes = {
        "Ks": [((1, 32, 1), (1, 1, 1), 1)],
        "K1": [(block, (1, 1, 1), unroll) for unroll in (1, 4) for block in ROWS],
        "K5": [((16, 16, 1), (1, 1, 1), 1)],
        "K2": [
            (block, tile, unroll)
            for tile in ((1, 1, 1), (2, 1, 1), (4, 1, 1), (1, 2, 1), (1, 4, 1), (2, 4, 1), (4, 4, 1))
            for unroll in (1, 4)
            for block in ROWS
        ],
    }
    for name, geometries in shapes.items():
        text = (ROOT / "benchmarks/published_kernels" / f"{name}.cu").read_text(encoding="utf-8")
        yield [
            Timed(
                "matmul",
                {"K2": "K34"}.get(name, name),
                f"{name}.unroll{unroll}",
                text.replace("K_UNROLL", str(unroll)),
                block,
                tile,
            )
            for block, tile, unroll in geometries
        ]


def _of(name: str, cell: KernelCell) -> Iterator[Timed]:
    header, name_of_problem = cell.config, cell.config.problem.name
    blocks, tiles = [header.block], [header.tile]
    if re.search(r"\bBLOCK_X\b|\bblockDim\b", cell.source):
        plane = name_of_problem == "stencil" or header.block[1] > 1
        several: tuple[Block, ...] = ROWS
        if name_of_problem == "stencil":
            several = NAIVE_BLOCKS if name.startswith("naive_") else STENCIL_BLOCKS
        if name_of_problem == "stencil" or not plane:
            blocks += several if "blockDim.y" in cell.source or "BLOCK_Y" in cell.source or not plane else ()
    if re.search(r"\bTILE_[XY]\b", cell.source):
        tiles += TILES.get(header.variant, ())
    for tile in dict.fromkeys(tiles):
        for block in dict.fromkeys(blocks):
            yield Timed(name_of_problem, header.variant, name, cell.source, block, tile)


def geometry_of(one: Timed) -> tuple[Block, tuple[int, ...]]:
    """Grid and size of a launch: 512^3 points, or matrices of 4096 x 4096 and a little more."""
    config = config_of(one)
    return config.at(config.timing_shape).grid, config.timing_shape


def config_of(one: Timed) -> KernelConfig:
    """Return the configuration of a launch."""
    return KernelConfig(problem(one.problem), one.variant, one.block, one.tile)
