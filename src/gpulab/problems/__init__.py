"""The labs' problems: inputs, references, sizes, steps with their requirements, and published figures."""

from __future__ import annotations

from gpulab.problems.base import REGISTRY, Argument, Block, Case, Mistake, Problem, Shape, Variant, problem
from gpulab.problems.matmul import Matmul
from gpulab.problems.stencil import Stencil

__all__ = ["Argument", "Block", "Case", "Mistake", "Problem", "Shape", "Variant", "problem", "problem_names"]

REGISTRY.update({solved.name: solved for solved in (Stencil(), Matmul())})


def problem_names() -> tuple[str, ...]:
    """Return the problem names that a kernel cell's header accepts before the dot."""
    return tuple(REGISTRY)
