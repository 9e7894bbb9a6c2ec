"""Tests of kernel-cell headers and of reading cells from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulab.cell import PlainHeader, is_kernel_cell, parse_cell, parse_header, read_cells
from gpulab.config import KernelConfig
from gpulab.errors import HeaderError, UsageError

BODY = "__global__ void block2D_naive() {\n}\n"


def notebook(*sources: Any, cell_type: str = "code") -> str:
    return json.dumps({"cells": [{"cell_type": cell_type, "source": s} for s in sources], "nbformat": 4})


@pytest.mark.parametrize(
    ("line", "block", "tile"),
    [
        ("%%cuda stencil.opt_1 --block 32 8 --tile 1 1", (32, 8, 1), (1, 1, 0)),
        ("%%cuda stencil.opt_1 --tile 2 1 4 --block 16 16 1", (16, 16, 1), (2, 1, 4)),
        ("%%cuda stencil.opt_1", (32, 8, 1), (1, 1, 0)),
        ("%%cuda stencil.opt_4 --block 64", (64, 1, 1), (1, 1, 0)),
        ("%%cuda matmul.K4 --block 128 --tile 1 4", (128, 1, 1), (1, 4, 1)),
        ("%%cuda matmul.K5", (16, 16, 1), (1, 1, 1)),
        ("// %%cuda stencil.naive --block 24 5", (24, 5, 1), (1, 1, 0)),
        ("//%%cuda stencil.naive --block 24 5", (24, 5, 1), (1, 1, 0)),
        ("stencil.naive --block 24 5", (24, 5, 1), (1, 1, 0)),
    ],
)
def test_header_gives_block_and_tile_with_the_problems_defaults(
    line: str, block: tuple[int, ...], tile: tuple[int, ...]
) -> None:
    header = parse_header(line)
    assert (header.block, header.tile) == (block, tile)


def test_problem_header_gives_problem_and_variant() -> None:
    header = parse_header("%%cuda matmul.K34")
    assert isinstance(header, KernelConfig)
    assert (header.problem.name, header.variant, header.name) == ("matmul", "K34", "matmul.K34")


def test_plain_name_gives_a_plain_header() -> None:
    header = parse_header("%%cuda vector_add")
    assert header == PlainHeader("vector_add")


def test_plain_header_with_a_block_has_a_tile_of_one() -> None:
    assert parse_header("%%cuda product --block 128").tile == (1, 1, 1)


@pytest.mark.parametrize(
    ("line", "kernel"),
    [
        ("%%cuda both --kernel get", "get"),
        ("%%cuda both --block 8 --kernel k<8>", "k<8>"),
        ("%%cuda both --kernel 'N::k<float, 8>' --block 8", "N::k<float, 8>"),
        ("%%cuda both", ""),
    ],
)
def test_kernel_option_names_a_function_or_an_instance(line: str, kernel: str) -> None:
    header = parse_header(line)
    assert header.kernel == kernel
    assert parse_header(str(header)) == header


def test_kernel_option_replaces_the_kernel_of_a_step() -> None:
    header = parse_header("%%cuda stencil.naive --kernel laplace<8>")
    assert isinstance(header, KernelConfig)
    assert header.kernel_name == "laplace<8>"
    assert header.with_geometry((8,)).kernel_name == "laplace<8>"
    assert parse_header(str(header)) == header


@pytest.mark.parametrize(
    ("line", "token"),
    [
        ("%%cuda", "%%cuda"),
        ("%%cuda --block 32 8", "--block"),
        ("%%cuda laplace.naive", "matmul, stencil"),
        ("%%cuda stencil.opt_9", "naive, opt_1, opt_2, opt_3, opt_4"),
        ("%%cuda stencil.", "naive, opt_1"),
        ("%%cuda stencil", "stencil.naive"),
        ("%%cuda stencil.naive.x", "naive.x"),
        ("%%cuda 3d", "3d"),
        ("%%cuda stencil.naive --block", "--block X"),
        ("%%cuda stencil.naive --block 1 2 3 4", "4"),
        ("%%cuda stencil.naive --block 32 0", "32 0"),
        ("%%cuda stencil.naive --block -3", "-3"),
        ("%%cuda stencil.naive --block 32.5", "32.5"),
        ("%%cuda stencil.naive --block ٣", "٣"),
        ("%%cuda stencil.naive --tile 99999999999", "99999999999"),
        ("%%cuda stencil.naive --block 8 --block 8", "--block"),
        ("%%cuda stencil.naive --grid 8", "--grid"),
        ("%%cuda stencil.naive fast", "fast"),
        ("%%cuda stencil.naive --block=8", "--block=8"),
        ("%%cuda stencil.naive --block=32x8", "write spaces, as in --block 32 8"),
        ("%%cuda stencil.naive --blocks 8", "Do you mean --block?"),
        ("%%cuda stencil.naive --block 32x8", "--block 32 8"),
        ("%%cuda stencil.naive --block 32,8", "--block 32 8"),
        ("%%cuda 'stencil.naive", "quot"),
        ("%%cuda a --kernel", "--kernel"),
        ("%%cuda a --kernel k <8>", "quotes"),
        ("%%cuda a --kernel k(8)", "k(8)"),
    ],
)
def test_invalid_header_raises_one_line_that_names_the_error(line: str, token: str) -> None:
    with pytest.raises(HeaderError) as error:
        parse_header(line)
    assert token in str(error.value)
    assert "\n" not in str(error.value)


@settings(deadline=None)
@given(st.text(max_size=80))
def test_arbitrary_text_parses_or_raises_header_error(text: str) -> None:
    try:
        parse_header(text)
    except HeaderError as error:
        assert str(error)  # noqa: PT017


@settings(deadline=None)
@given(
    st.sampled_from(["stencil.naive", "matmul.K3", "plain"]),
    st.lists(st.integers(1, 1024), min_size=1, max_size=3),
    st.lists(st.integers(0, 64), min_size=1, max_size=3),
)
def test_header_round_trips_through_str(name: str, block: list[int], tile: list[int]) -> None:
    arguments = [name, "--block", *map(str, block), "--tile", *map(str, tile)]
    header = parse_header("%%cuda " + " ".join(arguments))
    assert parse_header(str(header)) == header


def test_source_has_an_empty_line_in_place_of_the_header() -> None:
    text = "%%cuda stencil.naive\n" + BODY
    cell = parse_cell(text)
    assert cell.source == "\n" + BODY


def test_empty_lines_before_the_header_stay_in_the_source() -> None:
    assert parse_cell("\n \n%%cuda stencil.naive\n" + BODY).source == "\n \n\n" + BODY


def test_source_of_a_cu_file_has_the_header_as_a_comment() -> None:
    text = "// %%cuda stencil.naive\n" + BODY
    assert parse_cell(text).source == text


def test_text_without_a_header_raises() -> None:
    with pytest.raises(HeaderError, match="%%cuda"):
        parse_cell(BODY, "plain.cu")


@pytest.mark.parametrize("text", ["%%cudax a", "x = 1\n%%cuda a", "# %%cuda a", "%cuda a", ""])
def test_text_without_the_magic_in_its_first_line_is_no_kernel_cell(text: str) -> None:
    assert not is_kernel_cell(text)


def test_cu_file_is_one_cell(tmp_path: Path) -> None:
    path = tmp_path / "plain.cu"
    path.write_bytes(b"\xef\xbb\xbf// %%cuda stencil.naive --block 16 16\r\n__global__ void f() {}\r\n")
    (cell,) = read_cells(path)
    assert cell.header.block == (16, 16, 1)
    assert cell.origin == "plain.cu"


def test_kernel_cells_are_in_the_notebooks_order(tmp_path: Path) -> None:
    path = tmp_path / "lab.ipynb"
    path.write_text(notebook("import gpulab", ["%%cuda stencil.naive\n", BODY], "%%cuda plain\n" + BODY))
    first, second = read_cells(path)
    assert (first.header.name, first.origin) == ("stencil.naive", "lab.ipynb, cell 2")
    assert first.source == "\n" + BODY
    assert second.header.name == "plain"


def test_markdown_cells_are_not_kernel_cells(tmp_path: Path) -> None:
    path = tmp_path / "lab.ipynb"
    path.write_text(notebook("%%cuda stencil.naive", cell_type="markdown"))
    with pytest.raises(UsageError, match=r"lab\.ipynb"):
        read_cells(path)


def test_invalid_header_in_a_notebook_names_its_cell(tmp_path: Path) -> None:
    path = tmp_path / "lab.ipynb"
    path.write_text(notebook("%%cuda stencil.naive", "%%cuda stencil.opt_7"))
    with pytest.raises(HeaderError, match=r"lab\.ipynb, cell 2: .*opt_7"):
        read_cells(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lab.ipynb", b"{"),
        ("lab.ipynb", b"[]"),
        ("lab.ipynb", b'"text"'),
        ("lab.ipynb", b"{}"),
        ("lab.ipynb", b'{"cells": {}}'),
        ("lab.ipynb", b'{"worksheets": []}'),
        ("lab.ipynb", b'{"cells": [1, null, {"cell_type": "code"}, {"cell_type": "code", "source": 5}]}'),
        ("lab.ipynb", b"[" * 100_000),
        ("lab.ipynb", b"\xff\xfe\x00"),
        ("plain.cu", b""),
        ("plain.cu", b"\xff\xfe\x00"),
        ("plain.txt", b"// %%cuda stencil.naive"),
    ],
)
def test_invalid_file_raises_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read_cells(path)
    assert "\n" not in str(error.value)


def test_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.cu"):
        read_cells(tmp_path / "none.cu")


def test_directory_raises(tmp_path: Path) -> None:
    (tmp_path / "lab.cu").mkdir()
    with pytest.raises(UsageError, match=r"lab\.cu"):
        read_cells(tmp_path / "lab.cu")
