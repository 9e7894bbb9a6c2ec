"""The architecture of docs/architecture.md, checked on the source text.

Imports inside functions, under `TYPE_CHECKING` and by string (`import_module("gpulab.x")`) count.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent / "src"
MODULES = sorted((ROOT / "gpulab").rglob("*.py"))

# A part (a folder or a file directly below gpulab) imports parts of its own tier and of those before it.
TIERS = (
    {
        "errors",
        "finding",
        "cache",
        "entry_points",
        "garbage_collection",
        "installation",
        "provenance",
        "worker_process",
        "gpus",
    },
    {"compiler", "simt"},
    {"devices", "problems"},
    {"cell", "config", "session"},
    {"verification", "profiling", "model", "timing"},
    {"views", "exploration"},
    {"opening", "exercises"},
    {"notebook", "grading", "doctor", "cli"},
    {"__init__", "__main__", "released_names"},
)
TIER_OF = {part: tier for tier, parts in enumerate(TIERS) for part in parts}
# The parts that a part of the same tier must not import.
FORBIDDEN = {"compiler": {"simt"}, "grading": {"cli"}, "notebook": {"cli"}}

JUPYTER = {
    "IPython": {"notebook"},
    "anywidget": {"notebook"},
    "ipywidgets": {"notebook"},
    "plotly": {"notebook"},
    "ipykernel": {"notebook"},
    "jupyter_client": {"grading"},
    "jupyter_core": {"grading"},
    "nbclient": {"grading"},
    "nbconvert": {"grading"},
    "nbformat": {"grading"},
    "nbgrader": {"grading"},
    "traitlets": {"notebook", "grading"},
}
# Distributions whose import name differs from their own.
IMPORT_NAMES = {"cuda-bindings": "cuda", "nvidia-cuda-nvrtc": "nvidia", "ipython": "IPython"}
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc"}
SHARED_NAMES = {"__init__", "__main__", "base"}


def dotted(module: Path) -> str:
    return ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {dotted(module): module for module in MODULES}


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


@cache
def imported_names(module: Path) -> frozenset[str]:
    """Return every absolute name that a module imports; `from a import b` gives a.b."""
    return frozenset(_imported_names(module))


def _imported_names(module: Path) -> Iterator[str]:
    package = module.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value in NAMES
            and "released_names" not in module.name
        ):
            yield node.value  # a module that is imported by its name


def imported_modules(module: Path) -> set[str]:
    """Return the modules of gpulab that a module imports, itself excluded."""
    found = set()
    for name in imported_names(module):
        if name in NAMES:
            found.add(name)
        elif name.rpartition(".")[0] in NAMES:
            found.add(name.rpartition(".")[0])
    # Every module imports the package, and `from gpulab import x` a lazily loaded name of it.
    return found - {dotted(module), "gpulab"}


def part_of(name: str) -> str:
    """Return the folder or file directly below gpulab that a dotted name belongs to."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def relative(module: Path) -> str:
    return str(module.relative_to(ROOT))


def test_imports_point_one_way() -> None:
    wrong = []
    for module in MODULES:
        part = part_of(dotted(module))
        imports = {part_of(name) for name in imported_modules(module)} - {part}
        upward = {name for name in imports if TIER_OF[name] > TIER_OF[part]}
        wrong += [f"{relative(module)}: {name}" for name in upward | (imports & FORBIDDEN.get(part, set()))]
    assert wrong == []


def test_no_cycle_of_modules() -> None:
    graph = {name: imported_modules(module) for name, module in NAMES.items() if name != "gpulab"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_every_part_has_a_tier() -> None:
    assert {part_of(name) for name in NAMES} == set(TIER_OF)


def test_module_names_are_unique() -> None:
    names = [m.stem for m in MODULES if m.stem not in SHARED_NAMES and m.parent.name != "cli"]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_class_names_are_unique() -> None:
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(relative(module))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_text_of_package_data_is_read_with_an_encoding() -> None:
    # Ruff's rule (PLW1514) sees `open` and `Path`, not the files of `importlib.resources`.
    found = [
        f"{relative(module)}:{node.lineno}"
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr == "read_text" and not node.args and not node.keywords
    ]
    assert found == []


def test_only_some_parts_import_jupyter() -> None:
    wrong = []
    for module in MODULES:
        packages = {name.split(".")[0] for name in imported_names(module)} & JUPYTER.keys()
        part = part_of(dotted(module))
        wrong += [f"{relative(module)}: {name}" for name in packages if part not in JUPYTER[name]]
    assert wrong == []


def test_modules_have_telling_names() -> None:
    parts = {module: set(module.relative_to(ROOT).with_suffix("").parts) for module in MODULES}
    assert [relative(module) for module in MODULES if parts[module] & VAGUE_NAMES] == []


def test_modules_have_docstrings() -> None:
    assert [relative(module) for module in MODULES if not ast.get_docstring(tree(module))] == []


def requirements(*extras: str) -> set[str]:
    """Return the import names of the core dependencies and of these extras in pyproject.toml."""
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(r for e in extras for r in project["optional-dependencies"][e])]
    names = {canonicalize_name(Requirement(line).name) for line in lines}
    return {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}


@pytest.mark.parametrize(("jupyter", "extras"), [(False, ()), (True, ("lab",))], ids=["core", "lab"])
def test_imported_distributions_are_declared(jupyter: bool, extras: tuple[str, ...]) -> None:
    # CuPy is imported only where there is a GPU; its distribution's name depends on the driver.
    allowed = requirements(*extras) | {"gpulab", "cupy", "cupyx"} | sys.stdlib_module_names
    found = {
        (relative(module), top)
        for module in MODULES
        if (TIER_OF[part_of(dotted(module))] >= TIER_OF["views"]) == jupyter
        for top in (name.split(".")[0] for name in imported_names(module))
        if top not in allowed
    }
    assert found == set()
