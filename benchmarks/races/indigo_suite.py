"""The kernels of the Indigo suite, the mistakes that their names state, and the input of their launches.

Indigo (Liu, Azami, Walters and Burtscher, ISPASS 2022) consists of small graph kernels with planted mistakes.
It is in the folder `indigo` of HiRace's artifact (Jacobson, Burtscher and Gopalakrishnan, SC 2024):
https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpulab.errors import UsageError

__all__ = [
    "BLOCK",
    "GRAPHS",
    "GRID",
    "RACE_BUGS",
    "Graph",
    "Integers",
    "SuiteKernel",
    "data_arrays",
    "read_graph",
    "read_suite",
]

GRID, BLOCK = 1024, 256  # of all launches, from the artifact's scripts/hirace_experiments.py
GRAPHS = (
    "DAG_100n_200e", "DAG_200n_400e", "counterDAG_200n_1000e", "power_law_200n_1000e",
    "DAG_5n_5e", "counterDAG_5n_5e",
)  # fmt: skip
RACE_BUGS = frozenset(("atomicBug", "guardBug", "raceBug", "syncBug"))

Integers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class SuiteKernel:
    """One source file of the suite.

    Examples
    --------
    >>> kernel = SuiteKernel(Path("push_node_neighbor_boundsBug_last_atomicBug.cu"))
    >>> kernel.name, kernel.bugs, kernel.race_bugs, kernel.has_bounds_bug
    ('push_node_neighbor_boundsBug_last_atomicBug', ('atomicBug', 'boundsBug'), ('atomicBug',), True)
    """

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def bugs(self) -> tuple[str, ...]:
        """The planted mistakes, which the file name states."""
        return tuple(sorted(part for part in self.name.split("_") if part.endswith("Bug")))

    @property
    def race_bugs(self) -> tuple[str, ...]:
        """The mistakes that cause a race; a kernel with none of them has the label "no race"."""
        return tuple(bug for bug in self.bugs if bug in RACE_BUGS)

    @property
    def has_bounds_bug(self) -> bool:
        return "boundsBug" in self.bugs


@dataclass(frozen=True)
class Graph:
    """A directed graph in compressed rows.

    Attributes
    ----------
    index : ndarray
        For each vertex, where its edges begin in `neighbours`, and the number of edges at the end.
    neighbours : ndarray
        The vertex that each edge leads to.
    """

    index: Integers
    neighbours: Integers

    @property
    def vertices(self) -> int:
        return len(self.index) - 1


def read_suite(folder: Path) -> tuple[list[SuiteKernel], Path]:
    """Return the kernels of the suite, by name, and the folder of its graphs."""
    root = folder / "indigo" if (folder / "indigo").is_dir() else folder
    kernels = [SuiteKernel(path) for path in root.glob("indigo_sources/*/*.cu")]
    if not kernels:
        raise UsageError(f"{folder} has no folder `indigo_sources` with kernels; give the artifact's folder.")
    return sorted(kernels, key=lambda kernel: kernel.name), root / "input"


def read_graph(path: Path) -> Graph:
    """Read a graph file: the numbers of vertices and edges, then the two arrays, all 32-bit integers."""
    data = path.read_bytes()
    vertices, edges = struct.unpack_from("<ii", data)
    values = np.frombuffer(data, "<i4", offset=8).astype(np.int32)
    if len(values) < vertices + 1 + edges:
        raise UsageError(f"{path} ends before its {edges} edges.")
    return Graph(values[: vertices + 1], values[vertices + 1 :][:edges])


def data_arrays(graph: Graph) -> tuple[Integers, Integers]:
    """Return the arrays `data1` and `data2` as the suite's `main` fills them: 0, then random numbers."""
    vertices, edges = graph.vertices, max(len(graph.neighbours), 1)
    size = max(vertices, edges)
    numbers = _random_numbers(2 * (size - 1))
    data1 = np.concatenate([[0], numbers[: size - 1] % vertices])
    data2 = np.concatenate([[0], numbers[size - 1 :] % edges])
    return data1.astype(np.int32), data2.astype(np.int32)


@cache
def _random_numbers(count: int) -> npt.NDArray[np.int64]:
    """Return the first values of `rand()` in the GNU C library, without a call of `srand`."""
    return np.fromiter(islice(_generate(), count), np.int64, count)


def _generate() -> Iterator[int]:
    # The additive generator x[i] = x[i - 3] + x[i - 31], of which the first 310 values are dropped.
    state = [1]
    while len(state) < 31:
        state.append(16807 * state[-1] % 0x7FFFFFFF)
    state += state[:3]
    for number in range(34, 1 << 62):
        state.append((state[-31] + state[-3]) & 0xFFFFFFFF)
        if number >= 344:
            yield state[-1] >> 1
        state = state[-31:]
