"""How far the model is off, as figures: the arithmetic of it, and that rows can be modelled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.model_errors import Compared, kendall_tau, named_alike, published_rows, summary
from benchmarks.model_picture import scatter
from gpulab.errors import UsageError

ROOT = Path(__file__).parent.parent.parent


def compared(known: float, modelled: float, **more: str) -> Compared:
    return Compared("h200", "K1", "K1 <32>", "kernel", known, modelled, False, **more)


def test_tau_is_one_in_the_same_order_and_minus_one_in_the_other() -> None:
    assert kendall_tau([(1, 1), (2, 5), (3, 9)]) == 1
    assert kendall_tau([(1, 9), (2, 5), (3, 1)]) == -1


def test_ties_count_neither_way() -> None:
    assert kendall_tau([(1, 1), (1, 2), (2, 3)]) == 1


def test_the_summary_takes_errors_of_the_time_without_their_sign() -> None:
    found = summary([compared(10, 11), compared(10, 7)])
    assert (found.mean, found.worst) == (pytest.approx(0.2), pytest.approx(0.3))


def test_nothing_to_compare_is_said() -> None:
    with pytest.raises(UsageError):
        summary([])


def test_only_launches_that_nsight_compute_saw_are_compared_by_name() -> None:
    rows = [compared(1, 1, bound="L1", ncu="L1"), compared(1, 1, bound="L1", ncu="sm"), compared(1, 1)]
    assert named_alike(rows) == (1, 2)


def test_sums_of_the_h200_tell_held_out_kernels_from_the_others() -> None:
    from benchmarks.model_accuracy import groups_of

    mine, other = (compared(1, 1, problem="matmul"), replace(compared(1, 2), fitted=True))
    groups = groups_of([mine, other])
    assert groups["h200"] == [mine, other]
    assert groups["h200, the other half (held out)"] == groups["h200, matmul"] == [mine]


def test_a_folder_without_the_kernels_is_named() -> None:
    with pytest.raises(UsageError, match="repository"):
        next(published_rows(Path("/nowhere")))


def test_a_published_row_is_modelled_close_to_its_time() -> None:
    first = next(published_rows(ROOT))
    assert (first.gpu, first.fitted) == ("t10", True)
    assert abs(first.error) < 0.2


def test_the_picture_has_a_point_for_each_time_and_escapes_its_label() -> None:
    text = scatter([compared(1, 2), compared(10, 8)])
    assert text.count('r="3"') == 2
    assert "K1 &lt;32&gt;" in text
