"""Checks of the facts of a declaration: each function returns a fact, or names the line of an error."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

from gpulab.errors import ProblemError
from gpulab.problems.case import Block
from gpulab.problems.code_line import CodeLine

__all__ = ["as_axes", "as_block", "as_range", "as_tuple", "as_whole_number", "require_number_or_function"]

IN_INTERFACE = True  # see `CodeLine.of_caller`


def as_whole_number(value: Any, what: str, line: CodeLine) -> int:
    """Return a number without a fraction as an `int`."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value).is_integer():
        raise ProblemError(f"{line}: {what} must be a whole number; it is {value!r}.")
    return int(value)  # type: ignore[call-overload,no-any-return]


def as_axes(value: Any, what: str, line: CodeLine) -> tuple[Any, ...]:
    """Return one item, or several, as a tuple."""
    if isinstance(value, str | Real):
        return (value,)
    if not isinstance(value, Iterable):
        raise ProblemError(f"{line}: {what} must be a tuple; it is {value!r}.")
    return tuple(value)


def as_block(value: Any, what: str, line: CodeLine, least: int = 1) -> Block:
    """Return one to three numbers as a block, in which missing numbers are 1."""
    numbers = [as_whole_number(number, what, line) for number in as_axes(value, what, line)]
    if not 1 <= len(numbers) <= 3 or min(numbers) < least:
        raise ProblemError(
            f"{line}: {what} must be one to three numbers of at least {least}; it is {value!r}."
        )
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def as_range(values: Any, what: str, line: CodeLine) -> tuple[float, float]:
    """Return the limits of a range as a pair of numbers."""
    limits = as_axes(values, what, line)
    if len(limits) != 2 or not all(isinstance(limit, Real) for limit in limits) or not limits[0] < limits[1]:
        raise ProblemError(
            f"{line}: {what} must be two numbers, the smaller one first, or a function; it is {values!r}."
        )
    return limits


def as_tuple(
    items: Any, kinds: type[Any] | tuple[type[Any], ...], what: str, line: CodeLine
) -> tuple[Any, ...]:
    """Return objects of some classes as a tuple, or one of them as a tuple of one."""
    several = tuple(items) if isinstance(items, Iterable) and not isinstance(items, str) else (items,)
    for item in several:
        if not isinstance(item, kinds):
            names = [kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
            raise ProblemError(f"{line}: {what} must be a tuple of {' or '.join(names)}; it has {item!r}.")
    return several


def require_number_or_function(fact: Any, title: str, line: CodeLine) -> None:
    """Raise `ProblemError` for a fact that is neither a number nor a function."""
    if not callable(fact) and not all(isinstance(part, Real) for part in as_axes(fact, title, line)):
        raise ProblemError(f"{line}: {title} must be a number or a function; it is {fact!r}.")
