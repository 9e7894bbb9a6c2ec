"""Every error gpulab raises on purpose.

    GpulabError
    ├── UsageError              asked for something that cannot be: says what is allowed      (CLI: exit 2)
    │   └── HeaderError         a kernel cell's `%%cuda` header does not parse
    ├── CompileError            the compiler refused the text; carries diagnostics            (CLI: exit 1)
    │   └── IncludeRefused      an #include outside the allow-list; nothing was read
    ├── UnsupportedInstruction  the simulator does not know an instruction; names it and its line
    ├── LaunchError             a launch that could not be made, or that did not end well
    │   └── MemoryFault         a thread touched memory that is not its own
    └── WrongResult             a kernel ran and its values are wrong; carries the verdict

Messages speak to the person who wrote the kernel: what is wrong, where, what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpulab.finding import Finding

__all__ = [
    "CompileError",
    "Diagnostic",
    "GpulabError",
    "HeaderError",
    "IncludeRefused",
    "LaunchError",
    "MemoryFault",
    "UnsupportedInstruction",
    "UsageError",
    "WrongResult",
]


class GpulabError(Exception):
    """Base of all errors that gpulab raises on purpose."""


class UsageError(GpulabError):
    """Something was asked for that cannot be; the message says what is allowed."""


class HeaderError(UsageError):
    """The `%%cuda` line of a kernel cell does not parse."""


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler about one place in the student's text.

    `line` and `column` count from 1 in the text that was given to `compile` (in a cell, the
    `%%cuda` line is line 1); 0 means that the compiler named no place.
    """

    line: int
    column: int
    severity: str  # "error" or "warning"
    message: str
    source_line: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        text = f"{where}{self.severity}: {self.message}"
        if self.source_line:
            text += f"\n    {self.source_line}"
            if self.column:
                # Tabs stay tabs, so that the caret stands under its character.
                pad = "".join(c if c == "\t" else " " for c in self.source_line[: self.column - 1])
                text += f"\n    {pad}^"
        return text


class CompileError(GpulabError):
    """The compiler refused the text. `diagnostics` is a list of `Diagnostic`."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


class IncludeRefused(CompileError):
    """The text includes a file that is not on the allow-list; the compiler never saw it."""


class UnsupportedInstruction(GpulabError):
    """The simulator does not execute this instruction (tensor cores, textures, …)."""

    def __init__(self, instruction: str, line: int = 0, why: str = "") -> None:
        self.instruction = instruction
        self.line = line
        where = f"line {line}: " if line else ""
        super().__init__(
            f"{where}the simulator does not execute `{instruction}`"
            + (f" ({why})" if why else "")
            + "; it runs on a CUDA GPU only."
        )


class LaunchError(GpulabError):
    """A launch could not be made, or a kernel did not end as it should.

    `findings` says what happened and where; it is empty when the launch itself was refused.
    """

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        self.findings = list(findings)
        super().__init__(message)


class MemoryFault(LaunchError):
    """A thread read or wrote memory outside every array, misaligned, or already freed."""


class WrongResult(GpulabError):
    """A kernel ran to its end and its values are wrong. `verdict` holds the evidence."""

    def __init__(self, message: str, verdict: Any = None) -> None:
        self.verdict = verdict
        super().__init__(message)
