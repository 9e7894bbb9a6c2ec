"""The values of one launch of a problem: arguments, reference, tolerances, and common mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "LARGEST_INDEX",
    "UNIT_ROUNDOFF",
    "Argument",
    "Block",
    "Case",
    "InputValues",
    "Mistake",
    "PartialReference",
    "Read",
    "Shape",
    "gamma",
    "no_values",
    "random_values",
]

Shape = tuple[int, ...]  # extents in the problem's own order: (nx, ny, nz) or (n, m, p)
Block = tuple[int, int, int]  # threads of a block, or output points of a thread's tile, as (x, y, z)

# Makes the values of an input array of a shape, as `random_values` does.
InputValues = Callable[[np.random.Generator | None, Shape], npt.NDArray[Any]]

UNIT_ROUNDOFF = 2.0**-24  # relative, of float32 with rounding to nearest (IEEE 754 binary32)
LARGEST_INDEX = 2**31 - 1  # INT_MAX: the kernels index their arrays with C's int


@dataclass(frozen=True)
class Argument:
    """One kernel argument.

    Attributes
    ----------
    name : str
        The name of the parameter in the declaration.
    role : {"scalar", "input", "output"}
        An `input` array must be unchanged after the launch.
    value : NumPy scalar or ndarray
        Of an output that is not initialized, only the shape and the dtype are used.
    initialized : bool
        The output holds `value` before the launch. Without it, a kernel must write every element.
    """

    name: str
    role: str
    value: Any
    initialized: bool = False

    @property
    def kind(self) -> str:
        """The kind of kernel parameter it needs: `pointer`, `int` or `float`."""
        if isinstance(self.value, np.ndarray):
            return "pointer"
        return "int" if np.issubdtype(self.value.dtype, np.integer) else "float"


@dataclass(frozen=True)
class Case:
    """The arguments of one launch, with the reference and the tolerance of its output.

    Attributes
    ----------
    shape : Shape
        The problem size.
    arguments : tuple of Argument
        In the order of the kernel's parameters.
    expected : ndarray of float64
        The reference, in the output's shape.
    tolerance : ndarray of float64
        The largest accepted absolute error of each output element.
    written : ndarray of bool
        The output elements that the kernel must write; all others must keep their bits.
    flops : int
        Floating-point operations of the launch, as the problem counts them.
    compulsory_bytes : int
        Bytes of global memory that every kernel must move.
    """

    shape: Shape
    arguments: tuple[Argument, ...]
    expected: npt.NDArray[np.float64]
    tolerance: npt.NDArray[np.float64]
    written: npt.NDArray[np.bool_]
    flops: int
    compulsory_bytes: int

    @property
    def output(self) -> Argument:
        """The argument that the kernel writes."""
        return next(a for a in self.arguments if a.role == "output")

    def value(self, name: str) -> Any:
        """Return the value of the argument of this name."""
        return next(a.value for a in self.arguments if a.name == name)


@dataclass(frozen=True)
class PartialReference:
    """The reference of a part of the output.

    Attributes
    ----------
    expected, tolerance : ndarray of float64
        As in `Case`.
    written : ndarray of bool
        As in `Case`.
    """

    expected: npt.NDArray[np.float64]
    tolerance: npt.NDArray[np.float64]
    written: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Mistake:
    """The output of a kernel with one common mistake, and the sentence that names the mistake.

    `share` of the wrong points must have these values. It is lower for a mistake that comes with others, such
    as one in the halo of each block.
    """

    values: npt.NDArray[np.float64]
    description: str
    share: float = 0.999


@dataclass(frozen=True)
class Read:
    """One use of an input in the formula of the output.

    Attributes
    ----------
    name : str
        What is read, with a verb, such as "the neighbour at x + 1 is".
    values : ndarray of float64
        The input.
    axes : tuple of str
        Names of its axes.
    output : callable
        Returns the output for other values of this use of the input.
    """

    name: str
    values: npt.NDArray[np.float64]
    axes: tuple[str, ...]
    output: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]


def random_values(rng: np.random.Generator | None, shape: Shape) -> npt.NDArray[np.float32]:
    """Return uniform random numbers from -1 to 1.

    Without `rng` the result is a broadcast array of one element, which takes no memory.
    """
    if rng is None:
        return np.broadcast_to(np.float32(0.5), shape)
    return rng.random(shape, dtype=np.float32) * np.float32(2) - np.float32(1)


def no_values(rng: np.random.Generator | None, shape: Shape) -> npt.NDArray[np.float32]:
    """Return an array of this shape whose values have no meaning and take no memory."""
    del rng
    return np.broadcast_to(np.float32(0), shape)


def gamma(operations: int) -> float:
    """Return gamma_n = n u / (1 - n u), the constant of float32 rounding error bounds, with u = 2**-24.

    If no path from an input to the result passes more than n roundings, the result differs from the
    exact one by at most gamma_n times the same expression in absolute values, whatever the order of
    its additions and whether or not multiply-adds are fused: N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed. (SIAM, 2002), Lemma 3.1 and section 3.1.
    """
    return operations * UNIT_ROUNDOFF / (1.0 - operations * UNIT_ROUNDOFF)
