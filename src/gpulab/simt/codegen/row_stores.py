"""Stores of neighbouring elements by the active lanes of a row.

AVX-512 has masked stores. Those of AVX2 take tens of internal operations on some processors, and there are
none for elements of one or two bytes. Without AVX-512, a row whose lanes are all active is stored as a
whole, and any other row by a function that stores 32 bytes at a time: as a whole if their lanes are active,
as two overlapping halves if at least half of them are active and neighbours, as at the edge of an array, and
otherwise under a mask.
"""

from __future__ import annotations

from gpulab.simt.codegen import jit
from gpulab.simt.codegen.ir import BITS, Builder, suffix, vector

__all__ = ["store_row"]

CHUNK_BYTES = 32  # a vector register has this size with AVX2


def store_row(b: Builder, ty: str, count: int, width: int, value: str, pointer: str, active: str) -> None:
    """Store `count` consecutive elements of type `ty` for each active lane of a row of `width` lanes.

    `value` is the vector of all elements, and `active` is an i32 with a bit for each lane.
    """
    if jit.has_gather():
        flags = b.value(f"bitcast i{width} {_narrow(b, active, width)} to {vector('i1', width)}")
        if count > 1:
            flags = b.pick("i1", flags, width, [lane for lane in range(width) for _ in range(count)])
        _store_masked(b, ty, width * count, value, pointer, flags)
        return

    whole, some, stored = b.new_label("whole"), b.new_label("some"), b.new_label("stored")
    b.branch(_are_all(b, active, width), whole, some, likely=True)
    b.open(whole)
    _store(b, ty, width * count, value, pointer)
    b.jump(stored)
    b.open(some)
    b.define(
        f"store_row_{ty}_{width}_{count}",
        "void",
        [(vector(ty, width * count), value), ("ptr", pointer), ("i32", active)],
        lambda b, names: _store_chunks(b, ty, count, width, *names),
    )
    b.jump(stored)
    b.open(stored)


def _store_chunks(b: Builder, ty: str, count: int, width: int, value: str, pointer: str, active: str) -> str:
    """Emit the stores of one chunk of lanes after the other."""
    step = BITS[ty] // 8
    lanes = min(width, max(1, CHUNK_BYTES // (step * count)))
    elements = lanes * count
    copy = b.alloca(vector(ty, elements), "copy")

    for first in range(0, width, lanes):
        part, place, bits = value, pointer, active
        if lanes < width:
            start = first * count
            part = b.pick(ty, value, width * count, list(range(start, start + elements)))
            place = b.value(f"getelementptr i8, ptr {pointer}, i64 {start * step}")
            bits = b.value(f"and i32 {b.value(f'lshr i32 {active}, {first}')}, {(1 << lanes) - 1}")

        whole, others = b.new_label("whole"), b.new_label("others")
        some, stored = b.new_label("some"), b.new_label("stored")
        b.branch(_are_all(b, bits, lanes), whole, others)
        b.open(whole)
        _store(b, ty, elements, part, place)
        b.jump(stored)
        b.open(others)
        b.branch(b.value(f"icmp eq i32 {bits}, 0"), stored, some)
        b.open(some)
        if lanes > 1:
            _store_halves(b, ty, elements, lanes, part, place, bits, copy, stored)

        single = ", ".join(f"i32 {1 << lane}" for lane in range(lanes) for _ in range(count))
        integers = vector("i32", elements)
        chosen = b.value(f"and {integers} {b.splat('i32', bits, elements)}, <{single}>")
        flags = b.value(f"icmp ne {integers} {chosen}, zeroinitializer")
        _store_masked(b, ty, elements, part, place, flags)
        b.jump(stored)
        b.open(stored)
    return ""


def _store_halves(
    b: Builder, ty: str, elements: int, lanes: int, part: str, place: str, bits: str, copy: str, stored: str
) -> None:
    """Emit the stores of a chunk of which at least half of the lanes, all neighbours, are active.

    The chunk is copied to the stack. Half a chunk from its first active lane on, and half a chunk up to its
    last one, are stored from there.
    """
    half = BITS[ty] // 8 * elements // 2
    first = b.call("llvm.cttz.i32", "i32", ("i32", bits), ("i1", "true"))
    number = b.call("llvm.ctpop.i32", "i32", ("i32", bits))
    run = b.value(f"lshr i32 {bits}, {first}")
    rest = b.value(f"and i32 {run}, {b.value(f'add i32 {run}, 1')}")
    neighbours = b.value(f"icmp eq i32 {rest}, 0")
    enough = b.value(f"icmp uge i32 {number}, {lanes // 2}")
    halves, scattered = b.new_label("halves"), b.new_label("scattered")
    b.branch(b.value(f"and i1 {neighbours}, {enough}"), halves, scattered)

    b.open(halves)
    b.line(f"store {vector(ty, elements)} {part}, ptr {copy}")
    start = b.value(f"mul i32 {first}, {2 * half // lanes}")
    length = b.value(f"mul i32 {number}, {2 * half // lanes}")
    end = b.value(f"add i32 {start}, {b.value(f'sub i32 {length}, {half}')}")
    for at in (start, end):
        source, target = (b.value(f"getelementptr i8, ptr {p}, i32 {at}") for p in (copy, place))
        moved = b.value(f"load {vector('i8', half)}, ptr {source}, align 1")
        b.line(f"store {vector('i8', half)} {moved}, ptr {target}, align 1")
    b.jump(stored)
    b.open(scattered)


def _are_all(b: Builder, bits: str, lanes: int) -> str:
    """Compare the bits of lanes with those of a full row."""
    return b.value(f"icmp eq i32 {bits}, {(1 << lanes) - 1 if lanes < 32 else -1}")


def _narrow(b: Builder, bits: str, lanes: int) -> str:
    return bits if lanes == 32 else b.value(f"trunc i32 {bits} to i{lanes}")


def _store(b: Builder, ty: str, elements: int, value: str, pointer: str) -> None:
    b.line(f"store {vector(ty, elements)} {value}, ptr {pointer}, align {BITS[ty] // 8}")


def _store_masked(b: Builder, ty: str, elements: int, value: str, pointer: str, flags: str) -> None:
    full, mask = vector(ty, elements), vector("i1", elements)
    name = f"llvm.masked.store.{suffix(full)}.p0"
    b.declare(name, "void", [full, "ptr", mask])
    place = f"ptr align {BITS[ty] // 8} {pointer}"
    b.line(f"call void @{name}({full} {value}, {place}, {mask} {flags})")
