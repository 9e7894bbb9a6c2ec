"""Kernel configurations by name, and cells that run in the session."""

from __future__ import annotations

import gpulab
from gpulab import session
from gpulab.cell import Cell, parse_cell
from gpulab.config import KernelConfig
from gpulab.devices.base import Kernel
from gpulab.problems import problem
from gpulab.problems.base import Block
from gpulab.verification.check import compile_cell


def config(name: str, block: Block | None = None, tile: Block | None = None) -> KernelConfig:
    """Return the configuration of `PROBLEM.VARIANT`; block and tile default to the problem's."""
    problem_name, _, variant = name.partition(".")
    problem_ = problem(problem_name)
    return KernelConfig(problem_, variant, block or problem_.block_of(variant), tile or problem_.default_tile)


def run_in_session(text: str, device: str = "sim") -> Kernel:
    """Compile a cell and keep it in the session, as the `%%cuda` magic does."""
    cell: Cell = parse_cell(text)
    session.keep_cell(cell)
    kernel = compile_cell(cell, gpulab.device(device))
    session.keep_cell(cell, kernel)
    return kernel
