"""The corpus of kernels: right kernels, wrong kernels with one planted fault each, and plain programs.

`load()` reads `corpus.toml`, which describes its fields.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from gpulab.cell import Cell, parse_cell

__all__ = ["FOLDER", "CorpusKernel", "fault_line", "load", "program"]

FOLDER = Path(__file__).parent
_FAULT = re.compile(r"// Fault, line (\d+): ")


@dataclass(frozen=True)
class CorpusKernel:
    """One `.cu` file of the corpus with its entry in the index; the fields are those of `corpus.toml`."""

    file: str
    verdict: str
    values: str | None = None
    cause: str | None = None
    detected_by: str | None = None
    tool: str | None = None
    lines: tuple[int, ...] = ()
    hangs: bool = False

    @property
    def id(self) -> str:
        """The name for pytest, such as `stencil/right/naive_macros`."""
        return self.file.removesuffix(".cu")

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def cell(self) -> Cell:
        return parse_cell(self.text, self.path.name)

    @property
    def comment(self) -> str:
        """The second line of the file, which describes the kernel or its fault."""
        return self.text.split("\n")[1]

    @property
    def fault_line(self) -> int | None:
        """The line of the planted fault according to the second line; None for a right kernel."""
        return fault_line(self.comment)


def fault_line(comment: str) -> int | None:
    """Return the line of the planted fault that a comment names; None if it names none."""
    match = _FAULT.match(comment)
    return int(match[1]) if match else None


def load(folder: str = "") -> list[CorpusKernel]:
    """Return the kernels of a folder, such as `stencil/right`, in the order of the index; all by default."""
    index = tomllib.loads((FOLDER / "corpus.toml").read_text(encoding="utf-8"))
    kernels = [CorpusKernel(**{**row, "lines": tuple(row.get("lines", ()))}) for row in index["kernel"]]
    return [kernel for kernel in kernels if kernel.file.startswith(folder)]


def program(name: str) -> str:
    """Return the text of a plain program by the name of its file."""
    return (FOLDER / "programs" / f"{name}.cu").read_text(encoding="utf-8")
