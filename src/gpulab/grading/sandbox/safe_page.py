"""Outputs and whole notebooks of students, reduced to content that formgrader and the feedback may show.

nbgrader inserts fields of a notebook into its pages without escaping them: HTML outputs, the sizes of images,
execution counts, and the names of graded cells. Therefore every field is checked here, not only the fields
that hold markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpulab.grading.sandbox.safe_markdown import TAG_START, clean_attachments, clean_markdown, is_image
from gpulab.grading.sandbox.safe_text import MATHJAX_MACRO, clean_html, clean_text

__all__ = ["CELL_BYTES", "NOTEBOOK_BYTES", "clean_notebook", "clean_outputs"]

CELL_BYTES = 200_000  # size limit of the outputs of one cell
NOTEBOOK_BYTES = 2_000_000  # size limit of all outputs; a browser shows such a page without delay
ERROR_CHARACTERS = 20_000  # characters of a traceback that are kept
OUTPUT_OVERHEAD = 100  # bytes of the page for an output without content

Output = dict[str, Any]

CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # as nbformat defines it
GRADE_ID = re.compile(r"[A-Za-z0-9_.-]{1,200}")
MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,60}", re.IGNORECASE)
CHECKSUM = re.compile(r"[0-9a-f]{32,64}")


def clean_outputs(outputs: object, *, limit_bytes: int = CELL_BYTES) -> list[Output]:
    """Return the outputs of a cell without active content, cut to a size that a page can show.

    Parameters
    ----------
    outputs : list of dict
        Outputs in the format of nbformat 4. Parts that do not have this format are left out.
    limit_bytes : int
        The size of all outputs that are returned, in bytes. A last line states how much was cut.

    Returns
    -------
    list of dict
        Valid outputs of nbformat 4. `text/plain`, PNG and JPEG are kept, HTML and Markdown are sanitised,
        and all other types are left out.
    """
    cleaned: list[Output] = []
    used = cut = 0
    for output in _merged_streams(outputs):
        available = max(0, limit_bytes - used)
        if output["output_type"] == "stream":
            # A code point has at most 4 bytes, so the rest need not be cleaned.
            text = output["text"][: available + 1]
            cut += len(output["text"]) - len(text)
            output["text"] = clean_text(text)
        else:
            _clean_content(output)

        size = _size(output)
        if size <= available:
            cleaned.append(output)
            used += size
        elif output["output_type"] == "stream" and available > OUTPUT_OVERHEAD:
            kept = output["text"].encode()[: available - OUTPUT_OVERHEAD].decode(errors="ignore")
            cut += size - OUTPUT_OVERHEAD - len(kept.encode())
            cleaned.append({**output, "text": kept})
            used = limit_bytes
        else:
            cut += size

    if cut:
        note = f"\n[{cut:,} bytes of output are not shown. A cell shows at most {limit_bytes:,} bytes.]\n"
        cleaned.append({"output_type": "stream", "name": "stdout", "text": note})
    return cleaned


def clean_notebook(notebook: dict[str, Any]) -> None:
    """Make a submitted notebook safe to show, in place.

    Markdown, attachments and outputs are cleaned. Of the metadata, only nbgrader's fields remain, and those
    only with values of their type. The sources of code cells keep their text without control characters,
    because nbconvert escapes them.
    """
    notebook["metadata"] = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    remaining = NOTEBOOK_BYTES
    for number, cell in enumerate(notebook["cells"]):
        _clean_fields(cell, number)
        if cell["cell_type"] == "markdown":
            attachments = clean_attachments(cell.pop("attachments", None))
            cell["source"] = clean_markdown(cell["source"], attachments)
            if attachments:
                cell["attachments"] = attachments
        elif cell["cell_type"] == "code":
            cell["outputs"] = clean_outputs(cell.get("outputs"), limit_bytes=min(CELL_BYTES, remaining))
            cell["execution_count"] = _count(cell.get("execution_count"))
            remaining = max(0, remaining - sum(map(_size, cell["outputs"])))


def _clean_fields(cell: dict[str, Any], number: int) -> None:
    """Check the fields that every cell has, and remove those that its type does not have."""
    if cell.get("cell_type") not in ("code", "markdown"):
        cell["cell_type"] = "raw"
    allowed = {"cell_type", "id", "metadata", "source"} | {
        "code": {"outputs", "execution_count"},
        "markdown": {"attachments"},
        "raw": set(),
    }[cell["cell_type"]]
    for name in set(cell) - allowed:
        del cell[name]

    if "id" in cell and not CELL_ID.fullmatch(str(cell["id"])):
        cell["id"] = f"cell-{number}"
    cell["source"] = clean_text(_joined(cell.get("source")))
    if cell["cell_type"] == "raw":
        cell["source"] = TAG_START.sub("&lt;", cell["source"])
    grading = _nbgrader_fields(cell.get("metadata"))
    cell["metadata"] = {"nbgrader": grading} if grading else {}


def _nbgrader_fields(metadata: object) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell, or an empty dict if its name is not a plain one."""
    fields = metadata.get("nbgrader") if isinstance(metadata, Mapping) else None
    if not isinstance(fields, Mapping) or not GRADE_ID.fullmatch(str(fields.get("grade_id"))):
        return {}

    checks = {
        "grade_id": lambda value: isinstance(value, str),
        "checksum": lambda value: isinstance(value, str) and CHECKSUM.fullmatch(value),
        "cell_type": lambda value: value in ("code", "markdown", "raw"),
        "schema_version": lambda value: isinstance(value, int),
        "points": lambda value: isinstance(value, int | float),
        **dict.fromkeys(("grade", "locked", "solution", "task"), lambda value: isinstance(value, bool)),
    }
    return {name: fields[name] for name, valid in checks.items() if name in fields and valid(fields[name])}


def _merged_streams(outputs: object) -> Iterator[Output]:
    """Yield outputs with the right fields, and consecutive texts of the same stream as one."""
    pending: list[str] = []
    name = ""

    for output in outputs if isinstance(outputs, list) else ():
        kind = output.get("output_type") if isinstance(output, Mapping) else None
        stream = ("stderr" if output.get("name") == "stderr" else "stdout") if kind == "stream" else ""
        if pending and stream != name:
            yield {"output_type": "stream", "name": name, "text": "".join(pending)}
            pending = []
        name = stream
        if kind == "stream":
            pending.append(_joined(output.get("text")))
        elif kind == "error":
            yield {
                "output_type": "error",
                "ename": str(output.get("ename"))[:200],
                "evalue": str(output.get("evalue")),
                "traceback": output.get("traceback"),
            }
        elif kind in ("display_data", "execute_result"):  # not a set: a list has no hash
            yield {
                "output_type": kind,
                "data": output.get("data"),
                "metadata": {},
                **(
                    {"execution_count": _count(output.get("execution_count"))}
                    if kind == "execute_result"
                    else {}
                ),
            }

    if pending:
        yield {"output_type": "stream", "name": name, "text": "".join(pending)}


def _clean_content(output: Output) -> None:
    """Clean the traceback of an error, or the representations of an object."""
    if output["output_type"] == "error":
        lines = output["traceback"] if isinstance(output["traceback"], list) else []
        # The end of a traceback names the error.
        text = "\n".join(map(str, lines))[-ERROR_CHARACTERS:]
        output["traceback"] = clean_text(text).split("\n")
        output["ename"] = clean_text(output["ename"])
        output["evalue"] = clean_text(output["evalue"][:ERROR_CHARACTERS])
        return

    given = output["data"] if isinstance(output["data"], Mapping) else {}
    cleaned = {}
    for kind, content in given.items():
        representation = _clean_representation(str(kind), _joined(content))
        if representation is not None:
            cleaned[str(kind)] = representation
    if not cleaned:
        names = ", ".join(sorted(str(kind) for kind in given if MEDIA_TYPE.fullmatch(str(kind)))[:5])
        cleaned["text/plain"] = f"[output not shown: {names or 'no known type'}]"
    output["data"] = cleaned


def _clean_representation(kind: str, content: str) -> str | None:
    """Return one representation of an object without anything harmful, or None if it is not shown."""
    if len(content) > NOTEBOOK_BYTES:
        return f"[{len(content):,} characters are not shown]" if kind == "text/plain" else None
    if kind == "text/plain":
        return clean_text(content)
    if kind == "text/html":
        return clean_html(content)
    if kind == "text/markdown":
        return clean_markdown(content)
    if kind == "text/latex":
        return MATHJAX_MACRO.sub(r"\\ ", clean_text(content))
    return content if is_image(kind, content) else None


def _size(output: Output) -> int:
    """Return the approximate number of bytes that an output takes in a page."""
    texts = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", ())]
    texts += output.get("data", {}).values()
    return OUTPUT_OVERHEAD + sum(len(text.encode()) for text in texts)


def _joined(text: object) -> str:
    """Return a text that nbformat stores as a string or as a list of lines."""
    if isinstance(text, list):
        return "".join(map(str, text))
    return text if isinstance(text, str) else ""


def _count(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) else None
