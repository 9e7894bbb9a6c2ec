"""The instances of kernel templates that host code launches, such as `k<float, 8>`.

Their arguments are read from the launches. They may be constants of the launching function, parameters of a
host template whose callers give them, or calculations with such values. Types that a launch leaves to the
compiler are deduced from the declarations of what it passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpulab.compiler.constant_expressions import NamedValues, constant_value, constants
from gpulab.compiler.declarators import angle_end, split_at_commas
from gpulab.compiler.extraction.declared_names import template_parameters
from gpulab.compiler.extraction.passed_types import (
    WrittenType,
    deduced_types,
    is_launch,
    passed_arguments,
    variable_types,
)
from gpulab.compiler.extraction.top_level import NEEDED, ItemKind, SourceItem
from gpulab.compiler.preprocess.phases import Token, tokenize

__all__ = ["instances", "passed_type_names"]

_KNOWN_ARGUMENTS = frozenset(
    ("bool", "char", "double", "false", "float", "int", "long", "short", "signed", "true", "unsigned")
) | frozenset(("double2", "float2", "float4", "half", "int4", "uint", "uint8_t", "uint32_t", "__nv_bfloat16"))
_INDEX_TYPE = re.compile(r"idx|index|int|size|offset|count", re.IGNORECASE)
MAX_CALLERS = 3  # templates of host code, one calling another, whose arguments are followed
_PUNCTUATION = re.compile(r" ?(::|[<>*&]) ?| (?=,)")
_PLAIN_ARGUMENT = re.compile(r"[\w:<>*&, -]+")


def instances(items: Sequence[SourceItem], names: Iterable[str], declared: set[str]) -> Iterator[str]:
    """Yield an instance, with its namespaces, of each kernel that is a template; its name if none is known.

    names: kernels; declared: the names that their cell declares.
    """
    qualifiers = _qualifiers(items)
    for name in names:
        if _is_template(items, name):
            known = _launched_instances(items, name, declared, qualifiers)
            yield qualifiers.get(name, "") + next(known, _instance(items, name, (), {}) or name)


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


def passed_type_names(items: Sequence[SourceItem], names: Iterable[str]) -> set[str]:
    """Return the identifiers of the types that launches of kernel templates leave to the compiler."""
    return {
        token.text
        for name in names
        if _is_template(items, name)
        for mention in _mentions(items, name)
        for type_ in _deduced_types(items, name, mention).values()
        for token in type_.tokens[type_.first : type_.end]
        if token.kind == "identifier"
    }


def _launched_instances(
    items: Sequence[SourceItem], name: str, declared: set[str], qualifiers: Mapping[str, str]
) -> Iterator[str]:
    """Yield the instances `name<…>` of a template in host code, as far as they can be read, launches first.

    They include explicit instantiations, and instances that are passed to a function which launches them.
    declared: the names that the cell declares; qualifiers: their namespaces. Constants of the function that
    launches are replaced.
    """
    of_file = _file_values(items)
    for mention in sorted(_mentions(items, name), key=lambda mention: not mention.is_launch):
        tokens = mention.item.tokens
        values = _values_at(items, mention.item, mention.index, of_file)
        given = [
            _instance_argument(tokens, *places, declared, qualifiers, values)
            for places in _argument_places(tokens, mention.index + 2, mention.end - 1)
        ]
        # Types that an unknown caller of this host template chooses say nothing.
        unknown = {each[-1].text for each in template_parameters(tokens)} - values.keys()
        deduced: dict[str, str] = {}
        for parameter, type_ in _deduced_types(items, name, mention).items():
            text = _instance_argument(type_.tokens, type_.first, type_.end, declared, qualifiers, values)
            if text and type_.tokens[type_.first].text not in unknown:
                deduced[parameter] = text + "*" * type_.pointers
        if instance := _instance(items, name, given, deduced):
            yield instance


def _deduced_types(items: Sequence[SourceItem], name: str, mention: _Mention) -> dict[str, WrittenType]:
    """Return the types that a launch of a template leaves to the compiler, by its parameter."""
    tokens = mention.item.tokens
    if not is_launch(tokens, mention.end):
        return {}
    variables: dict[str, WrittenType] = {}
    for item in items:
        if item.kind is ItemKind.HOST_VARIABLE:
            variables |= variable_types(item.tokens)
    variables |= variable_types(tokens[: mention.index])
    return deduced_types(_declaration(items, name), name, passed_arguments(tokens, mention.end), variables)


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
            if token.text != name:
                continue
            if is_launch(item.tokens, index + 1):
                yield _Mention(item, index, index + 1, is_launch=True)
            elif bracket.text == "<":
                end = angle_end(item.tokens, index + 1)
                # `template __global__ void k<float>(…);` counts as a launch.
                is_instantiation = item.kind is ItemKind.KERNEL and item.tokens[1].text != "<"
                is_launched = is_instantiation or is_launch(item.tokens, end)
                if is_launched or item.kind is ItemKind.HOST_FUNCTION:
                    yield _Mention(item, index, end, is_launch=is_launched)


def _argument_places(tokens: Sequence[Token], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where each of the arguments between two indices begins and ends."""
    for argument in filter(None, split_at_commas(tokens[first:end])):
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
        return _evaluated(_PUNCTUATION.sub(r"\1", " ".join(words)))
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


def _instance(
    items: Sequence[SourceItem], name: str, given: Sequence[str], deduced: Mapping[str, str]
) -> str:
    """Return an instance of a template; "" if one of its arguments is not known.

    given: the first arguments, "" for one that is not known; deduced: types by parameter. Types of elements
    and indices, which the launch's arguments determine, are float and int if they are not deduced.
    """
    parameters = template_parameters(_declaration(items, name))
    pointed_to = _types_of_pointers(items, name)
    arguments, needed = list(given), len(given)
    for parameter in parameters[len(given) :]:
        words = [token.text for token in parameter]
        default = words.index("=") if "=" in words else len(words)
        of_parameter = words[default - 1]
        arguments.append(deduced.get(of_parameter) or " ".join(words[default + 1 :]))
        is_element = of_parameter in pointed_to or _INDEX_TYPE.search(of_parameter)
        if not arguments[-1] and words[0] in ("typename", "class") and is_element:
            arguments[-1] = _type_argument(of_parameter)
        if of_parameter in deduced or default == len(words):
            needed = len(arguments)
    known = arguments[:needed]  # those after them have defaults
    if len(given) > len(parameters) or not all(map(_PLAIN_ARGUMENT.fullmatch, known)):
        return ""
    return f"{name}<{', '.join(known)}>"


def _declaration(items: Sequence[SourceItem], name: str) -> Sequence[Token]:
    """Return the tokens of the declaration of a kernel template that has the most parameters and defaults."""
    heads = [item.tokens for item in items if item.kind is ItemKind.KERNEL and name in item.names]

    def parameters(tokens: Sequence[Token]) -> tuple[int, int]:
        head = template_parameters(tokens)
        return len(head), sum(token.text == "=" for parameter in head for token in parameter)

    return max(heads, key=parameters)


def _types_of_pointers(items: Sequence[SourceItem], name: str) -> set[str]:
    """Return the names before a `*`, or before `const *`, in the declarations of a kernel."""
    return {
        token.text
        for item in items
        if item.kind is ItemKind.KERNEL and name in item.names
        for token, after, second in zip(item.tokens, item.tokens[1:], item.tokens[2:], strict=False)
        if after.text == "*" or (after.text == "const" and second.text == "*")
    }


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
