"""C++'s first translation phases: the one text in which nothing can hide a preprocessing directive.

NVRTC is never given the student's text itself but this canonical one: lines joined by a backslash are
joined, comments are blank, and no line ends in a backslash. In it every directive stands at the start
of a line, whatever the compiler thinks of strings, raw strings or skipped groups; so a check of line
starts (`gpulab.compiler.preprocess.includes`) sees all of them. Lines keep their numbers and characters their
columns, except after a join; `SourceText.place` knows the student's own place of each.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from gpulab.errors import CompileError, Diagnostic, UsageError

__all__ = ["MAX_CHARACTERS", "SourceText", "Token", "read_source", "tokenize"]

MAX_CHARACTERS = 250_000  # a cell has a few thousand
MAX_SHOWN = 400  # characters of a source line in a diagnostic

# Preprocessing tokens [lex.pptoken]. A quote that is not closed ends with its line, as in NVRTC.
_TOKEN = re.compile(
    r"""
      (?P<newline>\n)
    | (?P<space>[ \t\f\v]+)
    | (?P<comment>//[^\n]*|/\*)
    | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^ ()\\\t\v\f\n"]{0,16})\()
    | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\[^\n])*"?)
    | (?P<character>'(?:[^'\\\n]|\\[^\n])*'?)
    | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*)
    | (?P<identifier>(?:[A-Za-z_$]|[^\x00-\x7f])(?:[A-Za-z_$0-9]|[^\x00-\x7f])*)
    | (?P<punctuator>%:%:|%:|\#\#|<<<|>>>|::|->|.)
    """,
    re.VERBOSE,
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_BLANK_AFTER_BACKSLASH = re.compile(r"\\[ \t\f\v]+$", re.MULTILINE)
_STRANGE = (
    "`{0}` (U+{1:04X}) does not belong in CUDA C outside strings and comments; "
    "it may have come with a copied text: type it anew."
)
_TRIGRAPH = re.compile(r"\?\?[=/]")


class Token(NamedTuple):
    """One preprocessing token; `offset` counts characters of the canonical text."""

    kind: str  # "raw", "string", "character", "number", "identifier" or "punctuator"
    text: str
    offset: int
    directive: bool  # it stands on a `#` line


@dataclass(frozen=True)
class SourceText:
    """A text after translation phase 3, and where each character of it came from.

    student: the student's text with plain newlines. text: the canonical text, ASCII newline at its end.
    """

    student: str
    text: str
    tokens: tuple[Token, ...]
    _origin: array[int] = field(repr=False)
    _student_starts: array[int] = field(repr=False)
    _text_starts: array[int] = field(repr=False)

    def student_line(self, line: int) -> str:
        """Line `line` (from 1) as the student wrote it, cut where it is endless; empty when there is none."""
        if not 1 <= line <= len(self._student_starts):
            return ""
        start = self._student_starts[line - 1]
        return self.student[start : min(self.student.find("\n", start), start + MAX_SHOWN)]

    def place_of(self, offset: int) -> tuple[int, int]:
        """The student's line and column, from 1, of a character of the canonical text."""
        where = self._origin[max(0, min(offset, len(self._origin) - 1))] if self._origin else 0
        line = bisect_right(self._student_starts, where)
        return line, where - self._student_starts[line - 1] + 1

    def place(self, line: int, column: int) -> tuple[int, int]:
        """The student's place of a place that NVRTC names; `column` in bytes, 0 when unknown."""
        if not 1 <= line <= len(self._text_starts):
            return min(max(line, 0), len(self._student_starts)), 0
        start = self._text_starts[line - 1]
        if not column:
            return self.place_of(start)[0], 0
        shown = self.text[start : self.text.find("\n", start)]
        before = shown.encode()[: column - 1].decode(errors="ignore")
        return self.place_of(start + min(len(before), len(shown)))

    def diagnostic(self, offset: int, message: str) -> Diagnostic:
        """An error at one character of the canonical text."""
        line, column = self.place_of(offset)
        return Diagnostic(line, column, "error", message, self.student_line(line))


def tokenize(text: str) -> list[Token]:
    """The tokens of one line without splices (a macro's value, a directive's rest); no comments skipped."""
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup if match.lastgroup != "delimiter" else "raw"
        if kind not in ("space", "newline"):
            found.append(Token(kind or "", match.group(), match.start(), False))
    return found


def read_source(source: str) -> SourceText:
    """Take a text through phases 1 to 3.

    Raises `UsageError` for a text that is no text (not Unicode, too long, empty) and `CompileError`
    for what cannot be in one (control characters, an unclosed comment, trigraphs, …).
    """
    student = _phase_1(source)
    logical, origin = _phase_2(student)
    text, kept, tokens = _phase_3(student, logical, origin)
    result = SourceText(student, text, tuple(tokens), kept, _line_starts(student), _line_starts(text))
    _refuse_ambiguity(result)
    return result


def _phase_1(source: object) -> str:
    """Unicode text with plain newlines, one at its end, and no control characters."""
    if isinstance(source, (bytes, bytearray)):
        try:
            source = bytes(source).decode()
        except UnicodeDecodeError as error:
            raise UsageError(
                f"the source is not UTF-8 text (byte {error.start}); save the file as UTF-8."
            ) from None
    if not isinstance(source, str):
        raise UsageError(f"the source must be text, not {type(source).__name__}.")
    if len(source) > MAX_CHARACTERS:
        raise UsageError(
            f"the source is {len(source):,} characters long; the most is {MAX_CHARACTERS:,}. "
            "Give data to a kernel as an array, not as text."
        )
    student = re.sub(r"\r\n?", "\n", source.removeprefix("\ufeff"))
    if not student.endswith("\n"):
        student += "\n"
    starts = _line_starts(student)
    for match in _CONTROL.finditer(student):
        line = bisect_right(starts, match.start())
        raise CompileError(
            [
                Diagnostic(
                    line,
                    match.start() - starts[line - 1] + 1,
                    "error",
                    f"there is a control character (U+{ord(match.group()):04X}) in the text; delete it.",
                )
            ]
        )
    try:
        student.encode()
    except UnicodeEncodeError as error:
        line = bisect_right(starts, error.start)
        raise UsageError(
            f"line {line} holds a character that is not Unicode text; save the file as UTF-8."
        ) from None
    return student


def _phase_2(student: str) -> tuple[str, array[int]]:
    """The text without splices, and the student's offset of each character."""
    if "\\\n" not in student:
        return student, array("l", range(len(student)))
    logical: list[str] = []
    origin = array("l")
    for offset, character in enumerate(student):
        # Also a backslash and a newline that only now came together: NVRTC may see no splice at all.
        if character == "\n" and logical and logical[-1] == "\\":
            logical.pop()
            origin.pop()
        else:
            logical.append(character)
            origin.append(offset)
    while logical and logical[-1] == "\\":  # at the end of the text: it joins with nothing
        logical.pop()
        origin.pop()
    if not logical or logical[-1] != "\n":
        logical.append("\n")
        origin.append(len(student) - 1)
    return "".join(logical), origin


def _phase_3(student: str, logical: str, origin: array[int]) -> tuple[str, array[int], list[Token]]:
    """Blank the comments, keep the line numbers, and cut the rest into tokens."""
    out: list[str] = []
    kept = array("l")
    tokens: list[Token] = []
    student_starts = _line_starts(student)
    lines = 0  # newlines put out so far
    line_is_empty, directive = True, False

    def fail(position: int, message: str) -> CompileError:
        line = bisect_right(student_starts, origin[position])
        start = student_starts[line - 1]
        shown = student[start : student.find("\n", start)]
        return CompileError([Diagnostic(line, origin[position] - start + 1, "error", message, shown)])

    def put(first: int, text: str) -> None:
        out.append(text)
        kept.extend(origin[first : first + len(text)])

    def end_line(position: int) -> None:
        # One newline, and one more for each that a join or a comment in a directive took away.
        nonlocal lines, line_is_empty, directive
        missing = bisect_right(student_starts, origin[position]) - lines
        out.append("\n" * missing)
        kept.extend(array("l", [origin[position]]) * missing)
        lines += missing
        line_is_empty, directive = True, False

    position = 0
    while position < len(logical):
        match = _TOKEN.match(logical, position)
        assert match is not None  # the last alternative takes any character
        kind = match.lastgroup if match.lastgroup != "delimiter" else "raw"
        text, end = match.group(), match.end()
        if kind == "newline":
            end_line(position)
        elif kind == "space":
            put(position, text.replace("\f", " ").replace("\v", " "))
        elif kind == "comment":
            if text == "/*":
                close = logical.find("*/", end)
                if close < 0:
                    raise fail(position, "this comment is never closed; end it with `*/`.")
                end = close + 2
            for index in range(position, end):
                if logical[index] == "\n" and not directive:
                    end_line(index)
                else:
                    put(index, " ")
        else:
            if line_is_empty:
                line_is_empty, directive = False, text in ("#", "%:", "##", "%:%:")
            if kind == "raw":
                close = logical.find(f'){match.group("delimiter")}"', end)
                if close < 0:
                    raise fail(position, "this raw string is never closed.")
                end = close + len(match.group("delimiter")) + 2
                text = logical[position:end]
                if origin[end - 1] - origin[position] != end - 1 - position:
                    raise fail(position, "a raw string may hold no line that ends in a backslash.")
            tokens.append(Token(kind or "", text, len(kept), directive))
            if kind == "raw" and "\n" in text:
                for index in range(position, end):
                    if logical[index] == "\n":
                        end_line(index)
                    else:
                        put(index, logical[index])
                line_is_empty = False
            else:
                put(position, text)
        position = end
    return "".join(out), kept, tokens


def _refuse_ambiguity(source: SourceText) -> None:
    """Refuse what one compiler reads as a join or a directive and another one does not."""
    if match := _BLANK_AFTER_BACKSLASH.search(source.text):
        message = "there is nothing but blanks after this backslash, so it joins no lines; delete the blanks."
        raise CompileError([source.diagnostic(match.start(), message)])
    if match := _TRIGRAPH.search(source.text):
        message = f"`{match.group()}` is a trigraph; in a string, write the second question mark as `\\?`."
        raise CompileError([source.diagnostic(match.start(), message)])
    # NVRTC drops a character that belongs in no name and begins anew behind it: `éR"(` is a raw string to it.
    strange = [
        source.diagnostic(token.offset + place, _STRANGE.format(token.text[place], ord(token.text[place])))
        for token in source.tokens
        if token.kind == "identifier"
        and (place := next((n for n, c in enumerate(token.text) if not c.isascii()), None)) is not None
    ]
    if strange:
        raise CompileError(strange)
    if not source.tokens:
        raise UsageError("there is no code here; write a `__global__` function.")


def _line_starts(text: str) -> array[int]:
    """Offsets at which lines start; the text ends with a newline, and no line starts after it."""
    starts = array("l", [0])
    starts.extend(match.end() for match in re.finditer("\n", text) if match.end() < len(text))
    return starts
