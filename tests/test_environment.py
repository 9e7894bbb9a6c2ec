"""environment.yml (conda, Binder) and pyproject.toml (pip) ask for the same packages and bounds."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
Wanted = dict[str, tuple[SpecifierSet, str]]  # by name: bounds and marker

# What an environment needs besides the project's own requirements.
CONDA_ITSELF = {"python", "pip"}


def wanted(lines: list[str]) -> Wanted:
    found = [Requirement(line) for line in lines]
    return {canonicalize_name(r.name): (r.specifier, str(r.marker or "")) for r in found}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


@pytest.fixture(scope="module")
def conda() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def conda_lines(conda: dict[str, Any]) -> list[str]:
    return [d for d in conda["dependencies"] if isinstance(d, str)]


@pytest.fixture(scope="module")
def pip_lines(conda: dict[str, Any]) -> list[str]:
    return next(d["pip"] for d in conda["dependencies"] if isinstance(d, dict))


def test_conda_and_pip_ask_for_the_same(
    project: dict[str, Any], conda_lines: list[str], pip_lines: list[str]
) -> None:
    # Only python=3.12 has conda's single `=`; the others are valid for both tools.
    packages = [line for line in conda_lines if line.partition("=")[0] not in CONDA_ITSELF]
    packages += [line for line in pip_lines if not line.startswith("-e")]
    assert wanted(packages) == wanted(project["dependencies"] + project["optional-dependencies"]["lab"])


def test_no_package_is_asked_for_twice(conda_lines: list[str], pip_lines: list[str]) -> None:
    names = [Requirement(line).name for line in conda_lines if "==" in line or ">" in line]
    names += [Requirement(line).name for line in pip_lines if not line.startswith("-e")]
    assert len(names) == len(set(names))


def test_the_environment_installs_gpulab_itself(pip_lines: list[str]) -> None:
    assert "-e ." in pip_lines


def test_the_python_of_the_environment_is_one_that_the_project_allows(
    project: dict[str, Any], conda_lines: list[str]
) -> None:
    python = next(line.removeprefix("python=") for line in conda_lines if line.startswith("python="))
    assert python in SpecifierSet(project["requires-python"])


def test_the_core_asks_for_nothing_of_jupyter(project: dict[str, Any]) -> None:
    core = set(wanted(project["dependencies"]))
    assert core.isdisjoint(wanted(project["optional-dependencies"]["lab"]))
