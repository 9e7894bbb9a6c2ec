"""The doctor reports the state of every component, even if some are missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpulab import doctor
from gpulab.errors import GpulabError


@pytest.fixture(scope="module")
def items():
    return {item.name: item for item in doctor.diagnose()}


def test_diagnose_reports_every_component(items):
    names = "Python NVRTC Headers llvmlite CuPy Device Memory Jupyter nbgrader"
    assert list(items) == names.split()


def test_item_has_a_remedy_if_and_only_if_it_fails(items):
    assert all(item.ok != bool(item.remedy) for item in items.values())


def test_nvrtc_item_compiles_a_kernel(items):
    assert items["NVRTC"].ok
    assert "registers" in items["NVRTC"].detail


def test_headers_item_names_the_command_that_installs_a_missing_extra(monkeypatch):
    monkeypatch.setattr("gpulab.compiler.preprocess.headers._other_folders", lambda: iter(()))
    item = next(item for item in doctor.diagnose() if item.name == "Headers")
    assert item.ok
    assert "CUB" in item.detail
    assert "pip install 'gpulab[curand]'" in item.detail


def test_llvmlite_item_has_the_vector_width(items):
    assert "bits" in items["llvmlite"].detail


def test_missing_package_has_a_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)  # importing it fails
    item = next(item for item in doctor.diagnose() if item.name == "llvmlite")
    assert (item.ok, item.remedy) == (False, "pip install llvmlite")


def test_failing_compiler_is_reported_with_its_message(monkeypatch):
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


def test_import_of_the_doctor_loads_no_large_package():
    heavy = "{'IPython', 'cupy', 'llvmlite', 'numpy', 'cuda.bindings'}"
    code = f"import sys, gpulab.doctor; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
