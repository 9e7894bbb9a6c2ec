"""The labs' problems, by name: what a kernel must compute, and on what it is tried."""

from __future__ import annotations

from gpulab.errors import UsageError
from gpulab.problems.base import Argument, Block, Case, Problem, Shape, Slip, Variant
from gpulab.problems.matmul import Matmul
from gpulab.problems.stencil import Stencil

__all__ = ["Argument", "Block", "Case", "Problem", "Shape", "Slip", "Variant", "problem", "problem_names"]

_PROBLEMS: dict[str, Problem] = {p.name: p for p in (Stencil(), Matmul())}


def problem_names() -> tuple[str, ...]:
    """The names that may stand before the dot in a kernel cell's header."""
    return tuple(_PROBLEMS)


def problem(name: str) -> Problem:
    """The problem of this name; `UsageError` with the list when there is none."""
    try:
        return _PROBLEMS[name]
    except KeyError:
        raise UsageError(f"there is no problem `{name}`; there is: {', '.join(_PROBLEMS)}.") from None
