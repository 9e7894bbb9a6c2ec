"""Diagnostics from NVRTC's log, with lines and columns of the student's source.

NVRTC prints a message, the source line and a caret below it. Only the message and the column of the caret are
used. The source line is taken from the student's text, so that a diagnostic never shows text of another file,
and paths are removed from messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import pairwise, takewhile
from pathlib import PurePosixPath

from gpulab.compiler.mangling import demangled
from gpulab.compiler.nvrtc import FILE_NAME, NAMES_FILE
from gpulab.compiler.preprocess.headers import header_of
from gpulab.compiler.preprocess.phases import SourceText
from gpulab.errors import Diagnostic

__all__ = ["parse_log"]

_SEVERITY = r"(?P<severity>catastrophic error|internal error|error|warning|remark|note)"
_PLACED = re.compile(rf"(?P<file>\S[^\n]*?)\((?P<line>\d+)\): {_SEVERITY}(?: #[\w-]+)?: (?P<text>.*)")
_AT_END = re.compile(rf"At end of source: {_SEVERITY}(?: #[\w-]+)?: (?P<text>.*)")
_NOTE = re.compile(r"Note #[\w-]+: (?P<text>.*)")
_CARET = re.compile(r"  (?P<pad>[ \t]*)\^\s*")
_CONTINUATION = re.compile(r" {10}\s*\S")
_INSTANTIATED_AT = re.compile(rf"at line (\d+) of {re.escape(FILE_NAME)}$")
_NOISE = ("detected during:", "instantiation of ")
_PTXAS_LINE = re.compile(
    r"ptxas \S+(?: ptx input)?, line (?P<line>\d+); (?P<severity>error|warning|fatal)\s*: (?P<text>.*)"
)
_PTXAS = re.compile(r" ?ptxas (?P<severity>error|warning|fatal)\s*: (?P<text>.*)")
_LOC = re.compile(r"\s*\.loc\s+1\s+(\d+)\s")
_TOO_MUCH_SHARED = re.compile(
    r"Entry function '([^']+)' uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)"
)
_UNKNOWN_STACK = re.compile(r"Stack size for entry function '([^']+)' cannot be statically determined")
_UNDEFINED_FUNCTION = re.compile(r"Unresolved extern function '([^']+)'")

_NO_KERNEL_LAUNCH = (
    "a kernel cannot launch a kernel here (dynamic parallelism needs nvcc and its device runtime)."
)
# Clearer messages for the errors that beginners meet first.
_NOT_WHOLE = "this must be a whole number, such as an `int`; an index or a remainder cannot be a `float`."
_CLEARER_MESSAGES = (
    (
        "A function without execution space annotations",
        "this function has no `__global__` or `__device__` specifier; host code is not compiled here.",
    ),
    (
        "expression must have a constant value",
        "this must be a constant, such as BLOCK_X; variables, parameters and blockDim.x are not constants",
    ),
    (
        "expression must be a modifiable lvalue",
        "this cannot be assigned to: it is const, as input arrays and `__constant__` are, or no variable.",
    ),
    (
        "A namespace scope variable without memory space annotations",
        "this variable is outside every function; add `__device__` or `__constant__` before its type.",
    ),
    (
        "dynamic initialization is not supported for a __",
        "this value must be a constant expression; a `const float` in it must be `constexpr float`.",
    ),
    (
        "texture is not a template",
        "CUDA 12 removed texture references; pass a `cudaTextureObject_t`, which `dev.texture(x)` creates.",
    ),
    (
        "surface is not a template",
        "CUDA 12 removed surface references; pass a `cudaSurfaceObject_t`, which `dev.surface(x)` creates.",
    ),
    (
        "device-side kernel launch could not be processed",
        _NO_KERNEL_LAUNCH,
    ),
    (
        "expression must have arithmetic or unscoped enum type",
        "this is not a number; of an array or a pointer, use one element, such as `x[i]`.",
    ),
    (
        "expression must have pointer-to-object type but it has type",
        "this is no array and has no index; an array `float* a` is read with one index: `a[y * nx + x]`.",
    ),
    (
        "expression must have integral or unscoped enum type",
        _NOT_WHOLE,
    ),
    (
        "expression preceding parentheses of apparent call must have",
        "this is not a function; an element of an array is written with brackets, such as `x[i]`.",
    ),
    (
        "return value type does not match the function type",
        "the function does not return a value of this type; a kernel is `void` and stores its results.",
    ),
    (
        'no suitable conversion function from "const uint3"',
        "threadIdx and blockIdx have three parts: write `.x`, `.y` or `.z` after the name.",
    ),
    (
        'no suitable conversion function from "const dim3"',
        "blockDim and gridDim have three parts: write `.x`, `.y` or `.z` after the name.",
    ),
    (
        'no suitable constructor exists to convert from "const float" to "float4"',
        "one float is not a float4; a pointer to float4 reads four floats, as in `((const float4*) x)[i]`.",
    ),
    (
        'no operator "[]" matches these operands',
        "this type has no index in brackets; the parts of a float4 are .x, .y, .z and .w.",
    ),
    *(
        (
            f'no operator "{operator}" matches these operands',
            f"the operator {operator} does not exist for these types; use their parts, such as `.x`.",
        )
        for operator in "+-*/"
    ),
)
_ATOMIC = re.compile(r'no instance of overloaded function "(atomic\w+)" matches the argument list')
_POINTER_AS_VALUE = re.compile(
    r'a value of type "(?:const )?(\w+) \*" cannot be '
    r'(?:used to initialize|assigned to) an entity of type "\1"'
)
_NO_PART = re.compile(r'class "(?:dim3|uint3)" has no member "\w+"')
_IS_NO_SPECIFIER = " is not a specifier"
_NO_NAME = ('expected a ")"', "expected an identifier")  # where a name has been replaced by a number
_NO_SPECIFIER = "this declaration has no storage class or type specifier"
_SHUFFLE = re.compile(r'no instance of overloaded function "(__shfl\w*_sync)" matches the argument list')
_AMBIGUOUS = re.compile(r'more than one instance of overloaded function "(\w+)" matches the argument list')
_ARGUMENT_TYPES = re.compile(r"argument types are: \((?P<types>.*)\)")
_RUNTIME_CALL = re.compile(r"cuda[A-Z]\w+")
_WITHOUT_SYNC = re.compile(r"inline assembly: Instruction '(shfl|vote)' without '\.sync'")
_REMOVED_WARP_FUNCTIONS = ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__any", "__all", "__ballot")
_NO_MEMBER_OF_STD = re.compile(r'namespace "std" has no member "(\w+)"')
_UNDEFINED_NAME = re.compile(r'identifier "(\w+)" is undefined')
_GEOMETRY_MACRO = re.compile(r"(BLOCK|TILE)_[XYZ]")  # `gpulab.config.defines` gives their values
_UNDEFINED_NAMESPACE = (
    'name followed by "::" must be a class or namespace name',
    "name must be a namespace name",
)
_UNDEFINED = ('identifier "', 'namespace "', *_UNDEFINED_NAMESPACE)
_NOT_A_FUNCTION = 'attribute "__global__" does not apply here'
_OF_A_VARIABLE = (
    _NOT_A_FUNCTION,
    "this variable is outside every function",
    'incomplete type "void" is not allowed',
    "type name is not allowed",
    'identifier "',
    'namespace "',
    'expected a ")"',
    'expected a ";"',
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
SIMILARITY = 0.8  # least ratio of two names (difflib); names that differ in one letter are above it
_PYTHON = re.compile(r"\s*(def \w+\(.*:|(import|from) \w+(\.\w+)*( import | as |$)|for \w+ in .*:)")
_NOT_PYTHON = "this is Python, and a kernel is CUDA C: Python code belongs in a cell without `%%cuda`."
_MAX_NOTES = 3  # notes that are appended to one message
_WARNINGS = ("warning", "remark", "note")


@dataclass
class _Message:
    """A message of the log, at the position that NVRTC reports."""

    file: str
    line: int
    severity: str
    text: str
    column: int = 0
    notes: list[str] = field(default_factory=list)
    opened: int = 0  # line of the "{" that a note about a missing "}" names


def parse_log(log: str, source: SourceText, ptx: str = "", folders: Iterable[str] = ()) -> list[Diagnostic]:
    """Return the errors and warnings of a compilation, in the order of the log.

    ptx: NVRTC's PTX, which maps ptxas messages to source lines. folders: include folders, which are removed
    from the messages.
    """
    diagnostics: dict[Diagnostic, None] = {}  # each one once, in the order of the log
    skipped: set[str] = set()  # names in statements that the compiler skipped after an error
    folders = sorted(folders, key=len, reverse=True)
    for message in _messages(log, ptx):
        if message.severity in _WARNINGS and message.file not in ("", FILE_NAME):
            continue  # warnings about headers are not the student's concern
        if message.file == NAMES_FILE:
            continue  # the name of a kernel is not part of the source

        line, column, text = message.line, message.column, _clearer(message.text, folders)
        if message.file and message.file != FILE_NAME:
            line, column = _instantiation_line(message.notes), 0
            text = f"in the header {message.file.replace(chr(92), '/').rpartition('/')[2]}: {text}"
        elif message.file == "":
            if _WITHOUT_SYNC.match(text) and (name := _removed_function(source)):
                text = f"CUDA has removed `{name}`: write `{name}_sync(0xffffffff, …)`."
            line = line or _line_of_name(source, text)
        if line:
            line, column = source.place(line, column)
        if (undefined := _UNDEFINED_NAME.fullmatch(text)) and undefined[1] in skipped:
            continue
        if text == 'expected a ";"':
            skipped |= _names_to_end_of_statement(source, line, column)
            if _follows_undefined(source, line, column, list(diagnostics)[-1:]):
                continue
            end = source.end_of_statement_before(line, column)
            text += " at the end of this line" if end[0] < line else ""
            line, column = end

        if text == _NO_SPECIFIER:
            text = _misspelt_specifier(source, line, column) or text
        text += _suggestion(text, source, line, column)
        if message.opened and message.file == FILE_NAME:
            text += f' for the "{{" of line {source.place(message.opened, 0)[0]}'
        if _clearer_beginning(message.text):  # the notes explain the compiler's text
            message.notes.clear()
        notes = [_clearer(note, folders) for note in message.notes if not note.startswith(_NOISE)]
        text = _wrong_arguments(text, notes) or "; ".join([text, *notes[:_MAX_NOTES]])
        severity = "warning" if message.severity in _WARNINGS else "error"
        diagnostics[Diagnostic(line, column, severity, text, source.student_line(line))] = None
    return _without_consequences(list(diagnostics))


def _without_consequences(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics without those that follow from another one."""
    python = next((each for each in diagnostics if _PYTHON.match(each.source_line)), None)
    if python is not None:
        return [replace(python, column=0, message=_NOT_PYTHON)]
    return _of_unknown_specifiers(_of_unknown_types(diagnostics))


def _of_unknown_specifiers(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Leave out the errors that follow from a misspelt specifier, such as `_global_`, in the same line.

    The compiler takes the function for a variable.
    """
    misspelt = {each.line for each in diagnostics if _IS_NO_SPECIFIER in each.message}
    return [d for d in diagnostics if d.line not in misspelt or not d.message.startswith(_OF_A_VARIABLE)]


def _of_unknown_types(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Leave out the errors that follow from an unknown type of a kernel's first parameter.

    The compiler takes such a kernel for a variable and reports up to five errors, mostly before the cause.
    """
    first = next((n for n, each in enumerate(diagnostics) if each.message == _NOT_A_FUNCTION), None)
    if first is None:
        return diagnostics
    end = first
    while end < len(diagnostics) and diagnostics[end].message.startswith(_OF_A_VARIABLE):
        end += 1
    begin = first - (first > 0 and diagnostics[first - 1].message.startswith(_UNDEFINED))
    cause = next((each for each in diagnostics[begin:end] if each.message.startswith(_UNDEFINED)), None)
    if cause is None:
        return diagnostics
    return [*diagnostics[:begin], cause, *_of_unknown_types(diagnostics[end:])]


def _messages(log: str, ptx: str) -> list[_Message]:
    messages: list[_Message] = []
    current: _Message | None = None  # the message that a caret or a continuation belongs to
    previous_continues = False  # the previous line was taken for a continuation

    for line in log.split("\n"):
        if match := _PLACED.fullmatch(line):
            current = _Message(match["file"], int(match["line"]), match["severity"], match["text"])
            if match["severity"] == "note" and messages:
                if match["text"] == 'to match this "{"':
                    messages[-1].opened = current.line
                else:
                    messages[-1].notes.append(match["text"])
                current.notes = messages[-1].notes
            else:
                messages.append(current)
        elif match := _AT_END.fullmatch(line):
            current = _Message(FILE_NAME, 1 << 30, match["severity"], match["text"])
            messages.append(current)
        elif (match := _NOTE.fullmatch(line)) and messages:
            messages[-1].notes.append(match["text"])
        elif match := _PTXAS_LINE.fullmatch(line):
            source_line = _line_of_ptx(ptx, int(match["line"]))
            messages.append(_Message("", source_line, match["severity"], f"inline assembly: {match['text']}"))
            current = None
        elif match := _PTXAS.fullmatch(line):
            if not match["text"].startswith("Ptx assembly aborted"):
                messages.append(_Message("", 0, match["severity"], _clearer_ptxas(match["text"])))
            current = None
        elif current is not None:
            if match := _CARET.fullmatch(line):
                current.column = current.column or len(match["pad"]) + 1
                if previous_continues and current.notes:  # it was the source line, not a continuation
                    current.notes.pop()
            elif _CONTINUATION.match(line):
                current.notes.append(line.strip())
                previous_continues = True
                continue
            elif not line:
                current = None
        previous_continues = False
    return messages


def _clearer(text: str, folders: Iterable[str]) -> str:
    """Return a message without paths, replaced by a clearer one if there is one."""
    for folder in folders:
        for name in (folder, folder.replace("/", "\\")):
            text = text.replace(name + "/", "").replace(name + "\\", "").replace(name, "")
    text = text.replace(FILE_NAME, PurePosixPath(FILE_NAME).name)
    if text.startswith("#error directive: "):
        return text.removeprefix("#error directive: ").strip().strip('"').replace('\\"', '"')
    return _clearer_beginning(text) or text


def _clearer_beginning(text: str) -> str:
    """Return the message that replaces one of the compiler's for beginners; "" if there is none."""
    if _POINTER_AS_VALUE.fullmatch(text):
        return "an array or a pointer is not one value; use one element, such as `x[i]`."
    return next((clearer for start, clearer in _CLEARER_MESSAGES if text.startswith(start)), "")


def _wrong_arguments(text: str, notes: Iterable[str]) -> str:
    """Return a clearer message for arguments of types for which there is no function, or several, or ""."""
    types = next(filter(None, map(_ARGUMENT_TYPES.match, notes)), None)
    if types is None:
        return ""
    if name := _AMBIGUOUS.match(text):
        return (
            f"`{name[1]}` is called with arguments of types ({types['types']}), and several functions of "
            "this name fit: give all arguments the same type, such as `0.0f` for 0, or `float(i)` for an int."
        )
    if name := _SHUFFLE.match(text):
        return (
            f"`{name[1]}` is called with arguments of types ({types['types']}): its first argument is the "
            f"mask of the lanes that take part, as in `{name[1]}(0xffffffff, …)`."
        )
    name = _ATOMIC.match(text)
    if name is None:
        return ""
    first = types["types"].partition(",")[0]
    if "*" not in first:
        advice = "the first argument is the address of an element, such as `&x[i]`"
    elif first.startswith("const "):
        advice = "the first argument points to elements that are `const`, which cannot be changed"
    else:
        advice = "there is no such function for these types"
    return f"{name[1]} is called with arguments of types ({types['types']}): {advice}."


def _suggestion(text: str, source: SourceText, line: int, column: int) -> str:
    """Return the end of a message: the cause that the name or token at its place suggests, or ""."""
    if text == 'expected a "("' and (word := _word_before(source, line, column)) in ("if", "for", "while"):
        return f" after `{word}`, and a `)` at the end of its condition"
    if text == "expression has no effect":
        return _missing_effect(source.student_line(line))
    if text in _NO_NAME and (macro := _macro_at(source, line, column)):
        return f": {macro}"
    if _NO_PART.fullmatch(text):
        return "; its parts are `.x`, `.y` and `.z`"
    if text == "expected a declaration" and source.student_line(line)[column - 1 :].startswith("}"):
        return ": this `}` has no opening brace; is a `{` missing above?"
    if text == "expected an expression" and _is_compound_literal(source, line, column):
        return ": `(T){…}` is C; write `T{…}`, or `T(…)`, in C++"
    if text.startswith('operand of "*" must be a pointer') and _has_power(source, line):
        return ": C has no operator `**`; write a power as a product, such as `x * x`"
    if text == _NOT_WHOLE and any(
        t.text == "^" and source.place_of(t.offset)[0] == line for t in source.tokens
    ):
        return " The operator `^` is the exclusive or: write a power as a product, such as `x * x`."
    if text in _UNDEFINED_NAMESPACE:
        name = next((t.text for t in source.tokens if source.place_of(t.offset) == (line, column)), "")
        header = header_of(name)
        if header:
            return f": add `#include <{header}>` above the kernel, which declares `{name}`"
        return f": `{name}` is not declared here" if name else ""
    if match := _NO_MEMBER_OF_STD.fullmatch(text):
        return f"; kernels include libcu++, such as `cuda/std/functional`, and use `cuda::std::{match[1]}`"

    match = _UNDEFINED_NAME.fullmatch(text)
    if match is None:
        return ""
    name = match[1]
    if name in _REMOVED_WARP_FUNCTIONS:
        return f"; CUDA has removed it: write `{name}_sync(0xffffffff, …)`"
    if any(token.text == "<<<" for token in source.tokens):
        is_launched = any(a.text == name and b.text == "<<<" for a, b in pairwise(source.tokens))
        if is_launched or _RUNTIME_CALL.fullmatch(name):
            return f": {_NO_KERNEL_LAUNCH}"
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


def _misspelt_specifier(source: SourceText, line: int, column: int) -> str:
    """Return the message for a word such as `_global_` at a place, or "" if it resembles no specifier."""
    word = next((t.text for t in source.tokens if source.place_of(t.offset) == (line, column)), "")
    plain = {specifier.strip("_"): specifier for specifier in _SPECIFIERS}
    similar = get_close_matches(word.strip("_"), plain, 1, SIMILARITY)
    return f"`{word}`{_IS_NO_SPECIFIER}; do you mean `{plain[similar[0]]}`?" if similar else ""


def _macro_at(source: SourceText, line: int, column: int) -> str:
    """Return the sentence for a variable whose name at a place is a macro of the source; "" if it is none."""
    name = next((t.text for t in source.tokens if source.place_of(t.offset) == (line, column)), "")
    for directive, token in pairwise(source.tokens):
        if directive.directive and directive.text == "define" and token.text == name:
            defined = source.place_of(token.offset)[0]
            return f"`{name}` is a macro, which line {defined} defines; give the variable another name"
    return ""


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


def _word_before(source: SourceText, line: int, column: int) -> str:
    """Return the last token of a line before a column; "" if there is none."""
    before = [t.text for t in source.tokens if (line, 0) < source.place_of(t.offset) < (line, column)]
    return before[-1] if before else ""


def _follows_undefined(source: SourceText, line: int, column: int, last: list[Diagnostic]) -> bool:
    """Return True if the token before a place is the undefined name of the last error: `__shard__ float`."""
    places = [source.place_of(token.offset) for token in source.tokens]
    undefined = [(each.line, each.column) for each in last if each.message.startswith('identifier "')]
    return any(before in undefined for before, after in pairwise(places) if after == (line, column))


def _names_to_end_of_statement(source: SourceText, line: int, column: int) -> set[str]:
    """Return the identifiers from a place to the next semicolon."""
    rest = (t for t in source.tokens if source.place_of(t.offset) >= (line, column))
    statement = takewhile(lambda token: token.text != ";", rest)
    return {token.text for token in statement if token.kind == "identifier"}


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


def _clearer_ptxas(text: str) -> str:
    if match := _TOO_MUCH_SHARED.match(text):
        kernel, size, limit = demangled(match[1]), int(match[2], 16), int(match[3], 16)
        return (
            f"`{kernel}` declares {size:,} bytes of shared memory; the limit is "
            f"{limit:,} bytes ({limit // 1024} KiB) per block."
        )
    if match := _UNKNOWN_STACK.match(text):
        return (
            f"the size of the stack of `{demangled(match[1])}` is unknown, because a function calls itself "
            "or is called through a pointer; a deep recursion exceeds the stack of a GPU."
        )
    if match := _UNDEFINED_FUNCTION.match(text):
        return f"the function `{demangled(match[1])}` is called but not defined."
    return re.sub(r"'(_Z\w+)'", lambda match: f"`{demangled(match[1])}`", text)


def _line_of_ptx(ptx: str, line: int) -> int:
    """Return the source line of a line of PTX, from the `.loc` directive above it; 0 if there is none."""
    for text in reversed(ptx.splitlines()[:line]):
        if match := _LOC.match(text):
            return int(match[1])
        if text.startswith((".visible", ".func", ".entry")):
            break
    return 0


def _line_of_name(source: SourceText, text: str) -> int:
    """Return the line on which the first `name` of a ptxas message occurs in the source; 0 if it does not."""
    if match := re.search(r"`(?:\w+::)*([A-Za-z_]\w*)(?:<[^`]*>)?`", text):
        for token in source.tokens:
            if token.text == match[1] and not token.directive:
                return source.text.count("\n", 0, token.offset) + 1
    return 0


def _removed_function(source: SourceText) -> str:
    """Return the first function of a source that CUDA has removed, such as `__any`; "" if there is none."""
    return next((token.text for token in source.tokens if token.text in _REMOVED_WARP_FUNCTIONS), "")


def _instantiation_line(notes: list[str]) -> int:
    """Return the source line that instantiated a header's template; 0 if the notes do not name it."""
    lines = [match for note in notes if (match := _INSTANTIATED_AT.search(note))]
    return int(lines[-1][1]) if lines else 0
