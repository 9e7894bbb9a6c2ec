"""The LLVM module of a kernel: the runtime, the instrumentation's runtime and the warp function."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources
from string import Template

from gpulab.simt.analysis.specialization import READ_BY_RUNTIME
from gpulab.simt.codegen.lowering import Lowering
from gpulab.simt.codegen.units import UNIT
from gpulab.simt.runtime import layout

__all__ = ["module_text"]

ATTRIBUTES = """
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }"""
WEIGHTS = '!0 = !{!"branch_weights", i32 100000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 100000}'


def module_text(lowering: Lowering, function: str) -> str:
    """Return the LLVM module of a kernel: runtime, instrumentation, constants, `@warp`, its helpers."""
    runtime = _with_numbers(_text("runtime.ll"))
    if "@sim_textures" in function or "@sim_surfaces" in function:
        runtime += "\n" + _with_numbers(_text("textures.ll"))

    table, launch_constants = lowering.table, lowering.launch_constants
    constants = {
        "local_bytes": ("i64", f"constant i64 {lowering.local_bytes}"),
        "local_end": ("i64", f"constant i64 {lowering.local_end}"),
    }
    for name, ty in READ_BY_RUNTIME.items():
        alias = f"alias {ty}, ptr {table.address(name)}" if table else ""
        constants[name] = ty, alias or f"constant {ty} {launch_constants.value(name)}"
    for name, (ty, _) in constants.items():
        runtime = runtime.replace(f"@{name} = external constant {ty}\n", "")
    definitions = [f"@{name} = internal {definition}" for name, (_, definition) in constants.items()]
    if table:
        definitions.append(table.definition())

    # The function declares what it calls, some of which the runtime has defined or declared already.
    instrumentation = _with_numbers(lowering.instrumentation.runtime)
    declared = {
        line.split("@")[1].split("(")[0]
        for line in (runtime + instrumentation).splitlines()
        if line.startswith(("define", "declare"))
    }
    lines = [
        line
        for line in function.splitlines()
        if not (line.startswith("declare") and line.split("@")[1].split("(")[0] in declared)
    ]
    return "\n".join([runtime, UNIT, instrumentation, UNIT, *definitions, *lines, ATTRIBUTES, WEIGHTS])


@cache
def _text(name: str) -> str:
    """Return a file of `gpulab.simt.runtime`."""
    return resources.files("gpulab.simt.runtime").joinpath(name).read_text()


@lru_cache(maxsize=16)
def _with_numbers(text: str) -> str:
    """Replace the names of fields, faults and limits in a text by their numbers."""
    names = {name: str(layout.field(name)) for name in layout.FIELDS}
    names |= {name.upper(): str(code) for name, code in layout.FAULTS.items()}
    names |= {
        "SHARED_WINDOW": str(layout.SHARED_WINDOW),
        "LOCAL_WINDOW": str(layout.LOCAL_WINDOW),
        "WINDOW_BYTES": str(layout.WINDOW_BYTES),
        "FALLBACK": str(layout.FALLBACK),
        "COMPLETE": str(layout.COMPLETE),
        "POINTS": str(layout.COMPLETE - 1),
        "SLICE": str(layout.SLICE),
    }
    return Template(text).substitute(names | layout.texture_names())
