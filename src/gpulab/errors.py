"""The exceptions of gpulab.

    GpulabError
    ├── UsageError              a request that cannot be fulfilled; the message lists what is allowed (exit 2)
    │   ├── HeaderError         the header of a kernel cell does not parse
    │   └── ProblemError        the declaration of a problem is not usable
    ├── CompileError            the source does not compile; carries diagnostics                      (exit 1)
    │   ├── IncludeRefused      an `#include` outside the allow-list; no file was read
    │   └── KernelNotWritten    parts of a lab's kernel are still to be written; it was not compiled
    ├── UnsupportedInstruction  the simulator does not implement an instruction
    ├── LaunchError             a launch was refused or failed; carries findings
    │   └── MemoryFault         a thread accessed memory outside every live array, or misaligned
    └── WrongResult             a kernel computed wrong values; carries the verdict

    LaunchWarning (a RuntimeWarning): a launch did what GPUs accept and CUDA does not

The exit codes are those of `gpulab check`. A message states the problem, the place (line, block, thread) and
the next step.
"""

from __future__ import annotations

import re
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
    "KernelNotWritten",
    "LaunchError",
    "LaunchWarning",
    "MemoryFault",
    "ProblemError",
    "UnsupportedInstruction",
    "UsageError",
    "WrongResult",
    "as_sentence",
    "first_sentence",
]

_SENTENCE_END = re.compile(r"(?<=[.?!]) +(?=[A-Z])")


def first_sentence(text: str) -> str:
    """Return the first sentence of a message, which says what is wrong and where.

    Examples
    --------
    >>> from gpulab.errors import first_sentence
    >>> first_sentence("line 9: a barrier is missing. Add a __syncthreads() after line 9.")
    'line 9: a barrier is missing.'
    """
    return _SENTENCE_END.split(text.partition("\n")[0], maxsplit=1)[0]


def as_sentence(text: str) -> str:
    """Return a text with a capital letter, unless it begins with the name of an array, such as `b`.

    Examples
    --------
    >>> from gpulab.errors import as_sentence
    >>> as_sentence("a barrier is missing."), as_sentence("b is read by rows.")
    ('A barrier is missing.', 'b is read by rows.')
    """
    is_name = text[1:2] == " " and text[:1] != "a"
    return text if is_name else text[:1].upper() + text[1:]


class GpulabError(Exception):
    """Base class of all exceptions that gpulab raises deliberately.

    Examples
    --------
    >>> import gpulab
    >>> try:
    ...     gpulab.gpu("voodoo2")
    ... except gpulab.GpulabError as error:
    ...     print(type(error).__name__)
    UsageError
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, unpickling calls the class with `args`, which are not the parameters of every class.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[GpulabError], args: tuple[Any, ...], attributes: dict[str, Any]) -> GpulabError:
    """Return the error that was pickled."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class UsageError(GpulabError):
    """A request that cannot be fulfilled; the message lists what is allowed.

    Examples
    --------
    >>> import gpulab
    >>> try:
    ...     gpulab.device("sim:voodoo2")
    ... except gpulab.UsageError as error:
    ...     print("h200" in str(error))  # the message lists the GPUs of the catalogue
    True
    """


class HeaderError(UsageError):
    """The header of a kernel cell (`%%cuda PROBLEM.VARIANT --block …`) does not parse.

    Examples
    --------
    >>> import gpulab
    >>> from gpulab.cell import parse_header
    >>> try:
    ...     parse_header("%%cuda stencil.opt_9")
    ... except gpulab.HeaderError as error:
    ...     print("opt_1" in str(error))  # the message lists the variants
    True
    """


class ProblemError(UsageError):
    """The declaration of a problem is not usable; the message names its line.

    Examples
    --------
    >>> import gpulab
    >>> try:
    ...     gpulab.problems.Size(64, smallest=128)
    ... except gpulab.ProblemError as error:
    ...     print("smallest <= timed" in str(error))
    True
    """


@dataclass(frozen=True)
class Diagnostic:
    """A message of the compiler about one place in a source.

    Attributes
    ----------
    line, column : int
        The place, counted from 1 in the text that was passed to `compile`; 0 if the compiler named none. In
        a notebook cell, the `%%cuda` line is line 1.
    severity : str
        "error" or "warning".
    message : str
        The message, without a place.
    source_line : str
        The line of the source, or "" if unknown. `str(diagnostic)` shows it with a caret below the column.

    Examples
    --------
    >>> import gpulab
    >>> try:
    ...     gpulab.device("sim").compile("__global__ void k(float* x) { x[0] = y; }")
    ... except gpulab.CompileError as error:
    ...     print(error.diagnostics[0])
    line 1: error: identifier "y" is undefined
        __global__ void k(float* x) { x[0] = y; }
                                             ^
    """

    line: int
    column: int
    severity: str
    message: str
    source_line: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        text = f"{place}{self.severity}: {self.message}"
        if self.source_line:
            text += f"\n    {self.source_line}"
            if self.column:
                # Tabs are kept in the padding so that the caret is aligned with its character.
                pad = "".join(c if c == "\t" else " " for c in self.source_line[: self.column - 1])
                text += f"\n    {pad}^"
        return text


class CompileError(GpulabError):
    """The source does not compile.

    Attributes
    ----------
    diagnostics : list of Diagnostic
        The compiler's errors, with lines and columns of the source.

    Examples
    --------
    >>> import gpulab
    >>> try:
    ...     gpulab.device("sim").compile("__global__ void k(float* x) { x[0] = y; }")
    ... except gpulab.CompileError as error:
    ...     print(error.diagnostics[0].line, error.diagnostics[0].column)
    1 38
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


class IncludeRefused(CompileError):
    """The source includes a file that is not on the allow-list; the compiler did not run.

    Examples
    --------
    >>> import gpulab
    >>> try:
    ...     gpulab.device("sim").compile('#include "/etc/passwd"')
    ... except gpulab.IncludeRefused as error:
    ...     print(error.diagnostics[0].line)
    1
    """


class KernelNotWritten(CompileError):
    """Parts of a lab's kernel are still to be written; the compiler did not run.

    Examples
    --------
    >>> import gpulab
    >>> print(gpulab.KernelNotWritten("matmul.K1", (7, 10)))
    matmul.K1 is not written yet: replace the #error lines 7 and 10 by your code.
    """

    def __init__(self, name: str, lines: Sequence[int]) -> None:
        *first, last = map(str, lines)
        where = f"lines {', '.join(first)} and {last}" if first else f"line {last}"
        message = f"{name} is not written yet: replace the #error {where} by your code."
        super().__init__([Diagnostic(lines[0], 0, "error", message)])
        self.args = (message,)


class UnsupportedInstruction(GpulabError):
    """The simulator does not implement a PTX instruction of the kernel (`wgmma`, `tld4`, …).

    Attributes
    ----------
    instruction : str
        The PTX instruction.
    line : int
        Its line in the source, from 1; 0 if unknown.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> try:
    ...     dev.compile("__global__ void k(float* x) { x[0] = tex2Dgather<float4>(0ull, 0, 0).x; }")
    ... except gpulab.UnsupportedInstruction as error:
    ...     print(error.instruction, error.line)
    tld4.r.2d.v4.f32.f32 1
    """

    def __init__(self, instruction: str, line: int = 0, why: str = "") -> None:
        self.instruction = instruction
        self.line = line
        place = f"line {line}: " if line else ""
        reason = f" ({why})" if why else ""
        super().__init__(
            f"{place}the simulator does not execute `{instruction}`{reason}; run the kernel on a CUDA GPU."
        )


class LaunchError(GpulabError):
    """A launch was refused, or the kernel failed while it ran.

    Attributes
    ----------
    findings : list of gpulab.Finding
        What failed and where; empty if the launch was refused before the kernel ran.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> kernel = dev.compile("__global__ void k() { __trap(); }")
    >>> try:
    ...     kernel(1, 32, ())
    ... except gpulab.LaunchError as error:
    ...     print(error.findings[0].line, error.findings[0].block)
    1 (0, 0, 0)
    """

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        self.findings = list(findings)
        super().__init__(message)


class LaunchWarning(RuntimeWarning):
    """A launch did what GPUs accept and the CUDA programming model does not.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> kernel = dev.compile('''__global__ void k() {
    ...     if (threadIdx.x < 32)
    ...         __syncthreads();
    ...     else
    ...         __syncthreads();
    ... }''')
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as shown:
    ...     warnings.simplefilter("always")
    ...     kernel(1, 64, ())
    >>> shown[0].category.__name__
    'LaunchWarning'
    """


class MemoryFault(LaunchError):
    """A thread accessed memory outside every array, a freed array, or a misaligned address.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> kernel = dev.compile("__global__ void k(float* x) { x[threadIdx.x] = 0; }")
    >>> try:
    ...     kernel(1, 32, (dev.zeros(31),))
    ... except gpulab.MemoryFault as fault:
    ...     print(fault.findings[0].kind, fault.findings[0].thread)
    out_of_bounds_write (31, 0, 0)
    """


class WrongResult(GpulabError):
    """A kernel ran to completion and computed wrong values.

    Attributes
    ----------
    verdict : gpulab.verification.verdict.Verdict or None
        The comparison with the reference, for each array size that was checked.

    Examples
    --------
    A kernel cell with wrong values raises it, and so can a check of your own:

    >>> import gpulab
    >>> raise gpulab.WrongResult("n = 32: y[0] is 0, and should be 1.")
    Traceback (most recent call last):
    ...
    gpulab.errors.WrongResult: n = 32: y[0] is 0, and should be 1.
    """

    def __init__(self, message: str, verdict: Any = None) -> None:
        self.verdict = verdict
        super().__init__(message)
