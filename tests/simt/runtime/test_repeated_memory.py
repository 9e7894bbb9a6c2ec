"""Arrays that repeat a pattern."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gpulab.simt.runtime.repeated_memory import PAGE_BYTES, repeated

PATTERN = np.arange(3 * PAGE_BYTES // 4, dtype=np.uint32)


def without_files_in_memory(name: str) -> int:
    raise OSError(38, "function not implemented")


@pytest.fixture(params=["mapped", "ordinary"])
def array(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    if request.param == "ordinary":
        monkeypatch.setattr(os, "memfd_create", without_files_in_memory, raising=False)
    return repeated(PATTERN, (5, PAGE_BYTES // 2))


def test_array_repeats_the_pattern(array: np.ndarray) -> None:
    np.testing.assert_array_equal(array.ravel(), np.resize(PATTERN, array.size))


def test_store_changes_one_element(array: np.ndarray) -> None:
    array[0, 7] = 1_000_000
    expected = np.resize(PATTERN, array.size)
    expected[7] = 1_000_000
    np.testing.assert_array_equal(array.ravel(), expected)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs files in memory")
def test_large_array_takes_the_memory_of_its_pattern() -> None:
    def resident() -> int:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    array = repeated(np.ones(1 << 20, np.float32), (1 << 28,))
    array[:: 1 << 20] = 2.0
    assert array.nbytes == 1 << 30
    assert resident() - before < 64 << 20
