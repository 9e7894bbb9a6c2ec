"""The include guard: a check, before NVRTC runs, that no directive of a source opens a file.

It works on the canonical text of `gpulab.compiler.preprocess.phases`, in which every directive is at the
start of a line. A line that looks like a directive is checked even inside a string, a raw string or a skipped
group, because compilers may disagree on where these end. Everything that is not on an allow-list is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import zip_longest

from gpulab.compiler.preprocess.header_advice import include_advice
from gpulab.compiler.preprocess.headers import allowed_headers
from gpulab.compiler.preprocess.phases import SourceText, Token, tokenize
from gpulab.errors import IncludeRefused

__all__ = ["FORBIDDEN_NAMES", "KNOWN_NAMES", "CheckedText", "check_source"]

DIRECTIVES = ("define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif")
TEXT_DIRECTIVES = ("error", "warning")  # followed by arbitrary text

MAX_CONDITIONS = 500  # `#if` and `#elif` of a source; the check of each follows all macros it uses
MAX_ERRORS = 20  # errors that one refusal reports

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

# Operators that test whether a file exists; refused anywhere in a source.
FORBIDDEN_NAMES = ("__has_include", "__has_include_next", "__has_embed")

# Names that a condition that calls a macro may use in addition to the source's own macros (see `_condition`).
KNOWN_NAMES = frozenset(
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
    """A source that includes only allowed headers.

    headers: the names that it includes, in order.
    """

    text: str
    headers: tuple[str, ...]


@dataclass(frozen=True)
class _Directive:
    offset: int  # position of the `#`, in characters of the canonical text
    name: str
    rest: str
    rest_offset: int


def check_source(source: SourceText, defines: Mapping[str, str]) -> CheckedText:
    """Return the source with each `#include "name"` turned into `#include <name>`.

    NVRTC looks for `"name"` in the working directory, but not for `<name>`.

    defines: macros that are defined by compiler options, by name.

    Raises `IncludeRefused`, with up to `MAX_ERRORS` places, if the source could open any other file.
    """
    text = source.text
    directives = list(_directives(text))
    macros = _macros(directives, defines)

    conditions = 0
    refused: list[tuple[int, str]] = []
    headers: list[str] = []
    rewritten = list(text)
    for directive in directives:
        if directive.name == "include":
            match = _HEADER_NAME.fullmatch(directive.rest)
            name = (match.group(1) or match.group(2)) if match else ""
            if name in allowed_headers():
                headers.append(name)
                rewritten[directive.rest_offset] = "<"
                rewritten[directive.rest_offset + len(name) + 1] = ">"
            else:
                refused.append((directive.offset, _include_message(directive.rest, name)))
        elif directive.name == "pragma":
            refused += [(directive.offset, message) for message in _pragma(directive.rest)]
        elif directive.name in DIRECTIVES:
            if directive.name in ("if", "elif"):
                conditions += 1
                if conditions > MAX_CONDITIONS:
                    refused.append((directive.offset, f"the source has more than {MAX_CONDITIONS} `#if`s."))
                    break
                refused += [(directive.offset, message) for message in _condition(directive.rest, macros)]
        elif directive.name not in TEXT_DIRECTIVES and (directive.name or directive.rest):
            refused.append((directive.offset, _directive_message(directive.name)))

    refused += _anywhere(text)
    if refused:
        raise IncludeRefused(
            [source.diagnostic(offset, message) for offset, message in sorted(refused)[:MAX_ERRORS]]
        )
    return CheckedText("".join(rewritten), tuple(headers))


def _directives(text: str) -> Iterator[_Directive]:
    """Yield every line that any compiler could read as a directive."""
    start = 0
    for line in text.split("\n"):
        stripped = line.lstrip(_BEFORE_A_DIRECTIVE)
        if match := _DIRECTIVE.match(stripped):
            offset = start + len(line) - len(stripped)
            yield _Directive(offset, match["name"], match["rest"].rstrip(), offset + match.start("rest"))
        start += len(line) + 1


def _anywhere(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and message of each name or module import that is refused anywhere, even in a string."""
    for match in _FORBIDDEN.finditer(text):
        yield match.start(), f"`{match.group()}` is refused: a kernel may not test whether a file exists."
    for match in _PRAGMA_OPERATOR.finditer(text):
        if match.group(1) is None:
            yield match.start(), '`_Pragma` is refused without a literal, as in `_Pragma("unroll 4")`.'
        else:
            for message in _pragma(match.group(1)):
                yield match.start(), message

    start = 0
    for line in text.split("\n"):
        stripped = line.lstrip(_BEFORE_A_DIRECTIVE)
        if _MODULE.match(stripped):
            offset = start + len(line) - len(stripped)
            word = stripped.split()[0]
            yield offset, f"modules are refused: `{word}` would read a file. Is this a cell of Python?"
        start += len(line) + 1


def _pragma(rest: str) -> Iterator[str]:
    match = re.match(r"[\w$]*", rest.strip(" \t"))
    name = match.group() if match else ""
    if name not in PRAGMAS:
        similar = get_close_matches(name, PRAGMAS, 1)
        meant = f"; do you mean `#pragma {similar[0]}`?" if similar else f"; allowed: {', '.join(PRAGMAS)}."
        yield f"`#pragma {name}` is refused{meant}"


@dataclass(frozen=True)
class _Definition:
    """A definition of a macro, or a condition: its tokens and the names of its parameters."""

    tokens: list[Token]
    parameters: frozenset[str]


def _macros(directives: list[_Directive], defines: Mapping[str, str]) -> dict[str, list[_Definition]]:
    """Return all definitions of each macro, including those in skipped groups."""
    macros = {name: [_Definition(tokenize(value), frozenset())] for name, value in defines.items()}
    for directive in directives:
        if directive.name == "define" and (match := _MACRO.match(directive.rest)):
            parameters = frozenset(token.text for token in tokenize(match[2] or ""))
            macros.setdefault(match[1], []).append(_Definition(tokenize(match[3]), parameters))
    return macros


def _condition(rest: str, macros: Mapping[str, list[_Definition]]) -> Iterator[str]:
    """Yield a message if a condition could form the name `__has_include` by token pasting.

    `##` can form any name. Therefore no macro that the condition expands may use it: neither a macro of the
    source nor, through a call of a name that the source does not define, a macro of a header.
    """
    seen: set[str] = set()
    unknown: set[str] = set()
    calls = pastes = False
    todo = [_Definition(tokenize(rest), frozenset())]

    while todo:
        value = todo.pop()
        for token, after in zip_longest(value.tokens, value.tokens[1:]):
            # A backslash can start a universal character name: `\u0069` is `i`.
            pastes |= token.text in ("##", "%:%:", "\\")
            if token.kind != "identifier":
                continue
            calls |= token.text != "defined" and after is not None and after.text == "("
            # The arguments that replace a parameter are checked where the macro is called.
            if token.text in value.parameters or token.text in seen:
                continue
            if token.text in macros:
                seen.add(token.text)
                todo += macros[token.text]
            elif token.text not in KNOWN_NAMES:
                unknown.add(token.text)

    if pastes:
        yield "this condition uses `##` or a backslash, which is refused; write the names in full."
    elif calls and unknown:
        names = ", ".join(f"`{name}`" for name in sorted(unknown))
        yield (
            f"this condition calls a macro and uses {names}, which this source does not define; "
            "compare plain numbers instead."
        )


def _include_message(rest: str, name: str) -> str:
    if not name:
        quoted = f"`#include {rest}`" if len(rest) <= 60 else "this `#include`"
        return f"{quoted} is refused: write the name of one header in `<>` or quotation marks."
    return include_advice(name)


def _directive_message(name: str) -> str:
    shown = name if len(name) <= 30 else name[:30] + "…"
    if name == "line" or name[:1].isdigit():
        return "`#line` is refused: error messages would give wrong line numbers."
    if name in ("include_next", "import", "embed"):
        return f"`#{name}` is refused: a kernel may not read files."
    allowed = ", ".join(("include", *DIRECTIVES, *TEXT_DIRECTIVES, "pragma"))
    return f"`#{shown}` is not allowed in a kernel cell; allowed: {allowed}."
