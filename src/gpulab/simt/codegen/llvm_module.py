"""The LLVM module of a kernel: the runtime, the instrumentation's runtime and the warp function."""

from __future__ import annotations

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
    names = {name: str(layout.field(name)) for name in layout.FIELDS}
    names |= {name.upper(): str(code) for name, code in layout.FAULTS.items()}
    names |= {
        "SHARED_WINDOW": str(layout.SHARED_WINDOW),
        "LOCAL_WINDOW": str(layout.LOCAL_WINDOW),
        "WINDOW_BYTES": str(layout.WINDOW_BYTES),
        "FALLBACK": str(layout.FALLBACK),
        "POINTS": str(layout.FALLBACK - 1),
        "SLICE": str(layout.SLICE),
    }
    parts = ["runtime.ll"]
    if "@sim_textures" in function or "@sim_surfaces" in function:
        parts.append("textures.ll")
        names |= layout.texture_names()
    folder = resources.files("gpulab.simt.runtime")
    runtime = "\n".join(Template(folder.joinpath(part).read_text()).substitute(names) for part in parts)

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
    instrumentation = Template(lowering.instrumentation.runtime).substitute(names)
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
