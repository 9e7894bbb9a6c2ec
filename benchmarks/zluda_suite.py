"""The test table of ZLUDA's PTX programs: a reader of the Rust file that lists them.

The table is `ptx/src/test/spirv_run/mod.rs` of https://github.com/vosen/ZLUDA. An entry such as
`test_ptx!(add, [1u64], [2u64]);` names a program and the elements of its input and output arrays.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.errors import UsageError

__all__ = ["SuiteProgram", "read_suite", "read_table"]

# The macros of the table, and the threads of a launch, from their definitions in the same file.
THREADS = {"test_ptx": 1, "test_ptx_with_32": 1, "test_ptx_warp": 64}
FOLDERS = ("", "spirv_run", "ptx/src/test/spirv_run")

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(rf"^({'|'.join(THREADS)})!\((.*?)\);", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<integer>0x[0-9a-fA-F_]+|0b[01_]+)(?P<integer_type>[ui]\d+)?
    |(?P<decimal>\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)(?P<decimal_type>[uif]\d+)?
    |(?P<name>[A-Za-z]\w*(?:::\w+)*)
    |(?P<mark>[\[\](),./-])
    )""",
    re.VERBOSE,
)
_TYPES = {"u": "uint", "i": "int", "f": "float"}
_FLOATS = {"NAN": math.nan, "INFINITY": math.inf, "NEG_INFINITY": -math.inf, "consts::PI": math.pi}


@dataclass(frozen=True)
class SuiteProgram:
    """One entry of the table.

    Attributes
    ----------
    path : Path
        The file of the program; its kernel has the same name.
    threads : int
        Threads of the only block.
    source : array or None
        The input array. None: the kernel gets the output array for both parameters.
    expected : array
        The values of the output array after the launch.
    """

    path: Path
    threads: int
    source: npt.NDArray[Any] | None
    expected: npt.NDArray[Any]

    @property
    def name(self) -> str:
        return self.path.stem


def read_suite(folder: Path) -> list[SuiteProgram]:
    """Read the programs that the table gives arrays.

    Parameters
    ----------
    folder : Path
        The repository of ZLUDA, or the folder of the programs.

    Raises
    ------
    UsageError
        If the table is not there, or an entry cannot be read.
    """
    for place in FOLDERS:
        table = folder / place / "mod.rs"
        if table.exists() and (table.parent / "ld_st.ptx").exists():
            return read_table(table.read_text(encoding="utf-8"), table.parent)
    raise UsageError(
        f"no mod.rs and programs of spirv_run in {folder}; give the folder of ZLUDA's repository"
    )


def read_table(text: str, folder: Path) -> list[SuiteProgram]:
    """Read the entries with arrays; those with a name only are tests of ZLUDA's compiler."""
    programs = []
    for macro, entry in _ENTRY.findall(_COMMENT.sub("", text)):
        name, _, rest = entry.partition(",")
        arrays = list(_Reader(name.strip(), rest).arrays())
        if arrays:
            *source, expected = arrays
            path = folder / f"{name.strip()}.ptx"
            programs.append(SuiteProgram(path, THREADS[macro], source[0] if source else None, expected))
    return programs


@dataclass(frozen=True)
class _Element:
    """A number of the table; type: its NumPy name, None where Rust infers it."""

    value: Any
    type: str | None = None


class _Reader:
    """A reader of the array literals of one entry."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.tokens: list[re.Match[str]] = []
        position = 0
        while text[position:].strip():
            token = _TOKEN.match(text, position)
            if not token:
                raise UsageError(f"{name}: not understood: {text[position : position + 40].strip()!r}")
            self.tokens.append(token)
            position = token.end()

    def arrays(self) -> Iterator[npt.NDArray[Any]]:
        while self.tokens:
            yield self._array()
            self._skip(",")

    def _array(self) -> npt.NDArray[Any]:
        self._expect("[")
        elements = []
        while not self._skip("]"):
            elements.append(self._quotient())
            self._skip(",")
        types = {element.type for element in elements} - {None}
        if len(types) > 1:
            raise UsageError(f"{self.name}: elements of different types {sorted(map(str, types))}")
        # Rust's defaults are i32 and f64.
        default = "float64" if any(isinstance(element.value, float) for element in elements) else "int32"
        return np.array([element.value for element in elements], types.pop() if types else default)

    def _quotient(self) -> _Element:
        element = self._signed()
        while self._skip("/"):
            divisor = self._signed()
            element = _Element(element.value / divisor.value, element.type or divisor.type)
        return element

    def _signed(self) -> _Element:
        if self._skip("-"):
            element = self._signed()
            return _Element(-element.value, element.type)
        element = self._primary()
        while self._skip("."):
            method = self._next()["name"]
            self._expect("(")
            self._expect(")")
            element = _method(self.name, element, method)
        return element

    def _primary(self) -> _Element:
        token = self._next()
        if digits := token["integer"]:
            return _Element(int(digits.replace("_", ""), 0), _type(token["integer_type"]))
        if digits := token["decimal"]:
            kind = token["decimal_type"]
            is_float = "." in digits or "e" in digits.lower() or (kind or "").startswith("f")
            value = digits.replace("_", "")
            return _Element(float(value) if is_float else int(value), _type(kind))
        if not token["name"]:
            raise UsageError(f"{self.name}: an element expected, not {token['mark']!r}")
        path = re.sub(r"^(?:std|half)::", "", token["name"])
        arguments = []
        if self._skip("("):
            while not self._skip(")"):
                arguments.append(self._quotient())
                self._skip(",")
        return _named(self.name, path, arguments)

    def _next(self) -> re.Match[str]:
        if not self.tokens:
            raise UsageError(f"{self.name}: the entry ends in an array")
        return self.tokens.pop(0)

    def _skip(self, mark: str) -> bool:
        """Take the next token if it is this mark."""
        if not self.tokens or self.tokens[0]["mark"] != mark:
            return False
        del self.tokens[0]
        return True

    def _expect(self, mark: str) -> None:
        if not self._skip(mark):
            raise UsageError(f"{self.name}: {mark!r} expected")


def _type(suffix: str | None) -> str | None:
    return suffix and _TYPES[suffix[0]] + suffix[1:]


def _named(program: str, path: str, arguments: list[_Element]) -> _Element:
    """Return the value of a constant such as `f16::NAN` or of a call such as `f32::from_bits(0x3F800000)`."""
    type_name, _, member = path.partition("::")
    if not re.fullmatch(r"[uif]\d+", type_name):
        raise UsageError(f"{program}: unknown name {path}")
    kind = np.dtype(_type(type_name))
    if member in _FLOATS and kind.kind == "f":
        return _Element(_FLOATS[member], kind.name)
    if member in ("MIN", "MAX", "min_value", "max_value") and kind.kind in "iu":
        limits = np.iinfo(kind)
        return _Element(limits.min if member.lower().startswith("min") else limits.max, kind.name)
    if member == "from_bits" and len(arguments) == 1:
        bits = np.array(arguments[0].value, f"uint{8 * kind.itemsize}")
        return _Element(bits.view(kind)[()], kind.name)
    if member in ("from_f32", "from_f64") and len(arguments) == 1:
        return _Element(arguments[0].value, kind.name)
    raise UsageError(f"{program}: unknown name {path}")


def _method(program: str, element: _Element, method: str | None) -> _Element:
    """Return the value of a method without arguments."""
    if method != "to_bits" or element.type is None:
        raise UsageError(f"{program}: unknown method {method}")
    bits = f"uint{8 * np.dtype(element.type).itemsize}"
    return _Element(np.array(element.value, element.type).view(bits)[()], bits)
