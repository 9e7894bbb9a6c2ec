"""The resource lines of a kernel: occupancy, limiters, and the next step."""

from __future__ import annotations

from gpulab.compiler.program import Resources
from gpulab.gpus.catalogue import gpu
from gpulab.gpus.occupancy import occupancy
from gpulab.views.resource_view import resource_view


def shown(registers, shared=0, threads=256):
    allowed = occupancy(gpu("h200"), threads, registers, shared)
    return resource_view("mine", Resources(registers, shared, 0, 0), "H200", threads, allowed).text


def test_limiter_and_blocks_of_each_resource_are_named():
    # 40 registers are 1280 per warp; 51 warps fit into 65,536, which is 6 blocks of 8 warps.
    text = shown(40)
    assert all(part in text for part in ("75 %", "6 blocks of 256 threads", "48 of 64 warps"))
    assert "registers 6" in text


def test_several_limiters_are_a_list():
    assert "limited by registers, warps and blocks (" in shown(32, threads=64)


def test_next_step_has_its_requirement():
    assert "7 blocks would fit with at most 32 registers per thread (now 40)" in shown(40)
    assert "(now 65,536)" in shown(16, 65536)


def test_full_occupancy_has_no_next_step():
    text = shown(32)
    assert "100 %" in text
    assert "would fit with" not in text


def test_occupancy_has_its_provenance():
    assert "data sheet" in shown(40)
