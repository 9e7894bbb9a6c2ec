"""The values of one launch of a problem: arguments, reference, tolerances, and common mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "LARGEST_INDEX",
    "RANDOM_ERRORS",
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
    "random_values",
    "sum_error",
]

Shape = tuple[int, ...]  # extents in the problem's own order: (nx, ny, nz) or (n, m, p)
Block = tuple[int, int, int]  # threads of a block, or output points of a thread's tile, as (x, y, z)

# Makes the values of an input array of a shape, as `random_values` does.
InputValues = Callable[[np.random.Generator | None, Shape], npt.NDArray[Any]]

UNIT_ROUNDOFF = 2.0**-24  # relative, of float32 with rounding to nearest (IEEE 754 binary32)
# Roundings of partial sums that a sum of random terms may be off by, in multiples of their standard error:
# the float32 kernels of the labs stay below 1, and products in half precision or TF32 are off by about 70.
RANDOM_ERRORS = 8.0
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
    output_name : str
        The output that reference and tolerance belong to; "" if there is only one.
    others : tuple of Case
        The same launch with the reference and the tolerance of each other output.
    unordered : ndarray of bool or None
        The output elements that a kernel may store in any order, at which the reference is sorted; None if
        each element has its place.
    """

    shape: Shape
    arguments: tuple[Argument, ...]
    expected: npt.NDArray[np.float64]
    tolerance: npt.NDArray[np.float64]
    written: npt.NDArray[np.bool_]
    flops: int
    compulsory_bytes: int
    output_name: str = ""
    others: tuple[Case, ...] = ()
    unordered: npt.NDArray[np.bool_] | None = None

    @property
    def output(self) -> Argument:
        """The argument that the reference belongs to."""
        outputs = (a for a in self.arguments if a.role == "output")
        return next(a for a in outputs if self.output_name in ("", a.name))

    def in_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values of the output as they are compared: those that may be in any order are sorted.

        Parameters
        ----------
        values : ndarray
            The output of a kernel.

        Returns
        -------
        ndarray
            Of the same shape.
        """
        if self.unordered is None:
            return values
        ordered = values.copy()
        ordered[self.unordered] = np.sort(values[self.unordered])
        return ordered

    def value(self, name: str) -> Any:
        """Return the value of an argument.

        Parameters
        ----------
        name : str
            The name of the parameter.

        Returns
        -------
        ndarray or NumPy scalar
            The value.
        """
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
    """The output of a kernel with one common mistake.

    Attributes
    ----------
    values : ndarray of float64
        The output, in the order of the reference; NaN for points that the kernel does not write.
    description : str
        The sentence that names the mistake.
    share : float
        The share of the wrong points, 0 to 1, that must have these values. It is lower for a mistake that
        comes with others, such as one in the halo of each block.
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

    Parameters
    ----------
    rng : numpy.random.Generator or None
        Draws the numbers. With None the result is a broadcast array of one element, which takes no memory.
    shape : tuple of int
        The shape of the array.

    Returns
    -------
    ndarray of float32
        The numbers.
    """
    if rng is None:
        return np.broadcast_to(np.float32(0.5), shape)
    return rng.random(shape, dtype=np.float32) * np.float32(2) - np.float32(1)


def gamma(operations: int) -> float:
    """Return gamma_n = n u / (1 - n u), the constant of float32 rounding error bounds, with u = 2**-24.

    Parameters
    ----------
    operations : int
        The largest number n of roundings on a path from an input to the result.

    Returns
    -------
    float
        The largest relative error.

    Notes
    -----
    The result differs from the exact one by at most gamma_n times the same expression in absolute values,
    whatever the order of its additions and whether or not multiply-adds are fused: N. J. Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd ed. (SIAM, 2002), Lemma 3.1 and section 3.1.
    """
    return operations * UNIT_ROUNDOFF / (1.0 - operations * UNIT_ROUNDOFF)


def sum_error(terms: npt.ArrayLike, axis: int | None = None) -> npt.NDArray[np.float64]:
    """Return an error bound of a float32 sum of terms, each of which may be a product, in any order.

    Parameters
    ----------
    terms : array_like
        The terms.
    axis : int, optional
        The axis along which they are added; all of them by default.

    Returns
    -------
    ndarray of float64
        Largest accepted absolute error of each sum.

    Notes
    -----
    The smaller of two numbers: the bound ``gamma(n + 1) * sum(abs(terms))``, and a multiple of the standard
    error ``u * sqrt(n) * (abs(sum(terms)) + sqrt(sum(terms**2)))`` of partial sums of random numbers. At
    n = 10^6 the bound is so large that it would accept an output of zeros, while the errors of random terms
    grow with the root of n: N. J. Higham and T. Mary, "Sharper probabilistic backward error analysis for
    basic linear algebra kernels with random data", SIAM J. Sci. Comput. 42(5), 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from gpulab.problems import sum_error
    >>> float(sum_error(np.ones(4))) < 1e-5
    True
    """
    values = np.asarray(terms, np.float64)
    n = values.size if axis is None else values.shape[axis]
    bound = gamma(n + 1) * np.abs(values).sum(axis=axis)
    spread = np.abs(values.sum(axis=axis)) + np.sqrt(np.square(values).sum(axis=axis))
    return np.asarray(np.minimum(bound, RANDOM_ERRORS * UNIT_ROUNDOFF * np.sqrt(n) * spread))
