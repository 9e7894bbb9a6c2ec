"""The accesses of loops in their order: a text is evaluated step by step, without running it as Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from gpulab.errors import UsageError

__all__ = ["Access", "ElementAccess", "LoopTrace", "ParallelLoop", "Product", "TooManySteps", "trace_loops"]

Access = tuple[int, ...]  # the indices of the arrays that one update names, in the order of the text

MAX_STEPS = 20_000  # statements that are evaluated; an order shows within a few hundred
MAX_CALLS = 20  # calls inside each other
OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.USub: operator.neg,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "range": range,
    "prange": range,
    "min": min,
    "max": max,
    "int": int,
}
FLOATS = frozenset({"float", "float32", "float64"})  # conversions to a number that is not followed
NEW_ARRAYS = frozenset({"empty", "zeros"})


class TooManySteps(UsageError):
    """Loops that do not end, or that run much longer than their sizes need."""


@dataclass(frozen=True, eq=False)
class ParallelLoop:
    """One run of a loop with `prange`: its index and its line."""

    index: str
    line: int


Iterations = tuple[tuple[ParallelLoop, int], ...]  # parallel loops around a statement, outermost first


@dataclass(frozen=True, eq=False)
class Array:
    """An array: a parameter of the loops, or one that they made, without a name."""

    name: str = ""


@dataclass(frozen=True)
class ElementAccess:
    """One load or store of an element, by the statement with this number in the order of execution."""

    statement: int
    line: int
    array: Array
    index: int
    stores: bool
    iterations: Iterations


@dataclass(frozen=True)
class Factor:
    """A number that is not followed. elements: the elements of arrays of which it is the product."""

    elements: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Product:
    """A product of elements: the index of each array's element by the name of the array."""

    indices: Mapping[str, int]
    iterations: Iterations


class _Return(Exception):
    """The value of a function."""


class _Break(Exception):
    """The end of a loop."""


class _Continue(Exception):
    """The end of an iteration."""


def trace_loops(
    text: str, arrays: Sequence[str], sizes: Mapping[str, int], *, while_loops: bool = False
) -> list[Access]:
    r"""Return the accesses of a loop nest in the order in which they happen.

    Parameters
    ----------
    text : str
        A cell that defines one function of `for` loops, with its constants.
    arrays : sequence of str
        The first parameters, which are arrays. Every update names an element of each, as in
        ``a[i] += b[k] * c[j]``.
    sizes : mapping of str to int
        The other parameters.
    while_loops : bool
        Accept `while`, which is no part of a loop nest.

    Raises
    ------
    UsageError
        The text has another statement than loops, assignments to whole numbers, `if`, and updates of an
        element.
    TooManySteps
        The loops do not end within `MAX_STEPS` statements.

    Examples
    --------
    >>> from gpulab.grading.checks.loop_trace import trace_loops
    >>> trace_loops("def f(a, n):\n    for i in range(n):\n        a[n - 1 - i] += 1", "a", {"n": 3})
    [(2,), (1,), (0,)]
    """
    if sum(isinstance(node, ast.FunctionDef) for node in ast.parse(text).body) != 1:
        raise UsageError("write one function with the loops, and no other one.")
    trace = LoopTrace(text, arrays, sizes, nest_only=True, while_loops=while_loops)
    updates = groupby(trace.accesses, key=lambda access: access.statement)
    return [_update(arrays, list(accesses)) for _, accesses in updates]


def _update(arrays: Sequence[str], accesses: Sequence[ElementAccess]) -> Access:
    """Return the element of each array that an update names."""
    found: dict[str, int] = {}
    line = accesses[0].line
    for access in accesses:
        if found.setdefault(access.array.name, access.index) != access.index:
            raise UsageError(f"line {line}: it names two elements of `{access.array.name}`.")
    if missing := [name for name in arrays if name not in found]:
        raise UsageError(f"line {line}: the update names no element of `{missing[0]}`.")
    return tuple(found[name] for name in arrays)


@dataclass
class LoopTrace:
    """One evaluation of loops: the accesses to elements and the products of elements, in their order.

    Parameters
    ----------
    text : str
        A cell with the function, and with constants and functions that it uses.
    arrays : sequence of str
        Names for the first parameters, which are arrays.
    sizes : mapping of str to int
        The other parameters.
    name : str
        The function; the only one if it is omitted.
    nest_only : bool
        Refuse everything but a nest of loops around updates of an element.
    while_loops : bool
        Accept `while`.

    Raises
    ------
    UsageError
        The text has a statement that is not evaluated here.
    TooManySteps
        The loops do not end within `MAX_STEPS` statements.
    """

    text: str
    arrays: Sequence[str]
    sizes: Mapping[str, int]
    name: str = ""
    nest_only: bool = False
    while_loops: bool = True
    accesses: list[ElementAccess] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)

    def __post_init__(self) -> None:
        tree = ast.parse(self.text)
        self._functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        function = self._functions.get(self.name) or next(reversed(self._functions.values()), None)
        if function is None:
            raise UsageError("write a function with the loops.")
        self._steps = self._calls = 0
        self._iterations: Iterations = ()
        self._in_update = False
        self._names: dict[str, Any] = {}
        self._run([node for node in tree.body if isinstance(node, ast.Assign)])
        self._globals = dict(self._names)
        values = [*map(Array, self.arrays), *self.sizes.values()]
        self._names |= zip((parameter.arg for parameter in function.args.args), values, strict=False)
        with suppress(_Return):
            self._run(function.body)

    def _run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise TooManySteps(
                    f"line {statement.lineno}: the loops take too many steps. Look at their ranges, and at "
                    "what changes the condition of a `while`."
                )
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.For(target=ast.Name(id=name), iter=values, orelse=[]):
                loop = ParallelLoop(name, statement.lineno) if _is_prange(values) else None
                self._loop(statement.body, self._numbers(values), name, loop)
            case ast.While(test=test, orelse=[]) if self.while_loops:
                self._loop(statement.body, iter(lambda: bool(self._value(test)), False))
            case ast.If(test=test):
                self._run(statement.body if self._value(test) else statement.orelse)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._names[name] = self._value(value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if type(op) in OPERATORS:
                before = ast.Name(name, lineno=statement.lineno)
                self._names[name] = self._apply(statement, op, before, value)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self._update(target, value, loads=False)
            case ast.AugAssign(target=ast.Subscript() as target, value=value):
                self._update(target, value, loads=True)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call) if not self.nest_only:
                self._value(call)
            case ast.Return(value=value) if not self.nest_only:
                raise _Return(None if value is None else self._value(value))
            case ast.Break() if not self.nest_only:
                raise _Break
            case ast.Continue() if not self.nest_only:
                raise _Continue
            case _:
                raise _refusal(statement)

    def _numbers(self, values: ast.expr) -> range:
        numbers = self._value(values)
        if not isinstance(numbers, range):
            raise _refusal(values)
        return numbers

    def _loop(
        self,
        body: Sequence[ast.stmt],
        numbers: range | Iterator[bool],
        index: str = "",
        parallel: ParallelLoop | None = None,
    ) -> None:
        outside = self._iterations
        for number in numbers:
            if index:
                self._names[index] = number
            if parallel is not None:
                self._iterations = (*outside, (parallel, number))
            try:
                self._run(body)
            except _Continue:
                pass
            except _Break:
                break
        self._iterations = outside

    def _update(self, target: ast.Subscript, value: ast.expr, *, loads: bool) -> None:
        """Evaluate an assignment to an element."""
        self._in_update = True
        self._value(value)
        if loads:
            self._element(target)
        self._element(target, stores=True)
        self._in_update = False

    def _element(self, node: ast.Subscript, *, stores: bool = False) -> Factor:
        """Record the access to an element, and return its value."""
        array, index = self._value(node.value), self._value(node.slice)
        if not isinstance(array, Array) or not isinstance(index, int):
            raise _refusal(node)
        if self.nest_only and not (self._in_update and array.name):
            raise _refusal(node)
        access = ElementAccess(self._steps, node.lineno, array, index, stores, self._iterations)
        self.accesses.append(access)
        return Factor(((array.name, index),) if array.name else ())

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Constant(value=float()):
                return Factor()
            case ast.Name(id=name) if name in self._names:
                return self._names[name]
            case ast.Subscript():
                return self._element(node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._apply(node, op, left, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return self._apply(node, op, left, right)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                return self._apply(node, op, operand)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._value(test) else orelse)
            case ast.Call():
                return self._call(node)
        raise _refusal(node)

    def _call(self, node: ast.Call) -> Any:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in FUNCTIONS and not node.keywords:
            values = [self._value(argument) for argument in node.args]
            if not all(isinstance(value, int | float) for value in values):
                raise _refusal(node)
            return self._checked(node, FUNCTIONS[name], *values)
        if name in FLOATS and len(node.args) == 1:
            return self._apply(node, ast.Mult(), node.args[0], ast.Constant(1.0))
        if self.nest_only:
            raise _refusal(node)
        if name in NEW_ARRAYS:
            return Array()
        function = self._functions.get(name)
        parameters = [parameter.arg for parameter in function.args.args] if function else []
        if function is None or node.keywords or len(parameters) != len(node.args):
            raise _refusal(node)
        return self._result(node, function, dict(zip(parameters, map(self._value, node.args), strict=True)))

    def _result(self, node: ast.Call, function: ast.FunctionDef, values: dict[str, Any]) -> Any:
        """Return the value of a function of the text."""
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise TooManySteps(f"line {node.lineno}: too many calls inside each other.")
        outside, in_update = self._names, self._in_update
        self._names, self._in_update = self._globals | values, False
        try:
            self._run(function.body)
        except _Return as returned:
            return returned.args[0]
        finally:
            self._names, self._in_update = outside, in_update
            self._calls -= 1
        return None

    def _apply(self, node: ast.expr | ast.stmt, op: ast.AST, *operands: ast.expr) -> Any:
        values = [self._value(operand) for operand in operands]
        factors = [value for value in values if isinstance(value, Factor)]
        if not factors:
            return self._checked(node, OPERATORS[type(op)], *values)
        if isinstance(op, ast.cmpop):  # it depends on the values of elements
            raise _refusal(node)
        if not isinstance(op, ast.Mult):
            return Factor()
        product = Factor(tuple(element for factor in factors for element in factor.elements))
        if sum(bool(factor.elements) for factor in factors) > 1:
            self.products.append(Product(dict(product.elements), self._iterations))
        return product

    def _checked(self, node: ast.expr | ast.stmt, function: Callable[..., Any], *values: Any) -> Any:
        """Return the value of a function; numbers stay small enough to be computed in no time."""
        try:
            result = function(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise UsageError(f"line {node.lineno}: {error}") from None
        if isinstance(result, int) and abs(result) >= 1 << 62:
            raise UsageError(f"line {node.lineno}: {ast.unparse(node)} is too large.")
        return result


def _is_prange(values: ast.expr) -> bool:
    match values:
        case ast.Call(func=ast.Name(id="prange") | ast.Attribute(attr="prange")):
            return True
    return False


def _refusal(node: ast.stmt | ast.expr) -> UsageError:
    return UsageError(
        f"line {node.lineno}: `{ast.unparse(node).splitlines()[0]}` is more than a loop nest. Write `for` "
        "loops with `range`, and keep the innermost line as it is given, without a sum of its own."
    )
