"""The heap of device code: `malloc`, `free`, `new` and `delete` in kernels.

Each block of the heap is an allocation of its own, far from all others. An access outside a block, or to one
that was freed, is therefore found like an access outside an array. The heap keeps its blocks until a kernel
frees them, in this launch or a later one.
"""

from __future__ import annotations

from gpulab.errors import LaunchError
from gpulab.simt.runtime import layout
from gpulab.simt.runtime.allocation import Allocation, Memory

__all__ = ["DeviceHeap"]

GRANULE = 16  # bytes: sizes are rounded up to a multiple of it, as a GPU aligns blocks


class DeviceHeap:
    """The blocks that kernels have allocated on one device and not freed."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.blocks: dict[int, Allocation] = {}
        self.used = 0

    def allocate(self, size: int) -> Allocation | None:
        """Return a new block; None if the size is 0 or the heap is exhausted."""
        taken = _taken(size)
        if size == 0 or self.used + taken > layout.HEAP_BYTES:
            return None
        try:
            block = self.memory.allocate(size)
        except LaunchError:  # the host has no memory
            return None
        self.used += taken
        self.blocks[block.address] = block
        return block

    def free(self, address: int) -> Allocation | None:
        """Free and return the block at an address; None if no block begins there."""
        block = self.blocks.pop(address, None)
        if block is not None:
            self.used -= _taken(block.size)
            self.memory.free(address)
        return block


def _taken(size: int) -> int:
    """Return the bytes of the heap that a block of this size takes."""
    return -(-size // GRANULE) * GRANULE
