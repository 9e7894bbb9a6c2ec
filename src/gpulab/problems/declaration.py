"""The facts that a problem declares: sizes, arguments and steps.

Each object remembers the line that made it, so that a message about it can name the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.errors import ProblemError
from gpulab.problems.case import LARGEST_INDEX, Block, Shape, random_values
from gpulab.problems.checked_facts import as_block, as_range, as_tuple, as_whole_number
from gpulab.problems.code_line import CodeLine
from gpulab.problems.declared_function import DeclaredFunction
from gpulab.problems.requirement import Requirement

__all__ = ["DeclaredParameter", "Extents", "Input", "Output", "Scalar", "Size", "Step"]

# Names of sizes and numbers, or a function of the sizes, by their names, that returns the extents.
Extents = Sequence[str | int] | Callable[..., Sequence[int]]

C_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "__half",
    "int64": "long long",
    "uint64": "unsigned long long",
    "int32": "int",
    "uint32": "unsigned int",
    "int16": "short",
    "uint16": "unsigned short",
    "int8": "signed char",
    "uint8": "unsigned char",
}
VECTOR_TYPE = r"(u?(char|short|int|long|longlong)|float|double)[1-4]"
IN_INTERFACE = True  # see `CodeLine.of_caller`
FLOATS = (-1.0, 1.0)  # range of the values of a floating-point input
INTEGERS = (0, 100)  # range of the values of an integer input
NOTHING: Mapping[str, Any] = MappingProxyType({})


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
    extents : tuple of int
        The only legal extents, in ascending order; empty if all between the limits are legal.

    Examples
    --------
    >>> from gpulab.problems import Size
    >>> Size(4096, smallest=3).largest
    2147483647
    >>> Size.fixed(256).smallest
    256
    >>> Size.among(64, 128, 256, 1024).timed
    1024
    """

    timed: int
    smallest: int = 1
    largest: int = LARGEST_INDEX
    multiple: int = 1
    extents: tuple[int, ...] = field(default=(), kw_only=True)
    line: CodeLine = field(default_factory=CodeLine.of_caller, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("timed", "smallest", "largest", "multiple"):
            object.__setattr__(self, name, as_whole_number(getattr(self, name), "a size", self.line))
        if self.extents and self.timed not in self.extents:
            raise ProblemError(f"{self.line}: the timed extent {self.timed} must be one of {self.extents}.")
        if self.multiple < 1 or not 1 <= self.smallest <= self.timed <= self.largest:
            raise ProblemError(
                f"{self.line}: a size needs 1 <= smallest <= timed <= largest and a multiple of at least 1; "
                f"here smallest {self.smallest}, timed {self.timed}, largest {self.largest} and multiple "
                f"{self.multiple}."
            )

    @classmethod
    def fixed(cls, extent: int) -> Size:
        """Return a size that has the same extent in every launch.

        Parameters
        ----------
        extent : int
            The extent.

        Returns
        -------
        Size
            The size.
        """
        return cls(extent, extent, extent)

    @classmethod
    def among(cls, *extents: int) -> Size:
        """Return a size that has one of some extents, such as powers of two.

        Parameters
        ----------
        *extents : int
            The legal extents. The largest one is timed.

        Returns
        -------
        Size
            The size.

        Raises
        ------
        ProblemError
            If there is no extent.
        """
        line = CodeLine.of_caller()
        if not extents:
            raise ProblemError(f"{line}: a size needs at least one extent.")
        legal = tuple(sorted({as_whole_number(extent, "a size", line) for extent in extents}))
        return cls(legal[-1], legal[0], legal[-1], extents=legal, line=line)

    def accepts(self, extent: int) -> bool:
        """Return True if an extent is legal.

        Parameters
        ----------
        extent : int
            The extent.

        Returns
        -------
        bool
            True if it is between the limits, or one of `extents` if these are given.
        """
        return extent in self.extents if self.extents else self.smallest <= extent <= self.largest

    def nearest(self, extent: int, multiple: int = 1) -> int:
        """Return a legal extent near a number.

        Parameters
        ----------
        extent : int
            The number.
        multiple : int
            The extent is a multiple of this number if a legal one is.

        Returns
        -------
        int
            The first legal extent from `extent` on, or the last one.
        """
        if self.extents:
            legal = [each for each in self.extents if each % multiple == 0] or self.extents
            return next((each for each in legal if each >= extent), legal[-1])
        largest = self.largest // multiple * multiple or self.largest
        return max(min(ceil(max(extent, self.smallest) / multiple) * multiple, largest), self.smallest)


@dataclass(frozen=True)
class DeclaredParameter:
    """An argument of the kernel.

    Attributes
    ----------
    name : str
        The name of the parameter.
    dtype : str
        NumPy's name of its type, or of the type of its elements.
    c_type : str
        The type in C, if it is not that of `dtype`, such as "float4" for four floats at the end of the shape.
    """

    name: str
    dtype: str = field(default="float32", kw_only=True)
    c_type: str = field(default="", kw_only=True)
    line: CodeLine = field(default_factory=CodeLine.of_caller, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if not str(self.name).isidentifier():
            raise ProblemError(f"{self.line}: `{self.name}` is not the name of a parameter.")
        given: Any = self.dtype
        if isinstance(given, type | np.dtype):  # such as np.float32
            object.__setattr__(self, "dtype", np.dtype(given).name)
        if self.dtype not in C_TYPES:
            raise ProblemError(
                f"{self.line}: the argument {self.name} has the dtype `{self.dtype}`; choose from "
                f"{', '.join(C_TYPES)}."
            )
        if not self.c_type:
            object.__setattr__(self, "c_type", C_TYPES[self.dtype])

    @property
    def is_vector(self) -> bool:
        """True if an element is a vector of CUDA C such as float4, whose components are the last axis."""
        return re.fullmatch(VECTOR_TYPE, self.c_type) is not None

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
    c_type : str, optional
        The element type in C, if it is not that of dtype: "float4" for an array whose last extent is 4.
    values : (number, number) or callable, optional
        The range of random values, without its end for integers; or a function that takes a
        `numpy.random.Generator` and a shape, and after them sizes and arguments before this one by their
        names, and returns an array. By default (-1, 1), and (0, 100) for integers.

    Examples
    --------
    >>> from gpulab.problems import Input
    >>> Input("letters", ("n",), dtype="int32", values=(0, 26)).c_type
    'int'
    """

    shape: Extents
    values: tuple[float, float] | Callable[..., Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is not None and not callable(self.values):
            limits = as_range(self.values, f"`values` of {self.name}", self.line)
            object.__setattr__(self, "values", limits)

    @property
    def parameter(self) -> str:
        """The parameter's declaration in C."""
        return f"const {self.c_type}* {self.name}"

    def draw(
        self, rng: np.random.Generator | None, shape: Shape, named: Mapping[str, Any] = NOTHING
    ) -> npt.NDArray[Any]:
        """Return random values.

        Parameters
        ----------
        rng : numpy.random.Generator or None
            Draws the values. With None the result is an array of one value, which takes no memory.
        shape : tuple of int
            The extents of the array.
        named : mapping of str to object
            Sizes and the arguments before this one, which `values` may take by their names.

        Returns
        -------
        ndarray
            Elements of type `dtype`.
        """
        if self.values is None and self.dtype == "float32":
            return random_values(rng, shape)
        if rng is None:
            return np.broadcast_to(np.zeros((), self.dtype), shape)
        if not callable(self.values):
            return _random(rng, self.values, self.dtype, shape)
        return _drawn(self.values, f"`values` of {self.name}", self, rng, shape, named)


@dataclass(frozen=True)
class Output(DeclaredParameter):
    """The array that the kernel writes, in C `T*`.

    Attributes
    ----------
    name : str
        The name of the parameter.
    shape : sequence of str and int, or callable
        As of `Input`.
    dtype, c_type : str
        As of `Input`.
    initial : number or callable, optional
        The values before the launch: a number such as 0, for a kernel that adds to the output, or a function
        as `values` of `Input`, for a kernel that works in place. Without it every element must be written,
        which is checked.
    any_order : bool
        The kernel may store the elements in any order, as a stream compaction does: they are compared with
        the reference after sorting. Elements for which the reference returns their `initial` value keep their
        places. The output has one axis.

    Examples
    --------
    >>> from gpulab.problems import Output
    >>> Output("counts", ("bins",), dtype="uint32", initial=0).parameter
    'unsigned int* counts'
    """

    shape: Extents
    initial: float | Callable[..., Any] | None = field(default=None, kw_only=True)
    any_order: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial is not None and not callable(self.initial):
            try:
                np.full((), self.initial, self.dtype)
            except (TypeError, ValueError, OverflowError):
                raise ProblemError(
                    f"{self.line}: `initial` of {self.name} must be a number of type {self.dtype} or a "
                    f"function; it is {self.initial!r}."
                ) from None

    @property
    def parameter(self) -> str:
        """The parameter's declaration in C."""
        return f"{self.c_type}* {self.name}"

    def make(
        self, rng: np.random.Generator | None, shape: Shape, named: Mapping[str, Any] = NOTHING
    ) -> npt.NDArray[Any]:
        """Return the array before the launch.

        Parameters
        ----------
        rng, shape, named
            As for `Input.draw`.

        Returns
        -------
        ndarray
            Elements of type `dtype`. Without `initial` their values have no meaning.
        """
        if self.initial is None:
            return np.empty(shape, self.dtype)
        if callable(self.initial):
            return _drawn(self.initial, f"`initial` of {self.name}", self, rng, shape, named)
        return np.full(shape, self.initial, self.dtype)


@dataclass(frozen=True)
class Scalar(DeclaredParameter):
    """A number that is passed by value. Sizes need none: name them among the arguments.

    Attributes
    ----------
    name : str
        The name of the parameter.
    values : number, (number, number) or callable
        The value; the range of random values, without its end for integers; or a function that takes a
        `numpy.random.Generator`, and after it sizes and arguments before this one by their names.
    dtype : str
        NumPy's name of the type.

    Examples
    --------
    >>> from gpulab.problems import Scalar
    >>> Scalar("factor", (1.5, 3.0)).parameter
    'float factor'
    """

    values: float | tuple[float, float] | Callable[..., Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.values) and not isinstance(self.values, Real):
            limits = as_range(self.values, f"`values` of {self.name}", self.line)
            object.__setattr__(self, "values", limits)

    @property
    def parameter(self) -> str:
        """The parameter's declaration in C."""
        return f"{self.c_type} {self.name}"

    def draw(self, rng: np.random.Generator | None, named: Mapping[str, Any] = NOTHING) -> Any:
        """Return a random value.

        Parameters
        ----------
        rng : numpy.random.Generator or None
            Draws the value. With None it is the middle of the range.
        named : mapping of str to object
            Sizes and the arguments before this one, which `values` may take by their names.

        Returns
        -------
        NumPy scalar
            Of type `dtype`.
        """
        kind = np.dtype(self.dtype).type
        if callable(self.values):
            given = (rng or np.random.default_rng(0),)
            declared = DeclaredFunction(self.values, f"`values` of {self.name}", self.line)
            return kind(declared(named, first=given))
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
    shared : int or callable, optional
        Bytes of dynamic shared memory of a block, for a kernel with an `extern __shared__` array; a function
        takes sizes by their names, `block` and `tile`.

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
    shared: int | Callable[..., int] = field(default=0, kw_only=True)
    line: CodeLine = field(default_factory=CodeLine.of_caller, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not str(self.name).isidentifier():
            raise ProblemError(
                f"{self.line}: `{self.name}` is not the name of a step; use letters, digits and _."
            )
        for name in ("requirements", "par"):
            given = as_tuple(getattr(self, name), Requirement, f"`{name}` of {self.name}", self.line)
            object.__setattr__(self, name, given)
        if self.block is not None:
            block = as_block(self.block, f"the block of {self.name}", self.line)
            object.__setattr__(self, "block", block)
        for each in self.par:
            if each.relative:
                raise ProblemError(f"{each.line}: a par must be a number; it cannot be relative.")


def _drawn(
    function: Callable[..., Any],
    title: str,
    parameter: DeclaredParameter,
    rng: np.random.Generator | None,
    shape: Shape,
    named: Mapping[str, Any],
) -> npt.NDArray[Any]:
    """Return the array that a function of values returns; without `rng` one that takes no memory."""
    if rng is None:
        return np.broadcast_to(np.zeros((), parameter.dtype), shape)
    declared = DeclaredFunction(function, title, parameter.line)
    made = np.asarray(declared(named, first=(rng, shape)))
    if made.shape != shape:
        raise declared.error(f"{title} returned the shape {made.shape}; it must be {shape}.")
    return np.ascontiguousarray(made, parameter.dtype)


def _random(
    rng: np.random.Generator, values: tuple[float, float] | None, dtype: str, shape: Shape
) -> npt.NDArray[Any]:
    if dtype.startswith("float"):
        return rng.uniform(*(values or FLOATS), shape).astype(dtype)
    low, high = values or INTEGERS
    return rng.integers(int(low), int(high), shape).astype(dtype)
