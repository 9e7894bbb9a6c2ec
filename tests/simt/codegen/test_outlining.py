"""Functions whose vector operations are calls give the values of the same functions as they are written."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from gpulab.simt.codegen import jit
from gpulab.simt.codegen.outlining import outlined

ORDER = ", ".join(f"i32 {31 - lane}" for lane in range(32))
EVEN = ", ".join(f"i1 {'true' if lane % 2 == 0 else 'false'}" for lane in range(32))
OFFSETS = ", ".join(f"i32 {5 * lane}" for lane in range(32))

# Bodies of functions that read 32 integers at %in and an integer %n, and write at most 64 integers at %out.
BODIES = {
    "arithmetic": """
      %x = load <32 x i32>, ptr %in
      %y = mul <32 x i32> %x, splat (i32 3)
      %z = sub <32 x i32> %y, %x
      store <32 x i32> %z, ptr %out, align 4""",
    "same value in all lanes": """
      %x = load <32 x i32>, ptr %in
      %first = insertelement <32 x i32> poison, i32 %n, i64 0
      %all = shufflevector <32 x i32> %first, <32 x i32> poison, <32 x i32> zeroinitializer
      %y = add <32 x i32> %x, %all
      %z = add <32 x i32> %y, <i32 OFFSETS>
      %lane = extractelement <32 x i32> %all, i64 7
      %end = getelementptr i8, ptr %out, i64 128
      store <32 x i32> %z, ptr %out
      store i32 %lane, ptr %end""",
    "order of lanes": """
      %x = load <32 x i32>, ptr %in
      %y = shufflevector <32 x i32> %x, <32 x i32> poison, <32 x i32> <ORDER>
      %z = sub <32 x i32> %x, %y
      store <32 x i32> %z, ptr %out""",
    "masks": """
      %x = load <32 x i32>, ptr %in
      %above = icmp sgt <32 x i32> %x, splat (i32 5)
      %not = xor <32 x i1> %above, splat (i1 true)
      %some = and <32 x i1> %not, <EVEN>
      %bits = bitcast <32 x i1> %some to i32
      %given = bitcast i32 %n to <32 x i1>
      %both = or <32 x i1> %given, %some
      %y = select <32 x i1> %both, <32 x i32> %x, <32 x i32> zeroinitializer
      %wide = zext <32 x i1> %both to <32 x i32>
      %z = add <32 x i32> %y, %wide
      %end = getelementptr i8, ptr %out, i64 128
      store <32 x i32> %z, ptr %out
      store i32 %bits, ptr %end""",
    "mask in memory and lanes of it": """
      %slot = alloca <32 x i1>
      %x = load <32 x i32>, ptr %in
      %odd = trunc <32 x i32> %x to <32 x i1>
      store <32 x i1> %odd, ptr %slot
      %again = load <32 x i1>, ptr %slot
      %lane = extractelement <32 x i1> %again, i64 3
      %value = zext i1 %lane to i32
      %first = insertelement <32 x i1> poison, i1 %lane, i64 0
      %all = shufflevector <32 x i1> %first, <32 x i1> poison, <32 x i32> zeroinitializer
      %y = select <32 x i1> %all, <32 x i32> %x, <32 x i32> splat (i32 -1)
      store <32 x i32> %y, ptr %out""",
    "register that changes": """
      %r = alloca <32 x i32>, align 64
      %x = load <32 x i32>, ptr %in
      store <32 x i32> %x, ptr %r
      %old = load <32 x i32>, ptr %r
      %new = add <32 x i32> %old, splat (i32 1)
      store <32 x i32> %new, ptr %r
      %now = load <32 x i32>, ptr %r
      %product = mul <32 x i32> %old, %now
      store <32 x i32> %product, ptr %out""",
    "register whose address is known elsewhere": """
      %r = alloca <32 x i32>, align 64
      %x = load <32 x i32>, ptr %in
      store <32 x i32> %x, ptr %r
      %old = load <32 x i32>, ptr %r
      %third = getelementptr i32, ptr %r, i64 3
      store i32 77, ptr %third
      %new = load <32 x i32>, ptr %r
      %sum = add <32 x i32> %old, %new
      store <32 x i32> %sum, ptr %out""",
    "two registers that are exchanged": """
      %r = alloca <32 x i32>, align 64
      %s = alloca <32 x i32>, align 64
      %x = load <32 x i32>, ptr %in
      %y = add <32 x i32> %x, splat (i32 100)
      store <32 x i32> %x, ptr %r
      store <32 x i32> %y, ptr %s
      %a = load <32 x i32>, ptr %r
      %b = load <32 x i32>, ptr %s
      store <32 x i32> %b, ptr %r
      store <32 x i32> %a, ptr %s
      %c = load <32 x i32>, ptr %r
      %d = load <32 x i32>, ptr %s
      %difference = sub <32 x i32> %c, %d
      store <32 x i32> %difference, ptr %out""",
    "single lanes": """
      %x = load <32 x i32>, ptr %in
      %a = extractelement <32 x i32> %x, i64 4
      %b = extractelement <32 x i32> %x, i32 %n
      %sum = add i32 %a, %b
      %y = insertelement <32 x i32> %x, i32 %sum, i64 9
      %z = insertelement <32 x i32> %y, i32 -5, i64 10
      %w = add <32 x i32> %x, %z
      store <32 x i32> %w, ptr %out""",
    "vector made of lanes": """
      %a = load i32, ptr %in
      %x = insertelement <2 x i32> poison, i32 %a, i64 0
      %y = insertelement <2 x i32> %x, i32 %n, i64 1
      store <2 x i32> %y, ptr %out""",
    "types of other sizes": """
      %x = load <32 x i32>, ptr %in
      %wide = sext <32 x i32> %x to <32 x i65>
      %square = mul <32 x i65> %wide, %wide
      %high = lshr <32 x i65> %square, splat (i65 3)
      %y = trunc <32 x i65> %high to <32 x i32>
      %lane = extractelement <32 x i65> %high, i64 5
      %z = trunc i65 %lane to i32
      %end = getelementptr i8, ptr %out, i64 128
      store <32 x i32> %y, ptr %out
      store i32 %z, ptr %end""",
    "pointers": """
      %x = load <32 x i32>, ptr %in
      %small = and <32 x i32> %x, splat (i32 15)
      %wide = zext <32 x i32> %small to <32 x i64>
      %at = getelementptr i32, ptr %in, <32 x i64> %wide
      %numbers = ptrtoint <32 x ptr> %at to <32 x i64>
      %again = inttoptr <32 x i64> %numbers to <32 x ptr>
      %some = icmp sgt <32 x i32> %x, splat (i32 3)
      %y = call <32 x i32> @gather(<32 x ptr> %again, <32 x i1> %some, <32 x i32> %x)
      store <32 x i32> %y, ptr %out""",
    "values of two sides": """
      %x = load <32 x i32>, ptr %in
      %many = icmp sgt i32 %n, 4
      br i1 %many, label %yes, label %no
    yes:
      %a = add <32 x i32> %x, splat (i32 1)
      %f = icmp eq <32 x i32> %a, splat (i32 3)
      br label %join
    no:
      %b = mul <32 x i32> %x, splat (i32 2)
      %g = icmp eq <32 x i32> %b, splat (i32 4)
      br label %join
    join:
      %p = phi <32 x i32> [ %a, %yes ], [ %b, %no ]
      %q = phi <32 x i1> [ %f, %yes ], [ %g, %no ]
      %one = phi i32 [ 1, %yes ], [ 2, %no ]
      %c = add <32 x i32> %p, splat (i32 7)
      %d = select <32 x i1> %q, <32 x i32> %p, <32 x i32> %c
      store <32 x i32> %d, ptr %out""",
    "constants of two sides": """
      %x = load <32 x i32>, ptr %in
      %first = insertelement <32 x i32> poison, i32 %n, i64 0
      %all = shufflevector <32 x i32> %first, <32 x i32> poison, <32 x i32> zeroinitializer
      %many = icmp sgt i32 %n, 4
      br i1 %many, label %yes, label %no
    yes:
      br label %join
    no:
      br label %join
    join:
      %p = phi <32 x i32> [ %all, %yes ], [ splat (i32 3), %no ]
      %q = phi <32 x i32> [ <i32 OFFSETS>, %yes ], [ zeroinitializer, %no ]
      %r = add <32 x i32> %p, %q
      %s = add <32 x i32> %r, %x
      store <32 x i32> %s, ptr %out""",
    "loop": """
      %x = load <32 x i32>, ptr %in
      br label %head
    head:
      %i = phi i32 [ 0, %entry ], [ %next, %head ]
      %sum = phi <32 x i32> [ zeroinitializer, %entry ], [ %more, %head ]
      %twice = add <32 x i32> %x, %x
      %more = add <32 x i32> %sum, %twice
      %next = add i32 %i, 1
      %done = icmp sge i32 %next, %n
      br i1 %done, label %exit, label %head
    exit:
      %y = sub <32 x i32> %more, %sum
      %z = add <32 x i32> %sum, %y
      store <32 x i32> %z, ptr %out""",
    "values that are exchanged in a loop": """
      %x = load <32 x i32>, ptr %in
      %y = add <32 x i32> %x, splat (i32 9)
      br label %head
    head:
      %i = phi i32 [ 0, %entry ], [ %next, %head ]
      %a = phi <32 x i32> [ %x, %entry ], [ %b, %head ]
      %b = phi <32 x i32> [ %y, %entry ], [ %a, %head ]
      %next = add i32 %i, 1
      %done = icmp sge i32 %next, %n
      br i1 %done, label %exit, label %head
    exit:
      %z = sub <32 x i32> %a, %b
      store <32 x i32> %z, ptr %out""",
    "value from before a loop": """
      %x = load <32 x i32>, ptr %in
      %base = mul <32 x i32> %x, %x
      br label %head
    head:
      %i = phi i32 [ 0, %entry ], [ %next, %head ]
      %first = insertelement <32 x i32> poison, i32 %i, i64 0
      %all = shufflevector <32 x i32> %first, <32 x i32> poison, <32 x i32> zeroinitializer
      %a = add <32 x i32> %base, %all
      %b = mul <32 x i32> %a, splat (i32 3)
      %c = sub <32 x i32> %b, %a
      %d = xor <32 x i32> %c, %b
      store <32 x i32> %d, ptr %out
      %next = add i32 %i, 1
      %done = icmp sge i32 %next, %n
      br i1 %done, label %exit, label %head
    exit:""",
    "block out of line": """
      %x = load <32 x i32>, ptr %in
      %y = add <32 x i32> %x, splat (i32 1)
      %many = icmp sgt i32 %n, 4
      br i1 %many, label %rare, label %back
    back:
      %z = mul <32 x i32> %y, %x
      store <32 x i32> %z, ptr %out
      %w = add <32 x i32> %z, splat (i32 2)
      %end = getelementptr i8, ptr %out, i64 128
      store <32 x i32> %w, ptr %end
      br label %exit
    rare:
      %a = sub <32 x i32> %x, splat (i32 50)
      %b = mul <32 x i32> %a, %a
      store <32 x i32> %b, ptr %in
      br label %back
    exit:""",
    "function with vectors": """
      %x = load <32 x i32>, ptr %in
      %some = icmp sgt <32 x i32> %x, splat (i32 5)
      %y = call <32 x i32> @least(<32 x i32> %x, i32 %n, <32 x i1> %some)
      %m = call <32 x i1> @different(<32 x i32> %x, <32 x i32> %y)
      %z = select <32 x i1> %m, <32 x i32> %y, <32 x i32> splat (i32 1000)
      store <32 x i32> %z, ptr %out""",
}
FUNCTIONS = """
define <32 x i32> @least(<32 x i32> %x, i32 %n, <32 x i1> %lanes) {
  %first = insertelement <32 x i32> poison, i32 %n, i64 0
  %all = shufflevector <32 x i32> %first, <32 x i32> poison, <32 x i32> zeroinitializer
  %small = call <32 x i32> @llvm.smin.v32i32(<32 x i32> %x, <32 x i32> %all)
  %some = select <32 x i1> %lanes, <32 x i32> %small, <32 x i32> %x
  ret <32 x i32> %some
}
define <32 x i32> @gather(<32 x ptr> %at, <32 x i1> %lanes, <32 x i32> %others) {
  %y = call <32 x i32> GATHER(<32 x ptr> %at, i32 4, <32 x i1> %lanes, <32 x i32> %others)
  ret <32 x i32> %y
}
define <32 x i1> @different(<32 x i32> %x, <32 x i32> %y) {
  %differ = icmp ne <32 x i32> %x, %y
  ret <32 x i1> %differ
}
"""


def unit(body: str) -> str:
    text = re.sub(r"^ +(?=\w+:)", "", body, flags=re.MULTILINE)
    text = re.sub(r"^ +", "  ", text, flags=re.MULTILINE).strip("\n")
    text = text.replace("i32 OFFSETS", OFFSETS).replace("ORDER", ORDER).replace("EVEN", EVEN)
    functions = FUNCTIONS.replace("GATHER", "@llvm.masked.gather.v32i32.v32p0")
    head = "define void @f(ptr %in, ptr %out, i32 %n) {\nentry:\n"
    return f"{functions}{head}{text}\n  ret void\n}}\n"


def results(text: str, n: int) -> list[int]:
    loaded = jit.load(jit.compile_text(text))
    memory = np.zeros(256, np.int32)
    memory = memory[-memory.ctypes.data % 128 // 4 :][:128]  # LLVM aligns vectors
    memory[:32] = np.arange(-7, 25)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)(loaded.address("f"))(
        memory.ctypes.data, memory[32:].ctypes.data, n
    )
    values: list[int] = memory.tolist()
    return values


@pytest.mark.parametrize("name", BODIES)
def test_values_are_the_same(name: str) -> None:
    text = unit(BODIES[name])
    new, operations = outlined(text)
    assert operations
    for n in (1, 2, 5, 9):
        assert results("\n".join([new, *(each.text for each in operations)]), n) == results(text, n)


def test_slots_are_used_again() -> None:
    lines = ["%x0 = load <32 x i32>, ptr %in"]
    lines += [f"%x{number + 1} = mul <32 x i32> %x{number}, %x{number}" for number in range(50)]
    lines += ["store <32 x i32> %x50, ptr %out"]
    new, operations = outlined(unit("\n".join(lines)))
    assert new.count(" = alloca <32 x i32>") <= 6  # two in each function
    assert len({each.name for each in operations}) == len(operations)


def test_value_is_computed_in_the_slot_of_its_register() -> None:
    body = """
      %r = alloca <32 x i32>, align 64
      %x = load <32 x i32>, ptr %in
      %y = mul <32 x i32> %x, %x
      store <32 x i32> %y, ptr %r
      %z = load <32 x i32>, ptr %r
      store <32 x i32> %z, ptr %out"""
    new, _ = outlined(unit(body))
    calls = [line for line in new.partition("@f(")[2].splitlines() if "call" in line]
    assert len(calls) == 3  # the load, the product and the store


def test_operation_does_not_depend_on_names() -> None:
    (_, first), (_, other) = (
        outlined(unit(BODIES["masks"].replace("%x", name))) for name in ("%x", "%other")
    )
    assert first == other
