"""Units and vector operations are compiled once by a process, and once for all processes with one cache."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from gpulab.cache import DiskCache
from gpulab.simt.codegen import jit, linking
from gpulab.simt.codegen.linking import UnitCompiler
from gpulab.simt.codegen.units import UNIT

HOST = ("a host",)
LIBC = "define void @from_libc() {\n  ret void\n}\n"


def module(number: int) -> str:
    """Return a module whose kernel adds a number to 8 integers, doubled by a function of another unit."""
    numbers = ", ".join(f"i32 {number * lane}" for lane in range(8))
    return f"""\
define internal <8 x i32> @doubled(<8 x i32> %x) {{
  %y = add <8 x i32> %x, %x
  ret <8 x i32> %y
}}
{UNIT}
define i32 @warp(ptr %data) {{
  %x = load <8 x i32>, ptr %data
  %y = call <8 x i32> @doubled(<8 x i32> %x)
  %z = add <8 x i32> %y, <{numbers}>
  store <8 x i32> %z, ptr %data
  ret i32 0
}}
"""


class Recorder:
    """A compiler of units that keeps their texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> bytes:
        self.texts.append(text)
        return jit._compile(text, jit._compiler(0, near=True))


def result(code: bytes) -> list[int]:
    loaded = jit.load(code)
    memory = ctypes.create_string_buffer(64)
    values = (ctypes.c_int32 * 8).from_buffer(memory, -ctypes.addressof(memory) % 32)
    values[:] = list(range(8))
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.address("warp"))(ctypes.addressof(values))
    return list(values)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskCache:
    cache = DiskCache(tmp_path, 1 << 24)
    monkeypatch.setattr(linking, "kernel_cache", lambda: cache)
    return cache


@pytest.mark.skipif(not jit._supports_near_calls(), reason="units are linked on Linux with x86-64 only")
def test_second_kernel_compiles_its_own_unit_only(store: DiskCache) -> None:
    recorder = Recorder()
    compiler = UnitCompiler(recorder, HOST)
    assert result(compiler.compile(module(1), LIBC)) == [3 * lane for lane in range(8)]
    recorder.texts.clear()
    assert result(compiler.compile(module(10), LIBC)) == [12 * lane for lane in range(8)]
    assert len(recorder.texts) == 1
    assert "@warp(" in recorder.texts[0]


@pytest.mark.skipif(not jit._supports_near_calls(), reason="units are linked on Linux with x86-64 only")
def test_second_process_finds_units_and_operations_on_disk(store: DiskCache) -> None:
    UnitCompiler(Recorder(), HOST).compile(module(1), LIBC)
    recorder = Recorder()
    assert result(UnitCompiler(recorder, HOST).compile(module(10), LIBC)) == [12 * lane for lane in range(8)]
    assert len(recorder.texts) == 1
    assert UnitCompiler(other := Recorder(), ("another host",)).compile(module(1), LIBC)
    assert len(other.texts) > 1


def test_module_that_calls_unknown_functions_is_not_linked(store: DiskCache) -> None:
    text = module(1).replace("define internal <8 x i32> @doubled", "define internal <8 x i32> @tripled")
    text += "declare <8 x i32> @doubled(<8 x i32>)\n"
    assert UnitCompiler(Recorder(), HOST).compile(text, LIBC) == b""
