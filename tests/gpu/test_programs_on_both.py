"""The programs of tests/simt, run on a GPU."""

from __future__ import annotations

import pytest

from gpulab.devices.base import Device
from tests.simt import programs, test_arithmetic_programs, test_block_programs, test_programs

MODULES = (test_programs, test_block_programs, test_arithmetic_programs)
TESTS = [
    test
    for module in MODULES
    for name, test in vars(module).items()
    if name.startswith("test_")
    and not test.__code__.co_argcount
    # A GPU's printf writes to C's stdout, and a failed assertion makes the CUDA context unusable.
    and "printf" not in name
    and "assertion" not in name
]


@pytest.mark.parametrize("test", TESTS, ids=lambda t: t.__name__)
def test_program_gives_the_same_result_as_numpy(test, gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "simulator", lambda: gpu)
    programs.compiled.cache_clear()
    test()
    programs.compiled.cache_clear()
