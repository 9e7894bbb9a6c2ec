"""PTX text as data: functions, instructions, operands, each with the source line it came from.

The grammar is the PTX ISA's (sections 4 to 6 and 10 of the manual). Only the shape of the text is
read here; what an instruction means is decided where it is executed.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpulab.errors import UnsupportedInstruction, UsageError

__all__ = [
    "Function",
    "Imm",
    "Instruction",
    "Mem",
    "Module",
    "Operand",
    "Param",
    "Reg",
    "Sym",
    "Variable",
    "Vec",
    "parse",
]


@dataclass(frozen=True)
class Reg:
    """A register, or a special register such as `%tid.x`."""

    name: str
    negated: bool = False  # `!%p1`


@dataclass(frozen=True)
class Imm:
    """A literal. `bits` is set for `0f…` and `0d…`, which name a floating point value by its bits."""

    value: int | float
    bits: int | None = None


@dataclass(frozen=True)
class Sym:
    """A variable, function or label, by name."""

    name: str


@dataclass(frozen=True)
class Mem:
    """`[base + offset]`."""

    base: Operand
    offset: int = 0


@dataclass(frozen=True)
class Vec:
    """`{a, b, …}`; `_` stands for a part that is not wanted."""

    parts: tuple[Operand, ...]


Operand = Reg | Imm | Sym | Mem | Vec


@dataclass
class Instruction:
    """`@pred op.mod.mod a, b, c;` with `parts` = ("op", "mod", "mod")."""

    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    predicate: Reg | None
    line: int
    call: Call | None = None

    @property
    def op(self) -> str:
        return self.parts[0]

    @property
    def text(self) -> str:
        return ".".join(self.parts)


@dataclass
class Call:
    """The parts of a `call`: where results go, what is called, what is passed (.param variables)."""

    results: tuple[str, ...]
    target: Operand
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """A variable of any state space. `initial` is its image, with symbol references left out."""

    name: str
    space: str
    size: int
    align: int
    initial: bytes | None = None
    references: tuple[tuple[int, str, int], ...] = ()  # (byte offset, symbol, addend)


@dataclass(frozen=True)
class Param:
    name: str
    type: str  # "u32", "f32", "b8" …
    size: int
    align: int
    pointer: bool = False


@dataclass
class Function:
    name: str
    entry: bool
    params: list[Param]
    results: list[Param] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)  # name -> "b32", "pred", …
    variables: list[Variable] = field(default_factory=list)
    body: list[Instruction | str] = field(default_factory=list)  # a str is a label
    tables: dict[str, list[str]] = field(default_factory=dict)  # labels of `.branchtargets`
    external: bool = False
    max_threads: int | None = None


@dataclass
class Module:
    """A PTX text as data. digest: the hash of the text, which stands for all of it."""

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    digest: str = ""


SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
_LINE_DIRECTIVE = re.compile(
    r"^[ \t]*\.(?:version|target|address_size|loc|file|section)\b[^\n;]*$", re.MULTILINE
)
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<word>[%.$A-Za-z_][\w$.]*(?:::[\w$.]+)*)
    | (?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|\d+\.\d+(?:[eE][-+]?\d+)?|\d+U?)
    | (?P<mark>[{}()\[\],;:<>=@!|+*/~&^?-])
    )""",
    re.VERBOSE,
)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
MAIN_FILE = "cell.cu"  # what the compile room calls the student's text; other files are headers


def type_size(name: str) -> int:
    """Bytes of a PTX type: 4 for `u32`, `f32`, `b32`, `f16x2`."""
    if name == "pred":
        return 1
    if name in ("f16x2", "bf16x2"):
        return 4
    if name == "bf16":
        return 2
    digits = re.sub(r"^\D+", "", name)
    if digits not in SIZES:
        raise UsageError(f"`.{name}` is not a PTX type that the simulator knows.")
    return SIZES[digits]


def parse(text: str) -> Module:
    """Parse a PTX module. Raises `UsageError` where the text is not PTX."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    files = dict(_FILE.findall(text))
    main_file = next((number for number, name in files.items() if name.endswith(MAIN_FILE)), "1")
    text = _COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else " ", text)
    # A directive that ends with its line gets a semicolon, so that everything is a statement.
    text = _LINE_DIRECTIVE.sub(lambda m: m[0] + ";", text)
    parser = _Parser(text, main_file)
    try:
        module = parser.module()
    except (AssertionError, IndexError, ValueError) as error:
        near = " ".join(parser.tokens[max(0, parser.at - 8) : parser.at])
        raise UsageError(f"this is not PTX: cannot read `{near}`.") from error
    module.digest = digest
    return module


class _Parser:
    def __init__(self, text: str, main_file: str) -> None:
        self.main_file = main_file
        self.tokens = list(self._scan(text))
        self.at = 0
        self.line = 0
        self.result = Module()

    @staticmethod
    def _scan(text: str) -> Iterator[str]:
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise UsageError(f"this is not PTX: cannot read `{text[at : at + 30].strip()}`.")
            yield match[match.lastgroup]  # type: ignore[index]
            at = match.end()

    # -- tokens ---------------------------------------------------------------------------------

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        got = self.next()
        if got != token:
            near = " ".join(self.tokens[max(0, self.at - 8) : self.at + 3])
            raise UsageError(f"this is not PTX: expected `{token}`, found `{got}` near `{near}`.")

    def skip_statement(self) -> None:
        while self.next() not in (";", ""):
            pass

    # -- module level ---------------------------------------------------------------------------

    def module(self) -> Module:
        while self.peek():
            self.declaration()
        return self.result

    def declaration(self) -> None:
        word = self.peek()
        while word in (".visible", ".extern", ".weak", ".common"):
            self.next()
            word = self.peek()
        if word in (".entry", ".func"):
            self.function()
        elif word in (".global", ".const", ".shared"):
            for variable in self.variables():
                self.result.variables[variable.name] = variable
        elif word == ".section":
            while self.next() not in ("}", ""):
                pass
        elif word in (".version", ".target", ".address_size", ".loc", ".file", ".alias", ".pragma"):
            self.skip_statement()
        else:
            raise UsageError(f"this is not PTX: a module cannot hold `{word}`.")

    def variables(self) -> list[Variable]:
        """`.shared .align 4 .b8 name[1024] = {…}, other;` of any state space."""
        space = self.next()[1:]
        align, vector, size, ty = 0, 1, 0, ""
        while self.peek().startswith("."):
            word = self.next()[1:]
            if word == "align":
                align = int(self.next())
            elif word in ("v2", "v4"):
                vector = int(word[1])
            elif word == "attribute":
                while self.next() != ")":
                    pass
            elif word in ("texref", "samplerref", "surfref"):
                raise UnsupportedInstruction(f".{word}", self.line, "textures and surfaces")
            else:
                ty, size = word, type_size(word) * vector
        found = []
        while True:
            name = self.next()
            count, open_end = 1, False
            while self.accept("["):
                if self.peek() == "]":
                    open_end = True
                else:
                    count *= int(self.next(), 0)
                self.expect("]")
            image: bytes | None = None
            references: tuple[tuple[int, str, int], ...] = ()
            if self.accept("="):
                image, references = self.initializer(ty)
                if open_end:
                    count = -(-len(image) // size)
                image = image.ljust(count * size, b"\0")
            elif open_end:
                count = 0  # `extern __shared__ x[]`: sized by the launch
            found.append(Variable(name, space, count * size, align or size, image, references))
            if not self.accept(","):
                break
        self.expect(";")
        return found

    def initializer(self, ty: str) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
        data = bytearray()
        references: list[tuple[int, str, int]] = []
        width = type_size(ty)

        def one() -> None:
            token = self.next()
            if token == "{":
                while self.peek() != "}":
                    one()
                    self.accept(",")
                self.expect("}")
                return
            if token == "-":
                value = _literal("-" + self.next())
            elif token[0].isdigit():
                value = _literal(token)
            else:
                if token == "generic":
                    self.expect("(")
                    token = self.next()
                    self.expect(")")
                addend = 0
                if self.peek() in ("+", "-"):
                    sign = -1 if self.next() == "-" else 1
                    addend = sign * int(self.next(), 0)
                references.append((len(data), token, addend))
                value = Imm(0)
            if value.bits is not None:
                data.extend(value.bits.to_bytes(width, "little"))
            elif isinstance(value.value, float):
                data.extend(struct.pack("<f" if width == 4 else "<d", value.value))
            else:
                data.extend((value.value & ((1 << 8 * width) - 1)).to_bytes(width, "little"))

        one()
        return bytes(data), tuple(references)

    # -- functions ------------------------------------------------------------------------------

    def function(self) -> None:
        entry = self.next() == ".entry"
        results: list[Param] = []
        if not entry and self.peek() == "(":
            results = self.param_list()
        function = Function(self.next(), entry, [], results)
        if self.peek() == "(":
            function.params = self.param_list()
        while self.peek().startswith("."):
            word = self.next()
            numbers = []
            while self.peek() not in ("{", ";") and not self.peek().startswith("."):
                numbers.append(self.next())
            if word == ".maxntid":
                function.max_threads = 1
                for number in numbers:
                    if number != ",":
                        function.max_threads *= int(number)
        if self.accept(";"):
            function.external = True
            self.result.functions.setdefault(function.name, function)
            return
        self.expect("{")
        self.block(function)
        self.result.functions[function.name] = function

    def param_list(self) -> list[Param]:
        self.expect("(")
        params = []
        while not self.accept(")"):
            params.append(self.param())
            self.accept(",")
        return params

    def param(self) -> Param:
        word = self.next()
        if word not in (".param", ".reg"):
            raise UsageError(f"this is not PTX: a parameter list cannot hold `{word}`.")
        align, ty, pointer = 0, "b32", False
        while self.peek().startswith("."):
            part = self.next()[1:]
            if part == "align":
                value = int(self.next())
                align = align if pointer else value
            elif part == "ptr":
                pointer = True
            elif part not in ("global", "const", "shared", "local", "noalias"):
                ty = part
        name = self.next()
        size = type_size(ty)
        if self.accept("["):
            size *= int(self.next(), 0) if self.peek() != "]" else 1
            self.expect("]")
            ty = f"{ty}[]"
        return Param(name, ty, size, align or min(size, 8), pointer)

    def block(self, function: Function) -> None:
        """Statements up to the closing brace; inner braces only scope names, which NVRTC keeps unique."""
        while not self.accept("}"):
            word = self.peek()
            if word == "":
                raise UsageError("this is not PTX: the text ends inside a function.")
            if word == "{":
                self.next()
                self.block(function)
            elif word == ".loc":
                self.location()
            elif word == ".reg":
                self.register_declaration(function)
            elif word in (".local", ".shared", ".param", ".global", ".const"):
                function.variables += self.variables()
            elif word in (".pragma", ".file", ".callprototype", ".branchtargets", ".calltargets"):
                self.skip_statement()
            elif self.at + 1 < len(self.tokens) and self.tokens[self.at + 1] == ":":
                label = self.next()
                self.next()
                if self.accept(".branchtargets"):
                    function.tables[label] = self.targets()
                elif self.peek() in (".callprototype", ".calltargets"):
                    self.skip_statement()
                else:
                    function.body.append(label)
            else:
                function.body.append(self.instruction())

    def targets(self) -> list[str]:
        found = []
        while not self.accept(";"):
            found.append(self.next())
            self.accept(",")
        return found

    def location(self) -> None:
        """`.loc file line column[, function_name label, inlined_at file line column]`.

        A line of a header counts as the line of the student's text that it was inlined at.
        """
        self.next()
        words = []
        while self.peek() not in (";", ""):
            words.append(self.next())
        self.next()
        places = [words[:2]]
        if "inlined_at" in words:
            at = words.index("inlined_at")
            places.append(words[at + 1 : at + 3])
        for file, line in places:
            if file == self.main_file and line != "0":  # line 0: the instruction has no line of its own
                self.line = int(line)
                return

    def register_declaration(self, function: Function) -> None:
        self.next()
        ty = self.next()[1:]
        if ty in ("v2", "v4"):
            raise UnsupportedInstruction(f".reg .{ty}", self.line, "vector registers")
        while True:
            name = self.next()
            if self.accept("<"):
                count = int(self.next())
                self.expect(">")
                for number in range(count):
                    function.registers[f"{name}{number}"] = ty
            else:
                function.registers[name] = ty
            if not self.accept(","):
                break
        self.expect(";")

    def instruction(self) -> Instruction:
        predicate = None
        if self.accept("@"):
            negated = self.accept("!")
            predicate = Reg(self.next(), negated)
        parts = tuple(self.next().split("."))
        if parts[0] == "call":
            return self.call(parts, predicate)
        operands: list[Operand] = []
        while not self.accept(";"):
            operand = self.operand()
            if self.accept("|"):  # `%p|%q`: two destinations
                operand = Vec((operand, self.operand()))
            operands.append(operand)
            self.accept(",")
        return Instruction(parts, tuple(operands), predicate, self.line)

    def call(self, parts: tuple[str, ...], predicate: Reg | None) -> Instruction:
        results: tuple[str, ...] = ()
        if self.peek() == "(":
            results = self.names()
            self.accept(",")
        target = self.operand()
        arguments: tuple[str, ...] = ()
        if self.accept(",") and self.peek() == "(":
            arguments = self.names()
        while not self.accept(";"):  # a prototype's label, for calls through pointers
            self.next()
        return Instruction(parts, (), predicate, self.line, Call(results, target, arguments))

    def names(self) -> tuple[str, ...]:
        self.expect("(")
        found = []
        while not self.accept(")"):
            found.append(self.next())
            self.accept(",")
        return tuple(found)

    def operand(self) -> Operand:
        token = self.next()
        if token == "{":
            parts = []
            while not self.accept("}"):
                parts.append(self.operand())
                self.accept(",")
            return Vec(tuple(parts))
        if token == "[":
            base = self.operand()
            offset = 0
            while self.peek() in ("+", "-"):
                sign = -1 if self.next() == "-" else 1
                if self.peek() == "-":
                    self.next()
                    sign = -sign
                offset += sign * int(self.next(), 0)
            self.expect("]")
            return Mem(base, offset)
        if token == "!":
            return Reg(self.next(), True)
        if token == "-":
            return _literal("-" + self.next())
        if token[0].isdigit():
            return _literal(token)
        if token[0] == "%":
            return Reg(token)
        return Sym(token)


def _literal(token: str) -> Imm:
    body = token.lstrip("-")
    if body[:2] in ("0f", "0F") and len(body) == 10:
        bits = int(body[2:], 16)
        return Imm(struct.unpack("<f", struct.pack("<I", bits))[0], bits)
    if body[:2] in ("0d", "0D") and len(body) == 18:
        bits = int(body[2:], 16)
        return Imm(struct.unpack("<d", struct.pack("<Q", bits))[0], bits)
    sign = -1 if token.startswith("-") else 1
    if "." in body:
        return Imm(sign * float(body))
    body = body.rstrip("U")
    if len(body) > 1 and body[0] == "0" and body[1] in "01234567":
        return Imm(sign * int(body, 8))
    return Imm(sign * int(body, 0))
