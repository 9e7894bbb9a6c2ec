"""Registry of PTX instructions: the supported forms with their handlers, and the refused operations.

A handler declares its forms in the notation of the PTX manual:

    @handles("add{.rn|rz|rm|rp}{.ftz}{.sat} .f32")

The first word is the operation, or several (`add|sub`). The modifiers follow, in segments separated by
spaces. `.a|b` stands for one of its words; `{.a|b}` is optional. A segment with an optional term accepts its
words in any order, as the assembler does; a segment without one is a sequence of types in a fixed order.
An instruction that matches no form is rejected, so that no modifier is ignored silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.ptx.syntax import Instruction

__all__ = [
    "FORMS",
    "MALFORMED",
    "PSEUDO_HANDLERS",
    "REFUSED",
    "Form",
    "Handler",
    "check",
    "handles",
    "lower_instruction",
    "refuses",
]

Handler = Callable[[CodegenContext, Instruction], None]
PSEUDO_HANDLERS: dict[str, Handler] = {}  # handlers of instructions that only the simulator inserts
FORMS: dict[str, list[Form]] = {}  # forms of each operation
REFUSED: dict[str, str] = {}  # reason why instructions are not executed, by operation or by first words

# Exceptions that a handler may raise for an instruction without the operands that the PTX manual defines.
MALFORMED = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)

_TERM = re.compile(r"(\{?)\.([^{}.]+)\}?")


@dataclass(frozen=True)
class Term:
    """Alternative words at one position of a form."""

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
        """Every modifier that the form accepts."""
        return frozenset().union(*(term.words for segment in self.segments for term in segment))

    def fits(self, modifiers: tuple[str, ...]) -> bool:
        """Return True if an instruction with these modifiers has this form."""
        at = 0
        for segment in self.segments:
            if not any(term.optional for term in segment):
                words = modifiers[at : at + len(segment)]
                if len(words) < len(segment) or any(
                    word not in term.words for word, term in zip(words, segment, strict=True)
                ):
                    return False
                at += len(segment)
                continue

            unmatched = list(segment)
            while at < len(modifiers):
                term = next((t for t in unmatched if modifiers[at] in t.words), None)
                if term is None:
                    break
                unmatched.remove(term)
                at += 1
            if not all(term.optional for term in unmatched):
                return False
        return at == len(modifiers)


def _parse_form(text: str, handler: Handler) -> tuple[list[str], Form]:
    """Return the operations that a declaration names, and its form."""
    head, *rest = text.split(" ")
    operation, dot, terms = head.partition("{") if "{" in head.split(".")[0] else head.partition(".")
    segments = [dot + terms, *rest] if terms else rest
    parsed = tuple(
        tuple(Term(frozenset(m[2].split("|")), bool(m[1])) for m in _TERM.finditer(segment))
        for segment in segments
    )
    return operation.split("|"), Form(text, parsed, handler)


_HANDLER_OF_PARTS: dict[tuple[str, ...], Handler] = {}  # cache: most instructions occur many times


def lower_instruction(cg: CodegenContext, item: Instruction) -> None:
    """Emit an instruction. Raises `UnsupportedInstruction` if it matches no form."""
    _handler_of(item)(cg, item)


def check(item: Instruction) -> None:
    """Raise `UnsupportedInstruction` if an instruction matches no form."""
    _handler_of(item)


def _handler_of(item: Instruction) -> Handler:
    handler = _HANDLER_OF_PARTS.get(item.parts) or PSEUDO_HANDLERS.get(item.op)
    if handler is None:
        handler = _HANDLER_OF_PARTS[item.parts] = _find_handler(item)
    return handler


def _find_handler(item: Instruction) -> Handler:
    forms = FORMS.get(item.op, [])
    modifiers = item.parts[1:]
    for form in forms:
        if form.fits(modifiers):
            return form.handler

    reason = next((why for words, why in REFUSED.items() if f"{item.text}.".startswith(f"{words}.")), "")
    if reason or not forms:
        raise UnsupportedInstruction(item.text, item.line, reason)
    accepted = frozenset().union(*(form.words for form in forms))
    rejected = [f"`.{word}`" for word in modifiers if word not in accepted]
    reason = f"{item.op} with {' and '.join(rejected)}" if rejected else "this combination of modifiers"
    raise UnsupportedInstruction(item.text, item.line, reason)


def handles(*forms: str) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of instructions with these forms."""

    def register(handler: Handler) -> Handler:
        for text in forms:
            operations, form = _parse_form(text, handler)
            for operation in operations:
                FORMS.setdefault(operation, []).append(form)
        return handler

    return register


def refuses(reason: str, *operations: str) -> None:
    """Register operations, or their first words, that are rejected; the error message states the reason."""
    REFUSED.update(dict.fromkeys(operations, reason))
