"""What a lab's problem is: its variants, its sizes, its inputs, its reference, and what slips look like."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpulab.errors import UsageError
from gpulab.problems.requirement import Requirement

__all__ = ["Argument", "Block", "Case", "Problem", "Shape", "Slip", "Variant", "gamma", "values"]

Shape = tuple[int, ...]  # in the problem's own order: (nx, ny, nz) or (n, m, p)
Block = tuple[int, int, int]  # threads of a block, or points of a thread's tile, as (x, y, z)

UNIT_ROUNDOFF = 2.0**-24  # of float32, rounding to nearest
LARGEST_INDEX = 2**31 - 1  # the kernels index with C's int


@dataclass(frozen=True)
class Variant:
    """One rung of a problem's ladder: its name in the header, and what it changes in a line."""

    name: str
    changes: str
    before: str | None = None  # the rung it is compared with; None for the first one
    block: Block | None = None  # its block when the header names none; None: the problem's
    promises: tuple[Requirement, ...] = ()  # what it changes, in figures that can be counted


@dataclass(frozen=True)
class Argument:
    """One kernel argument. role: `scalar`, `input` (must come back unchanged) or `output`."""

    name: str
    role: str
    value: Any  # a NumPy scalar, or a host array (for an output: only its shape and dtype count)

    @property
    def kind(self) -> str:
        """The kind of kernel parameter it needs: `pointer`, `int` or `float`."""
        if isinstance(self.value, np.ndarray):
            return "pointer"
        return "int" if np.issubdtype(self.value.dtype, np.integer) else "float"


@dataclass(frozen=True)
class Case:
    """One launch with known right values.

    expected: float64 reference, in the output's shape.
    tolerance: largest accepted |got - expected|, elementwise, in the output's shape.
    written: which output elements the kernel must write; the others must keep their bits.
    flops, compulsory_bytes: of the whole launch, as the problem counts them.
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
        return next(a for a in self.arguments if a.role == "output")

    def value(self, name: str) -> Any:
        """The value of the argument of this name."""
        return next(a.value for a in self.arguments if a.name == name)


@dataclass(frozen=True)
class Slip:
    """What the output would be after one common mistake, and the sentence that names the mistake."""

    values: npt.NDArray[np.float64]
    words: str


def values(rng: np.random.Generator | None, shape: Shape) -> npt.NDArray[np.float32]:
    """Random numbers from -1 to 1; without `rng` an array of one number that stands for all of them."""
    if rng is None:
        return np.broadcast_to(np.float32(0.5), shape)
    return rng.random(shape, dtype=np.float32) * np.float32(2) - np.float32(1)


def gamma(operations: int) -> float:
    """The constant gamma_n = n u / (1 - n u) of float32 rounding error bounds, u = 2**-24.

    If no path from an input to the result passes more than n roundings, the result differs from the
    exact one by at most gamma_n times the same expression in absolute values, whatever the order of
    its additions and whether or not multiply-adds are fused: N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed. (SIAM, 2002), Lemma 3.1 and section 3.1.
    """
    return operations * UNIT_ROUNDOFF / (1.0 - operations * UNIT_ROUNDOFF)


class Problem(ABC):
    """A problem of the labs: stencil or matmul."""

    name: str
    variants: Mapping[str, Variant]
    axes: tuple[str, ...]  # names of a shape's numbers: ("nx", "ny", "nz")
    index_names: tuple[str, ...]  # names for an index into the output array: ("z", "y", "x")
    default_block: Block
    default_tile: Block
    smallest: int  # the least a shape's number may be
    timing_sizes: ClassVar[Mapping[str, Shape]]  # what the speed-up table times, by kind of device

    def block_of(self, variant: str) -> Block:
        """The block of a header without `--block`."""
        return self.variants[variant].block or self.default_block

    @abstractmethod
    def kernel_name(self, variant: str) -> str:
        """The name of the `__global__` function that the variant must define."""

    @property
    @abstractmethod
    def declaration(self) -> str:
        """The kernel's declaration in C, with `<variant>` where the variant's name goes."""

    @abstractmethod
    def extents(self, shape: Shape) -> Block:
        """Output points on each grid axis; `grid = ceil(extent / (block * tile))`, 1 where tile is 0."""

    @abstractmethod
    def check_shapes(self, variant: str, block: Block, tile: Block) -> tuple[Shape, ...]:
        """What `verify` runs: few sizes, chosen to show mistakes at the edges of this block and tile."""

    @abstractmethod
    def arguments(self, shape: Shape, rng: np.random.Generator | None) -> tuple[Argument, ...]:
        """Fresh random inputs of this shape and an output, in the order of the kernel's parameters.

        rng: None where only shapes and types are asked for; the arrays then take no memory.
        """

    @abstractmethod
    def make_case(self, shape: Shape, rng: np.random.Generator) -> Case:
        """Fresh random inputs of this shape, with their reference and tolerance."""

    @abstractmethod
    def flops(self, shape: Shape) -> int:
        """Floating-point operations of one launch, as the labs count them."""

    @abstractmethod
    def compulsory_bytes(self, shape: Shape) -> int:
        """Bytes of global memory that no kernel can avoid: each input read once, each output written once."""

    def timing_shape(self, variant: str, block: Block, tile: Block, kind: str = "sim") -> Shape:
        """The size at which the speed-up table times this variant on this kind of device."""
        del variant, block, tile
        return self.timing_sizes.get(kind, self.timing_sizes["sim"])

    def units(self, variant: str, block: Block, tile: Block) -> Shape:
        """What each number of a shape must be a multiple of for this variant; 1 where any number will do."""
        del variant, block, tile
        return (1,) * len(self.axes)

    @abstractmethod
    def counted_shape(self, variant: str, block: Block, tile: Block) -> Shape:
        """The size on which a variant's promises are counted: whole blocks, and little at the edges."""

    @abstractmethod
    def work(self, shape: Shape) -> int:
        """What promises are counted for: the problem's inner points, or its multiply-adds."""

    def frames(self, shape: Shape) -> int:
        """Units of work that a thread does one after the other for each of its outputs on the grid."""
        del shape
        return 1

    def slips(self, case: Case) -> Iterator[Slip]:
        """Outputs of common mistakes, for `verify` to recognise; each is worked out when asked for."""
        del case
        yield from ()

    def format_shape(self, shape: Shape) -> str:
        return "x".join(str(number) for number in shape)

    def parse_shape(self, text: str) -> Shape:
        """`"65x47x9"` or `"128"` (the same on every axis) as a shape.

        Raises `UsageError` that says what is allowed.
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
        """The shape itself, when a kernel can be launched on it; else `UsageError`."""
        if len(shape) != len(self.axes):
            raise UsageError(f"a {self.name} shape is ({', '.join(self.axes)}); not {tuple(shape)}.")
        for axis, number in zip(self.axes, shape, strict=True):
            if number < self.smallest:
                raise UsageError(f"{axis} must be at least {self.smallest} for {self.name}; it is {number}.")
        largest = self.largest_array(shape)
        if largest > LARGEST_INDEX:
            raise UsageError(
                f"{self.format_shape(shape)} is too large: an array would have {largest} elements, and the "
                f"kernels index with int, which ends at {LARGEST_INDEX}."
            )
        return tuple(int(number) for number in shape)

    @abstractmethod
    def largest_array(self, shape: Shape) -> int:
        """Elements of the largest array of a launch."""
