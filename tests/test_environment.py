"""Installing: environment.yml (conda, Binder) and pyproject.toml (pip) agree, and texts name no index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
Requirements = dict[str, tuple[SpecifierSet, str]]  # version bounds and marker, by package

# Packages that only a conda environment requires.
CONDA_ITSELF = {"python", "pip"}


def requirements(lines: list[str]) -> Requirements:
    parsed = [Requirement(line) for line in lines]
    return {canonicalize_name(r.name): (r.specifier, str(r.marker or "")) for r in parsed}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


@pytest.fixture(scope="module")
def conda() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    return document


@pytest.fixture(scope="module")
def conda_lines(conda: dict[str, Any]) -> list[str]:
    return [d for d in conda["dependencies"] if isinstance(d, str)]


@pytest.fixture(scope="module")
def pip_lines(conda: dict[str, Any]) -> list[str]:
    return next(d["pip"] for d in conda["dependencies"] if isinstance(d, dict))


def test_conda_and_pip_have_the_same_requirements(
    project: dict[str, Any], conda_lines: list[str], pip_lines: list[str]
) -> None:
    # Only python=3.12 uses conda's single `=`; all other lines are valid for both tools.
    packages = [line for line in conda_lines if line.partition("=")[0] not in CONDA_ITSELF]
    packages += [line for line in pip_lines if not line.startswith("-e")]
    assert requirements(packages) == requirements(
        project["dependencies"] + project["optional-dependencies"]["lab"]
    )


def test_no_package_is_required_twice(conda_lines: list[str], pip_lines: list[str]) -> None:
    names = [Requirement(line).name for line in conda_lines if "==" in line or ">" in line]
    names += [Requirement(line).name for line in pip_lines if not line.startswith("-e")]
    assert len(names) == len(set(names))


def test_environment_installs_gpulab(pip_lines: list[str]) -> None:
    assert "-e ." in pip_lines


def test_python_of_the_environment_is_allowed_by_the_project(
    project: dict[str, Any], conda_lines: list[str]
) -> None:
    python = next(line.removeprefix("python=") for line in conda_lines if line.startswith("python="))
    assert python in SpecifierSet(project["requires-python"])


def test_core_requires_nothing_of_jupyter(project: dict[str, Any]) -> None:
    core = set(requirements(project["dependencies"]))
    assert core.isdisjoint(requirements(project["optional-dependencies"]["lab"]))


def test_no_text_installs_gpulab_by_its_name() -> None:
    # Whoever takes the name on an index would be installed.
    folders = [ROOT / name for name in ("src", "labs", "grading", "docs", "benchmarks")]
    files = [*ROOT.glob("*.*"), *(file for folder in folders for file in folder.rglob("*.*"))]
    install = re.compile(r"install[^\n]{0,40}[ \"'`]gpulab\b(\[|[\"'`]|$)", re.MULTILINE)
    found = [
        str(file.relative_to(ROOT))
        for file in files
        if file.suffix in {".py", ".md", ".ipynb", ".yml", ".toml"}
        if install.search(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_claimed_systems_have_the_compiler(project: dict[str, Any]) -> None:
    systems = {line for line in project["classifiers"] if line.startswith("Operating System")}
    assert systems == {"Operating System :: POSIX :: Linux", "Operating System :: Microsoft :: Windows"}
