"""The resource lines: what a kernel takes, what that allows, and what the next step up would need."""

from __future__ import annotations

from gpulab.compiler.program import Resources
from gpulab.gpus.catalogue import gpu
from gpulab.gpus.occupancy import occupancy
from gpulab.views.resource_view import resource_view


def shown(registers, shared=0, threads=256):
    room = occupancy(gpu("h200"), threads, registers, shared)
    return resource_view("mine", Resources(registers, shared, 0, 0), "H200", threads, room).text


def test_what_limits_is_named_with_what_each_resource_allows():
    # 40 registers: 1280 a warp, so 51 warps fit into 65,536, which is 6 blocks of 8.
    text = shown(40)
    assert "75%, 6 blocks of 256 threads an SM, 48 of 64 warps; limited by registers" in text
    assert "registers 6" in text


def test_the_next_step_up_says_what_it_needs():
    assert "7 blocks would fit with at most 32 registers a thread (now 40)." in shown(40)
    assert "bytes of shared memory a block (now 65,536)" in shown(16, 65536)


def test_a_full_sm_needs_nothing():
    text = shown(32)
    assert "100%" in text
    assert "would fit with" not in text


def test_where_it_comes_from_is_said():
    assert "data sheet" in shown(40)
