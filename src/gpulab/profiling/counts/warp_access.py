"""Data of a drawing of one warp's memory request: its 32 lanes, and the sectors or banks that they touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from gpulab.profiling.counts.metrics import SECTOR_BYTES
from gpulab.simt.ptx.symbols import variable_name

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.instrument.counters.counter_recorder import RequestSample

__all__ = ["BANKS", "BANK_BYTES", "Places", "Touched", "TouchingLane", "WarpAccess", "warp_access"]

BANKS, BANK_BYTES = 32, 4  # CUDA C++ Programming Guide, "Shared Memory", since 5.x


@dataclass(frozen=True)
class Touched:
    """A sector of global memory, or a 4-byte word of shared memory, that the warp touches.

    Attributes
    ----------
    column, row : int
        Position in the drawing. Sectors are in row 0 in the order of their addresses. The column of a word is
        its bank; words of one bank, which are served one after the other, have different rows.
    start : int
        Address of its first byte.
    used : int
        Bit n is set if a lane accesses byte n.
    lanes : tuple of int
        The lanes that access it.
    name : str
        As in `A0[32…39]`.
    """

    column: int
    row: int
    start: int
    used: int
    lanes: tuple[int, ...]
    name: str


@dataclass(frozen=True)
class TouchingLane:
    """An active lane.

    Attributes
    ----------
    place : str
        The element that it accesses, as in `A0[33]`.
    address : int
        In bytes.
    touched : tuple of int
        Indices into `WarpAccess.touched`.
    """

    place: str
    address: int
    touched: tuple[int, ...]


@dataclass(frozen=True)
class WarpAccess:
    """Sectors or words that one request of one warp touches.

    Attributes
    ----------
    space : str
        "global" (`touched` holds 32-byte sectors) or "shared" (4-byte words in 32 banks).
    width : int
        Bytes per lane.
    units : int
        Sectors or wavefronts of the request.
    block : tuple of int
        Index of the block in the grid.
    warp : int
        Index of the warp in the block.
    lanes : tuple of TouchingLane or None
        The lanes of the warp in order; None for an inactive lane.
    touched : tuple of Touched
        The sectors or words, by increasing address.
    """

    space: str
    width: int
    units: int
    block: tuple[int, int, int]
    warp: int
    lanes: tuple[TouchingLane | None, ...]
    touched: tuple[Touched, ...]

    @property
    def active(self) -> int:
        return sum(lane is not None for lane in self.lanes)

    @property
    def bytes_used(self) -> int:
        """Bytes that the lanes access, each counted once."""
        return sum(unit.used.bit_count() for unit in self.touched)

    @property
    def deepest(self) -> int:
        """The largest number of words that one bank serves."""
        return max((unit.row + 1 for unit in self.touched), default=0)


class Places:
    """Converter of the addresses and block numbers of a launch to names.

    Parameters
    ----------
    arrays : sequence of (str, int, int, int)
        Parameter name, address, size in bytes and element size in bytes of each array.
    shared : sequence of (str, int)
        Name and offset in bytes of each shared variable.
    grid : tuple of int
        Blocks of the grid on each axis.
    """

    def __init__(
        self,
        arrays: Sequence[tuple[str, int, int, int]] = (),
        shared: Sequence[tuple[str, int]] = (),
        grid: tuple[int, int, int] = (1, 1, 1),
    ) -> None:
        self.arrays, self.grid = tuple(arrays), grid
        self.shared = tuple(sorted(shared, key=lambda variable: variable[1]))

    @classmethod
    def of(cls, kernel: RecordableKernel, arguments: Mapping[str, Any], grid: tuple[int, int, int]) -> Places:
        """Return the names of a launch: its array arguments and the kernel's static shared variables."""
        from gpulab.simt.codegen.variable_layout import shared_layout
        from gpulab.simt.ptx.inlining import flatten

        arrays = [
            (name, value.allocation.address, value.allocation.size, value.dtype.itemsize)
            for name, value in arguments.items()
            if hasattr(value, "allocation")
        ]
        offsets, _ = shared_layout(kernel.module.ptx, flatten(kernel.module.ptx, kernel.entry))
        return cls(arrays, [(variable_name(symbol), at) for symbol, at in offsets.items()], grid)

    def array(self, space: str, address: int) -> str:
        """Return the name of the array or shared variable at an address; "" if there is none."""
        if space == "shared":
            return self._variable(address)[0]
        return next((name for name, at, size, _ in self.arrays if at <= address < at + size), "")

    def element(self, space: str, address: int, width: int, length: int = 0) -> str:
        """Return the name of `length` bytes from an address on: `A0[32…39]`, or `word 7 of tile`."""
        if space == "shared":
            name, at = self._variable(address)
            word, rest = divmod(address - at, BANK_BYTES)
            words = f"word {word}" if max(length, width) <= BANK_BYTES else (
                f"words {word}…{word + (max(length, width) - 1) // BANK_BYTES}"
            )  # fmt: skip
            return f"{words} of {name or 'shared memory'}" + (f", byte {rest}" if rest else "")
        for name, at, size, item in self.arrays:
            if at <= address < at + size:
                first = (address - at) // item
                last = min(address - at + max(length, width), size) - 1
                return f"{name}[{first}]" if last // item <= first else f"{name}[{first}…{last // item}]"
        return f"address {address:#x}"

    def block(self, number: int) -> tuple[int, int, int]:
        """Return the index in the grid of the block with a linear index."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def _variable(self, offset: int) -> tuple[str, int]:
        before = (variable for variable in self.shared if variable[1] <= offset)
        return max(before, key=lambda variable: variable[1], default=("", 0))


def warp_access(request: RequestSample, space: str, width: int, places: Places) -> WarpAccess:
    """Return which lane touches which sectors (space "global") or words (space "shared").

    `width` is the bytes per lane.
    """
    active = [lane for lane in range(32) if request.mask >> lane & 1]
    unit_bytes = SECTOR_BYTES if space == "global" else BANK_BYTES
    # By the first byte of a sector or word, then by lane: the bytes that the lane accesses, as bits.
    bytes_by_lane: dict[int, dict[int, int]] = {}
    for lane in active:
        for byte in range(request.addresses[lane], request.addresses[lane] + max(width, 1)):
            lanes = bytes_by_lane.setdefault(byte // unit_bytes * unit_bytes, {})
            lanes[lane] = lanes.get(lane, 0) | 1 << byte % unit_bytes

    touched, depth = [], dict.fromkeys(range(BANKS), 0)
    for number, start in enumerate(sorted(bytes_by_lane)):
        column, row = number, 0
        if space == "shared":
            column = start // BANK_BYTES % BANKS
            row = depth[column]
            depth[column] += 1
        lanes = bytes_by_lane[start]
        used = reduce(or_, lanes.values())
        name = places.element(space, start, 1, unit_bytes)
        touched.append(Touched(column, row, start, used, tuple(sorted(lanes)), name))

    indices: dict[int, list[int]] = {lane: [] for lane in active}
    for index, unit in enumerate(touched):
        for lane in unit.lanes:
            indices[lane].append(index)
    touching: list[TouchingLane | None] = [None] * 32
    for lane in active:
        address = request.addresses[lane]
        place = places.element(space, address, width)
        touching[lane] = TouchingLane(place, address, tuple(indices[lane]))

    block = places.block(request.block)
    return WarpAccess(space, width, request.units, block, request.warp, tuple(touching), tuple(touched))
