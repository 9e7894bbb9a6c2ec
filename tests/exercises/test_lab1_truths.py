"""The outcomes of lab 1's predictions."""

from __future__ import annotations

import pytest

from gpulab.errors import UsageError
from gpulab.exercises.lab1_truths import comparison, truth_of_ablation, truth_of_opt_1
from tests.kernel_configs import run_in_session
from tests.kernels.corpus import FOLDER


@pytest.mark.parametrize(
    ("ms", "word"), [(0.9, "faster"), (1.1, "slower"), (0.96, "same"), (1.04, "same"), (1.0, "same")]
)
def test_comparison_needs_five_percent(ms: float, word: str) -> None:
    assert comparison(ms, 1.0) == f"{word}: {ms:#.3g} ms instead of 1.00 ms"


def test_ablation_is_read_from_the_measurements() -> None:
    truths = truth_of_ablation("stencil")
    assert truths["naive_helped_most_by"].text.startswith("register cap 0.407 ms; then z split")
    assert truths["opt_3_with_cap"].text.startswith("same")
    assert truths["opt_3_split"].text.startswith("faster: 0.518 ms")
    assert truths["fastest_at_32"].text.startswith("naive")
    assert "NVIDIA H200" in truths["opt_3_split"].source


def test_opt_1_must_have_run(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULAB_DEVICE", "sim:h200")
    with pytest.raises(UsageError, match=r"stencil\.opt_1"):
        truth_of_opt_1("stencil")


@pytest.mark.slow
def test_opt_1_is_compared_on_both_gpus(empty_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPULAB_DEVICE", "sim:h200")
    text = (FOLDER / "stencil" / "right" / "opt_1_halo_in_shared.cu").read_text(encoding="utf-8")
    run_in_session(text)
    truths = truth_of_opt_1("stencil")
    assert truths["own"].text.startswith("slower")
    assert truths["gtx280"].text.startswith("faster")
    assert "GTX 280" in truths["gtx280"].source
