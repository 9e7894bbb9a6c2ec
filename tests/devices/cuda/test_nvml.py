"""NVML's queries, with a replacement of its library."""

from __future__ import annotations

import pytest

from gpulab.devices.cuda import nvml
from gpulab.devices.cuda.nvml import ClockState, InstalledGpu, MigSlice, Nvml, open_nvml
from tests.devices.cuda.fake_nvml import GIB, FakeGpu, FakeNvmlLibrary


def test_versions_of_driver_and_cuda() -> None:
    library = Nvml(FakeNvmlLibrary(driver="535.183.01", cuda=12020))
    assert (library.driver_version(), library.cuda_version()) == ("535.183.01", (12, 2))


def test_gpus_with_and_without_mig() -> None:
    parts = (FakeGpu("NVIDIA A100 MIG 3g.20gb", 20 * GIB), FakeGpu("NVIDIA A100 MIG 1g.5gb", None))
    gpus = (FakeGpu("NVIDIA T4", 15 * GIB, compute_mode=3), FakeGpu("NVIDIA A100", 40 * GIB, True, parts))
    assert Nvml(FakeNvmlLibrary(gpus)).gpus() == (
        InstalledGpu("NVIDIA T4", 15 * GIB, compute_mode="exclusive process"),
        InstalledGpu(
            "NVIDIA A100",
            40 * GIB,
            mig=True,
            slices=(
                MigSlice("NVIDIA A100 MIG 3g.20gb", 20 * GIB),
                MigSlice("NVIDIA A100 MIG 1g.5gb", None),
            ),
        ),
    )


def test_slices_of_a_gpu_that_is_not_in_mig_mode_are_not_listed() -> None:
    gpu = FakeGpu("NVIDIA A100", 40 * GIB, mig=False, slices=(FakeGpu("old slice"),))
    assert Nvml(FakeNvmlLibrary([gpu])).gpus() == (InstalledGpu("NVIDIA A100", 40 * GIB),)


def test_clock_has_the_reasons_for_its_limit_except_idleness() -> None:
    gpus = (
        FakeGpu("a", bus_id="0000:01:00.0"),
        FakeGpu("b", bus_id="0000:02:00.0", clock=1200, reasons=0x25),
    )
    library = Nvml(FakeNvmlLibrary(gpus))
    assert library.clock_state("0000:02:00.0") == ClockState(1200, ("power limit", "temperature"))
    assert library.clock_state("0000:01:00.0") == ClockState(1980, ())
    assert library.clock_state("0000:09:00.0") is None


def test_clock_that_a_gpu_does_not_report_is_unknown() -> None:
    assert Nvml(FakeNvmlLibrary([FakeGpu("a", clock=None)])).clock_state("0000:01:00.0") == ClockState(
        None, ()
    )


def test_functions_that_an_old_driver_lacks_are_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(FakeNvmlLibrary, "nvmlDeviceGetMigMode")
    monkeypatch.delattr(FakeNvmlLibrary, "nvmlSystemGetCudaDriverVersion_v2")
    library = Nvml(FakeNvmlLibrary([FakeGpu("NVIDIA K40", 12 * GIB)], driver="340.29"))
    assert library.cuda_version() is None
    assert library.gpus() == (InstalledGpu("NVIDIA K40", 12 * GIB),)


@pytest.mark.parametrize("installed", [False, True])
def test_library_that_cannot_be_used_is_not_opened(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> FakeNvmlLibrary:
        if not installed:
            raise OSError(name)
        return FakeNvmlLibrary(initialised=False)

    monkeypatch.setattr(nvml.ctypes, "CDLL", load)
    open_nvml.cache_clear()
    assert open_nvml() is None
    open_nvml.cache_clear()
