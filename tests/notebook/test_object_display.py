"""Printed objects, launch warnings, and kernel cells without a header, in a real IPython shell."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from tests.notebook.conftest import Notebook

SETUP = """import gpulab
dev = gpulab.device("sim")
kernel = dev.compile('''__global__ void shift(float* x, int n)
{
    if (threadIdx.x < n) x[threadIdx.x + 1] = x[threadIdx.x];
}''')
x = dev.zeros(32)"""


@pytest.fixture
def ready(notebook: Notebook) -> Notebook:
    assert notebook.run(SETUP).error is None
    return notebook


@pytest.mark.parametrize(
    ("expression", "text", "html"),
    [
        ("kernel", "<kernel shift(x, n)", "registers per thread"),
        ("x", "device array 32 float32", ""),
        (
            "gpulab.sanitize(kernel, 1, 32, (x, 32))",
            "memcheck error, line 3:",
            "memcheck: write outside an array",
        ),
        ("gpulab.sanitize(kernel, 1, 32, (x, 0))", "no errors found", "No errors found"),
        (
            "gpulab.counters(kernel, 1, 32, (x, 31))",
            "smsp__inst_executed.sum ",
            "smsp__inst_executed.sum</td>",
        ),
        ("gpulab.profile(kernel, 1, 32, (x, 31))", "Profile(time_ms=", "ms, modelled for the H200"),
    ],
)
def test_object_has_a_readable_display(ready: Notebook, expression: str, text: str, html: str) -> None:
    value = ready.run(expression).result.result
    assert text in repr(value)
    formatted, _ = ready.shell.display_formatter.format(value)
    assert html in formatted.get("text/html", "")
    assert len(repr(value)) < 4000


@pytest.mark.parametrize(
    "expression",
    ["x + x", "2 * x", "x[0]", "-x", "np.asarray(x)", "np.sin(x)", "np.ones(32) + x", "x.sum()", "list(x)"],
)
def test_operation_on_a_device_array_says_how_to_copy_it(expression: str) -> None:
    x = gpulab.device("sim").zeros(32)
    with pytest.raises(gpulab.UsageError, match=r"dev\.asnumpy\(x\)"):
        eval(expression, {"x": x, "np": np})
    assert not hasattr(x, "sum")


def test_assignment_to_a_device_array_says_how_to_copy_it() -> None:
    x = gpulab.device("sim").zeros(32)
    with pytest.raises(gpulab.UsageError, match=r"dev\.asarray\(host\)"):
        x[0] = 1


def test_launch_warning_is_shown_in_the_output_and_not_in_stderr(ready: Notebook) -> None:
    ready.run(
        "mixed = dev.compile('__global__ void k() { if (threadIdx.x < 32) __syncthreads(); "
        "else __syncthreads(); }')"
    )
    for _ in range(2):
        run = ready.run("mixed(1, 64, ())")
        assert "whole warps wait for each other" in run.html
        assert run.stderr == ""


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("__global__ void k(float* x)\n{\n}", "The first line must be the header"),
        (
            '// a comment\n#define N 4\nextern "C" __global__ void k() { }',
            "The first line must be the header",
        ),
        ("// %%cuda k\n__global__ void k() { }", "Remove the // before %%cuda"),
    ],
)
def test_kernel_without_its_header_line_says_so(notebook: Notebook, cell: str, words: str) -> None:
    run = notebook.run(cell)
    assert isinstance(run.error, gpulab.HeaderError)
    assert words in run.stdout


@pytest.mark.parametrize(
    "cell",
    [
        'source = """\n__global__ void k() { }\n"""',
        "# __global__ in a comment\n1 + 1",
        "%%cuda k\n__global__ void k() { }",
    ],
)
def test_other_cells_run(notebook: Notebook, cell: str) -> None:
    assert notebook.run(cell).error is None
