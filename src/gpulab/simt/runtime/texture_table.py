"""The texture and surface objects of a device: a table that running code searches by their handles."""

from __future__ import annotations

import struct
import threading
import weakref
from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpulab.simt.runtime import layout

__all__ = ["TextureRow", "TextureTable"]

FIRST_HANDLE = 1 << 32  # so that small numbers are not handles
SMALL_EXTENT = 8192  # texels of an axis along which normalised coordinates have 21 bits; 22 for larger ones

# `limit`, `unit` and `levels` of integer formats. 258 + 1/128 fits an H200 better than 32767/127.
_UNITS = {
    "uint8": (255.0, 257.0, 65535.0),
    "int8": (127.0, 258 + 1 / 128, 32767.0),
    "uint16": (65535.0, 1.0, 65535.0),
    "int16": (32767.0, 1.0, 32767.0),
}


@dataclass(frozen=True)
class TextureRow:
    """An object, as `layout.TEXTURE_FIELDS` describes it.

    Attributes
    ----------
    geometry : str
        A name in `layout.GEOMETRIES`.
    host : int
        Host address of the first element.
    extents : tuple of int
        Width, height and depth in texels; 1 for an axis that the object does not have.
    row_bytes, slice_bytes : int
        Distance of rows and of slices.
    channels : int
        Elements of a texel.
    dtype : str
        NumPy's name of the elements' type.
    linear, normalized, read_normalized : bool
        The filter is linear, coordinates are normalised, integers are read as normalised floats.
    modes : tuple of str
        Address mode by axis, a name in `layout.ADDRESS_MODES`.
    surface : bool
        The object is a surface.
    """

    geometry: str
    host: int
    extents: tuple[int, int, int]
    row_bytes: int
    slice_bytes: int
    channels: int
    dtype: str
    linear: bool = False
    normalized: bool = False
    read_normalized: bool = False
    modes: tuple[str, str, str] = ("clamp", "clamp", "clamp")
    surface: bool = False

    def words(self, handle: int) -> list[int]:
        """Return the fields of the row."""
        kind = layout.GEOMETRIES[self.geometry]
        if self.surface:
            kind |= layout.IS_SURFACE
        elif self.read_normalized or self.dtype.startswith("float"):
            kind |= layout.RETURNS_FLOATS
        dimensions = {"3d": 3, "2d": 2, "a2d": 2}.get(self.geometry, 1)
        return [
            handle, kind, self.host, *self.extents, self.row_bytes, self.slice_bytes, self.channels,
            np.dtype(self.dtype).itemsize, layout.TEXTURE_FORMATS.index(self.dtype), dimensions,
            int(self.linear), int(self.normalized), int(self.read_normalized),
            *(layout.ADDRESS_MODES[mode] for mode in self.modes),
            *map(_double, map(_steps, self.extents)),
            *map(_double, _UNITS.get(self.dtype, (1.0, 1.0, 1.0))),
        ]  # fmt: skip


class TextureTable:
    """The objects of one device.

    Attributes
    ----------
    rows : array of int64
        A row for each object; a row without an object has the handle 0.
    """

    def __init__(self) -> None:
        self.rows = np.zeros((8, len(layout.TEXTURE_FIELDS)), np.int64)
        self._owners: dict[int, weakref.ref[object]] = {}
        self._free = list(range(len(self.rows)))[::-1]
        self._count = 0
        self._lock = threading.Lock()
        self._collected: deque[int] = deque()  # the garbage collector may run in a thread that holds the lock

    def add(self, owner: object, row: TextureRow) -> int:
        """Add an object and return its handle; it is removed when its owner is garbage-collected."""
        with self._lock:
            self._remove_collected()
            if not self._free:
                size = len(self.rows)
                self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
                self._free = list(range(size, 2 * size))[::-1]
            slot = self._free.pop()
            self._count += 1
            handle = self._count * FIRST_HANDLE | slot  # handles are never used twice
            self.rows[slot] = row.words(handle)
            self._owners[handle] = weakref.ref(owner)
        weakref.finalize(owner, self._collected.append, handle)
        return handle

    def current(self) -> npt.NDArray[np.int64]:
        """Return the rows without those of objects that were garbage-collected."""
        with self._lock:
            self._remove_collected()
            return self.rows

    def owner(self, handle: int) -> object | None:
        """Return the object with a handle; None if there is none."""
        reference = self._owners.get(handle)
        return reference() if reference is not None else None

    def existed(self, handle: int) -> bool:
        """Return True if a handle belonged to an object."""
        return 0 < handle // FIRST_HANDLE <= self._count and handle & layout.TEXTURE_SLOTS < len(self.rows)

    def _remove_collected(self) -> None:
        while self._collected:
            handle = self._collected.popleft()
            slot = handle & layout.TEXTURE_SLOTS
            self.rows[slot] = 0
            self._owners.pop(handle, None)
            self._free.append(slot)


def _steps(extent: int) -> float:
    """Return the number of steps per unit to which an H200 truncates a normalised coordinate."""
    return 2.0**21 if extent <= SMALL_EXTENT else 2.0**22


def _double(value: float) -> int:
    """Return the bits of a double as an integer."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])
