"""The facts that a problem declares: sizes, arguments and steps.

Each object remembers the line that made it, so that a message about it can name the line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.errors import ProblemError
from gpulab.problems.case import LARGEST_INDEX, Block, Shape, random_values
from gpulab.problems.code_line import CodeLine
from gpulab.problems.requirement import Requirement

__all__ = ["DeclaredParameter", "Extents", "Input", "Output", "Scalar", "Size", "Step"]

# Names of sizes and numbers, or a function of the sizes, by their names, that returns the extents.
Extents = Sequence[str | int] | Callable[..., Sequence[int]]

C_TYPES = {
    "float64": "double",
    "float32": "float",
    "int64": "long long",
    "uint64": "unsigned long long",
    "int32": "int",
    "uint32": "unsigned int",
    "int16": "short",
    "uint16": "unsigned short",
    "int8": "signed char",
    "uint8": "unsigned char",
}
IN_INTERFACE = True  # see `CodeLine.of_caller`
FLOATS = (-1.0, 1.0)  # range of the values of a floating-point input
INTEGERS = (0, 100)  # range of the values of an integer input


@dataclass(frozen=True)
class Size:
    """A named size of a problem.

    Attributes
    ----------
    timed : int
        The extent at which kernels are timed.
    smallest, largest : int
        The legal extents. Equal numbers fix the size.
    multiple : int
        The number that every extent must be a multiple of.

    Examples
    --------
    >>> from gpulab.problems import Size
    >>> Size(4096, smallest=3).largest
    2147483647
    >>> Size.fixed(256).smallest
    256
    """

    timed: int
    smallest: int = 1
    largest: int = LARGEST_INDEX
    multiple: int = 1
    line: CodeLine = field(default_factory=CodeLine.of_caller, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.multiple < 1 or not 1 <= self.smallest <= self.timed <= self.largest:
            raise ProblemError(
                f"{self.line}: a size needs 1 <= smallest <= timed <= largest and a multiple of at least 1; "
                f"here smallest {self.smallest}, timed {self.timed}, largest {self.largest} and multiple "
                f"{self.multiple}."
            )

    @classmethod
    def fixed(cls, extent: int) -> Size:
        """Return a size that has the same extent in every launch."""
        return cls(extent, extent, extent)

    def nearest(self, extent: int, multiple: int = 1) -> int:
        """Return a legal extent that is near a number and a multiple of `multiple`, at least one of it."""
        largest = self.largest // multiple * multiple or self.largest
        return max(min(ceil(max(extent, self.smallest) / multiple) * multiple, largest), self.smallest)


@dataclass(frozen=True)
class DeclaredParameter:
    """An argument of the kernel. dtype: NumPy's name of its type, or of its elements."""

    name: str
    dtype: str = field(default="float32", kw_only=True)
    line: CodeLine = field(default_factory=CodeLine.of_caller, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if not str(self.name).isidentifier():
            raise ProblemError(f"{self.line}: `{self.name}` is not the name of a parameter.")
        if self.dtype not in C_TYPES:
            raise ProblemError(
                f"{self.line}: the argument {self.name} has the dtype `{self.dtype}`; choose from "
                f"{', '.join(C_TYPES)}."
            )

    @property
    def c_type(self) -> str:
        """The type of the parameter in C."""
        return C_TYPES[self.dtype]

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("float")


@dataclass(frozen=True)
class Input(DeclaredParameter):
    """An array that the kernel reads, in C `const T*`.

    Attributes
    ----------
    name : str
        The name of the parameter.
    shape : sequence of str and int, or callable
        The extents in NumPy's order, the fastest last: names of sizes, numbers, or a function that takes
        sizes by their names and returns the extents.
    dtype : str
        NumPy's name of the element type.
    values : (number, number) or callable, optional
        The range of random values, without its end for integers; or a function that takes a
        `numpy.random.Generator` and a shape and returns an array. By default (-1, 1), and (0, 100) for
        integers.

    Examples
    --------
    >>> from gpulab.problems import Input
    >>> Input("letters", ("n",), dtype="int32", values=(0, 26)).c_type
    'int'
    """

    shape: Extents
    values: tuple[float, float] | Callable[..., Any] | None = field(default=None, kw_only=True)

    @property
    def parameter(self) -> str:
        return f"const {self.c_type}* {self.name}"

    def draw(self, rng: np.random.Generator | None, shape: Shape) -> npt.NDArray[Any]:
        """Return random values; without `rng` an array of one value that takes no memory."""
        if self.values is None and self.dtype == "float32":
            return random_values(rng, shape)
        if rng is None:
            return np.broadcast_to(np.zeros((), self.dtype), shape)
        if not callable(self.values):
            return _random(rng, self.values, self.dtype, shape)
        made = np.asarray(self.values(rng, shape))
        if made.shape != shape:
            raise ProblemError(
                f"{CodeLine.of_function(self.values, self.line)}: `values` of {self.name} returned the "
                f"shape {made.shape}; it must be {shape}."
            )
        return np.ascontiguousarray(made, self.dtype)


@dataclass(frozen=True)
class Output(DeclaredParameter):
    """The array that the kernel writes, in C `T*`.

    Attributes
    ----------
    name : str
        The name of the parameter.
    shape : sequence of str and int, or callable
        As of `Input`.
    dtype : str
        NumPy's name of the element type.
    initial : number or callable, optional
        The values before the launch: a number such as 0, for a kernel that adds to the output, or a function
        as `values` of `Input`, for a kernel that works in place. Without it every element must be written,
        which is checked.

    Examples
    --------
    >>> from gpulab.problems import Output
    >>> Output("counts", ("bins",), dtype="uint32", initial=0).parameter
    'unsigned int* counts'
    """

    shape: Extents
    initial: float | Callable[..., Any] | None = field(default=None, kw_only=True)

    @property
    def parameter(self) -> str:
        return f"{self.c_type}* {self.name}"

    def make(self, rng: np.random.Generator | None, shape: Shape) -> npt.NDArray[Any]:
        """Return the array before the launch; its values have a meaning only if there is an `initial`."""
        if self.initial is None:
            return np.empty(shape, self.dtype)
        if callable(self.initial):
            return Input(self.name, self.shape, dtype=self.dtype, values=self.initial).draw(rng, shape)
        return np.full(shape, self.initial, self.dtype)


@dataclass(frozen=True)
class Scalar(DeclaredParameter):
    """A number that is passed by value. Sizes need none: name them among the arguments.

    Attributes
    ----------
    name : str
        The name of the parameter.
    values : number or (number, number)
        The value, or the range of random values.
    dtype : str
        NumPy's name of the type.

    Examples
    --------
    >>> from gpulab.problems import Scalar
    >>> Scalar("factor", (1.5, 3.0)).parameter
    'float factor'
    """

    values: float | tuple[float, float]

    @property
    def parameter(self) -> str:
        return f"{self.c_type} {self.name}"

    def draw(self, rng: np.random.Generator | None) -> Any:
        """Return a random value; without `rng` one in the middle of the range."""
        kind = np.dtype(self.dtype).type
        if not isinstance(self.values, tuple):
            return kind(self.values)
        if rng is None:
            return kind(sum(self.values) / 2)
        low, high = self.values
        return kind(rng.uniform(low, high) if self.is_float else rng.integers(int(low), int(high)))


@dataclass(frozen=True)
class Step:
    """One step of a problem's progression.

    Attributes
    ----------
    name : str
        The part of a kernel cell's header after the dot.
    changes : str
        The change relative to the baseline, in one line.
    baseline : str or None
        The step that it is compared with: by default the step before it, None for no step.
    block : Block or None
        The block if the header names none; None selects the problem's block.
    requirements : tuple of Requirement
        Limits on metrics that show that the change was made.
    par : tuple of Requirement
        Counts of a good solution, as limits on metrics. They cost no points; see `gpulab.verification.par`.
    whole_blocks : bool
        The kernel needs no guard: every extent is a multiple of the points that a block computes.
    is_open : bool
        No method is prescribed, and kernels are ranked by their speed in the report's leaderboard.

    Examples
    --------
    >>> from gpulab.problems import Step
    >>> Step("tiled", "a tile in shared memory", block=(32, 32, 1)).whole_blocks
    False
    """

    name: str
    changes: str
    baseline: str | None = ""
    block: Block | None = None
    requirements: tuple[Requirement, ...] = ()
    par: tuple[Requirement, ...] = field(default=(), kw_only=True)
    whole_blocks: bool = False
    is_open: bool = False
    line: CodeLine = field(default_factory=CodeLine.of_caller, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not str(self.name).isidentifier():
            raise ProblemError(
                f"{self.line}: `{self.name}` is not the name of a step; use letters, digits and _."
            )


def _random(
    rng: np.random.Generator, values: tuple[float, float] | None, dtype: str, shape: Shape
) -> npt.NDArray[Any]:
    if dtype.startswith("float"):
        return rng.uniform(*(values or FLOATS), shape).astype(dtype)
    low, high = values or INTEGERS
    return rng.integers(int(low), int(high), shape).astype(dtype)
