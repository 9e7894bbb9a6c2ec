"""Compilation of Python loops of a submission with Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compile_loops"]


def compile_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function compiled by Numba.

    In the grader, `function` belongs to a process of the submission: it is compiled and called there, on
    copies of the arrays that the caller passes.

    Parameters
    ----------
    function : callable
        Loops over NumPy arrays, in plain Python or decorated with ``numba.njit``.

    Returns
    -------
    callable
        Takes the same arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from gpulab.grading.checks import compile_loops
    >>> def scale(values, factor):
    ...     for i in range(len(values)):
    ...         values[i] *= factor
    >>> values = np.arange(3.0)
    >>> compile_loops(scale)(values, 2)
    >>> values
    array([0., 2., 4.])
    """
    if hasattr(function, "py_func"):  # compiled already
        return function
    compiled: Callable[[], Callable[..., Any]] | None = getattr(function, "compiled", None)
    if compiled is not None:
        return compiled()

    from numba import njit

    return njit(function)  # type: ignore[no-any-return]
