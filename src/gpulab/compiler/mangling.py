"""Demangling of the names of kernels and variables, a subset of the Itanium C++ ABI, section 5.1."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["demangled", "kernel_names", "plain_name"]

_LENGTH = re.compile(r"L?(\d+)")
_NUMBER = re.compile(r"n?\d+")
_SEQUENCE = re.compile(r"S([0-9A-Z]*)_")
_PARAMETER = re.compile(r"T(\d*)_")
_BUILTIN_TYPES = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char",
    "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long",
    "m": "unsigned long", "x": "long long", "y": "unsigned long long", "n": "__int128",
    "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
}  # fmt: skip
_SUFFIXES = {"P": "*", "R": "&", "O": "&&"}
_QUALIFIERS = {"K": "const", "V": "volatile", "r": "__restrict__"}
_INTEGERS = frozenset("ijlmxy")  # types whose literals are written as plain numbers
MAX_CHARACTERS = 1000  # longest name; with substitutions, a short symbol can encode a name without end


def demangled(symbol: str) -> str:
    """Return the C++ name of a PTX symbol, with template arguments and without parameters.

    `_Z13block2D_naivefPKf` gives `block2D_naive`, `_Z1kILi8EEvPf` gives `k<8>` and `_ZN1A1kEv` gives `A::k`.
    A symbol that is not mangled (`extern "C"`), or in a way that is not supported, is returned unchanged.
    """
    return _parsed(symbol)[0]


def plain_name(symbol: str) -> str:
    """Return the C++ name of a PTX symbol without template arguments; see `demangled`."""
    name = demangled(symbol)
    return name.partition("<")[0] if name.endswith(">") else name


def kernel_names(entries: Iterable[str]) -> dict[str, str]:
    """Return the PTX entries by C++ name, in order; overloads have their parameters in their names."""
    entries = list(entries)
    uses = Counter(map(demangled, entries))
    names: dict[str, str] = {}
    for entry in entries:
        name, parameters = _parsed(entry)
        overload = f"{name}({', '.join(parameters)})"
        name = name if uses[name] == 1 else overload
        names[entry if name in names else name] = entry
    return names


def _parsed(symbol: str) -> tuple[str, Sequence[str]]:
    """Return the name and the types of the parameters, as far as they can be read."""
    if not symbol.startswith("_Z"):
        return symbol, ()
    parser = _Parser(symbol[2:])
    try:
        name = parser.name()
    except (_UnsupportedNameError, RecursionError):
        return symbol, ()
    if not name:
        return symbol, ()
    try:
        return name, parser.parameters(name)
    except (_UnsupportedNameError, RecursionError):
        return name, ()


class _UnsupportedNameError(Exception):
    """A symbol that is malformed, or uses a part of the ABI that kernels do not need."""


class _Parser:
    """Recursive-descent parser of a mangled name, without its `_Z`."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.substitutions: list[str] = []  # the meanings of `S_`, `S0_`, `S1_`, …
        self.arguments: list[str] = []  # the meanings of `T_`, `T0_`, …

    def accept(self, text: str) -> bool:
        """Skip a text, if it is next."""
        found = self.text.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Skip a pattern that must be next."""
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _UnsupportedNameError(self.text)
        self.at = match.end()
        return match

    def add_substitution(self, name: str) -> None:
        """Let the next substitution stand for a name."""
        if len(name) > MAX_CHARACTERS:
            raise _UnsupportedNameError(self.text)
        self.substitutions.append(name)

    def at_name(self) -> bool:
        return _LENGTH.match(self.text, self.at) is not None

    def source_name(self) -> str:
        """Parse an identifier after its length; "" for a namespace without a name."""
        length = int(self.match(_LENGTH)[1])
        name = self.text[self.at : self.at + length]
        if len(name) < length:
            raise _UnsupportedNameError(self.text)
        self.at += length
        return "" if name.startswith(("_GLOBAL__N_", "_INTERNAL_")) else name

    def name(self) -> str:
        """Parse the name of a function, a variable or a class."""
        if self.accept("N"):
            return self.nested_name()
        if self.accept("Z"):  # a static variable of a function
            function = self.name()
            while not self.accept("E"):
                self.type()
            return f"{function}::{self.source_name()}"
        name = f"std::{self.source_name()}" if self.accept("St") else self.source_name()
        if self.text.startswith("I", self.at):
            self.add_substitution(name)
            name += self.template_arguments()
        return name

    def nested_name(self) -> str:
        while self.accept("r") or self.accept("V") or self.accept("K"):
            pass
        name = ""
        while not self.accept("E"):
            if self.text.startswith("I", self.at):
                name += self.template_arguments()
            elif self.text.startswith("S", self.at):
                name = "std" if self.accept("St") else self.substitution()
                continue
            else:
                part = self.source_name()
                name = f"{name}::{part}" if name and part else name or part
            if not self.text.startswith("E", self.at):
                self.add_substitution(name)
        return name

    def substitution(self) -> str:
        number = self.match(_SEQUENCE)[1]
        index = int(number, 36) + 1 if number else 0
        if index >= len(self.substitutions):
            raise _UnsupportedNameError(self.text)
        return self.substitutions[index]

    def template_arguments(self) -> str:
        """Parse `I … E` and return it as `<float, 8>`."""
        self.at += 1
        arguments: list[str] = []
        while not self.accept("E"):
            if self.accept("J"):  # an argument pack
                while not self.accept("E"):
                    arguments.append(self.template_argument())
            else:
                arguments.append(self.template_argument())
        self.arguments = arguments
        return f"<{', '.join(arguments)}>"

    def template_argument(self) -> str:
        return self.literal() if self.accept("L") else self.type()

    def literal(self) -> str:
        """Parse a value: `i8E` for 8, `b1E` for true, `_Z1fvE` for the address of a function."""
        if self.accept("_Z"):
            function = self.name()
            while not self.accept("E"):
                self.type()
            return f"&{function}"
        code = self.text[self.at : self.at + 1]
        ty = self.type()
        value = self.match(_NUMBER)[0].replace("n", "-")
        if not self.accept("E"):
            raise _UnsupportedNameError(self.text)
        if code == "b":
            return "true" if value == "1" else "false"
        return value if code in _INTEGERS else f"({ty}){value}"

    def type(self) -> str:
        code = self.text[self.at : self.at + 1]
        if code in _BUILTIN_TYPES:
            self.at += 1
            return _BUILTIN_TYPES[code]
        if code in _SUFFIXES:
            self.at += 1
            ty = self.type() + _SUFFIXES[code]
        elif code in _QUALIFIERS:
            self.at += 1
            ty, qualifier = self.type(), _QUALIFIERS[code]
            ty = f"{ty} {qualifier}" if ty.endswith(("*", "&")) else f"{qualifier} {ty}"
        elif code == "T":
            number = self.match(_PARAMETER)[1]
            index = int(number) + 1 if number else 0
            ty = self.arguments[index] if index < len(self.arguments) else "auto"
        elif code == "S" and not self.text.startswith("St", self.at):
            ty = self.substitution()
            if not self.text.startswith("I", self.at):
                return ty
            ty += self.template_arguments()
        elif code in ("N", "S") or self.at_name():
            outer, ty = self.arguments, self.name()
            self.arguments = outer  # those of the function, not of a class in its parameters
        else:
            raise _UnsupportedNameError(self.text)
        self.add_substitution(ty)
        return ty

    def parameters(self, name: str) -> list[str]:
        """Parse the types of a function's parameters; a template's begin with the type of its result."""
        types: list[str] = []
        while self.at < len(self.text):
            types.append(self.type())
        if name.endswith(">"):
            del types[:1]
        return [] if types == ["void"] else types
