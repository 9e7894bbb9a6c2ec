"""Code that is compiled without optimization: calls inside and outside its object file."""

from __future__ import annotations

import ctypes
import math

import pytest

from gpulab.compiler.elf import sections, undefined_symbols
from gpulab.simt.codegen import jit

FILL = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @fill(ptr %to, i8 %value, i64 %count) {
  call void @llvm.memset.p0.i64(ptr %to, i8 %value, i64 %count, i1 false)
  ret i32 0
}
define i32 @copy(ptr %to, ptr %from, i64 %count) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %count, i1 false)
  ret i32 0
}
"""
SINE = """
declare double @llvm.sin.f64(double)
define double @sine(double %x) {
  %y = call double @llvm.sin.f64(double %x)
  ret double %y
}
"""


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 64, 100])
def test_memset_and_memcpy_of_the_runtime(count: int) -> None:
    loaded = jit.load(jit.compile_text(FILL, quickly=True))
    fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_ubyte, ctypes.c_long)(
        loaded.address("fill")
    )
    copy = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long)(
        loaded.address("copy")
    )
    filled, copied = ctypes.create_string_buffer(128), ctypes.create_string_buffer(128)
    fill(ctypes.cast(filled, ctypes.c_char_p), 7, count)
    assert filled.raw == b"\7" * count + b"\0" * (128 - count)
    source = bytes(range(1, 129))
    copy(ctypes.cast(copied, ctypes.c_char_p), source, count)
    assert copied.raw == source[:count] + b"\0" * (128 - count)


def test_call_of_an_external_function() -> None:
    loaded = jit.load(jit.compile_text(SINE, quickly=True))
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("sine"))(1.0) == math.sin(1.0)


@pytest.mark.skipif("linux" not in jit.host()[1], reason="needs ELF")
def test_undefined_symbols_of_object_files() -> None:
    assert undefined_symbols(jit.compile_text(SINE)) == ["sin"]
    assert sorted(undefined_symbols(jit.compile_text(FILL))) == ["memcpy", "memset"]
    assert undefined_symbols(jit.compile_text(FILL, quickly=True)) == []


def test_invalid_object_file_has_no_sections() -> None:
    assert list(sections(b"")) == []
    assert list(sections(b"MZ" + bytes(100))) == []
    assert undefined_symbols(b"\x7fELF\x02\x01" + bytes(20)) == []
