"""The top level of a CUDA C++ file: functions, types, variables and directives, with the names they declare.

This is not a C++ parser. It splits the tokens of a file into declarations, and reads the names that each of
them declares and uses. A macro that contains half a declaration is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from gpulab.compiler.declarators import closing_bracket
from gpulab.compiler.preprocess.phases import SourceText, Token

__all__ = ["ItemKind", "SourceItem", "angle_end", "items_of", "template_parameters"]


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
_CLASS_KEYS = frozenset(("struct", "class", "union", "enum"))
_ATTRIBUTES = frozenset(
    ("__launch_bounds__", "__align__", "__builtin_align__", "alignas", "__attribute__", "__declspec")
) | frozenset(("__cluster_dims__", "__maxnreg__", "noexcept", "__block_size__"))
_MODULE_MEMORY = frozenset(("__device__", "__constant__", "__managed__"))
_CONSTANT = frozenset(("const", "constexpr", "__shared__", "texture", "surface"))
_ACCESS = ("public", "private", "protected")
MAX_SPECIFIERS = 100  # tokens before a declaration in an `#if`, with its directives
_OPEN_BRACKETS = ("(", "[", "{")
_CLOSE_BRACKETS = (")", "]", "}")


def items_of(source: SourceText) -> list[SourceItem]:
    """Return the items at the top level of a file, and of its namespaces, in order."""
    return list(_Reader(source).items())


class _Reader:
    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.tokens = source.tokens
        self.specifiers = _specifier_macros(source)
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
        """Return True for an `#if` around the first words of a declaration, such as `__device__`."""
        if self.tokens[first + 1 : first + 2] == () or self.tokens[first + 1].text not in _OPENING:
            return False
        depth = words = 0
        index = first
        # Specifiers are few: the bound keeps nested conditions from being read again and again.
        while index < min(len(self.tokens), first + MAX_SPECIFIERS):
            if self.tokens[index].directive:
                name = self.tokens[index + 1].text if index + 1 < len(self.tokens) else ""
                depth += (name in _OPENING) - (name == "endif")
                if not depth:
                    return words > 0
                if name in ("include", "define"):
                    return False
                index = _directive_end(self.source, index)
                continue
            if self.tokens[index].text in ("{", "}", ";"):
                return False
            words += 1
            index += 1
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
        depth = opened = skipped = 0
        is_function: bool | None = None  # None before the first `{`
        index = first
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.directive:
                # In a conditional group only the first branch counts, so that its brackets are in pairs.
                name = self.tokens[index + 1].text if index + 1 < len(self.tokens) else ""
                if skipped:
                    skipped += (name in _OPENING) - (name == "endif")
                    opened -= not skipped
                elif name in _OPENING:
                    opened += 1
                elif name in _BRANCH and (opened or depth):
                    skipped = 1
                elif name == "endif" and opened:
                    opened -= 1
                index = _directive_end(self.source, index)
                continue
            if not skipped:
                if token.text == "{" and not depth and is_function is None:
                    head = _without_attributes(self._plain(first, index))
                    if _is_container(head):
                        return index + 1, True
                    is_function = _is_function(head)
                ended = False
                if token.text in _OPEN_BRACKETS:
                    depth += 1
                elif token.text in _CLOSE_BRACKETS:
                    if not depth:  # the end of a namespace
                        return max(index, first + 1), False
                    depth -= 1
                    ended = not depth and token.text == "}" and bool(is_function)
                else:
                    ended = token.text == ";" and not depth
                if ended:
                    return self._after_conditions(index + 1, opened), False
            index += 1
        return len(self.tokens), False

    def _after_conditions(self, index: int, opened: int) -> int:
        """Return the index after the `#endif`s of the conditions that a declaration has opened."""
        while opened and index < len(self.tokens):
            if self.tokens[index].directive:
                name = self.tokens[index + 1].text if index + 1 < len(self.tokens) else ""
                opened += (name in _OPENING) - (name == "endif")
                index = _directive_end(self.source, index)
            else:
                index += 1
        return index

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
        tokens = self._plain(first, end)
        body = next((n for n, token in enumerate(tokens) if token.text == "{"), len(tokens))
        head = _without_attributes(tokens[:body])
        words = {token.text for token in head}
        specifiers = words | {word for name in words for word in self.specifiers.get(name, ())}
        rest = _without_template(head)
        first_word = rest[0].text if rest else ""

        if first_word == "using" and any(token.text == "namespace" for token in rest[:2]):
            return ItemKind.USING_NAMESPACE, frozenset((rest[-2].text,))
        if first_word in ("using", "namespace", "typedef"):
            is_typedef = first_word == "typedef"
            return ItemKind.TYPE, _typedef_names(tokens) if is_typedef else frozenset((_alias_name(rest),))
        if first_word == "static_assert":
            return ItemKind.OTHER, frozenset()
        is_prototype = _function_name(rest, constructor=is_member) and "=" not in _outside_brackets(rest)
        if _is_function(rest) or is_prototype:
            kind = ItemKind.HOST_FUNCTION
            if "__global__" in specifiers:
                kind = ItemKind.KERNEL
            elif specifiers & {"__device__", "constexpr"}:
                kind = ItemKind.DEVICE_FUNCTION
            return kind, _function_name(rest, constructor=True)
        if words & _CLASS_KEYS and (body < len(tokens) or len(rest) == 3):
            return ItemKind.TYPE, _type_names(rest, tokens[body:])
        kind = ItemKind.HOST_VARIABLE
        if specifiers & _MODULE_MEMORY:
            kind = ItemKind.CONSTANT if "const" in words or "constexpr" in words else ItemKind.DEVICE_VARIABLE
        elif specifiers & _CONSTANT:
            kind = ItemKind.CONSTANT
        return kind, _variable_names(_without_template(_without_attributes(tokens)))


def _directive_end(source: SourceText, first: int) -> int:
    """Return the index after the last token of the directive that begins at `first`."""
    line_end = source.text.find("\n", source.tokens[first].offset)
    end = first + 1
    while end < len(source.tokens) and source.tokens[end].offset < line_end:
        end += 1
    return end


def _specifier_macros(source: SourceText) -> dict[str, tuple[str, ...]]:
    """Return the execution and memory spaces in the definition of each macro that has any."""
    found: dict[str, tuple[str, ...]] = {}
    spaces = _MODULE_MEMORY | {"__global__", "__shared__"}
    for index, token in enumerate(source.tokens):
        if token.directive and token.text == "define":
            tokens = source.tokens[index + 1 : _directive_end(source, index)]
            words = tuple(each.text for each in tokens if each.text in spaces)
            if words and tokens[0].text not in found:
                found[tokens[0].text] = words
    return found


def _without_attributes(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens without attributes such as `__launch_bounds__(256)` and `[[nodiscard]]`."""
    result: list[Token] = []
    index = 0
    while index < len(tokens):
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if tokens[index].text in _ATTRIBUTES:
            index = closing_bracket(tokens, index + 1) if following == "(" else index
        elif tokens[index].text == "[" and following == "[":
            index = closing_bracket(tokens, index)
        else:
            result.append(tokens[index])
        index += 1
    return result


def _without_template(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens without `template <…>` at their beginning."""
    rest = list(tokens)
    while len(rest) > 1 and rest[0].text == "template":
        rest = rest[angle_end(rest, 1) :] if rest[1].text == "<" else rest[1:]
    return rest


def template_parameters(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens in the `<…>` of a template, up to the first default argument."""
    parameters = list(tokens[2 : angle_end(tokens, 1) - 1]) if tokens[0].text == "template" else []
    default = next((n for n, token in enumerate(parameters) if token.text == "="), None)
    before = parameters[:default]
    commas = [n for n, token in enumerate(before) if token.text == ","]
    return before if default is None or not commas else before[: commas[-1]]


def angle_end(tokens: Sequence[Token], opening: int) -> int:
    """Return the index after the `>` that closes the `<` at `opening`."""
    depth, index = 0, opening
    while index < len(tokens):
        text = tokens[index].text
        if text in _OPEN_BRACKETS:
            index = closing_bracket(tokens, index)
        depth += {"<": 1, ">": -1, "<<<": 3, ">>>": -3}.get(text, 0)
        index += 1
        if depth <= 0:
            break
    return index


def _is_container(head: Sequence[Token]) -> bool:
    texts = [token.text for token in head]
    if "namespace" in texts[:2]:
        return True
    return len(head) == 2 and texts[0] == "extern" and head[1].kind == "string"


def _is_function(head: Sequence[Token]) -> bool:
    """Return True for the tokens before a function's body."""
    rest = _without_template(head)
    texts = [token.text for token in rest]
    if "operator" not in texts and "=" in _outside_brackets(rest):
        return False
    if not _function_name(rest, constructor=True):
        return False
    # The end of `struct ALIGN(16) A` is a name, that of a function's head is `)`, `const` or a macro.
    return texts[-1] in (")", "const", "override", "final", "volatile") or texts[0] not in _CLASS_KEYS


def _outside_brackets(tokens: Sequence[Token]) -> list[str]:
    texts = []
    index = 0
    while index < len(tokens):
        texts.append(tokens[index].text)
        if tokens[index].text in _OPEN_BRACKETS:
            index = closing_bracket(tokens, index)
        index += 1
    return texts


def _function_name(head: Sequence[Token], *, constructor: bool = False) -> frozenset[str]:
    """Return the name of a declared function; the class of a member; empty if it is no function.

    constructor: a name without a type before it counts, too.
    """
    index = 0
    while index < len(head):
        text = head[index].text
        if text == "operator":
            return frozenset(("operator",))
        if text == "(":
            break
        if text in ("[", "{", "="):
            return frozenset()
        if text == "<":
            end = angle_end(head, index)
            if end < len(head) and head[end].text == "(":  # a specialization: f<int>(
                break
            index = end - 1
        index += 1
    if not 0 < index < len(head) or head[index - 1].kind != "identifier":
        return frozenset()
    if index > 2 and head[index - 2].text == "::":
        return frozenset((head[index - 3].text, head[index - 1].text))
    if index + 1 < len(head) and head[index + 1].text == "*":  # a pointer to a function
        return frozenset()
    # A declaration has a type before the name; a call of a macro has none.
    return frozenset((head[index - 1].text,)) if index > 1 or constructor else frozenset()


def _alias_name(rest: Sequence[Token]) -> str:
    """Return the name in `using T = …`, `using std::max` and `namespace cg = …`."""
    texts = [token.text for token in rest]
    return texts[1] if "=" in texts else next((t.text for t in reversed(rest) if t.kind == "identifier"), "")


def _typedef_names(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the names that a `typedef` declares, with the enumerators and the tag of a type in it."""
    body = next((n for n, token in enumerate(tokens) if token.text == "{"), None)
    head = _without_attributes(tokens[:body])
    names = _type_names(head, tokens[body:]) if body is not None else frozenset()
    tail = tokens[closing_bracket(tokens, body) + 1 :] if body is not None else tokens
    for index, token in enumerate(tail):
        if token.text == "(" and index + 2 < len(tail) and tail[index + 1].text == "*":
            return names | {tail[index + 2].text}
    return names | _variable_names(tail)


def _type_names(head: Sequence[Token], body: Sequence[Token]) -> frozenset[str]:
    """Return the names that a class or an enumeration declares; `body` begins with `{`."""
    key = next((n for n, token in enumerate(head) if token.text in _CLASS_KEYS), len(head))
    end = next((n for n in range(key, len(head)) if head[n].text in (":", "<", ";")), len(head))
    names = {t.text for t in head[key + 1 : end] if t.kind == "identifier" and t.text not in _CLASS_KEYS}
    close = closing_bracket(body, 0) if body else 0
    if any(token.text == "enum" for token in head):
        names |= {t.text for t in body[1:close] if t.kind == "identifier"}
    return frozenset(names) | _variable_names(body[close + 1 :])


def _variable_names(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the names that a declaration of variables declares."""
    names: set[str] = set()
    name, in_value = "", False
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in _OPEN_BRACKETS:
            index = closing_bracket(tokens, index)
        elif token.text == "<" and not in_value:
            index = angle_end(tokens, index) - 1
        elif token.text in (",", ";"):
            names.add(name)
            name, in_value = "", False
        elif token.text == "=":
            in_value = True
        elif token.kind == "identifier" and not in_value:
            name = token.text
        index += 1
    return frozenset(names | {name}) - {""}
