"""The types that a launch of a kernel template leaves to the compiler, deduced from what it passes.

    float *x = allocate(n);
    scale<<<grid, block>>>(x, n);  // template <typename T> __global__ void scale(T* x, int n): T is float

A parameter `T`, `T*` or `T**` determines T if the launch passes a variable, with or without an offset or an
index, or a cast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpulab.compiler.declarators import angle_end, closing_bracket, split_at_commas
from gpulab.compiler.extraction.declared_names import template_parameters
from gpulab.compiler.preprocess.phases import Token

__all__ = ["WrittenType", "deduced_types", "is_launch", "passed_arguments", "variable_types"]

_QUALIFIERS = frozenset(
    ("const", "volatile", "static", "constexpr", "typename", "struct", "register")
) | frozenset(("restrict", "__restrict", "__restrict__", "__grid_constant__"))
_BUILT_IN = frozenset(("bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned"))
_NO_TYPE = frozenset(("return", "delete", "else", "goto", "case", "throw", "using", "typedef", "auto"))
_AFTER_NAME = ("=", ";", ",", "[", "(", "{")
_CASTS = ("static_cast", "reinterpret_cast", "const_cast")


@dataclass(frozen=True)
class WrittenType:
    """A type as a declaration writes it: the tokens from `first` to `end`, then this number of `*`."""

    tokens: Sequence[Token]
    first: int
    end: int
    pointers: int = 0


def variable_types(tokens: Sequence[Token]) -> dict[str, WrittenType]:
    """Return the types of the variables that tokens declare, with a function's parameters, by name."""
    types: dict[str, WrittenType] = {}
    body = next((n for n, token in enumerate(tokens) if token.text == "{"), 0)
    bracket = next((n for n in range(body) if tokens[n].text == "("), body)
    for index in range(len(tokens)):
        is_parameter = bracket <= index < body and tokens[index].text in ("(", ",")
        if is_parameter or index == 0 or tokens[index].text in (";", "{", "}"):
            types |= _declared(tokens, index + (index > 0))
    return types


def deduced_types(
    kernel: Sequence[Token],
    name: str,
    passed: Iterable[Sequence[Token]],
    variables: Mapping[str, WrittenType],
) -> dict[str, WrittenType]:
    """Return the types that a launch determines, by the template's parameter.

    kernel: the declaration of the template with this name; passed: the arguments of the launch; variables:
    the types of the variables that it may name.
    """
    heads = ([token.text for token in parameter[:2]] for parameter in template_parameters(kernel))
    unknown = {words[1] for words in heads if len(words) == 2 and words[0] in ("typename", "class")}
    deduced: dict[str, WrittenType] = {}
    for parameter, argument in zip(_parameters(kernel, name), passed, strict=False):
        words = [token.text for token in parameter if token.text not in _QUALIFIERS]
        type_ = _type_of(argument, variables)
        if type_ is None or not words or words[0] not in unknown or {"<", "::", "&"} & {*words}:
            continue
        pointers = type_.pointers - words.count("*") - words.count("[")
        if pointers >= 0:
            deduced.setdefault(words[0], replace(type_, pointers=pointers))
    return deduced


def is_launch(tokens: Sequence[Token], index: int) -> bool:
    """Return True if the `<<<` of a launch, which some sources write `<< <`, begins at an index."""
    return "".join(token.text for token in tokens[index : index + 3]).startswith("<<<")


def passed_arguments(tokens: Sequence[Token], index: int) -> list[list[Token]]:
    """Return what a launch passes to its kernel; index: where its `<<<` begins."""
    opening = angle_end(tokens, index)
    if opening >= len(tokens) or tokens[opening].text != "(":
        return []
    return list(split_at_commas(tokens[opening + 1 : closing_bracket(tokens, opening)]))


def _declared(tokens: Sequence[Token], first: int) -> Iterator[tuple[str, WrittenType]]:
    """Yield the name and the type of each variable of a declaration; none for another statement."""
    first = _after(tokens, first, _QUALIFIERS)
    end = _type_end(tokens, first)
    if end == first:
        return
    index = end
    while True:
        name = _after(tokens, index, _QUALIFIERS | {"*", "&"})
        if name + 1 >= len(tokens) or tokens[name].kind != "identifier":
            return
        if tokens[name + 1].text not in (*_AFTER_NAME, ")"):
            return
        is_array = tokens[name + 1].text == "["
        stars = sum(token.text == "*" for token in tokens[index:name])
        yield tokens[name].text, WrittenType(tokens, first, end, stars + is_array)
        index = _declarator_end(tokens, name + 1)
        if index >= len(tokens) or tokens[index].text != ",":
            return
        index += 1


def _type_end(tokens: Sequence[Token], first: int) -> int:
    """Return the index after a type that begins at an index, without `*`; the index itself if none does."""
    end = _after(tokens, first, _BUILT_IN)
    if end > first or end >= len(tokens) or tokens[first].kind != "identifier":
        return end
    if tokens[first].text in _NO_TYPE:
        return first
    end += 1
    while end + 1 < len(tokens):
        if tokens[end].text == "<":
            end = angle_end(tokens, end)
        elif tokens[end].text == "::":
            end += 2
        else:
            break
    return end


def _declarator_end(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the `,`, `;` or `)` after a variable's name, array extents and initial value."""
    while index < len(tokens) and tokens[index].text not in (",", ";", ")"):
        index = closing_bracket(tokens, index) if tokens[index].text in ("(", "[", "{") else index
        index += 1
    return index


def _after(tokens: Sequence[Token], index: int, words: Iterable[str]) -> int:
    """Return the index of the first token from an index that is none of these words."""
    while index < len(tokens) and tokens[index].text in words:
        index += 1
    return index


def _parameters(kernel: Sequence[Token], name: str) -> Iterator[list[Token]]:
    """Return the parameters of a function in its declaration."""
    for index in range(len(kernel) - 1):
        if kernel[index].text == name and kernel[index + 1].text == "(":
            return split_at_commas(kernel[index + 2 : closing_bracket(kernel, index + 1)])
    return iter(())


def _type_of(argument: Sequence[Token], variables: Mapping[str, WrittenType]) -> WrittenType | None:
    """Return the type of `x`, `x + n`, `x[n]`, `(T*)x` and `static_cast<T*>(x)`; None for anything else."""
    words = [token.text for token in argument]
    if len(words) > 2 and words[0] in ("(", *_CASTS):
        first = _after(argument, 1 + (words[0] != "("), _QUALIFIERS)
        end = _type_end(argument, first)
        close = _after(argument, end, _QUALIFIERS | {"*"})
        is_cast = end > first and words[close : close + 1] in ([")"], [">"]) and close + 1 < len(words)
        return WrittenType(argument, first, end, words[end:close].count("*")) if is_cast else None
    type_ = variables.get(words[0]) if words else None
    if type_ is None or len(words) == 1 or words[1] in ("+", "-"):
        return type_
    if words[1] == "[" and closing_bracket(argument, 1) == len(words) - 1 and type_.pointers:
        return replace(type_, pointers=type_.pointers - 1)
    return None
