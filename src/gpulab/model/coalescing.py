"""Memory transactions of a warp's request, computed from its lanes' addresses by the rules of each GPU.

Every function takes many requests: masks of shape (requests,), in which bit n is lane n, and addresses in
bytes of shape (requests, 32). Unless it says otherwise it returns one number for each request.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "SECTOR_BYTES",
    "bank_passes",
    "channel_load",
    "copied_sectors",
    "partial_sectors",
    "segment_transactions",
    "unique_per_request",
]

SECTOR_BYTES = 32

Masks = npt.NDArray[np.uint32]
Addresses = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]


def lanes(masks: Masks) -> npt.NDArray[np.bool_]:
    """Return the active lanes of each request, of shape (requests, 32)."""
    return (masks[:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.bool_)


def unique_per_request(masks: Masks, addresses: Addresses, size: int) -> Counts:
    """Return the number of aligned pieces of `size` bytes that are touched: sectors (32) or lines (128)."""
    _, is_new = _distinct(lanes(masks), addresses // size)
    unique: Counts = is_new.sum(axis=1)
    return unique


def partial_sectors(masks: Masks, addresses: Addresses, width: int) -> tuple[float, float]:
    """Return the mean number of sectors that a request covers in part, and the covered share of these.

    Sectors next to one that is covered completely do not count: they are the ends of consecutive elements,
    which the request of the next warp continues.
    """
    if width >= SECTOR_BYTES:
        return 0.0, 0.0
    elements, is_new = _distinct(lanes(masks), addresses)
    sectors = elements // SECTOR_BYTES
    distance = sectors[:, :, None] - sectors[:, None, :]
    counts = ((distance == 0) & is_new[:, None, :]).sum(axis=2)
    complete = is_new & (counts * width >= SECTOR_BYTES)
    apart = is_new & ~((abs(distance) <= 1) & complete[:, None, :]).any(axis=2)
    is_first = np.ones(sectors.shape, np.bool_)
    is_first[:, 1:] = sectors[:, 1:] != sectors[:, :-1]
    partial, covered = int((apart & is_first).sum()), int(apart.sum()) * width
    return partial / max(len(masks), 1), covered / max(partial * SECTOR_BYTES, 1)


def copied_sectors(masks: Masks, addresses: Addresses) -> tuple[Counts, Counts]:
    """Return the sectors and the lines that an asynchronous copy of 16 bytes per lane requests from L2.

    The copy bypasses L1, which would request each sector once. Here only two lanes, of which the first is
    even, share a sector, if their bytes fill it. If their bytes follow each other across two sectors, they
    request both. For each quarter of the warp, the sectors in one line are one request, but the second
    sectors of such pairs are requested separately, and so are the bytes of other lanes. All this is from
    counters of micro-kernels on an H100.
    """
    active = lanes(masks).reshape(len(masks), 16, 2)
    first, second = np.moveaxis(addresses.reshape(len(masks), 16, 2), 2, 0)
    follow = active.all(axis=2) & (second == first + 16)
    across = follow & (first % SECTOR_BYTES != 0)
    alone = active.sum(axis=(1, 2)) - 2 * follow.sum(axis=1)

    sectors: Counts = follow.sum(axis=1) + across.sum(axis=1) + alone
    lines = alone.copy()
    for pairs, where in ((follow, first), (across, second)):
        _, is_new = _distinct(pairs.reshape(-1, 4), where.reshape(-1, 4) // 128)
        lines += is_new.reshape(len(masks), 16).sum(axis=1)
    return sectors, lines


def _distinct(active: npt.NDArray[np.bool_], elements: Addresses) -> tuple[Addresses, npt.NDArray[np.bool_]]:
    """Return the sorted elements of each row, -1 for inactive lanes, and True for the first of equal ones."""
    ordered = np.sort(np.where(active, elements, -1), axis=-1)
    is_new = ordered >= 0
    is_new[..., 1:] &= ordered[..., 1:] != ordered[..., :-1]
    return ordered, is_new


def segment_transactions(masks: Masks, addresses: Addresses, width: int) -> npt.NDArray[np.int64]:
    """Return transactions and bytes by the rules of compute capability 1.2 and 1.3, of shape (requests, 2).

    Each half-warp is served separately. The segment that contains the lowest active lane's address serves all
    lanes that lie in it. It has 128 bytes (64 for 2-byte elements, 32 for single bytes) and is halved as long
    as one half holds all the lanes. The remaining lanes are served in the same way (CUDA C Programming Guide
    6.5, Compute Capability 1.x).
    """
    largest = {1: 32, 2: 64}.get(width, 128)
    totals = np.zeros((len(masks), 2), np.int64)

    for number, (active, row) in enumerate(zip(lanes(masks), addresses, strict=True)):
        for half in (slice(0, 16), slice(16, 32)):
            waiting = set(row[half][active[half]].tolist())
            while waiting:
                first, size = min(waiting) // largest * largest, largest
                served = {address for address in waiting if first <= address < first + largest}
                while size > 32:
                    middle = first + size // 2
                    if all(address + width <= middle for address in served):
                        size //= 2
                    elif all(address >= middle for address in served):
                        first, size = middle, size // 2
                    else:
                        break
                waiting -= served
                totals[number] += (1, size)

    return totals


def channel_load(
    masks: Masks, addresses: Addresses, channels: int, channel_bytes: int
) -> npt.NDArray[np.float64]:
    """Return the slowdown of a request whose transactions share memory channels: 1 to `channels`.

    Consecutive pieces of `channel_bytes` lie in different channels. A request with fewer transactions than
    there are channels is not slowed down, because other warps use the remaining channels.
    """
    slowdown = np.ones(len(masks))
    for number, (active, row) in enumerate(zip(lanes(masks), addresses, strict=True)):
        transactions = np.unique(row[active] // SECTOR_BYTES) * SECTOR_BYTES
        if len(transactions) >= channels:
            load = np.bincount(transactions // channel_bytes % channels)
            slowdown[number] = load.max() * channels / len(transactions)
    return slowdown


def bank_passes(masks: Masks, offsets: Addresses, width: int, banks: int) -> npt.NDArray[np.int64]:
    """Return the passes through the banks of shared memory, each 4 bytes wide.

    Lanes that access the same element share it. With 16 banks each half-warp is served separately. Elements
    of 8 and 16 bytes are served to groups of as many lanes as the banks hold elements. With 32 banks a group
    is twice as large if the lanes come in pairs that access the same element (measured on an H200, see
    `counter_code`).
    """
    width = max(width, 4)
    elements, active = offsets // width, lanes(masks)
    row_elements = banks * 4 // width  # elements that the banks hold side by side
    paired = _paired(active, elements) if width > 4 and banks == 32 else np.zeros(len(masks), np.bool_)

    passes = np.zeros(len(masks), np.int64)
    for requests, group in ((~paired, row_elements), (paired, 2 * row_elements)):
        passes[requests] = _group_passes(active[requests], elements[requests], min(group, 32), row_elements)
    return passes


def _group_passes(
    active: npt.NDArray[np.bool_], elements: Addresses, group: int, row_elements: int
) -> Counts:
    """Return the passes of requests whose lanes are served in groups: the most elements in the same banks."""
    distinct, is_new = _distinct(active.reshape(-1, group), elements.reshape(-1, group))
    groups = np.arange(len(distinct))[:, None]
    places = groups * row_elements + distinct % row_elements
    in_banks = np.bincount(places[is_new], minlength=len(distinct) * row_elements)
    passes: Counts = in_banks.reshape(len(active), 32 // group, row_elements).max(axis=2).sum(axis=1)
    return passes


def _paired(active: npt.NDArray[np.bool_], elements: Addresses) -> npt.NDArray[np.bool_]:
    """Return True for requests whose lanes come in pairs.

    Two lanes at distance one, or in all pairs at distance two, form a pair if one of them is inactive or both
    access the same element.
    """
    paired = np.zeros(len(active), np.bool_)
    for distance in (1, 2):
        partner = np.arange(32) ^ distance
        both = active & active[:, partner]
        paired |= (~both | (elements == elements[:, partner])).all(axis=1)
    return paired
