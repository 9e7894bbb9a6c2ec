"""Copies between host and device: modelled from figures with a source, measured where there is a GPU."""

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


def test_a_modelled_copy_takes_as_long_as_its_bytes(device):
    assert time_copy(device, 2_000_000).timing.median_ms == pytest.approx(
        2 * time_copy(device, 1_000_000).timing.median_ms
    )


def test_page_locked_memory_is_faster_and_stays_below_the_bus(device):
    pageable, pinned = (time_copy(device, 10**6, pinned=kind).gb_s for kind in (False, True))
    assert pageable < pinned < device.spec.bus_gb_s


def test_a_modelled_copy_says_so_with_its_bus_and_its_source(device):
    provenance = time_copy(device, 10**6, pinned=True).timing.provenance
    assert provenance.kind == "modelled"
    assert "PCIe 5.0 x16" in provenance.detail
    assert "Best Practices Guide" in provenance.detail


@pytest.mark.parametrize("name", names())
def test_copies_can_be_modelled_of_every_gpu(device, name):
    assert time_copies(device, MATMUL, CUBE, pinned=True, gpu=name).median_ms > 0
    assert (
        time_copies(device, MATMUL, CUBE, gpu=name).median_ms
        > time_copies(device, MATMUL, CUBE, pinned=True, gpu=name).median_ms
    )


@pytest.mark.parametrize("name", ["t10", "gtx280"])
def test_the_modelled_copies_are_the_difference_of_the_published_times(device, name):
    row = max((r for r in rows(name) if r.kernel_gflops), key=lambda r: r.kernel_gflops)
    flops = MATMUL.flops(row.shape)
    difference_ms = (flops / row.overall_gflops - flops / row.kernel_gflops) / 1e6
    copies = time_copies(device, MATMUL, row.shape, gpu=name)
    assert copies.median_ms == pytest.approx(difference_ms)
    assert row.source in copies.provenance.detail


@pytest.mark.parametrize(
    "row", [r for r in rows("t10") if r.kernel_gflops], ids=lambda r: f"{r.label} {r.block}"
)
def test_every_pair_of_the_t10s_table_implies_about_the_same_bandwidth(row):
    flops, nbytes = MATMUL.flops(row.shape), MATMUL.compulsory_bytes(row.shape)
    rate = nbytes / (flops / row.overall_gflops - flops / row.kernel_gflops)
    assert rate == pytest.approx(implied_rate("t10").gb_s, rel=0.2)


def test_rounding_moves_the_implied_bandwidth_little():
    for name in ("t10", "gtx280"):
        found = implied_rate(name)
        assert found.low <= found.gb_s <= found.high
        assert found.high < 1.05 * found.low


def test_nothing_is_implied_where_nothing_was_published():
    assert implied_rate("h200") is None


def test_copies_are_the_inputs_and_the_output(device):
    n, m, p = shape = (64, 96, 32)
    alone = time_copy(device, 4 * (n * m + n * p + m * p)).timing.median_ms
    assert time_copies(device, MATMUL, shape).median_ms == pytest.approx(alone)


@pytest.mark.parametrize(("nbytes", "repeats"), [(0, 5), (-4, 5), (4, 0)])
def test_a_copy_of_nothing_is_refused(device, nbytes, repeats):
    with pytest.raises(UsageError, match="at least one byte"):
        time_copy(device, nbytes, repeats=repeats)


def test_a_gpu_with_an_unknown_bus_says_so(device):
    device.spec = SimpleNamespace(key="", name="GeForce Unknown", bus="", bus_gb_s=None)
    with pytest.raises(UsageError, match="GeForce Unknown"):
        time_copy(device, 100)


class Gpu(PythonDevice):
    """A device that says that it is a GPU; its memory is the host's."""

    kind, name, measures_time = "cuda", "stand-in GPU", True

    def empty(self, shape, dtype=np.float32):
        self.array = np.zeros(shape, dtype)
        return SimpleNamespace(data=SimpleNamespace(ptr=self.array.ctypes.data), nbytes=self.array.nbytes)

    def time(self, launch):
        launch()
        return 2.0


@pytest.fixture
def copied(monkeypatch):
    """(bytes, kind) of what CUDA is asked to copy, and how much page-locked memory."""
    asked = []
    runtime = SimpleNamespace(memcpy=lambda target, source, nbytes, kind: asked.append((nbytes, kind)))

    def alloc(nbytes):
        asked.append("page-locked")
        return bytearray(nbytes)

    cuda = SimpleNamespace(runtime=runtime, alloc_pinned_memory=alloc)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    return asked


def test_on_a_gpu_a_copy_is_measured_after_one_to_warm_up(copied):
    transfer = time_copy(Gpu(), 1000, repeats=3)
    assert copied == [(1000, 1)] * 4
    assert transfer.timing.samples_ms == (2.0, 2.0, 2.0)
    assert transfer.timing.provenance.kind == "measured"
    assert transfer.gb_s == pytest.approx(1000 / 2e6)


def test_on_a_gpu_page_locked_memory_is_asked_for(copied):
    time_copy(Gpu(), 1000, to_device=False, pinned=True, repeats=1)
    assert copied == ["page-locked", (1000, 2), (1000, 2)]


def test_on_a_gpu_the_copies_of_a_launch_add_up(copied):
    timing = time_copies(Gpu(), MATMUL, (64, 64, 64), repeats=2)
    assert timing.samples_ms == (6.0, 6.0)
    assert [kind for _, kind in copied] == [2, 2, 2, 1, 1, 1, 1, 1, 1]


def test_a_gpu_can_be_modelled_beside_the_one_that_is_here(copied):
    timing = time_copies(Gpu(), MATMUL, CUBE, gpu="gtx280")
    assert (timing.provenance.kind, timing.provenance.device) == ("modelled", gpu("gtx280").name)
    assert copied == []


def test_a_copy_of_the_real_simulator_is_modelled():
    assert time_copy(gpulab.device("sim:t4"), 100).timing.provenance.kind == "modelled"
