"""Kernel cells: the parser of their header, and cells read from .cu files and notebooks.

    %%cuda PROBLEM.VARIANT [--block X [Y [Z]]] [--tile X [Y [Z]]] [--kernel KERNEL]
    %%cuda NAME [--kernel KERNEL]

A .cu file has the same line after `//`. The header is declarative: the magic, the command line and the
grader read it without running the student's code.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gpulab.compiler.program import check_name_expressions
from gpulab.config import KernelConfig, filled
from gpulab.errors import HeaderError, ProblemError, UsageError
from gpulab.problems import Problem
from gpulab.problems import problem as problem_named
from gpulab.problems.base import Block
from gpulab.problems.registry import names_problem_of_lab, open_lab

__all__ = [
    "Cell",
    "Header",
    "KernelCell",
    "PlainCell",
    "PlainHeader",
    "is_kernel_cell",
    "parse_cell",
    "parse_header",
    "read_cells",
    "require_choice",
    "require_kernel_cell",
    "unwritten_lines",
]

FORM = "%%cuda PROBLEM.VARIANT --block X [Y [Z]] --tile X [Y [Z]] --kernel KERNEL, or %%cuda NAME"
LARGEST = 2**31 - 1  # largest number in a header, because kernels index with int

_MARKER = re.compile(r"\s*(//\s*)?%%cuda(?=\s|$)")
# A part of a released kernel that students write; `grading.release.stub` writes this text.
STUB = re.compile(
    r'^[ \t]*// YOUR CODE HERE[ \t]*\n[ \t]*#error "[^"\n]*is not written yet[^"\n]*"[ \t]*$', re.MULTILINE
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class PlainHeader:
    """The header of a cell that belongs to no problem: a name, and the geometry if the line gives one.

    kernel: the `__global__` function that the name refers to; "" if the header does not give it.
    """

    name: str
    block: Block | None = None
    tile: Block | None = None
    kernel: str = ""

    def __str__(self) -> str:
        text = f"%%cuda {self.name}"
        for option, numbers in (("--block", self.block), ("--tile", self.tile)):
            if numbers is not None:
                text += f" {option} {' '.join(map(str, numbers))}"
        return f'{text} --kernel "{self.kernel}"' if self.kernel else text


Header = KernelConfig | PlainHeader


@dataclass(frozen=True)
class Cell:
    """A kernel cell, of a problem (`KernelCell`) or of none (`PlainCell`).

    Attributes
    ----------
    header : KernelConfig or PlainHeader
        The first line, read.
    source : str
        The cell's lines with the header's blanked, so that line numbers agree with the cell.
    origin : str
        Where the cell was read: a file name, and in a notebook the number of the cell.
    """

    header: Header
    source: str
    origin: str = ""

    @property
    def name(self) -> str:
        """The name under which a session keeps the kernel: `PROBLEM.VARIANT`, or the plain name."""
        return self.header.name


@dataclass(frozen=True)
class KernelCell(Cell):
    """A cell with a kernel of a problem."""

    header: KernelConfig

    @property
    def config(self) -> KernelConfig:
        return self.header

    def with_geometry(self, block: tuple[int, ...] = (), tile: tuple[int, ...] = ()) -> KernelCell:
        """Return the cell with another block and tile; missing numbers stay as they are."""
        return replace(self, header=self.header.with_geometry(block, tile))


@dataclass(frozen=True)
class PlainCell(Cell):
    """A cell that belongs to no problem: its kernel is compiled and kept, and there is nothing to verify."""

    header: PlainHeader


def is_kernel_cell(text: str) -> bool:
    """Return True if the first line is the header of a kernel cell, valid or not.

    Empty lines before it are skipped, as IPython does.
    """
    return _MARKER.match(text.lstrip().split("\n", 1)[0]) is not None


def unwritten_lines(source: str) -> tuple[int, ...]:
    """Return the lines of the `#error` directives that mark parts of a kernel to be written."""
    return tuple(source.count("\n", 0, stub.end()) + 1 for stub in STUB.finditer(source))


def parse_header(line: str) -> Header:
    """Return the header in a line, with or without `%%cuda` (IPython passes a magic the rest of the line).

    Raises `HeaderError` for a line that is not a header.
    """
    marker = _MARKER.match(line)
    text = line[marker.end() :] if marker else line
    try:
        tokens = shlex.split(text)
    except ValueError:
        raise HeaderError(
            f"a quote is not closed in `{text.strip()}`; the form of the header is {FORM}."
        ) from None
    if not tokens:
        raise HeaderError(f"the header does not name a kernel; its form is {FORM}.")

    name, *rest = tokens
    if name.startswith("-"):
        raise HeaderError(f"the name comes first, before `{name}`: {FORM}.")

    kernel = _problem_and_variant(name)
    options = _options(rest)
    function = _function_name(options.pop("--kernel", None))
    numbers = {option: _numbers(option, words) for option, words in options.items()}
    block, tile = numbers.get("--block"), numbers.get("--tile")
    if kernel is None:
        # Without --tile, the macros TILE_X to TILE_Z of a cell with --block are 1.
        tiled = filled(tile or ()) if tile or block else None
        return PlainHeader(name, filled(block) if block else None, tiled, function)

    problem, variant = kernel
    return KernelConfig(
        problem,
        variant,
        # Missing numbers of a block are 1; those of a tile are the problem's, where 0 means a loop.
        filled(block) if block else problem.block_of(variant),
        filled(tile or (), problem.default_tile),
        function,
    )


def parse_cell(text: str, origin: str = "") -> Cell:
    """Return the kernel cell in a text, whose first line is the header, with or without `//`."""
    if not is_kernel_cell(text):
        where = f"{origin}: " if origin else ""
        raise HeaderError(
            f"{where}the first line is not a kernel cell's header, {FORM} (in a .cu file after //)."
        )

    lines = text.split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip())
    try:
        header = parse_header(lines[first])
    except HeaderError as error:
        raise HeaderError(f"{origin}: {error}" if origin else str(error)) from None
    if not lines[first].lstrip().startswith("//"):  # a comment may stay, because the compiler skips it
        lines[first] = ""
    source = "\n".join(lines)
    if isinstance(header, PlainHeader):
        return PlainCell(header, source, origin)
    return KernelCell(header, source, origin)


def require_kernel_cell(cell: Cell) -> KernelCell:
    """Return the cell if it belongs to a problem; raise `UsageError` otherwise."""
    if isinstance(cell, KernelCell):
        return cell
    where = f"{cell.origin}: " if cell.origin else ""
    raise UsageError(
        f"{where}`{cell.name}` belongs to no problem, so its arguments and its reference are unknown. "
        "The header must name PROBLEM.VARIANT."
    )


def require_choice(cell: Cell, names: Sequence[str]) -> None:
    """Raise `UsageError` if a cell has several kernels, and its header does not say which one it means.

    names: the kernels of the cell.
    """
    if isinstance(cell, KernelCell) or cell.header.kernel or len(names) < 2 or cell.name in names:
        return
    calls = " or ".join(f'gpulab.kernel("{name}")' for name in names)
    raise UsageError(
        f"the cell `{cell.name}` has {len(names)} kernels: take one by its name, {calls}, or name one in the "
        f"header, --kernel {names[0]}."
    )


def read_cells(path: str | Path) -> list[Cell]:
    """Return the kernel cells of a notebook, in order, or the one of a .cu file.

    A header may name a problem of the file `problem.py` in the same folder.

    Raises `UsageError` for a file that cannot be read, a notebook without kernel cells and a .cu file
    without a header.
    """
    path = Path(path)
    if path.suffix not in {".cu", ".ipynb"}:
        raise UsageError(f"{path} is neither a .cu file nor an .ipynb notebook.")
    text = _read(path)
    open_lab(path.parent)
    if path.suffix == ".cu":
        return [parse_cell(text, path.name)]
    cells = [
        parse_cell(source, f"{path.name}, cell {number}")
        for number, source in enumerate(_notebook_sources(text, path), 1)
        if is_kernel_cell(source)
    ]
    if not cells:
        raise UsageError(f"{path}: no cell of this notebook starts with %%cuda; there is nothing to run.")
    return cells


def _read(path: Path) -> str:
    try:
        # utf-8-sig drops an editor's byte order mark, which would hide the header.
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a directory; give a .cu file or an .ipynb notebook.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text. Is it a .cu file or a notebook?") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be read: {reason}.") from None


def _notebook_sources(text: str, path: Path) -> list[str]:
    """Return the texts of all cells in order, "" for cells that are not code."""
    try:
        notebook: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is not a notebook: it is not JSON.") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        old = isinstance(notebook, dict) and "worksheets" in notebook
        reason = "its format is older than 4; save it in JupyterLab" if old else "it has no list of cells"
        raise UsageError(f"{path} cannot be read as a notebook: {reason}.")
    return [_source(cell) for cell in cells]


def _source(cell: Any) -> str:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return ""
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source.replace("\r\n", "\n") if isinstance(source, str) else ""


def _problem_and_variant(name: str) -> tuple[Problem, str] | None:
    """Return the problem and the variant of a name with a dot; None for a name without one."""
    problem_name, dot, variant = name.partition(".")
    if not dot:
        if names_problem_of_lab(name):
            first = next(iter(problem_named(name).variants))
            raise HeaderError(
                f"`{name}` is a problem; add the variant, as in {name}.{first} ({_variants(name)})."
            )
        if not _IDENTIFIER.fullmatch(name):
            raise HeaderError(
                f"`{name}` is not a valid name: use letters, digits and _ only. The header is {FORM}."
            )
        return None

    try:
        problem = problem_named(problem_name)
    except ProblemError:
        raise
    except UsageError as error:
        raise HeaderError(f"{error} The name of a kernel that belongs to no problem has no dot.") from None
    if variant not in problem.variants:
        raise HeaderError(f"{problem_name} has no variant `{variant}`; it has: {_variants(problem_name)}.")
    return problem.of_step(variant), variant


def _variants(problem_name: str) -> str:
    return ", ".join(problem_named(problem_name).variants)


def _options(words: list[str]) -> dict[str, Sequence[str]]:
    """Return the words after `--block`, `--tile` and `--kernel`."""
    options: dict[str, Sequence[str]] = {}
    position = 0
    while position < len(words):
        option = words[position]
        if option not in ("--block", "--tile", "--kernel"):
            raise HeaderError(_unknown_option(option))
        if option in options:
            raise HeaderError(f"the header has {option} twice; give it once.")
        end = position + 1
        while end < len(words) and not words[end].startswith("--"):
            end += 1
        options[option] = words[position + 1 : end]
        position = end
    return options


def _unknown_option(option: str) -> str:
    """Return the message for a word that is no option of the header."""
    name, sign, _ = option.partition("=")
    numbers = re.findall(r"[0-9]+", option)
    if sign and name in ("--block", "--tile") and numbers:
        return f"`{option}` is not valid: write spaces, as in {name} {' '.join(numbers[:3])}."
    close = get_close_matches(name, ("--block", "--tile", "--kernel"), 1)
    meant = f" Do you mean {close[0]}?" if close else ""
    return f"the header has no option `{option}`; its form is {FORM}.{meant}"


def _function_name(words: Sequence[str] | None) -> str:
    """Return the kernel that `--kernel` names; "" if the header does not have the option."""
    if words is None:
        return ""
    if len(words) != 1:
        raise HeaderError(
            '--kernel takes one name; write an instance of a template in quotes: "k<float, 8>".'
        )
    try:
        return check_name_expressions(words)[0]
    except UsageError as error:
        raise HeaderError(f"--kernel: {error}") from None


def _numbers(option: str, words: Sequence[str]) -> tuple[int, ...]:
    """Return the one to three numbers of an option; raise `HeaderError` for anything else."""
    allowed = "integers of at least 1" if option == "--block" else "integers; 0 stands for the whole axis"
    if not 1 <= len(words) <= 3:
        raise HeaderError(f"{option} has {len(words)} numbers; it takes one to three: {option} X [Y [Z]].")
    for word in words:
        if not re.fullmatch(r"[0-9]{1,10}", word) or int(word) > LARGEST:
            example = " ".join(re.findall(r"\d+", word)[:3])
            advice = f" Write spaces between them: {option} {example}." if " " in example else ""
            raise HeaderError(f"`{word}` is not valid for {option}, which takes {allowed}.{advice}")
        if option == "--block" and int(word) == 0:
            raise HeaderError(f"--block {' '.join(words)} contains 0; it takes {allowed}.")
    return tuple(int(word) for word in words)
