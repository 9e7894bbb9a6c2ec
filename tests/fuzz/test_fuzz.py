"""Comparison of the simulator with a plain interpreter on random kernels; `make fuzz` runs many more.

A random kernel may have no defined result in CUDA C. The interpreter detects this and the case counts as
`unspecified`. Every second kernel is optimised before its launch, as kernels are that run for longer.
"""

from __future__ import annotations

import pytest

from gpulab.simt.codegen import native
from tests.fuzz.worker import run_request

# A selection of the first 260 kernels with all their 357 forms of PTX instructions, block shapes,
# architectures and compiler options, at the least processor time. 187 is first because its suspended warps are rare.
SEEDS = (
    187, 2, 15, 19, 22, 24, 39, 47, 51, 52, 59, 62, 63, 64, 68, 75, 84, 85, 87, 96, 119, 122, 127, 137, 139,
    140, 145, 146, 147, 149, 152, 161, 164, 167, 170, 176, 180, 185, 188, 198, 227, 228, 236, 238, 241, 243, 255,
)  # fmt: skip
# Those of the first 50 kernels with a planted fault that execute it, in less than a second.
SEEDS_WITH_FAULT = (
    1, 2, 3, 6, 8, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 22, 24, 25, 27, 28, 31, 32, 35, 36, 37, 40, 41, 43, 44,
    45, 46, 47, 48,
)  # fmt: skip
OFTEN = 16  # of each: every run of the tests tries the first ones, and `make test-weekly` the others


def seeds(numbers: tuple[int, ...]) -> pytest.MarkDecorator:
    others = [pytest.param(number, marks=pytest.mark.weekly) for number in numbers[OFTEN:]]
    return pytest.mark.parametrize("seed", [*numbers[:OFTEN], *others])


@pytest.fixture(autouse=True)
def optimise_odd_seeds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr(native, "OPTIMIZATION_S", 0.0)


@seeds(SEEDS)
def test_random_kernel_matches_the_interpreter(seed: int) -> None:
    result = run_request({"seed": seed, "faults": False})
    assert result["kind"] in {"same", "unspecified"}, result["detail"]


@seeds(SEEDS_WITH_FAULT)
def test_planted_fault_is_reported_by_both(seed: int) -> None:
    result = run_request({"seed": seed, "faults": True})
    assert result["kind"] == "same fault", result["detail"]
