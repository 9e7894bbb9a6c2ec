"""The labs' problems: inputs, references, sizes, steps with their requirements, and published figures."""

from __future__ import annotations

from gpulab.errors import UsageError
from gpulab.problems.base import Argument, Block, Case, Mistake, Problem, Shape, Variant
from gpulab.problems.matmul import Matmul
from gpulab.problems.stencil import Stencil

__all__ = ["Argument", "Block", "Case", "Mistake", "Problem", "Shape", "Variant", "problem", "problem_names"]

_PROBLEMS: dict[str, Problem] = {p.name: p for p in (Stencil(), Matmul())}


def problem_names() -> tuple[str, ...]:
    """Return the problem names that a kernel cell's header accepts before the dot."""
    return tuple(_PROBLEMS)


def problem(name: str) -> Problem:
    """Return the lab problem of this name.

    Parameters
    ----------
    name : {"stencil", "matmul"}
        The part of a kernel cell's header before the dot.

    Returns
    -------
    Problem
        Its variants, sizes, inputs, reference and figures such as `flops` and `compulsory_bytes`.

    Raises
    ------
    UsageError
        If no problem has this name; the message lists the names.

    Examples
    --------
    >>> import gpulab
    >>> matmul = gpulab.problem("matmul")
    >>> matmul.flops((64, 64, 64))
    524288
    """
    try:
        return _PROBLEMS[name]
    except KeyError:
        raise UsageError(f"there is no problem `{name}`; the problems are: {', '.join(_PROBLEMS)}.") from None
