"""The stub that stands in a released kernel cell: how it is written, and how it is known again."""

from __future__ import annotations

import re

__all__ = ["answers_stub", "asks_for_answers", "is_untouched", "kernel_stub"]

_STUB = re.compile(
    r'^[ \t]*// YOUR CODE HERE[ \t]*\n[ \t]*#error "[^"\n]*is not written yet[^"\n]*"[ \t]*$', re.MULTILINE
)
_ANSWER = re.compile(r"""["']\s*:\s*None\b""")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_EMPTY_FUNCTION = re.compile(r"[^{};#]*\{\s*\}")


def kernel_stub(name: str) -> str:
    """What a student finds in the place of a kernel's solution.

    `#error` makes the unsolved cell fail in the compiler, with words that say what to do; its text is
    quoted, since an apostrophe outside quotes would make the preprocessor complain.
    """
    return (
        "// YOUR CODE HERE\n"
        f'#error "{name} is not written yet: put your kernel here and delete this #error line."'
    )


def asks_for_answers(given: str) -> bool:
    """Whether a Python cell's text in front of its solution names answers: `{"sectors": None}`."""
    return _ANSWER.search(given) is not None


def answers_stub() -> str:
    """What a student finds below the names of the answers. The test cell says what is open."""
    return "# YOUR ANSWER HERE: write a number in the place of each None."


def is_untouched(source: str) -> bool:
    """Whether a cell's text, without its header, is the stub as it was released.

    Comments do not count. One line of code beside the stub makes the cell its author's.
    """
    rest, stubs = _STUB.subn("", source)
    rest = _COMMENT.sub("", rest).strip()
    return stubs == 1 and (not rest or _EMPTY_FUNCTION.fullmatch(rest) is not None)
