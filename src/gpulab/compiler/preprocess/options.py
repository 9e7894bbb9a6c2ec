"""The allow-list of compiler options and macros; none of them can name a file."""

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
_BOOLEAN = re.compile("true|false")
_VALUES = {
    "fmad": _BOOLEAN,
    "ftz": _BOOLEAN,
    "prec-div": _BOOLEAN,
    "prec-sqrt": _BOOLEAN,
    "maxrregcount": re.compile("[1-9][0-9]{0,2}"),
    "std": re.compile(r"c\+\+(?:11|14|17)"),
}
_VALUE_NAMES = {"maxrregcount": "a number of registers from 1 to 999", "std": "c++11, c++14 or c++17"}
_SHORT = {"w": "disable-warnings"}
_ALWAYS_ON = ("generate-line-info", "lineinfo")
_ADVICE = {
    "G": "debug code runs at another speed; line numbers are available without it",
    "device-debug": "debug code runs at another speed; line numbers are available without it",
    "gpu-architecture": "the device determines the architecture",
    "arch": "the device determines the architecture",
}

_CLOSED_LITERAL = re.compile(r"""(?:u8|[uUL])?"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED_MACROS = (*FORBIDDEN_NAMES, "defined", "__FILE__", "__LINE__", "_Pragma", "__pragma", "__VA_ARGS__")


@dataclass(frozen=True)
class CheckedOptions:
    """NVRTC's command line.

    flags: all options, in order. defines: the macros among them, by name.
    """

    flags: tuple[str, ...]
    defines: Mapping[str, str]


def check_options(options: Sequence[str], defines: Mapping[str, object] | None) -> CheckedOptions:
    """Return the options and macros as NVRTC's command line; the default standard is C++17.

    Raises `UsageError` for an option that is not on the list, and for a macro whose name is not a plain
    identifier or whose value is not a number or one line of C tokens.
    """
    if isinstance(options, str):
        raise UsageError(f'options must be a sequence of strings, such as ("{options}",).')

    macros = {name: _macro_value(name, value) for name, value in (defines or {}).items()}
    flags = [f"-D{name}={value}" for name, value in macros.items()]
    has_standard = False
    arguments: list[object] = list(options)
    while arguments:
        argument = arguments.pop(0)
        if not isinstance(argument, str):
            raise UsageError(f"a compiler option must be text, not {type(argument).__name__}.")

        macro = re.match(r"(?:-([DU])=?|--(define|undefine)-macro(?:=|$))", argument)
        if macro:
            text = argument[macro.end() :].strip() or str(arguments.pop(0) if arguments else "")
            if macro.group(1) == "U" or macro.group(2) == "undefine":
                flags.append(f"-U{_macro_name(text)}")
            else:
                name, _, value = text.partition("=")
                macros[name] = _macro_value(name, value if "=" in text else 1)
                flags.append(f"-D{name}={macros[name]}")
            continue

        name, joined, value = argument.lstrip("-").partition("=")
        name = _SHORT.get(name, name)
        if not argument.startswith("-") or not (name in _SWITCHES or name in _VALUES or name in _ALWAYS_ON):
            raise UsageError(_refusal(argument, name))
        if name in _VALUES:
            value = value if joined else str(arguments.pop(0) if arguments else "")
            if not _VALUES[name].fullmatch(value):
                allowed = _VALUE_NAMES.get(name, "true or false")
                raise UsageError(f"the value of --{name} must be {allowed}, not `{value}`.")
            has_standard |= name == "std"
            flags.append(f"--{name}={value}")
        elif joined:
            raise UsageError(f"the option --{name} takes no value.")
        elif name in _SWITCHES:
            flags.append(f"--{name}")

    if not has_standard:
        flags.append("--std=c++17")
    return CheckedOptions(tuple(flags), macros)


def _refusal(argument: str, name: str) -> str:
    if name in _ADVICE:
        return f"the option `{argument}` is refused: {_ADVICE[name]}."
    allowed = [
        *(f"--{switch}" for switch in _SWITCHES),
        *(f"--{option}=…" for option in _VALUES),
        "-DNAME=…",
        "-UNAME",
    ]
    return f"the option `{argument}` is refused; allowed: {', '.join(allowed)}."


def _macro_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED_MACROS:
        raise UsageError(
            f"`{name}` cannot be defined as a macro; use letters, digits and underscores, "
            "and no name that the compiler reserves."
        )
    return name


def _macro_value(name: object, value: object) -> str:
    """Return the macro's value as one line of complete C tokens that cannot form a directive."""
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
            or (token.kind in ("string", "character") and not _CLOSED_LITERAL.fullmatch(token.text))
            or token.text in ("#", "##", "%:", "%:%:", "\\", "asm", *_RESERVED_MACROS)
        ):
            raise UsageError(f"the value of the macro `{name}` may not contain `{token.text}`.")
    if not value.isprintable():
        raise UsageError(f"the value of the macro `{name}` must be one line of printable text.")
    return value
