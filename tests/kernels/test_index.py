"""Tests that the index of the corpus and the headers of its files agree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulab.cell import KernelCell, PlainCell
from gpulab.compiler import compile_program
from gpulab.config import check_block, defines
from gpulab.errors import CompileError, UsageError
from tests.kernels.corpus import FOLDER, CorpusKernel, load

KERNELS = load()


def test_index_has_every_file_once() -> None:
    paths = (path.relative_to(FOLDER) for path in FOLDER.rglob("*.cu"))
    files = sorted(path.as_posix() for path in paths if path.parts[0] != "findings")  # has its own index
    assert sorted(kernel.file for kernel in KERNELS) == files


def test_files_agree_with_the_index() -> None:
    assert [f"{kernel.id}: {fault}" for kernel in KERNELS for fault in _faults(kernel)] == []


def _faults(kernel: CorpusKernel) -> Iterator[str]:
    """Yield where a file disagrees with its row of the index."""
    if not re.match(r"// \S", kernel.comment):
        yield "its second line is not a comment"
    if (kernel.verdict == "right") != (kernel.path.parent.name != "wrong"):
        yield "its folder contradicts its verdict"
    yield from _header_faults(kernel)

    if kernel.verdict != "right":
        if kernel.fault_line is None or not kernel.text.split("\n")[kernel.fault_line - 1].strip():
            yield "its comment does not name the line of the fault"
        if not kernel.cause or not kernel.detected_by:
            yield "it has no cause or no detection"
        if bool(kernel.tool) != bool(kernel.lines):
            yield "it has a tool without lines, or lines without a tool"


def _header_faults(kernel: CorpusKernel) -> Iterator[str]:
    folder, cell = kernel.file.split("/", 1)[0], kernel.cell
    if folder == "programs":
        if not isinstance(cell, PlainCell) or cell.header.name != kernel.path.stem:
            yield "its header does not name the program"
    elif not isinstance(cell, KernelCell) or cell.header.problem.name != folder:
        yield "its header does not name the problem of its folder"
    else:
        try:
            check_block(cell.header.block)
        except UsageError as error:
            yield str(error)


def test_compiler_accepts_programs() -> None:
    """The check of a kernel of a problem compiles it too (see `tests/verification/test_corpus.py`)."""
    errors = {kernel.id: _compile_error(kernel) for kernel in load("programs/")}
    assert errors
    assert {name: error for name, error in errors.items() if error} == {}


def _compile_error(kernel: CorpusKernel) -> str:
    header = kernel.cell.header
    macros = defines(header.block, header.tile or (1, 1, 1)) if header.block else None
    try:
        compile_program(kernel.cell.source, defines=macros)
    except CompileError as error:
        return str(error)
    return ""
