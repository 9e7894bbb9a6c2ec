"""NVRTC's log as diagnostics: the student's own lines, no path, and nothing quoted from a file.

NVRTC prints a message, the source line and a caret under it. Only the message and the caret's column
are taken; the source line is always the student's own text, never what the log quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpulab.compiler.mangling import plain_name
from gpulab.compiler.nvrtc import FILE_NAME
from gpulab.compiler.preprocess.phases import SourceText
from gpulab.errors import Diagnostic

__all__ = ["parse_log"]

_SEVERITY = r"(?P<severity>catastrophic error|internal error|error|warning|remark|note)"
_PLACED = re.compile(rf"(?P<file>\S[^\n]*?)\((?P<line>\d+)\): {_SEVERITY}(?: #[\w-]+)?: (?P<text>.*)")
_AT_END = re.compile(rf"At end of source: {_SEVERITY}(?: #[\w-]+)?: (?P<text>.*)")
_NOTE = re.compile(r"Note #[\w-]+: (?P<text>.*)")
_CARET = re.compile(r"  (?P<pad>[ \t]*)\^\s*")
_CONTINUATION = re.compile(r" {10}\s*\S")
_INSTANTIATED_AT = re.compile(rf"at line (\d+) of {re.escape(FILE_NAME)}$")
_NOISE = ("detected during:", "instantiation of ")
_PTXAS_LINE = re.compile(
    r"ptxas \S+(?: ptx input)?, line (?P<line>\d+); (?P<severity>error|warning|fatal)\s*: (?P<text>.*)"
)
_PTXAS = re.compile(r" ?ptxas (?P<severity>error|warning|fatal)\s*: (?P<text>.*)")
_LOC = re.compile(r"\s*\.loc\s+1\s+(\d+)\s")
_TOO_MUCH_SHARED = re.compile(
    r"Entry function '([^']+)' uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)"
)
_UNDEFINED_FUNCTION = re.compile(r"Unresolved extern function '([^']+)'")

# NVRTC's words for what a student of CUDA meets first, said for that student.
_IN_OTHER_WORDS = (
    (
        "A function without execution space annotations",
        "this function has neither `__global__` nor `__device__` before it; only GPU code is compiled here.",
    ),
    (
        "A namespace scope variable without memory space annotations",
        "this variable stands outside every function; put `__device__` or `__constant__` before it.",
    ),
)
_MAX_NOTES = 3
_MILD = ("warning", "remark", "note")


@dataclass
class _Message:
    """One message of the log, before its place is the student's."""

    file: str
    line: int
    severity: str
    text: str
    column: int = 0
    more: list[str] = field(default_factory=list)


def parse_log(log: str, source: SourceText, ptx: str = "", folders: Iterable[str] = ()) -> list[Diagnostic]:
    """The errors and warnings of one compile, in the log's order.

    ptx: NVRTC's PTX, when there is one, to place the assembler's messages. folders: include folders,
    whose names are taken out of messages.
    """
    found: list[Diagnostic] = []
    folders = sorted(folders, key=len, reverse=True)
    for message in _messages(log, ptx):
        if message.severity in _MILD and message.file not in ("", FILE_NAME):
            continue  # a header's warning is not the student's
        line, column, text = message.line, message.column, _plain(message.text, folders)
        if message.file and message.file != FILE_NAME:
            line, column = _cell_line(message.more), 0
            text = f"in the header {message.file.replace(chr(92), '/').rpartition('/')[2]}: {text}"
        elif message.file == "":
            line = line or _line_of_name(source, text)
        if line:
            line, column = source.place(line, column)
        shown = source.student_line(line)
        notes = [_plain(more, folders) for more in message.more if not more.startswith(_NOISE)]
        text = "; ".join([text, *notes[:_MAX_NOTES]])
        severity = "warning" if message.severity in _MILD else "error"
        diagnostic = Diagnostic(line, column, severity, text, shown)
        if diagnostic not in found:
            found.append(diagnostic)
    return found


def _messages(log: str, ptx: str) -> list[_Message]:
    found: list[_Message] = []
    current: _Message | None = None  # the message that a caret or a continuation belongs to
    line_before = False  # was the line before kept as a continuation?
    for line in log.split("\n"):
        if match := _PLACED.fullmatch(line):
            current = _Message(match["file"], int(match["line"]), match["severity"], match["text"])
            if match["severity"] == "note" and found:
                found[-1].more.append(match["text"])
                current.more = found[-1].more
            else:
                found.append(current)
        elif match := _AT_END.fullmatch(line):
            current = _Message(FILE_NAME, 1 << 30, match["severity"], match["text"])
            found.append(current)
        elif (match := _NOTE.fullmatch(line)) and found:
            found[-1].more.append(match["text"])
        elif match := _PTXAS_LINE.fullmatch(line):
            place = _line_of_ptx(ptx, int(match["line"]))
            found.append(_Message("", place, match["severity"], f"inline assembly: {match['text']}"))
            current = None
        elif match := _PTXAS.fullmatch(line):
            if not match["text"].startswith("Ptx assembly aborted"):
                found.append(_Message("", 0, match["severity"], _assembler_words(match["text"])))
            current = None
        elif current is not None:
            if match := _CARET.fullmatch(line):
                current.column = current.column or len(match["pad"]) + 1
                if line_before and current.more:  # that was the source line, not a continuation
                    current.more.pop()
            elif _CONTINUATION.match(line):
                current.more.append(line.strip())
                line_before = True
                continue
            elif not line:
                current = None
        line_before = False
    return found


def _plain(text: str, folders: Iterable[str]) -> str:
    """A message without paths, and with the student's words where there are some."""
    for folder in folders:
        for name in (folder, folder.replace("/", "\\")):
            text = text.replace(name + "/", "").replace(name + "\\", "").replace(name, "")
    text = text.replace(FILE_NAME, FILE_NAME.lstrip("/"))
    if text.startswith("#error directive: "):
        return text.removeprefix("#error directive: ").strip().strip('"').replace('\\"', '"')
    for beginning, words in _IN_OTHER_WORDS:
        if text.startswith(beginning):
            return words
    return text


def _assembler_words(text: str) -> str:
    if match := _TOO_MUCH_SHARED.match(text):
        kernel, size, most = plain_name(match[1]), int(match[2], 16), int(match[3], 16)
        return (
            f"`{kernel}` declares {size:,} bytes of shared memory; the most that can be declared is "
            f"{most:,} ({most // 1024} KB) per block."
        )
    if match := _UNDEFINED_FUNCTION.match(text):
        return f"the function `{plain_name(match[1])}` is called but never defined."
    return re.sub(r"'(_Z\w+)'", lambda match: f"`{plain_name(match[1])}`", text)


def _line_of_ptx(ptx: str, line: int) -> int:
    """The source line that the `.loc` above a line of the PTX names."""
    for text in reversed(ptx.splitlines()[:line]):
        if match := _LOC.match(text):
            return int(match[1])
        if text.startswith((".visible", ".func", ".entry")):
            break
    return 0


def _line_of_name(source: SourceText, text: str) -> int:
    """The line of the text on which the first `name` of an assembler's message stands."""
    if match := re.search(r"`([A-Za-z_]\w*)`", text):
        for token in source.tokens:
            if token.text == match[1] and not token.directive:
                return source.text.count("\n", 0, token.offset) + 1
    return 0


def _cell_line(more: list[str]) -> int:
    """Where the student's text made a header's template fail."""
    lines = [match for text in more if (match := _INSTANTIATED_AT.search(text))]
    return int(lines[-1][1]) if lines else 0
