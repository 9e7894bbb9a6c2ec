"""The card of a wrong kernel: its findings and its hint."""

from __future__ import annotations

import pytest

from gpulab.finding import Finding
from gpulab.verification.verdict import ShapeResult, Verdict
from gpulab.views.verdict_view import findings_view, verdict_view

LARGE = ShapeResult((65, 47, 9), correct=False, wrong=1, total=9, hint="no point with y >= 32 was written.")
THIN = ShapeResult((33, 70, 3), correct=False, wrong=1, total=9, hint="no point with y >= 48 was written.")
SAMPLED = ShapeResult(
    (512, 512, 512),
    correct=False,
    total=9,
    reasons=(
        "at a size that is timed, 512x512x512: no block writes it",
        "at a size that is timed, it is wrong",
    ),
)
FAULT = ShapeResult((7, 3, 20), correct=False, total=9, fault="line 7: reads A0[-1]")


@pytest.mark.parametrize(("findings", "words"), [(3, "1 more finding<"), (4, "2 more findings<")])
def test_number_of_folded_findings_agrees_with_its_noun(findings: int, words: str) -> None:
    found = [Finding("initcheck", "read", line, None, None, "reads x") for line in range(findings)]
    assert words in findings_view(found).html


def test_only_the_hint_of_the_size_in_the_headline_is_shown() -> None:
    text = verdict_view("stencil.naive", Verdict(False, "stencil", "naive", (LARGE, THIN))).text
    assert "wrong on 65x47x9" in text
    assert "Hint: no point with y >= 32" in text
    assert "y >= 48" not in text


def test_hint_of_another_size_than_that_of_the_headline_names_its_size() -> None:
    text = verdict_view("stencil.naive", Verdict(False, "stencil", "naive", (THIN, FAULT))).text
    assert "failed on 7x3x20" in text
    assert "Hint for 33x70x3: no point with y >= 48" in text


def test_card_of_a_kernel_that_was_not_run_says_nothing_about_its_values() -> None:
    reason = "`map` takes 3 parameters: it must be map(float* y, const float* x, float a, int n)."
    text = verdict_view(
        "stencil.naive", Verdict(False, "stencil", "naive", reasons=(reason,)), "", [reason]
    ).text
    assert text == f"✗ stencil.naive was not run\n{reason}"


def test_card_of_a_sampled_launch_has_its_reasons() -> None:
    text = verdict_view("stencil.naive", Verdict(False, "stencil", "naive", (SAMPLED,))).text
    assert text.startswith(
        "✗ stencil.naive is wrong at a size that is timed, 512x512x512: no block writes it"
    )
    assert text.count("it is wrong") == 1
