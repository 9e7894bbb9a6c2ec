"""Python cells as syntax trees, without IPython's magics."""

from __future__ import annotations

import ast

__all__ = ["parse_python", "python_error"]

# Cell magics that run the rest of their cell as Python, in the variables of the notebook. The other ones,
# such as `%%cuda` and `%%bash`, hand it to another program.
PYTHON_MAGICS = frozenset({"%%capture", "%%debug", "%%prun", "%%time", "%%timeit"})


def parse_python(source: str) -> ast.Module:
    """Return the syntax tree of a cell; an empty module if the cell is not valid Python.

    Lines with magics and shell commands are left out. The others keep their line numbers.
    """
    try:
        return _tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def python_error(source: str) -> SyntaxError | None:
    """Return the first syntax error of a Python cell; None if there is none, or another program runs it."""
    try:
        _tree(source)
    except SyntaxError as error:
        return error
    return None


def _tree(source: str) -> ast.Module:
    lines = source.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and first.split()[0] not in PYTHON_MAGICS:
        return ast.Module([], [])
    return ast.parse("\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines))
