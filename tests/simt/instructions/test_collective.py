"""Tests of shuffles, votes, matches, reductions and elections in a warp."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.simt.ptx_harness import Case, run

Array = npt.NDArray[Any]
FULL = 0xFFFFFFFF
LANES = np.arange(32)


def warps(count: int = 4, high: int = 1 << 32, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, high, 32 * count, dtype=np.uint64).astype(np.uint32)


def each_warp(array: Array) -> list[Array]:
    return list(array.reshape(-1, 32))


def shuffled(mode: str, values: Array, step: Array, control: int) -> tuple[Array, Array]:
    """Return values and predicates of a shuffle as in the PTX ISA, section 9.7.9.6."""
    clamp, segment = control & 31, control >> 8 & 31
    actual, inside = values.copy(), np.zeros(32, bool)
    for lane in range(32):
        b = int(step[lane]) & 31
        most = (lane & segment) | (clamp & ~segment)
        least = lane & segment
        source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": least | (b & ~segment)}[mode]
        inside[lane] = source >= most if mode == "up" else source <= most
        actual[lane] = values[source if inside[lane] else lane]
    return actual, inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles_with_constant_and_varying_steps(mode: str) -> None:
    values, steps = warps(), warps(seed=1)
    controls = [0 if mode == "up" else 31, 0x1800 if mode == "up" else 0x181F, 0x100F, 0x1C1F, 0x0E0A]
    for control in controls:
        cases = [
            Case(f"shfl.sync.{mode}.b32 %o|_, %a, {step}, {control}, -1;", "u4") for step in (0, 1, 5, 16, 33)
        ]
        cases += [
            Case(f".reg .b32 %t; shfl.sync.{mode}.b32 %t|%o, %a, {s}, {control}, -1;", "?") for s in (1, 16)
        ]
        cases.append(Case(f"shfl.sync.{mode}.b32 %o, %a, %b, {control}, -1;", "u4"))
        cases.append(Case(f".reg .b32 %t; shfl.sync.{mode}.b32 %t|%o, %a, %b, {control}, -1;", "?"))
        found = [each_warp(f) for f in run(cases, {"a": values, "b": steps})]
        for warp, (own, amounts) in enumerate(zip(each_warp(values), each_warp(steps), strict=True)):
            for at, step in enumerate((0, 1, 5, 16, 33)):
                assert np.array_equal(found[at][warp], shuffled(mode, own, np.full(32, step), control)[0])
            for at, step in enumerate((1, 16)):
                assert np.array_equal(found[5 + at][warp], shuffled(mode, own, np.full(32, step), control)[1])
            for at in (0, 1):
                assert np.array_equal(found[7 + at][warp], shuffled(mode, own, amounts, control)[at])


MASKS = (FULL, 0x55555555, 0x0000FFFF, 0x80000001)


def among(mask: int) -> str:
    """Return PTX that skips what follows for lanes outside a mask; their result stays 0."""
    return (
        ".reg .b32 %one, %lane_; .reg .pred %in; mov.u32 %lane_, %laneid; shl.b32 %one, 1, %lane_;"
        f" and.b32 %one, %one, {mask}; setp.ne.u32 %in, %one, 0;"
    )


@pytest.mark.parametrize("mask", MASKS)
def test_votes(mask: int) -> None:
    values = np.concatenate([warps(2, 2), np.zeros(32, np.uint32), np.ones(32, np.uint32)])
    head = among(mask) + " .reg .pred %p; setp.ne.u32 %p, %a, 0;"
    modes = ("all", "any", "uni")
    cases = [
        Case(f"{head} setp.ne.u32 %o, 0, 0; @%in vote.sync.{m}.pred %o, %p, {mask};", "?") for m in modes
    ]
    cases.append(Case(f"{head} mov.u32 %o, 0; @%in vote.sync.ballot.b32 %o, !%p, {mask};", "u4"))
    inside = (mask >> LANES & 1).astype(bool)
    found = [each_warp(f) for f in run(cases, {"a": values})]
    for warp, own in enumerate(each_warp(values)):
        yes = own[inside] != 0
        wanted = (yes.all(), yes.any(), yes.all() or not yes.any())
        for at, expected in enumerate(wanted):
            assert np.array_equal(found[at][warp], inside & expected)
        ballot = sum(1 << int(lane) for lane in LANES if inside[lane] and not own[lane])
        assert np.array_equal(found[3][warp], np.where(inside, ballot, 0))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("mask", MASKS)
def test_matches(mask: int, bits: int) -> None:
    small = np.concatenate([warps(2, 3), np.full(32, 7, np.uint32), np.arange(32, dtype=np.uint32)])
    values = small if bits == 32 else small.astype(np.uint64) << np.uint64(35)
    head = among(mask)
    cases = [
        Case(f"{head} mov.u32 %o, 0; @%in match.any.sync.b{bits} %o, %a, {mask};", "u4"),
        Case(f"{head} mov.u32 %o, 0; @%in match.all.sync.b{bits} %o, %a, {mask};", "u4"),
        Case(
            f"{head} .reg .b32 %t; setp.ne.u32 %o, 0, 0; @%in match.all.sync.b{bits} %t|%o, %a, {mask};", "?"
        ),
    ]
    inside = (mask >> LANES & 1).astype(bool)
    found = [each_warp(f) for f in run(cases, {"a": values})]
    for warp, own in enumerate(each_warp(values)):
        alike = [sum(1 << int(j) for j in LANES if inside[j] and own[j] == own[i]) for i in LANES]
        assert np.array_equal(found[0][warp], np.where(inside, alike, 0))
        same = len(set(own[inside])) == 1
        assert np.array_equal(found[1][warp], np.where(inside, mask if same else 0, 0))
        assert np.array_equal(found[2][warp], inside & same)


REDUCTIONS = {
    "add.u32": lambda v: int(v.astype(np.uint64).sum()) & FULL,
    "min.u32": lambda v: int(v.min()),
    "max.u32": lambda v: int(v.max()),
    "min.s32": lambda v: int(v.view(np.int32).min()) & FULL,
    "max.s32": lambda v: int(v.view(np.int32).max()) & FULL,
    "and.b32": lambda v: int(np.bitwise_and.reduce(v)),
    "or.b32": lambda v: int(np.bitwise_or.reduce(v)),
    "xor.b32": lambda v: int(np.bitwise_xor.reduce(v)),
}


@pytest.mark.parametrize("mask", MASKS)
def test_reductions(mask: int) -> None:
    values = np.concatenate([warps(), np.full(32, FULL, np.uint32), np.zeros(32, np.uint32)])
    head = among(mask)
    cases = [Case(f"{head} mov.u32 %o, 0; @%in redux.sync.{op} %o, %a, {mask};", "u4") for op in REDUCTIONS]
    inside = (mask >> LANES & 1).astype(bool)
    for op, actual in zip(REDUCTIONS.values(), run(cases, {"a": values}), strict=True):
        for own, result in zip(each_warp(values), each_warp(actual), strict=True):
            assert np.array_equal(result, np.where(inside, op(own[inside]), 0))


def test_groups_with_different_masks() -> None:
    """The mask of each lane contains its group of eight lanes."""
    values = warps()
    group = (
        ".reg .b32 %m, %l; mov.u32 %l, %laneid; and.b32 %l, %l, 24; shl.b32 %m, 0xff, %l;"
        " .reg .pred %p; setp.gt.s32 %p, %a, 0;"
    )
    cases = [Case(f"{group} redux.sync.{op} %o, %a, %m;", "u4") for op in REDUCTIONS]
    cases += [
        Case(f"{group} vote.sync.ballot.b32 %o, %p, %m;", "u4"),
        Case(f"{group} vote.sync.all.pred %o, %p, %m;", "?"),
    ]
    cases += [Case(f"{group} and.b32 %l, %a, 1; match.any.sync.b32 %o, %l, %m;", "u4")]
    cases += [
        Case(f"{group} .reg .b32 %t; elect.sync %t|%o, %m;", "?"),
        Case(f"{group} elect.sync %o|_, %m;", "u4"),
    ]
    found = [f.reshape(-1, 8) for f in run(cases, {"a": values})]
    for row, own in enumerate(values.reshape(-1, 8)):
        first = 8 * (row % 4)
        positive = own.view(np.int32) > 0
        for at, op in enumerate(REDUCTIONS.values()):
            assert np.array_equal(found[at][row], np.full(8, op(own), np.uint32))
        at = len(REDUCTIONS)
        assert np.array_equal(
            found[at][row], np.full(8, sum(1 << first + i for i in range(8) if positive[i]), np.uint32)
        )
        assert np.array_equal(found[at + 1][row], np.full(8, positive.all()))
        odd = own & 1
        alike = [sum(1 << first + j for j in range(8) if odd[j] == odd[i]) for i in range(8)]
        assert np.array_equal(found[at + 2][row], alike)
        assert np.array_equal(found[at + 3][row], np.arange(8) == 0)
        assert np.array_equal(found[at + 4][row], np.full(8, first))


def test_activemask_is_the_mask_of_active_lanes() -> None:
    values = np.tile(LANES.astype(np.uint32), 2)
    case = Case("mov.u32 %o, 0; .reg .pred %p; setp.gt.u32 %p, %a, 19; @%p activemask.b32 %o;", "u4")
    (actual,) = run([case], {"a": values})
    assert np.array_equal(actual, np.where(values > 19, FULL << 20 & FULL, 0))
    (divergent,) = run([Case("activemask.b32 %o;", "u4")], {"a": values}, "divergent")
    assert np.array_equal(divergent, np.where(values % 2 == 1, 0xAAAAAAAA, 0x55555555))


def test_partial_warp_counts_only_its_threads() -> None:
    """In blocks of 45 threads, the second warp has 13 threads."""
    values = np.ones(45 * 2, np.uint32)
    cases = [Case("activemask.b32 %o;", "u4"), Case("redux.sync.add.u32 %o, %a, -1;", "u4")]
    active, total = run(cases, {"a": values}, "partial")
    lanes = np.tile(np.arange(45), 2)
    assert np.array_equal(active, np.where(lanes < 32, FULL, (1 << 13) - 1))
    assert np.array_equal(total, np.where(lanes < 32, 32, 13))
