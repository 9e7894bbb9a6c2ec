"""Problems: what a kernel must compute, on which sizes it is checked, and the steps of its progression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
    random_values,
)
from gpulab.problems.checked_facts import (
    as_block,
    as_tuple,
    as_whole_number,
    require_number_or_function,
)
from gpulab.problems.code_line import CodeLine
from gpulab.problems.declaration import Extents, Input, Output, Scalar, Size, Step
from gpulab.problems.declared_function import DeclaredFunction
from gpulab.problems.reference_check import as_outputs, check_plausible, reference_values
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
    "random_values",
]

IN_INTERFACE = True  # see `CodeLine.of_caller`
INTERFACE = 1  # version of the interface with which problems are declared

# Reference, tolerance, and the elements that a kernel must write, of one output.
_Reference = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]
# Names of the indices into an array, and the default block, by the number of axes. The one index of a kernel
# is i, because x is often an array.
INDEX_NAMES: Mapping[int, tuple[str, ...]] = {1: ("i",), 2: ("y", "x"), 3: ("z", "y", "x")}
COMPONENT = "component"  # the index into a vector such as float4
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
        The kernel's parameters in their order. At least one is an `Output`. A name is that of a size, which
        is passed as `int`.
    sizes : mapping of str to Size or int
        The named sizes, in the order of a shape. A number is the extent at which kernels are timed.
    reference : callable
        Takes arguments and sizes by their names, floating-point arrays as float64 and integers as int64, and
        returns the output; of several outputs a tuple in their order.
    steps : sequence of Step
        The steps of the progression, in order.
    error_bound : float or callable, optional
        Largest accepted absolute error of an element: a number, or a function like `reference` that returns
        an array. The default 0 is for outputs that are copied or counted. See `gamma`. Of several outputs, a
        tuple or one number.
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
        Takes sizes and returns a slice for each axis of the only output: the part that a kernel must write.
        All other elements must stay unchanged. By default the whole output.
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
        Names of the indices into the output. By default i, or y and x, or z, y and x.
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
        given: Any = sizes
        if not isinstance(given, Mapping) or not given:
            raise ProblemError(
                f'{self.line}: `sizes` must name at least one size, as in {{"n": 1 << 20}}; it is {given!r}.'
            )
        self.sizes = {size: self._size(size, extent) for size, extent in sizes.items()}
        self.axes = tuple(self.sizes)
        self.timing_size: Shape = tuple(size.timed for size in self.sizes.values())
        self.parameters = as_tuple(arguments, (Input, Output, Scalar, str), "`arguments`", self.line)
        self._outputs = self._checked_parameters()
        self._check_sizes()

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
        if not all(isinstance(table, Mapping) for table in self.published.values()):
            raise ProblemError(
                f"{self.line}: each entry of `published` must be a table, as in published.toml."
            )

        axes = [len(self._resolved(each.shape, self.smallest_shape, each.line)) for each in self._outputs]
        self.index_names = tuple(index) if index else _names(axes[0], vector=self._output.is_vector)
        self._check_vectors()
        self._check_outputs(axes)

        dimensions = sum(extent > 1 for extent in self.extents(self.timing_size))
        given = block or BLOCKS[max(dimensions, 1)]
        self.default_block: Block = as_block(given, "`block`", self.line)
        self.default_tile: Block = as_block(tile, "`tile`", self.line, least=0)
        self._check_launches()
        if self.flops(self.timing_size) < 0 or self.work(self.timing_size) < 1:
            raise ProblemError(
                f"{self.line}: at the timed size, `work` must be at least 1 and `flops` must not be negative."
            )

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

    def _size(self, name: str, extent: Size | int) -> Size:
        """Return the size that is declared as an extent, or raise `ProblemError` with its name."""
        if isinstance(extent, Size):
            return extent
        try:
            return Size(extent, line=self.line)
        except ProblemError as error:
            raise ProblemError(f"{error} The size is {name}.") from None

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

    def _checked_parameters(self) -> tuple[Output, ...]:
        """Return the outputs; raise `ProblemError` for arguments without a meaning."""
        names = [p if isinstance(p, str) else p.name for p in self.parameters]
        outputs = tuple(p for p in self.parameters if isinstance(p, Output))
        unknown = [p for p in self.parameters if isinstance(p, str) and p not in self.sizes]
        if not outputs:
            raise ProblemError(f"{self.line}: {self.name} has no output; one argument must be an `Output`.")
        if unknown:
            raise ProblemError(
                f"{self.line}: the argument `{unknown[0]}` is no size; the sizes are {', '.join(self.axes)}."
            )
        if len(set(names)) < len(names):
            raise ProblemError(f"{self.line}: two arguments of {self.name} have the same name.")
        return outputs

    def _check_vectors(self) -> None:
        """Raise `ProblemError` for an array of vectors whose last extent is not that of a vector."""
        for parameter, extents in self._array_shapes(self.smallest_shape):
            width = int(parameter.c_type[-1]) if parameter.is_vector else 0
            if width > 1 and (not extents or extents[-1] != width):
                raise ProblemError(
                    f"{parameter.line}: the last extent of {parameter.name}, an array of {parameter.c_type}, "
                    f"must be {width}; its extents are {extents}."
                )

    def _check_outputs(self, axes: Sequence[int]) -> None:
        """Raise `ProblemError` for an output with another number of axes than its declaration allows.

        axes: the numbers of axes of the outputs.
        """
        for output, number in zip(self._outputs, axes, strict=True):
            if number not in INDEX_NAMES or len(self.index_names) != axes[0]:
                raise ProblemError(
                    f"{output.line}: the output {output.name} has {number} axes; one to three are possible, "
                    "and `index` names each of them."
                )
            if output.any_order and (number != 1 or self._written is not None):
                raise ProblemError(
                    f"{output.line}: the output {output.name} cannot be in any order: it must have one axis, "
                    "and `initial` instead of `written`."
                )
        if self._written is not None and len(self._outputs) > 1:
            raise ProblemError(f"{self.line}: `written` is possible for a problem with one output only.")

    def _check_sizes(self) -> None:
        """Raise `ProblemError` for a size that no argument depends on, so that a kernel cannot know it."""
        used: set[Any] = {p for p in self.parameters if isinstance(p, str)}
        for parameter in self.parameters:
            for fact in ("shape", "values", "initial"):
                value = getattr(parameter, fact, None)
                if callable(value) and not isinstance(parameter, str):
                    used |= set(DeclaredFunction(value, fact, parameter.line).names)
                elif isinstance(value, Sequence):
                    used |= set(value)
        for name, size in self.sizes.items():
            if name not in used and size.smallest != size.largest:
                raise ProblemError(
                    f"{size.line}: the size {name} is neither an argument nor an extent of an array, so that "
                    "a kernel cannot know it."
                )

    def _checked_steps(self, steps: Sequence[Step]) -> Mapping[str, Step]:
        """Return the steps by their names, each with its baseline."""
        steps = as_tuple(steps, Step, "`steps`", self.line)
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
        for step in named.values():
            for each in step.requirements:
                if each.relative and step.baseline is None:
                    raise ProblemError(
                        f"{each.line}: the requirement on {each.measure} is relative, and {step.name} has no "
                        "step before it."
                    )
        return MappingProxyType(named)

    def _function(self, fact: Any, title: str) -> DeclaredFunction | None:
        """Return a fact as a function of arguments and sizes; None for None."""
        if fact is None:
            return None
        require_number_or_function(fact, title, self.line)
        return DeclaredFunction(fact if callable(fact) else lambda: fact, title, self.line)

    @property
    def samples_blocks(self) -> bool:
        """True if some blocks of a large launch can be checked alone.

        It needs a reference of parts of the output (see `reference_at`), and blocks that compute the points
        that the formula of the grid gives them.
        """
        by_point = type(self).reference_at is not Problem.reference_at and len(self._outputs) == 1
        return by_point and self.follows_formula

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

    def index_names_of(self, axes: int) -> tuple[str, ...]:
        """Return the names of the indices into an output.

        Parameters
        ----------
        axes : int
            The number of its axes.

        Returns
        -------
        tuple of str
            Such as ("z", "y", "x"), in the order of the axes.
        """
        return self.index_names if axes == len(self.index_names) else _names(axes)

    def format_index(self, index: Sequence[np.intp | int], output: str = "") -> str:
        """Format the place of an element of an output for messages.

        Parameters
        ----------
        index : sequence of int
            The index on each axis.
        output : str, optional
            The name of the array; by default that of the first output.

        Returns
        -------
        str
            Such as ``(z=1, y=2, x=3)``, or ``y[256]`` for an array with one axis.
        """
        if len(index) == 1:
            return f"{output or self._output.name}[{int(index[0])}]"
        names = self.index_names_of(len(index))
        return "(" + ", ".join(f"{n}={int(i)}" for n, i in zip(names, index, strict=True)) + ")"

    def kernel_name(self, variant: str) -> str:
        """Return the name of the `__global__` function that a step must define.

        Parameters
        ----------
        variant : str
            The name of the step.

        Returns
        -------
        str
            The name of the function.
        """
        return self._kernel.replace("{step}", variant)

    @property
    def declaration(self) -> str:
        """The kernel's declaration in C, with `<variant>` as a placeholder for the variant's name."""
        parameters = [f"int {p}" if isinstance(p, str) else p.parameter for p in self.parameters]
        return f"{self.kernel_name('<variant>')}({', '.join(parameters)})"

    def of_step(self, step: str) -> Problem:
        """Return the problem that a step solves: this one, unless a class overrides this method.

        Parameters
        ----------
        step : str
            The name of the step.

        Returns
        -------
        Problem
            Another problem has the same name, kernel and sizes, and declares this step alone.
        """
        del step
        return self

    def arguments(
        self, shape: Shape, rng: np.random.Generator | None, values: InputValues = random_values
    ) -> tuple[Argument, ...]:
        """Make the arguments of a launch: random inputs and the outputs.

        Parameters
        ----------
        shape : Shape
            The extents of the sizes, in the order of `axes`.
        rng : numpy.random.Generator or None
            Draws the inputs. With None only shapes and dtypes are meaningful, and the inputs take no memory.
        values : callable, optional
            Takes `rng` and a shape, and makes those float32 inputs that declare no values of their own; by
            default `random_values`.

        Returns
        -------
        tuple of Argument
            In the order of the kernel's parameters.

        Raises
        ------
        UsageError
            If no kernel can be launched on the shape.
        ProblemError
            If a declared function fails; the message names the line.
        """
        shape = self.checked_shape(shape)
        sizes = self._sizes_of(shape)
        made: dict[str, Argument] = {}
        # Outputs are last, because their initial values may be those of an input.
        for parameter in sorted(self.parameters, key=lambda parameter: isinstance(parameter, Output)):
            named = sizes | {name: argument.value for name, argument in made.items()}
            if isinstance(parameter, str):
                made[parameter] = Argument(parameter, "scalar", np.int32(sizes[parameter]))
                continue
            name = parameter.name
            if isinstance(parameter, Scalar):
                made[name] = Argument(name, "scalar", parameter.draw(rng, named))
            elif isinstance(parameter, Output):
                extents = self._resolved(parameter.shape, shape, parameter.line)
                array = parameter.make(rng, extents, named)
                made[name] = Argument(name, "output", array, parameter.initial is not None)
            else:
                extents = self._resolved(parameter.shape, shape, parameter.line)
                plain = parameter.values is None and parameter.dtype == "float32"
                array = values(rng, extents) if plain else parameter.draw(rng, extents, named)
                made[name] = Argument(name, "input", array)
        return tuple(made[p if isinstance(p, str) else p.name] for p in self.parameters)

    def redrawn(self, argument: Argument, rng: np.random.Generator, shape: Shape = ()) -> Any:
        """Draw new random values of an argument.

        Parameters
        ----------
        argument : Argument
            An input or a scalar that `arguments` returned.
        rng : numpy.random.Generator
            Draws the values.
        shape : Shape, optional
            The shape of the part of an input that gets new values.

        Returns
        -------
        ndarray, NumPy scalar or None
            The values. Values that a declared function returns may depend on each other: None is then
            returned for an input, and the present value for a scalar.
        """
        parameter = next(
            (p for p in self.parameters if not isinstance(p, str) and p.name == argument.name), None
        )
        if isinstance(parameter, Input):
            return None if callable(parameter.values) else parameter.draw(rng, shape)
        if isinstance(parameter, Scalar) and not callable(parameter.values):
            return parameter.draw(rng)
        return argument.value

    def make_case(self, shape: Shape, rng: np.random.Generator) -> Case:
        """Make random inputs, and compute their reference and tolerance.

        Parameters
        ----------
        shape : Shape
            The extents of the sizes, in the order of `axes`.
        rng : numpy.random.Generator
            Draws the inputs.

        Returns
        -------
        Case
            The arguments with the reference and the tolerance of each output.

        Raises
        ------
        ProblemError
            If the reference or the error bound cannot be those of this output; the message names the line.
        """
        return self.case_of(shape, self.arguments(shape, rng))

    def case_of(self, shape: Shape, arguments: tuple[Argument, ...]) -> Case:
        """Compute the reference and the tolerance for some arguments.

        Parameters
        ----------
        shape : Shape
            The extents of the sizes, in the order of `axes`.
        arguments : tuple of Argument
            The arguments, as `arguments` returns them.

        Returns
        -------
        Case
            As of `make_case`, which also describes the errors.
        """
        flops, nbytes = self.flops(shape), self.compulsory_bytes(shape)
        names = [output.name for output in self._outputs] if len(self._outputs) > 1 else [""]
        parts = zip(self._checked_references(arguments, shape), names, strict=True)
        cases = [Case(shape, arguments, *part, flops, nbytes, name) for part, name in parts]
        first, *others = map(_in_any_order, cases, self._outputs)
        return replace(first, others=tuple(others))

    def reference_at(
        self, arguments: Sequence[Argument], indices: Sequence[npt.NDArray[np.int64]]
    ) -> PartialReference:
        """Compute the reference at some points of the output.

        A problem with one output whose points can be computed one by one overrides this method; large
        launches are then checked by some of their blocks. See `samples_blocks`.

        Parameters
        ----------
        arguments : sequence of Argument
            The arguments of a launch.
        indices : sequence of ndarray of int64
            Indices on each axis of the output. The points are all combinations of them.

        Returns
        -------
        PartialReference
            Arrays whose shape is the number of indices on each axis.
        """
        raise NotImplementedError

    def _checked_references(self, arguments: Sequence[Argument], shape: Shape) -> list[_Reference]:
        """Return reference, tolerance and the elements to write of each output, if they are plausible."""
        values = reference_values(arguments) | self._sizes_of(shape)
        outputs = [argument for argument in arguments if argument.role == "output"]
        references = as_outputs(self._reference, self._reference(values), outputs)
        assert self._error_bound is not None
        values = reference_values(arguments) | self._sizes_of(shape)  # the reference may have changed them
        bounds = as_outputs(self._error_bound, self._error_bound(values), outputs, broadcast=True)
        made = []
        for output, expected, tolerance in zip(outputs, references, bounds, strict=True):
            written = np.zeros(expected.shape, np.bool_)
            written[self.written_box(shape) if len(outputs) == 1 else ...] = True
            check_plausible(
                self._reference, self._error_bound, expected[written], tolerance[written], output.value.dtype
            )
            made.append((expected, tolerance, written))
        return made

    def flops(self, shape: Shape) -> int:
        """Return the floating-point operations of one launch.

        Parameters
        ----------
        shape : Shape
            The extents of the sizes, in the order of `axes`.

        Returns
        -------
        int
            The operations; 0 if the problem declares none.
        """
        assert self._flops is not None
        return as_whole_number(self._flops(self._sizes_of(shape)), "`flops`", self._flops.line)

    def compulsory_bytes(self, shape: Shape) -> int:
        """Return the bytes of global memory that every kernel must move: each input and output once.

        Parameters
        ----------
        shape : Shape
            The extents of the sizes, in the order of `axes`.

        Returns
        -------
        int
            The bytes of one launch. Elements of the first output that a kernel must not write do not count.
        """
        total = 0
        for parameter, extents in self._array_shapes(shape):
            elements = self.written_points(shape) if parameter is self._output else prod(extents)
            total += elements * np.dtype(parameter.dtype).itemsize
        return total

    def work(self, shape: Shape) -> int:
        """Return the units of work that requirements refer to, such as inner points or multiply-adds.

        Parameters
        ----------
        shape : Shape
            The extents of the sizes, in the order of `axes`.

        Returns
        -------
        int
            The units of one launch; by default the points on the grid.
        """
        if self._work is None:
            return prod(self.extents(shape))
        return as_whole_number(self._work(self._sizes_of(shape)), "`work`", self._work.line)

    def serial_work(self, shape: Shape) -> int:
        """Return the units of work that a thread performs in sequence for each of its outputs on the grid.

        Parameters
        ----------
        shape : Shape
            The extents of the sizes, in the order of `axes`.

        Returns
        -------
        int
            Such as the frames of the stencil, or the multiply-adds of an element of a matrix product.
        """
        del shape
        return 1

    def mistakes(self, case: Case) -> Iterator[Mistake]:
        """Yield the outputs of common mistakes, by which `verify` recognises them.

        Parameters
        ----------
        case : Case
            A launch with its reference.

        Yields
        ------
        Mistake
            Each is computed when it is requested.
        """
        if self._mistakes is None:
            return
        values = reference_values(case.arguments) | self._sizes_of(case.shape)
        if isinstance(self._mistakes, DeclaredFunction):
            yield from self._mistakes(values)
            return
        for text, function in self._mistakes.items():
            made = self._part(function, function(values), case, broadcast=True)
            yield Mistake(case.in_order(made), text)

    def _part(
        self, function: DeclaredFunction, made: Any, case: Case, *, broadcast: bool
    ) -> npt.NDArray[np.float64]:
        """Return the part of what a function returned that belongs to the output of a case."""
        outputs = [argument for argument in case.arguments if argument.role == "output"]
        parts = as_outputs(function, made, outputs, broadcast=broadcast)
        return next(p for p, output in zip(parts, outputs, strict=True) if output.name == case.output.name)

    def reads(self, case: Case) -> Iterator[Read]:
        """Yield the uses of the inputs, by which `verify` recognises one with a wrong index.

        Parameters
        ----------
        case : Case
            A launch with its reference.

        Yields
        ------
        Read
            By default one for each input.
        """
        values = reference_values(case.arguments) | self._sizes_of(case.shape)

        def output_for(name: str) -> Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
            return lambda moved: self._part(
                self._reference, self._reference(values | {name: moved}), case, broadcast=False
            )

        vectors = {p.name for p in self.parameters if isinstance(p, Input) and p.is_vector}
        for argument in case.arguments:
            if argument.role == "input" and argument.value.ndim in INDEX_NAMES:
                names = _names(argument.value.ndim, vector=argument.name in vectors)
                yield Read(f"{argument.name} is", values[argument.name], names, output_for(argument.name))


def _in_any_order(case: Case, output: Output) -> Case:
    """Return a case whose reference is sorted, if the kernel may store the elements in any order.

    Elements that the reference leaves as they were before the launch keep their places.
    """
    if not output.any_order:
        return case
    before, expected, tolerance = case.output, case.expected.copy(), case.tolerance.copy()
    unordered = expected != before.value if before.initialized else np.ones(expected.shape, np.bool_)
    order = np.argsort(expected[unordered])
    expected[unordered], tolerance[unordered] = expected[unordered][order], tolerance[unordered][order]
    return replace(case, expected=expected, tolerance=tolerance, unordered=unordered)


def _names(axes: int, *, vector: bool = False) -> tuple[str, ...]:
    """Return the names of the indices into an array. vector: the last axis has the components of vectors."""
    if vector and axes > 1:
        return (*INDEX_NAMES.get(axes - 1, ()), COMPONENT)
    return INDEX_NAMES.get(axes, ())
