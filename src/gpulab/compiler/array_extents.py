"""Extents of the `__shared__` arrays of a source, such as (10, 34) for `tile[BLOCK_Y + 2][BLOCK_X + 2]`.

PTX has the number of bytes of an array only. The extents are read from the source: integers, macros,
`constexpr` and `const int` variables, and arithmetic. An array with another extent is left out.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence

from gpulab.compiler.declarators import closing_bracket, macros
from gpulab.compiler.preprocess.phases import SourceText, Token, tokenize

__all__ = ["shared_extents"]

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
MAX_DEPTH = 20  # macros that an extent may refer to, one through another
MAX_EXTENT = 1 << 20  # above the bytes of shared memory of any GPU
MAX_TOKENS = 50  # longest extent that is evaluated, in tokens


def shared_extents(source: SourceText, defines: Mapping[str, object]) -> dict[str, tuple[int, ...]]:
    """Return the extents of each `__shared__` array by name.

    Parameters
    ----------
    source : SourceText
        The source.
    defines : mapping
        Macros that are defined on the command line.

    Returns
    -------
    dict of str to tuple of int
        An array whose extents are not known, or differ between two arrays of that name, is left out.
    """
    tokens = [token for token in source.tokens if not token.directive]
    values: dict[str, Sequence[Token]] = {name: tokenize(str(value)) for name, value in defines.items()}
    values |= macros(source) | _constants(tokens)
    found: dict[str, tuple[int, ...]] = {}
    unclear = set()
    for index, token in enumerate(tokens):
        if token.text != "__shared__" or (index and tokens[index - 1].text == "extern"):
            continue
        end = next((n for n in range(index, len(tokens)) if tokens[n].text in (";", "{")), len(tokens))
        for name, extents in _arrays(tokens[index + 1 : end], values):
            if extents is None or found.get(name, extents) != extents:
                unclear.add(name)
            else:
                found[name] = extents
    return {name: extents for name, extents in found.items() if name not in unclear}


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


def _arrays(
    tokens: Sequence[Token], values: Mapping[str, Sequence[Token]]
) -> list[tuple[str, tuple[int, ...] | None]]:
    """Return name and extents of each array of a declaration."""
    arrays: list[tuple[str, tuple[int, ...] | None]] = []
    index = 0
    while index < len(tokens):
        if tokens[index].text == "[" and index and tokens[index - 1].kind == "identifier":
            name = tokens[index - 1].text
            extents: list[int | None] = []
            while index < len(tokens) and tokens[index].text == "[":
                close = closing_bracket(tokens, index)
                extents.append(_value(tokens[index + 1 : close], values))
                index = close + 1
            known = tuple(extent for extent in extents if extent is not None)
            arrays.append((name, known if len(known) == len(extents) else None))
        else:
            index += 1
    return arrays


def _value(tokens: Sequence[Token], values: Mapping[str, Sequence[Token]]) -> int | None:
    """Return the value of a constant expression; None if it is not known."""
    text = _expanded(tokens, values, MAX_DEPTH)
    if text is None or len(text) > MAX_TOKENS * 8:
        return None
    try:
        number = _evaluate(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    return number if 0 < number <= MAX_EXTENT else None


def _expanded(tokens: Sequence[Token], values: Mapping[str, Sequence[Token]], depth: int) -> str | None:
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
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value <= MAX_EXTENT:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluate(node.left), _evaluate(node.right)
        if isinstance(node.op, ast.LShift) and right > 20:
            raise ValueError
        return _OPERATORS[type(node.op)](left, right)
    raise ValueError
