"""The LLVM module of a kernel: the runtime, the instrumentation's runtime and the warp function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from string import Template

from gpulab.simt.analysis.specialization import READ_BY_RUNTIME
from gpulab.simt.codegen.lowering import Lowering
from gpulab.simt.codegen.units import UNIT
from gpulab.simt.runtime import layout

__all__ = ["library_text", "module_text"]

ATTRIBUTES = """
attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }"""
_LOCAL_MEMORY = {"local_bytes": "i64", "local_end": "i64"}  # types of attributes of the lowering
WEIGHTS = '!0 = !{!"branch_weights", i32 100000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 100000}'


def library_text(library: Sequence[str]) -> str:
    """Return the LLVM module of the runtime and of units that the code of kernels is linked with.

    The constants of the kernel that the units read are 0 here. Those of the kernel's code take their place.
    """
    constants = {name: f"constant {ty} 0" for name, ty in (READ_BY_RUNTIME | _LOCAL_MEMORY).items()}
    units = [_runtime(), *map(_with_numbers, library), "\n".join(_definitions(constants))]
    return "\n".join([f"\n{UNIT}\n".join(units), ATTRIBUTES, WEIGHTS])


def module_text(lowering: Lowering, function: str, library: Sequence[str] = ()) -> str:
    """Return the LLVM module of a kernel: runtime, instrumentation, constants, `@warp`, its helpers.

    Units of a library are added unless the kernel has the same helpers.
    """
    runtime = _runtime()
    if "@sim_textures" in function or "@sim_surfaces" in function:
        runtime += "\n" + _with_numbers(_text("textures.ll"))

    table, launch_constants = lowering.table, lowering.launch_constants
    constants = {name: f"constant {ty} {getattr(lowering, name)}" for name, ty in _LOCAL_MEMORY.items()}
    for name, ty in READ_BY_RUNTIME.items():
        alias = f"alias {ty}, ptr {table.address(name)}" if table else ""
        constants[name] = alias or f"constant {ty} {launch_constants.value(name)}"
    definitions = _definitions(constants)
    if table:
        definitions.append(table.definition())

    own = _functions(function, "define")
    units = [_with_numbers(unit) for unit in (lowering.instrumentation.runtime, *library)]
    units = [unit for unit in units if own.isdisjoint(_functions(unit, "define"))]
    parts = _joined([runtime, *units, "\n".join([*definitions, function])])
    return "\n".join([f"\n{UNIT}\n".join(parts), ATTRIBUTES, WEIGHTS])


def _joined(parts: Sequence[str]) -> list[str]:
    """Return parts of a module without the declarations of functions that it defines or has declared."""
    known = set().union(*(_functions(part, "define") for part in parts))
    joined = []
    for part in parts:
        declared = _functions(part, "declare")
        joined.append(_without_declarations(part, declared & known) if declared & known else part)
        known |= declared
    return joined


@lru_cache(maxsize=256)
def _functions(text: str, keyword: str) -> frozenset[str]:
    """Return the functions that a text defines or declares."""
    return frozenset(re.findall(rf"^{keyword} [^@]*@([\w.]+)", text, re.MULTILINE))


def _without_declarations(text: str, names: frozenset[str]) -> str:
    """Remove the declarations of functions with these names from a text."""

    def kept(match: re.Match[str]) -> str:
        return "" if match[1] in names else match[0]

    return re.sub(r"^declare [^@]*@([\w.]+)\(.*$", kept, text, flags=re.MULTILINE)


def _definitions(constants: Mapping[str, str]) -> list[str]:
    return [f"@{name} = internal {definition}" for name, definition in constants.items()]


@cache
def _runtime() -> str:
    """Return `runtime.ll` without the declarations of the kernel's constants."""
    lines = _with_numbers(_text("runtime.ll")).splitlines()
    names = READ_BY_RUNTIME | _LOCAL_MEMORY
    declarations = {f"@{name} = external constant {ty}" for name, ty in names.items()}
    return "\n".join(line for line in lines if line not in declarations)


@cache
def _text(name: str) -> str:
    """Return a file of `gpulab.simt.runtime`."""
    return resources.files("gpulab.simt.runtime").joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=256)
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
