"""The probable cause of an error, from the names and tokens at its place in the source."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import pairwise

from gpulab.compiler.messages.clearer_messages import NO_KERNEL_LAUNCH, NOT_WHOLE
from gpulab.compiler.preprocess.headers import header_of
from gpulab.compiler.preprocess.phases import SourceText

__all__ = [
    "IS_NO_SPECIFIER",
    "REMOVED_WARP_FUNCTIONS",
    "UNDEFINED_NAME",
    "UNDEFINED_NAMESPACE",
    "misspelt_specifier",
    "suggestion",
]

_NO_PART = re.compile(r'class "(?:dim3|uint3)" has no member "\w+"')
IS_NO_SPECIFIER = " is not a specifier"
_RUNTIME_CALL = re.compile(r"cuda[A-Z]\w+")
REMOVED_WARP_FUNCTIONS = ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__any", "__all", "__ballot")
_NO_MEMBER_OF_STD = re.compile(r'namespace "std" has no member "(\w+)"')
UNDEFINED_NAME = re.compile(r'identifier "(\w+)" is undefined')
_GEOMETRY_MACRO = re.compile(r"(BLOCK|TILE)_[XYZ]")  # `gpulab.config.defines` gives their values
UNDEFINED_NAMESPACE = (
    'name followed by "::" must be a class or namespace name',
    "name must be a namespace name",
)
_TYPES = {"int", "float", "bool", "double", "unsigned", "long", "size_t", "float2", "float4", "auto"}
_SPECIFIERS = ("__global__", "__device__", "__constant__", "__shared__")
_BUILT_IN = {
    *("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__syncthreads", "__syncwarp"),
    *("atomicAdd", "atomicMax", "atomicMin", "atomicCAS", "atomicExch"),
    *("__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync"),
    *("printf", "sqrtf", "sqrt", "expf", "exp", "logf", "fabsf", "fmaxf", "fminf", "powf", "min", "max"),
    *("if", "else", "for", "while", "return", "const"),
    *_SPECIFIERS,
    *_TYPES,
}
_NO_NAME = ('expected a ")"', "expected an identifier")  # for a name that a macro has turned into a number
SIMILARITY = 0.8  # least ratio of two names (difflib); names that differ in one letter are above it


def suggestion(text: str, source: SourceText, line: int, column: int) -> str:
    """Return the end of a message: the cause that the name or token at its place suggests, or ""."""
    if text == 'expected a "("' and (word := _word_before(source, line, column)) in ("if", "for", "while"):
        return f" after `{word}`, and a `)` at the end of its condition"
    if text in _NO_NAME and (macro := _macro_at(source, line, column)):
        return f": {macro}"
    if text == "expression has no effect":
        return _missing_effect(source.student_line(line))
    if _NO_PART.fullmatch(text):
        return "; its parts are `.x`, `.y` and `.z`"
    if text == "expected a declaration" and source.student_line(line)[column - 1 :].startswith("}"):
        return ": this `}` has no opening brace; is a `{` missing above?"
    if text == "expected an expression" and _is_compound_literal(source, line, column):
        return ": `(T){…}` is C; write `T{…}`, or `T(…)`, in C++"
    if text.startswith('operand of "*" must be a pointer') and _has_power(source, line):
        return ": C has no operator `**`; write a power as a product, such as `x * x`"
    if text == NOT_WHOLE and any(
        t.text == "^" and source.place_of(t.offset)[0] == line for t in source.tokens
    ):
        return " The operator `^` is the exclusive or: write a power as a product, such as `x * x`."
    if text in UNDEFINED_NAMESPACE:
        name = _word_at(source, line, column)
        header = header_of(name)
        if header:
            return f": add `#include <{header}>` above the kernel, which declares `{name}`"
        return f": `{name}` is not declared here" if name else ""
    if match := _NO_MEMBER_OF_STD.fullmatch(text):
        return f"; kernels include libcu++, such as `cuda/std/functional`, and use `cuda::std::{match[1]}`"

    match = UNDEFINED_NAME.fullmatch(text)
    if match is None:
        return ""
    name = match[1]
    if name in REMOVED_WARP_FUNCTIONS:
        return f"; CUDA has removed it: write `{name}_sync(0xffffffff, …)`"
    if any(token.text == "<<<" for token in source.tokens):
        is_launched = any(a.text == name and b.text == "<<<" for a, b in pairwise(source.tokens))
        if is_launched or _RUNTIME_CALL.fullmatch(name):
            return f": {NO_KERNEL_LAUNCH}"
    if _RUNTIME_CALL.fullmatch(name):
        return ": a kernel cannot call CUDA's runtime here; the host does, in Python"
    if _GEOMETRY_MACRO.fullmatch(name):
        return f": `--block` in the first line of a kernel cell defines {name}"
    if header := header_of(name):
        return f"; it is declared in a header: add `#include <{header}>` above the kernel"
    if declared := _earlier_declaration(name, source, line):
        return f" here: the `{name}` of line {declared} exists only inside its own braces, function or loop"
    names = {token.text for token in source.tokens if token.kind == "identifier"} | _BUILT_IN
    similar = [each for each in sorted(names - {name}) if each.lower() == name.lower()]
    similar += get_close_matches(name, sorted(names - {name}), 1, SIMILARITY)
    return f"; do you mean `{similar[0]}`?" if similar else ""


def _macro_at(source: SourceText, line: int, column: int) -> str:
    """Return the sentence for a variable whose name at a place is a macro of the source; "" if it is none."""
    name = _word_at(source, line, column)
    for directive, token in pairwise(source.tokens):
        if directive.directive and directive.text == "define" and token.text == name:
            defined = source.place_of(token.offset)[0]
            return f"`{name}` is a macro, which line {defined} defines; give the variable another name"
    return ""


def misspelt_specifier(source: SourceText, line: int, column: int) -> str:
    """Return the message for a word such as `_global_` at a place, or "" if it resembles no specifier."""
    word = _word_at(source, line, column)
    plain = {specifier.strip("_"): specifier for specifier in _SPECIFIERS}
    similar = get_close_matches(word.strip("_"), plain, 1, SIMILARITY)
    return f"`{word}`{IS_NO_SPECIFIER}; do you mean `{plain[similar[0]]}`?" if similar else ""


def _is_compound_literal(source: SourceText, line: int, column: int) -> bool:
    """Return True for the `{` of `(T){…}` at a place."""
    return any(
        after.text == "{" and token.text == ")" and source.place_of(after.offset) == (line, column)
        for token, after in pairwise(source.tokens)
    )


def _has_power(source: SourceText, line: int) -> bool:
    """Return True if a line of the source has `**`."""
    return any(
        (token.text, after.text) == ("*", "*")
        and after.offset == token.offset + 1
        and source.place_of(token.offset)[0] == line
        for token, after in pairwise(source.tokens)
    )


def _word_at(source: SourceText, line: int, column: int) -> str:
    """Return the token at a place; "" if none begins there."""
    return next((t.text for t in source.tokens if source.place_of(t.offset) == (line, column)), "")


def _word_before(source: SourceText, line: int, column: int) -> str:
    """Return the last token of a line before a column; "" if there is none."""
    before = [t.text for t in source.tokens if (line, 0) < source.place_of(t.offset) < (line, column)]
    return before[-1] if before else ""


def _missing_effect(statement: str) -> str:
    """Return what is probably meant by a statement without effect, or ""."""
    if re.search(r"[^=!<>]==[^=]", statement):
        return ": `==` compares two values, and `=` assigns one"
    if re.search(r"\b__\w+\s*;", statement):
        return ": a function is called only with parentheses after its name"
    return ""


def _earlier_declaration(name: str, source: SourceText, line: int) -> int:
    """Return the line above another one in which a name seems to be declared; 0 if there is none."""
    tokens = [token for token in source.tokens if not token.directive]
    for before, token in pairwise(tokens):
        declares = before.text in _TYPES or before.text in ("*", "&")
        if token.text == name and declares and source.place_of(token.offset)[0] < line:
            return source.place_of(token.offset)[0]
    return 0
