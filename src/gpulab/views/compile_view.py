"""The compiler's messages, each with its line number, source line and caret."""

from __future__ import annotations

from collections.abc import Sequence

from gpulab.errors import CompileError, Diagnostic, KernelNotWritten, first_sentence
from gpulab.views.html import View, card, note, paragraph, preformatted, stack

__all__ = ["compile_error_view", "summary", "warnings_view"]

_MOST = 8  # messages; later ones are mostly consequences of the first


def summary(error: CompileError) -> str:
    """Return the cause of the first error in one line, without advice, and the number of the other errors."""
    if isinstance(error, KernelNotWritten):
        return str(error)
    errors = [d for d in error.diagnostics if d.severity == "error"] or error.diagnostics
    if not errors:
        return str(error) or "the compiler rejected the source."
    where = f"line {errors[0].line}: " if errors[0].line else ""
    more = f"  (and {len(errors) - 1} more, above)" if len(errors) > 1 else ""
    return f"{where}{first_sentence(errors[0].message)}{more}"


def compile_error_view(error: CompileError) -> View:
    """Return a card with the messages in the compiler's order."""
    if isinstance(error, KernelNotWritten):
        return note("hint", str(error))
    if not error.diagnostics:
        return note("bad", "✗ does not compile", code=str(error))
    shown = error.diagnostics[:_MOST]
    left_out = len(error.diagnostics) - len(shown)
    number = sum(d.severity == "error" for d in error.diagnostics)
    return card(
        "bad",
        f"✗ does not compile: {number} error{'s' if number != 1 else ''}",
        *(_diagnostic(d) for d in shown),
        paragraph(f"and {left_out} more; correct the first ones first.", dim=True) if left_out else None,
    )


def warnings_view(warnings: Sequence[str]) -> View:
    """Return the warnings of the compiler and the sanitizer; an empty view if there are none."""
    number = len(warnings)
    return note("hint", f"⚠ {number} warning{'s' * (number > 1)}", warnings) if warnings else View()


def _diagnostic(diagnostic: Diagnostic) -> View:
    where = f"line {diagnostic.line}: " if diagnostic.line else ""
    message = paragraph(f"{where}{diagnostic.severity}: {diagnostic.message}")
    pointed = _pointed(diagnostic)
    return stack(message, preformatted(pointed) if pointed else None)


def _pointed(diagnostic: Diagnostic) -> str:
    """Return the source line with its number in the margin and a caret under the column."""
    if not diagnostic.source_line:
        return ""
    margin = f"{diagnostic.line:>4} | "
    text = margin + diagnostic.source_line
    if diagnostic.column:
        # Tabs are kept, so that the caret is below its character.
        before = diagnostic.source_line[: diagnostic.column - 1]
        text += f"\n{' ' * (len(margin) - 2)}| " + "".join(c if c == "\t" else " " for c in before) + "^"
    return text
