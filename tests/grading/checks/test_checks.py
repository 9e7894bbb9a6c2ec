"""`require_correct`: the cell that is checked, its sizes, and the errors it raises."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulab.devices
import gpulab.verification.check
from gpulab import session
from gpulab.cell import Cell, parse_cell, require_kernel_cell
from gpulab.errors import UsageError, WrongResult
from gpulab.grading.checks import require_correct
from gpulab.grading.checks.recheck import random_shapes

BODY = "\n__global__ void block2D_opt_1() {}"
OPT_1 = "%%cuda stencil.opt_1 --block 24 5" + BODY


pytestmark = pytest.mark.usefixtures("empty_session")


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Cell, object]]:
    """Record the calls of `check_cell`; a source with the word `wrong` is not correct."""
    calls: list[tuple[Cell, object]] = []

    def check(cell: Cell, device: object, shapes: object) -> SimpleNamespace:
        calls.append((cell, shapes))
        wrong = "wrong" in cell.source
        return SimpleNamespace(correct=not wrong, reasons=("the halo is missing",), verdict="evidence")

    monkeypatch.setattr(gpulab.verification.check, "check_cell", check)
    monkeypatch.setattr(gpulab.devices, "open_device", lambda: "a device", raising=False)
    return calls


def test_kernel_that_did_not_run_is_named_by_its_header() -> None:
    with pytest.raises(UsageError, match=r"%%cuda stencil\.opt_1"):
        require_correct("stencil.opt_1")


def test_last_cell_of_the_name_is_checked(checked: list[tuple[Cell, object]]) -> None:
    session.keep_cell(parse_cell(OPT_1))
    last = parse_cell(OPT_1 + "  // again")
    session.keep_cell(last)
    require_correct("stencil.opt_1")
    assert [cell for cell, _ in checked] == [last]


def test_wrong_kernel_raises_with_reasons_and_verdict(checked: list[tuple[Cell, object]]) -> None:
    session.keep_cell(parse_cell(OPT_1 + "  // wrong"))
    with pytest.raises(WrongResult, match="the halo is missing") as caught:
        require_correct("stencil.opt_1")
    assert caught.value.verdict == "evidence"


def test_every_call_uses_other_sizes(checked: list[tuple[Cell, object]]) -> None:
    session.keep_cell(parse_cell(OPT_1))
    for _ in range(5):
        require_correct("stencil.opt_1")
    assert len({shapes for _, shapes in checked}) > 1


def test_cell_without_a_problem_is_refused() -> None:
    with pytest.raises(UsageError, match="mine"):
        random_shapes(parse_cell("%%cuda mine" + BODY), np.random.default_rng())


@given(
    seed=st.integers(0, 2**32 - 1),
    block=st.tuples(st.integers(1, 32), st.integers(1, 32)),
    tile=st.sampled_from(["1 1 0", "1 2 0", "2 1 0"]),
)
def test_random_stencil_sizes_keep_the_properties_of_the_published_ones(
    seed: int, block: tuple[int, int], tile: str
) -> None:
    cell = parse_cell(f"%%cuda stencil.opt_3 --block {block[0]} {block[1]} --tile {tile}{BODY}")
    published = require_kernel_cell(cell).config.check_shapes
    enlarged = random_shapes(cell, np.random.default_rng(seed))
    for new, old in zip(enlarged, published, strict=True):
        assert new != old
        assert all(longer >= extent for longer, extent in zip(new, old, strict=True))
        assert len(set(new)) == 3
        assert (min(new) == 3) == (min(old) == 3)


def test_matmul_sizes_stay_multiples_of_the_block() -> None:
    cell = parse_cell("%%cuda matmul.K1 --block 32\n__global__ void mmkernel() {}")
    published = require_kernel_cell(cell).config.check_shapes
    assert random_shapes(cell, np.random.default_rng()) == published
