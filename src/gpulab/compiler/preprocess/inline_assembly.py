"""A check that a source cannot put a `#` into inline assembly.

A line of PTX that begins with `#` is a line marker, which can open a file. Most sources with inline assembly
cannot write one. This check finds them, and is much faster than to compile to PTX first and search that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulab.compiler.preprocess.includes import KNOWN_NAMES
from gpulab.compiler.preprocess.phases import SourceText, tokenize

__all__ = ["may_have_assembly", "may_write_hash"]

_DIRECTIVE_START = re.compile(r"^\s*(?:#|%:)", re.MULTILINE)
_MACRO = re.compile(r"^\s*define\b.*", re.MULTILINE)
_HARMLESS_ESCAPE = re.compile(r"""\\(?:[ntr"'\\]|0(?![0-7]))""")
_CLOSED = re.compile(r"""(?:u8|[uUL])?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)+')""")
# Macros of headers that turn their arguments into strings have such names.
_OF_HEADERS = re.compile(r"_+[A-Z]\w*|(?:CCCL|CUB|LIBCUDACXX|NV|THRUST)_\w*")


def may_have_assembly(text: str) -> bool:
    """Return True if a canonical text may contain inline assembly; `##` could form the keyword."""
    return "asm" in text or "##" in text or "%:%:" in text


def may_write_hash(source: SourceText, defines: Mapping[str, str]) -> bool:
    """Return False if no string of a source can contain `#`.

    A string contains it literally, by an escape, through the operator `#` of a macro, or through a macro of a
    header. An operand with the constraint "C" inserts the characters of a constant array. All strings are
    checked, because a macro can move each of them into inline assembly.

    defines: macros that are defined by compiler options, by name.
    """
    text = "\n".join([_DIRECTIVE_START.sub("", source.text), *defines.values()])
    text = _MACRO.sub(lambda line: line.group().replace("##", " "), text)
    if "#" in text or "%:" in text or "\\" in _HARMLESS_ESCAPE.sub("", text):
        return True

    tokens = [*source.tokens, *(token for value in defines.values() for token in tokenize(value))]
    is_keyword = not ("extern" in defines or re.search(r"\bdefine\s+extern\b", text))
    second = before = ""
    for token in tokens:
        is_linkage = token.text == '"C"' and before == "extern" and is_keyword
        if token.kind == "raw" or (token.kind == "string" and "C" in token.text and not is_linkage):
            return True
        if token.kind in ("string", "character") and ("#" in token.text or not _CLOSED.fullmatch(token.text)):
            return True
        is_guard = second in ("#", "%:") and before in ("ifdef", "ifndef", "define", "undef")
        if _OF_HEADERS.fullmatch(token.text) and token.text not in KNOWN_NAMES and not is_guard:
            return True
        second, before = before, token.text
    return False
