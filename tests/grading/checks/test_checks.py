"""The call in a lab's test cells: which kernel it judges, on which sizes, and how it says no."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulab.devices
import gpulab.verification.check
from gpulab import session
from gpulab.cell import Cell, parse_cell
from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks import require_correct
from gpulab.grading.checks.recheck import fresh_shapes
from gpulab.problems import problem

BODY = "\n__global__ void block2D_opt_1() {}"
OPT_1 = "%%cuda stencil.opt_1 --block 24 5" + BODY


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_CELLS", {})


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Cell, object]]:
    """Every call of `check_cell`; a text with the word `wrong` in it is not correct."""
    calls: list[tuple[Cell, object]] = []

    def check(cell: Cell, device: object, shapes: object) -> SimpleNamespace:
        calls.append((cell, shapes))
        wrong = "wrong" in cell.source
        return SimpleNamespace(correct=not wrong, reasons=("the halo is missing",), verdict="evidence")

    monkeypatch.setattr(gpulab.verification.check, "check_cell", check)
    monkeypatch.setattr(gpulab.devices, "open_device", lambda: "a device", raising=False)
    return calls


def test_a_kernel_that_was_never_run_is_asked_for_by_its_header() -> None:
    with pytest.raises(UsageError, match=r"%%cuda stencil\.opt_1"):
        require_correct("stencil.opt_1")


def test_the_cell_last_run_under_the_name_is_the_one_judged(checked: list[tuple[Cell, object]]) -> None:
    session.keep_cell(parse_cell(OPT_1))
    last = parse_cell(OPT_1 + "  // again")
    session.keep_cell(last)
    require_correct("stencil.opt_1")
    assert [cell for cell, _ in checked] == [last]


def test_a_wrong_kernel_raises_with_its_reasons_and_the_evidence(checked: list[tuple[Cell, object]]) -> None:
    session.keep_cell(parse_cell(OPT_1 + "  // wrong"))
    with pytest.raises(WrongResult, match="the halo is missing") as caught:
        require_correct("stencil.opt_1")
    assert caught.value.verdict == "evidence"


def test_every_call_runs_on_other_sizes(checked: list[tuple[Cell, object]]) -> None:
    session.keep_cell(parse_cell(OPT_1))
    for _ in range(5):
        require_correct("stencil.opt_1")
    assert len({shapes for _, shapes in checked}) > 1


def test_a_cell_of_no_problem_has_nothing_to_be_checked_against() -> None:
    with pytest.raises(UsageError, match="no problem"):
        fresh_shapes(parse_cell("%%cuda mine" + BODY), np.random.default_rng())


@given(
    seed=st.integers(0, 2**32 - 1),
    block=st.tuples(st.integers(1, 32), st.integers(1, 32)),
    tile=st.sampled_from(["1 1 0", "1 2 0", "2 1 0"]),
)
def test_stencil_sizes_are_new_and_show_what_the_published_ones_show(
    seed: int, block: tuple[int, int], tile: str
) -> None:
    cell = parse_cell(f"%%cuda stencil.opt_3 --block {block[0]} {block[1]} --tile {tile}{BODY}")
    header = cell.header
    assert header.block
    assert header.tile
    published = problem("stencil").check_shapes("opt_3", header.block, header.tile)
    fresh = fresh_shapes(cell, np.random.default_rng(seed))
    for new, old in zip(fresh, published, strict=True):
        assert new != old
        assert all(longer >= number for longer, number in zip(new, old, strict=True))
        assert len(set(new)) == 3
        assert (min(new) == 3) == (min(old) == 3)


def test_sizes_of_kernels_that_take_multiples_only_stay_multiples() -> None:
    cell = parse_cell("%%cuda matmul.K1 --block 32\n__global__ void mmkernel() {}")
    header = cell.header
    assert header.block
    assert header.tile
    published = problem("matmul").check_shapes("K1", header.block, header.tile)
    assert fresh_shapes(cell, np.random.default_rng()) == published
