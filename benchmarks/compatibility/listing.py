"""The `__global__` functions of a folder of CUDA sources, and the programs that contain them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpulab.compiler.extraction.device_side import ExtractedCell, extract, read_items
from gpulab.compiler.extraction.top_level import ItemKind, items_of
from gpulab.compiler.preprocess.phases import read_source
from gpulab.errors import GpulabError, UsageError

__all__ = ["SUITES", "ListedKernel", "Suite", "cell_of", "list_kernels", "suite_of"]

_SUFFIXES = frozenset((".cu", ".cuh", ".h", ".hpp", ".c", ".cpp"))
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """A repository: its name, the folders whose kernels count, and where its headers are."""

    name: str
    folders: tuple[str, ...]
    headers: tuple[str, ...] = ()


SUITES = (
    Suite("SGEMM_CUDA", ("src/kernels", "simplest_kernel.cu")),
    Suite("llm.c", ("dev/cuda",)),
    Suite("cuda-samples", ("Samples",), ("Common",)),
    Suite("rodinia", ("cuda",)),
)


@dataclass(frozen=True, order=True)
class ListedKernel:
    """A `__global__` function with a body.

    Attributes
    ----------
    suite, file, name : str
        The repository, the file in it, and the name of the function.
    is_template : bool
        True for a template.
    """

    suite: str
    file: str
    name: str
    is_template: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        return self.suite, self.file, self.name


def suite_of(folder: Path) -> Suite:
    """Return the repository that is in a folder."""
    for each in SUITES:
        if all((folder / part).exists() for part in each.folders) and (
            each.name != "rodinia" or (folder / "cuda" / "bfs").is_dir()
        ):
            return each
    names = ", ".join(each.name for each in SUITES)
    raise UsageError(f"{folder} is none of the repositories {names}.")


def list_kernels(folder: Path) -> list[ListedKernel]:
    """Return all kernels of a repository, by file and in the order of the file."""
    suite = suite_of(folder)
    kernels = []
    for part in suite.folders:
        root = folder / part
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.suffix not in _SUFFIXES or not path.is_file():
                continue
            text = path.read_text(encoding="utf-8-sig", errors="replace")
            if "__global__" not in text:
                continue
            file = path.relative_to(folder).as_posix()
            kernels += [ListedKernel(suite.name, file, name, template) for name, template in _kernels(text)]
    return list({kernel.key: kernel for kernel in kernels}.values())


def _kernels(text: str) -> Iterator[tuple[str, bool]]:
    for item in items_of(read_source(text)):
        if item.kind is ItemKind.KERNEL and item.tokens[-1].text == "}":
            for name in sorted(item.names):
                yield name, item.tokens[0].text == "template" and item.tokens[2].text != ">"


def cell_of(folder: Path, kernel: ListedKernel, setup: str = "") -> ExtractedCell:
    """Return the device side of a kernel: extracted from its file, or from a program that includes the file.

    Parameters
    ----------
    folder : Path
        The folder of the repository.
    kernel : ListedKernel
        The kernel.
    setup : str
        Text of our own that is appended to the program.

    Raises
    ------
    UsageError
        If no cell with the kernel is found.
    """
    suite = suite_of(folder)
    path = folder / kernel.file
    headers = [folder / each for each in suite.headers]
    for program in _programs(path):
        own = [*headers, program.parent, program.parent / "inc", program.parent.parent / "inc"]
        try:
            added = items_of(read_source(setup)) if setup else []
            cells = extract([*read_items(program, own).items, *added])
        except GpulabError:
            continue
        for cell in cells:
            if kernel.name in cell.kernels:
                return cell
    raise UsageError(f"`gpulab extract` does not find {kernel.name} in {kernel.file}.")


def _programs(path: Path) -> list[Path]:
    """Return the programs that include a file, then headers that do, and the file."""
    includers = _includers(path)
    found, queue = [path], [path]
    while queue:
        others = [other for other in includers.get(queue.pop(0).name, []) if other not in found]
        found += others
        queue += others
    programs = [other for other in found[1:] if not includers.get(other.name)]
    return [*sorted(programs, key=lambda program: program.suffix.startswith(".h")), path]


_INCLUDERS: dict[Path, dict[str, list[Path]]] = {}


def _includers(path: Path) -> dict[str, list[Path]]:
    """Return the files near a file that include each header, by the header's name without folders."""
    root = (
        path.parent.parent if path.parent.name in ("inc", "src", "kernel", "kernels", "CUDA") else path.parent
    )
    if root not in _INCLUDERS:
        found: dict[str, list[Path]] = defaultdict(list)
        for other in sorted(root.rglob("*")):
            if other.suffix in _SUFFIXES and other.is_file():
                for name in _INCLUDE.findall(other.read_text(encoding="utf-8-sig", errors="replace")):
                    found[name.rpartition("/")[2]].append(other)
        _INCLUDERS[root] = dict(found)
    return _INCLUDERS[root]
