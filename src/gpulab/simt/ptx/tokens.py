"""Tokens of a PTX text, and the values of literals."""

from __future__ import annotations

import re
import struct

from gpulab.errors import UsageError
from gpulab.simt.ptx.syntax import Imm

__all__ = ["Tokens", "literal"]

_LINE_DIRECTIVE = re.compile(
    r"^[ \t]*\.(?:version|target|address_size|loc|file|section)\b[^\n;]*$", re.MULTILINE
)
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOKEN = re.compile(
    r"""[ \t\r\n]*(
      "(?:[^"\\]|\\.)*"                        # a string
    | [%.$A-Za-z_][\w$.]*(?:::[\w$.]+)*       # a word
    | 0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|\d+\.\d+(?:[eE][-+]?\d+)?|\d+U?
    | [{}()\[\],;:<>=@!|+*/~&^?-]
    | \S                                      # unexpected
    )""",
    re.VERBOSE,
)
_START = re.compile(r"[%.$A-Za-z_\d{}()\[\],;:<>=@!|+*/~&^?-]")  # the first character of a token but a string


class Tokens:
    """A stream of tokens. Raises `UsageError` if the text is not PTX.

    Attributes
    ----------
    tokens : list of str
        The tokens.
    at : int
        Index of the next token.
    constants : list of int
        Constants that can be hoisted (see `gpulab.simt.analysis.specialization`).
    """

    def __init__(self, text: str) -> None:
        text = _COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else " " + "\n" * m[0].count("\n"), text)
        # A directive that ends with its line gets a semicolon, so that everything is a statement.
        text = _LINE_DIRECTIVE.sub(lambda m: m[0] + ";", text)
        self.tokens: list[str] = []
        self.rows: list[int] = []  # lines of the text, from 1, in which the tokens are
        self._scan(text)
        self.at = 0
        self.constants: list[int] = []
        self.excluded: set[int] = set()  # tokens outside the template: the constants, and some sizes

    def _scan(self, text: str) -> None:
        """Append the tokens of the text and their lines."""
        for row, line in enumerate(text.split("\n"), 1):
            found = _TOKEN.findall(line)
            self.tokens += found
            self.rows += [row] * len(found)

        kinds = set(self.tokens)
        if unexpected := {token for token in kinds if len(token) == 1 and not _START.match(token)}:
            at = next(match.start() for match in _TOKEN.finditer(text) if match[1] in unexpected)
            raise UsageError(f"invalid PTX: unexpected text `{text[at : at + 30].strip()}`.")
        if any(token[0] == "." and token.count(".") > 1 for token in kinds):  # `.reg.u64`
            words = [
                ["." + word for word in token[1:].split(".")] if token[0] == "." else [token]
                for token in self.tokens
            ]
            self.rows = [row for row, parts in zip(self.rows, words, strict=True) for _ in parts]
            self.tokens = [part for parts in words for part in parts]

    def row(self) -> int:
        """Return the line of the text, from 1, in which the next token is."""
        return self.rows[self.at] if self.at < len(self.rows) else 1

    def peek(self) -> str:
        """Return the next token without consuming it; "" at the end."""
        try:
            return self.tokens[self.at]
        except IndexError:
            return ""

    def next(self) -> str:
        """Consume the next token."""
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        """Consume the next token if it is `token`."""
        is_next = self.peek() == token
        self.at += is_next
        return is_next

    def expect(self, token: str) -> None:
        """Consume `token`; raise `UsageError` if the next token is another one."""
        actual = self.next()
        if actual != token:
            raise UsageError(f"invalid PTX: expected `{token}`, found `{actual}` near `{self.near()}`.")

    def near(self) -> str:
        """Return the text around the next token, for messages."""
        return " ".join(self.tokens[max(0, self.at - 8) : self.at + 3])

    def skip_to(self, end: str) -> list[str]:
        """Consume tokens up to and including `end`, or to the end of the text; return those before it."""
        skipped = []
        while (token := self.next()) not in (end, ""):
            skipped.append(token)
        return skipped

    def offset(self) -> tuple[int, list[int]]:
        """Consume an offset such as `+4`, `-8+4` or nothing; return it and the indices of its numbers."""
        total, indices = 0, []
        while self.peek() in ("+", "-"):
            sign = -1 if self.next() == "-" else 1
            if self.peek() == "-":
                self.next()
                sign = -sign
            indices.append(self.at)
            total += sign * int(self.next().rstrip("U"), 0)
        return total, indices

    def add_constant(self, value: int, indices: list[int]) -> int:
        """Add a constant, written in the tokens `indices`; return its index among the constants."""
        self.excluded.update(indices)
        self.constants.append(value)
        return len(self.constants) - 1

    def template(self) -> str:
        """Return the text without the excluded tokens."""
        return "\n".join("#" if at in self.excluded else token for at, token in enumerate(self.tokens))


def literal(token: str) -> Imm:
    """Return the value of a numeric token; `0f…` and `0d…` give the bits of a float."""
    body = token.lstrip("-")
    if body[:2] in ("0f", "0F") and len(body) == 10:
        bits = int(body.removeprefix(body[:2]), base=16)
        return Imm(struct.unpack("<f", struct.pack("<I", bits))[0], bits)
    if body[:2] in ("0d", "0D") and len(body) == 18:
        bits = int(body.removeprefix(body[:2]), base=16)
        return Imm(struct.unpack("<d", struct.pack("<Q", bits))[0], bits)
    sign = -1 if token.startswith("-") else 1
    if "." in body:
        return Imm(sign * float(body))
    body = body.rstrip("U")
    if len(body) > 1 and body[0] == "0" and body[1] in "01234567":
        return Imm(sign * int(body, base=8))
    return Imm(sign * int(body, base=0))
