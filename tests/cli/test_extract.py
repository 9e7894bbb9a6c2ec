"""`gpulab extract`: cells on stdout or in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpulab.cell import parse_cell, read_cells
from gpulab.cli import main

PROGRAM = """\
#include "gone.h"
#include <vector>
__global__ void matmul(float* x) { x[0] = 1; }
__global__ void scale(float* x) { x[0] = 2; }
int main() { scale<<<1, 1>>>(0); }
"""


def test_extract_prints_cells_and_names_headers_that_were_not_found(cu: Any, capsys: Any) -> None:
    assert main(["extract", cu(PROGRAM)]) == 0
    printed = capsys.readouterr()
    texts = printed.out.split("\n%%cuda")
    assert parse_cell(texts[0]).name == "matmul_kernel"  # `matmul` alone is a problem of the labs
    assert parse_cell("%%cuda" + texts[1]).name == "scale"
    assert "main" not in printed.out
    assert "gone.h" in printed.err
    assert "vector" not in printed.err


def test_extract_names_the_instance_of_a_template(cu: Any, capsys: Any) -> None:
    text = "template <int N> __global__ void t(int* x) { *x = N; }\nint main() { t<8><<<1, 1>>>(0); }\n"
    assert main(["extract", cu(text)]) == 0
    header = parse_cell(capsys.readouterr().out).header
    assert (header.name, header.kernel) == ("t", "t<8>")


def test_extract_writes_a_notebook_and_keeps_an_existing_one(cu: Any, tmp_path: Path, capsys: Any) -> None:
    notebook = tmp_path / "out.ipynb"
    assert main(["extract", cu(PROGRAM), "--notebook", str(notebook)]) == 0
    assert [cell.name for cell in read_cells(notebook)] == ["matmul_kernel", "scale"]
    assert main(["extract", cu(PROGRAM), "--notebook", str(notebook)]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize("include", ['"part.cuh"', "<part.cuh>"])
def test_extract_reads_a_file_as_a_program_includes_it(include: str, cu: Any, capsys: Any) -> None:
    cu(f"#define SIZE 64\n#include {include}\n__global__ void other() {{}}\nint main() {{}}\n", "program.cu")
    assert main(["extract", cu("__global__ void k(int* x) { x[0] = SIZE; }\n", "part.cuh")]) == 0
    text, notes = capsys.readouterr()
    assert text == "%%cuda k\n#define SIZE 64\n__global__ void k(int* x) { x[0] = SIZE; }\n"
    assert "program.cu" in notes


def test_extract_follows_programs_that_include_one_another(cu: Any, capsys: Any) -> None:
    cu('#define SIZE 64\n#include "middle.cu"\nint main() {}\n', "program.cu")
    cu('#include "part.cuh"\nvoid host() {}\n', "middle.cu")
    assert main(["extract", cu("__global__ void k(int* x) { x[0] = SIZE; }\n", "part.cuh")]) == 0
    text, notes = capsys.readouterr()
    assert "#define SIZE 64" in text
    assert "program.cu" in notes


def test_extract_finds_the_program_in_the_folder_above(cu: Any, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "kernels").mkdir()
    cu('#include "all.cuh"\nint main() { k<64><<<1, 1>>>(0); }\n', "program.cu")
    cu('#include "kernels/part.cuh"\n', "all.cuh")
    part = cu("template <int N> __global__ void k(int* x) { x[0] = N; }\n", "kernels/part.cuh")
    assert main(["extract", part]) == 0
    text, notes = capsys.readouterr()
    assert text.startswith('%%cuda k --kernel "k<64>"\n')
    assert "program.cu" in notes


def test_extract_defines_the_macros_of_a_makefile(cu: Any, capsys: Any) -> None:
    text = "#ifdef GPU\n__global__ void k(int* x) { x[0] = N; }\n#endif\n"
    assert main(["extract", cu(text), "-D", "GPU", "-DN=64", "-DUNUSED"]) == 0
    assert capsys.readouterr().out == f"%%cuda k\n#define GPU 1\n#define N 64\n{text}"
    assert main(["extract", cu(text), "-D", "2N"]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err


def test_extract_reads_a_file_alone_if_a_program_leaves_its_kernels_out(cu: Any, capsys: Any) -> None:
    cu('// #include "part.cuh"\n#include "missing.cuh"\nint main() {}\n', "program.cu")
    assert main(["extract", cu("__global__ void k() {}\n", "part.cuh")]) == 0
    text, notes = capsys.readouterr()
    assert text == "%%cuda k\n__global__ void k() {}\n"
    assert "program.cu" not in notes


def test_extract_of_a_file_without_kernels_exits_2(cu: Any, capsys: Any) -> None:
    assert main(["extract", cu("int main() {}\n")]) == 2
    assert "__global__" in capsys.readouterr().err
