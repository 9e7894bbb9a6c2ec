"""`gpulab.measured_table`: shown at once, or only after a prediction was committed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpulab
from gpulab.errors import UsageError
from gpulab.exercises.lab_session import current_lab


@pytest.fixture(autouse=True)
def nothing_committed() -> Iterator[None]:
    current_lab().committed.clear()
    yield
    current_lab().committed.clear()


def test_table_has_the_error_of_the_model_and_its_source() -> None:
    text = gpulab.measured_table("stencil.steps").text
    opt_4 = next(line.split() for line in text.splitlines() if line.startswith("opt_4"))
    assert opt_4[-2:] == ["85", "%"]
    assert "NVIDIA H200, driver 580.159.04, NVRTC 13.5" in text


def test_ablation_has_all_combinations() -> None:
    lines = gpulab.measured_table("stencil.ablation").text.splitlines()
    assert sum(line.startswith(("naive", "opt_")) for line in lines) == 32


def test_table_is_hidden_until_the_prediction_is_committed() -> None:
    hidden = gpulab.measured_table("stencil.ablation", after="stencil.ablation")
    assert "naive" not in hidden.text
    assert "predictions first" in hidden.text
    current_lab().committed["stencil.ablation"] = {}
    assert "naive" in gpulab.measured_table("stencil.ablation", after="stencil.ablation").text


@pytest.mark.parametrize(("name", "after"), [("stencil.nothing", ""), ("stencil.steps", "stencil.nothing")])
def test_unknown_name_raises(name: str, after: str) -> None:
    with pytest.raises(UsageError, match="nothing"):
        gpulab.measured_table(name, after=after)
