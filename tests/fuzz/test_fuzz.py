"""Random kernels give on the simulator what the plain interpreter gives; `make fuzz` runs many more.

A case may turn out to have no defined result in CUDA C, which the interpreter notices: `unspecified`. Every
second kernel is compiled plainly, as large ones are.
"""

from __future__ import annotations

import pytest

from gpulab.simt.instrument.base import Instrumentation
from tests.fuzz.worker import answer


@pytest.fixture(autouse=True)
def half_of_them_compiled_plainly(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr(Instrumentation, "optimize_up_to_lines", 0)


# They have 95 % of the 333 forms of PTX instructions that the first 260 kernels have; `make fuzz` goes on.
@pytest.mark.parametrize("seed", range(160))
def test_a_random_kernel_gives_what_the_interpreter_gives(seed: int) -> None:
    found = answer({"seed": seed, "faults": False})
    assert found["kind"] in {"same", "unspecified"}, found["detail"]


@pytest.mark.parametrize("seed", range(50))
def test_a_planted_fault_is_seen_by_both(seed: int) -> None:
    found = answer({"seed": seed, "faults": True})  # the fault need not lie on a way that is taken
    assert found["kind"] in {"same fault", "same", "unspecified"}, found["detail"]
