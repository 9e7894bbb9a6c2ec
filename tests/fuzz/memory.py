"""Memory of the interpreter: arrays far apart, the shared memory of one block, the local memory of threads.

Every access is checked for bounds, alignment and races. A race is a pair of accesses of two threads to
the same byte without a barrier between them, at least one of them a write, unless both are atomic or
volatile. A kernel with a race has no unique result, so the case proves nothing about the simulator.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Array", "Fault", "Memory", "Race", "Thread"]

SHARED = 0x51 << 40  # generic address of the shared memory window
LOCAL = 0x52 << 40  # generic address of the local memory window
POISON = 0xFF  # value of bytes that have not been written
LOCAL_BYTES = 1 << 18  # local memory of a thread


class Fault(Exception):
    """An error of one thread; `kind` is out_of_bounds, misaligned, trap or assert."""

    def __init__(self, kind: str, address: int = 0) -> None:
        super().__init__(f"{kind} at {address:#x}")
        self.kind = kind


class Race(Exception):
    """Two threads access the same byte without an order between them, and one of them writes."""


@dataclass
class Array:
    """An array and its last accesses by byte; accesses to a `constant` array are not tracked."""

    data: bytearray
    constant: bool = False
    written_by: dict[int, tuple[object, ...]] = field(default_factory=dict)
    read_by: dict[int, tuple[object, ...]] = field(default_factory=dict)


@dataclass
class Thread:
    """A thread and its local memory. `phase` counts the barriers that its block has passed."""

    block: int
    number: int
    phase: int = 0
    local: bytearray = field(default_factory=bytearray)

    def allocate_local(self, size: int, align: int) -> int:
        """Allocate `size` bytes of local memory; return their offset."""
        start = -(-len(self.local) // align) * align
        self.local.extend(bytes([POISON]) * (start + size - len(self.local)))
        if len(self.local) > LOCAL_BYTES:
            raise Fault("out_of_bounds", LOCAL + len(self.local))
        return start


class Memory:
    """Global and shared memory of the interpreter; an array's number is in bits 40 and up of its address."""

    def __init__(self) -> None:
        self.arrays: dict[int, Array] = {}
        self.shared = Array(bytearray())

    def allocate(self, data: bytes, constant: bool = False) -> int:
        """Allocate an array; return its address."""
        number = len(self.arrays) + 1
        self.arrays[number] = Array(bytearray(data), constant)
        return number << 40

    def new_block(self, shared_bytes: int) -> None:
        self.shared = Array(bytearray([POISON]) * shared_bytes)

    def resolve(
        self, thread: Thread, space: str, address: int, size: int
    ) -> tuple[bytearray, int, Array | None]:
        """Return the bytes that an access touches, its offset, and the array to check for races, if any."""
        if address % size:
            raise Fault("misaligned", address)
        tracked: Array | None = None
        if space == "generic":
            if address >> 40 == SHARED >> 40:
                space, address = "shared", address - SHARED
            elif address >> 40 == LOCAL >> 40:
                space, address = "local", address - LOCAL
        if space == "shared":
            data, tracked = self.shared.data, self.shared
        elif space == "local":
            data = thread.local
        else:
            tracked = self.arrays.get(address >> 40)
            if tracked is None:
                raise Fault("out_of_bounds", address)
            data, address = tracked.data, address & (1 << 40) - 1
        if address + size > len(data):
            raise Fault("out_of_bounds", address)
        return data, address, tracked

    def load(self, thread: Thread, space: str, address: int, size: int, volatile: bool = False) -> bytes:
        data, at, tracked = self.resolve(thread, space, address, size)
        if tracked is not None:
            self.check_race(tracked, thread, at, size, writes=False, atomic=volatile)
        return bytes(data[at : at + size])

    def store(self, thread: Thread, space: str, address: int, value: bytes, volatile: bool = False) -> None:
        data, at, tracked = self.resolve(thread, space, address, len(value))
        if tracked is not None:
            self.check_race(tracked, thread, at, len(value), writes=True, atomic=volatile)
        data[at : at + len(value)] = value

    def update(self, thread: Thread, space: str, address: int, size: int) -> tuple[bytearray, int]:
        """Return the bytes and offset for an atomic operation.

        Atomic operations race with plain accesses, but not with each other.
        """
        data, at, tracked = self.resolve(thread, space, address, size)
        if tracked is not None:
            self.check_race(tracked, thread, at, size, writes=True, atomic=True)
        return data, at

    @staticmethod
    def check_race(
        array: Array, thread: Thread, at: int, size: int, *, writes: bool, atomic: bool = False
    ) -> None:
        """Record the access; raise `Race` if it races with an access of another thread."""
        if array.constant:
            if writes:
                raise Race("a constant array is written")
            return
        access: tuple[object, ...] = (thread.block, thread.number, thread.phase, atomic)
        for byte in range(at, at + size):
            for others in (array.written_by, array.read_by) if writes else (array.written_by,):
                other = others.get(byte)
                if other is None or other[:2] == access[:2] or (atomic and other[3]):
                    continue
                if other[0] != thread.block or other[2] == thread.phase:
                    raise Race(f"byte {byte}: {other} and {access}")
            if writes:
                array.written_by[byte] = access
            else:
                old = array.read_by.get(byte)
                # Two readers in one phase are recorded as thread -1, which differs from every writer.
                if old is None or old[2] != thread.phase or old[0] != thread.block:
                    array.read_by[byte] = access
                elif old[:2] != access[:2]:
                    array.read_by[byte] = (thread.block, -1, thread.phase, atomic and old[3])
