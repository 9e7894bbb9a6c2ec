"""The top level of a CUDA C++ file: functions, types, variables and directives, with the names they declare.

This is not a C++ parser. It splits the tokens of a file into declarations, and reads the names that each of
them declares and uses. A macro that contains half a declaration is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise

from gpulab.compiler.declarators import CLOSE_BRACKETS, OPEN_BRACKETS
from gpulab.compiler.extraction.declared_names import (
    CLASS_KEYS,
    alias_name,
    function_name,
    is_container,
    is_function,
    outside_brackets,
    type_names,
    typedef_names,
    variable_names,
    without_attributes,
    without_template,
)
from gpulab.compiler.preprocess.phases import SourceText, Token

__all__ = ["NEEDED", "ItemKind", "SourceItem", "SpecifierMacros", "items_of", "read_items_of"]


class ItemKind(Enum):
    """The kind of an item at the top level of a file."""

    KERNEL = auto()
    DEVICE_FUNCTION = auto()
    HOST_FUNCTION = auto()
    TYPE = auto()  # a class, an enumeration, a `typedef` or a `using` of a name
    DEVICE_VARIABLE = auto()  # memory of a module: `__device__`, `__constant__` or `__managed__`
    CONSTANT = auto()  # also a `__shared__` array, which belongs to a block
    HOST_VARIABLE = auto()
    USING_NAMESPACE = auto()
    MACRO = auto()
    UNDEF = auto()
    INCLUDE = auto()
    OPENING = auto()  # `#if` or `namespace x {`
    BRANCH = auto()  # `#else` or `#elif`
    CLOSING = auto()  # `#endif` or the `}` of a namespace
    OTHER = auto()


# Kinds of items that a cell keeps only if it uses one of their names.
NEEDED = (
    ItemKind.DEVICE_FUNCTION,
    ItemKind.TYPE,
    ItemKind.DEVICE_VARIABLE,
    ItemKind.CONSTANT,
    ItemKind.MACRO,
    ItemKind.UNDEF,
)


@dataclass(frozen=True)
class SourceItem:
    r"""A declaration or a directive.

    Attributes
    ----------
    kind : ItemKind
        What it is.
    text : str
        Its text in the file, with the comment directly above it; it begins with "\n" after a blank line.
    names : frozenset of str
        The names that it declares; the last part of a namespace's name.
    uses : frozenset of str
        All identifiers in it.
    line, last_line : int
        Its first and last line in the file, from 1.
    tokens : tuple of Token
        Its tokens.
    """

    kind: ItemKind
    text: str
    names: frozenset[str]
    uses: frozenset[str]
    line: int
    last_line: int
    tokens: tuple[Token, ...]


_OPENING = frozenset(("if", "ifdef", "ifndef"))
_BRANCH = frozenset(("else", "elif", "elifdef", "elifndef"))
_MODULE_MEMORY = frozenset(("__device__", "__constant__", "__managed__"))
_CONSTANT = frozenset(("const", "constexpr", "__shared__", "texture", "surface"))
_ACCESS = ("public", "private", "protected")
MAX_SPECIFIERS = 100  # tokens before a declaration in an `#if`, with its directives


# The execution and memory spaces in the definition of a macro, such as `#define HD __host__ __device__`.
SpecifierMacros = dict[str, tuple[str, ...]]


def items_of(source: SourceText) -> list[SourceItem]:
    """Return the items at the top level of a file, and of its namespaces, in order."""
    return list(read_items_of(source, {}))


def read_items_of(source: SourceText, macros: SpecifierMacros) -> Iterator[SourceItem]:
    """Yield the items of one file of a program after the other.

    macros: those of the files that were read before, such as headers that this file includes. Those of this
    file are added. A header must be read when its `#include` has been yielded.
    """
    return _Reader(source, macros).items()


class _Reader:
    def __init__(self, source: SourceText, macros: SpecifierMacros) -> None:
        self.source = source
        self.tokens = source.tokens
        self.specifiers = macros
        _add_specifier_macros(source, macros)
        self.end_of_previous = 0  # offset in the student's text

    def items(self) -> Iterator[SourceItem]:
        containers: list[bool] = []  # for each open `{`: whether it belongs to a namespace
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.directive and not self._begins_declaration(index):
                end = _directive_end(self.source, index)
                yield self._directive(index, end)
            elif token.text == "}":
                end = index + 1
                if containers and containers.pop():
                    yield self._item(ItemKind.CLOSING, index, end)
                else:
                    self._skip(index)
            elif token.text == ";":
                end = index + 1
                self._skip(index)
            else:
                end, opens = self._declaration_end(index)
                if not opens:
                    yield self._declaration(index, end)
                else:
                    # The brackets of `extern "C" {` are left out: they may be in `#ifdef __cplusplus`.
                    containers.append(token.text != "extern")
                    if containers[-1]:
                        names = frozenset((self.tokens[end - 2].text,))
                        yield self._item(ItemKind.OPENING, index, end, names)
                    else:
                        self._skip(end - 1)
            index = end

    def _skip(self, index: int) -> None:
        """Leave out a token, and with it the comments above it."""
        token = self.tokens[index]
        self.end_of_previous = self.source.student_offset(token.offset + len(token.text) - 1) + 1

    def _comment_above(self, start: int) -> str:
        """Return the comment above an offset of the student's text, and the blank line above that."""
        gap = self.source.student[self.end_of_previous : start]
        if self.end_of_previous:  # the rest of the previous line belongs to what is in it
            gap = "\n" + gap.partition("\n")[2]
        *separated, above = re.split(r"\n[ \t]*\n", gap)
        above = above.lstrip("\n")
        is_whole = above.lstrip().startswith(("//", "/*")) and above.count("/*") == above.count("*/")
        indent = above.rpartition("\n")[2]
        return "\n" * bool(separated) + (above if is_whole else indent * indent.isspace())

    def _item(
        self,
        kind: ItemKind,
        first: int,
        end: int,
        names: frozenset[str] = frozenset(),
        left_out: Sequence[tuple[int, int]] = (),
    ) -> SourceItem:
        """Return an item of the tokens from `first` to before `end`, without the ranges in `left_out`."""
        source, text, tokens = self.source, "", list[Token]()
        start, stop = self._offsets(first, end)
        line_end = source.student.find("\n", stop)
        if source.student[stop:line_end].lstrip().startswith("//"):
            stop = line_end
        comment = self._comment_above(start)
        self.end_of_previous = stop

        at = first
        for cut_first, cut_end in (*left_out, (end, end)):
            cut_start, cut_stop = self._offsets(cut_first, cut_end) if cut_end > cut_first else (stop, stop)
            text += source.student[start:cut_start]
            tokens += self.tokens[at:cut_first]
            start, at = cut_stop, cut_end
        return SourceItem(
            kind,
            comment + text,
            names,
            frozenset(token.text for token in tokens if token.kind == "identifier"),
            source.place_of(tokens[0].offset)[0],
            source.place_of(tokens[-1].offset)[0],
            tuple(tokens),
        )

    def _offsets(self, first: int, end: int) -> tuple[int, int]:
        """Return where tokens begin and end in the student's text."""
        last = self.tokens[end - 1]
        start = self.source.student_offset(self.tokens[first].offset)
        return start, self.source.student_offset(last.offset + len(last.text) - 1) + 1

    def _begins_declaration(self, first: int) -> bool:
        """Return True for an `#if` around the beginning of a declaration, such as the head of a function."""
        if self.tokens[first + 1 : first + 2] == () or self.tokens[first + 1].text not in _OPENING:
            return False
        depth = words = 0
        index = first
        # Specifiers are few: the bound keeps nested conditions from being read again and again.
        while index < min(len(self.tokens), first + MAX_SPECIFIERS):
            if self.tokens[index].directive:
                name = self._directive_name(index)
                depth += (name in _OPENING) - (name == "endif")
                if not depth:
                    return words > 0
                if name in ("include", "define"):
                    return False
                index = _directive_end(self.source, index)
                continue
            if self.tokens[index].text == "{":
                return is_function(self._plain(first, index)) and self._contains_branch(index)
            if self.tokens[index].text in ("}", ";"):
                return False
            words += 1
            index += 1
        return False

    def _contains_branch(self, opening: int) -> bool:
        """Return True if a branch of a condition ends before the brackets that open in it are closed."""
        depth = 0
        for index, token in enumerate(self.tokens[opening:], opening):
            if token.directive:
                name = self._directive_name(index)
                return name in _BRANCH or name == "endif"
            depth += (token.text == "{") - (token.text == "}")
            if not depth:
                break
        return False

    def _directive(self, first: int, end: int) -> SourceItem:
        name = self.tokens[first + 1].text if end > first + 1 else ""
        names: frozenset[str] = frozenset()
        kind = ItemKind.OTHER
        if name in ("define", "undef") and end > first + 2:
            names = frozenset((self.tokens[first + 2].text,))
            kind = ItemKind.MACRO if name == "define" else ItemKind.UNDEF
        elif name == "include":
            kind = ItemKind.INCLUDE
        elif name in _OPENING:
            kind = ItemKind.OPENING
        elif name in _BRANCH:
            kind = ItemKind.BRANCH
        elif name == "endif":
            kind = ItemKind.CLOSING
        return self._item(kind, first, end, names)

    def _declaration_end(self, first: int) -> tuple[int, bool]:
        """Return the index after a declaration, and whether it opens a namespace or `extern "C" {`."""
        conditions = _Conditions()
        depth = 0  # number of open brackets
        has_body: bool | None = None  # None before the first `{`
        index = first
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.directive:
                conditions.read(self._directive_name(index), in_declaration=depth > 0)
                index = _directive_end(self.source, index)
                continue
            if conditions.skipping:
                index += 1
                continue

            if token.text == "{" and not depth and has_body is None:
                head = self._plain(first, index)
                if not _is_initializer(head):
                    head = without_attributes(head)
                    if is_container(head):
                        return index + 1, True
                    has_body = is_function(head)
            if token.text in CLOSE_BRACKETS and not depth:  # the end of a namespace
                return max(index, first + 1), False
            depth += (token.text in OPEN_BRACKETS) - (token.text in CLOSE_BRACKETS)
            index += 1
            if not depth and (token.text == ";" or (token.text == "}" and has_body)):
                return self._after_conditions(index, conditions.opened), False
        return len(self.tokens), False

    def _after_conditions(self, index: int, opened: int) -> int:
        """Return the index after the `#endif`s of the conditions that a declaration has opened."""
        while opened and index < len(self.tokens):
            if self.tokens[index].directive:
                name = self._directive_name(index)
                opened += (name in _OPENING) - (name == "endif")
                index = _directive_end(self.source, index)
            else:
                index += 1
        return index

    def _directive_name(self, index: int) -> str:
        """Return the name of the directive whose `#` is at an index; "" if it has none."""
        return self.tokens[index + 1].text if index + 1 < len(self.tokens) else ""

    def _plain(self, first: int, end: int) -> list[Token]:
        return [token for token in self.tokens[first:end] if not token.directive]

    def _declaration(self, first: int, end: int) -> SourceItem:
        kind, names = self._classify(first, end)
        left_out = self._host_members(first, end) if kind is ItemKind.TYPE else []
        return self._item(kind, first, end, names, left_out)

    def _host_members(self, first: int, end: int) -> list[tuple[int, int]]:
        """Return the ranges of a class's member functions for the host, which NVRTC refuses."""
        index = next((n for n in range(first, end) if self.tokens[n].text in ("{", "enum")), end)
        if index == end or self.tokens[index].text == "enum":
            return []
        ranges = []
        index += 1
        while index < end and self.tokens[index].text != "}":
            token = self.tokens[index]
            if token.directive:
                index = _directive_end(self.source, index)
            elif token.text == ";":
                index += 1
            elif token.text in _ACCESS and self.tokens[index + 1].text == ":":
                index += 2
            else:
                stop, _ = self._declaration_end(index)
                if self._classify(index, stop, is_member=True)[0] is ItemKind.HOST_FUNCTION:
                    ranges.append((index, stop))
                index = stop
        return ranges

    def _classify(self, first: int, end: int, *, is_member: bool = False) -> tuple[ItemKind, frozenset[str]]:
        """Return the kind of a declaration, and the names that it declares."""
        tokens = without_attributes(self._plain(first, end))
        body = next((n for n, token in enumerate(tokens) if token.text == "{"), len(tokens))
        head = tokens[:body]
        words = {token.text for token in head}
        specifiers = words | {word for name in words for word in self.specifiers.get(name, ())}
        rest = without_template(head)
        first_word = rest[0].text if rest else ""

        if first_word == "using" and any(token.text == "namespace" for token in rest[:2]):
            return ItemKind.USING_NAMESPACE, frozenset((rest[-2].text,))
        if first_word in ("using", "namespace", "typedef"):
            is_typedef = first_word == "typedef"
            return ItemKind.TYPE, typedef_names(tokens) if is_typedef else frozenset((alias_name(rest),))
        if first_word == "static_assert":
            return ItemKind.OTHER, frozenset()
        is_prototype = function_name(rest, constructor=is_member) and "=" not in outside_brackets(rest)
        if is_function(rest) or is_prototype:
            kind = ItemKind.HOST_FUNCTION
            if "__global__" in specifiers:
                kind = ItemKind.KERNEL
            elif specifiers & {"__device__", "constexpr"}:
                kind = ItemKind.DEVICE_FUNCTION
            names = function_name(rest, constructor=True)
            if kind is ItemKind.KERNEL:  # of `__global__ void scope::k(…)` without its scope
                names &= {token.text for token, after in pairwise(rest) if after.text in ("(", "<")}
            return kind, names
        if words & CLASS_KEYS and (body < len(tokens) or len(rest) == 3):
            return ItemKind.TYPE, type_names(rest, tokens[body:])
        kind = ItemKind.HOST_VARIABLE
        if specifiers & _MODULE_MEMORY:
            kind = ItemKind.CONSTANT if "const" in words or "constexpr" in words else ItemKind.DEVICE_VARIABLE
        elif (specifiers - words | {*outside_brackets(head)}) & _CONSTANT:
            kind = ItemKind.CONSTANT
        return kind, variable_names(without_template(tokens))


class _Conditions:
    """The `#if` groups in a declaration: only the first branch of each counts, so that brackets are in pairs.

    Attributes
    ----------
    opened : int
        Groups that the declaration has opened and not closed.
    """

    def __init__(self) -> None:
        self.opened = 0
        self._skipped = 0  # groups that are open since the first branch ended, with those within it

    @property
    def skipping(self) -> bool:
        """True in a branch that does not count."""
        return self._skipped > 0

    def read(self, name: str, *, in_declaration: bool) -> None:
        """Read the name of a directive. in_declaration: it is within brackets of the declaration."""
        if self._skipped:
            self._skipped += (name in _OPENING) - (name == "endif")
            if not self._skipped and self.opened:
                self.opened -= 1
        elif name in _OPENING:
            self.opened += 1
        elif name in _BRANCH and (self.opened or in_declaration):
            self._skipped = 1
        elif name == "endif" and self.opened:
            self.opened -= 1


def _is_initializer(head: Sequence[Token]) -> bool:
    """Return True if a `{` after these tokens initializes a member, as in `A(int x) : x_{x} {}`."""
    if not head or (head[-1].kind != "identifier" and head[-1].text != ">"):
        return False
    return any(token.text == ")" and after.text == ":" for token, after in pairwise(head))


def _directive_end(source: SourceText, first: int) -> int:
    """Return the index after the last token of the directive that begins at `first`."""
    line_end = source.text.find("\n", source.tokens[first].offset)
    end = first + 1
    while end < len(source.tokens) and source.tokens[end].offset < line_end:
        end += 1
    return end


def _add_specifier_macros(source: SourceText, macros: SpecifierMacros) -> None:
    """Add the macros of a file; the first definition of a name counts."""
    spaces = _MODULE_MEMORY | {"__global__", "__shared__"}
    for index, token in enumerate(source.tokens):
        if token.directive and token.text == "define":
            tokens = source.tokens[index + 1 : _directive_end(source, index)]
            words = tuple(each.text for each in tokens if each.text in spaces)
            if words:
                macros.setdefault(tokens[0].text, words)
