"""Parser of PTX modules: variables, functions, registers and scopes (PTX manual, sections 4 to 6)."""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import replace

from gpulab.errors import UnsupportedInstruction, UsageError
from gpulab.simt.ptx.operands import InstructionParser, unused_name
from gpulab.simt.ptx.syntax import (
    Function,
    Imm,
    Instruction,
    Module,
    Operand,
    Param,
    Sym,
    Variable,
    type_size,
)
from gpulab.simt.ptx.tokens import literal

__all__ = ["ModuleParser", "parse"]

MAIN_FILE = "cell.cu"  # name that the compiler gives the kernel's source; other files are headers
MAX_REGISTERS = 1 << 20  # upper bound of the registers in one declaration; compilers use far fewer
MAX_BYTES = 1 << 32  # upper bound of the size of a variable
MALFORMED = (ArithmeticError, AssertionError, AttributeError, LookupError, ValueError, struct.error)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)


class ModuleParser(InstructionParser):
    """Parser of a whole module."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        files = dict(_FILE.findall(text))
        self.main_file = next((number for number, name in files.items() if name.endswith(MAIN_FILE)), "1")
        self.result = Module()
        self.inner_scopes: list[tuple[int, int, set[str]]] = []  # (start, end, labels) in the body

    def parse(self) -> Module:
        """Parse the module. Raises `UsageError` if the text is not PTX."""
        try:
            while self.peek():
                self.declaration()
        except MALFORMED as error:
            raise UsageError(f"invalid PTX: syntax error near `{self.near()}`.") from error
        except RecursionError:
            raise UsageError("invalid PTX: its scopes are nested too deeply.") from None
        return self.result

    def declaration(self) -> None:
        """Parse a declaration of the module."""
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
            self.skip_to("}")
        elif word == ".target":
            names = [re.fullmatch(r"sm_(\d+)[a-z]?", name) for name in self.skip_to(";")]
            self.result.architecture = next((int(name[1]) for name in names if name), 0)
        elif word in (".version", ".address_size", ".loc", ".file", ".alias", ".pragma"):
            self.skip_to(";")
        else:
            raise UsageError(f"invalid PTX: `{word}` is not allowed at module scope.")

    def variables(self) -> list[Variable]:
        """Parse the declaration of variables: `.shared .align 4 .b8 name[1024] = {…}, other;`."""
        space = self.next()[1:]
        align, vector, size, ty = 0, 1, 0, ""
        while self.peek().startswith("."):
            word = self.next()[1:]
            if word == "align":
                align = int(self.next())
            elif word in ("v2", "v4"):
                vector = int(word[1])
            elif word == "attribute":
                self.skip_to(")")
            elif word in ("texref", "samplerref", "surfref"):
                raise UnsupportedInstruction(f".{word}", self.line, "textures and surfaces")
            else:
                ty, size = word, type_size(word) * vector

        variables = []
        while True:
            name = self.next()
            count, open_end = 1, False
            while self.accept("["):
                if self.peek() == "]":
                    open_end = True
                else:
                    if space == "shared":  # offsets in shared memory are constants of the launch
                        self.excluded.add(self.at)
                    count *= int(self.next(), 0)
                self.expect("]")
            if not 0 <= count * size <= MAX_BYTES:
                raise UsageError(f"invalid PTX: `{name}` has more than {MAX_BYTES >> 30} GiB.")
            image: bytes | None = None
            references: tuple[tuple[int, str, int], ...] = ()
            if self.accept("="):
                image, references = self.initializer(ty)
                if open_end:
                    count = -(-len(image) // size)
                image = image.ljust(count * size, b"\0")
            elif open_end:
                count = 0  # `extern __shared__ x[]`: the launch determines the size
            variables.append(Variable(name, space, count * size, align or size, image, references))
            if not self.accept(","):
                break

        self.expect(";")
        return variables

    def initializer(self, ty: str) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
        """Parse an initializer; return the contents and the references of `Variable`."""
        data = bytearray()
        references: list[tuple[int, str, int]] = []
        width = type_size(ty)

        def element() -> None:
            token = self.next()
            if token == "{":
                while self.peek() not in ("}", ""):
                    element()
                    self.accept(",")
                self.expect("}")
                return
            if token == "-":
                value = literal("-" + self.next())
            elif token[0].isdigit():
                value = literal(token)
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

        element()
        return bytes(data), tuple(references)

    # -- functions ------------------------------------------------------------------------------

    def function(self) -> None:
        """Parse a kernel or a device function."""
        entry = self.next() == ".entry"
        function = self.current = Function("", entry, [])
        self.scopes, self.inner_scopes = [{}], []
        outputs: list[tuple[Param, Operand]] = []
        inputs: list[tuple[Param, Operand]] = []

        if not entry and self.peek() == "(":
            outputs = self.param_list()
        function.name = self.next()
        if self.peek() == "(":
            inputs = self.param_list()
        function.params, function.results = [p for p, _ in inputs], [p for p, _ in outputs]

        numbers: list[int] = []
        while self.peek() not in ("{", ";", ""):  # directives such as `.maxntid 256, 1, 1`
            token = self.next()
            if token[:1].isdigit():
                self.excluded.add(self.at - 1)
                numbers.append(int(token, 0))
            elif token != ",":
                numbers = function.directives.setdefault(token, [])

        if self.accept(";"):
            function.external = True
            self.result.functions.setdefault(function.name, function)
            return

        self.expect("{")
        for param, register in inputs:
            if not isinstance(register, Sym):
                function.body.append(self.transfer("ld", param.name, register))
        self.statements(function)
        self.rename_labels(function)

        in_registers: list[tuple[str, Operand]] = [
            (p.name, register) for p, register in outputs if not isinstance(register, Sym)
        ]
        if in_registers:
            self.store_results(function, in_registers)
        self.result.functions[function.name] = function

    def store_results(self, function: Function, results: list[tuple[str, Operand]]) -> None:
        """Store results that are declared as registers to `.param` variables before each return."""
        body: list[Instruction | str] = []
        for item in [*function.body, Instruction(("ret",), (), None, self.line)]:
            if isinstance(item, Instruction) and item.op == "ret":
                body += [self.transfer("st", name, value, item.predicate) for name, value in results]
            body.append(item)
        function.body = body

    def param_list(self) -> list[tuple[Param, Operand]]:
        """Parse parameters; each comes with its registers, or with its name if it is in `.param` space."""
        self.expect("(")
        params = []
        while not self.accept(")"):
            params.append(self.param())
            self.accept(",")
        return params

    def param(self) -> tuple[Param, Operand]:
        """Parse one parameter."""
        word = self.next()
        if word not in (".param", ".reg"):
            raise UsageError(f"invalid PTX: `{word}` is not allowed in a parameter list.")

        align, ty, pointer, vector = 0, "b32", False, ""
        while self.peek().startswith("."):
            part = self.next()[1:]
            if part == "align":
                value = int(self.next())
                align = align if pointer else value
            elif part == "ptr":
                pointer = True
            elif part in ("v2", "v4"):
                vector = part
            elif part not in ("global", "const", "shared", "local", "noalias"):
                ty = part

        name = self.next()
        size = type_size(ty)
        if word == ".reg":
            register = self.declare(name, ty, vector)
            count = int(vector[1:] or 1)
            return Param(f"{name} in", ty, size * count, size * count, False), register

        if self.accept("["):
            size *= int(self.next(), 0) if self.peek() != "]" else 1
            self.expect("]")
            ty = f"{ty}[]"
        return Param(name, ty, size, align or min(size, 8), pointer), Sym(name)

    def statements(self, function: Function) -> None:
        """Parse statements up to the closing brace."""
        while not self.accept("}"):
            word = self.peek()
            if word == "":
                raise UsageError("invalid PTX: the text ends inside a function.")
            if word == "{":
                self.inner_scope(function)
            elif word == ".loc":
                self.location()
            elif word == ".reg":
                self.register_declaration()
            elif word in (".local", ".shared", ".param", ".global", ".const"):
                self.local_variables(function)
            elif word in (".pragma", ".file", ".callprototype", ".branchtargets", ".calltargets"):
                self.skip_to(";")
            elif self.at + 1 < len(self.tokens) and self.tokens[self.at + 1] == ":":
                label = self.next()
                self.next()
                if self.accept(".branchtargets"):
                    function.tables[label] = self.targets()
                elif self.peek() in (".callprototype", ".calltargets"):
                    self.skip_to(";")
                else:
                    function.body.append(label)
            else:
                function.body += self.instructions()

    def inner_scope(self, function: Function) -> None:
        """Parse a scope in braces."""
        self.next()
        self.scopes.append({})
        start = len(function.body)
        self.statements(function)
        self.scopes.pop()
        labels = {item for item in function.body[start:] if isinstance(item, str)}
        self.inner_scopes.append((start, len(function.body), labels))

    def rename_labels(self, function: Function) -> None:
        """Make labels of inner scopes unique: copies of inline assembly repeat their labels."""
        names = [item for item in function.body if isinstance(item, str)]
        for number, (start, end, labels) in enumerate(self.inner_scopes):
            repeated = {name for name in labels if names.count(name) > 1}
            for at in range(start, end if repeated else start):
                item = function.body[at]
                if isinstance(item, str):
                    function.body[at] = f"{item}'{number}" if item in repeated else item
                else:
                    item.operands = tuple(
                        Sym(f"{o.name}'{number}") if isinstance(o, Sym) and o.name in repeated else o
                        for o in item.operands
                    )
            names = [item for item in function.body if isinstance(item, str)]

    def local_variables(self, function: Function) -> None:
        """Parse variables of a function; global and constant ones are added to the module."""
        for variable in self.variables():
            in_module = variable.space in ("global", "const")
            taken = self.result.variables if in_module else {v.name for v in function.variables}
            name = unused_name(variable.name, taken) if variable.name in taken else variable.name
            self.scopes[-1][variable.name] = Sym(name)
            if in_module:
                self.result.variables[name] = replace(variable, name=name)
            else:
                function.variables.append(replace(variable, name=name))

    def targets(self) -> list[str]:
        """Parse the labels of `.branchtargets`."""
        return [word for word in self.skip_to(";") if word != ","]

    def location(self) -> None:
        """Parse `.loc file line column[, function_name label, inlined_at file line column]`.

        Code from a header gets the line of the kernel's source at which it was inlined.
        """
        self.next()
        words = self.skip_to(";")
        locations = [words[:2]]
        if "inlined_at" in words:
            at = words.index("inlined_at")
            locations.append(words[at + 1 : at + 3])
        for file, line in locations:
            if file == self.main_file and line != "0":  # line 0 means that the instruction has no line
                self.line = int(line)
                return

    def register_declaration(self) -> None:
        """Parse `.reg .b32 %r<9>, other;`."""
        self.next()
        ty, vector = self.next()[1:], ""
        if ty in ("v2", "v4"):
            ty, vector = self.next()[1:], ty
        if ty == "b128":
            raise UnsupportedInstruction(".reg .b128", self.line, "values of 128 bits")
        type_size(ty)
        while True:
            name = self.next()
            if self.accept("<"):
                count = int(self.next())
                self.expect(">")
                if count > MAX_REGISTERS:
                    raise UsageError(
                        f"invalid PTX: {count} registers `{name}`; the limit is {MAX_REGISTERS}."
                    )
                for number in range(count):
                    self.declare(f"{name}{number}", ty, vector)
            else:
                self.declare(name, ty, vector)
            if not self.accept(","):
                break
        self.expect(";")


def parse(text: str) -> Module:
    """Parse a PTX module. Raises `UsageError` if the text is not PTX."""
    parser = ModuleParser(text)
    module = parser.parse()
    module.digest = hashlib.sha256(text.encode()).hexdigest()
    module.template_digest = hashlib.sha256(parser.template().encode()).hexdigest()
    module.constants = parser.constants
    return module
