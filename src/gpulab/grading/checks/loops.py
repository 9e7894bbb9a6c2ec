"""Python loops of a submission: the rule for their text, and their compilation with Numba."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from gpulab.errors import UsageError
from gpulab.notebook.failure import is_notebook_cell

__all__ = ["compile_loops", "compile_with_bounds", "forbidden_in_loops", "text_of_loops"]

# Functions and attributes that loops may use besides functions of their own cell. A library's product of
# matrices has the values of the loops, but not their order.
FUNCTIONS = frozenset({"abs", "float", "int", "len", "max", "min", "prange", "range"})
ATTRIBUTES = frozenset({"empty", "float32", "float64", "int32", "int64", "shape", "size", "zeros"})
IMPORTED = frozenset({"numba", "numpy"})
DECORATORS = frozenset({"njit", "prange"})  # functions of Numba that loops may use


def compile_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function compiled by Numba, if its text consists of loops.

    In the grader, `function` belongs to a process of the submission. Its text is compiled in another process,
    on copies of the arrays that the caller passes.

    Parameters
    ----------
    function : callable
        Loops over NumPy arrays, in plain Python or decorated with ``numba.njit``.

    Returns
    -------
    callable
        Takes the same arguments.

    Raises
    ------
    UsageError
        The text calls something else than `range`, `prange`, `min`, `max` and functions of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from gpulab.grading.checks import compile_loops
    >>> def scale(values, factor):
    ...     for i in range(len(values)):
    ...         values[i] *= factor
    >>> values = np.arange(3.0)
    >>> compile_loops(scale)(values, 2)
    >>> values
    array([0., 2., 4.])
    """
    compiled: Callable[[], Callable[..., Any]] | None = getattr(function, "compiled", None)
    if reason := forbidden_in_loops(text_of_loops(function)):
        raise UsageError(f"{function.__name__}: {reason}")
    if compiled is not None:
        return compiled()
    return compile_with_bounds(function)


def compile_with_bounds(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function compiled by Numba that raises IndexError for an index past the end.

    Without this check, such an index writes over the memory of the process.
    """
    from numba import njit

    return njit(boundscheck=True)(getattr(function, "py_func", function))


def text_of_loops(function: Callable[..., Any]) -> str:
    """Return the text of the cell that defines a function; in the grader, as the judge read it.

    For a function of a module, the text is the function alone, in its lines.
    """
    text: str | None = getattr(function, "text", None)
    if text is not None:
        return text
    function = getattr(function, "py_func", function)
    if is_notebook_cell(function.__code__.co_filename):
        return "".join(inspect.findsource(function)[0])
    lines, first = inspect.getsourcelines(function)
    return "\n" * (first - 1) + textwrap.dedent("".join(lines))


def forbidden_in_loops(text: str) -> str:
    """Return a sentence about the first part of a text that is not a loop, or "".

    text: the cell that defines the function, with its constants and helper functions.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "its text cannot be read."

    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if reason := _reason(node, own):
            return f"line {getattr(node, 'lineno', 1)}: {reason}; write the loops yourself."
    return ""


def _reason(node: ast.AST, own: set[str]) -> str:
    """Return why a part of the text is not a loop, or "".

    A call names the function that it calls. That name must keep its meaning: nothing else may be bound to it,
    such as a parameter whose default value is another function.
    """
    called = FUNCTIONS | DECORATORS | own
    match node:
        case ast.Call(func=func) if _is_njit(func):
            return "" if _has_only_switches(node) else "`njit` takes no argument but switches"
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS | own:
            return f"loops do not call `{name}`"
        case ast.Call(func=ast.Attribute(attr=name)) if name not in ATTRIBUTES | DECORATORS:
            return f"loops do not call `{name}`"
        case ast.Call(func=func) if not isinstance(func, (ast.Name, ast.Attribute)):
            return "loops call functions by their names"
        case ast.Attribute(attr=name) if name not in ATTRIBUTES | DECORATORS:
            return f"loops do not use `{name}`"
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            return "`@` is a product of matrices"
        case ast.Import(names=names) if any(name.name not in IMPORTED for name in names):
            return "loops import Numba and NumPy only"
        case ast.ImportFrom(module="numba", names=names):
            others = [name.name for name in names if name.name not in DECORATORS]
            return f"loops do not use `{others[0]}`" if others else ""
        case ast.ImportFrom():
            return "loops import Numba and NumPy only"
        case (
            ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) | ast.alias(asname=str(name))
        ) if name in called:
            return f"`{name}` is a function and is not assigned to"
        case ast.FunctionDef(name=name) if name in FUNCTIONS or hasattr(builtins, name):
            return "the names of functions are not defined again"
        case ast.FunctionDef(decorator_list=decorators) if not all(map(_is_decorator, decorators)):
            return "`njit` is the only decorator"
        case ast.Lambda() | ast.ClassDef() | ast.AsyncFunctionDef() | ast.With() | ast.Try() | ast.Global():
            return "loops consist of for, while, if and assignments"
        case ast.Match():
            return "loops consist of for, while, if and assignments"
    return ""


def _is_decorator(node: ast.expr) -> bool:
    return _is_njit(node.func if isinstance(node, ast.Call) else node)


def _is_njit(node: ast.expr) -> bool:
    match node:
        case ast.Name(id="njit") | ast.Attribute(value=ast.Name(), attr="njit"):
            return True
    return False


def _has_only_switches(call: ast.Call) -> bool:
    """Return True if all arguments are switches such as `parallel=True`; Numba evaluates texts as Python."""
    values = [keyword.value for keyword in call.keywords if keyword.arg]
    switches = all(isinstance(value, ast.Constant) and isinstance(value.value, bool) for value in values)
    return switches and not call.args and len(values) == len(call.keywords)
