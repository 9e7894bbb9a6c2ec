"""Values of constant integer expressions in a source, such as `BLOCK_Y + 2`.

An expression may contain integers, macros, `constexpr` and `const int` variables, and arithmetic. The value
of any other expression is not known.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence

from gpulab.compiler.declarators import closing_bracket, macros
from gpulab.compiler.preprocess.phases import SourceText, Token, tokenize

__all__ = ["NamedValues", "constant_value", "named_values"]

NamedValues = Mapping[str, Sequence[Token]]  # the expression of each macro and constant, by name

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
MAX_DEPTH = 20  # macros that an expression may refer to, one through another
MAX_VALUE = 1 << 20  # largest magnitude; above the bytes of shared memory of any GPU
MAX_TOKENS = 50  # longest expression that is evaluated, in tokens


def named_values(
    source: SourceText, tokens: Sequence[Token], defines: Mapping[str, object]
) -> dict[str, Sequence[Token]]:
    """Return the expressions of the macros and constants of a source.

    tokens: those of the source, without directives. defines: macros of the command line.
    """
    values: dict[str, Sequence[Token]] = {name: tokenize(str(value)) for name, value in defines.items()}
    return values | macros(source) | _constants(tokens)


def constant_value(tokens: Sequence[Token], values: NamedValues) -> int | None:
    """Return the value of a constant expression; None if it is not known."""
    text = _expanded(tokens, values, MAX_DEPTH)
    if text is None or len(text) > MAX_TOKENS * 8:
        return None
    try:
        number = _evaluate(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    return number if abs(number) <= MAX_VALUE else None


def _constants(tokens: Sequence[Token]) -> dict[str, Sequence[Token]]:
    """Return the initializers of `const int` and `constexpr` variables."""
    constants: dict[str, Sequence[Token]] = {}
    in_constant = False
    for index, token in enumerate(tokens):
        if token.text in ("const", "constexpr"):
            in_constant = True
        elif token.text in (";", "{", "}", "(", ")"):
            in_constant = False
        elif token.text == "=" and in_constant and tokens[index - 1].kind == "identifier":
            end = index + 1
            while end < len(tokens) and tokens[end].text not in (",", ";"):
                end = closing_bracket(tokens, end) if tokens[end].text in ("(", "[", "{") else end
                end += 1
            constants[tokens[index - 1].text] = tokens[index + 1 : end]
    return constants


def _expanded(tokens: Sequence[Token], values: NamedValues, depth: int) -> str | None:
    """Return an expression in Python, with the values of names inserted."""
    if depth == 0 or len(tokens) > MAX_TOKENS:
        return None
    parts = []
    for token in tokens:
        text: str | None = token.text
        if token.kind == "identifier":
            inner = _expanded(values[token.text], values, depth - 1) if token.text in values else None
            text = None if inner is None else f"({inner})"
        elif token.kind == "number":
            text = token.text.rstrip("uUlL")
        elif token.text == "/":
            text = "//"
        if text is None:
            return None
        parts.append(text)
    return "".join(parts)


def _evaluate(node: ast.expr) -> int:
    """Return the value of an expression of integers; raise `ValueError` for anything else."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value <= MAX_VALUE:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluate(node.left), _evaluate(node.right)
        if isinstance(node.op, ast.LShift) and right > 20:
            raise ValueError
        return _OPERATORS[type(node.op)](left, right)
    raise ValueError
