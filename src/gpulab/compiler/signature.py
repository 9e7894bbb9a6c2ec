"""Kernel signatures: sizes and kinds of parameters from the PTX, names and signedness from the C source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from gpulab.compiler.declarators import Declared, definitions
from gpulab.compiler.preprocess.phases import SourceText
from gpulab.compiler.program import Parameter, Signature

__all__ = ["PtxEntry", "entry_signature", "ptx_entries", "target_arch"]

_ENTRY = re.compile(r"^\s*(?:\.(?:visible|weak)\s+)?\.entry\s+([\w$]+)", re.MULTILINE)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>[a-z]\d+)\s+"
    r"(?P<pointer>\.ptr\b(?:\s+\.\w+|\s+\d+)*\s+)?(?:\.align\s+\d+\s+)?(?P<name>[\w$]+)\s*(?:\[(?P<bytes>\d+)\])?"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class PtxParameter:
    """A `.param` of a PTX entry."""

    type: str  # PTX type: "u64", "f32", …; "bytes" for an array of bytes
    size: int  # in bytes
    pointer: bool  # declared `.ptr`, or used as an address


@dataclass(frozen=True)
class PtxEntry:
    """A kernel (`.entry`) of PTX; `line` is the source line of its first `.loc`, 0 if there is none."""

    name: str
    parameters: tuple[PtxParameter, ...]
    line: int


def ptx_entries(ptx: str) -> list[PtxEntry]:
    """Return the kernels of a PTX text, in order."""
    text = _COMMENT.sub(" ", ptx)
    heads = list(_ENTRY.finditer(text))
    entries = []
    for head, after in zip_longest(heads, heads[1:]):
        body = text[head.end() : after.start() if after else len(text)]
        opening = body.find("{")
        header = body[: opening if opening >= 0 else len(body)]
        code = body[len(header) :]
        parameters = tuple(_ptx_parameter(match, code) for match in _PARAMETER.finditer(header))
        loc = _LOC.search(code)
        entries.append(PtxEntry(head[1], parameters, int(loc[2]) if loc else 0))
    return entries


def target_arch(ptx: str) -> int:
    """Return the compute capability of a PTX text: 90 for `.target sm_90`; 0 if it has no target."""
    match = _TARGET.search(ptx)
    return int(match[1]) if match else 0


def _ptx_parameter(match: re.Match[str], code: str) -> PtxParameter:
    kind = match["type"]
    size = int(kind[1:]) // 8 * int(match["bytes"] or 1)
    pointer = size == 8 and (match["pointer"] is not None or _is_address(match["name"], code))
    return PtxParameter("bytes" if match["bytes"] else kind, size, pointer)


def _is_address(name: str, code: str) -> bool:
    """Return True if the code converts the parameter to an address or dereferences it."""
    for load in re.finditer(rf"ld\.param\.[bsu]64\s+(%\w+),\s*\[{re.escape(name)}\]", code):
        register = re.escape(load[1])
        if re.search(rf"cvta\.\S+\s+%\w+,\s*{register}\s*;|\[{register}(?:\+-?\w+)?\]", code):
            return True
    return False


def entry_signature(entry: PtxEntry, plain: str = "", source: SourceText | None = None) -> Signature:
    """Return the signature of a kernel.

    With a C source, each parameter has its C name, or `argument N` if the name cannot be read (for example
    because a macro hides it). Without one, the names are `param_0`, `param_1`, …, and integers count as
    signed, because PTX has `.u32` for both `int` and `unsigned`. Integers of 64 bits are "word", because
    other compilers declare pointers as `.u64`.
    """
    if source is None:
        return tuple(
            Parameter(
                f"param_{index}", "word" if kind == "int" and parameter.size == 8 else kind, parameter.size
            )
            for index, parameter in enumerate(entry.parameters)
            for kind in [_kind(parameter, None)]
        )
    declared = _declared(entry, plain, source)
    names: list[str] = []
    for index, declaration in enumerate(declared):
        name = declaration.name if declaration else ""
        names.append(name if name and name not in names else f"argument {index + 1}")
    return tuple(
        Parameter(
            name, kind, parameter.size, declaration.element if declaration and kind == "pointer" else ""
        )
        for name, parameter, declaration in zip(names, entry.parameters, declared, strict=True)
        for kind in [_kind(parameter, declaration)]
    )


def _declared(entry: PtxEntry, plain: str, source: SourceText) -> Sequence[Declared | None]:
    """Return the declaration of each parameter, from the definition on the entry's line or the only one."""
    count = len(entry.parameters)
    candidates = [
        definition
        for definition in definitions(source, plain.rpartition("::")[2])
        if len(definition.parameters) == count
    ]
    on_line = [
        definition for definition in candidates if definition.first_line <= entry.line <= definition.last_line
    ]
    if on_line or len(candidates) == 1:
        return (on_line or candidates)[0].parameters
    return [None] * count


def _kind(parameter: PtxParameter, declared: Declared | None) -> str:
    if parameter.type == "bytes":  # a structure, a half, or a number or a pointer that is `__grid_constant__`
        if declared is None or not (declared.pointer or declared.element):
            return "bytes"
        if not declared.pointer and np.dtype(declared.element).itemsize != parameter.size:
            return "bytes"
        if declared.element.startswith("float") and not declared.pointer:
            return "float"
    if parameter.type.startswith("f"):
        return "float"
    if parameter.size == 8 and (declared.pointer if declared and declared.recognised else parameter.pointer):
        return "pointer"
    if declared is not None and declared.recognised:
        return "uint" if declared.unsigned else "int"
    return "int"
