"""The heads of declarations: their form, and the names that they declare, read from their tokens."""

from __future__ import annotations

from collections.abc import Sequence

from gpulab.compiler.declarators import OPEN_BRACKETS, angle_end, closing_bracket
from gpulab.compiler.preprocess.phases import Token

__all__ = [
    "CLASS_KEYS",
    "alias_name",
    "function_name",
    "is_container",
    "is_function",
    "outside_brackets",
    "template_parameters",
    "type_names",
    "typedef_names",
    "variable_names",
    "without_attributes",
    "without_template",
]

CLASS_KEYS = frozenset(("struct", "class", "union", "enum"))
_ATTRIBUTES = frozenset(
    ("__launch_bounds__", "__align__", "__builtin_align__", "alignas", "__attribute__", "__declspec")
) | frozenset(("__cluster_dims__", "__maxnreg__", "noexcept", "__block_size__"))


def without_attributes(tokens: Sequence[Token]) -> list[Token]:
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


def without_template(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens without `template <…>` at their beginning."""
    rest = list(tokens)
    while len(rest) > 1 and rest[0].text == "template":
        rest = rest[angle_end(rest, 1) :] if rest[1].text == "<" else rest[1:]
    return rest


def template_parameters(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the parameters in the `<…>` of a template."""
    parameters: list[list[Token]] = [[]]
    end = angle_end(tokens, 1) - 1 if tokens[0].text == "template" else 0
    index = 2
    while index < end:
        token = tokens[index]
        if token.text == ",":
            parameters.append([])
        else:
            following = index + 1
            if token.text in OPEN_BRACKETS:
                following = closing_bracket(tokens, index) + 1
            elif token.text == "<":
                following = angle_end(tokens, index)
            parameters[-1] += tokens[index:following]
            index = following - 1
        index += 1
    return [each for each in parameters if each]


def is_container(head: Sequence[Token]) -> bool:
    """Return True for the tokens before the `{` of a namespace or of `extern "C" {`."""
    texts = [token.text for token in head]
    if "namespace" in texts[:2]:
        return True
    return len(head) == 2 and texts[0] == "extern" and head[1].kind == "string"


def is_function(head: Sequence[Token]) -> bool:
    """Return True for the tokens before a function's body."""
    rest = without_template(head)
    texts = [token.text for token in rest]
    if "operator" not in texts and _has_assignment(outside_brackets(rest)):
        return False
    if not function_name(rest, constructor=True):
        return False
    # The end of `struct ALIGN(16) A` is a name, that of a function's head is `)`, `const` or a macro.
    return texts[-1] in (")", "const", "override", "final", "volatile") or texts[0] not in CLASS_KEYS


def _has_assignment(texts: Sequence[str]) -> bool:
    """Return True for a `=` that is no part of a comparison, as in the type `enable_if_t<N == 4, int>`."""
    around = zip(["", *texts], texts, [*texts[1:], ""], strict=False)
    return any(text == "=" and {before, after}.isdisjoint("=!<>") for before, text, after in around)


def outside_brackets(tokens: Sequence[Token]) -> list[str]:
    """Return the words of tokens that are in no brackets, with the opening brackets."""
    texts = []
    index = 0
    while index < len(tokens):
        texts.append(tokens[index].text)
        if tokens[index].text in OPEN_BRACKETS:
            index = closing_bracket(tokens, index)
        index += 1
    return texts


def function_name(head: Sequence[Token], *, constructor: bool = False) -> frozenset[str]:
    """Return the name of a declared function; the class of a member; empty if it is no function.

    constructor: a name without a type before it counts, too.
    """
    index = 0
    while index < len(head):
        text = head[index].text
        if text == "operator":
            return frozenset(("operator",))
        if text == "(":
            if name := _name_after_macro(head, index):
                return name
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


def _name_after_macro(head: Sequence[Token], bracket: int) -> frozenset[str]:
    """Return `f` for `void BOUNDS(256) f(int x)`; nothing if the word before the bracket is the name.

    bracket: the index of the first `(`. Macros are upper-case: `void f(int x) BOUNDS(256)` names `f`, too.
    """
    following = head[closing_bracket(head, bracket) + 1 :]
    if not bracket or not head[bracket - 1].text.isupper() or not following:
        return frozenset()
    name = function_name(following, constructor=True) if following[0].kind == "identifier" else frozenset()
    return frozenset() if any(map(str.isupper, name)) else name


def alias_name(rest: Sequence[Token]) -> str:
    """Return the name in `using T = …`, `using std::max` and `namespace cg = …`."""
    texts = [token.text for token in rest]
    return texts[1] if "=" in texts else next((t.text for t in reversed(rest) if t.kind == "identifier"), "")


def typedef_names(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the names that a `typedef` declares, with the enumerators and the tag of a type in it."""
    body = next((n for n, token in enumerate(tokens) if token.text == "{"), None)
    head = without_attributes(tokens[:body])
    names = type_names(head, tokens[body:]) if body is not None else frozenset()
    tail = tokens[closing_bracket(tokens, body) + 1 :] if body is not None else tokens
    for index, token in enumerate(tail):
        if token.text == "(" and index + 2 < len(tail) and tail[index + 1].text == "*":
            return names | {tail[index + 2].text}
    return names | variable_names(tail)


def type_names(head: Sequence[Token], body: Sequence[Token]) -> frozenset[str]:
    """Return the names that a class or an enumeration declares; `body` begins with `{`."""
    key = next((n for n, token in enumerate(head) if token.text in CLASS_KEYS), len(head))
    end = next((n for n in range(key, len(head)) if head[n].text in (":", "<", ";")), len(head))
    names = {t.text for t in head[key + 1 : end] if t.kind == "identifier" and t.text not in CLASS_KEYS}
    close = closing_bracket(body, 0) if body else 0
    if any(token.text == "enum" for token in head):
        names |= {t.text for t in body[1:close] if t.kind == "identifier"}
    return frozenset(names) | variable_names(body[close + 1 :])


def variable_names(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the names that a declaration of variables declares."""
    names: set[str] = set()
    name, in_value = "", False
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in OPEN_BRACKETS:
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
