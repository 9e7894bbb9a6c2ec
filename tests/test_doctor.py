"""The doctor reports the state of every component, even if some are missing."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest

from gpulab import doctor
from gpulab.compiler import nvrtc
from gpulab.compiler.preprocess import headers
from gpulab.devices.cuda import gpu_diagnosis
from gpulab.devices.cuda.nvml import Nvml
from gpulab.devices.simulator.simulated_device import SimulatedDevice
from gpulab.errors import GpulabError
from gpulab.installation import install_command
from tests.devices.cuda.fake_nvml import GIB, FakeGpu, FakeNvmlLibrary


@pytest.fixture(scope="module")
def items():
    return {item.name: item for item in doctor.diagnose()}


def test_diagnose_reports_every_component(items):
    first = ["Python", "Packages", "NVRTC", "Headers", "llvmlite", "Simulator", "Driver", "GPUs", "CuPy"]
    assert list(items) == [*first, "Counters", "Device", "Memory", "Jupyter", "nbgrader", "Sandbox"]


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
    assert install_command("curand") in item.detail


def test_llvmlite_item_has_the_vector_width(items):
    assert "bits" in items["llvmlite"].detail


def test_missing_package_has_a_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)  # importing it fails
    item = next(item for item in doctor.diagnose() if item.name == "llvmlite")
    assert not item.ok
    assert "pip install 'llvmlite>=" in item.remedy


def test_simulator_that_cannot_compile_is_reported_with_the_error_of_llvm(monkeypatch):
    def refuse(text):
        raise RuntimeError("LLVM IR parsing error\n<string>:9:3: error: invalid intrinsic signature")

    monkeypatch.setenv("GPULAB_CACHE", "off")
    monkeypatch.setattr("llvmlite.binding.parse_assembly", refuse)
    item = next(item for item in doctor.diagnose() if item.name == "Simulator")
    assert not item.ok
    assert "invalid intrinsic signature" in item.detail


def test_simulator_that_computes_wrong_values_is_reported(monkeypatch):
    monkeypatch.setattr(SimulatedDevice, "asnumpy", lambda self, array: np.zeros(array.shape))
    item = next(item for item in doctor.diagnose() if item.name == "Simulator")
    assert not item.ok
    assert "wrong values" in item.detail


def test_package_that_is_too_old_is_named_with_the_version_needed(monkeypatch):
    found = importlib.metadata.version
    old = {"llvmlite": "0.47.0", "numba": "0.65.1"}
    monkeypatch.setattr("gpulab.installation.version", lambda name: old.get(name) or found(name))
    item = next(item for item in doctor.diagnose() if item.name == "Packages")
    assert not item.ok
    assert "0.47.0" in item.detail
    assert "'llvmlite>=0.48' 'numba>=0.66'" in item.remedy


def test_nvrtc_that_cannot_be_imported_is_reported_with_the_exception(monkeypatch, unloaded_nvrtc):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    item = next(item for item in doctor.diagnose() if item.name == "NVRTC")
    assert not item.ok
    assert "import of cuda.bindings halted" in item.detail


def test_macos_is_not_advised_to_install_what_does_not_exist_there(monkeypatch, unloaded_nvrtc):
    monkeypatch.setattr(sys, "platform", "darwin")
    items = doctor.diagnose()
    assert "macOS" in next(item.detail for item in items if item.name == "NVRTC")
    assert [item.name for item in items if "cuda" in item.remedy or "cuda-" in item.detail] == []


@pytest.fixture
def unloaded_nvrtc():
    """Let the next use of NVRTC load it anew, and the first one after the test."""
    cached = (nvrtc._binding, nvrtc.version, headers._bundled_folders)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


@pytest.fixture
def nvml(monkeypatch):
    """Replace NVML's library; returns the function that sets the replacement."""

    def install(*gpus, **options):
        library = Nvml(FakeNvmlLibrary(gpus, **options))
        monkeypatch.setattr("gpulab.devices.cuda.nvml.open_nvml", lambda: library)
        monkeypatch.setattr("gpulab.compiler.nvrtc.version", lambda: (13, 5))
        return {item.name: item for item in doctor.diagnose()}

    return install


def test_machine_without_a_driver_needs_nothing(monkeypatch):
    monkeypatch.setattr("gpulab.devices.cuda.nvml.open_nvml", lambda: None)
    monkeypatch.setattr("gpulab.devices.cuda.cuda_context.has_driver", lambda: False)
    items = {item.name: item for item in doctor.diagnose()}
    assert items["Driver"].ok
    assert items["GPUs"].ok


def test_driver_as_new_as_the_compiler_works(nvml):
    items = nvml(FakeGpu("NVIDIA H200"), driver="580.65.06", cuda=13000)
    assert (items["Driver"].ok, items["GPUs"].ok) == (True, True)
    assert "580.65.06, for programs of CUDA 13.0" in items["Driver"].detail
    assert items["GPUs"].detail == "NVIDIA H200 (141 GiB)"


def test_driver_older_than_the_compiler_is_to_be_updated_even_with_a_wheel_for_it(nvml):
    driver = nvml(FakeGpu("NVIDIA T4"), driver="535.183.01", cuda=12020)["Driver"]
    assert not driver.ok
    assert "CUDA 12.2" in driver.detail
    assert "NVRTC 13.5" in driver.detail
    assert "CuPy is for CUDA 12" in driver.detail
    assert "580" in driver.remedy
    assert "GPULAB_DEVICE=sim" in driver.remedy


def test_several_gpus_are_listed_with_the_way_to_choose_one(nvml, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    gpus = nvml(FakeGpu("NVIDIA H200"), FakeGpu("NVIDIA T4", 15 * GIB))["GPUs"]
    assert gpus.ok
    assert gpus.detail.startswith("2 GPUs: NVIDIA H200 (141 GiB), NVIDIA T4 (15 GiB)")
    assert "GPULAB_DEVICE=cuda:1" in gpus.detail
    assert "CUDA_VISIBLE_DEVICES=1" in gpus.detail


def test_mig_slices_are_listed(nvml):
    parts = (FakeGpu("A100 MIG 3g.20gb", 20 * GIB), FakeGpu("A100 MIG 1g.5gb", 5 * GIB))
    gpus = nvml(FakeGpu("NVIDIA A100", 40 * GIB, mig=True, slices=parts))["GPUs"]
    assert gpus.ok
    assert "A100 MIG 3g.20gb (20 GiB), A100 MIG 1g.5gb (5 GiB)" in gpus.detail
    assert "one MIG slice" in gpus.detail


def test_mig_mode_without_slices_cannot_be_used(nvml):
    gpus = nvml(FakeGpu("NVIDIA A100", 40 * GIB, mig=True))["GPUs"]
    assert not gpus.ok
    assert "nvidia-smi mig" in gpus.remedy


def test_one_process_for_each_gpu_is_too_few(nvml):
    gpus = nvml(FakeGpu("NVIDIA T4", compute_mode=3))["GPUs"]
    assert not gpus.ok
    assert "exclusive process" in gpus.detail
    assert "nvidia-smi -c DEFAULT" in gpus.remedy


def test_driver_without_a_gpu_is_reported(nvml):
    assert not nvml()["GPUs"].ok


@pytest.mark.parametrize(("user", "restricted"), [(1000, True), (0, False)])
def test_counters_may_be_restricted_to_administrators(user, restricted, monkeypatch, tmp_path):
    parameters = tmp_path / "params"
    parameters.write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n", encoding="utf-8")
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert gpu_diagnosis.counters_restricted(parameters) is restricted
    found = gpu_diagnosis.diagnose_counters(restricted)
    assert found.ok
    assert ("ERR_NVGPUCTRPERM" in found.detail) is restricted
    assert "simulator" in found.detail


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
