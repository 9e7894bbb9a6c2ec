"""Pages that nbgrader makes from a notebook, without its server: formgrader's and the feedback."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import nbgrader
from nbconvert.exporters import HTMLExporter
from traitlets.config import Config

TEMPLATES = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader" / "templates"
RESOURCES: dict[str, dict[str, Any]] = {
    "formgrade": {"base_url": "", "submission_id": "1", "index": 0, "total": 1, "notebook_path": "lab.ipynb"},
    "feedback": {
        "nbgrader": {"notebook": "lab", "score": 0, "max_score": 0, "late_penalty": 0, "files": []},
    },
}


@cache
def exporter(template: str) -> HTMLExporter:
    """Return nbconvert's exporter with the settings of formgrader or `generate_feedback`."""
    config = Config()
    config.HTMLExporter.template_name = template
    config.HTMLExporter.extra_template_basedirs = [str(TEMPLATES)]
    static = TEMPLATES.parent / "static" / "node_modules" / "bootstrap" / "dist" / "css"
    config.HTMLExporter.extra_template_paths = [str(static)]
    return HTMLExporter(config=config)


def notebook_page(notebook: dict[str, Any], template: str) -> str:
    """Return the page that formgrader (`formgrade`) or `generate_feedback` (`feedback`) makes."""
    node = nbformat.from_dict(notebook)
    for cell in node.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.setdefault("score", 0)  # nbgrader adds it from the gradebook
    page, _ = exporter(template).from_notebook_node(node, resources=dict(RESOURCES[template]))
    return str(page)


def lab(*cells: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return a notebook in the form of its file."""
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def code_cell(*outputs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    cell = {"cell_type": "code", "id": "c", "source": "x", "metadata": {}, "execution_count": None}
    return {**cell, "outputs": list(outputs), **fields}


def markdown_cell(source: str, **fields: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": "m", "source": source, "metadata": {}, **fields}


def display(**data: Any) -> dict[str, Any]:
    """Return an output; the keywords are media types with `_` for `/`."""
    kinds = {"html": "text/html", "markdown": "text/markdown", "javascript": "application/javascript"}
    kinds |= {"svg": "image/svg+xml", "png": "image/png", "latex": "text/latex", "plain": "text/plain"}
    kinds |= {"mermaid": "text/vnd.mermaid", "widget": "application/vnd.jupyter.widget-view+json"}
    named = {kinds[name]: content for name, content in data.items() if name in kinds}
    return {"output_type": "display_data", "data": named, "metadata": data.get("metadata", {})}
