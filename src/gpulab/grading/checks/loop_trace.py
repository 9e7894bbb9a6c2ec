"""The order in which a loop nest runs: its text is evaluated step by step, without running it as Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpulab.errors import UsageError

__all__ = ["Access", "TooManySteps", "trace_loops"]

Access = tuple[int, ...]  # the indices of the arrays that one update names, in the order of the text

MAX_STEPS = 20_000  # statements that are evaluated; an order shows within a few hundred
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


class TooManySteps(UsageError):
    """Loops that do not end, or that run much longer than their sizes need."""


def trace_loops(
    text: str, arrays: Sequence[str], sizes: Mapping[str, int], *, while_loops: bool = False
) -> list[Access]:
    r"""Return the accesses of a loop nest in the order in which they happen.

    Parameters
    ----------
    text : str
        A cell that defines one function of `for` loops, with its constants.
    arrays : sequence of str
        Parameters that are arrays. Every update names an element of each, as in ``a[i] += b[k] * c[j]``.
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
    tree = ast.parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1:
        raise UsageError("write one function with the loops, and no other one.")
    constants = [node for node in tree.body if isinstance(node, ast.Assign)]
    trace = _Trace(arrays, dict(sizes), while_loops)
    return list(trace.run([*constants, *functions[0].body]))


class _Trace:
    """One evaluation. numbers: the variables by name."""

    def __init__(self, arrays: Sequence[str], numbers: dict[str, Any], while_loops: bool) -> None:
        self.arrays, self.numbers, self.while_loops, self.steps = arrays, numbers, while_loops, 0

    def run(self, body: Sequence[ast.stmt]) -> Iterator[Access]:
        for statement in body:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise TooManySteps(
                    f"line {statement.lineno}: the loops take too many steps. Look at their ranges, and at "
                    "what changes the condition of a `while`."
                )
            yield from self._statement(statement)

    def _statement(self, statement: ast.stmt) -> Iterator[Access]:
        match statement:
            case ast.For(target=ast.Name(id=name), iter=values, orelse=[]):
                for number in self._value(values):
                    self.numbers[name] = number
                    yield from self.run(statement.body)
            case ast.While(test=test, orelse=[]) if self.while_loops:
                while self._value(test):
                    yield from self.run(statement.body)
            case ast.If(test=test):
                yield from self.run(statement.body if self._value(test) else statement.orelse)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.numbers[name] = self._value(value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if type(op) in OPERATORS:
                before = ast.Name(name, lineno=statement.lineno)
                self.numbers[name] = self._apply(statement, op, before, value)
            case ast.Assign(targets=[ast.Subscript()]) | ast.AugAssign(target=ast.Subscript()):
                yield self._access(statement)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                raise _refusal(statement)

    def _access(self, statement: ast.stmt) -> Access:
        """Return the element of each array that an update names."""
        found: dict[str, int] = {}
        for node in ast.walk(statement):
            match node:
                case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.arrays:
                    if found.setdefault(name, self._value(index)) != self._value(index):
                        raise UsageError(f"line {statement.lineno}: it names two elements of `{name}`.")
        if missing := [name for name in self.arrays if name not in found]:
            raise UsageError(f"line {statement.lineno}: the update names no element of `{missing[0]}`.")
        return tuple(found[name] for name in self.arrays)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name) if name in self.numbers:
                return self.numbers[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._apply(node, op, left, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return self._apply(node, op, left, right)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                return self._apply(node, op, operand)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._value(test) else orelse)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                return self._checked(node, FUNCTIONS[name], *map(self._value, args))
        raise _refusal(node)

    def _apply(self, node: ast.expr | ast.stmt, op: ast.AST, *operands: ast.expr) -> Any:
        return self._checked(node, OPERATORS[type(op)], *map(self._value, operands))

    def _checked(self, node: ast.expr | ast.stmt, function: Callable[..., Any], *values: Any) -> Any:
        """Return the value of a function; numbers stay small enough to be computed in no time."""
        try:
            result = function(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise UsageError(f"line {node.lineno}: {error}") from None
        if isinstance(result, int) and abs(result) >= 1 << 62:
            raise UsageError(f"line {node.lineno}: {ast.unparse(node)} is too large.")
        return result


def _refusal(node: ast.stmt | ast.expr) -> UsageError:
    return UsageError(
        f"line {node.lineno}: `{ast.unparse(node).splitlines()[0]}` is more than a loop nest. Write `for` "
        "loops with `range`, and keep the innermost line as it is given, without a sum of its own."
    )
