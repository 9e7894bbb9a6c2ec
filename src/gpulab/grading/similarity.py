r"""Comparison of kernels without their names and layout.

Two kernels are the same if they differ only in comments, white space, the names that they declare, macros
that they define, and qualifiers that change no value (`const`, `__restrict__`, `inline`). The comparison
works on tokens. It does not recognise another order of statements or other arithmetic. Independent solutions
can be equal, so a group of equal kernels does not prove copying.

Examples
--------
>>> from gpulab.grading.similarity import same_kernel
>>> first = "__global__ void f(float* x) { int i = threadIdx.x; x[i] *= 2; }"
>>> second = "__global__ void g(float *data)\n{\n  int t = threadIdx.x; // mine\n  data[t] *= 2;\n}"
>>> same_kernel(first, second)
True
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gpulab.compiler.preprocess.phases import Token, read_source
from gpulab.errors import GpulabError

__all__ = ["MIN_TOKENS", "fingerprint", "groups", "normalized_tokens", "same_kernel"]

# Tokens of a normalised kernel. Independent solutions with fewer are often equal: axpy has 56, the matrix
# product with one thread per value 99 and a tree of sums 122. The shortest kernel of the labs that can be
# written in many ways, a matrix product with a strip in shared memory, has 153.
MIN_TOKENS = 130
MAX_TOKENS = 100_000  # tokens of a text after macro expansion; nested macros could give billions

_TYPES = frozenset(
    {"auto", "bool", "char", "dim3", "double", "float", "half", "half2", "int", "long", "short", "signed"}
    | {"uchar", "uint", "ulong", "unsigned", "ushort", "void", "wchar_t"}
)
_VECTOR_TYPE = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|\w+_t")
_INTRODUCES_TYPE = frozenset({"class", "enum", "struct", "typename", "union", "using"})
_DROPPED = frozenset(
    {"const", "constexpr", "inline", "register", "restrict", "static", "__restrict", "__restrict__"}
    | {"__forceinline__", "__inline__", "__noinline__"}
)
_DROPPED_WITH_ARGUMENTS = frozenset({"__launch_bounds__", "__align__", "alignas"})
_COMPONENTS = frozenset("xyzw")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def same_kernel(first: str, second: str) -> bool:
    """Return True if two kernels differ only in names, layout, their own macros and qualifiers."""
    return fingerprint(first) == fingerprint(second)


def fingerprint(source: str) -> str:
    """Return a text that is equal for the same kernels: the SHA-256 of the normalised tokens, in hex."""
    return hashlib.sha256("\n".join(normalized_tokens(source)).encode()).hexdigest()


def groups(
    kernels: Mapping[str, str], known: Iterable[str] = (), *, min_tokens: int = MIN_TOKENS
) -> list[tuple[str, ...]]:
    """Return the groups of students that submitted the same kernel, the largest group first.

    Parameters
    ----------
    kernels : mapping of str to str
        Source of the kernel by student.
    known : iterable of str, optional
        Sources that a student may use, such as the text of a given file; their copies are not reported.
    min_tokens : int, optional
        Kernels with fewer tokens are not reported, because independent solutions agree.

    Returns
    -------
    list of tuple of str
        Two or more students each, in the order of `kernels`.
    """
    allowed = {fingerprint(source) for source in known}
    by_fingerprint: dict[str, list[str]] = {}
    for student, source in kernels.items():
        key = fingerprint(source)
        if key not in allowed and len(normalized_tokens(source)) >= min_tokens:
            by_fingerprint.setdefault(key, []).append(student)
    found = [tuple(students) for students in by_fingerprint.values() if len(students) > 1]
    return sorted(found, key=len, reverse=True)


@lru_cache(maxsize=4096)
def normalized_tokens(source: str) -> tuple[str, ...]:
    """Return the tokens of a kernel without comments, directives and qualifiers, with numbers for its names.

    A text that is not valid CUDA C is divided at white space.
    """
    try:
        tokens = read_source(source).tokens
    except GpulabError:
        return tuple(source.split())
    return tuple(_numbered(_without_qualifiers(_expanded(tokens))))


# --- macros ------------------------------------------------------------------------------------


def _expanded(tokens: Sequence[Token]) -> list[str]:
    """Return the tokens with the text's own macros expanded and without directives.

    If the expansion is longer than `MAX_TOKENS` the macros stay as they are.
    """
    macros: dict[str, _Macro] = {}
    out: list[str] = []
    code: list[str] = []
    position = 0
    try:
        while position < len(tokens):
            if not tokens[position].directive:
                code.append(tokens[position].text)
                position += 1
                continue
            # The tokens of one directive are consecutive, and a second directive starts with another #.
            end = position + 1
            while end < len(tokens) and tokens[end].directive and tokens[end].text not in {"#", "%:"}:
                end += 1
            out += _expand(code, macros, frozenset())
            code = []
            _read_directive(tokens[position:end], macros)
            position = end
        return out + _expand(code, macros, frozenset())
    except OverflowError:
        return [token.text for token in tokens if not token.directive]


class _Macro:
    """A macro of the text. parameters: None for a macro without a parameter list."""

    def __init__(self, parameters: list[str] | None, body: list[str]) -> None:
        self.parameters, self.body = parameters, body


def _read_directive(tokens: Sequence[Token], macros: dict[str, _Macro]) -> None:
    """Add or remove the macro of a `#define` or `#undef`; other directives change nothing."""
    texts = [token.text for token in tokens[1:]]
    if texts[:1] == ["undef"]:
        macros.pop("".join(texts[1:2]), None)
    if texts[:1] != ["define"] or len(texts) < 2:
        return

    name, rest = tokens[2], tokens[3:]
    parameters, body = None, texts[2:]
    if rest and rest[0].text == "(" and rest[0].offset == name.offset + len(name.text):
        if ")" not in body:
            return
        close = body.index(")")
        parameters, body = [text for text in body[1:close] if text != ","], body[close + 1 :]
    macros[name.text] = _Macro(parameters, body)


def _expand(tokens: Sequence[str], macros: Mapping[str, _Macro], active: frozenset[str]) -> list[str]:
    """Return the tokens after macro expansion; `active` are the macros that are being expanded."""
    out: list[str] = []
    position = 0
    while position < len(tokens):
        name = tokens[position]
        position += 1
        macro = macros.get(name)
        call = None if macro is None else _call(tokens, position, macro)
        if macro is None or call is None or name in active:
            out.append(name)
            continue

        arguments, position = call
        replaced: list[str] = []
        for text in macro.body:
            replaced += arguments.get(text, [text])
        out += _expand(replaced, macros, active | {name})
        if len(out) > MAX_TOKENS:
            raise OverflowError
    return out


def _call(tokens: Sequence[str], position: int, macro: _Macro) -> tuple[dict[str, list[str]], int] | None:
    """Return the arguments of a macro by parameter and the position after its call; None if it is no call."""
    if macro.parameters is None:
        return {}, position
    if tokens[position : position + 1] != ["("]:
        return None

    arguments: list[list[str]] = [[]]
    depth = 0
    for end in range(position, len(tokens)):
        text = tokens[end]
        depth += (text in _OPENING) - (text in _CLOSING)
        if depth == 0:
            return dict(zip(macro.parameters, arguments, strict=False)), end + 1
        if text == "," and depth == 1:
            arguments.append([])
        elif end > position:
            arguments[-1].append(text)
    return None


# --- names -------------------------------------------------------------------------------------


def _without_qualifiers(tokens: Sequence[str]) -> list[str]:
    """Return the tokens without qualifiers and attributes, and with `BLOCK_X` for `blockDim.x`."""
    out: list[str] = []
    position = 0
    while position < len(tokens):
        text = tokens[position]
        position += 1
        if text in _DROPPED:
            continue
        if text == "extern" and tokens[position : position + 1] == ['"C"']:
            position += 1
        elif text in _DROPPED_WITH_ARGUMENTS and tokens[position : position + 1] == ["("]:
            position = _after_bracket(tokens, position)
        elif text == "blockDim" and tokens[position : position + 1] == ["."] and position + 1 < len(tokens):
            out.append(f"BLOCK_{tokens[position + 1].upper()}")
            position += 2
        else:
            out.append(text)
    return out


def _after_bracket(tokens: Sequence[str], position: int) -> int:
    """Return the position after the bracket that closes the one at `position`."""
    depth = 0
    for end in range(position, len(tokens)):
        depth += (tokens[end] in _OPENING) - (tokens[end] in _CLOSING)
        if depth == 0:
            return end + 1
    return len(tokens)


def _numbered(tokens: Sequence[str]) -> list[str]:
    """Return the tokens with a number for each name that the text declares, in the order of declaration.

    A name that is declared again, as a loop's variable may be, has another number from there to the end of
    the block in braces. A declaration is recognised by the type before the name.
    """
    numbers: dict[str, str] = {}  # numbers of the names that are visible
    members: dict[str, str] = {}  # numbers of all names so far, for `object.member`
    own_types: set[str] = set()
    outer: list[dict[str, str]] = []  # `numbers` outside each open brace
    declaring: list[int] = []  # depths of brackets at which a comma precedes another declaration
    count = depth = 0
    out: list[str] = []

    for position, text in enumerate(tokens):
        before = tokens[position - 1] if position else ""
        out.append(text)
        if text in _OPENING:
            depth += 1
            if text == "{":
                outer.append(dict(numbers))
        elif text in _CLOSING:
            depth -= 1
            if text == "}" and outer:
                numbers = outer.pop()
            declaring = [each for each in declaring if each <= depth]
        elif text == ";":
            declaring = [each for each in declaring if each < depth]
        elif not (text[0].isalpha() or text[0] in "_$") or text[-1] in "\"'":
            continue
        elif before in {".", "->"}:
            out[-1] = text if text in _COMPONENTS else members.get(text, text)
        elif before in _INTRODUCES_TYPE or _declares(tokens, position, own_types, depth in declaring):
            if before in _INTRODUCES_TYPE:
                own_types.add(text)
            elif not _is_type(text, own_types):
                declaring.append(depth)
            else:
                continue
            count += 1
            numbers[text] = members[text] = out[-1] = f"${count}"
        else:
            out[-1] = numbers.get(text, text)
    return out


def _declares(tokens: Sequence[str], position: int, own_types: set[str], in_list: bool) -> bool:
    """Return True if the name at `position` follows a type, or a comma in a list of declarations."""
    start = position - 1
    while start >= 0 and tokens[start] in {"*", "&"}:
        start -= 1
    if start < 0:
        return False
    if tokens[start] == "," and in_list:
        return True
    if tokens[start] == "(" and start < position - 1:  # float (*rows)[8]
        start -= 1
    return _is_type(tokens[start], own_types)


def _is_type(text: str, own_types: set[str]) -> bool:
    return text in _TYPES or text in own_types or _VECTOR_TYPE.fullmatch(text) is not None
