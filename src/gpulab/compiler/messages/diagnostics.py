"""Diagnostics from NVRTC's log, with lines and columns of the student's source.

The source line of a diagnostic is taken from the student's text, so that it never shows text of another file,
and paths are removed from messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise, takewhile
from pathlib import PurePosixPath

from gpulab.compiler.messages.clearer_messages import clearer_beginning, wrong_arguments
from gpulab.compiler.messages.nvrtc_log import messages_of
from gpulab.compiler.messages.suggestions import (
    IS_NO_SPECIFIER,
    REMOVED_WARP_FUNCTIONS,
    UNDEFINED_NAME,
    UNDEFINED_NAMESPACE,
    misspelt_specifier,
    suggestion,
)
from gpulab.compiler.nvrtc import FILE_NAME, NAMES_FILE
from gpulab.compiler.preprocess.phases import SourceText
from gpulab.errors import Diagnostic

__all__ = ["parse_log"]

_INSTANTIATED_AT = re.compile(rf"at line (\d+) of {re.escape(FILE_NAME)}$")
_NOISE = ("detected during:", "instantiation of ")
_NO_SPECIFIER = "this declaration has no storage class or type specifier"
_WITHOUT_SYNC = re.compile(r"inline assembly: Instruction '(shfl|vote)' without '\.sync'")
_UNDEFINED = ('identifier "', 'namespace "', *UNDEFINED_NAMESPACE)
_NOT_A_FUNCTION = 'attribute "__global__" does not apply here'
_OF_A_VARIABLE = (
    _NOT_A_FUNCTION,
    "this variable is outside every function",
    'incomplete type "void" is not allowed',
    "type name is not allowed",
    'identifier "',
    'namespace "',
    'expected a ")"',
    'expected a ";"',
)
_PYTHON = re.compile(r"\s*(def \w+\(.*:|(import|from) \w+(\.\w+)*( import | as |$)|for \w+ in .*:)")
_NOT_PYTHON = "this is Python, and a kernel is CUDA C: Python code belongs in a cell without `%%cuda`."
_MAX_NOTES = 3  # notes that are appended to one message
_WARNINGS = ("warning", "remark", "note")


def parse_log(log: str, source: SourceText, ptx: str = "", folders: Iterable[str] = ()) -> list[Diagnostic]:
    """Return the errors and warnings of a compilation, in the order of the log.

    ptx: NVRTC's PTX, which maps ptxas messages to source lines. folders: include folders, which are removed
    from the messages.
    """
    diagnostics: dict[Diagnostic, None] = {}  # each one once, in the order of the log
    skipped: set[str] = set()  # names in statements that the compiler skipped after an error
    folders = sorted(folders, key=len, reverse=True)
    for message in messages_of(log, ptx):
        if message.severity in _WARNINGS and message.file not in ("", FILE_NAME):
            continue  # warnings about headers are not the student's concern
        if message.file == NAMES_FILE:
            continue  # the name of a kernel is not part of the source

        line, column, text = message.line, message.column, _clearer(message.text, folders)
        if message.file and message.file != FILE_NAME:
            line, column = _instantiation_line(message.notes), 0
            text = f"in the header {message.file.replace(chr(92), '/').rpartition('/')[2]}: {text}"
        elif message.file == "":
            if _WITHOUT_SYNC.match(text) and (name := _removed_function(source)):
                text = f"CUDA has removed `{name}`: write `{name}_sync(0xffffffff, …)`."
            line = line or _line_of_name(source, text)
        if line:
            line, column = source.place(line, column)
        if (undefined := UNDEFINED_NAME.fullmatch(text)) and undefined[1] in skipped:
            continue
        if text == 'expected a ";"':
            skipped |= _names_to_end_of_statement(source, line, column)
            if _follows_undefined(source, line, column, list(diagnostics)[-1:]):
                continue
            end = source.end_of_statement_before(line, column)
            text += " at the end of this line" if end[0] < line else ""
            line, column = end

        if text == _NO_SPECIFIER:
            text = misspelt_specifier(source, line, column) or text
        text += suggestion(text, source, line, column)
        if message.opened and message.file == FILE_NAME:
            text += f' for the "{{" of line {source.place(message.opened, 0)[0]}'
        if clearer_beginning(message.text):  # the notes explain the compiler's text
            message.notes.clear()
        notes = [_clearer(note, folders) for note in message.notes if not note.startswith(_NOISE)]
        text = wrong_arguments(text, notes) or "; ".join([text, *notes[:_MAX_NOTES]])
        severity = "warning" if message.severity in _WARNINGS else "error"
        diagnostics[Diagnostic(line, column, severity, text, source.student_line(line))] = None
    return _without_consequences(list(diagnostics))


def _without_consequences(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics without those that follow from another one."""
    python = next((each for each in diagnostics if _PYTHON.match(each.source_line)), None)
    if python is not None:
        return [replace(python, column=0, message=_NOT_PYTHON)]
    return _of_unknown_specifiers(_of_unknown_types(diagnostics))


def _of_unknown_specifiers(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Leave out the errors that follow from a misspelt specifier, such as `_global_`, in the same line.

    The compiler takes the function for a variable.
    """
    misspelt = {each.line for each in diagnostics if IS_NO_SPECIFIER in each.message}
    return [d for d in diagnostics if d.line not in misspelt or not d.message.startswith(_OF_A_VARIABLE)]


def _of_unknown_types(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Leave out the errors that follow from an unknown type of a kernel's first parameter.

    The compiler takes such a kernel for a variable and reports up to five errors, mostly before the cause.
    """
    first = next((n for n, each in enumerate(diagnostics) if each.message == _NOT_A_FUNCTION), None)
    if first is None:
        return diagnostics
    end = first
    while end < len(diagnostics) and diagnostics[end].message.startswith(_OF_A_VARIABLE):
        end += 1
    begin = first - (first > 0 and diagnostics[first - 1].message.startswith(_UNDEFINED))
    cause = next((each for each in diagnostics[begin:end] if each.message.startswith(_UNDEFINED)), None)
    if cause is None:
        return diagnostics
    return [*diagnostics[:begin], cause, *_of_unknown_types(diagnostics[end:])]


def _clearer(text: str, folders: Iterable[str]) -> str:
    """Return a message without paths, replaced by a clearer one if there is one."""
    for folder in folders:
        for name in (folder, folder.replace("/", "\\")):
            text = text.replace(name + "/", "").replace(name + "\\", "").replace(name, "")
    text = text.replace(FILE_NAME, PurePosixPath(FILE_NAME).name)
    if text.startswith("#error directive: "):
        return text.removeprefix("#error directive: ").strip().strip('"').replace('\\"', '"')
    return clearer_beginning(text) or text


def _follows_undefined(source: SourceText, line: int, column: int, last: list[Diagnostic]) -> bool:
    """Return True if the token before a place is the undefined name of the last error: `__shard__ float`."""
    places = [source.place_of(token.offset) for token in source.tokens]
    undefined = [(each.line, each.column) for each in last if each.message.startswith('identifier "')]
    return any(before in undefined for before, after in pairwise(places) if after == (line, column))


def _names_to_end_of_statement(source: SourceText, line: int, column: int) -> set[str]:
    """Return the identifiers from a place to the next semicolon."""
    rest = (t for t in source.tokens if source.place_of(t.offset) >= (line, column))
    statement = takewhile(lambda token: token.text != ";", rest)
    return {token.text for token in statement if token.kind == "identifier"}


def _line_of_name(source: SourceText, text: str) -> int:
    """Return the line on which the first `name` of a ptxas message occurs in the source; 0 if it does not."""
    if match := re.search(r"`(?:\w+::)*([A-Za-z_]\w*)(?:<[^`]*>)?`", text):
        for token in source.tokens:
            if token.text == match[1] and not token.directive:
                return source.text.count("\n", 0, token.offset) + 1
    return 0


def _removed_function(source: SourceText) -> str:
    """Return the first function of a source that CUDA has removed, such as `__any`; "" if there is none."""
    return next((token.text for token in source.tokens if token.text in REMOVED_WARP_FUNCTIONS), "")


def _instantiation_line(notes: list[str]) -> int:
    """Return the source line that instantiated a header's template; 0 if the notes do not name it."""
    lines = [match for note in notes if (match := _INSTANTIATED_AT.search(note))]
    return int(lines[-1][1]) if lines else 0
