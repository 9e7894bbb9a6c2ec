"""Problems: what a kernel must compute, on which sizes it is checked, and the steps of its progression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import lcm, prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.errors import ProblemError, UsageError
from gpulab.problems.case import (
    LARGEST_INDEX,
    UNIT_ROUNDOFF,
    Argument,
    Block,
    Case,
    InputValues,
    Mistake,
    PartialReference,
    Read,
    Shape,
    gamma,
    random_values,
)
from gpulab.problems.declaration import CodeLine, Extents, Input, Output, Scalar, Size, Step
from gpulab.problems.declared_function import DeclaredFunction

__all__ = [
    "INTERFACE",
    "LARGEST_INDEX",
    "UNIT_ROUNDOFF",
    "Argument",
    "Block",
    "Case",
    "InputValues",
    "Mistake",
    "PartialReference",
    "Problem",
    "Read",
    "Shape",
    "gamma",
    "random_values",
]

IN_INTERFACE = True  # see `CodeLine.of_caller`
INTERFACE = 1  # version of the interface with which problems are declared

# Names of the indices into an output, and the default block, by the number of its axes.
INDEX_NAMES = ("z", "y", "x")
BLOCKS: Mapping[int, Block] = {1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 8, 1)}
# Points along each axis of the launch that is counted, at least, by the number of axes; of a size that is on
# no axis of the grid, at most.
COUNTED_POINTS: Mapping[int, int] = {1: 4096, 2: 64, 3: 32}
UNGRIDDED = 67  # extent of such a size in a check, at most
FEW_POINTS = 7  # extent of a launch smaller than a block


class Problem:
    """An exercise: the arguments of a kernel, the reference of its output, and the steps to take.

    Declared in a file `problem.py` next to a notebook, or in a package with an entry point of the group
    `gpulab.problems`, its kernels are cells that begin with ``%%cuda NAME.STEP``.

    Parameters
    ----------
    name : str
        The name in a kernel cell's header, before the dot.
    arguments : sequence of Input, Output, Scalar or str
        The kernel's parameters in their order: one `Output`, and names for sizes, which are passed as `int`.
    sizes : mapping of str to Size or int
        The named sizes, in the order of a shape. A number is the extent at which kernels are timed.
    reference : callable
        Takes arguments and sizes by their names, floating-point arrays as float64 and integers as int64, and
        returns the output.
    steps : sequence of Step
        The steps of the progression, in order.
    error_bound : float or callable, optional
        Largest accepted absolute error of an element: a number, or a function like `reference` that returns
        an array. The default 0 is for outputs that are copied or counted. See `gamma`.
    kernel : str, optional
        The name of the `__global__` function, in which ``{step}`` stands for the name of the step. By default
        the name of the problem.
    extents : sequence of str or callable, optional
        Output points on the axes x, y and z of the grid: names of sizes, or a function of the sizes. By
        default the extents of the output, the fastest on x.
    grid : callable, optional
        Takes sizes by their names, `block` and `tile`, and returns the blocks of the grid. By default
        ``ceil(extent / (block * tile))`` on each axis, and 1 where the tile is 0.
    written : callable, optional
        Takes sizes and returns a slice for each axis of the output: the part that a kernel must write. All
        other elements must stay unchanged. By default the whole output.
    flops : callable or int, optional
        Floating-point operations of a launch; a function takes sizes. Without it, rates are in GB/s only.
    work : callable, optional
        Takes sizes and returns the units of work that requirements refer to. By default the points on the
        grid.
    work_unit : str, optional
        The name of such units, in the plural.
    mistakes : mapping or callable, optional
        Functions like `reference` that make a common mistake, by the sentence that names it; or one function
        that yields objects of the class `Mistake`.
    block, tile : tuple of int, optional
        Used where a header names none.
    index : sequence of str, optional
        Names of the indices into the output. By default the last of z, y and x.
    interface : int, optional
        The version of this interface that the declaration is written for.

    Attributes
    ----------
    name : str
        The name in a kernel cell's header.
    variants : mapping of str to Step
        The steps of the progression, in order.
    axes : tuple of str
        Names of the extents of a shape, such as ("nx", "ny", "nz").
    index_names : tuple of str
        Names of the indices into the output array, such as ("z", "y", "x").
    default_block, default_tile : Block
        Used where a header names none.
    timing_size : Shape
        The shape that is timed.

    Raises
    ------
    ProblemError
        If the declaration contradicts itself; the message names the line.

    Notes
    -----
    A class that derives from this one may override any method, for an exercise that the arguments do not
    describe.

    Examples
    --------
    >>> from gpulab.problems import Input, Output, Problem, Step
    >>> transpose = Problem(
    ...     "transpose",
    ...     arguments=(Output("b", ("columns", "rows")), Input("a", ("rows", "columns")), "rows", "columns"),
    ...     sizes={"rows": 4096, "columns": 4096},
    ...     reference=lambda a: a.T,
    ...     steps=(Step("naive", "one element for each thread"), Step("tiled", "a tile in shared memory")),
    ... )
    >>> transpose.declaration
    'transpose(float* b, const float* a, int rows, int columns)'
    """

    def __init__(
        self,
        name: str,
        *,
        arguments: Sequence[Input | Output | Scalar | str],
        sizes: Mapping[str, Size | int],
        reference: Callable[..., Any],
        steps: Sequence[Step],
        error_bound: float | Callable[..., Any] = 0.0,
        kernel: str = "",
        extents: Extents | None = None,
        grid: Callable[..., Sequence[int]] | None = None,
        written: Callable[..., Sequence[slice]] | None = None,
        flops: int | Callable[..., int] = 0,
        work: Callable[..., int] | None = None,
        work_unit: str = "points",
        mistakes: Mapping[str, Callable[..., Any]] | Callable[..., Any] | None = None,
        block: Block | None = None,
        tile: Block = (1, 1, 1),
        index: Sequence[str] | None = None,
        interface: int = INTERFACE,
    ) -> None:
        self.line = CodeLine.of_caller()
        self.name, self.work_unit = name, work_unit
        # A function and its arguments that return the problem in another process.
        self.found_by: tuple[Callable[..., Problem], tuple[str, ...]] | None = None
        self._check_name(interface)
        self.sizes = {
            size: extent if isinstance(extent, Size) else Size(extent, line=self.line)
            for size, extent in sizes.items()
        }
        self.axes = tuple(self.sizes)
        self.timing_size: Shape = tuple(size.timed for size in self.sizes.values())
        self.parameters = tuple(arguments)
        self._output = self._checked_parameters()

        self.variants = self._checked_steps(steps)
        self._kernel = kernel or name
        self._reference = DeclaredFunction(reference, "the reference", self.line)
        self._error_bound = self._function(error_bound, "the error bound")
        self._written = self._function(written, "`written`")
        self._grid = self._function(grid, "`grid`")
        self._flops = self._function(flops, "`flops`")
        self._work = self._function(work, "`work`")
        self._mistakes = (
            {
                text: DeclaredFunction(made, f"the mistake `{text}`", self.line)
                for text, made in mistakes.items()
            }
            if isinstance(mistakes, Mapping)
            else self._function(mistakes, "`mistakes`")
        )
        self._extents = extents
        smallest = self.output_shape(self.smallest_shape)
        self.index_names = tuple(index) if index else INDEX_NAMES[len(INDEX_NAMES) - len(smallest) :]
        if len(self.index_names) != len(smallest) or not smallest:
            raise ProblemError(
                f"{self._output.line}: the output {self._output.name} has {len(smallest)} axes; one to three "
                "are possible, and `index` names each of them."
            )
        dimensions = sum(extent > 1 for extent in self.extents(self.timing_size))
        self.default_block: Block = block or BLOCKS[max(dimensions, 1)]
        self.default_tile: Block = tile

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the problem by its name and its file, because its functions cannot be pickled."""
        if self.found_by is None:
            raise ProblemError(
                f"{self.line}: {self.name} is not declared in a file that gpulab has loaded, so another "
                "process cannot know it; load the file with gpulab.problems.load_problems."
            )
        return self.found_by

    def __repr__(self) -> str:
        return f"<problem {self.name}>"

    # --- the declaration -----------------------------------------------------------------------

    def _check_name(self, interface: int) -> None:
        if not str(self.name).isidentifier():
            raise ProblemError(f"{self.line}: `{self.name}` is not the name of a problem; use letters and _.")
        if interface > INTERFACE:
            raise ProblemError(
                f"{self.line}: {self.name} is written for version {interface} of the interface of problems; "
                f"this gpulab has version {INTERFACE}. Install a newer gpulab."
            )

    def _checked_parameters(self) -> Output:
        """Return the output; raise `ProblemError` for arguments without a meaning."""
        names = [p if isinstance(p, str) else p.name for p in self.parameters]
        outputs = [p for p in self.parameters if isinstance(p, Output)]
        unknown = [p for p in self.parameters if isinstance(p, str) and p not in self.sizes]
        if len(outputs) != 1:
            raise ProblemError(f"{self.line}: {self.name} has {len(outputs)} outputs; it must have one.")
        if unknown:
            raise ProblemError(
                f"{self.line}: the argument `{unknown[0]}` is no size; the sizes are {', '.join(self.axes)}."
            )
        if len(set(names)) < len(names):
            raise ProblemError(f"{self.line}: two arguments of {self.name} have the same name.")
        if not self.sizes:
            raise ProblemError(f"{self.line}: {self.name} needs at least one size.")
        return outputs[0]

    def _checked_steps(self, steps: Sequence[Step]) -> Mapping[str, Step]:
        """Return the steps by their names, each with its baseline."""
        from dataclasses import replace

        if not steps:
            raise ProblemError(f"{self.line}: {self.name} needs at least one step.")
        named = {steps[0].name: replace(steps[0], baseline=steps[0].baseline or None)}
        for before, step in pairwise(steps):
            baseline = before.name if step.baseline == "" else step.baseline
            if step.name in named or (baseline is not None and baseline not in named):
                raise ProblemError(
                    f"{step.line}: the step {step.name} must have a name of its own and an earlier step as "
                    "its baseline."
                )
            named[step.name] = replace(step, baseline=baseline)
        return MappingProxyType(named)

    def _function(self, fact: Any, title: str) -> DeclaredFunction | None:
        """Return a fact as a function of arguments and sizes; None for None."""
        if fact is None:
            return None
        return DeclaredFunction(fact if callable(fact) else lambda: fact, title, self.line)

    def _sizes_of(self, shape: Shape) -> dict[str, int]:
        return dict(zip(self.axes, shape, strict=True))

    def _resolved(self, extents: Extents, shape: Shape, line: CodeLine) -> tuple[int, ...]:
        """Return declared extents as numbers."""
        sizes = self._sizes_of(shape)
        if callable(extents):
            made = DeclaredFunction(extents, "the function of the extents", line)(sizes)
        else:
            unknown = [extent for extent in extents if isinstance(extent, str) and extent not in sizes]
            if unknown:
                raise ProblemError(
                    f"{line}: `{unknown[0]}` is no size; the sizes are {', '.join(self.axes)}."
                )
            made = [sizes[extent] if isinstance(extent, str) else extent for extent in extents]
        return tuple(int(extent) for extent in made)

    @property
    def smallest_shape(self) -> Shape:
        """The shape of the smallest legal extents."""
        return tuple(size.smallest for size in self.sizes.values())

    @property
    def largest_shape(self) -> Shape:
        """The shape of the largest legal extents; their arrays may be too large."""
        return tuple(size.largest for size in self.sizes.values())

    @property
    def follows_formula(self) -> bool:
        """True if the grid is that of the formula, so that each block has a box of output points."""
        return self._grid is None

    @property
    def samples_blocks(self) -> bool:
        """True if some blocks of a large launch can be checked alone.

        It needs a reference of parts of the output (see `reference_at`), and blocks that compute the points
        that the formula of the grid gives them.
        """
        return type(self).reference_at is not Problem.reference_at and self.follows_formula

    @property
    def memory_bound(self) -> bool:
        """True if even an ideal kernel is limited by memory: less than 4 operations for each byte.

        No GPU of the catalogue has a lower ratio of arithmetic to bandwidth.
        """
        shape = self.timing_size
        return self.flops(shape) < 4 * self.compulsory_bytes(shape)

    def block_of(self, variant: str) -> Block:
        """Return the block of a header without `--block`."""
        return self.variants[variant].block or self.default_block

    def kernel_name(self, variant: str) -> str:
        """Return the name of the `__global__` function that the variant must define."""
        return self._kernel.replace("{step}", variant)

    @property
    def declaration(self) -> str:
        """The kernel's declaration in C, with `<variant>` as a placeholder for the variant's name."""
        parameters = [f"int {p}" if isinstance(p, str) else p.parameter for p in self.parameters]
        return f"{self.kernel_name('<variant>')}({', '.join(parameters)})"

    # --- shapes --------------------------------------------------------------------------------

    def output_shape(self, shape: Shape) -> Shape:
        """Return the extents of the output array."""
        return self._resolved(self._output.shape, shape, self._output.line)

    def extents(self, shape: Shape) -> Block:
        """Return the output points on each grid axis.

        The grid is `ceil(extent / (block * tile))` on each axis, and 1 on an axis whose tile is 0.
        """
        if self._extents is None:
            extents = self.output_shape(shape)[::-1]
        else:
            extents = self._resolved(self._extents, shape, self.line)
        x, y, z = (*extents, 1, 1)[:3]
        return x, y, z

    def grid(self, shape: Shape, block: Block, tile: Block) -> Block:
        """Return the blocks of the grid on each axis."""
        if self._grid is None:
            x, y, z = (
                -(-extent // (threads * points)) if points else 1
                for extent, threads, points in zip(self.extents(shape), block, tile, strict=True)
            )
            return x, y, z
        made = self._grid(self._sizes_of(shape) | {"block": block, "tile": tile})
        blocks = (made,) if isinstance(made, int | np.integer) else tuple(made)
        if not 1 <= len(blocks) <= 3 or not all(number >= 1 for number in blocks):
            raise self._grid.error(f"`grid` returned {made}; it must be one to three numbers of at least 1.")
        x, y, z = (int(number) for number in (*blocks, 1, 1)[:3])
        return x, y, z

    @cached_property
    def grid_axes(self) -> tuple[int | None, ...]:
        """For each size, the axis of the grid that it alone gives the extent of; None if there is none."""
        base = tuple(size.nearest(size.smallest + 2) for size in self.sizes.values())
        found: list[int | None] = []
        for number, size in enumerate(self.sizes.values()):
            other = size.nearest(base[number] + size.multiple, size.multiple)
            changed = (*base[:number], other, *base[number + 1 :])
            moved = [
                axis
                for axis, (a, b) in enumerate(zip(self.extents(base), self.extents(changed), strict=True))
                if a != b
            ]
            found.append(moved[0] if len(moved) == 1 else None)
        return tuple(found)

    def block_points(self, block: Block, tile: Block) -> Shape:
        """Return for each size the points that a block computes along it; 1 for a size on no grid axis."""
        return tuple(1 if axis is None else block[axis] * max(tile[axis], 1) for axis in self.grid_axes)

    def shape_multiples(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the number that each extent must be a multiple of for this variant; 1 if any will do."""
        whole = self.variants[variant].whole_blocks
        points = self.block_points(block, tile) if whole else (1,) * len(self.axes)
        return tuple(
            lcm(size.multiple, number) for size, number in zip(self.sizes.values(), points, strict=True)
        )

    def check_shapes(self, variant: str, block: Block, tile: Block) -> tuple[Shape, ...]:
        """Return the shapes that `verify` runs: few, and such that errors at block and tile edges show.

        By default several blocks and a remainder, less than a block, a few points more than a block, and
        whole blocks; only whole blocks for a step that needs no guard. In each, extents differ.
        """
        points = self.block_points(block, tile)
        if self.variants[variant].whole_blocks:
            wanted = [points, [(2 + axis) * number for axis, number in enumerate(points)]]
        else:
            wanted = [
                [2 * number + 5 for number in points],
                [FEW_POINTS] * len(points),
                [number + 1 for number in points],
                [2 * number for number in points],
            ]
        multiples = self.shape_multiples(variant, block, tile)
        return tuple(dict.fromkeys(self._legal(extents, multiples) for extents in wanted))

    def _legal(self, wanted: Sequence[int], multiples: Shape) -> Shape:
        """Return a legal shape near some extents, in which no two of them are equal if that is possible."""
        shape: list[int] = []
        rows = zip(self.sizes.values(), self.grid_axes, wanted, multiples, strict=True)
        for size, axis, number, multiple in rows:
            if axis is None:
                number = min(size.timed, max(number, UNGRIDDED))  # noqa: PLW2901
            extent = size.nearest(number, multiple)
            while extent in shape and extent + multiple <= size.largest:
                extent += multiple
            shape.append(extent)
        return tuple(shape)

    def timing_shape(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the shape at which this variant is timed."""
        multiples = self.shape_multiples(variant, block, tile)
        return tuple(
            -(-extent // unit) * unit for extent, unit in zip(self.timing_size, multiples, strict=True)
        )

    def counted_shape(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the shape on which requirements are counted: whole blocks, and few points at the edges."""
        points = self.block_points(block, tile)
        multiples = self.shape_multiples(variant, block, tile)
        dimensions = len({axis for axis in self.grid_axes if axis is not None}) or 1
        least = COUNTED_POINTS[dimensions]
        units = [lcm(number, unit) for number, unit in zip(points, multiples, strict=True)]
        wanted = [unit * max(2, -(-least // unit)) for unit in units]
        return self._legal(wanted, tuple(units))

    def checked_shape(self, shape: Shape) -> Shape:
        """Return the shape as Python integers.

        Raises
        ------
        UsageError
            If no kernel can be launched on it: an extent is too small, or an array too large.
        """
        if len(shape) != len(self.axes):
            raise UsageError(f"a {self.name} shape is ({', '.join(self.axes)}); not {tuple(shape)}.")

        for (axis, size), number in zip(self.sizes.items(), shape, strict=True):
            if number < size.smallest:
                raise UsageError(f"{axis} must be at least {size.smallest} for {self.name}; it is {number}.")
            if number > size.largest:
                raise UsageError(f"{axis} must be at most {size.largest} for {self.name}; it is {number}.")

        shape = tuple(int(number) for number in shape)
        largest = self.largest_array(shape)
        if largest > LARGEST_INDEX:
            raise UsageError(
                f"{self.format_shape(shape)} is too large: an array would have {largest} elements, and the "
                f"kernels index with int, whose largest value is {LARGEST_INDEX}."
            )
        return shape

    def largest_array(self, shape: Shape) -> int:
        """Return the number of elements of the largest array of a launch."""
        return max(prod(extents) for _, extents in self._array_shapes(shape))

    def _array_shapes(self, shape: Shape) -> Iterator[tuple[Input | Output, Shape]]:
        for parameter in self.parameters:
            if isinstance(parameter, Input | Output):
                yield parameter, self._resolved(parameter.shape, shape, parameter.line)

    def format_shape(self, shape: Shape) -> str:
        """Return a shape as text, such as `65x47x9`."""
        return "x".join(str(number) for number in shape)

    def parse_shape(self, text: str) -> Shape:
        """Return the shape of a text such as "65x47x9", or "128" for the same extent on every axis.

        Sizes of a fixed extent keep it.

        Raises
        ------
        UsageError
            If the text is not a shape of this problem; the message says which texts are.
        """
        parts = re.split(r"\s*[x,]\s*", text.strip().lower())
        if len(parts) not in (1, len(self.axes)) or not all(re.fullmatch(r"-?\d{1,18}", p) for p in parts):
            raise UsageError(
                f"a {self.name} size is one number, or {', '.join(self.axes)} with an x between them, "
                f"such as 128 or {'x'.join(('65', '47', '9', '33', '17')[: len(self.axes)])}; not `{text}`."
            )

        numbers = [int(part) for part in parts]
        if len(numbers) == 1:
            numbers = [
                size.smallest if size.smallest == size.largest and len(self.axes) > 1 else numbers[0]
                for size in self.sizes.values()
            ]
        return self.checked_shape(tuple(numbers))

    # --- values --------------------------------------------------------------------------------

    def arguments(
        self, shape: Shape, rng: np.random.Generator | None, values: InputValues = random_values
    ) -> tuple[Argument, ...]:
        """Return random inputs of this shape and an output, in the order of the kernel's parameters.

        With `rng=None` only shapes and dtypes are meaningful, and the inputs take no memory. `values` makes
        those float32 inputs that declare no values of their own.
        """
        shape = self.checked_shape(shape)
        sizes, made = self._sizes_of(shape), []
        for parameter in self.parameters:
            if isinstance(parameter, str):
                made.append(Argument(parameter, "scalar", np.int32(sizes[parameter])))
            elif isinstance(parameter, Scalar):
                made.append(Argument(parameter.name, "scalar", parameter.draw(rng)))
            elif isinstance(parameter, Output):
                extents = self._resolved(parameter.shape, shape, parameter.line)
                array = parameter.make(rng, extents)
                made.append(Argument(parameter.name, "output", array, parameter.initial is not None))
            else:
                extents = self._resolved(parameter.shape, shape, parameter.line)
                plain = parameter.values is None and parameter.dtype == "float32"
                array = values(rng, extents) if plain else parameter.draw(rng, extents)
                made.append(Argument(parameter.name, "input", array))
        return tuple(made)

    def redrawn(self, argument: Argument, rng: np.random.Generator, shape: Shape = ()) -> Any:
        """Return other random values of an input, for a part of this shape, or of a scalar."""
        parameter = next(
            (p for p in self.parameters if not isinstance(p, str) and p.name == argument.name), None
        )
        if isinstance(parameter, Input):
            return parameter.draw(rng, shape)
        return parameter.draw(rng) if isinstance(parameter, Scalar) else argument.value

    def make_case(self, shape: Shape, rng: np.random.Generator) -> Case:
        """Return random inputs of this shape, with their reference and tolerance.

        Raises
        ------
        ProblemError
            If the reference or the error bound cannot be those of this output; the message names the line.
        """
        arguments = self.arguments(shape, rng)
        expected, tolerance, written = self._checked_reference(arguments)
        return Case(
            shape, arguments, expected, tolerance, written, self.flops(shape), self.compulsory_bytes(shape)
        )

    def reference_at(
        self, arguments: Sequence[Argument], indices: Sequence[npt.NDArray[np.int64]]
    ) -> PartialReference:
        """Return the reference of the output at all combinations of some indices of each of its axes.

        By default the reference of the whole output is computed. A problem whose points can be computed one
        by one overrides this method; large launches are then checked by some of their blocks.
        """
        part = np.ix_(*indices)
        expected, tolerance, written = self._checked_reference(arguments)
        return PartialReference(expected[part], tolerance[part], written[part])

    def _checked_reference(
        self, arguments: Sequence[Argument]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return reference, tolerance and the elements to write, after a check of their plausibility."""
        values = reference_values(arguments)
        output = next(argument for argument in arguments if argument.role == "output")
        shape = tuple(int(values[axis]) for axis in self.axes) if self._names_sizes else ()
        shape = shape or self._shape_of(arguments)
        values |= self._sizes_of(shape)

        expected = self._numbers(self._reference, self._reference(values), output)
        assert self._error_bound is not None
        tolerance = self._numbers(self._error_bound, self._error_bound(values), output, scalar=True)
        written = np.zeros(expected.shape, np.bool_)
        written[self.written_box(shape)] = True
        self._check_bound(expected[written], tolerance[written], output.value.dtype)
        return expected, tolerance, written

    @cached_property
    def _names_sizes(self) -> bool:
        return all(axis in self.parameters for axis in self.axes)

    def _shape_of(self, arguments: Sequence[Argument]) -> Shape:
        """Return the sizes of a launch from the extents of its arrays."""
        known: dict[str, int] = {a.name: int(a.value) for a in arguments if a.name in self.sizes}
        arrays = {a.name: a.value.shape for a in arguments if a.kind == "pointer"}
        for parameter in self.parameters:
            if isinstance(parameter, Input | Output) and not callable(parameter.shape):
                named = zip(parameter.shape, arrays[parameter.name], strict=True)
                known |= {name: extent for name, extent in named if isinstance(name, str)}
        known |= {name: size.timed for name, size in self.sizes.items() if size.smallest == size.largest}
        missing = [axis for axis in self.axes if axis not in known]
        if missing:
            raise ProblemError(
                f"{self.line}: the size {missing[0]} is neither an argument nor an extent of an array, so "
                "that a kernel cannot know it."
            )
        return tuple(known[axis] for axis in self.axes)

    def _numbers(
        self, function: DeclaredFunction, made: Any, output: Argument, *, scalar: bool = False
    ) -> npt.NDArray[np.float64]:
        """Return what a function returned as float64, in the shape of the output."""
        shape = output.value.shape
        try:
            array = np.asarray(made, np.float64)
        except (TypeError, ValueError):
            raise function.error(
                f"{function.title} returned {type(made).__name__}; it must return an array of numbers."
            ) from None
        if array.shape != shape and not (scalar and _broadcasts(array.shape, shape)):
            raise function.error(
                f"{function.title} returned the shape {array.shape}; the output {output.name} has {shape}."
            )
        return np.broadcast_to(array, shape) if array.shape != shape else array

    def _check_bound(
        self, expected: npt.NDArray[np.float64], tolerance: npt.NDArray[np.float64], dtype: np.dtype[Any]
    ) -> None:
        """Raise `ProblemError` for a reference or an error bound that no kernel or any kernel satisfies."""
        bound = self._error_bound
        assert bound is not None
        if not np.all(np.isfinite(expected)):
            raise self._reference.error("the reference returned values that are NaN or infinite.")
        if not np.all(tolerance >= 0):  # also False for NaN
            raise bound.error("the error bound is negative or NaN at some elements.")

        if np.issubdtype(dtype, np.integer):
            limits = np.iinfo(dtype)
            nearest = np.clip(np.rint(expected), limits.min, limits.max)
        else:
            with np.errstate(over="ignore"):
                nearest = expected.astype(dtype).astype(np.float64)
        missed = np.abs(nearest - expected) > tolerance
        if 2 * np.count_nonzero(missed) > missed.size:
            worst = int(np.argmax(np.abs(nearest - expected)))
            raise bound.error(
                f"no kernel can satisfy the error bound: the value {expected[worst]:.6g} of the reference is "
                f"{abs(nearest[worst] - expected[worst]):.2g} away from the nearest {dtype.name}, and the "
                f"bound is {tolerance[worst]:.2g}."
            )
        if expected.any() and np.all(tolerance >= np.abs(expected)):
            raise bound.error(
                "the error bound accepts every kernel: it is larger than the values of the reference, so "
                "that an output of zeros would be correct."
            )

    def written_box(self, shape: Shape) -> tuple[slice, ...]:
        """Return the part of the output that a kernel must write, as a slice of each axis."""
        whole = self.output_shape(shape)
        if self._written is None:
            return tuple(slice(0, extent) for extent in whole)
        parts = tuple(self._written(self._sizes_of(shape)))
        if len(parts) != len(whole) or not all(isinstance(part, slice) for part in parts):
            raise self._written.error(f"`written` returned {parts}; it must be a slice for each axis.")
        return tuple(slice(*part.indices(extent)[:2]) for part, extent in zip(parts, whole, strict=True))

    def written_points(self, shape: Shape) -> int:
        """Return the number of output elements that a kernel must write."""
        return prod(part.stop - part.start for part in self.written_box(shape))

    def flops(self, shape: Shape) -> int:
        """Return the floating-point operations of one launch; 0 if the problem declares none."""
        assert self._flops is not None
        return int(self._flops(self._sizes_of(shape)))

    def compulsory_bytes(self, shape: Shape) -> int:
        """Return the bytes of global memory that every kernel must move: each input and output once."""
        total = 0
        for parameter, extents in self._array_shapes(shape):
            elements = self.written_points(shape) if isinstance(parameter, Output) else prod(extents)
            total += elements * np.dtype(parameter.dtype).itemsize
        return total

    def work(self, shape: Shape) -> int:
        """Return the units of work that requirements refer to: inner points, or multiply-adds."""
        if self._work is None:
            return prod(self.extents(shape))
        return int(self._work(self._sizes_of(shape)))

    def serial_work(self, shape: Shape) -> int:
        """Return the units of work that a thread performs in sequence for each of its outputs on the grid."""
        del shape
        return 1

    def mistakes(self, case: Case) -> Iterator[Mistake]:
        """Yield the outputs of common mistakes, computed one by one, for `verify` to recognise."""
        if self._mistakes is None:
            return
        values = reference_values(case.arguments) | self._sizes_of(case.shape)
        if isinstance(self._mistakes, DeclaredFunction):
            yield from self._mistakes(values)
            return
        for text, function in self._mistakes.items():
            yield Mistake(self._numbers(function, function(values), case.output, scalar=True), text)

    def reads(self, case: Case) -> Iterator[Read]:
        """Yield the uses of the inputs, for `verify` to recognise one with a wrong index.

        By default each input is one use of it.
        """
        values = reference_values(case.arguments) | self._sizes_of(case.shape)

        def output_for(name: str) -> Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
            return lambda moved: np.asarray(self._reference(values | {name: moved}), np.float64)

        for argument in case.arguments:
            if argument.role == "input" and argument.value.ndim <= len(INDEX_NAMES):
                names = INDEX_NAMES[len(INDEX_NAMES) - argument.value.ndim :]
                yield Read(f"{argument.name} is", values[argument.name], names, output_for(argument.name))


def reference_values(arguments: Sequence[Argument]) -> dict[str, Any]:
    """Return the values of arguments by name, as a reference takes them.

    Arrays are copies in float64 or int64, scalars are Python's; an output without initial values is left out.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        value = argument.value
        if argument.kind != "pointer":
            values[argument.name] = value.item()
        elif argument.role == "input" or argument.initialized:
            wide = np.float64 if np.issubdtype(value.dtype, np.floating) else np.int64
            values[argument.name] = value.astype(wide)
    return values


def _broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False
