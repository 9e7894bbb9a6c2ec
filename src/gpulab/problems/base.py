"""The base class of a lab's problem, and the inputs, references and tolerances of one launch."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpulab.errors import UsageError
from gpulab.problems.requirement import Requirement

__all__ = [
    "Argument",
    "Block",
    "Case",
    "InputValues",
    "Mistake",
    "PartialReference",
    "Problem",
    "Read",
    "Shape",
    "Variant",
    "gamma",
    "problem",
    "random_values",
]

Shape = tuple[int, ...]  # extents in the problem's own order: (nx, ny, nz) or (n, m, p)
Block = tuple[int, int, int]  # threads of a block, or output points of a thread's tile, as (x, y, z)

# Makes the values of an input array of a shape, as `random_values` does.
InputValues = Callable[[np.random.Generator | None, Shape], npt.NDArray[np.float32]]

UNIT_ROUNDOFF = 2.0**-24  # relative, of float32 with rounding to nearest (IEEE 754 binary32)
LARGEST_INDEX = 2**31 - 1  # INT_MAX: the kernels index their arrays with C's int


@dataclass(frozen=True)
class Variant:
    """One step of a problem's progression.

    Attributes
    ----------
    name : str
        The part of a kernel cell's header after the dot.
    changes : str
        The change relative to the baseline, in one line.
    baseline : str or None
        The variant that it is compared with; None for the first variant.
    block : Block or None
        The block if the header names none; None selects the problem's default block.
    requirements : tuple of Requirement
        Limits on metrics that show that the change was made.
    """

    name: str
    changes: str
    baseline: str | None = None
    block: Block | None = None
    requirements: tuple[Requirement, ...] = ()


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
        Of an output, only the shape and the dtype are used.
    """

    name: str
    role: str
    value: Any

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


def gamma(operations: int) -> float:
    """Return gamma_n = n u / (1 - n u), the constant of float32 rounding error bounds, with u = 2**-24.

    If no path from an input to the result passes more than n roundings, the result differs from the
    exact one by at most gamma_n times the same expression in absolute values, whatever the order of
    its additions and whether or not multiply-adds are fused: N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed. (SIAM, 2002), Lemma 3.1 and section 3.1.
    """
    return operations * UNIT_ROUNDOFF / (1.0 - operations * UNIT_ROUNDOFF)


REGISTRY: dict[str, Problem] = {}  # problems by name, filled by `gpulab.problems` in the order of the labs


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
    if name not in REGISTRY:
        raise UsageError(f"there is no problem `{name}`; the problems are: {', '.join(REGISTRY)}.")
    return REGISTRY[name]


class Problem(ABC):
    """A problem of the labs.

    Attributes
    ----------
    name : str
        The name in a kernel cell's header.
    variants : mapping of str to Variant
        The steps of the progression, in order.
    axes : tuple of str
        Names of the extents of a shape, such as ("nx", "ny", "nz").
    index_names : tuple of str
        Names of the indices into the output array, such as ("z", "y", "x").
    default_block, default_tile : Block
        Used where a header names none.
    smallest : int
        The smallest legal extent of a shape.
    timing_size : Shape
        The shape that is timed.
    """

    name: str
    variants: Mapping[str, Variant]
    axes: tuple[str, ...]
    index_names: tuple[str, ...]
    default_block: Block
    default_tile: Block
    smallest: int
    timing_size: ClassVar[Shape]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the problem by its name, because its tables hold functions that cannot be pickled."""
        return problem, (self.name,)

    def block_of(self, variant: str) -> Block:
        """Return the block of a header without `--block`."""
        return self.variants[variant].block or self.default_block

    @abstractmethod
    def kernel_name(self, variant: str) -> str:
        """Return the name of the `__global__` function that the variant must define."""

    @property
    @abstractmethod
    def declaration(self) -> str:
        """The kernel's declaration in C, with `<variant>` as a placeholder for the variant's name."""

    @abstractmethod
    def extents(self, shape: Shape) -> Block:
        """Return the output points on each grid axis.

        The grid is `ceil(extent / (block * tile))` on each axis, and 1 on an axis whose tile is 0.
        """

    @abstractmethod
    def check_shapes(self, variant: str, block: Block, tile: Block) -> tuple[Shape, ...]:
        """Return the shapes that `verify` runs: few, and such that errors at block and tile edges show."""

    @abstractmethod
    def arguments(
        self, shape: Shape, rng: np.random.Generator | None, values: InputValues = random_values
    ) -> tuple[Argument, ...]:
        """Return random inputs of this shape and an output, in the order of the kernel's parameters.

        With `rng=None` only shapes and dtypes are meaningful, and the inputs take no memory. `values` makes
        the input arrays.
        """

    @abstractmethod
    def make_case(self, shape: Shape, rng: np.random.Generator) -> Case:
        """Return random inputs of this shape, with their reference and tolerance."""

    @abstractmethod
    def reference_at(
        self, arguments: Sequence[Argument], indices: Sequence[npt.NDArray[np.int64]]
    ) -> PartialReference:
        """Return the reference of the output at all combinations of some indices of each of its axes.

        For sizes at which the reference of the whole output takes too long.
        """

    @abstractmethod
    def written_box(self, shape: Shape) -> tuple[slice, ...]:
        """Return the part of the output that a kernel must write, as a slice of each axis."""

    def written_points(self, shape: Shape) -> int:
        """Return the number of output elements that a kernel must write."""
        return prod(part.stop - part.start for part in self.written_box(shape))

    @abstractmethod
    def flops(self, shape: Shape) -> int:
        """Return the floating-point operations of one launch, as the labs count them."""

    @abstractmethod
    def compulsory_bytes(self, shape: Shape) -> int:
        """Return the bytes of global memory that every kernel must move: each input and output once."""

    def timing_shape(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the shape at which this variant is timed."""
        del variant, block, tile
        return self.timing_size

    def shape_multiples(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the number that each extent must be a multiple of for this variant; 1 if any will do."""
        del variant, block, tile
        return (1,) * len(self.axes)

    @abstractmethod
    def counted_shape(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the shape on which requirements are counted: whole blocks, and few points at the edges."""

    @abstractmethod
    def work(self, shape: Shape) -> int:
        """Return the units of work that requirements refer to: inner points, or multiply-adds."""

    def serial_work(self, shape: Shape) -> int:
        """Return the units of work that a thread performs in sequence for each of its outputs on the grid."""
        del shape
        return 1

    def mistakes(self, case: Case) -> Iterator[Mistake]:
        """Yield the outputs of common mistakes, computed one by one, for `verify` to recognise."""
        del case
        yield from ()

    def reads(self, case: Case) -> Iterator[Read]:
        """Yield the uses of the inputs, for `verify` to recognise one with a wrong index."""
        del case
        yield from ()

    def format_shape(self, shape: Shape) -> str:
        """Return a shape as text, such as `65x47x9`."""
        return "x".join(str(number) for number in shape)

    def parse_shape(self, text: str) -> Shape:
        """Return the shape of a text such as "65x47x9", or "128" for the same extent on every axis.

        Raises
        ------
        UsageError
            If the text is not a shape of this problem; the message says which texts are.
        """
        parts = re.split(r"\s*[x,]\s*", text.strip().lower())
        if len(parts) not in (1, len(self.axes)) or not all(re.fullmatch(r"-?\d{1,18}", p) for p in parts):
            raise UsageError(
                f"a {self.name} size is one number, or {', '.join(self.axes)} with an x between them, "
                f"such as 128 or 65x47x9; not `{text}`."
            )

        numbers = [int(part) for part in parts]
        return self.checked_shape(tuple(numbers * len(self.axes) if len(numbers) == 1 else numbers))

    def checked_shape(self, shape: Shape) -> Shape:
        """Return the shape as Python integers.

        Raises
        ------
        UsageError
            If no kernel can be launched on it: an extent is too small, or an array too large.
        """
        if len(shape) != len(self.axes):
            raise UsageError(f"a {self.name} shape is ({', '.join(self.axes)}); not {tuple(shape)}.")

        for axis, number in zip(self.axes, shape, strict=True):
            if number < self.smallest:
                raise UsageError(f"{axis} must be at least {self.smallest} for {self.name}; it is {number}.")

        largest = self.largest_array(shape)
        if largest > LARGEST_INDEX:
            raise UsageError(
                f"{self.format_shape(shape)} is too large: an array would have {largest} elements, and the "
                f"kernels index with int, whose largest value is {LARGEST_INDEX}."
            )

        return tuple(int(number) for number in shape)

    @abstractmethod
    def largest_array(self, shape: Shape) -> int:
        """Return the number of elements of the largest array of a launch."""
