"""The labels, graphs and arrays of the Indigo suite, and verdicts on kernels of its form."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from benchmarks.races import indigo_page
from benchmarks.races.gpurepair_page import read_repair_verdicts
from benchmarks.races.indigo import check_kernel
from benchmarks.races.indigo_accesses import Access, conflicts
from benchmarks.races.indigo_page import IndigoFigures, KernelVerdicts
from benchmarks.races.indigo_suite import Graph, SuiteKernel, data_arrays, read_graph, read_suite
from gpulab.errors import UsageError

FORM = """typedef int data_t;
#include "indigo_cuda.h"
__global__ void test_kernel(int* nindex, int* nlist, data_t* data1, data_t* data2, int numv)
{
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  BODY
}
void serial_code(int* nindex, int* nlist, data_t* data1, data_t* data2, int numv) { data1[0] = 0; }
"""


def write_graph(path: Path, index: list[int], neighbours: list[int]) -> Path:
    words = [len(index) - 1, len(neighbours), *index, *neighbours]
    path.write_bytes(struct.pack(f"<{len(words)}i", *words))
    return path


@pytest.mark.parametrize(
    ("name", "race_bugs", "has_bounds_bug"),
    [
        ("pull_node_neighbors_warp_cond", (), False),
        ("pull_node_neighbor_persistent_boundsBug_last", (), True),
        ("push_node_neighbor_boundsBug_last_atomicBug", ("atomicBug",), True),
        ("conditional_edge_neighbors_block_cond_syncBug_guardBug", ("guardBug", "syncBug"), False),
        ("path_compression_raceBug", ("raceBug",), False),
    ],
)
def test_file_names_state_the_mistakes(name: str, race_bugs: tuple[str, ...], has_bounds_bug: bool) -> None:
    kernel = SuiteKernel(Path(f"{name}.cu"))
    assert (kernel.name, kernel.race_bugs, kernel.has_bounds_bug) == (name, race_bugs, has_bounds_bug)


def test_suite_is_found_in_the_folder_of_the_artifact(tmp_path: Path) -> None:
    sources = tmp_path / "indigo" / "indigo_sources" / "push"
    sources.mkdir(parents=True)
    for name in ("push_b", "push_a"):
        (sources / f"{name}.cu").touch()
    for folder in (tmp_path, tmp_path / "indigo"):
        kernels, inputs = read_suite(folder)
        assert [kernel.name for kernel in kernels] == ["push_a", "push_b"]
        assert inputs == tmp_path / "indigo" / "input"


def test_folder_without_the_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_suite(tmp_path)


def test_graph_file_has_an_index_and_neighbours(tmp_path: Path) -> None:
    graph = read_graph(write_graph(tmp_path / "g.egr", [0, 2, 2, 3], [1, 2, 0]))
    assert (graph.index.tolist(), graph.neighbours.tolist(), graph.vertices) == ([0, 2, 2, 3], [1, 2, 0], 3)


def test_short_graph_file_is_refused(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "g.egr", [0, 2, 2, 3], [1, 2, 0])
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(UsageError):
        read_graph(path)


def test_data_arrays_have_the_values_of_rand() -> None:
    # The first values of rand() in the GNU C library: 1804289383, 846930886, 1681692777, 1714636915.
    graph = Graph(np.array([0, 2, 2, 3], np.int32), np.array([1, 2, 0], np.int32))
    data1, data2 = data_arrays(graph)
    assert data1.tolist() == [0, 1804289383 % 3, 846930886 % 3]
    assert data2.tolist() == [0, 1681692777 % 3, 1714636915 % 3]


@pytest.mark.parametrize(
    ("name", "body", "verdict"),
    [
        ("count_atomicBug", "if (i < numv) data1[0] += 1;", ("r", ".", "")),
        ("count", "if (i < numv) atomicAdd(data1, 1);", ("-", ".", "")),
        ("count_boundsBug_atomicBug", "data1[0] += nindex[i];", ("r", ".", "b")),
        ("clear_atomicBug", "if (i < numv) data2[0] = 0;", ("-", "e", "")),
        ("alone_atomicBug", "if (i < numv) data1[i] += data2[i];", ("-", "n", "")),
        ("guess_guardBug", "if (i < numv && data1[0] < i) atomicMax(data1, i);", ("w", ".", "")),
        ("unlabelled", "if (i < numv) data1[0] = max(data1[0], i);", ("r", "v", "")),
    ],
)
def test_verdict_of_a_kernel(name: str, body: str, verdict: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / f"{name}.cu"
    path.write_text(FORM.replace("BODY", body), encoding="utf-8")
    row = check_kernel(SuiteKernel(path), [write_graph(tmp_path / "g.egr", [0, 2, 2, 3], [1, 2, 0])])
    assert (row.races, row.conflicts, row.bounds, row.reports) == (*verdict, ())


@pytest.mark.parametrize(
    ("kinds", "changes", "expected"),
    [
        (("read", "read"), False, "nothing"),
        (("update", "update"), True, "nothing"),
        (("read", "update"), True, "values"),
        (("write", "update"), True, "values"),
        (("write", "write"), False, "equal values"),
    ],
)
def test_conflicts_of_two_threads(kinds: tuple[str, str], changes: bool, expected: str) -> None:
    accesses = [Access(1, 5, thread, kind, changes) for thread, kind in enumerate(kinds)]
    assert conflicts(accesses) == expected
    assert conflicts([Access(1, 5, 0, kind, changes) for kind in kinds]) == "nothing"


def test_page_counts_reports_beside_published_figures() -> None:
    rows = (
        KernelVerdicts("a_atomicBug", "r-", ".n"),
        KernelVerdicts("a_guardBug", "w-", ".n"),
        KernelVerdicts("b", "-r", ".v"),
    )
    page = indigo_page.page(IndigoFigures(("DAG_100n_200e", "DAG_5n_5e"), rows), [])
    assert "| DAG_100n_200e | 2 | 1 | 346 | 298 | 92 | 0 |" in page
    assert "| DAG_5n_5e | 0 | 0 | 182 | 118 | 92 | 1 |" in page


def test_page_is_that_of_the_stored_figures() -> None:
    figures = IndigoFigures.read(indigo_page.FIGURES)
    assert indigo_page.PAGE.read_text(encoding="utf-8") == indigo_page.page(figures, read_repair_verdicts())
