"""The check before NVRTC reads anything: no directive, and nothing like one, may open a file.

It works on the canonical text of `gpulab.compiler.preprocess.phases`, in which a directive can only
begin a line. Lines are checked without asking whether some compiler sees them inside a string, a raw
string or a skipped group. Anything that is not on the list is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from gpulab.compiler.preprocess.headers import NVIDIA_HEADERS, allowed_headers
from gpulab.compiler.preprocess.phases import SourceText, Token, tokenize
from gpulab.errors import IncludeRefused

__all__ = ["FORBIDDEN_NAMES", "CheckedText", "check_source"]

DIRECTIVES = ("define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif")
TEXT_DIRECTIVES = ("error", "warning")

MAX_CONDITIONS = 500  # each is followed through all macros

PRAGMAS = (
    "unroll",
    "nounroll",
    "once",
    "pack",
    "diag_suppress",
    "diag_default",
    "nv_diag_suppress",
    "nv_diag_default",
    "nv_diag_warning",
    "nv_diagnostic",
    "nv_exec_check_disable",
    "hd_warning_disable",
    "push_macro",
    "pop_macro",
)

# Names that ask whether a file is there, or read one, wherever they stand.
FORBIDDEN_NAMES = ("__has_include", "__has_include_next", "__has_embed")

# What `#if` may ask about besides the text's own macros, when it also calls one (see `_condition`).
_KNOWN_NAMES = frozenset(
    ("defined", "true", "false", "__cplusplus", "__CUDA_ARCH__", "__CUDACC__", "__CUDACC_RTC__")
) | frozenset(("__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__", "CUDA_VERSION", "CUDART_VERSION", "NDEBUG"))

_DIRECTIVE = re.compile(r"(?:%:%:|%:|##|#)\s*(?P<name>[\w$\\]*)\s*(?P<rest>.*)", re.DOTALL)
_HEADER_NAME = re.compile(r'(?:<([^<>"\\]+)>|"([^"<>\\]+)")[ \t]*')
_FORBIDDEN = re.compile(rf"(?<![\w$])(?:{'|'.join(FORBIDDEN_NAMES)})(?![\w$])")
_MODULE = re.compile(r"(?:export[ \t]+)?(?:import|module)(?![\w$])[ \t]*(?:[<\":;]|[A-Za-z_$])")
_PRAGMA_OPERATOR = re.compile(r'(?<![\w$])(?:_Pragma|__pragma)(?![\w$])(?:\s*\(\s*"([^"\\\n]*)"\s*\))?')
_MACRO = re.compile(r"([A-Za-z_$][\w$]*)(\([^)]*\))?[ \t]*(.*)", re.DOTALL)
_BEFORE_A_DIRECTIVE = "".join(map(chr, range(33))) + "\x7f\x85\xa0\ufeff\u2028\u2029"


@dataclass(frozen=True)
class CheckedText:
    """A text that opens no file but allowed headers. needs_headers, needs_nvidia: which kinds."""

    text: str
    needs_headers: bool
    needs_nvidia: bool


@dataclass(frozen=True)
class _Line:
    offset: int  # of the `#` in the canonical text
    name: str
    rest: str
    rest_offset: int


def check_source(source: SourceText, defines: Mapping[str, str]) -> CheckedText:
    """Raise `IncludeRefused`, with every place, if the text could open a file that is not on the list.

    defines: macros given from outside, name to value. An allowed `"name"` becomes `<name>`, so that it
    is never looked for beside the text.
    """
    text = source.text
    lines = list(_directives(text))
    macros = _macros(lines, defines)
    conditions = 0
    refused: list[tuple[int, str]] = []
    headers: list[str] = []
    rewritten = list(text)
    for line in lines:
        if line.name == "include":
            match = _HEADER_NAME.fullmatch(line.rest)
            name = (match.group(1) or match.group(2)) if match else ""
            if name in allowed_headers():
                headers.append(name)
                rewritten[line.rest_offset] = "<"
                rewritten[line.rest_offset + len(name) + 1] = ">"
            else:
                refused.append((line.offset, _include_message(line.rest, bool(match))))
        elif line.name == "pragma":
            refused += [(line.offset, message) for message in _pragma(line.rest)]
        elif line.name in DIRECTIVES:
            if line.name in ("if", "elif"):
                conditions += 1
                if conditions > MAX_CONDITIONS:
                    refused.append((line.offset, f"there are more than {MAX_CONDITIONS} conditions here."))
                    break
                refused += [(line.offset, message) for message in _condition(line.rest, macros)]
        elif line.name not in TEXT_DIRECTIVES and (line.name or line.rest):
            refused.append((line.offset, _directive_message(line.name)))
    refused += _anywhere(text)
    if refused:
        raise IncludeRefused([source.diagnostic(offset, message) for offset, message in sorted(refused)[:20]])
    return CheckedText("".join(rewritten), bool(headers), any(name in NVIDIA_HEADERS for name in headers))


def _directives(text: str) -> Iterator[_Line]:
    """Every line that a compiler could take for a directive, whatever stands around it."""
    start = 0
    for line in text.split("\n"):
        stripped = line.lstrip(_BEFORE_A_DIRECTIVE)
        if match := _DIRECTIVE.match(stripped):
            offset = start + len(line) - len(stripped)
            yield _Line(offset, match["name"], match["rest"].rstrip(), offset + match.start("rest"))
        start += len(line) + 1


def _anywhere(text: str) -> Iterator[tuple[int, str]]:
    """What is refused wherever it stands, in strings too: no kernel needs it there."""
    for match in _FORBIDDEN.finditer(text):
        yield match.start(), f"`{match.group()}` is refused: a kernel may not ask which files are here."
    for match in _PRAGMA_OPERATOR.finditer(text):
        if match.group(1) is None:
            yield match.start(), '`_Pragma` is refused here unless it reads `_Pragma("unroll")` or the like.'
        else:
            for message in _pragma(match.group(1)):
                yield match.start(), message
    start = 0
    for line in text.split("\n"):
        stripped = line.lstrip(_BEFORE_A_DIRECTIVE)
        if _MODULE.match(stripped):
            offset = start + len(line) - len(stripped)
            yield offset, f"modules are refused: `{stripped.split()[0]}` would read a file."
        start += len(line) + 1


def _pragma(rest: str) -> Iterator[str]:
    words = re.match(r"[\w$]*", rest.strip(" \t"))
    name = words.group() if words else ""
    if name not in PRAGMAS:
        yield f"`#pragma {name}` is refused; allowed: {', '.join(PRAGMAS)}."


@dataclass(frozen=True)
class _Value:
    """One definition of a macro (or a condition): its tokens, and its parameters' names."""

    tokens: list[Token]
    parameters: frozenset[str]


def _macros(lines: list[_Line], defines: Mapping[str, str]) -> dict[str, list[_Value]]:
    """Every definition of each macro, whatever `#if` stands around it."""
    found = {name: [_Value(tokenize(value), frozenset())] for name, value in defines.items()}
    for line in lines:
        if line.name == "define" and (match := _MACRO.match(line.rest)):
            parameters = frozenset(token.text for token in tokenize(match[2] or ""))
            found.setdefault(match[1], []).append(_Value(tokenize(match[3]), parameters))
    return found


def _condition(rest: str, macros: Mapping[str, list[_Value]]) -> Iterator[str]:
    """Refuse an `#if` that could put `__has_include` together from pieces.

    `##` can make any name, so no macro that the condition reaches may use it, neither one of the
    text's nor, by a call of an unknown name, one of a header's.
    """
    seen: set[str] = set()
    unknown: set[str] = set()
    calls = pastes = False
    todo = [_Value(tokenize(rest), frozenset())]
    while todo:
        value = todo.pop()
        for token, after in zip_longest(value.tokens, value.tokens[1:]):
            pastes |= token.text in ("##", "%:%:", "\\")  # a backslash: \u0069 is an `i`
            if token.kind != "identifier":
                continue
            calls |= token.text != "defined" and after is not None and after.text == "("
            # A parameter stands for what a call gives, and that is seen where it is given.
            if token.text in value.parameters or token.text in seen:
                continue
            if token.text in macros:
                seen.add(token.text)
                todo += macros[token.text]
            elif token.text not in _KNOWN_NAMES:
                unknown.add(token.text)
    if pastes:
        yield "this condition uses a macro with `##` or a backslash, which is refused; write names out."
    elif calls and unknown:
        names = ", ".join(f"`{name}`" for name in sorted(unknown))
        yield f"this condition calls a macro and names {names}, defined nowhere here; compare plain numbers."


def _include_message(rest: str, literal: bool) -> str:
    if not literal:
        what = f"`#include {rest}`" if len(rest) <= 60 else "this `#include`"
        return f"{what} is refused: write a header's own name; allowed: {', '.join(allowed_headers())}."
    return f"`#include {rest}` is refused; allowed: {', '.join(allowed_headers())}."


def _directive_message(name: str) -> str:
    shown = name if len(name) <= 30 else name[:30] + "…"
    if name == "line" or name[:1].isdigit():
        return "`#line` is refused: messages would name the wrong lines."
    if name in ("include_next", "import", "embed"):
        return f"`#{name}` is refused: a kernel cell reads no files; allowed: {', '.join(allowed_headers())}."
    known = ", ".join(("include", *DIRECTIVES, *TEXT_DIRECTIVES, "pragma"))
    return f"`#{shown}` is not a directive of a kernel cell; allowed: {known}."
