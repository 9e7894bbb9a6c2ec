"""Host memory of the shadow of one array."""

from __future__ import annotations

import numpy as np

from gpulab.simt.instrument.racecheck.shadow_layout import (
    ROW_BYTES,
    ROW_CELLS,
    SHADOW,
    SHADOW_ARRAYS,
    SILENT,
    WRITE_TIME,
    WRITER,
)

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
    in_rows : bool
        Whole rows of cells are recorded until `expand_rows` is called; see `shadow_layout.ROW_CELLS`.
    """

    def __init__(
        self, start: int, size: int, granule: int, host: int, oldest_valid: int, in_rows: bool = False
    ) -> None:
        self.start, self.size, self.granule, self.host = start, size, granule, host
        self.count = -(-size // granule) + PADDING
        stride = 4 * (-(-self.count // 16) * 16)

        # The host allocates pages of zeros only when they are written.
        rows = SHADOW["cells"] + SHADOW_ARRAYS * stride
        end = rows + ROW_BYTES * -(-self.count // ROW_CELLS) * in_rows
        raw = np.zeros(end + 64, np.uint8)
        self.raw = raw[-raw.ctypes.data % 64 :][:end]
        self.raw[SHADOW["oldest_valid"] :][:4].view(np.uint32)[0] = oldest_valid
        self.raw[SHADOW["stride"] :][:8].view(np.uint64)[0] = stride

        self.in_rows = self.raw[SHADOW["in_rows"] :][:4].view(np.uint32)
        self.in_rows[0] = in_rows
        self.rows = self.raw[rows:].view(np.uint32).reshape(-1, ROW_BYTES // 4)

        cells = self.raw[SHADOW["cells"] : rows].view(np.uint32)
        self.arrays = [cells[n * stride // 4 :][: self.count] for n in range(SHADOW_ARRAYS)]
        # Single elements of a memoryview are faster to access than those of an array.
        views: list[memoryview[int]] = [memoryview(array.data) for array in self.arrays]
        self.settled, self.write_times, self.writers, self.read_times, self.readers = views

    def expand_rows(self) -> None:
        """Write the records of rows into the cells; from now on each cell is recorded."""
        if not self.in_rows[0]:
            return
        self.in_rows[0] = 0
        written = np.flatnonzero(self.rows[:, 0])
        lanes = np.arange(ROW_CELLS, dtype=np.uint32)
        times, words, active, silent = (self.rows[written, n][:, None] for n in range(4))
        words = words | lanes | np.where(silent >> lanes & 1, np.uint32(SILENT), np.uint32(0))
        chosen = (active >> lanes & 1).astype(bool)
        cells = (written[:, None] * ROW_CELLS + lanes)[chosen]
        self.arrays[WRITE_TIME][cells] = np.broadcast_to(times, chosen.shape)[chosen]
        self.arrays[WRITER][cells] = words[chosen]

    @property
    def address(self) -> int:
        return int(self.raw.ctypes.data)

    @property
    def oldest_valid(self) -> int:
        return int(self.raw[SHADOW["oldest_valid"] :][:4].view(np.uint32)[0])
