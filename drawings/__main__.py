"""The command `python -m drawings`: write the figures of all labs to labs/*/figures/."""

from __future__ import annotations

from pathlib import Path

from drawings import devicequery, matmul, puzzles, stencil

LABS = Path(__file__).resolve().parent.parent / "labs"
FIGURES = {"00_devicequery": devicequery, "01_stencil": stencil, "02_matmul": matmul, "03_puzzles": puzzles}


def draw_all(labs: Path = LABS) -> list[Path]:
    """Write every figure and return the files."""
    return [draw().save(labs / lab / "figures") for lab, module in FIGURES.items() for draw in module.FIGURES]


if __name__ == "__main__":
    print(f"{len(draw_all())} figures")
