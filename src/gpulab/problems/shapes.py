"""The sizes of a problem: arrays, grids, and the shapes on which kernels are checked, counted and timed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import lcm, prod

from gpulab.errors import ProblemError, UsageError
from gpulab.problems.case import LARGEST_INDEX, Block, Shape
from gpulab.problems.checked_facts import as_axes, as_block, as_whole_number
from gpulab.problems.code_line import CodeLine
from gpulab.problems.declaration import Extents, Input, Output, Scalar, Size, Step
from gpulab.problems.declared_function import DeclaredFunction

__all__ = ["ProblemShapes"]

IN_INTERFACE = True  # see `CodeLine.of_caller`

# Points along each axis of the launch that is counted, at least, by the number of axes.
COUNTED_POINTS: Mapping[int, int] = {1: 4096, 2: 64, 3: 32}
MOST_COUNTED_THREADS = 1 << 20  # threads of the launch that is counted, if smaller extents are legal
MOST_THREADS = 1024  # threads of a block; CUDA C++ Programming Guide
MOST_SHARED = 227 * 1024  # bytes of shared memory of a block; compute capability 9.0 and 10.0
MOST_BLOCKS = (2**31 - 1, 65535, 65535)  # blocks on each axis of a grid; CUDA C++ Programming Guide
UNGRIDDED = 67  # largest extent in a check of a size that is on no axis of the grid
SEVERAL_POINTS = 37  # smallest extent of a launch of several blocks
FEWEST_SHAPES = 3  # shapes of a check, if the problem has as many
CHANGE = 64  # multiples by which a size is changed to find the axis of the grid that changes with it
FEW_POINTS = 7  # extent of a launch smaller than a block


class ProblemShapes:
    """The part of a problem that knows its sizes; `Problem` describes the attributes.

    A parameter `shape` has the extents of the sizes, in the order of `axes`. `block` has the threads of a
    block and `tile` the output points of a thread, as (x, y, z).
    """

    name: str
    line: CodeLine
    sizes: Mapping[str, Size]
    axes: tuple[str, ...]
    timing_size: Shape
    parameters: tuple[Input | Output | Scalar | str, ...]
    variants: Mapping[str, Step]
    default_block: Block
    default_tile: Block
    _outputs: tuple[Output, ...]
    _extents: Extents | None
    _grid: DeclaredFunction | None
    _written: DeclaredFunction | None

    def block_of(self, variant: str) -> Block:
        """Return the block of a header without `--block`."""
        return self.variants[variant].block or self.default_block

    @property
    def follows_formula(self) -> bool:
        """True if the grid is that of the formula, so that each block has a box of output points."""
        return self._grid is None

    @property
    def _output(self) -> Output:
        """The first output, from whose extents the grid and the picture follow."""
        return self._outputs[0]

    def _sizes_of(self, shape: Shape) -> dict[str, int]:
        return dict(zip(self.axes, shape, strict=True))

    def _resolved(self, extents: Extents, shape: Shape, line: CodeLine) -> tuple[int, ...]:
        """Return declared extents as numbers."""
        sizes = self._sizes_of(shape)
        if callable(extents):
            made = DeclaredFunction(extents, "the function of the extents", line)(sizes)
            made = as_axes(made, "the result of the function of the extents", line)
        else:
            extents = as_axes(extents, "the extents", line)
            unknown = [extent for extent in extents if isinstance(extent, str) and extent not in sizes]
            if unknown:
                raise ProblemError(
                    f"{line}: `{unknown[0]}` is no size; the sizes are {', '.join(self.axes)}."
                )
            made = [sizes[extent] if isinstance(extent, str) else extent for extent in extents]
        return tuple(as_whole_number(extent, "an extent", line) for extent in made)

    @property
    def smallest_shape(self) -> Shape:
        """The shape of the smallest legal extents."""
        return tuple(size.smallest for size in self.sizes.values())

    def output_shape(self, shape: Shape) -> Shape:
        """Return the extents of the first output."""
        return self._resolved(self._output.shape, shape, self._output.line)

    def extents(self, shape: Shape) -> Block:
        """Return the output points on the axes (x, y, z) of the grid.

        The grid is ``ceil(extent / (block * tile))`` on each axis, and 1 on an axis whose tile is 0.
        """
        if self._extents is None:
            extents = self.output_shape(shape)[::-1][self._output.is_vector :]
        else:
            extents = self._resolved(self._extents, shape, self.line)
        x, y, z = (*extents, 1, 1)[:3]
        return x, y, z

    def grid(self, shape: Shape, block: Block, tile: Block) -> Block:
        """Return the blocks of the grid on the axes (x, y, z)."""
        if self._grid is None:
            x, y, z = (
                -(-extent // (threads * points)) if points else 1
                for extent, threads, points in zip(self.extents(shape), block, tile, strict=True)
            )
            return x, y, z
        made = self._grid(self._sizes_of(shape) | {"block": block, "tile": tile})
        return as_block(made, "what `grid` returns", self._grid.line)

    def shared_mem(self, variant: str, shape: Shape, block: Block, tile: Block) -> int:
        """Return the bytes of dynamic shared memory of a block."""
        step = self.variants[variant]
        made, title = step.shared, f"`shared` of {variant}"
        if callable(made):
            function = DeclaredFunction(made, title, step.line)
            made = function(self._sizes_of(shape) | {"block": block, "tile": tile})
        number = as_whole_number(made, title, step.line)
        if not 0 <= number <= MOST_SHARED:
            raise ProblemError(
                f"{step.line}: {title} is {number:,} bytes; a block has at most {MOST_SHARED:,} on any GPU."
            )
        return number

    @cached_property
    def grid_axes(self) -> tuple[int | None, ...]:
        """For each size, the axis of the grid that grows with it; None if it is none, or several."""
        base = tuple(size.nearest(size.smallest + 2) for size in self.sizes.values())
        found: list[int | None] = []
        for number, size in enumerate(self.sizes.values()):
            other = size.nearest(base[number] + CHANGE * size.multiple, size.multiple)
            changed = (*base[:number], other, *base[number + 1 :])
            moved = [
                axis
                for axis, (a, b) in enumerate(zip(self.extents(base), self.extents(changed), strict=True))
                if a < b
            ]
            found.append(moved[0] if len(moved) == 1 else None)
        return tuple(found)

    def block_points(self, block: Block, tile: Block) -> Shape:
        """Return the points that a block computes along each size; 1 for a size on no axis of the grid."""
        return tuple(1 if axis is None else block[axis] * max(tile[axis], 1) for axis in self.grid_axes)

    def shape_multiples(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the number that each extent must be a multiple of for this variant; 1 if any will do."""
        whole = self.variants[variant].whole_blocks
        points = self.block_points(block, tile) if whole else (1,) * len(self.axes)
        return tuple(
            lcm(size.multiple, number) for size, number in zip(self.sizes.values(), points, strict=True)
        )

    def check_shapes(self, variant: str, block: Block, tile: Block) -> tuple[Shape, ...]:
        """Return the few shapes that `verify` runs, on which errors at the edges of blocks and tiles show.

        By default they have several blocks and a remainder, less than a block, a few points more than a
        block, and whole blocks; for a step that needs no guard, whole blocks only. The extents of a shape
        differ.
        """
        points = self.block_points(block, tile)
        if self.variants[variant].whole_blocks:
            wanted = [points, [(2 + axis) * number for axis, number in enumerate(points)]]
        else:
            wanted = [
                [max(2 * number + 5, SEVERAL_POINTS) for number in points],
                [FEW_POINTS] * len(points),
                [number + 1 for number in points],
                [2 * number for number in points],
            ]
        multiples = self.shape_multiples(variant, block, tile)
        shapes = list(dict.fromkeys(self._legal(extents, multiples) for extents in wanted))
        if len(shapes) < FEWEST_SHAPES:  # no size may be larger than a block
            smaller = self._legal([max(number - 5, 1) for number in points], multiples)
            shapes += [smaller] if smaller not in shapes else []
        return tuple(shapes)

    def _legal(self, wanted: Sequence[int], multiples: Shape) -> Shape:
        """Return a legal shape near some extents, in which no two of them are equal if that is possible."""
        near: list[int] = []
        different: list[int] = []
        rows = zip(self.sizes.values(), self.grid_axes, wanted, multiples, strict=True)
        for size, axis, number, multiple in rows:
            if axis is None:
                number = min(size.timed, max(number, UNGRIDDED))  # noqa: PLW2901
            extent = size.nearest(number, multiple)
            near.append(extent)
            while extent in different and (longer := size.nearest(extent + multiple, multiple)) > extent:
                extent = longer
            different.append(extent)
        arrays = self._array_shapes(tuple(different))
        possible = all(min(extents, default=1) >= 1 for _, extents in arrays)
        return tuple(different) if possible else tuple(near)

    def timing_shape(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the shape at which this variant is timed."""
        multiples = self.shape_multiples(variant, block, tile)
        return self.nearest_shape(self.timing_size, multiples)

    def nearest_shape(self, shape: Sequence[int], multiples: Sequence[int]) -> Shape:
        """Return a legal shape near another one whose extents are multiples of `multiples`."""
        axes = zip(self.sizes.values(), shape, multiples, strict=True)
        return tuple(size.nearest(extent, multiple) for size, extent, multiple in axes)

    def counted_shape(self, variant: str, block: Block, tile: Block) -> Shape:
        """Return the shape on which requirements are counted: whole blocks, and few points at the edges."""
        points = self.block_points(block, tile)
        multiples = self.shape_multiples(variant, block, tile)
        dimensions = len({axis for axis in self.grid_axes if axis is not None}) or 1
        least = COUNTED_POINTS[dimensions]
        units = [lcm(number, unit) for number, unit in zip(points, multiples, strict=True)]
        wanted = [unit * max(2, -(-least // unit)) for unit in units]
        shape = self._legal(wanted, tuple(units))
        while prod(self.grid(shape, block, tile)) * prod(block) > MOST_COUNTED_THREADS:
            halved = self.nearest_shape([extent // 2 for extent in shape], multiples)
            if halved == shape:
                break
            shape = halved
        return shape

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
            if size.extents and number not in size.extents:
                legal = ", ".join(map(str, size.extents))
                raise UsageError(f"{axis} must be one of {legal} for {self.name}; it is {number}.")

        shape = tuple(int(number) for number in shape)
        for parameter, extents in self._array_shapes(shape):
            if min(extents, default=0) < 1:
                raise UsageError(
                    f"{self.format_shape(shape)} is too small for {self.name}: the array {parameter.name} "
                    f"would have the extents {extents}."
                )
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
        """Return a shape as text, such as `65x47x9`, or `n = 512` if the problem has one size."""
        text = "x".join(str(number) for number in shape)
        return f"{self.axes[0]} = {text}" if len(self.axes) == 1 else text

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

    def written_box(self, shape: Shape) -> tuple[slice, ...]:
        """Return the part of the output that a kernel must write, as a slice of each axis."""
        whole = self.output_shape(shape)
        if self._written is None:
            return tuple(slice(0, extent) for extent in whole)
        made = self._written(self._sizes_of(shape))
        parts = (made,) if isinstance(made, slice) else as_axes(made, "what `written` returns", self.line)
        if len(parts) != len(whole) or not all(isinstance(part, slice) for part in parts):
            raise self._written.error(f"`written` returned {parts}; it must be a slice for each axis.")
        return tuple(slice(*part.indices(extent)[:2]) for part, extent in zip(parts, whole, strict=True))

    def written_points(self, shape: Shape) -> int:
        """Return the number of elements of the first output that a kernel must write."""
        return prod(part.stop - part.start for part in self.written_box(shape))

    def _check_launches(self) -> None:
        """Raise `ProblemError` for a step whose timed launch or whose check is not possible."""
        for step in self.variants.values():
            geometry = step.name, self.block_of(step.name), self.default_tile
            if prod(geometry[1]) > MOST_THREADS:
                raise ProblemError(
                    f"{step.line}: the block of {step.name} has {prod(geometry[1]):,} threads; at most "
                    f"{MOST_THREADS:,} are possible."
                )
            for shape in (self.timing_shape(*geometry), *self.check_shapes(*geometry)):
                try:
                    grid = self.grid(self.checked_shape(shape), *geometry[1:])
                    self.shared_mem(step.name, shape, *geometry[1:])
                except ProblemError:
                    raise
                except UsageError as error:
                    raise ProblemError(f"{step.line}: {step.name} cannot be launched: {error}") from None
                for axis, blocks, most in zip("xyz", grid, MOST_BLOCKS, strict=True):
                    if blocks > most:
                        raise ProblemError(
                            f"{step.line}: {step.name} cannot be launched on {self.format_shape(shape)}: "
                            f"{blocks:,} blocks on the {axis} axis, and a grid has at most {most:,}."
                        )
