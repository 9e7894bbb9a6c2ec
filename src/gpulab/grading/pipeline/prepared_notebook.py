"""The notebook that nbgrader grades: the student's cells with the instructor's metadata and no outputs.

Cell types, points, names and flags of a submission are not trusted. A cell keeps nbgrader's metadata only if
the instructor's notebook has a cell of its name, and then it gets the metadata of that cell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nbformat import NotebookNode, from_dict

from gpulab.grading.sandbox.safe_page import clean_notebook

__all__ = ["prepare_notebook"]

# The fields that nbformat requires besides the type, the id, the source and the metadata.
_REQUIRED: dict[str, dict[str, Any]] = {
    "code": {"outputs": [], "execution_count": None},
    "markdown": {},
    "raw": {},
}
METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}


def prepare_notebook(text: str, source: NotebookNode) -> NotebookNode:
    """Return the notebook to grade.

    Parameters
    ----------
    text : str
        The submitted notebook; `judge.submitted.read_submission` accepts it.
    source : NotebookNode
        The instructor's notebook.

    Notes
    -----
    Of several cells with one name the last counts, as in nbgrader. A cell that is missing is restored by
    nbgrader. Everything that the student wrote is cleaned; texts of the instructor stay as they are.
    """
    marks = {
        cell.metadata.nbgrader["grade_id"]: (cell.cell_type, dict(cell.metadata.nbgrader))
        for cell in source.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id")
    }
    shown = {cell.source for cell in source.cells if cell.cell_type == "markdown"}
    submitted = list(_submitted_cells(json.loads(text)))
    last = {name: number for number, (_, name) in enumerate(submitted)}

    own_marks: list[dict[str, Any] | None] = []
    for number, (cell, claimed) in enumerate(submitted):
        name = claimed if last[claimed] == number else ""
        cell["cell_type"], fields = marks.get(name, (cell["cell_type"], None))
        own_marks.append(fields)
    cells = [cell for cell, _ in submitted]
    clean_notebook({"cells": [cell for cell in cells if cell["source"] not in shown]})

    prepared = []
    for number, (cell, fields) in enumerate(zip(cells, own_marks, strict=True)):
        kind = cell["cell_type"]
        made = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {} if fields is None else {"nbgrader": fields},
            "source": cell["source"],
        }
        if kind == "markdown" and "attachments" in cell:
            made["attachments"] = cell["attachments"]
        prepared.append(made | _REQUIRED[kind])
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": METADATA, "cells": prepared}
    return from_dict(notebook)  # type: ignore[no-any-return]  # nbconvert validates it


def _submitted_cells(notebook: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the cells of a notebook file without outputs, each with the name that it claims."""
    for cell in notebook["cells"]:
        if not isinstance(cell, dict) or cell.get("cell_type") not in _REQUIRED:
            continue
        metadata = cell.get("metadata")
        marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        name = marks.get("grade_id") if isinstance(marks, dict) else None
        source = cell.get("source")
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        text = source if isinstance(source, str) else ""
        fields: dict[str, Any] = {"cell_type": cell["cell_type"], "source": text}
        if cell["cell_type"] == "markdown" and "attachments" in cell:
            fields["attachments"] = cell["attachments"]
        yield fields, name if isinstance(name, str) else ""
