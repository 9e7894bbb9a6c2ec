"""The stub in a released kernel cell: its text, and its detection in a submission."""

from __future__ import annotations

import re

from gpulab.cell import STUB

__all__ = ["answers_stub", "asks_for_answers", "has_stub", "is_untouched", "kernel_stub"]

_ANSWER = re.compile(r"""["']\s*:\s*None\b""")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_EMPTY_LOOP = re.compile(r"\bfor\s*\([^{}]*\)\s*\{\s*\}")
_EMPTY_FUNCTION = re.compile(r"[^{};#]*\{\s*\}")


def kernel_stub(name: str) -> str:
    """Return the lines that replace a kernel's solution.

    `#error` stops the compilation of an unchanged cell with a message. The message is quoted, because the
    preprocessor warns about an apostrophe outside quotes. `is_untouched` detects this text also in notebooks
    that were released earlier, so it must not change.
    """
    return (
        "// YOUR CODE HERE\n"
        f'#error "{name} is not written yet: put your kernel here and delete this #error line."'
    )


def asks_for_answers(source: str) -> bool:
    """Return True if the Python before a solution names answers to fill in, as in `{"sectors": None}`."""
    return _ANSWER.search(source) is not None


def answers_stub() -> str:
    """Return the line that replaces the solution of a cell with answers; it raises nothing."""
    return "# YOUR ANSWER HERE: write your answer in the place of each None."


def has_stub(source: str) -> bool:
    """Return True if a part of the kernel is still to be written, so that it cannot be compiled."""
    return STUB.search(source) is not None


def is_untouched(source: str) -> bool:
    """Return True if the source of a cell, without its header, is the stub as it was released.

    A partly written kernel has several stubs, also in a loop. Comments are ignored. A line of code next to a
    stub makes the cell the student's own.
    """
    rest, stubs = STUB.subn("", source)
    rest = _EMPTY_LOOP.sub("", _COMMENT.sub("", rest)).strip()
    return stubs > 0 and (not rest or _EMPTY_FUNCTION.fullmatch(rest) is not None)
