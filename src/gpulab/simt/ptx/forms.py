"""Which PTX instructions are executed, form by form, and which are refused by name.

A handler declares the forms that it knows as the PTX manual writes them:

    @handles("add{.rn|rz|rm|rp}{.ftz}{.sat} .f32")

The first word is the operation (or several, `add|sub`). Then come segments, separated by spaces, in
their order. `.a|b` stands for one of its words, `{.a|b}` may be left out. A segment with an optional
term may have its words in any order, as the assembler allows; one without is a run of types, in order.
An instruction that fits no form is refused, so that no modifier is ever passed over in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.ptx.syntax import Instruction

if TYPE_CHECKING:
    from gpulab.simt.codegen.context import CodegenContext

__all__ = ["FORMS", "HANDLERS", "REFUSED", "Form", "Handler", "check", "handles", "refuses"]

Handler = Callable[["CodegenContext", Instruction], None]
HANDLERS: dict[str, Handler] = {}  # by operation
FORMS: dict[str, list[Form]] = {}
REFUSED: dict[str, str] = {}  # operations that are never executed, and why

_TERM = re.compile(r"(\{?)\.([^{}.]+)\}?")


@dataclass(frozen=True)
class Term:
    words: frozenset[str]
    optional: bool


@dataclass(frozen=True)
class Form:
    """One line of an instruction's syntax, and the handler that executes it."""

    text: str
    segments: tuple[tuple[Term, ...], ...]
    handler: Handler

    @property
    def words(self) -> frozenset[str]:
        return frozenset().union(*(term.words for segment in self.segments for term in segment))

    def fits(self, parts: tuple[str, ...]) -> bool:
        """Whether `parts`, without the operation, are of this form."""
        at = 0
        for segment in self.segments:
            if not any(term.optional for term in segment):
                found = parts[at : at + len(segment)]
                if len(found) < len(segment) or any(
                    word not in term.words for word, term in zip(found, segment, strict=True)
                ):
                    return False
                at += len(segment)
                continue
            open_terms = list(segment)
            while at < len(parts):
                term = next((t for t in open_terms if parts[at] in t.words), None)
                if term is None:
                    break
                open_terms.remove(term)
                at += 1
            if not all(term.optional for term in open_terms):
                return False
        return at == len(parts)


def _parsed(text: str, handler: Handler) -> tuple[list[str], Form]:
    head, *rest = text.split(" ")
    operation, dot, terms = head.partition("{") if "{" in head.split(".")[0] else head.partition(".")
    segments = [dot + terms, *rest] if terms else rest
    parsed = tuple(
        tuple(Term(frozenset(m[2].split("|")), bool(m[1])) for m in _TERM.finditer(segment))
        for segment in segments
    )
    return operation.split("|"), Form(text, parsed, handler)


_FOUND: dict[tuple[str, ...], Handler] = {}  # by the instruction's parts: most come again and again


def _dispatch(cg: CodegenContext, item: Instruction) -> None:
    handler = _FOUND.get(item.parts)
    if handler is None:
        handler = _FOUND[item.parts] = _handler_of(item)
    handler(cg, item)


def check(item: Instruction) -> None:
    """Refuse an instruction that fits no form, where it is executed by other means than its handler."""
    _handler_of(item)


def _handler_of(item: Instruction) -> Handler:
    forms = FORMS[item.op]
    words = item.parts[1:]
    for form in forms:
        if form.fits(words):
            return form.handler
    known = frozenset().union(*(form.words for form in forms))
    strange = [f"`.{word}`" for word in words if word not in known]
    why = f"{item.op} with {' and '.join(strange)}" if strange else "this combination of modifiers"
    raise UnsupportedInstruction(item.text, item.line, why)


def handles(*forms: str) -> Callable[[Handler], Handler]:
    """Register a function as the one that lowers instructions of these forms."""

    def register(handler: Handler) -> Handler:
        for text in forms:
            operations, form = _parsed(text, handler)
            for operation in operations:
                HANDLERS[operation] = _dispatch
                FORMS.setdefault(operation, []).append(form)
        return handler

    return register


def refuses(why: str, *operations: str) -> None:
    """Refuse whole operations, with a reason for the person who reads the message."""

    def refuse(_cg: CodegenContext, item: Instruction) -> None:
        raise UnsupportedInstruction(item.text, item.line, why)

    for operation in operations:
        HANDLERS[operation] = refuse
        REFUSED[operation] = why
