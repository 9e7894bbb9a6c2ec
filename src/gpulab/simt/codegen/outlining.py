"""Vector operations as calls, in code that is compiled without optimisation.

LLVM needs up to two milliseconds for one operation on 32 lanes, because it splits the vectors into registers
of the host, and ten microseconds for a call with pointers. Kernels use the same few hundred operations. So
vectors stay in stack slots, and an operation is a call of a function that is compiled once and shared by all
kernels: it takes the addresses of vectors, and stores its result at an address that it is given.

- A mask, a vector of i1, is an integer; most operations on masks need no call.
- A vector with the same value in all lanes is this value, where an operation takes it.
- A value that is loaded from a register's stack slot stays there while nothing else is stored in the slot. A
  value that is stored in a slot later is computed there, if nothing needs the slot before.
- Other values get a slot from their definition to their last use, in the order of the lines. A branch to an
  earlier line extends the live ranges of values that are older than that line and are used after it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from gpulab.simt.codegen.ir import BITS
from gpulab.simt.codegen.units import declaration
from gpulab.simt.codegen.vector_instructions import (
    CASTS,
    InstructionShape,
    VectorInstruction,
    VectorOperand,
    VectorOperation,
    bytes_of,
    integer_of,
    is_mask,
    is_wide,
    lanes_of,
    operation,
    parsed,
)

__all__ = ["outlined"]

_INCOMING = re.compile(r"\[ (?P<value>.+?), %(?P<label>[\w.]+) \]")
_TARGET = re.compile(r"label %([\w.]+)")
_POINTER = re.compile(r"ptr (%[\w.]+)")
_CALLEE = re.compile(r"@([\w.]+)\(")
_FORMAL = re.compile(r"(<\d+ x \w+>) (%[\w.]+)")

_ADDRESSED = BITS.keys() - {"i1"} | {"ptr"}  # types of elements that have an address


class _CannotOutline(Exception):
    """A function has code that is not expected here; it is compiled as it is."""


@dataclass(slots=True)
class _LiveRange:
    """The live range of a vector, the lines from its definition to its last use, and the vector's place."""

    ty: str
    start: int
    end: int
    block: int
    place: str = ""
    loaded_from: str = ""  # register, if the value is loaded from a register's stack slot
    stored: list[tuple[int, str, int]] = field(default_factory=list)  # line, register, block
    preferred: str = ""  # value whose slot the result of `insertelement` takes over


@dataclass(slots=True)
class _Register:
    """Stack slot of a register: the lines that store to it, and the live ranges of values that lie in it."""

    ty: str
    escapes: bool = False  # its address is used in another way
    stores: list[int] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def is_stored(self, start: int, end: int) -> bool:
        """Return True if a line after `start`, up to `end`, stores to the slot."""
        return any(start < line <= end for line in self.stores)

    def is_needed(self, start: int, end: int) -> bool:
        """Return True if a value lies in the slot between two lines."""
        return any(first <= end and last > start for first, last in self.ranges)


def outlined(text: str) -> tuple[str, list[VectorOperation]]:
    """Return a unit of a module with vector operations as calls, and the operations that it calls.

    The unit does not declare the operations.
    """
    lines = text.splitlines()
    declared = {line.split("@")[1].split("(")[0]: line for line in lines if line.startswith("declare")}
    declared |= dict(declaration(line) for line in lines if line.startswith("define"))
    operations: dict[str, VectorOperation] = {}
    constants: dict[str, str] = {}
    result: list[str] = []
    function: list[str] = []
    for line in lines:
        if line.startswith("define") or function:
            function.append(line)
            if line == "}":
                result += _outlined_function(function, declared, operations, constants)
                function = []
        else:
            result.append(line)
    head = [f"{name} = internal constant {value}, align 64" for value, name in constants.items()]
    return "\n".join([*head, *result]), list(operations.values())


def _outlined_function(
    lines: list[str],
    declared: dict[str, str],
    operations: dict[str, VectorOperation],
    constants: dict[str, str],
) -> list[str]:
    if not any("<" in line for line in lines):
        return lines
    try:
        return _Function(lines, declared, operations, constants).outlined()
    except _CannotOutline:
        return lines


class _Function:
    """A function that is rewritten."""

    def __init__(
        self,
        lines: list[str],
        declared: dict[str, str],
        operations: dict[str, VectorOperation],
        constants: dict[str, str],
    ) -> None:
        self.head, *self.lines = lines
        self.declared, self.operations, self.constants = declared, operations, constants
        self.instructions: dict[int, VectorInstruction] = {}
        self.registers: dict[str, _Register] = {}
        self.accesses: Counter[str] = Counter()  # loads and stores of registers' stack slots
        self.ranges: dict[str, _LiveRange] = {}
        self.roots: dict[str, str] = {}  # values with the bits of another one
        self.splats: dict[str, tuple[str, str, int]] = {}  # type, the value in all lanes, and line
        self.masks: dict[str, str] = {}  # integers that masks among the parameters have become
        self.labels: dict[str, int] = {}
        self.ends: dict[str, int] = {}  # the last line of each LLVM basic block, by label
        self.backward: list[tuple[int, int]] = []  # targets and lines of branches to earlier lines
        self.phis: list[tuple[int, str, list[tuple[str, str]]]] = []  # line, result, values and labels
        self.copied: set[str] = set()  # results of phis that are copied, because they change in a loop
        self.output: list[str] = []
        self.copies: list[tuple[str, str, str]] = []  # type, source and target, of values of phis
        self.copies_at = 0  # the line after the phis

    def outlined(self) -> list[str]:
        """Return the lines of the function."""
        self._read()
        self._extend_ranges()
        self._use_registers()
        slots = self._allocate()
        self._emit(slots)
        return [self.head, *self.output]

    # -- reading --------------------------------------------------------------------------------

    def _read(self) -> None:
        for ty, name in _FORMAL.findall(self.head):
            if is_mask(ty):
                self.masks[name] = f"{name}.bits"
            else:
                self.ranges[name] = _LiveRange(ty, -1, -1, -1)
        label, block = "entry", -1
        for number, line in enumerate(self.lines):
            if line[0] not in " }":
                label, block = line.partition(":")[0], number
                self.labels[label] = number
                continue
            self.ends[label] = number
            if "label %" in line:
                targets = {self.labels[each] for each in _TARGET.findall(line) if each in self.labels}
                self.backward += [(target, number) for target in targets]
            elif "<" in line:
                self._note(number, parsed(line, block))
        self._note_escapes()

    def _note_escapes(self) -> None:
        """Note the registers whose addresses are used in other ways than in loads and stores of vectors."""
        if not self.registers:
            return
        found = Counter(each for each in _POINTER.findall("\n".join(self.lines)) if each in self.registers)
        for name, count in found.items():
            self.registers[name].escapes |= count != self.accesses[name]

    def _note(self, line: int, each: VectorInstruction) -> None:
        """Keep an instruction, and note what it defines and uses."""
        self.instructions[line] = each
        shape = each.shape
        if shape.is_on_integers:
            return
        if shape.opcode == "alloca":
            self.registers[each.result] = _Register(shape.ty)
            return
        if shape.opcode == "phi":
            values = [(m["value"], m["label"]) for m in _INCOMING.finditer(each.text)]
            self.phis.append((line, each.result, values))
            self.ranges[each.result] = _LiveRange(shape.ty, line, line, each.block)
            return

        for operand in shape.operands:
            if operand.kind == "vector" and (name := each.names[operand.index]) not in self.splats:
                self._range_of(name).end = line

        loaded_from = self._note_register(line, each)
        first = shape.operands[0] if shape.operands else None
        name = each.ref(first) if first else ""

        if self._is_splat(each):
            ref = name if shape.opcode == "insertelement" else self.splats[name][1]
            self.splats[each.result] = shape.ty, ref, line
        elif not is_wide(shape.ty):
            pass
        elif first and first.kind == "vector" and self._keeps_bits(shape, first, name):
            self.roots[each.result] = self._root(name)
        else:
            live = _LiveRange(shape.ty, line, line, each.block, loaded_from=loaded_from)
            if shape.opcode == "insertelement" and first and first.kind == "vector":
                live.preferred = name
            self.ranges[each.result] = live

    def _note_register(self, line: int, each: VectorInstruction) -> str:
        """Note a load or store of a register's stack slot; return the register that is loaded."""
        shape = each.shape
        if shape.opcode not in ("load", "store") or not shape.operands:
            return ""
        name = each.ref(shape.operands[-1])
        register = self.registers.get(name)
        if register is None or bytes_of(shape.types[0]) != bytes_of(register.ty):
            return ""
        self.accesses[name] += 1
        if shape.opcode == "load":
            return name
        register.stores.append(line)
        stored = shape.operands[0]
        if stored.kind == "vector" and each.ref(stored) not in self.splats:
            self._range_of(each.ref(stored)).stored.append((line, name, each.block))
        return ""

    def _is_splat(self, each: VectorInstruction) -> bool:
        """Return True if an instruction makes a vector with the same value in all lanes."""
        operands, opcode = each.shape.operands, each.shape.opcode
        if len(operands) != 1 or " poison, " not in each.text:
            return False
        return opcode == "insertelement" or (
            opcode == "shufflevector" and each.ref(operands[0]) in self.splats
        )

    def _keeps_bits(self, shape: InstructionShape, operand: VectorOperand, name: str) -> bool:
        """Return True if the result of an instruction has the bits of an operand in memory."""
        return (
            shape.opcode in CASTS and name not in self.splats and bytes_of(operand.ty) == bytes_of(shape.ty)
        )

    def _root(self, name: str) -> str:
        return self.roots.get(name, name)

    def _range_of(self, name: str) -> _LiveRange:
        live = self.ranges.get(self._root(name))
        if live is None:
            raise _CannotOutline
        return live

    # -- live ranges ----------------------------------------------------------------------------

    def _extend_ranges(self) -> None:
        """Extend live ranges to the ends of loops, and those of a phi's values to the last use of the phi."""
        for name, (ty, _, line) in self.splats.items():
            if is_wide(ty):
                self.ranges[name] = _LiveRange(ty, line, line, -1)  # in case that a phi needs it

        for line, result, values in self.phis:
            for value, label in values:
                if not value.startswith("%"):
                    continue
                live = self._range_of(value)
                if label not in self.ends:
                    raise _CannotOutline
                live.end = max(live.end, self.ends[label])
                if live.start >= line:
                    self.copied.add(result)

        phis = {result for _, result, _ in self.phis}
        for _, result, values in self.phis:
            if result in self.copied and any(self._root(value) in phis for value, _ in values):
                raise _CannotOutline  # a copy could overwrite what another one reads

        edges = sorted(self.backward)
        targets = [target for target, _ in edges]
        changed = True
        while changed:
            changed = False
            for live in self.ranges.values():
                changed |= _extend(live, edges, targets)
            for _, result, values in reversed(self.phis):
                end = self.ranges[result].end
                for value, _ in values if result not in self.copied else ():
                    if value.startswith("%") and (live := self._range_of(value)).end < end:
                        live.end, changed = end, True

    def _use_registers(self) -> None:
        """Find the values that can lie in the stack slots of registers."""
        for live in self.ranges.values():
            if live.loaded_from:
                register = self.registers[live.loaded_from]
                if register.escapes or register.is_stored(live.start, live.end):
                    register.ranges.append((live.start, live.start))
                    live.loaded_from = ""
                else:
                    register.ranges.append((live.start, live.end))
                    live.place = live.loaded_from

        phis = {result for _, result, _ in self.phis}
        for value, live in self.ranges.items():
            if live.place or not live.stored or value in phis:
                continue
            line, name, block = live.stored[0]
            register = self.registers[name]
            is_free = not (
                register.escapes
                or register.is_needed(live.start, line)
                or register.is_stored(live.start, line - 1)
                or register.is_stored(line, live.end)
            )
            if is_free and block == live.block:
                live.place = name
                register.stores.remove(line)
                register.stores.append(live.start)
                register.ranges.append((live.start, live.end))
                del self.instructions[line]
                self.lines[line] = ""

    def _allocate(self) -> dict[str, str]:
        """Give the other values stack slots; return the type of each slot by its name."""
        phis = {result for _, result, _ in self.phis} - self.copied
        in_phis = {value for _, _, values in self.phis for value, _ in values}
        slots: dict[str, str] = {}
        free: dict[int, list[str]] = defaultdict(list)
        used: list[tuple[int, int, str]] = []

        for name, live in sorted(self.ranges.items(), key=lambda item: item[1].start):
            if live.place:
                continue
            if name in phis:
                live.place = name  # a pointer to the place of one of its values
                continue
            if name in self.splats and name not in in_phis:
                continue
            for entry in [each for each in used if each[0] <= live.start]:
                used.remove(entry)
                free[entry[1]].append(entry[2])

            size = bytes_of(live.ty)
            before = self._range_of(live.preferred).place if live.preferred else ""
            if before in free[size]:
                free[size].remove(before)
                live.place = before
            elif free[size]:
                live.place = free[size].pop()
            else:
                live.place = f"%slot.{len(slots)}"
                slots[live.place] = live.ty
            used.append((live.end, size, live.place))
        return slots

    # -- writing --------------------------------------------------------------------------------

    def _emit(self, slots: dict[str, str]) -> None:
        done = int(0 in self.labels.values())  # lines that are written
        self.output += self.lines[:done]
        self.output += [f"  {name} = alloca {ty}, align 64" for name, ty in slots.items()]
        for ty, name in _FORMAL.findall(self.head):
            if is_mask(ty):
                self._line(f"{name}.bits = bitcast {ty} {name} to {integer_of(ty)}")
            else:
                self._line(f"store {ty} {name}, ptr {self.ranges[name].place}, align 64")
        for number, each in self.instructions.items():
            if self.copies and number >= self.copies_at:
                done = self._emit_copies(done)
            self.output += self.lines[done:number]
            done = number + 1
            if each.shape.is_on_integers:
                self._emit_on_integers(each)
            elif each.shape.opcode == "alloca" or not each.shape.has_vectors:
                self.output.append(self.lines[number])
            elif each.result not in self.roots:
                self._emit_instruction(number, each)
        if self.copies:
            done = self._emit_copies(done)
        self.output += self.lines[done:]

    def _line(self, text: str) -> None:
        self.output.append("  " + text)

    def _emit_copies(self, done: int) -> int:
        """Emit copies of the values of phis, after the last phi; return the line after it."""
        self.output += self.lines[done : self.copies_at]
        for ty, source, target in self.copies:
            self._copy(ty, source, target)
        self.copies = []
        return self.copies_at

    def _emit_on_integers(self, each: VectorInstruction) -> None:
        names = [self.masks.get(name, name) for name in each.names]
        first, *others = each.shape.on_integers
        text = first + "".join(name + part for name, part in zip(names, others, strict=True))
        self._line(f"{each.result} = {text}" if each.result else text)

    def _emit_instruction(self, number: int, each: VectorInstruction) -> None:
        shape, live = each.shape, self.ranges.get(each.result)
        if shape.opcode == "phi":
            self._emit_phi(number, each)
        elif each.result in self.splats:
            ty, ref, _ = self.splats[each.result]
            if is_mask(ty):
                cast = "bitcast" if integer_of(ty) == "i1" else "sext"
                self._line(f"{each.result} = {cast} i1 {ref} to {integer_of(ty)}")
            elif live and live.place:
                self._materialize(ty, ref, live.place)
        elif live and live.loaded_from:
            pass  # it stays where it is
        elif (
            shape.opcode == "extractelement" and shape.operands[0].kind == "vector" and shape.ty in _ADDRESSED
        ):
            self._emit_extract(each)
        elif shape.opcode == "insertelement" and live and lanes_of(shape.ty)[1] in _ADDRESSED:
            self._emit_insert(each, live.place)
        elif shape.opcode == "ret":
            self._emit_return(each)
        else:
            self._emit_call(each)

    def _emit_phi(self, number: int, each: VectorInstruction) -> None:
        ty, name = each.shape.ty, each.result
        incoming = ", ".join(
            f"[ {self._place(m['value'], ty)}, %{m['label']} ]" for m in _INCOMING.finditer(each.text)
        )
        if name in self.copied:
            self.copies.append((ty, f"{name}.from", self.ranges[name].place))
            name += ".from"
            self.copies_at = number + 1
            while " = phi " in self.lines[self.copies_at]:
                self.copies_at += 1
        self._line(f"{name} = phi ptr {incoming}")

    def _emit_extract(self, each: VectorInstruction) -> None:
        ty, vector_name = each.shape.ty, each.names[0]
        if vector_name in self.splats:
            self._line(f"{each.result} = bitcast {ty} {self.splats[vector_name][1]} to {ty}")
            return
        index = each.text.rpartition(", ")[2]
        self._line(f"{each.result}.at = getelementptr {ty}, ptr {self._place(vector_name, '')}, {index}")
        self._line(f"{each.result} = load {ty}, ptr {each.result}.at")

    def _emit_insert(self, each: VectorInstruction, place: str) -> None:
        ty = each.shape.ty
        base, element, index = each.text.removeprefix("insertelement ").split(", ")
        name = base.rpartition(" ")[2]
        if name in self.splats:
            self._materialize(ty, self.splats[name][1], place)
        elif (source := self._place(name, ty)) != place:
            self._copy(ty, source, place)
        self._line(f"{each.result}.at = getelementptr {lanes_of(ty)[1]}, ptr {place}, {index}")
        self._line(f"store {element}, ptr {each.result}.at")

    def _emit_return(self, each: VectorInstruction) -> None:
        ty, name = each.shape.ty, each.text.rpartition(" ")[2]
        if is_mask(ty):
            self._line(f"%result = bitcast {integer_of(ty)} {self.masks.get(name, name)} to {ty}")
        elif name in self.splats or name[0] != "%":
            raise _CannotOutline
        else:
            self._line(f"%result = load {ty}, ptr {self._place(name, ty)}, align 64")
        self._line(f"ret {ty} %result")

    def _emit_call(self, each: VectorInstruction) -> None:
        shape = each.shape
        kinds, arguments = [], []
        for operand in shape.operands:
            kind, ref = operand.kind, each.ref(operand)
            if kind == "vector" and ref in self.splats:
                kind, ref = "splat", self.splats[ref][1]
            if kind in ("vector", "constant"):
                arguments.append(f"ptr {self._place(ref, operand.ty)}")
                kind = "vector"
            elif kind == "mask":
                arguments.append(f"{integer_of(operand.ty)} {self.masks.get(ref, ref)}")
            else:
                arguments.append(f"{lanes_of(operand.ty)[1] if kind == 'splat' else operand.ty} {ref}")
            kinds.append((kind, operand.ty))
        target = self.ranges[each.result].place if is_wide(shape.ty) else ""
        self._call(shape.template, kinds, arguments, shape.ty, each.result, target)

    def _call(
        self,
        text: str,
        parameters: list[tuple[str, str]],
        arguments: list[str],
        ty: str,
        result: str = "",
        target: str = "",
    ) -> None:
        """Emit a call of an operation; a vector goes to `target`, another result gets the name `result`."""
        callee = _CALLEE.search(text)
        function = callee[1] if callee and not callee[1].startswith("llvm.") else ""
        called = operation(text, tuple(parameters), ty, self.declared[function] if function else "")
        self.operations[called.name] = called
        if target:
            arguments = [f"ptr {target}", *arguments]
        returned = integer_of(ty) if is_mask(ty) else "void" if target or not ty else ty
        prefix = "" if returned == "void" else f"{result} = "
        self._line(f"{prefix}call {returned} @{called.name}({', '.join(arguments)})")

    def _copy(self, ty: str, source: str, target: str) -> None:
        self._call(f"load {ty}, ptr %v0, align 1", [("scalar", "ptr")], [f"ptr {source}"], ty, "", target)

    def _materialize(self, ty: str, ref: str, target: str) -> None:
        """Store a value in all lanes of a vector in memory."""
        inner = lanes_of(ty)[1]
        self._call(f"freeze {ty} %v0", [("splat", ty)], [f"{inner} {ref}"], ty, "", target)

    def _place(self, ref: str, ty: str) -> str:
        """Return the address of a vector."""
        if ref.startswith("%"):
            return self._range_of(ref).place
        value = f"{ty} {'zeroinitializer' if ref == 'poison' else ref}"
        return self.constants.setdefault(value, f"@vector.{len(self.constants)}")


def _extend(live: _LiveRange, edges: list[tuple[int, int]], targets: list[int]) -> bool:
    """Extend a live range to the ends of the loops that begin in it; return True if that changes it."""
    changed, number = False, bisect_right(targets, live.start)
    while number < len(edges) and edges[number][0] <= live.end:
        if edges[number][1] > live.end:
            live.end, changed = edges[number][1], True
        number += 1
    return changed
