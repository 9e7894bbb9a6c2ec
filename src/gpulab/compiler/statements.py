"""Places of statements in a source: loops, branches, and returns of a kernel.

This is not a C++ parser: what a macro hides is not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpulab.compiler.declarators import closing_bracket
from gpulab.compiler.preprocess.phases import SourceText, Token, read_source
from gpulab.errors import GpulabError

__all__ = [
    "Branch",
    "Loop",
    "end_inside",
    "innermost_branch",
    "innermost_loop",
    "lines_between",
    "loops",
    "return_lines",
    "statement_end",
]


@dataclass(frozen=True)
class Loop:
    """A loop of the source.

    Attributes
    ----------
    first_line, last_line : int
        The lines of its keyword and of its end.
    variable : str
        The variable that a `for` initializes; empty if there is none.
    """

    first_line: int
    last_line: int
    variable: str = ""

    @property
    def text(self) -> str:
        """The loop in a message: `the loop over k`, or `the loop in line 9`."""
        return f"the loop over {self.variable}" if self.variable else f"the loop in line {self.first_line}"


@dataclass(frozen=True)
class Branch:
    """An `if`, with its `else`, or a `switch` of the source: the lines of its keyword and of its end."""

    first_line: int
    last_line: int


def loops(source: str) -> list[Loop]:
    """Return the loops of a source in the order of their first lines; empty if it cannot be read."""
    text, tokens = _read(source)
    found = list(_loops(text, tokens)) if text else []
    return sorted(found, key=lambda loop: (loop.first_line, -loop.last_line))


def innermost_loop(source: str, *lines: int) -> Loop | None:
    """Return the smallest loop that contains all of these lines; None if there is none."""
    around = [loop for loop in loops(source) if all(loop.first_line <= n <= loop.last_line for n in lines)]
    return min(around, key=lambda loop: loop.last_line - loop.first_line, default=None)


def innermost_branch(source: str, line: int) -> Branch | None:
    """Return the smallest `if` or `switch` that contains a line; None if there is none."""
    around = [branch for branch in _branches(source) if branch.first_line <= line <= branch.last_line]
    return min(around, key=lambda branch: branch.last_line - branch.first_line, default=None)


def end_inside(source: str, line: int, loop: Loop) -> int:
    """Return the last line of the largest branch or loop inside a loop that contains a line, or the line."""
    statements: list[Branch | Loop] = [*_branches(source), *loops(source)]
    ends = (
        inner.last_line
        for inner in statements
        if inner != loop and loop.first_line <= inner.first_line <= line <= inner.last_line <= loop.last_line
    )
    return max(ends, default=line)


def lines_between(source: str, early: int, late: int) -> tuple[int, int]:
    """Return the lines between which a statement follows one line and precedes another one.

    It is outside the branches and loops that contain only the earlier line, and outside the branches that
    contain only the later one.
    """
    branches = _branches(source)
    statements: list[Branch | Loop] = [*branches, *loops(source)]
    ends = (s.last_line for s in statements if s.first_line <= early <= s.last_line < late)
    starts = (b.first_line for b in branches if early < b.first_line <= late <= b.last_line)
    return max(ends, default=early), min(starts, default=late)


def return_lines(source: str, before: int) -> list[int]:
    """Return the lines of the `return` statements in the function that contains a line, above that line."""
    text, tokens = _read(source)
    if text is None:
        return []
    start = 0
    depth = 0
    for index, token in enumerate(tokens):
        if text.place_of(token.offset)[0] > before:
            break
        if token.text == "{":
            start = index if depth == 0 else start
            depth += 1
        elif token.text == "}":
            depth -= 1
    lines = (text.place_of(token.offset)[0] for token in tokens[start:] if token.text == "return")
    return sorted({line for line in lines if line < before})


def _read(source: str) -> tuple[SourceText | None, list[Token]]:
    """Return a source and its tokens outside directives; None for PTX or for a text without code."""
    try:
        text = read_source(source)
    except GpulabError:
        return None, []
    return text, [token for token in text.tokens if not token.directive]


def _branches(source: str) -> list[Branch]:
    """Return the branches of a source; empty if it cannot be read."""
    text, tokens = _read(source)
    if text is None:
        return []
    lines = [text.place_of(token.offset)[0] for token in tokens]
    return [
        Branch(lines[index], lines[min(statement_end(tokens, index), len(tokens) - 1)])
        for index, token in enumerate(tokens)
        if token.text in ("if", "switch")
    ]


def _loops(text: SourceText, tokens: Sequence[Token]) -> Iterator[Loop]:
    for index, token in enumerate(tokens):
        if token.kind != "identifier" or token.text not in ("for", "while", "do"):
            continue
        end, variable = statement_end(tokens, index), ""
        if (
            token.text == "while"
            and tokens[min(end, len(tokens) - 1)].text == ";"
            and _is_end_of_do(tokens, index)
        ):
            continue
        if token.text == "for":
            header = tokens[index + 2 : closing_bracket(tokens, index + 1)]
            equals = next((n for n, t in enumerate(header) if t.text in ("=", ";", ":")), 0)
            if equals and header[equals].text != ";" and header[equals - 1].kind == "identifier":
                variable = header[equals - 1].text
        last = tokens[min(end, len(tokens) - 1)]
        yield Loop(text.place_of(token.offset)[0], text.place_of(last.offset)[0], variable)


def _is_end_of_do(tokens: Sequence[Token], index: int) -> bool:
    """Return True if the `while` at an index ends a `do` loop."""
    return any(
        token.text == "do" and _body_end(tokens, start + 1) == index - 1
        for start, token in enumerate(tokens[:index])
    )


def statement_end(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the last token of the statement that begins at `index`."""
    word = tokens[index].text if index < len(tokens) else ""
    if word == "do":
        condition = _body_end(tokens, index + 1) + 2
        return closing_bracket(tokens, condition) + 1
    if word in ("for", "while", "if", "switch"):
        end = _body_end(tokens, closing_bracket(tokens, index + 1) + 1)
        if word == "if" and end + 1 < len(tokens) and tokens[end + 1].text == "else":
            end = _body_end(tokens, end + 2)
        return end
    return _body_end(tokens, index)


def _body_end(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the last token of a block, or of the statement without braces, at `index`."""
    if index >= len(tokens):
        return len(tokens)
    if tokens[index].text == "{":
        return closing_bracket(tokens, index)
    if tokens[index].text in ("for", "while", "if", "switch", "do"):
        return statement_end(tokens, index)
    while index < len(tokens) and tokens[index].text != ";":
        index = closing_bracket(tokens, index) if tokens[index].text in ("(", "[", "{") else index
        index += 1
    return index
