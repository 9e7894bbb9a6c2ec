"""Tests of paths without a barrier on small control flow graphs."""

from __future__ import annotations

from gpulab.verification.barrier_paths import has_unsynchronized_path

# A loop: block 0 ends in a barrier, block 1 branches back to block 0 or goes on to block 2.
LOOP = [[[1], True, []], [[0, 2], False, []], [[], False, []]]


def test_barrier_between_two_instructions_separates_them() -> None:
    assert not has_unsynchronized_path(LOOP, (0, 0), (1, 0), same_warp=False)


def test_back_edge_without_a_barrier_is_a_path() -> None:
    assert has_unsynchronized_path(LOOP, (1, 0), (0, 0), same_warp=False)


def test_instructions_of_one_block_have_a_path_in_their_order_only() -> None:
    straight = [[[], False, []]]
    assert has_unsynchronized_path(straight, (0, 0), (0, 1), same_warp=False)
    assert not has_unsynchronized_path(straight, (0, 1), (0, 0), same_warp=False)


def test_syncwarp_separates_only_lanes_of_one_warp() -> None:
    blocks = [[[], False, [1]]]
    assert not has_unsynchronized_path(blocks, (0, 0), (0, 2), same_warp=True)
    assert has_unsynchronized_path(blocks, (0, 0), (0, 2), same_warp=False)
