"""Problems: what a kernel must compute, on which sizes it is checked, and the steps of its progression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.errors import ProblemError
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
    no_values,
    random_values,
)
from gpulab.problems.code_line import CodeLine
from gpulab.problems.declaration import Extents, Input, Output, Scalar, Size, Step
from gpulab.problems.declared_function import DeclaredFunction
from gpulab.problems.reference_check import as_output, check_plausible, reference_values
from gpulab.problems.shapes import ProblemShapes

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
    "no_values",
    "random_values",
]

IN_INTERFACE = True  # see `CodeLine.of_caller`
INTERFACE = 1  # version of the interface with which problems are declared

# Names of the indices into an output, and the default block, by the number of its axes.
INDEX_NAMES = ("z", "y", "x")
BLOCKS: Mapping[int, Block] = {1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 8, 1)}


class Problem(ProblemShapes):
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
    published : mapping, optional
        Figures of documents: tables by their keys, of the form of the entries of gpulab's own
        `published.toml`. `gpulab.published`, `gpulab.published_table` and the sliders show them.
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
        published: Mapping[str, Mapping[str, Any]] | None = None,
        interface: int = INTERFACE,
    ) -> None:
        self.line = CodeLine.of_caller()
        self.name, self.work_unit = name, work_unit
        # A function and its arguments that return the problem in another process.
        self.found_by: tuple[Callable[..., Problem], tuple[Any, ...]] | None = None
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
        self.published = MappingProxyType(dict(published or {}))
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
        self._check_launches()

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

    def _check_name(self, interface: int) -> None:
        if not str(self.name).isidentifier():
            raise ProblemError(
                f"{self.line}: `{self.name}` is not the name of a problem; use letters, digits and _."
            )
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

    @property
    def reference_line(self) -> CodeLine:
        """The line of the reference, for messages."""
        return self._reference.line

    @cached_property
    def addressing_inputs(self) -> frozenset[str]:
        """Names of integer inputs: their values may be indices, which decide on the memory traffic."""
        return frozenset(p.name for p in self.parameters if isinstance(p, Input) and not p.is_float)

    def kernel_name(self, variant: str) -> str:
        """Return the name of the `__global__` function that the variant must define."""
        return self._kernel.replace("{step}", variant)

    @property
    def declaration(self) -> str:
        """The kernel's declaration in C, with `<variant>` as a placeholder for the variant's name."""
        parameters = [f"int {p}" if isinstance(p, str) else p.parameter for p in self.parameters]
        return f"{self.kernel_name('<variant>')}({', '.join(parameters)})"

    def of_step(self, step: str) -> Problem:
        """Return the problem that a step solves: this one, unless a class overrides it.

        Another problem has the same name, kernel and sizes, and declares this step alone.
        """
        del step
        return self

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

        expected = as_output(self._reference, self._reference(values), output)
        assert self._error_bound is not None
        tolerance = as_output(self._error_bound, self._error_bound(values), output, broadcast=True)
        written = np.zeros(expected.shape, np.bool_)
        written[self.written_box(shape)] = True
        check_plausible(
            self._reference, self._error_bound, expected[written], tolerance[written], output.value.dtype
        )
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
            yield Mistake(as_output(function, function(values), case.output, broadcast=True), text)

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
