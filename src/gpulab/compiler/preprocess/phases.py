"""The first three translation phases of C++, which give a canonical text without hidden directives.

NVRTC compiles this canonical text instead of the student's: line splices (a backslash before a newline) are
removed, comments are blank, and no line ends in a backslash. Every preprocessing directive is at the start
of a line, however a compiler delimits strings, raw strings and skipped groups, so a check of line starts
(`gpulab.compiler.preprocess.includes`) sees all of them. Line numbers and columns do not change, except
after a splice; `SourceText.place` maps them to the student's text.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from gpulab.errors import CompileError, Diagnostic, UsageError

__all__ = ["MAX_CHARACTERS", "SourceText", "Token", "read_source", "tokenize"]

MAX_CHARACTERS = 250_000  # upper bound of a source's length; a kernel cell has a few thousand
MAX_SHOWN = 400  # characters of a source line that a diagnostic shows

# Preprocessing tokens [lex.pptoken]. An unclosed quote ends with its line, as in NVRTC.
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
_NOT_ASCII = (
    "`{0}` (U+{1:04X}) is not allowed in CUDA C outside strings and comments; "
    "if the text was copied from a document, type this character again."
)
_TRIGRAPH = re.compile(r"\?\?[=/]")


class Token(NamedTuple):
    """A preprocessing token of the canonical text."""

    kind: str  # "raw", "string", "character", "number", "identifier" or "punctuator"
    text: str
    offset: int  # in characters, from the start of the canonical text
    directive: bool  # part of a preprocessing directive


@dataclass(frozen=True)
class SourceText:
    r"""A source after translation phase 3, with the origin of each character.

    Attributes
    ----------
    student : str
        The student's text, with `\n` as its only line ending.
    text : str
        The canonical text; it ends with a newline.
    tokens : tuple of Token
        The preprocessing tokens of the canonical text.
    """

    student: str
    text: str
    tokens: tuple[Token, ...]
    _origin: array[int] = field(repr=False)
    _student_starts: array[int] = field(repr=False)
    _text_starts: array[int] = field(repr=False)

    def student_line(self, line: int) -> str:
        """Return line `line` (from 1) of the student's text, at most `MAX_SHOWN` characters; "" if none."""
        if not 1 <= line <= len(self._student_starts):
            return ""
        start = self._student_starts[line - 1]
        return self.student[start : min(self.student.find("\n", start), start + MAX_SHOWN)]

    def student_offset(self, offset: int) -> int:
        """Return the offset in the student's text of a character of the canonical text."""
        return self._origin[max(0, min(offset, len(self._origin) - 1))] if self._origin else 0

    def place_of(self, offset: int) -> tuple[int, int]:
        """Return the student's line and column, from 1, of a character of the canonical text."""
        origin = self.student_offset(offset)
        line = bisect_right(self._student_starts, origin)
        return line, origin - self._student_starts[line - 1] + 1

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Return the student's line and column of a line and column that NVRTC reports.

        column: from 1, in bytes of UTF-8; 0 if unknown, which gives column 0.
        """
        if not 1 <= line <= len(self._text_starts):
            return min(max(line, 0), len(self._student_starts)), 0
        start = self._text_starts[line - 1]
        if not column:
            return self.place_of(start)[0], 0
        text = self.text[start : self.text.find("\n", start)]
        before = text.encode()[: column - 1].decode(errors="ignore")
        return self.place_of(start + min(len(before), len(text)))

    def end_of_statement_before(self, line: int, column: int) -> tuple[int, int]:
        """Return the place after the last token of an earlier line, if a token begins its line.

        line, column: the place of a token, as returned by `place`. Any other place is returned as it is.
        """
        before: Token | None = None
        for token in self.tokens:
            if self.place_of(token.offset) >= (line, column):
                break
            if not token.directive:
                before = token
        if before is None:
            return line, column
        last_line, last_column = self.place_of(before.offset + len(before.text) - 1)
        return (last_line, last_column + 1) if last_line < line else (line, column)

    def diagnostic(self, offset: int, message: str) -> Diagnostic:
        """Return an error at one character of the canonical text."""
        line, column = self.place_of(offset)
        return Diagnostic(line, column, "error", message, self.student_line(line))


def tokenize(text: str) -> list[Token]:
    """Return the tokens, comments included, of one line without splices (a macro's value or a condition)."""
    tokens = []
    for match in _TOKEN.finditer(text):
        kind = _kind_of(match)
        if kind not in ("space", "newline"):
            tokens.append(Token(kind, match.group(), match.start(), False))
    return tokens


def read_source(source: str) -> SourceText:
    """Apply translation phases 1 to 3 to a source.

    Raises `UsageError` if the source is not Unicode text, is too long or has no code, and `CompileError` if
    it contains a control character, an unclosed comment, a trigraph or the like.
    """
    student = _phase_1(source)
    logical, logical_origin = _phase_2(student)
    phase_3 = _Phase3(student, logical, logical_origin)
    text = "".join(phase_3.text)
    starts = _line_starts(student), _line_starts(text)
    result = SourceText(student, text, tuple(phase_3.tokens), phase_3.text_origin, *starts)
    _refuse_ambiguity(result)
    return result


def _phase_1(source: object) -> str:
    r"""Return the source as text without control characters, whose lines all end in `\n`."""
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
            f"the source has {len(source):,} characters; at most {MAX_CHARACTERS:,} are allowed. "
            "Pass data to a kernel as an array instead of writing it into the source."
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
                    f"the source contains a control character (U+{ord(match.group()):04X}); delete it.",
                )
            ]
        )

    try:
        student.encode()
    except UnicodeEncodeError as error:
        line = bisect_right(starts, error.start)
        raise UsageError(
            f"line {line} contains a character that is not Unicode text; save the file as UTF-8."
        ) from None
    return student


def _phase_2(student: str) -> tuple[str, array[int]]:
    """Return the text without splices, and the offset in `student` of each character."""
    if "\\\n" not in student:
        return student, array("l", range(len(student)))

    logical: list[str] = []
    origin = array("l")
    for offset, character in enumerate(student):
        # A backslash and a newline that meet only because a splice between them was removed are a splice
        # too: NVRTC must not see any.
        if character == "\n" and logical and logical[-1] == "\\":
            logical.pop()
            origin.pop()
        else:
            logical.append(character)
            origin.append(offset)

    while logical and logical[-1] == "\\":  # a splice at the end of the text joins no line
        logical.pop()
        origin.pop()
    if not logical or logical[-1] != "\n":
        logical.append("\n")
        origin.append(len(student) - 1)
    return "".join(logical), origin


class _Phase3:
    """Translation phase 3: the canonical text, the origin of its characters, and its tokens.

    Attributes
    ----------
    text : list of str
        Pieces of the canonical text.
    text_origin : array of int
        The offset in the student's text of each of its characters.
    tokens : list of Token
        The preprocessing tokens.
    """

    def __init__(self, student: str, logical: str, origin: array[int]) -> None:
        """logical, origin: the text without splices, and the offset in `student` of each character."""
        self._student, self._logical, self._origin = student, logical, origin
        self._student_starts = _line_starts(student)
        self.text: list[str] = []
        self.text_origin = array("l")
        self.tokens: list[Token] = []
        self._lines = 0  # newlines in `text`
        self._line_is_empty, self._directive = True, False

        position = 0
        while position < len(logical):
            match = _TOKEN.match(logical, position)
            assert match is not None  # the last alternative matches any character
            kind, position = _kind_of(match), match.end()
            if kind == "newline":
                self._end_line(match.start())
            elif kind == "space":
                self._put(match.start(), match.group().replace("\f", " ").replace("\v", " "))
            elif kind == "comment":
                position = self._blank_comment(match)
            else:
                position = self._add_token(kind, match)

    def _put(self, first: int, text: str) -> None:
        """Append text that replaces as many characters from `first` on."""
        self.text.append(text)
        self.text_origin.extend(self._origin[first : first + len(text)])

    def _end_line(self, position: int) -> None:
        """Append a newline, and one for each that a splice or a comment in a directive has removed.

        The next line then has the student's line number.
        """
        origin = self._origin[position]
        missing = bisect_right(self._student_starts, origin) - self._lines
        self.text.append("\n" * missing)
        self.text_origin.extend(array("l", [origin]) * missing)
        self._lines += missing
        self._line_is_empty, self._directive = True, False

    def _blank_comment(self, match: re.Match[str]) -> int:
        """Append blanks for a comment, and its newlines outside of a directive; return its end."""
        end = match.end()
        if match.group() == "/*":
            close = self._logical.find("*/", end)
            if close < 0:
                raise self._error(match.start(), "this comment is not closed; end it with `*/`.")
            end = close + 2
        for index in range(match.start(), end):
            if self._logical[index] == "\n" and not self._directive:
                self._end_line(index)
            else:
                self._put(index, " ")
        return end

    def _add_token(self, kind: str, match: re.Match[str]) -> int:
        """Append a token; return its end."""
        start, end = match.span()
        if self._line_is_empty:
            self._line_is_empty = False
            self._directive = match.group() in ("#", "%:", "##", "%:%:")
        if kind == "raw":
            end = self._end_of_raw_string(match)
        text = self._logical[start:end]
        self.tokens.append(Token(kind, text, len(self.text_origin), self._directive))
        self._put(start, text)
        if newlines := text.count("\n"):
            # A raw string keeps exactly its own newlines, because they are part of its value. Those that a
            # splice before it removed follow at the end of its last line.
            self._lines += newlines
            self._directive = False
        return end

    def _end_of_raw_string(self, match: re.Match[str]) -> int:
        start, closing = match.start(), f'){match.group("delimiter")}"'
        close = self._logical.find(closing, match.end())
        if close < 0:
            raise self._error(start, f"this raw string is not closed; end it with `{closing}`.")
        end = close + len(closing)
        if self._origin[end - 1] - self._origin[start] != end - 1 - start:
            raise self._error(start, "a line of a raw string may not end in a backslash.")
        return end

    def _error(self, position: int, message: str) -> CompileError:
        origin = self._origin[position]
        line = bisect_right(self._student_starts, origin)
        start = self._student_starts[line - 1]
        source_line = self._student[start : self._student.find("\n", start)]
        return CompileError([Diagnostic(line, origin - start + 1, "error", message, source_line)])


def _kind_of(match: re.Match[str]) -> str:
    """Return the kind of a token that `_TOKEN` matched."""
    return "raw" if match.lastgroup == "delimiter" else match.lastgroup or ""


def _refuse_ambiguity(source: SourceText) -> None:
    """Refuse text that some compilers read as a splice or a directive and others do not."""
    if match := _BLANK_AFTER_BACKSLASH.search(source.text):
        message = "this backslash joins no lines because blanks follow it; delete the blanks."
        raise CompileError([source.diagnostic(match.start(), message)])
    if match := _TRIGRAPH.search(source.text):
        message = f"`{match.group()}` is a trigraph; in a string, write the second question mark as `\\?`."
        raise CompileError([source.diagnostic(match.start(), message)])

    # NVRTC drops a character that is not allowed in an identifier and starts a new token after it, so that it
    # reads `éR"(` as the start of a raw string.
    errors = [
        source.diagnostic(token.offset + index, _NOT_ASCII.format(token.text[index], ord(token.text[index])))
        for token in source.tokens
        if token.kind == "identifier"
        and (index := next((n for n, c in enumerate(token.text) if not c.isascii()), None)) is not None
    ]
    if errors:
        raise CompileError(errors)
    if not source.tokens:
        raise UsageError("the source contains no code; write a `__global__` function.")


def _line_starts(text: str) -> array[int]:
    """Return the offset of each line of a text that ends with a newline."""
    starts = array("l", [0])
    starts.extend(match.end() for match in re.finditer("\n", text) if match.end() < len(text))
    return starts
