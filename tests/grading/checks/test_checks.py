"""`require_correct`: the cell that is checked, its sizes, and the errors it raises."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

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
from gpulab.grading.checks.sizes import random_counted_shape, random_shapes, random_timed_shape

BODY = "\n__global__ void block2D_opt_1() {}"
OPT_1 = "%%cuda stencil.opt_1 --block 24 5" + BODY


pytestmark = pytest.mark.usefixtures("empty_session")


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Cell, object]]:
    """Record the calls of `check_cell`; a source with the word `wrong` is not correct."""
    calls: list[tuple[Cell, object]] = []

    def check(cell: Cell, device: object, shapes: object, **_: object) -> SimpleNamespace:
        calls.append((cell, shapes))
        wrong = "wrong" in cell.source
        error = "no such instruction." if "uncounted" in cell.source else ""
        return SimpleNamespace(
            correct=not wrong,
            reasons=("the halo is missing",),
            warnings=(),
            verdict="evidence",
            technique=SimpleNamespace(met=False, unchecked=()) if "requirement" in cell.source else None,
            count_error=error,
        )

    monkeypatch.setattr(gpulab.verification.check, "check_cell", check)
    monkeypatch.setattr(gpulab.devices, "open_device", lambda: SimpleNamespace(measures_time=False))
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


def test_kernel_whose_traffic_cannot_be_counted_is_not_accepted(checked: list[tuple[Cell, object]]) -> None:
    session.keep_cell(parse_cell(OPT_1 + "  // uncounted"))
    with pytest.raises(WrongResult, match="no such instruction"):
        require_correct("stencil.opt_1")


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
    *enlarged, cube = random_shapes(cell, np.random.default_rng(seed))
    assert len(set(cube)) == 1
    for new, old in zip(enlarged, published, strict=True):
        assert new != old
        assert all(longer >= extent for longer, extent in zip(new, old, strict=True))
        assert len(set(new)) == 3
        assert (min(new) == 3) == (min(old) == 3)


@pytest.mark.parametrize(
    "header",
    ["K1 --block 32", "K2 --block 96", "K34 --block 128 --tile 2 4", "K5 --block 16 16", "Ks --block 16 16"],
)
def test_matmul_sizes_are_drawn_and_stay_multiples(header: str) -> None:
    cell = parse_cell(f"%%cuda matmul.{header}\n__global__ void mmkernel() {{}}")
    config = require_kernel_cell(cell).config
    drawn = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        shapes = random_shapes(cell, rng)
        for shape in (*shapes, random_counted_shape(cell, rng), random_timed_shape(cell, rng)):
            config.require_size(shape)
        assert not set(config.check_shapes) & set(shapes)
        drawn.add(shapes)
    assert len(drawn) > 2


@pytest.mark.parametrize("header", ["K1 --block 32", "K5 --block 16 16", "K4g --block 128 --tile 1 4"])
def test_a_size_has_equal_extents(header: str) -> None:
    cell = parse_cell(f"%%cuda matmul.{header}\n__global__ void mmkernel() {{}}")
    rng = np.random.default_rng(1)
    shapes = (*random_shapes(cell, rng), random_counted_shape(cell, rng))
    assert any(len(set(shape)) == 1 for shape in shapes)


@pytest.mark.parametrize("name", ["matmul.K4g --block 128 --tile 1 4", "matmul.K6 --block 16 16 --tile 8 8"])
def test_sizes_of_guarded_kernels_are_no_multiples(name: str) -> None:
    cell = parse_cell(f"%%cuda {name}\n__global__ void mmkernel() {{}}")
    shapes = [shape for seed in range(5) for shape in random_shapes(cell, np.random.default_rng(seed))]
    assert sum(any(extent % 4 for extent in shape) for shape in shapes) > len(shapes) / 2


def test_every_check_has_other_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def check(
        cell: Cell, device: object, shapes: object, *, seed: int, counted: Any, timed: Any
    ) -> SimpleNamespace:
        seeds.extend((seed, counted.seed, timed.seed))
        return SimpleNamespace(
            correct=True, reasons=(), warnings=(), verdict=None, technique=None, count_error=""
        )

    monkeypatch.setattr(gpulab.verification.check, "check_cell", check)
    monkeypatch.setattr(gpulab.devices, "open_device", lambda: SimpleNamespace(measures_time=False))
    session.keep_cell(parse_cell(OPT_1))
    for _ in range(3):
        require_correct("stencil.opt_1")
    assert len(set(seeds)) == 9


@pytest.mark.parametrize(
    ("comment", "headline"),
    [
        ("// wrong", "stencil.opt_1 is not correct."),
        (
            "// wrong requirement",
            "the values of stencil.opt_1 are correct, but a requirement is not satisfied.",
        ),
    ],
)
def test_message_tells_wrong_values_from_a_missed_requirement(
    checked: object, comment: str, headline: str
) -> None:
    session.keep_cell(parse_cell(f"{OPT_1} {comment}"))
    with pytest.raises(WrongResult) as raised:
        require_correct("stencil.opt_1")
    assert str(raised.value).splitlines() == [headline, "the halo is missing"]


def test_kernel_that_recognises_a_published_size_is_not_correct() -> None:
    # The kernel copies its input on sizes that differ from those of the ordinary check.
    published = require_kernel_cell(
        parse_cell("%%cuda stencil.naive --block 32 8" + BODY)
    ).config.check_shapes
    known = " || ".join(f"(nx == {nx} && ny == {ny} && nz == {nz})" for nx, ny, nz in published)
    text = f"""%%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y, f = nx * ny;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    for (int k = 1; k < nz - 1; ++k) {{
        const int c = i + nx * j + f * k;
        const float weight = {known} ? 6.0f / (fac * fac) : 0.0f;
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - f] + A0[c + f] - weight * A0[c];
    }}
}}"""
    session.keep_cell(parse_cell(text))
    with pytest.raises(WrongResult, match="not correct"):
        require_correct("stencil.naive")


def test_warning_of_a_correct_kernel_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(*_: object, **__: object) -> SimpleNamespace:
        warnings = ("line 3: `sum` is uninitialized",)
        return SimpleNamespace(
            correct=True, reasons=(), warnings=warnings, verdict=None, technique=None, count_error=""
        )

    monkeypatch.setattr(gpulab.verification.check, "check_cell", check)
    monkeypatch.setattr(gpulab.devices, "open_device", lambda: SimpleNamespace(measures_time=False))
    session.keep_cell(parse_cell(OPT_1))
    require_correct("stencil.opt_1")
    assert "1 warning" in (shown := capsys.readouterr().out)
    assert "`sum` is uninitialized" in shown
