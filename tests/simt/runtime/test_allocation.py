"""Host memory of the arrays of a simulated device."""

from __future__ import annotations

import pytest

from gpulab.simt.runtime.allocation import LINE_BYTES, Memory
from gpulab.simt.runtime.host_memory import MemoryBudget


@pytest.mark.parametrize("size", [1, 1000, 1 << 12, 1 << 20, 17 << 20])
def test_arrays_begin_at_a_cache_line(size: int) -> None:
    memory = Memory(MemoryBudget(1 << 30))
    for _ in range(3):
        host = memory.allocate(size).host
        assert host.size == size
        assert host.ctypes.data % LINE_BYTES == 0


def test_arrays_of_one_size_begin_at_different_places_of_a_page() -> None:
    memory = Memory(MemoryBudget(1 << 30))
    arrays = [memory.allocate(1 << 20, "zeros").host for _ in range(8)]
    assert len({host.ctypes.data % 4096 for host in arrays}) == len(arrays)
