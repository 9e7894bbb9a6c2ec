"""One warp's access to memory as teachers draw it: 32 lanes, and the sectors or the banks that they touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulab.profiling.counts.metrics import SECTOR_BYTES
from gpulab.verification.sanitize import variable_name

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.instrument.counters.counter_recorder import Picture

__all__ = ["BANKS", "BANK_BYTES", "Places", "Touched", "TouchingLane", "WarpAccess", "warp_access"]

BANKS, BANK_BYTES = 32, 4  # of shared memory (CUDA C++ Programming Guide, "Shared Memory", 5.x and higher)


@dataclass(frozen=True)
class Touched:
    """A sector of global memory, or a word of shared memory, that the warp touches.

    column: sectors in the order of their addresses, or the word's bank. row: 0 for sectors; words of one
    bank, which are served one after the other, have different ones. start: its first byte's address.
    used: bit n says whether any lane asks for byte n. lanes: those that do. name: as `A0[32…39]`.
    """

    column: int
    row: int
    start: int
    used: int
    lanes: tuple[int, ...]
    name: str


@dataclass(frozen=True)
class TouchingLane:
    """An active lane. place: the element it accesses, as `A0[33]`. touched: indices into the access's."""

    place: str
    address: int
    touched: tuple[int, ...]


@dataclass(frozen=True)
class WarpAccess:
    """What one request of one warp touches.

    space: "global" (`touched` are 32-byte sectors) or "shared" (words of 4 bytes, in 32 banks).
    units: sectors or wavefronts that it takes. lanes: of the warp in their order; None for inactive ones.
    block: its index in the grid; warp: its number in the block.
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
        """Bytes that any lane asks for, each counted once."""
        return sum(one.used.bit_count() for one in self.touched)

    @property
    def deepest(self) -> int:
        """The most words that one bank has to give."""
        return max((one.row + 1 for one in self.touched), default=0)


class Places:
    """Names for addresses: which array, which element; and for blocks' numbers.

    arrays: (parameter's name, address, bytes, bytes of an element). shared: (variable's name, offset).
    """

    def __init__(
        self,
        arrays: Sequence[tuple[str, int, int, int]] = (),
        shared: Sequence[tuple[str, int]] = (),
        grid: tuple[int, int, int] = (1, 1, 1),
    ) -> None:
        self.arrays, self.grid = tuple(arrays), grid
        self.shared = tuple(sorted(shared, key=lambda one: one[1]))

    @classmethod
    def of(cls, kernel: RecordableKernel, arguments: Mapping[str, Any], grid: tuple[int, int, int]) -> Places:
        """Those of a launch: its arguments by their names, and the kernel's own shared variables."""
        from gpulab.simt.codegen.native import shared_layout
        from gpulab.simt.ptx.inlining import flatten

        arrays = [
            (name, value.allocation.address, value.allocation.size, value.dtype.itemsize)
            for name, value in arguments.items()
            if hasattr(value, "allocation")
        ]
        offsets, _ = shared_layout(kernel.module, flatten(kernel.module, kernel.entry))
        return cls(arrays, [(variable_name(symbol), at) for symbol, at in offsets.items()], grid)

    def array(self, space: str, address: int) -> str:
        """The array's name; "" where it has none."""
        if space == "shared":
            return self._variable(address)[0]
        return next((name for name, at, size, _ in self.arrays if at <= address < at + size), "")

    def element(self, space: str, address: int, width: int, length: int = 0) -> str:
        """The place of `length` bytes from an address on: `A0[32…39]`; `word 7 of tile` in shared memory."""
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
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def _variable(self, offset: int) -> tuple[str, int]:
        return max((one for one in self.shared if one[1] <= offset), key=lambda one: one[1], default=("", 0))


def warp_access(picture: Picture, space: str, width: int, places: Places) -> WarpAccess:
    """The drawing's data of one request: which lane touches which sectors or words.

    space: "global" or "shared". width: bytes a lane.
    """
    active = [lane for lane in range(32) if picture.mask >> lane & 1]
    unit = SECTOR_BYTES if space == "global" else BANK_BYTES
    asked: dict[int, dict[int, int]] = {}  # by the first byte of a sector or a word: lane to bytes it wants
    for lane in active:
        for byte in range(picture.addresses[lane], picture.addresses[lane] + max(width, 1)):
            lanes = asked.setdefault(byte // unit * unit, {})
            lanes[lane] = lanes.get(lane, 0) | 1 << byte % unit
    touched, depth = [], dict.fromkeys(range(BANKS), 0)
    for number, start in enumerate(sorted(asked)):
        column, row = number, 0
        if space == "shared":
            column = start // BANK_BYTES % BANKS
            row = depth[column]
            depth[column] += 1
        used = 0
        for bits in asked[start].values():
            used |= bits
        name = places.element(space, start, 1, unit)
        touched.append(Touched(column, row, start, used, tuple(sorted(asked[start])), name))
    by_lane: dict[int, list[int]] = {lane: [] for lane in active}
    for index, one in enumerate(touched):
        for lane in one.lanes:
            by_lane[lane].append(index)
    lanes_of = tuple(
        TouchingLane(
            places.element(space, picture.addresses[lane], width),
            picture.addresses[lane],
            tuple(by_lane[lane]),
        )
        if lane in by_lane
        else None
        for lane in range(32)
    )
    return WarpAccess(
        space, width, picture.units, places.block(picture.block), picture.warp, lanes_of, tuple(touched)
    )
