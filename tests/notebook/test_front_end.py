"""Outputs of a kernel cell in a front end: nbclient runs a real Jupyter kernel."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]
SETUP = """
from gpulab.notebook import load
from tests.notebook.conftest import ScriptedDevice, time_small_sizes
time_small_sizes()
load(get_ipython(), ScriptedDevice)
"""


def executed(*cells, allow_errors=True):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text) for text in (SETUP, *cells)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    where = {"metadata": {"path": str(ROOT)}}
    NotebookClient(notebook, timeout=60, allow_errors=allow_errors, resources=where).execute()
    return notebook.cells[1:]


def test_correct_cell_has_one_output(kernel_cell):
    (cell,) = executed(kernel_cell("right"))
    assert [output.output_type for output in cell.outputs] == ["display_data"]
    assert "gp-good" in cell.outputs[0].data["text/html"]
    assert "text/plain" in cell.outputs[0].data


def test_wrong_cell_ends_with_an_error_output(kernel_cell):
    (cell,) = executed(kernel_cell("no halo"))
    error = cell.outputs[-1]
    assert error.output_type == "error"
    assert error.ename == "WrongResult"
    assert len(error.traceback) == 1
    assert "<svg" in cell.outputs[0].data["text/html"]


def test_progress_bar_is_not_saved(kernel_cell):
    (cell,) = executed(kernel_cell("slow"))
    (output,) = cell.outputs
    assert "<progress" not in output.data["text/html"]
    assert "gp-good" in output.data["text/html"]


def test_nbclient_raises_for_a_wrong_cell(kernel_cell):
    with pytest.raises(CellExecutionError, match="WrongResult"):
        executed(kernel_cell("no halo"), allow_errors=False)


def test_error_has_the_text_of_the_error_directive():
    with pytest.raises(CellExecutionError, match="write your kernel here"):
        executed('%%cuda stencil.opt_1\n#error "write your kernel here"\n', allow_errors=False)


def test_no_cell_writes_a_stream(kernel_cell):
    cells = executed(
        *(kernel_cell(behaviour) for behaviour in ("right", "no halo", "reads outside", "stops"))
    )
    streams = [output for cell in cells for output in cell.outputs if output.output_type == "stream"]
    assert streams == []
