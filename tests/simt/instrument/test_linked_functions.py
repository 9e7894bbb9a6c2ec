"""The libraries of the tiers define all functions that unoptimised code calls."""

from __future__ import annotations

import pytest

from gpulab.compiler.elf import defined_symbols, undefined_symbols
from gpulab.simt.codegen import jit
from gpulab.simt.codegen.llvm_module import library_text
from gpulab.simt.instrument.base import create_instrumentation
from gpulab.simt.instrument.counters import counter_code  # noqa: F401
from gpulab.simt.instrument.linked_code import LinkedInstrumentation
from gpulab.simt.instrument.linked_functions import (
    ACCESSES,
    FACTS,
    FUNCTIONS,
    RUNTIME_FUNCTIONS,
    AccessKind,
    access_function,
)
from gpulab.simt.instrument.racecheck import racecheck_code  # noqa: F401

# All kinds of accesses, in the shapes of most kernels.
NAMES = [name for name, (_, _, rows) in ACCESSES.items() if rows in (0, 1, 2)]


@pytest.mark.skipif(not jit._supports_near_calls(), reason="code is linked on Linux with x86-64 only")
@pytest.mark.parametrize("tier", ["values", "counters", "racecheck"])
def test_library_defines_functions(tier: str) -> None:
    names = [*NAMES, *(FUNCTIONS.keys() - ACCESSES.keys())]
    units = [LinkedInstrumentation.runtime, *create_instrumentation(tier).library(names)]
    code = jit.compile_text(library_text(units), quickly=True)
    wanted = {*names, *RUNTIME_FUNCTIONS}
    assert wanted <= set(defined_symbols(code))
    assert not wanted & set(undefined_symbols(code))


def test_access_function_ignores_updates_of_strong_accesses() -> None:
    plain = AccessKind("writes", update=True)
    strong = AccessKind("writes", strong=True, update=True)
    assert access_function(plain, "generic", 0) == "tier_update_writes_global_lanes"
    assert access_function(strong, "shared", 2) == "tier_strong_writes_shared_rows_2"
    assert access_function(plain, "local", 0) == access_function(strong, "const", 1) == "tier_other"


def test_facts_do_not_overlap() -> None:
    widths = {"GRANULE": 8, "ELEMENTS": 8, "WIDTH": 6, "SIZE": 16}
    fields = [range(bit, bit + widths.get(name, 1)) for name, bit in _first_bits().items()]
    bits = [bit for field in fields for bit in field]
    assert len(bits) == len(set(bits))
    assert min(bits) >= 2  # the action has the first two bits


def _first_bits() -> dict[str, int]:
    return {name: unit.bit_length() - 1 for name, unit in FACTS.items()}
