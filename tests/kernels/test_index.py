"""Tests that the index of the corpus and the headers of its files agree."""

from __future__ import annotations

import re

import pytest

from gpulab.cell import KernelCell, PlainCell
from gpulab.compiler import compile_program
from gpulab.config import check_block, defines
from gpulab.errors import CompileError
from tests.kernels.corpus import FOLDER, CorpusKernel, load

KERNELS = load()
WRONG = [kernel for kernel in KERNELS if kernel.verdict != "right"]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.id)
every_wrong_one = pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.id)


def compiled(kernel: CorpusKernel) -> object:
    header = kernel.cell.header
    macros = defines(header.block, header.tile or (1, 1, 1)) if header.block else None
    return compile_program(kernel.cell.source, defines=macros)


def test_index_has_every_file_once() -> None:
    paths = (path.relative_to(FOLDER) for path in FOLDER.rglob("*.cu"))
    files = sorted(path.as_posix() for path in paths if path.parts[0] != "findings")  # has its own index
    assert sorted(kernel.file for kernel in KERNELS) == files


@every_kernel
def test_verdict_matches_the_folder(kernel: CorpusKernel) -> None:
    assert (kernel.verdict == "right") == (kernel.path.parent.name != "wrong")


@every_kernel
def test_header_names_the_problem_of_the_folder(kernel: CorpusKernel) -> None:
    top = kernel.file.split("/", 1)[0]
    if top == "programs":
        assert isinstance(kernel.cell, PlainCell)
        assert kernel.cell.header.name == kernel.path.stem
    else:
        assert isinstance(kernel.cell, KernelCell)
        assert kernel.cell.header.problem.name == top
        check_block(kernel.cell.header.block)


@every_kernel
def test_second_line_is_a_comment(kernel: CorpusKernel) -> None:
    assert re.match(r"// \S", kernel.comment)


@every_wrong_one
def test_wrong_kernel_names_the_line_of_its_fault(kernel: CorpusKernel) -> None:
    assert kernel.fault_line is not None
    assert kernel.text.split("\n")[kernel.fault_line - 1].strip()


@every_wrong_one
def test_wrong_kernel_has_a_cause_and_a_detection(kernel: CorpusKernel) -> None:
    assert kernel.cause
    assert kernel.detected_by
    assert bool(kernel.tool) == bool(kernel.lines)


@every_kernel
def test_compiler_accepts_the_kernel_or_names_the_line(kernel: CorpusKernel) -> None:
    if kernel.verdict == "compile_error":
        with pytest.raises(CompileError) as refused:
            compiled(kernel)
        assert refused.value.diagnostics[0].line in kernel.lines
    else:
        compiled(kernel)
