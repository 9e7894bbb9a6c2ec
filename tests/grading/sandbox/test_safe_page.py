"""Outputs and fields of submitted notebooks: what is kept, and how much of it."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from gpulab.grading.sandbox.safe_page import CELL_BYTES, NOTEBOOK_BYTES, clean_notebook, clean_outputs
from tests.grading.sandbox.hostile import PNG
from tests.grading.sandbox.pages import code_cell, display, lab, markdown_cell


def stream(text: Any, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def test_plain_outputs_are_kept() -> None:
    outputs = [
        stream("\x1b[32mcorrect\x1b[0m\n"),
        stream("warning\n", "stderr"),
        display(plain="<Figure>", png=PNG),
        {
            "output_type": "execute_result",
            "execution_count": 3,
            "data": {"text/plain": "42", "text/html": "<b>42</b>", "text/latex": "$42$"},
            "metadata": {},
        },
        {"output_type": "error", "ename": "ValueError", "evalue": "x", "traceback": ["line 1", "line 2"]},
    ]
    assert clean_outputs(outputs) == outputs


def test_outputs_of_other_types_are_named() -> None:
    (output,) = clean_outputs([display(javascript="f()", widget={})])
    assert output["data"] == {
        "text/plain": "[output not shown: application/javascript, application/vnd.jupyter.widget-view+json]"
    }


def test_text_stays_if_another_representation_is_dropped() -> None:
    (output,) = clean_outputs([display(javascript="f()", svg="<svg/>", png="no base64", plain="<Figure>")])
    assert output["data"] == {"text/plain": "<Figure>"}


def test_metadata_of_outputs_is_dropped() -> None:
    (output,) = clean_outputs([display(png=PNG, metadata={"image/png": {"width": "1 onload=f()"}})])
    assert output["metadata"] == {}


@pytest.mark.parametrize(
    "outputs",
    [
        None,
        "text",
        [None, 3, "x", []],
        [{}],
        [{"output_type": "unknown", "text": "x"}],
        [{"output_type": ["stream"]}],
    ],
)
def test_outputs_of_no_known_form_are_dropped(outputs: Any) -> None:
    assert clean_outputs(outputs) == []


def test_fields_of_the_wrong_type_give_valid_outputs() -> None:
    outputs = clean_outputs(
        [
            {"output_type": "stream", "name": 3, "text": {"a": 1}},
            {"output_type": "display_data", "data": [1]},
            {"output_type": "execute_result", "data": {"text/plain": 3}, "execution_count": "<b>"},
            {"output_type": "error", "ename": 1, "evalue": None, "traceback": "text"},
            {"output_type": "error", "traceback": [1, None]},
        ]
    )
    nbformat.validate(nbformat.from_dict(lab(code_cell(*outputs))))


def test_100_megabytes_are_cut() -> None:
    kept, note = clean_outputs([stream("x" * 50_000_000), stream("y" * 50_000_000)])
    assert len(kept["text"]) <= CELL_BYTES
    assert note["text"].startswith("\n[99,800,")
    assert "200,000 bytes" in note["text"]


def test_many_small_outputs_are_cut() -> None:
    outputs = clean_outputs([display(plain="x")] * 100_000)
    assert len(outputs) < 2_001
    assert "not shown" in outputs[-1]["text"]


def test_image_that_does_not_fit_is_dropped_and_later_text_kept() -> None:
    outputs = clean_outputs([display(png=PNG), stream("after")], limit_bytes=180)
    assert [output["output_type"] for output in outputs] == ["stream", "stream"]
    assert outputs[0]["text"] == "after"


def test_end_of_a_long_traceback_is_kept() -> None:
    error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": ["x" * 100_000, "E: reason"]}
    (output,) = clean_outputs([error])
    assert output["traceback"][-1] == "E: reason"


def test_notebook_is_cut_to_its_size() -> None:
    notebook = lab(*(code_cell(stream("x" * 1_000_000), id=f"c{n}") for n in range(30)))
    clean_notebook(notebook)
    assert len(json.dumps(notebook)) < NOTEBOOK_BYTES + 30_000


def test_fields_of_nbgrader_are_kept() -> None:
    fields = {
        "schema_version": 3,
        "grade_id": "opt-1.test",
        "grade": True,
        "solution": False,
        "locked": True,
        "task": False,
        "points": 2.5,
        "cell_type": "code",
        "checksum": "0123456789abcdef0123456789abcdef",
    }
    notebook = lab(code_cell(metadata={"nbgrader": fields, "collapsed": True}))
    clean_notebook(notebook)
    assert notebook["cells"][0]["metadata"] == {"nbgrader": fields}


def test_honest_notebook_is_not_changed() -> None:
    cells = [markdown_cell("Loads: $8n$"), code_cell(stream("1\n"), source="print(1)", execution_count=1)]
    notebook = lab(*cells)
    before = json.loads(json.dumps(notebook["cells"]))
    clean_notebook(notebook)
    assert notebook["cells"] == before
