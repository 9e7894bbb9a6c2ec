"""The rooms of the design, checked on the source text: who may import whom, and modules' names."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent / "src"
MODULES = sorted((ROOT / "gpulab").rglob("*.py"))

# Imports go from a higher number to a lower or an equal one.
ROOMS = {"compile": 0, "run": 1, "evidence": 2, "page": 3}
ROOM_OF = {
    "compiler": "compile",
    "simt": "run",
    "devices": "run",
    "model": "evidence",
    "problems": "evidence",
    "cell": "evidence",
    "registry": "evidence",
    "evidence": "evidence",
    "timing": "evidence",
    "notebook": "page",
    "grading": "page",
    "cli": "page",
    "doctor": "page",
    "terminal": "page",
    "__init__": "page",
    "__main__": "page",
}
FREE_TO_ALL = {"cache", "elf", "errors", "finding"}

# The parts of Jupyter, and the folders that may import them.
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
# Distributions that are imported by another name.
IMPORT_NAMES = {"cuda-bindings": "cuda", "nvidia-cuda-nvrtc": "nvidia", "ipython": "IPython"}
NAMES_THAT_SAY_NOTHING = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc"}


def imported_names(module: Path) -> Iterator[str]:
    """Every absolute name that a module imports, wherever the import stands; `from a import b` gives a.b."""
    package = module.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def part_of(name: str) -> str:
    """The folder or file right under gpulab that a dotted name lies in."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def own_part(module: Path) -> str:
    return module.relative_to(ROOT / "gpulab").parts[0].removesuffix(".py")


def own_imports(module: Path) -> set[str]:
    names = {name for name in imported_names(module) if name.split(".")[0] == "gpulab"}
    parts = {part_of(name) for name in names}
    # `from gpulab import X` means the front door when X is no module of its own.
    return {p if p in ROOM_OF or p in FREE_TO_ALL else "__init__" for p in parts}


def in_words(module: Path) -> str:
    return str(module.relative_to(ROOT))


@pytest.mark.parametrize("module", MODULES, ids=in_words)
def test_every_module_has_a_room(module: Path) -> None:
    assert own_part(module) in ROOM_OF.keys() | FREE_TO_ALL


@pytest.mark.parametrize("module", MODULES, ids=in_words)
def test_imports_point_one_way(module: Path) -> None:
    here = own_part(module)
    imports = own_imports(module) - FREE_TO_ALL
    if here in FREE_TO_ALL:
        assert not imports
        return
    level = ROOMS[ROOM_OF[here]]
    assert {part for part in imports if ROOMS[ROOM_OF[part]] > level} == set()


@pytest.mark.parametrize("module", MODULES, ids=in_words)
def test_the_simulator_knows_nothing_of_labs(module: Path) -> None:
    if own_part(module) == "simt":
        assert own_imports(module) <= {"simt", "compiler", "devices"} | FREE_TO_ALL


@pytest.mark.parametrize("module", MODULES, ids=in_words)
def test_jupyter_stays_in_its_room(module: Path) -> None:
    here = own_part(module)
    found = {name.split(".")[0] for name in imported_names(module)} & JUPYTER.keys()
    assert {name for name in found if here not in JUPYTER[name]} == set()


@pytest.mark.parametrize("module", MODULES, ids=in_words)
def test_a_modules_name_says_what_it_is_for(module: Path) -> None:
    assert not set(module.relative_to(ROOT).with_suffix("").parts) & NAMES_THAT_SAY_NOTHING


@pytest.mark.parametrize("module", MODULES, ids=in_words)
def test_a_modules_first_line_says_what_it_is_for(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))


def asked_for(*extras: str) -> set[str]:
    """Import names of what pyproject.toml's core and these extras ask for."""
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(r for e in extras for r in project["optional-dependencies"][e])]
    names = {canonicalize_name(Requirement(line).name) for line in lines}
    return {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}


@pytest.mark.parametrize(("page", "extras"), [(False, ()), (True, ("lab",))], ids=["core", "page"])
def test_what_is_imported_is_asked_for(page: bool, extras: tuple[str, ...]) -> None:
    # CuPy is imported where there is a GPU to ask; its distribution's name depends on the driver.
    allowed = asked_for(*extras) | {"gpulab", "cupy", "cupyx"} | sys.stdlib_module_names
    found = {
        (in_words(module), top)
        for module in MODULES
        if (ROOM_OF.get(own_part(module)) == "page") == page
        for top in (name.split(".")[0] for name in imported_names(module))
        if top not in allowed
    }
    assert found == set()
