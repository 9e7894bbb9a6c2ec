"""What one request of a warp asks of memory, from its lanes' addresses, as each compute capability does it.

Every function takes requests at once: masks (requests,), whose bit n is lane n, and addresses in bytes
(requests, 32); it gives one number for each request.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "SECTOR_BYTES",
    "bank_passes",
    "channel_load",
    "part_sectors",
    "segment_transactions",
    "unique_per_request",
]

SECTOR_BYTES = 32

Masks = npt.NDArray[np.uint32]
Addresses = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]


def lanes(masks: Masks) -> npt.NDArray[np.bool_]:
    """(requests, 32): which lanes are active."""
    return (masks[:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.bool_)


def unique_per_request(masks: Masks, addresses: Addresses, size: int) -> Counts:
    """How many aligned pieces of `size` bytes the active lanes touch: sectors (32) or lines (128)."""
    return _unique(np.where(lanes(masks), addresses // size, -1))


def part_sectors(masks: Masks, addresses: Addresses, width: int) -> float:
    """Sectors of which a request covers some bytes and not all, the mean over the requests."""
    found = 0
    for active, where in zip(lanes(masks), addresses, strict=True):
        _, lanes_of_one = np.unique(np.unique(where[active]) // SECTOR_BYTES, return_counts=True)
        found += int((lanes_of_one * width < SECTOR_BYTES).sum())
    return found / max(len(masks), 1)


def segment_transactions(masks: Masks, addresses: Addresses, width: int) -> npt.NDArray[np.int64]:
    """(requests, 2): transactions and bytes of compute capability 1.2 and 1.3.

    Each half-warp by itself: the lowest active lane's segment of 128 bytes (64 for 2-byte elements, 32 for
    single bytes) serves all lanes that lie in it, shrunk to the half and again the half of it that they
    need; then the next lane that is left (CUDA C Programming Guide 6.5, Compute Capability 1.x).
    """
    largest = {1: 32, 2: 64}.get(width, 128)
    found = np.zeros((len(masks), 2), np.int64)
    for number, (active, where) in enumerate(zip(lanes(masks), addresses, strict=True)):
        for half in (slice(0, 16), slice(16, 32)):
            left = set(where[half][active[half]].tolist())
            while left:
                first, size = min(left) // largest * largest, largest
                served = {a for a in left if first <= a < first + largest}
                while size > 32:
                    middle = first + size // 2
                    if all(a + width <= middle for a in served):
                        size //= 2
                    elif all(a >= middle for a in served):
                        first, size = middle, size // 2
                    else:
                        break
                left -= served
                found[number] += (1, size)
    return found


def channel_load(
    masks: Masks, addresses: Addresses, channels: int, channel_bytes: int
) -> npt.NDArray[np.float64]:
    """How much longer a request takes because its transactions go to few memory channels: 1 to `channels`.

    Neighbouring pieces of `channel_bytes` lie in different channels. A request of fewer transactions than
    there are channels leaves the others to other warps.
    """
    found = np.ones(len(masks))
    for number, (active, where) in enumerate(zip(lanes(masks), addresses, strict=True)):
        pieces = np.unique(where[active] // SECTOR_BYTES) * SECTOR_BYTES
        if len(pieces) >= channels:
            load = np.bincount(pieces // channel_bytes % channels)
            found[number] = load.max() * channels / len(pieces)
    return found


def bank_passes(masks: Masks, offsets: Addresses, width: int, banks: int) -> npt.NDArray[np.int64]:
    """Passes through the banks of shared memory, each 4 bytes wide.

    With 16 banks each half-warp goes by itself. Elements of 8 and 16 bytes are served to halves and quarters
    of as many lanes as there are banks; with 32 banks to twice as many where lanes come in pairs that ask for
    the same element (measured on an H200, see `counter_code`). Lanes that ask for the same element
    share it.
    """
    width = max(width, 4)
    elements, active = offsets // width, lanes(masks)
    places = banks * 4 // width  # elements that the banks hold side by side
    total = np.zeros(len(masks), np.int64)
    paired = _paired(active, elements) if width > 4 and banks == 32 else np.zeros(len(masks), np.bool_)
    for number, (on, element) in enumerate(zip(active, elements, strict=True)):
        group = places * (2 if paired[number] else 1)
        for start in range(0, 32, group):
            asked = np.unique(element[start : start + group][on[start : start + group]])
            if len(asked):
                total[number] += np.bincount(asked % places).max()
    return total


def _paired(active: npt.NDArray[np.bool_], elements: Addresses) -> npt.NDArray[np.bool_]:
    """Whether each lane's neighbour, one or two lanes further, is off or asks for the same element."""
    found = np.zeros(len(active), np.bool_)
    for distance in (1, 2):
        other = np.arange(32) ^ distance
        both = active & active[:, other]
        found |= (~both | (elements == elements[:, other])).all(axis=1)
    return found


def _unique(values: npt.NDArray[np.int64]) -> Counts:
    """Different values of each row, -1 not counted."""
    ordered = np.sort(values, axis=1)
    fresh = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    found: Counts = fresh.sum(axis=1) + (ordered[:, 0] >= 0)
    return found
