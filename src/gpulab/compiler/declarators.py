"""Declarations of C: parameters of functions, types of variables and templates, read from the source.

This is not a C++ parser: macros are expanded only if they name a type, and what cannot be read is left out.
The sizes of the parameters come from the PTX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpulab.compiler.preprocess.phases import SourceText, Token, tokenize

__all__ = [
    "CLOSE_BRACKETS",
    "OPEN_BRACKETS",
    "Declared",
    "Definition",
    "angle_end",
    "closing_bracket",
    "declared_types",
    "definitions",
    "macros",
    "split_at_commas",
    "templates",
]

OPEN_BRACKETS = ("(", "[", "{")
CLOSE_BRACKETS = (")", "]", "}")
_QUALIFIERS = frozenset(
    ("const", "volatile", "struct", "class", "enum", "union", "typename", "register", "constexpr", "mutable")
) | frozenset(("restrict", "__restrict", "__restrict__", "__grid_constant__"))
_UNSIGNED = frozenset(
    ("unsigned", "bool", "size_t", "uint", "uchar", "ushort", "ulong", "uintptr_t", "uintmax_t")
) | frozenset(("uint8_t", "uint16_t", "uint32_t", "uint64_t"))
_SIGNED = frozenset(
    ("char", "short", "int", "long", "signed", "float", "double", "half", "__half", "wchar_t")
) | frozenset(
    ("ptrdiff_t", "ssize_t", "clock_t", "intptr_t", "intmax_t", "int8_t", "int16_t", "int32_t", "int64_t")
)
# NumPy's names of element types, by the word that decides; the first that a type contains counts.
_ELEMENTS = (
    (("bool", "char", "wchar_t", "uchar", "int8_t", "uint8_t"), ""),
    (("double",), "float64"),
    (("float",), "float32"),
    (("half", "__half"), "float16"),
    (("short", "int16_t", "ushort", "uint16_t"), "int16"),
    (("long", "ulong", "int64_t", "uint64_t", "size_t", "ptrdiff_t", "ssize_t"), "int64"),
    (("int", "unsigned", "signed", "uint", "int32_t", "uint32_t"), "int32"),
)
_VECTOR = re.compile(r"(u?)(char|short|int|longlong|long|float|double)([1-4])")
_VECTOR_ELEMENTS = {
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "longlong": "int64",
} | {
    "float": "float32",
    "double": "float64",
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+([^\n]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Declared:
    """The declaration of one parameter."""

    name: str
    pointer: bool
    unsigned: bool
    recognised: bool  # False if the type is unknown, so that `pointer` and `unsigned` mean nothing
    element: str = ""  # NumPy's name of the type, or of the one pointed to; "" if it is none of `_ELEMENTS`


@dataclass(frozen=True)
class Definition:
    """A function definition: its parameters, and the source lines from its declaration to its body."""

    parameters: tuple[Declared, ...]
    first_line: int
    last_line: int


def definitions(source: SourceText, name: str) -> Iterator[Definition]:
    """Yield every definition of a function with this name, in the order of the source."""
    tokens = [token for token in source.tokens if not token.directive]
    aliases = _type_aliases(source, tokens)
    for index, token in enumerate(tokens[:-1]):
        if token.text != name or tokens[index + 1].text != "(":
            continue
        close = closing_bracket(tokens, index + 1)
        body = close + 1
        while body < len(tokens) and tokens[body].kind == "identifier":  # noexcept
            body += 1
        if body >= len(tokens) or tokens[body].text != "{":
            continue

        inside = tokens[index + 2 : close]
        if [token.text for token in inside] == ["void"]:
            inside = []
        parameters = tuple(_declared(part, aliases) for part in split_at_commas(inside)) if inside else ()

        # The range starts with the declaration, because NVRTC's `.loc` may refer to that line.
        first = index
        while first > 0 and tokens[first - 1].text not in (";", "}"):
            first -= 1
        first_line, _ = source.place_of(tokens[first].offset)
        last_line, _ = source.place_of(tokens[body].offset)
        yield Definition(parameters, first_line, last_line)


def declared_types(source: SourceText, specifiers: Sequence[str]) -> dict[str, tuple[str, int] | None]:
    """Return the NumPy name and the elements of the type of each variable: ("float32", 4) for a `float4`.

    Variables whose declaration does not begin with a specifier, such as `__constant__`, are left out. The
    value is None for a type that is not a number or a vector of numbers.
    """
    tokens = [token for token in source.tokens if not token.directive]
    aliases = _type_aliases(source, tokens)
    types: dict[str, tuple[str, int] | None] = {}
    for index, token in enumerate(tokens):
        if token.text not in specifiers:
            continue
        first, *others = map(_before_initializer, split_at_commas(_declaration(tokens, index + 1)))
        for declarator in (first, *others):
            if declarator:
                is_pointer = "*" in declarator
                types[declarator[-1]] = ("uint64", 1) if is_pointer else _number_type(first[:-1], aliases)
    return types


def _declaration(tokens: Sequence[Token], index: int) -> list[Token]:
    """Return the tokens from an index to the end of the declaration; none for a function."""
    start, has_initializer = index, False
    while index < len(tokens) and tokens[index].text != ";":
        is_attribute = tokens[index - 1].text in ("alignas", "__align__")
        is_parameter_list = tokens[index].text == "(" and not is_attribute and not has_initializer
        if is_parameter_list or tokens[index].text == "operator":
            return []  # a function
        has_initializer |= tokens[index].text == "="
        index = closing_bracket(tokens, index) if tokens[index].text in _CLOSING else index
        index += 1
    return list(tokens[start:index])


def _before_initializer(tokens: Sequence[Token]) -> list[str]:
    """Return the words of a declarator up to its name, without attributes and template arguments."""
    words: list[str] = []
    depth = 0
    for index, token in enumerate(tokens):
        if token.text in ("=", "[", "{"):
            break
        if token.text in ("(", "<"):
            depth += 1
        elif token.text in (")", ">"):
            depth -= 1
        elif not depth and token.text not in ("alignas", "__align__"):
            if token.text == "::" or (words and tokens[index - 1].text == "::"):
                words = words[:-1]  # only the last part of a qualified name is needed
            words.append(token.text)
    return [word for word in words if word != "::"]


def _number_type(
    identifiers: Sequence[str], aliases: Mapping[str, Sequence[Token]]
) -> tuple[str, int] | None:
    """Return the NumPy name and the elements of a type; None if it is no number and no vector."""
    words, stars, unsigned, _ = _type(identifiers, aliases)
    if stars:
        return "uint64", 1
    if "bool" in words:
        return "bool", 1
    if words & {"char", "uchar", "int8_t", "uint8_t"}:
        return ("uint8" if unsigned else "int8"), 1
    if element := _element(words):
        return (f"u{element}" if unsigned and element.startswith("int") else element), 1
    for match in filter(None, map(_VECTOR.fullmatch, words)):
        return match[1] + _VECTOR_ELEMENTS[match[2]], int(match[3])
    return None


def templates(source: SourceText) -> dict[str, str]:
    """Return an example of an instance of each kernel template by its name: `k<float, 8>` for `k`."""
    tokens = [token for token in source.tokens if not token.directive]
    examples: dict[str, str] = {}
    for index, token in enumerate(tokens[:-1]):
        if token.text != "template" or tokens[index + 1].text != "<":
            continue
        end = angle_end(tokens, index + 1)
        head: list[str] = []
        for later in tokens[end:]:
            if later.text in (";", "{"):
                break
            head.append(later.text)
        if "__global__" in head and (name := _function_name(head)):
            parameters = split_at_commas(tokens[index + 2 : end - 1])
            examples[name] = f"{name}<{', '.join(map(_example_argument, parameters))}>"
    return examples


def angle_end(tokens: Sequence[Token], opening: int) -> int:
    """Return the index after the `>` that closes the `<` at `opening`."""
    depth, index = 0, opening
    while index < len(tokens):
        text = tokens[index].text
        if text in OPEN_BRACKETS:
            index = closing_bracket(tokens, index)
        depth += {"<": 1, ">": -1, "<<<": 3, ">>>": -3}.get(text, 0)
        index += 1
        if depth <= 0:
            break
    return index


def split_at_commas(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield parameters or arguments: the tokens between commas outside brackets and argument lists."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        if token.text in (*OPEN_BRACKETS, "<"):
            depth += 1
        elif token.text in (")", "]", "}", ">"):
            depth -= 1
        if token.text == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _function_name(head: Sequence[str]) -> str:
    """Return the name of a function in the words before its body: the identifier before its parameters."""
    for index, word in enumerate(head[1:], 1):
        if word == "(" and head[index - 1].isidentifier() and head[index - 1] != "__launch_bounds__":
            return head[index - 1]
    return ""


def _example_argument(parameter: Sequence[Token]) -> str:
    """Return an argument for a template parameter: a type, or a value of the parameter's type."""
    words = [token.text for token in parameter]
    if "=" in words:
        return " ".join(words[words.index("=") + 1 :])
    if words[:1] in (["typename"], ["class"]):
        return "float"
    return "true" if "bool" in words else "8"


def closing_bracket(tokens: Sequence[Token], opening: int) -> int:
    """Return the index of the bracket that closes the one at `opening`; the number of tokens if none does."""
    depth: list[str] = []
    for index in range(opening, len(tokens)):
        text = tokens[index].text
        if text in _CLOSING:
            depth.append(_CLOSING[text])
        elif depth and text == depth[-1]:
            depth.pop()
            if not depth:
                return index
    return len(tokens)


def _declared(tokens: Sequence[Token], aliases: Mapping[str, Sequence[Token]]) -> Declared:
    texts = [token.text for token in tokens]
    if "=" in texts:
        texts = texts[: texts.index("=")]
    while "<" in texts and ">" in texts:  # template arguments do not affect the kind of the parameter
        opening = len(texts) - 1 - texts[::-1].index("<")
        if ">" not in texts[opening:]:
            break
        del texts[opening : texts.index(">", opening) + 1]
    pointer = any(text in ("*", "&", "&&", "[") for text in texts)

    if "(" in texts:  # a pointer to an array or a function: (*name)(…)
        inner = texts[texts.index("(") + 1 :]
        name = next((text for text in inner if text.isidentifier() and text not in _QUALIFIERS), "")
        return Declared(name, pointer, False, True)
    if "[" in texts:
        texts = texts[: texts.index("[")]
    while "::" in texts:  # only the last part of a qualified name such as `cuda::std::size_t` is needed
        index = texts.index("::")
        del texts[max(index - 1, 0) : index + 1]

    identifiers = [text for text in texts if text.isidentifier() and text not in _QUALIFIERS]
    name = ""
    if (
        identifiers
        and identifiers[-1] not in _SIGNED | _UNSIGNED
        and (len(identifiers) > 1 or texts[-1] != identifiers[-1])
    ):
        name = identifiers.pop() if texts[-1] == identifiers[-1] else ""
    words, stars, unsigned, recognised = _type(identifiers, aliases)
    stars += texts.count("*") + (pointer and "*" not in texts)
    element = _element(words) if stars <= 1 else ""
    return Declared(name, stars > 0, unsigned and not stars, recognised or stars > 0, element)


def _type(
    identifiers: Sequence[str], aliases: Mapping[str, Sequence[Token]]
) -> tuple[set[str], int, bool, bool]:
    """Return a type's words after expanding its aliases, their `*`, and if it is unsigned and recognised."""
    todo, words = list(identifiers), set[str]()
    stars = 0
    while todo:
        identifier = todo.pop()
        if identifier in words:
            continue
        words.add(identifier)
        if identifier in aliases and identifier not in _UNSIGNED | _SIGNED:
            todo += [token.text for token in aliases[identifier] if token.kind == "identifier"]
            stars += sum(token.text in ("*", "&") for token in aliases[identifier])
    return words, stars, bool(words & _UNSIGNED), bool(words & (_UNSIGNED | _SIGNED))


def _element(words: set[str]) -> str:
    """Return NumPy's name of a type, without `u` for unsigned ones; "" if it is none of `_ELEMENTS`."""
    return next((name for some, name in _ELEMENTS if words & set(some)), "")


def macros(source: SourceText) -> dict[str, Sequence[Token]]:
    """Return the tokens that replace each macro without parameters of a source."""
    return {match[1]: tokenize(match[2]) for match in _DEFINE.finditer(source.text)}


def _type_aliases(source: SourceText, tokens: Sequence[Token]) -> dict[str, Sequence[Token]]:
    """Return the tokens that replace each name of a `typedef`, `using` or `#define` of the source.

    A name with different types, such as those of the branches of an `#if`, has none: its type is not known.
    """
    aliases: dict[str, Sequence[Token]] = macros(source)
    types: dict[str, Sequence[Token]] = {}
    for index, token in enumerate(tokens):
        if token.text not in ("typedef", "using"):
            continue
        end = next((i for i in range(index, len(tokens)) if tokens[i].text in (";", "{")), len(tokens))
        inside = tokens[index + 1 : end]
        if token.text == "typedef" and len(inside) > 1:
            name, type_ = inside[-1].text, inside[:-1]
        elif len(inside) > 2 and inside[1].text == "=":
            name, type_ = inside[0].text, inside[2:]
        else:
            continue
        other = types.setdefault(name, type_)
        if [each.text for each in other] != [each.text for each in type_]:
            types[name] = ()
    return aliases | types
