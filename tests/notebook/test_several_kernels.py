"""Cells with several kernels, templates and module variables, on the simulator."""

from __future__ import annotations

import numpy as np
import pytest

import gpulab
from gpulab import session
from gpulab.cell import parse_cell
from gpulab.errors import UnsupportedInstruction, UsageError
from gpulab.notebook.magic import keep_unchecked
from tests.notebook.conftest import CellRun, Notebook

TWO = """
__device__ int g[4];
__global__ void put() { g[threadIdx.x] = threadIdx.x + 1; }
__global__ void get(int* x) { x[threadIdx.x] = g[threadIdx.x]; }
"""
TEMPLATE = "\ntemplate <int N> __global__ void k(int* x) { x[threadIdx.x] = N; }\n"


@pytest.fixture
def notebook(empty_session: None) -> Notebook:
    return Notebook(None)


def run(notebook: Notebook, header: str, source: str = TWO) -> CellRun:
    return notebook.run(f"%%cuda {header}{source}")


def launched(name: str) -> list[int]:
    """Return what a kernel of four threads writes."""
    dev = gpulab.device("sim")
    x = dev.zeros(4, np.int32)
    gpulab.kernel(name)(1, 4, (x,))
    return dev.asnumpy(x).tolist()


def test_kernels_of_a_cell_are_found_by_their_names(notebook: Notebook) -> None:
    shown = run(notebook, "both")
    assert shown.error is None
    assert 'gpulab.kernel("put")' in shown.text
    assert 'gpulab.kernel("get")' in shown.text
    gpulab.kernel("put")(1, 4, ())
    assert launched("get") == [1, 2, 3, 4]
    assert gpulab.kernel("put").module is gpulab.kernel("get").module


def test_name_of_a_cell_with_several_kernels_is_ambiguous(notebook: Notebook) -> None:
    run(notebook, "both")
    with pytest.raises(UsageError, match=r'gpulab\.kernel\("put"\) or gpulab\.kernel\("get"\)'):
        gpulab.kernel("both")


def test_name_of_the_cell_picks_the_kernel_of_this_name(notebook: Notebook) -> None:
    run(notebook, "get")
    assert gpulab.kernel("get").name == "get"
    assert gpulab.kernel("put").name == "put"


def test_kernel_option_picks_the_kernel_of_the_cell(notebook: Notebook) -> None:
    run(notebook, "both --kernel get")
    assert gpulab.kernel("both").name == "get"
    assert gpulab.kernel("put").name == "put"


def test_unknown_kernel_is_refused_with_the_names(notebook: Notebook) -> None:
    shown = run(notebook, "both --kernel push")
    assert isinstance(shown.error, UsageError)
    assert "put, get" in str(shown.error)


def test_kernel_option_compiles_an_instance_of_a_template(notebook: Notebook) -> None:
    shown = run(notebook, 'eight --kernel "k< 8 >"', TEMPLATE)
    assert shown.error is None
    assert gpulab.kernel("eight").name == "k<8>"
    assert launched("eight") == [8, 8, 8, 8]


def test_template_without_instance_says_what_to_write(notebook: Notebook) -> None:
    shown = run(notebook, "k", TEMPLATE)
    assert isinstance(shown.error, UsageError)
    assert '--kernel "k<8>"' in shown.stdout


def test_second_run_of_a_cell_gives_variables_their_initial_values(notebook: Notebook) -> None:
    run(notebook, "both")
    gpulab.kernel("put")(1, 4, ())
    run(notebook, "both")
    assert launched("get") == [0, 0, 0, 0]


def test_variable_of_a_cell_is_written_as_the_output_says(notebook: Notebook) -> None:
    source = """
__constant__ float weights[3];
__global__ void weigh(float* x) { x[threadIdx.x] *= weights[threadIdx.x]; }
"""
    shown = run(notebook, "weigh", source)
    call = 'gpulab.kernel("weigh").module.set_global("weights", values)'
    assert call in shown.text
    assert "weights[3]" in shown.text
    code = f"import gpulab\nvalues = [1, 2, 3]\n{call}\nx = gpulab.device('sim').full(3, 10.0)"
    notebook.run(code + "\ngpulab.kernel('weigh')(1, 3, (x,))")
    assert gpulab.device("sim").asnumpy(notebook.shell.user_ns["x"]).tolist() == [10, 20, 30]


def test_step_of_a_lab_takes_the_kernel_that_the_header_names(notebook: Notebook) -> None:
    source = """
__global__ void other() { }
template <int WIDTH>
__global__ void laplace(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * WIDTH + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (i < 1 || j < 1 || i > nx - 2 || j > ny - 2) return;
    for (int k = 1; k < nz - 1; k++) {
        int p = i + nx * (j + ny * k);
        Anext[p] = A0[p - 1] + A0[p + 1] + A0[p - nx] + A0[p + nx] + A0[p - nx * ny] + A0[p + nx * ny]
                 - 6.0f * A0[p] / (fac * fac);
    }
}
"""
    shown = run(notebook, 'stencil.naive --block 16 8 --kernel "laplace<16>"', source)
    assert shown.error is None
    assert gpulab.kernel("stencil.naive").name == "laplace<16>"
    assert "naive" in shown.html


def test_kernels_of_a_cell_that_is_not_checked_are_compiled_when_used(empty_session: None) -> None:
    keep_unchecked(parse_cell("%%cuda both" + TWO), gpulab.device("sim"))
    assert session.kernel_names() == ()
    assert gpulab.kernel("get").name == "get"


def test_last_cell_with_a_kernel_of_this_name_counts(notebook: Notebook) -> None:
    plus_two = TWO.replace("+ 1", "+ 2")
    for cell, source, expected in (
        ("first", TWO, [1, 2, 3, 4]),
        ("second", plus_two, [2, 3, 4, 5]),
        ("first", TWO, [1, 2, 3, 4]),
    ):
        run(notebook, cell, source)
        gpulab.kernel("put")(1, 4, ())
        assert launched("get") == expected


def test_instruction_that_is_not_supported_is_reported_by_the_cell(notebook: Notebook) -> None:
    shown = run(notebook, "k", "\n__global__ void k(float* x) { x[0] = tex2Dgather<float4>(0ull, 0, 0).x; }")
    assert isinstance(shown.error, UnsupportedInstruction)
    assert shown.stdout.count("tld4.r") == 1
    assert "line 2" in shown.stdout
