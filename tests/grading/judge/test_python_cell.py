"""Python cells as syntax trees: magics are left out, and cells of other languages are empty."""

from __future__ import annotations

import ast

import pytest

from gpulab.grading.judge.python_cell import parse_python


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("x = 1", "x = 1"),
        ("%load_ext gpulab\n!ls\nx = 1", "x = 1"),
        ("%%time\nx = 1", "x = 1"),
        ("\n%%capture output\nx = 1", "x = 1"),
        ("%%bash\nx=1", ""),
        ("%%cuda stencil.opt_1\nx = 1", ""),
        ("%%", ""),
        ("x = ", ""),
        ("x = 1\0", ""),
        ("(" * 10_000, ""),
    ],
)
def test_python_of_a_cell_is_parsed(source: str, python: str) -> None:
    assert ast.dump(parse_python(source)) == ast.dump(ast.parse(python))


def test_lines_keep_their_numbers() -> None:
    (statement,) = parse_python("%load_ext gpulab\n\nx = 1").body
    assert statement.lineno == 3
