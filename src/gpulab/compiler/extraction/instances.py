"""The instances of kernel templates that host code launches, such as `k<float, 8>`.

Their arguments are read from the launches. They may be constants of the launching function, parameters of a
host template whose callers give them, or calculations with such values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpulab.compiler.constant_expressions import NamedValues, constant_value, constants
from gpulab.compiler.declarators import angle_end, split_at_commas
from gpulab.compiler.extraction.declared_names import template_parameters
from gpulab.compiler.extraction.top_level import NEEDED, ItemKind, SourceItem
from gpulab.compiler.preprocess.phases import Token, tokenize

__all__ = ["instances"]

_KNOWN_ARGUMENTS = frozenset(
    ("bool", "char", "double", "false", "float", "int", "long", "short", "signed", "true", "unsigned")
) | frozenset(("double2", "float2", "float4", "half", "int4", "uint", "uint8_t", "uint32_t", "__nv_bfloat16"))
_INDEX_TYPE = re.compile(r"idx|index|int|size|offset|count", re.IGNORECASE)
MAX_CALLERS = 3  # templates of host code, one calling another, whose arguments are followed
_PLAIN_ARGUMENT = re.compile(r"[\w:<>*& -]+")


def instances(items: Sequence[SourceItem], names: Iterable[str], declared: set[str]) -> Iterator[str]:
    """Yield an instance, with its namespaces, of each kernel that is a template; its name if none is known.

    names: kernels; declared: the names that their cell declares.
    """
    qualifiers = _qualifiers(items)
    for name in names:
        if _is_template(items, name):
            known = _launched_instances(items, name, declared, qualifiers)
            yield qualifiers.get(name, "") + next(known, _default_instance(items, name))


def _is_template(items: Sequence[SourceItem], name: str) -> bool:
    """Return True if all definitions of a kernel are templates, apart from specializations."""
    heads = [
        [token.text for token in item.tokens[:3]]
        for item in items
        if item.kind is ItemKind.KERNEL and name in item.names
    ]
    primary = [head for head in heads if head[0] != "template" or (head[1] == "<" and head[2] != ">")]
    return bool(primary) and all(head[0] == "template" for head in primary)


def _qualifiers(items: Iterable[SourceItem]) -> dict[str, str]:
    """Return `outer::inner::` for each name that is declared in named namespaces."""
    qualifiers: dict[str, str] = {}
    open_groups: list[str] = []
    for item in items:
        words = [token.text for token in item.tokens]
        if item.kind is ItemKind.OPENING:
            named = words[words.index("namespace") + 1 : -1] if "namespace" in words else []
            open_groups.append("".join(named) + "::" * bool(named))
        elif item.kind is ItemKind.CLOSING and open_groups:
            open_groups.pop()
        elif any(open_groups) and item.kind in (*NEEDED, ItemKind.KERNEL):
            qualifiers |= dict.fromkeys(item.names, "".join(open_groups))
    return qualifiers


def _launched_instances(
    items: Sequence[SourceItem], name: str, declared: set[str], qualifiers: Mapping[str, str]
) -> Iterator[str]:
    """Yield the instances `name<…>` of a template in host code, as far as they can be read, launches first.

    They include explicit instantiations, and instances that are passed to a function which launches them.
    declared: the names that the cell declares; qualifiers: their namespaces. Constants of the function that
    launches are replaced.
    """
    parameters = _parameters(items, name)
    needed = sum(not _has_default(each) for each in parameters)
    of_file = _file_values(items)
    mentions = sorted(_mentions(items, name), key=lambda mention: not mention.is_launch)
    for mention in mentions:
        tokens = mention.item.tokens
        values = _values_at(items, mention.item, mention.index, of_file)
        arguments = [
            _instance_argument(tokens, *places, declared, qualifiers, values)
            for places in _argument_places(tokens, mention.index + 2, mention.end - 1)
        ]
        # Parameters that the call's arguments determine have no place in an instance's name.
        is_complete = needed <= len(arguments) <= len(parameters)
        if is_complete and all(map(_PLAIN_ARGUMENT.fullmatch, arguments)):
            yield f"{name}<{', '.join(arguments)}>"


@dataclass(frozen=True)
class _Mention:
    """A place where host code names an instance: the index of its name, and that after its arguments."""

    item: SourceItem
    index: int
    end: int
    is_launch: bool


def _mentions(items: Sequence[SourceItem], name: str) -> Iterator[_Mention]:
    """Yield the places where a template's instances are launched, instantiated or passed to a function."""
    for item in items:
        for index, (token, bracket) in enumerate(pairwise(item.tokens)):
            if token.text != name or bracket.text != "<":
                continue
            end = angle_end(item.tokens, index + 1)
            if item.kind is ItemKind.KERNEL:  # `template __global__ void k<float>(…);`
                if item.tokens[1].text != "<":
                    yield _Mention(item, index, end, is_launch=True)
            elif _is_launch(item.tokens, end):
                yield _Mention(item, index, end, is_launch=True)
            elif item.kind is ItemKind.HOST_FUNCTION:
                yield _Mention(item, index, end, is_launch=False)


def _argument_places(tokens: Sequence[Token], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where each of the arguments between two indices begins and ends."""
    for argument in split_at_commas(tokens[first:end]):
        yield first, first + len(argument)
        first += len(argument) + 1


def _instance_argument(
    tokens: Sequence[Token],
    first: int,
    end: int,
    declared: set[str],
    qualifiers: Mapping[str, str],
    values: NamedValues,
) -> str:
    """Return a template argument as the name of an instance contains it; "" if it is not known."""
    given = values.get(tokens[first].text, ()) if end == first + 1 else ()
    if given and _is_type(given):
        return " ".join(token.text for token in given)
    words = [
        qualifiers.get(word, "") * (tokens[place - 1].text != "::") + word
        for place in range(first, end)
        for word in [_argument(tokens, place, declared)]
    ]
    if all(words):
        return _evaluated(" ".join(words).replace(" :: ", "::"))
    value = constant_value(tokens[first:end], values)
    return "" if value is None else str(value)


def _file_values(items: Sequence[SourceItem]) -> dict[str, Sequence[Token]]:
    """Return the expressions of the macros and constants of a file."""
    values: dict[str, Sequence[Token]] = {}
    for item in items:
        if item.kind is ItemKind.MACRO:
            values |= {item.tokens[2].text: item.tokens[3:]}
        elif item.kind in (ItemKind.CONSTANT, ItemKind.HOST_VARIABLE):
            values |= constants(item.tokens)
    return values


def _values_at(
    items: Sequence[SourceItem], item: SourceItem, index: int, of_file: NamedValues, depth: int = MAX_CALLERS
) -> NamedValues:
    """Return the constants that a launch can name: the file's, the launching function's and its template's.

    The arguments of a template, which may be types, are those of the first call with known ones.
    """
    values = dict(of_file)
    for parameter in template_parameters(item.tokens):
        words = [token.text for token in parameter]
        if "=" in words:
            values[words[words.index("=") - 1]] = parameter[words.index("=") + 1 :]
    values |= next(_template_calls(items, item, of_file, depth), {})
    return values | constants(item.tokens[:index])


def _template_calls(
    items: Sequence[SourceItem], template: SourceItem, of_file: NamedValues, depth: int
) -> Iterator[dict[str, Sequence[Token]]]:
    """Yield the arguments of a host template by parameter, for each call with known ones: `launch<64>(…)`.

    depth: how many callers, one calling another, are searched.
    """
    names = [parameter[-1].text for parameter in template_parameters(template.tokens)]
    if not names or not depth:
        return
    for item in items:
        for index, (token, bracket) in enumerate(pairwise(item.tokens)):
            if bracket.text == "<" and token.text in template.names and item is not template:
                end = angle_end(item.tokens, index + 1)
                values = _values_at(items, item, index, of_file, depth - 1)
                arguments = [
                    _known_argument(each, values)
                    for each in split_at_commas(item.tokens[index + 2 : end - 1])
                ]
                if all(arguments) and len(arguments) <= len(names):
                    yield dict(zip(names, arguments, strict=False))


def _known_argument(argument: Sequence[Token], values: NamedValues) -> Sequence[Token]:
    """Return the type or the number of a template argument; no token if it is not known."""
    if len(argument) == 1:
        argument = values.get(argument[0].text, argument)
    if _is_type(argument):
        return argument
    value = constant_value(argument, values)
    return () if value is None else tokenize(str(value))


def _is_type(argument: Sequence[Token]) -> bool:
    return all(token.text in _KNOWN_ARGUMENTS for token in argument)


def _default_instance(items: Sequence[SourceItem], name: str) -> str:
    """Return the instance of a template that needs only types of elements and indices; its name otherwise.

    The launch's arguments determine these types; they are float, or int for an index.
    """
    required = [each for each in _parameters(items, name) if not _has_default(each)]
    pointed_to = _types_of_pointers(items, name)
    types = [each[-1].text for each in required if each[0].text in ("typename", "class")]
    known = [each for each in types if each in pointed_to or _INDEX_TYPE.search(each)]
    if len(known) < len(required):
        return name
    return f"{name}<{', '.join(map(_type_argument, known))}>"


def _parameters(items: Sequence[SourceItem], name: str) -> list[list[Token]]:
    """Return the parameters of a kernel template, from the declaration with the most defaults."""
    kernels = [item for item in items if item.kind is ItemKind.KERNEL and name in item.names]
    heads = [template_parameters(item.tokens) for item in kernels]
    return max(heads, key=lambda head: (len(head), sum(map(_has_default, head))))


def _types_of_pointers(items: Sequence[SourceItem], name: str) -> set[str]:
    """Return the names before a `*`, or before `const *`, in the declarations of a kernel."""
    return {
        token.text
        for item in items
        if item.kind is ItemKind.KERNEL and name in item.names
        for token, after, second in zip(item.tokens, item.tokens[1:], item.tokens[2:], strict=False)
        if after.text == "*" or (after.text == "const" and second.text == "*")
    }


def _has_default(parameter: Sequence[Token]) -> bool:
    return any(token.text == "=" for token in parameter)


def _is_launch(tokens: Sequence[Token], index: int) -> bool:
    """Return True if the grid of a launch begins at a token: `<<<`, which some sources write `<< <`."""
    return "".join(token.text for token in tokens[index : index + 3]).startswith("<<<")


def _type_argument(parameter: str) -> str:
    return "int" if _INDEX_TYPE.search(parameter) else "float"


def _evaluated(argument: str) -> str:
    """Return the value of an argument that is a calculation, such as `1024 / 2`; any other unchanged."""
    value = constant_value(tokenize(argument), {})
    return argument if value is None or argument in ("true", "false") else str(value)


def _argument(tokens: Sequence[Token], place: int, declared: set[str]) -> str:
    """Return a word of a template's arguments, with a constant's number; "" if it is not known."""
    word = tokens[place].text
    if tokens[place].kind != "identifier" or word in declared or word in _KNOWN_ARGUMENTS:
        return word
    values = (
        tokens[n + 2].text
        for n in range(place - 3, 0, -1)
        if tokens[n].text == word
        and tokens[n + 1].text in ("=", "{")
        and tokens[n + 3].text in (",", ";", "}")
    )
    value = next(values, "")
    if any(key.text in ("typename", "class") and name.text == word for key, name in pairwise(tokens)):
        return _type_argument(word)  # the caller of a host template chooses
    if any([token.text for token in each[:2]] == ["bool", word] for each in template_parameters(tokens)):
        return "true"
    return value if value[:1].isdigit() or value in ("true", "false") else ""
