"""The corpus of kernels: right ones, wrong ones with one planted fault each, and plain programs.

`load()` reads `corpus.toml`, which says what its fields mean.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from gpulab.cell import Cell, parse_cell

__all__ = ["FOLDER", "CorpusKernel", "load", "program"]

FOLDER = Path(__file__).parent
_FAULT = re.compile(r"// Fault, line (\d+): ")


@dataclass(frozen=True)
class CorpusKernel:
    """One `.cu` file of the corpus and what is known of it; the fields are those of `corpus.toml`."""

    file: str
    verdict: str
    values: str | None = None
    cause: str | None = None
    told_by: str | None = None
    tool: str | None = None
    lines: tuple[int, ...] = ()
    hangs: bool = False

    @property
    def id(self) -> str:
        """A short name for pytest: `stencil/right/naive_macros`."""
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
    def says(self) -> str:
        """The file's second line: what the kernel does, or which fault it has."""
        return self.text.split("\n")[1]

    @property
    def fault_line(self) -> int | None:
        """Where the planted fault sits, as the second line says; None for a right kernel."""
        found = _FAULT.match(self.says)
        return int(found[1]) if found else None


def load(folder: str = "") -> list[CorpusKernel]:
    """The corpus in the index's order; `folder` limits it, as in `load("stencil/right")`."""
    index = tomllib.loads((FOLDER / "corpus.toml").read_text(encoding="utf-8"))
    kernels = [CorpusKernel(**{**row, "lines": tuple(row.get("lines", ()))}) for row in index["kernel"]]
    return [kernel for kernel in kernels if kernel.file.startswith(folder)]


def program(name: str) -> str:
    """The text of one of the plain programs, by the name of its file."""
    return (FOLDER / "programs" / f"{name}.cu").read_text(encoding="utf-8")
