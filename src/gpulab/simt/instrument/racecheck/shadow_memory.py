"""Host memory of the shadow of one array."""

from __future__ import annotations

import numpy as np

from gpulab.simt.instrument.racecheck.shadow_layout import SHADOW, SHADOW_ARRAYS

__all__ = ["ArrayShadow"]

PADDING = 64  # cells past the end of an array, so that generated code may read a whole row


class ArrayShadow:
    """The shadow cells of one array; see `shadow_layout.SHADOW`.

    Parameters
    ----------
    start : int
        Device address of the array; 0 for shared memory.
    size : int
        Size of the array in bytes.
    granule : int
        Bytes of a cell.
    host : int
        Host address of the array's values.
    oldest_valid : int
        Smallest time of a write that counts: 0 if the array is initialized.
    """

    def __init__(self, start: int, size: int, granule: int, host: int, oldest_valid: int) -> None:
        self.start, self.size, self.granule, self.host = start, size, granule, host
        self.count = -(-size // granule) + PADDING
        stride = 4 * (-(-self.count // 16) * 16)

        # The host allocates pages of zeros only when they are written.
        raw = np.zeros(SHADOW["cells"] + SHADOW_ARRAYS * stride + 64, np.uint8)
        self.raw = raw[-raw.ctypes.data % 64 :][: SHADOW["cells"] + SHADOW_ARRAYS * stride]
        self.raw[SHADOW["oldest_valid"] :][:4].view(np.uint32)[0] = oldest_valid
        self.raw[SHADOW["stride"] :][:8].view(np.uint64)[0] = stride

        cells = self.raw[SHADOW["cells"] :].view(np.uint32)
        self.arrays = [cells[n * stride // 4 :][: self.count] for n in range(SHADOW_ARRAYS)]
        # Single elements of a memoryview are faster to access than those of an array.
        views: list[memoryview[int]] = [memoryview(array.data) for array in self.arrays]
        self.settled, self.write_times, self.writers, self.read_times, self.readers = views

    @property
    def address(self) -> int:
        return int(self.raw.ctypes.data)

    @property
    def oldest_valid(self) -> int:
        return int(self.raw[SHADOW["oldest_valid"] :][:4].view(np.uint32)[0])
