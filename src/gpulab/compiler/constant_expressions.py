"""Values of constant integer expressions in a source, such as `BLOCK_Y + 2`.

An expression may contain integers, macros, `constexpr` and `const int` variables, arithmetic, comparisons and
`a ? b : c`. The value of any other expression is not known.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence

from gpulab.compiler.declarators import closing_bracket, macros
from gpulab.compiler.preprocess.phases import SourceText, Token, tokenize

__all__ = ["NamedValues", "constant_value", "constants", "named_values"]

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
_COMPARISONS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_INTEGERS = frozenset(["char", "int", "long", "short", "signed", "size_t", "unsigned"])
_PYTHON = {"/": "//", "true": "1", "false": "0"}  # tokens of C, as Python writes them
MAX_DEPTH = 20  # macros that an expression may refer to, one through another
MAX_VALUE = 1 << 31  # largest magnitude
MAX_TOKENS = 50  # longest expression that is evaluated, in tokens


def named_values(
    source: SourceText, tokens: Sequence[Token], defines: Mapping[str, object]
) -> dict[str, Sequence[Token]]:
    """Return the expressions of the macros and constants of a source.

    tokens: those of the source, without directives. defines: macros of the command line.
    """
    values: dict[str, Sequence[Token]] = {name: tokenize(str(value)) for name, value in defines.items()}
    return values | macros(source) | constants(tokens)


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


def constants(tokens: Sequence[Token]) -> dict[str, Sequence[Token]]:
    """Return the initializers of `const int` and `constexpr` variables, by name."""
    found: dict[str, Sequence[Token]] = {}
    in_constant = False
    for index, token in enumerate(tokens):
        is_initializer = in_constant and index and tokens[index - 1].kind == "identifier"
        if token.text in ("const", "constexpr"):
            in_constant = True
        elif is_initializer and token.text == "=":
            end = index + 1
            while end < len(tokens) and tokens[end].text not in (",", ";"):
                end = closing_bracket(tokens, end) if tokens[end].text in ("(", "[", "{") else end
                end += 1
            found[tokens[index - 1].text] = tokens[index + 1 : end]
        elif is_initializer and token.text == "{":
            found[tokens[index - 1].text] = tokens[index + 1 : closing_bracket(tokens, index)]
        elif token.text in (";", "{", "}", "(", ")"):
            in_constant = False
    return found


def _expanded(tokens: Sequence[Token], values: NamedValues, depth: int) -> str | None:
    """Return an expression in Python, with the values of names inserted; None if a value is not known."""
    if depth == 0 or len(tokens) > MAX_TOKENS:
        return None
    parts: list[str] = []
    index = 0
    while index < len(tokens):
        token, end = tokens[index], index + 1
        text: str | None = _PYTHON.get(token.text, token.text)
        if token.text == "(":
            end = closing_bracket(tokens, index) + 1
            if {token.text for token in tokens[index + 1 : end - 1]} <= _INTEGERS:  # a cast
                index = end
                continue
            text = _in_brackets(_expanded(tokens[index + 1 : end - 1], values, depth))
        elif token.text == "?":
            colon = _colon(tokens, index)
            chosen, other = (
                _in_brackets(_expanded(part, values, depth))
                for part in (tokens[index + 1 : colon], tokens[colon + 1 :])
            )
            return None if chosen is None or other is None else f"{chosen} if {''.join(parts)} else {other}"
        elif token.kind == "identifier" and token.text not in _PYTHON:
            inner = values.get(token.text)
            text = None if inner is None else _in_brackets(_expanded(inner, values, depth - 1))
        elif token.kind == "number":
            text = token.text.rstrip("uUlL")
        if text is None:
            return None
        parts.append(text)
        index = end
    return "".join(parts)


def _in_brackets(text: str | None) -> str | None:
    return None if text is None else f"({text})"


def _colon(tokens: Sequence[Token], question: int) -> int:
    """Return the index of the `:` that belongs to a `?`; the number of tokens if there is none."""
    depth = 0
    for index in range(question, len(tokens)):
        depth += (tokens[index].text in ("?", "(")) - (tokens[index].text in (":", ")"))
        if not depth:
            return index
    return len(tokens)


def _evaluate(node: ast.expr) -> int:
    """Return the value of an expression of integers; raise `ValueError` for anything else."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value <= MAX_VALUE:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluate(node.left), _evaluate(node.right)
        if isinstance(node.op, ast.LShift) and right > 31:
            raise ValueError
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        return int(_COMPARISONS[type(node.ops[0])](_evaluate(node.left), _evaluate(node.comparators[0])))
    if isinstance(node, ast.IfExp):
        return _evaluate(node.body if _evaluate(node.test) else node.orelse)
    raise ValueError
