"""Memory as the interpreter sees it: arrays far apart, one block's shared memory, each thread's local memory.

Every access is checked for bounds and alignment, and for races: two threads that touch the same byte
with no barrier between them, one of them writing, unless both are atomic or volatile. A race says that
the *kernel* has no one result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Array", "Fault", "Memory", "Race", "Thread"]

SHARED = 0x51 << 40  # generic addresses of shared memory …
LOCAL = 0x52 << 40  # … and of the thread's local memory
POISON = 0xFF
LOCAL_BYTES = 1 << 18


class Fault(Exception):
    """A thread did what it must not: `kind` is out_of_bounds, misaligned or trap."""

    def __init__(self, kind: str, address: int = 0) -> None:
        super().__init__(f"{kind} at {address:#x}")
        self.kind = kind


class Race(Exception):
    """Two threads touch the same byte, one of them writes, and nothing orders them."""


@dataclass
class Array:
    """`constant`: nobody writes it, so that nobody needs to be watched."""

    data: bytearray
    constant: bool = False
    written_by: dict[int, tuple[object, ...]] = field(default_factory=dict)
    read_by: dict[int, tuple[object, ...]] = field(default_factory=dict)


@dataclass
class Thread:
    """Who makes an access. `phase` counts the barriers that its block has passed."""

    block: int
    number: int
    phase: int = 0
    local: bytearray = field(default_factory=bytearray)

    def room(self, size: int, align: int) -> int:
        """Take `size` more bytes of local memory; where they begin."""
        start = -(-len(self.local) // align) * align
        self.local.extend(bytes([POISON]) * (start + size - len(self.local)))
        if len(self.local) > LOCAL_BYTES:
            raise Fault("out_of_bounds", LOCAL + len(self.local))
        return start


class Memory:
    def __init__(self) -> None:
        self.arrays: dict[int, Array] = {}
        self.shared = Array(bytearray())

    def allocate(self, data: bytes, constant: bool = False) -> int:
        """Place an array; its address."""
        number = len(self.arrays) + 1
        self.arrays[number] = Array(bytearray(data), constant)
        return number << 40

    def new_block(self, shared_bytes: int) -> None:
        self.shared = Array(bytearray([POISON]) * shared_bytes)

    def find(
        self, thread: Thread, space: str, address: int, size: int
    ) -> tuple[bytearray, int, Array | None]:
        """The bytes that an access goes to, where in them, and what to watch for races."""
        if address % size:
            raise Fault("misaligned", address)
        watched: Array | None = None
        if space == "generic":
            if address >> 40 == SHARED >> 40:
                space, address = "shared", address - SHARED
            elif address >> 40 == LOCAL >> 40:
                space, address = "local", address - LOCAL
        if space == "shared":
            data, watched = self.shared.data, self.shared
        elif space == "local":
            data = thread.local
        else:
            watched = self.arrays.get(address >> 40)
            if watched is None:
                raise Fault("out_of_bounds", address)
            data, address = watched.data, address & (1 << 40) - 1
        if address + size > len(data):
            raise Fault("out_of_bounds", address)
        return data, address, watched

    def load(self, thread: Thread, space: str, address: int, size: int, volatile: bool = False) -> bytes:
        data, at, watched = self.find(thread, space, address, size)
        if watched is not None:
            self.watch(watched, thread, at, size, writes=False, atomic=volatile)
        return bytes(data[at : at + size])

    def store(self, thread: Thread, space: str, address: int, value: bytes, volatile: bool = False) -> None:
        data, at, watched = self.find(thread, space, address, len(value))
        if watched is not None:
            self.watch(watched, thread, at, len(value), writes=True, atomic=volatile)
        data[at : at + len(value)] = value

    def update(self, thread: Thread, space: str, address: int, size: int) -> tuple[bytearray, int]:
        """The place of an atomic operation; these race with plain accesses, not with each other."""
        data, at, watched = self.find(thread, space, address, size)
        if watched is not None:
            self.watch(watched, thread, at, size, writes=True, atomic=True)
        return data, at

    @staticmethod
    def watch(
        array: Array, thread: Thread, at: int, size: int, *, writes: bool, atomic: bool = False
    ) -> None:
        """Note the access; raise `Race` where another thread's stands against it."""
        if array.constant:
            if writes:
                raise Race("a constant array is written")
            return
        who: tuple[object, ...] = (thread.block, thread.number, thread.phase, atomic)
        for byte in range(at, at + size):
            for others in (array.written_by, array.read_by) if writes else (array.written_by,):
                other = others.get(byte)
                if other is None or other[:2] == who[:2] or (atomic and other[3]):
                    continue
                if other[0] != thread.block or other[2] == thread.phase:
                    raise Race(f"byte {byte}: {other} and {who}")
            if writes:
                array.written_by[byte] = who
            else:
                old = array.read_by.get(byte)
                # Of two readers keep the one that is not this thread: it is the one to race with.
                if old is None or old[2] != thread.phase or old[0] != thread.block:
                    array.read_by[byte] = who
                elif old[:2] != who[:2]:
                    array.read_by[byte] = (thread.block, -1, thread.phase, atomic and old[3])
