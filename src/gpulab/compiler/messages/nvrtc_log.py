"""The messages in the log of NVRTC and ptxas, at the positions that the compiler reports.

NVRTC prints a message, the source line and a caret below it. Only the message and the column of the caret are
used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpulab.compiler.mangling import demangled
from gpulab.compiler.nvrtc import FILE_NAME

__all__ = ["LINE_DIRECTIVE", "Message", "messages_of"]

LINE_DIRECTIVE = re.compile(r"\s*\.loc\s+1\s+(\d+)\s")  # a line of the student's source, in PTX
_SEVERITY = r"(?P<severity>catastrophic error|internal error|error|warning|remark|note)"
_PLACED = re.compile(rf"(?P<file>\S[^\n]*?)\((?P<line>\d+)\): {_SEVERITY}(?: #[\w-]+)?: (?P<text>.*)")
_AT_END = re.compile(rf"At end of source: {_SEVERITY}(?: #[\w-]+)?: (?P<text>.*)")
_NOTE = re.compile(r"Note #[\w-]+: (?P<text>.*)")
_CARET = re.compile(r"  (?P<pad>[ \t]*)\^\s*")
_CONTINUATION = re.compile(r" {10}\s*\S")
_PTXAS_LINE = re.compile(
    r"ptxas \S+(?: ptx input)?, line (?P<line>\d+); (?P<severity>error|warning|fatal)\s*: (?P<text>.*)"
)
_PTXAS = re.compile(r" ?ptxas (?P<severity>error|warning|fatal)\s*: (?P<text>.*)")
_TOO_MUCH_SHARED = re.compile(
    r"Entry function '([^']+)' uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)"
)
_UNKNOWN_STACK = re.compile(r"Stack size for entry function '([^']+)' cannot be statically determined")
_UNDEFINED_FUNCTION = re.compile(r"Unresolved extern function '([^']+)'")


@dataclass
class Message:
    """A message of the log, at the position that NVRTC reports."""

    file: str
    line: int
    severity: str
    text: str
    column: int = 0
    notes: list[str] = field(default_factory=list)
    opened: int = 0  # line of the "{" that a note about a missing "}" names


def messages_of(log: str, ptx: str) -> list[Message]:
    """Return the messages of a log, in its order. ptx: NVRTC's PTX, which has the lines of ptxas messages."""
    messages: list[Message] = []
    current: Message | None = None  # the message that a caret or a continuation belongs to
    previous_continues = False  # the previous line was taken for a continuation

    for line in log.split("\n"):
        if match := _PLACED.fullmatch(line):
            current = Message(match["file"], int(match["line"]), match["severity"], match["text"])
            if match["severity"] == "note" and messages:
                if match["text"] == 'to match this "{"':
                    messages[-1].opened = current.line
                else:
                    messages[-1].notes.append(match["text"])
                current.notes = messages[-1].notes
            else:
                messages.append(current)
        elif match := _AT_END.fullmatch(line):
            current = Message(FILE_NAME, 1 << 30, match["severity"], match["text"])
            messages.append(current)
        elif (match := _NOTE.fullmatch(line)) and messages:
            messages[-1].notes.append(match["text"])
        elif match := _PTXAS_LINE.fullmatch(line):
            source_line = _line_of_ptx(ptx, int(match["line"]))
            messages.append(Message("", source_line, match["severity"], f"inline assembly: {match['text']}"))
            current = None
        elif match := _PTXAS.fullmatch(line):
            if not match["text"].startswith("Ptx assembly aborted"):
                messages.append(Message("", 0, match["severity"], _clearer_ptxas(match["text"])))
            current = None
        elif current is not None:
            if match := _CARET.fullmatch(line):
                current.column = current.column or len(match["pad"]) + 1
                if previous_continues and current.notes:  # it was the source line, not a continuation
                    current.notes.pop()
            elif _CONTINUATION.match(line):
                current.notes.append(line.strip())
                previous_continues = True
                continue
            elif not line:
                current = None
        previous_continues = False
    return messages


def _clearer_ptxas(text: str) -> str:
    if match := _TOO_MUCH_SHARED.match(text):
        kernel, size, limit = demangled(match[1]), int(match[2], 16), int(match[3], 16)
        return (
            f"`{kernel}` declares {size:,} bytes of shared memory; the limit is "
            f"{limit:,} bytes ({limit // 1024} KiB) per block."
        )
    if match := _UNKNOWN_STACK.match(text):
        return (
            f"the size of the stack of `{demangled(match[1])}` is unknown, because a function calls itself "
            "or is called through a pointer; a deep recursion exceeds the stack of a GPU."
        )
    if match := _UNDEFINED_FUNCTION.match(text):
        return f"the function `{demangled(match[1])}` is called but not defined."
    return re.sub(r"'(_Z\w+)'", lambda match: f"`{demangled(match[1])}`", text)


def _line_of_ptx(ptx: str, line: int) -> int:
    """Return the source line of a line of PTX, from the `.loc` directive above it; 0 if there is none."""
    for text in reversed(ptx.splitlines()[:line]):
        if match := LINE_DIRECTIVE.match(text):
            return int(match[1])
        if text.startswith((".visible", ".func", ".entry")):
            break
    return 0
