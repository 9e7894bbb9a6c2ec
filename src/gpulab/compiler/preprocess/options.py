"""Which compiler options and macros a caller may give: a list, and nothing that names a file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

from gpulab.compiler.preprocess.includes import FORBIDDEN_NAMES
from gpulab.compiler.preprocess.phases import tokenize
from gpulab.errors import UsageError

__all__ = ["CheckedOptions", "check_options"]

_SWITCHES = (
    "use_fast_math",
    "extra-device-vectorization",
    "restrict",
    "fno-signed-zeros",
    "ffinite-math-only",
    "device-int128",
    "disable-warnings",
)
_TRUTH = re.compile("true|false")
_VALUES = {
    "fmad": _TRUTH,
    "ftz": _TRUTH,
    "prec-div": _TRUTH,
    "prec-sqrt": _TRUTH,
    "maxrregcount": re.compile("[1-9][0-9]{0,2}"),
    "std": re.compile(r"c\+\+(?:11|14|17)"),
}
_TAKES = {"maxrregcount": "a number of registers", "std": "c++11, c++14 or c++17"}
_SHORT = {"w": "disable-warnings"}
_ALWAYS_ON = ("generate-line-info", "lineinfo")
_ADVICE = {
    "G": "it changes the code that is measured; line numbers are there without it",
    "device-debug": "it changes the code that is measured; line numbers are there without it",
    "gpu-architecture": "the device says for which GPU to compile",
    "arch": "the device says for which GPU to compile",
}

_CLOSED = re.compile(r"""(?:u8|[uUL])?"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED_MACROS = (*FORBIDDEN_NAMES, "defined", "__FILE__", "__LINE__", "_Pragma", "__pragma", "__VA_ARGS__")


@dataclass(frozen=True)
class CheckedOptions:
    """`flags` for NVRTC, in order; `defines` are the macros among them, name to value."""

    flags: tuple[str, ...]
    defines: Mapping[str, str]


def check_options(options: Sequence[str], defines: Mapping[str, object] | None) -> CheckedOptions:
    """Raise `UsageError` for any option that is not on the list, or a macro that is not one value."""
    if isinstance(options, str):
        raise UsageError(f'options must be a sequence of strings, such as ("{options}",).')
    macros = {name: _value(name, value) for name, value in (defines or {}).items()}
    flags = [f"-D{name}={value}" for name, value in macros.items()]
    has_standard = False
    words: list[object] = list(options)
    while words:
        word = words.pop(0)
        if not isinstance(word, str):
            raise UsageError(f"a compiler option must be text, not {type(word).__name__}.")
        name, joined, value = word.lstrip("-").partition("=")
        macro = re.match(r"(?:-([DU])=?|--(define|undefine)-macro(?:=|$))", word)
        if macro:
            text = word[macro.end() :].strip() or str(words.pop(0) if words else "")
            if macro.group(1) == "U" or macro.group(2) == "undefine":
                flags.append(f"-U{_macro_name(text)}")
            else:
                given, _, value = text.partition("=")
                macros[given] = _value(given, value if "=" in text else 1)
                flags.append(f"-D{given}={macros[given]}")
            continue
        name = _SHORT.get(name, name)
        if not word.startswith("-") or not (name in _SWITCHES or name in _VALUES or name in _ALWAYS_ON):
            raise UsageError(_refusal(word, name))
        if name in _VALUES:
            value = value if joined else str(words.pop(0) if words else "")
            if not _VALUES[name].fullmatch(value):
                raise UsageError(f"--{name} takes {_TAKES.get(name, 'true or false')}, not `{value}`.")
            has_standard |= name == "std"
            flags.append(f"--{name}={value}")
        elif joined:
            raise UsageError(f"--{name} takes no value.")
        elif name in _SWITCHES:
            flags.append(f"--{name}")
    if not has_standard:
        flags.append("--std=c++17")
    return CheckedOptions(tuple(flags), macros)


def _refusal(word: str, name: str) -> str:
    if name in _ADVICE:
        return f"the option `{word}` is refused: {_ADVICE[name]}."
    known = [*(f"--{switch}" for switch in _SWITCHES), *(f"--{value}=…" for value in _VALUES)]
    return f"the option `{word}` is refused; allowed: {', '.join([*known, '-DNAME=…', '-UNAME'])}."


def _macro_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED_MACROS:
        raise UsageError(f"`{name}` cannot be the name of a macro given to the compiler.")
    return name


def _value(name: object, value: object) -> str:
    """The macro's value as C text: one line of whole tokens that can neither begin nor hide a directive."""
    _macro_name(name)
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        if not math.isfinite(value):
            raise UsageError(f"the macro `{name}` must be a finite number, not {value}.")
        return repr(float(value))
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"the macro `{name}` must be a number or text, not {type(value).__name__}.")
    for token in tokenize(value):
        if (
            token.kind in ("comment", "raw")
            or (token.kind in ("string", "character") and not _CLOSED.fullmatch(token.text))
            or token.text in ("#", "##", "%:", "%:%:", "\\", "asm", *_RESERVED_MACROS)
        ):
            raise UsageError(f"the value of the macro `{name}` may not hold `{token.text}`.")
    if not value.isprintable():
        raise UsageError(f"the value of the macro `{name}` must be one line of printable text.")
    return value
