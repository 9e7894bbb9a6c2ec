"""Tests of copies between host and device, modelled on the simulator and measured on a fake GPU."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import gpulab
from gpulab.errors import UsageError
from gpulab.gpus.catalogue import gpu, names
from gpulab.problems import problem
from gpulab.problems.published import rows
from gpulab.profiling.transfers import implied_rate, time_copies, time_copy
from tests.python_device import PythonDevice

MATMUL = problem("matmul")
CUBE = (4096, 4096, 4096)


@pytest.fixture
def device():
    return PythonDevice()


def test_modelled_time_is_proportional_to_the_bytes(device):
    assert time_copy(device, 2_000_000).timing.median_ms == pytest.approx(
        2 * time_copy(device, 1_000_000).timing.median_ms
    )


def test_page_locked_rate_is_between_pageable_and_the_bus_peak(device):
    pageable, pinned = (time_copy(device, 10**6, pinned=kind).gb_s for kind in (False, True))
    assert pageable < pinned < device.spec.bus_gb_s


def test_provenance_names_the_bus_and_the_source(device):
    provenance = time_copy(device, 10**6, pinned=True).timing.provenance
    assert provenance.kind == "modelled"
    assert "PCIe 5.0 x16" in provenance.detail
    assert "Best Practices Guide" in provenance.detail


@pytest.mark.parametrize("name", names())
def test_copies_can_be_modelled_for_every_catalogue_gpu(device, name):
    assert time_copies(device, MATMUL, CUBE, pinned=True, gpu=name).median_ms > 0
    assert (
        time_copies(device, MATMUL, CUBE, gpu=name).median_ms
        > time_copies(device, MATMUL, CUBE, pinned=True, gpu=name).median_ms
    )


@pytest.mark.parametrize("name", ["t10", "gtx280"])
def test_modelled_copies_equal_the_difference_of_published_times(device, name):
    row = max((r for r in rows(name) if r.kernel_gflops), key=lambda r: r.kernel_gflops)
    flops = MATMUL.flops(row.shape)
    difference_ms = (flops / row.overall_gflops - flops / row.kernel_gflops) / 1e6
    copies = time_copies(device, MATMUL, row.shape, gpu=name)
    assert copies.median_ms == pytest.approx(difference_ms)
    assert row.source in copies.provenance.detail


@pytest.mark.parametrize(
    "row", [r for r in rows("t10") if r.kernel_gflops], ids=lambda r: f"{r.label} {r.block}"
)
def test_t10_rows_imply_equal_bandwidths(row):
    flops, nbytes = MATMUL.flops(row.shape), MATMUL.compulsory_bytes(row.shape)
    rate = nbytes / (flops / row.overall_gflops - flops / row.kernel_gflops)
    assert rate == pytest.approx(implied_rate("t10").gb_s, rel=0.2)


def test_rounding_changes_the_implied_bandwidth_by_less_than_5_percent():
    for name in ("t10", "gtx280"):
        implied = implied_rate(name)
        assert implied.low <= implied.gb_s <= implied.high
        assert implied.high < 1.05 * implied.low


def test_gpu_without_published_times_has_no_implied_bandwidth():
    assert implied_rate("h200") is None


def test_copies_are_all_inputs_and_the_output(device):
    n, m, p = shape = (64, 96, 32)
    one_copy = time_copy(device, 4 * (n * m + n * p + m * p)).timing.median_ms
    assert time_copies(device, MATMUL, shape).median_ms == pytest.approx(one_copy)


@pytest.mark.parametrize(("nbytes", "repeats"), [(0, 5), (-4, 5), (4, 0)])
def test_invalid_bytes_or_repeats_raise(device, nbytes, repeats):
    with pytest.raises(UsageError):
        time_copy(device, nbytes, repeats=repeats)


def test_unknown_bus_raises(device):
    device.spec = SimpleNamespace(key="", name="GeForce Unknown", bus="", bus_gb_s=None)
    with pytest.raises(UsageError, match="GeForce Unknown"):
        time_copy(device, 100)


class Gpu(PythonDevice):
    """A fake GPU whose memory is the host's."""

    kind, name, measures_time = "cuda", "fake GPU", True

    def empty(self, shape, dtype=np.float32):
        self.array = np.zeros(shape, dtype)
        return SimpleNamespace(data=SimpleNamespace(ptr=self.array.ctypes.data), nbytes=self.array.nbytes)

    def time(self, launch):
        launch()
        return 2.0


@pytest.fixture
def runtime_calls(monkeypatch):
    """Record (bytes, kind) of each CUDA copy, and "page-locked" for each allocation of such memory."""
    calls = []
    runtime = SimpleNamespace(memcpy=lambda target, source, nbytes, kind: calls.append((nbytes, kind)))

    def alloc(nbytes):
        calls.append("page-locked")
        return bytearray(nbytes)

    cuda = SimpleNamespace(runtime=runtime, alloc_pinned_memory=alloc)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    return calls


def test_copy_on_a_gpu_is_measured_after_one_warm_up(runtime_calls):
    transfer = time_copy(Gpu(), 1000, repeats=3)
    assert runtime_calls == [(1000, 1)] * 4
    assert transfer.timing.samples_ms == (2.0, 2.0, 2.0)
    assert transfer.timing.provenance.kind == "measured"
    assert transfer.gb_s == pytest.approx(1000 / 2e6)


def test_pinned_copy_allocates_page_locked_memory(runtime_calls):
    time_copy(Gpu(), 1000, to_device=False, pinned=True, repeats=1)
    assert runtime_calls == ["page-locked", (1000, 2), (1000, 2)]


def test_copies_of_a_launch_are_added(runtime_calls):
    timing = time_copies(Gpu(), MATMUL, (64, 64, 64), repeats=2)
    assert timing.samples_ms == (6.0, 6.0)
    assert [kind for _, kind in runtime_calls] == [2, 2, 2, 1, 1, 1, 1, 1, 1]


def test_another_gpu_can_be_modelled_on_a_gpu(runtime_calls):
    timing = time_copies(Gpu(), MATMUL, CUBE, gpu="gtx280")
    assert (timing.provenance.kind, timing.provenance.device) == ("modelled", gpu("gtx280").name)
    assert runtime_calls == []


def test_copy_on_the_simulator_is_modelled():
    assert time_copy(gpulab.device("sim:t4"), 100).timing.provenance.kind == "modelled"
