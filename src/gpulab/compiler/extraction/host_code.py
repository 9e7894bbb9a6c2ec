"""The host code of a pasted program: one message in place of many errors about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulab.compiler.extraction.top_level import ItemKind, SourceItem, items_of
from gpulab.compiler.preprocess.phases import SourceText
from gpulab.errors import Diagnostic

__all__ = ["without_host_code"]

_HOST_CALL = re.compile(r"<<<|(?:cuda|cublas|cufft|curand)[A-Z]\w*|malloc|fopen|exit|cout")


def without_host_code(source: SourceText, errors: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the errors of a source, with one in place of those about host code and its headers."""
    functions = [
        item
        for item in items_of(source)
        if item.kind is ItemKind.HOST_FUNCTION and item.tokens[-1].text == "}"
    ]
    if not any(_is_host_code(item) for item in functions):
        return list(errors)

    ranges = [(item.line, item.last_line) for item in functions]
    includes = [e.line for e in errors if re.match(r"\s*#\s*include\b", e.source_line)]
    others = [
        error
        for error in errors
        if error.line not in includes and not any(first <= error.line <= last for first, last in ranges)
    ]
    line = functions[0].line
    message = f"host code is not compiled here: cut {_listed(functions)}"
    if includes:
        lines = ", ".join(map(str, includes))
        message += f" and the #include{'s' * (len(includes) > 1)} in line{'s' * (len(includes) > 1)} {lines}"
    message += ", or save the program and run `gpulab extract FILE.cu`, which prints its kernels as cells."
    return [Diagnostic(line, 1, "error", message, source.student_line(line)), *others]


def _is_host_code(item: SourceItem) -> bool:
    return "main" in item.names or any(_HOST_CALL.fullmatch(token.text) for token in item.tokens)


def _listed(functions: Sequence[SourceItem]) -> str:
    """Return the host functions in a message: at most three by name."""
    names = [f"`{min(item.names)}` (line {item.line})" for item in functions[-3:]]
    more = len(functions) - len(names)
    if more:
        names.insert(0, f"{more} function{'s' * (more > 1)} from line {functions[0].line} on")
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
