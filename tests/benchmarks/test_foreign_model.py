"""The list of launches on which the model is compared with an H200."""

from __future__ import annotations

from collections import Counter

from benchmarks.foreign_model.launch_list import foreign_launches
from benchmarks.foreign_model.polybench import POLYBENCH


def test_list_has_unique_labels_and_about_half_of_its_launches_are_held_out() -> None:
    launches = foreign_launches()
    assert max(Counter(each.label for each in launches).values()) == 1
    assert len(launches) >= 100
    assert 0.4 < sum(each.held_out for each in launches) / len(launches) < 0.6


def test_launches_of_one_kernel_are_in_the_same_half() -> None:
    halves: dict[str, set[bool]] = {}
    for each in foreign_launches():
        halves.setdefault(each.kernel, set()).add(each.held_out)
    assert all(len(half) == 1 for half in halves.values())


def test_polybench_launch_covers_its_matrix() -> None:
    launch = POLYBENCH["linear-algebra/kernels/gemm/gemm.cu", "gemm_kernel"](1)
    assert (launch.grid, launch.block) == ((16, 64), (32, 8))
    assert launch.sizes == {"NI": 512, "NJ": 512, "NK": 512}
