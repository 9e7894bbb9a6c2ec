"""The doctor: every item is reported, whatever is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpulab import doctor
from gpulab.errors import GpulabError


@pytest.fixture(scope="module")
def items():
    return {item.name: item for item in doctor.diagnose()}


def test_every_part_is_looked_at(items):
    assert list(items) == ["Python", "NVRTC", "llvmlite", "CuPy", "Device", "Jupyter", "nbgrader"]


def test_what_works_needs_no_remedy_and_what_does_not_has_one(items):
    assert all(item.ok != bool(item.remedy) for item in items.values())


def test_nvrtc_really_compiles(items):
    assert items["NVRTC"].ok
    assert "registers" in items["NVRTC"].detail


def test_the_vector_width_of_this_processor_is_known(items):
    assert "bits" in items["llvmlite"].detail


def test_a_missing_package_is_an_item_with_a_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)  # importing it fails
    item = next(item for item in doctor.diagnose() if item.name == "llvmlite")
    assert (item.ok, item.remedy) == (False, "pip install llvmlite")


def test_a_compiler_that_does_not_work_says_why_in_its_own_words(monkeypatch):
    def broken(source):
        raise GpulabError("NVRTC does not load")

    monkeypatch.setattr("gpulab.compiler.compile_program", broken)
    item = next(item for item in doctor.diagnose() if item.name == "NVRTC")
    assert (item.ok, item.detail) == (False, "NVRTC does not load")


def test_packages_that_are_not_installed_are_named(monkeypatch):
    def missing(name):
        raise doctor.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", missing)
    jupyter = next(item for item in doctor.diagnose() if item.name == "Jupyter")
    assert (jupyter.ok, "jupyterlab" in jupyter.detail) == (False, True)


def test_importing_the_doctor_loads_nothing_heavy():
    heavy = "{'IPython', 'cupy', 'llvmlite', 'numpy', 'cuda.bindings'}"
    code = f"import sys, gpulab.doctor; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
