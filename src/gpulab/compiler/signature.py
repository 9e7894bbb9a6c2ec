"""The parameters of each kernel: sizes and kinds from the PTX, names and signs from the C text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from gpulab.compiler.declarators import Declared, definitions
from gpulab.compiler.preprocess.phases import SourceText
from gpulab.compiler.program import Parameter, Signature

__all__ = ["Entry", "entry_signature", "ptx_entries", "target_arch"]

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
    """One `.param` of an entry: its PTX type, its size in bytes, and whether it is used as an address."""

    type: str
    size: int
    pointer: bool


@dataclass(frozen=True)
class Entry:
    """One `.entry` of a PTX text; `line` is that of its first `.loc`, 0 when there is none."""

    name: str
    parameters: tuple[PtxParameter, ...]
    line: int


def ptx_entries(ptx: str) -> list[Entry]:
    """The kernels of a PTX text, in its order."""
    text = _COMMENT.sub(" ", ptx)
    heads = list(_ENTRY.finditer(text))
    found = []
    for head, after in zip_longest(heads, heads[1:]):
        body = text[head.end() : after.start() if after else len(text)]
        opening = body.find("{")
        header = body[: opening if opening >= 0 else len(body)]
        code = body[len(header) :]
        parameters = tuple(_ptx_parameter(match, code) for match in _PARAMETER.finditer(header))
        loc = _LOC.search(code)
        found.append(Entry(head[1], parameters, int(loc[2]) if loc else 0))
    return found


def target_arch(ptx: str) -> int:
    """The compute capability a PTX text is written for, 90 for `.target sm_90`; 0 when it names none."""
    match = _TARGET.search(ptx)
    return int(match[1]) if match else 0


def _ptx_parameter(match: re.Match[str], code: str) -> PtxParameter:
    kind = match["type"]
    size = int(kind[1:]) // 8 * int(match["bytes"] or 1)
    pointer = size == 8 and (match["pointer"] is not None or _is_address(match["name"], code))
    return PtxParameter("bytes" if match["bytes"] else kind, size, pointer)


def _is_address(name: str, code: str) -> bool:
    """Does the code turn the parameter into an address, or read or write through it?"""
    for load in re.finditer(rf"ld\.param\.[bsu]64\s+(%\w+),\s*\[{re.escape(name)}\]", code):
        register = re.escape(load[1])
        if re.search(rf"cvta\.\S+\s+%\w+,\s*{register}\s*;|\[{register}(?:\+-?\w+)?\]", code):
            return True
    return False


def entry_signature(entry: Entry, plain: str = "", source: SourceText | None = None) -> Signature:
    """The signature of one entry.

    With the C text each parameter has its C name, or `argument N` where the text does not show one
    (a macro may hide it). Without it, names are `param_0`, `param_1`, … and an integer counts as
    signed, since PTX writes `.u32` for `int` and `unsigned` alike.
    """
    if source is None:
        return tuple(
            Parameter(f"param_{index}", _kind(parameter, None), parameter.size)
            for index, parameter in enumerate(entry.parameters)
        )
    declared = _declared(entry, plain, source)
    names: list[str] = []
    for index, one in enumerate(declared):
        name = one.name if one and one.name and one.name not in names else f"argument {index + 1}"
        names.append(name)
    return tuple(
        Parameter(name, _kind(parameter, one), parameter.size)
        for name, parameter, one in zip(names, entry.parameters, declared, strict=True)
    )


def _declared(entry: Entry, plain: str, source: SourceText) -> Sequence[Declared | None]:
    """What the C text says of each parameter: the definition on the entry's line, else the only one."""
    count = len(entry.parameters)
    fitting = [one for one in definitions(source, plain.rpartition("::")[2]) if len(one.parameters) == count]
    here = [one for one in fitting if one.first_line <= entry.line <= one.last_line]
    if here or len(fitting) == 1:
        return (here or fitting)[0].parameters
    return [None] * count


def _kind(parameter: PtxParameter, declared: Declared | None) -> str:
    if parameter.type == "bytes":
        return "bytes"
    if parameter.type.startswith("f"):
        return "float"
    if parameter.size == 8 and (declared.pointer if declared and declared.known else parameter.pointer):
        return "pointer"
    if declared is not None and declared.known:
        return "uint" if declared.unsigned else "int"
    return "int"
