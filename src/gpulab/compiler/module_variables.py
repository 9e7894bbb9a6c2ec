"""Variables of a module: sizes from the PTX, types and extents from the C++ source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from gpulab.compiler.array_extents import declared_extents
from gpulab.compiler.declarators import declared_types
from gpulab.compiler.mangling import demangled
from gpulab.compiler.preprocess.phases import SourceText
from gpulab.compiler.program import ModuleVariable

__all__ = ["module_variables"]

SPECIFIERS = ("__device__", "__constant__", "__managed__")

# `.visible .const .align 4 .b8 weights[36];` outside functions; `extern` variables have no memory here.
_VARIABLE = re.compile(
    r"^[ \t]*(?P<visible>\.(?:visible|weak|common)\s+)?\.(?P<space>global|const)\s+"
    r"(?P<attributes>(?:\.\w+(?:\s*\([^)]*\))?(?:\s+\d+)?\s+)*)"
    r"(?P<symbol>[\w$]+)(?P<extents>(?:\[\d+\])*)\s*[=;,]",
    re.MULTILINE,
)
_TYPE = re.compile(r"\.([bsuf])(8|16|32|64)\b")
_VECTOR = re.compile(r"\.v([24])\b")
# Strings, tables of virtual functions, and type information.
_GENERATED = re.compile(r"\$|__unnamed|_ZT[VIS]|__PRETTY_FUNCTION__|.*__func__")


def module_variables(
    ptx: str, source: SourceText | None = None, defines: Mapping[str, object] | None = None
) -> dict[str, ModuleVariable]:
    """Return the global and constant variables of PTX by their C++ name.

    With a source, only those that it declares, not those of headers; their types and extents are the
    declared ones, as far as they can be read.
    """
    types = declared_types(source, SPECIFIERS) if source else {}
    words = {token.text for token in source.tokens} if source else set()
    extents = declared_extents(source, defines or {}, SPECIFIERS) if source else {}
    variables: dict[str, ModuleVariable] = {}
    for match in _VARIABLE.finditer(ptx):
        symbol = match["symbol"]
        name = demangled(symbol)
        last = name.rpartition("::")[2]
        of_source = source is None or last in types or (match["visible"] and last in words)
        if _GENERATED.match(symbol) or not of_source:
            continue
        size, dtype = _size_and_type(match)
        shape: tuple[int, ...] = () if not match["extents"] else (size // np.dtype(dtype).itemsize,)
        declared = types.get(last)
        if declared:
            dtype, shape = _fitted(*declared, extents.get(last, ()), size) or (dtype, shape)
        variables[name] = ModuleVariable(symbol, size, dtype, shape, constant=match["space"] == "const")
    return variables


def _size_and_type(match: re.Match[str]) -> tuple[int, str]:
    """Return the bytes of a variable, and the NumPy name of its PTX type."""
    vector = _VECTOR.search(match["attributes"])
    kind, bits = next(_types(match["attributes"]), ("u", "8"))
    count = prod(int(extent) for extent in re.findall(r"\d+", match["extents"]))
    name = {"f": "float", "s": "int"}.get(kind, "uint")
    return int(bits) // 8 * count * int(vector[1] if vector else 1), f"{name}{bits}"


def _types(attributes: str) -> Iterator[tuple[str, str]]:
    yield from ((match[1], match[2]) for match in _TYPE.finditer(attributes))


def _fitted(dtype: str, lanes: int, extents: Sequence[int], size: int) -> tuple[str, tuple[int, ...]] | None:
    """Return dtype and shape of a variable of a declared type; None if they do not fit its bytes.

    A vector type such as float4 has several lanes, which add an axis. Without known extents, the shape has
    one axis.
    """
    item = np.dtype(dtype).itemsize * lanes
    axes = (lanes,) if lanes > 1 else ()
    if item * prod(extents) == size:
        return dtype, (*extents, *axes)
    return None if size % item else (dtype, (size // item, *axes))
