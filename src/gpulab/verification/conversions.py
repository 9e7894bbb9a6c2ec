"""Lines that convert a floating-point number to an integer without saying so, which cuts off its fraction."""

from __future__ import annotations

import re

from gpulab.compiler.messages.nvrtc_log import LINE_DIRECTIVE
from gpulab.compiler.program import Program

__all__ = ["implicit_truncation"]

_TRUNCATION = re.compile(r"\s*cvt\.rzi(\.ftz|\.sat)*\.[su]\d+\.f\d+\s")
# A cast, or a function whose name says that it rounds.
_EXPLICIT = re.compile(
    r"\(\s*(unsigned|signed|int|long|short|char|size_t|u?int\d+_t|uint)\b[\w\s]*\)"
    r"|\b(int|unsigned|long|short|char|size_t|u?int\d+_t|uint|static_cast<[^>]*>)\s*\("
    r"|floor|ceil|round|rint|trunc|modf|fmod|__\w+2u?(int|ll)"
)


def implicit_truncation(program: Program) -> str:
    """Return a question about the first line with such a conversion; "" if there is none."""
    lines, number = program.source.splitlines(), 0
    for text in program.ptx.splitlines():
        if location := LINE_DIRECTIVE.match(text):
            number = int(location[1])
        elif _TRUNCATION.match(text) and 0 < number <= len(lines) and not _EXPLICIT.search(lines[number - 1]):
            return (
                f"line {number} converts a floating-point number to an integer, which cuts off its fraction: "
                "should a variable there be a `float`?"
            )
    return ""
