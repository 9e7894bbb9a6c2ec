"""PTX text as words, and the literals among them."""

from __future__ import annotations

import bisect
import re
import struct
from collections.abc import Iterator

from gpulab.errors import UsageError
from gpulab.simt.ptx.syntax import Imm

__all__ = ["Tokens", "literal"]

_LINE_DIRECTIVE = re.compile(
    r"^[ \t]*\.(?:version|target|address_size|loc|file|section)\b[^\n;]*$", re.MULTILINE
)
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<word>[%.$A-Za-z_][\w$.]*(?:::[\w$.]+)*)
    | (?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|\d+\.\d+(?:[eE][-+]?\d+)?|\d+U?)
    | (?P<mark>[{}()\[\],;:<>=@!|+*/~&^?-])
    )""",
    re.VERBOSE,
)


class Tokens:
    """The words of a text, one after the other. Raises `UsageError` where it cannot be PTX."""

    def __init__(self, text: str) -> None:
        text = _COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else " " + "\n" * m[0].count("\n"), text)
        # A directive that ends with its line gets a semicolon, so that everything is a statement.
        text = _LINE_DIRECTIVE.sub(lambda m: m[0] + ";", text)
        self.ends = [match.start() for match in re.finditer("\n", text)]  # of the lines
        self.tokens: list[str] = []
        self.starts: list[int] = []
        for token, start in self._scan(text):
            self.tokens.append(token)
            self.starts.append(start)
        self.at = 0
        self.numbers: list[int] = []
        self.apart: set[int] = set()  # words that are no part of the text's form: these, and some sizes

    @staticmethod
    def _scan(text: str) -> Iterator[tuple[str, int]]:
        """Each word, and where it begins."""
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise UsageError(f"this is not PTX: cannot read `{text[at : at + 30].strip()}`.")
            token = match[match.lastgroup]  # type: ignore[index]
            start = match.start(match.lastgroup)  # type: ignore[arg-type]
            if token[0] == "." and token.count(".") > 1:  # `.reg.u64`
                yield from (("." + word, start) for word in token[1:].split("."))
            else:
                yield token, start
            at = match.end()

    def row(self) -> int:
        """The line of the text, from 1, that the next word stands in."""
        start = self.starts[self.at] if self.at < len(self.starts) else 0
        return bisect.bisect_left(self.ends, start) + 1

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        got = self.next()
        if got != token:
            raise UsageError(f"this is not PTX: expected `{token}`, found `{got}` near `{self.near()}`.")

    def near(self) -> str:
        return " ".join(self.tokens[max(0, self.at - 8) : self.at + 3])

    def skip_to(self, end: str) -> list[str]:
        """The words up to `end`, which is passed over; the end of the text ends them too."""
        found = []
        while (token := self.next()) not in (end, ""):
            found.append(token)
        return found

    def offset(self) -> tuple[int, list[int]]:
        """`+4`, `-8+4`, or nothing; and which words its numbers are."""
        total, words = 0, []
        while self.peek() in ("+", "-"):
            sign = -1 if self.next() == "-" else 1
            if self.peek() == "-":
                self.next()
                sign = -sign
            words.append(self.at)
            total += sign * int(self.next().rstrip("U"), 0)
        return total, words

    def hoist_constants(self, value: int, words: list[int]) -> int:
        """Keep a number apart from the text's form; its place among the numbers."""
        self.apart.update(words)
        self.numbers.append(value)
        return len(self.numbers) - 1

    def form(self) -> str:
        """The words, but for the numbers that were set apart."""
        return "\n".join("#" if at in self.apart else token for at, token in enumerate(self.tokens))


def literal(token: str) -> Imm:
    """A number; `0f…` and `0d…` name a float by its bits."""
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
