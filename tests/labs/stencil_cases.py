"""The kernels of lab 1's detective cases: with their fault, from the text of the notebook, and repaired."""

from __future__ import annotations

import re

from gpulab.cell import Cell, parse_cell
from tests.labs.lab import Lab, by_id, kernel_cells, read

__all__ = ["FAULTY", "REPAIRED", "case_cell"]

LAB = Lab("01_stencil", "stencil")
NAMES = ("case_1", "case_2", "case_3")


def case_cell(text: str) -> Cell:
    """Return the kernel cell of a case's text."""
    (name,) = re.findall(r"__global__ void (case_\d)\(", text)
    return parse_cell(f"%%cuda {name}\n{text}")


def _faulty(name: str) -> str:
    """Return the kernel that the text of the notebook shows."""
    text = by_id(read(LAB.notebook))[name.replace("_", "-") + "-text"].source
    (kernel,) = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    return str(kernel)


def _repaired(name: str) -> str:
    """Return the kernel of the solution."""
    lines = kernel_cells(read(LAB.notebook))[name].source.splitlines()[1:]
    return "\n".join(line for line in lines if "SOLUTION" not in line)


FAULTY = {name: _faulty(name) for name in NAMES}
REPAIRED = {name: _repaired(name) for name in NAMES}
