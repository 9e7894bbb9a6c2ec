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


@pytest.fixture(scope="module")
def client():
    """A client of one Jupyter kernel, whose start takes longer than the tests."""
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )
    where = {"metadata": {"path": str(ROOT)}}
    client = NotebookClient(notebook, timeout=60, resources=where)
    with client.setup_kernel():
        run(client, SETUP)
        yield client


def run(client, text):
    """Return a cell with its outputs; raise `CellExecutionError` as a notebook that stops there."""
    client.nb.cells.append(nbformat.v4.new_code_cell(text))
    return client.execute_cell(client.nb.cells[-1], len(client.nb.cells) - 1)


def run_with_errors(client, text):
    """Return a cell with its outputs, also if it raises."""
    try:
        return run(client, text)
    except CellExecutionError:
        return client.nb.cells[-1]


def test_correct_cell_has_one_output(client, kernel_cell):
    cell = run(client, kernel_cell("right"))
    assert [output.output_type for output in cell.outputs] == ["display_data"]
    assert "gp-good" in cell.outputs[0].data["text/html"]
    assert "text/plain" in cell.outputs[0].data


def test_wrong_cell_ends_with_an_error_output(client, kernel_cell):
    cell = run_with_errors(client, kernel_cell("no halo"))
    error = cell.outputs[-1]
    assert error.output_type == "error"
    assert error.ename == "WrongResult"
    assert len(error.traceback) == 1
    assert "<svg" in cell.outputs[0].data["text/html"]


def test_progress_bar_is_not_saved(client, kernel_cell):
    cell = run(client, kernel_cell("slow"))
    (output,) = cell.outputs
    assert "<progress" not in output.data["text/html"]
    assert "gp-good" in output.data["text/html"]


def test_nbclient_raises_for_a_wrong_cell(client, kernel_cell):
    with pytest.raises(CellExecutionError, match="WrongResult"):
        run(client, kernel_cell("no halo"))


def test_error_has_the_text_of_the_error_directive(client):
    with pytest.raises(CellExecutionError, match="write your kernel here"):
        run(client, '%%cuda stencil.opt_1\n#error "write your kernel here"\n')


def test_no_cell_writes_a_stream(client, kernel_cell):
    behaviours = ("right", "no halo", "reads outside", "stops")
    cells = [run_with_errors(client, kernel_cell(behaviour)) for behaviour in behaviours]
    streams = [output for cell in cells for output in cell.outputs if output.output_type == "stream"]
    assert streams == []
