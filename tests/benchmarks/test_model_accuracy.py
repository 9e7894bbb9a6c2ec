"""Error statistics of the performance model, and the model's time of a published row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.model_accuracy import groups_of
from benchmarks.model_errors import TimeComparison, kendall_tau, published_rows, same_bound, summarise
from benchmarks.model_picture import scatter
from gpulab.errors import UsageError


def comparison(reference: float, modelled: float, **fields: str) -> TimeComparison:
    return TimeComparison("h200", "K1", "K1 <32>", "kernel", reference, modelled, False, **fields)


def test_tau_is_one_in_the_same_order_and_minus_one_in_the_opposite_order() -> None:
    assert kendall_tau([(1, 1), (2, 5), (3, 9)]) == 1
    assert kendall_tau([(1, 9), (2, 5), (3, 1)]) == -1


def test_ties_do_not_change_tau() -> None:
    assert kendall_tau([(1, 1), (1, 2), (2, 3)]) == 1


def test_summary_uses_absolute_errors() -> None:
    errors = summarise([comparison(10, 11), comparison(10, 7)])
    assert (errors.mean, errors.worst) == (pytest.approx(0.2), pytest.approx(0.3))


def test_summary_of_nothing_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        summarise([])


def test_bounds_are_compared_only_where_nsight_compute_measured() -> None:
    rows = [comparison(1, 1, bound="L1", ncu="L1"), comparison(1, 1, bound="L1", ncu="sm"), comparison(1, 1)]
    assert same_bound(rows) == (1, 2)


def test_groups_separate_the_halves_of_the_kernels() -> None:
    held_out = comparison(1, 1, problem="matmul")
    fitted = replace(comparison(1, 2), fitted=True)
    groups = groups_of([held_out, fitted])
    assert groups["h200"] == [held_out, fitted]
    assert groups["h200, the other half"] == groups["h200, matmul"] == [held_out]


def test_published_row_is_modelled_within_20_percent() -> None:
    first = next(published_rows())
    assert (first.gpu, first.fitted) == ("t10", True)
    assert abs(first.error) < 0.2


def test_picture_has_a_point_for_each_time_and_escapes_its_label() -> None:
    svg = scatter([comparison(1, 2), comparison(10, 8)])
    assert svg.count('r="3"') == 2
    assert "K1 &lt;32&gt;" in svg
