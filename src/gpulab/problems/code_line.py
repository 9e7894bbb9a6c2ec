"""The lines that declare a problem, which messages name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CodeLine"]

IN_INTERFACE = True  # a global variable of the modules that are no part of a declaration


@dataclass(frozen=True)
class CodeLine:
    """A line of the file that declares a problem."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}, line {self.number}"

    @classmethod
    def of_caller(cls) -> CodeLine:
        """Return the innermost line that is executed outside of the modules that declare problems."""
        frame = sys._getframe()  # noqa: SLF001  (the documented way to the caller)
        while frame.f_back is not None and "IN_INTERFACE" in frame.f_globals:
            frame = frame.f_back
        return cls(frame.f_code.co_filename, frame.f_lineno)

    @classmethod
    def of_function(cls, function: Callable[..., Any], otherwise: CodeLine) -> CodeLine:
        """Return the first line of a function, or another line if it is not written in a declaration."""
        code = getattr(function, "__code__", None)
        if code is None or "IN_INTERFACE" in function.__globals__:
            return otherwise
        return cls(code.co_filename, code.co_firstlineno)
