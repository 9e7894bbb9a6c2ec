"""Modules that are compiled in units, which share functions, variables and names of constants."""

from __future__ import annotations

import ctypes

import pytest

from gpulab.compiler.elf import undefined_symbols
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.units import UNIT, split

# Both functions have a constant of 64 bytes, which LLVM gives the same local name in each object file.
TEXT = f"""\
define internal void @add(ptr %to) {{
  %old = load <8 x double>, ptr %to, align 8
  %sum = fadd <8 x double> %old, <double 1.0, double 2.0, double 3.0, double 4.0, double 5.0, double 6.0, double 7.0, double 8.0>
  store <8 x double> %sum, ptr %to, align 8
  ret void
}}
define internal void @never_called(ptr %to) {{
  call void @nowhere(ptr %to)
  ret void
}}
declare void @nowhere(ptr)
{UNIT}
@factor = internal constant double 0.5
@table = internal alias double, ptr getelementptr (i8, ptr @factor, i64 0)
define void @scale(ptr %to, i32 %warp) #0 {{
  call void @add(ptr %to)
  %old = load <8 x double>, ptr %to, align 8
  %product = fmul <8 x double> %old, <double 10.0, double 20.0, double 30.0, double 40.0, double 50.0, double 60.0, double 70.0, double 80.0>
  store <8 x double> %product, ptr %to, align 8
  call void @halve(ptr %to)
  ret void
}}
{UNIT}
define internal void @halve(ptr %to) {{
  %factor = load double, ptr @table
  %old = load double, ptr %to
  %new = fmul double %old, %factor
  store double %new, ptr %to
  ret void
}}
attributes #0 = {{ nounwind }}
"""  # noqa: E501
CALLABLE = TEXT.replace("call void @nowhere(ptr %to)", "").replace("declare void @nowhere(ptr)\n", "")


def scaled(code: bytes) -> list[float]:
    values = (ctypes.c_double * 8)(*range(8))
    loaded = jit.load(code)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)(loaded.address("scale"))(values, 0)
    return list(values)


@pytest.mark.parametrize("quickly", [True, False])
def test_units_give_the_values_of_the_whole_module(quickly: bool) -> None:
    expected = [(2 * n + 1) * 10.0 * (n + 1) for n in range(8)]
    expected[0] *= 0.5
    assert scaled(jit.compile_text(CALLABLE, quickly=quickly)) == expected


@pytest.mark.skipif("linux" not in jit.host()[1], reason="needs ELF")
def test_module_that_calls_other_functions_is_compiled_as_a_whole() -> None:
    code = jit.compile_text(TEXT, quickly=True)
    assert "nowhere" not in undefined_symbols(code)  # its caller is removed, which no unit can know
    assert scaled(code)[1:] == [(2 * n + 1) * 10.0 * (n + 1) for n in range(1, 8)]


def test_unit_declares_what_it_uses_of_others() -> None:
    first, second, third = split(TEXT)
    assert "declare" not in first.replace("declare void @nowhere(ptr)", "")
    assert "declare dso_local void @add(ptr)" in second
    assert "declare dso_local void @halve(ptr)" in second
    assert "@table = external dso_local global double" in third
    assert all("attributes #0" in unit for unit in (first, second, third))


def test_blank_lines_do_not_distinguish_units() -> None:
    assert split(TEXT.replace(UNIT, f"\n{UNIT}\n")) == split(TEXT)
