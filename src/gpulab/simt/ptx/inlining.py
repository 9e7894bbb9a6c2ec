"""Inlining of device functions: a kernel without calls.

A `.param` variable of a call becomes registers, one for each offset that is stored to it, so that passing an
argument is a `mov`. A recursive function, one whose address is taken, or one that would take too much code is
not inlined (see `CallGraph`): its body appears once, a call pushes the number of its return site on the
thread's stack and jumps, and a return pops the number and jumps back. All other functions are inlined at
every call. `alloca` takes memory of the same stack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.ptx.call_graph import CallGraph, function_address
from gpulab.simt.ptx.flat_function import FlatFunction
from gpulab.simt.ptx.stack_code import STACK_OPERATIONS, StackCode
from gpulab.simt.ptx.syntax import (
    Function,
    Imm,
    Instruction,
    Mem,
    Module,
    Operand,
    Reg,
    Sym,
    Variable,
    Vec,
    type_size,
    vector_elements,
)

__all__ = ["BUILTINS", "RESERVED", "RESERVED_REGISTER", "flatten"]

# The functions that the simulator implements, with the type of their result.
BUILTINS = {"vprintf": "b32", "__assertfail": "b32", "__nanosleep": "b32", "malloc": "b64", "free": "b64"}

# The register with the offset of the shared memory that cooperative groups reserve, for groups of several
# warps, and the variable that takes the place of that memory.
RESERVED_REGISTER = "%reserved_smem_offset_1"
RESERVED = Variable("reserved by cooperative groups", "shared", 288, 16)


def flatten(module: Module, name: str) -> FlatFunction:
    """Return the kernel `name` with all calls replaced by control flow, as an object that callers share."""
    key = "flat", name
    if key not in module.analyses:
        flat = FlatFunction(name, module.functions[name])
        _Flattener(module, flat).run()
        module.analyses[key] = flat
    result: FlatFunction = module.analyses[key]
    return result


@dataclass(frozen=True)
class _Copy:
    """One copy of a function's body in the flat kernel.

    Attributes
    ----------
    function : Function
        The function.
    prefix : str
        The text before the names of the copy.
    owner : str or None
        The function whose body receives the copy: one that is not inlined, or None for the kernel.
    symbols : dict
        What the names of the function's variables, parameters, labels and tables become.
    """

    function: Function
    prefix: str
    owner: str | None
    symbols: dict[str, Operand]

    def is_call_param(self, item: Instruction) -> bool:
        """Return True if a load or store accesses a `.param` variable of a call."""
        memory = item.operands[1] if item.op == "ld" else item.operands[0]
        assert isinstance(memory, Mem)
        of_kernel = self.function.params if self.function.entry else []
        return isinstance(memory.base, Sym) and memory.base.name not in {p.name for p in of_kernel}


class _Flattener(StackCode):
    def __init__(self, module: Module, flat: FlatFunction) -> None:
        super().__init__(flat)
        self.module = module
        self.graph = CallGraph(module)
        self.copies = 0  # counter for unique names
        self.return_sites: dict[str, list[str]] = {}  # labels, by function that is not inlined

    def run(self) -> None:
        flat = self.flat
        reached = self.graph.reachable(flat.name)
        needed = reached & self.graph.not_inlined
        if needed or any(map(self.allocates, reached | {flat.name})):
            self.open_stack()
        self.expand(flat.entry, "", None)
        kernel = flat.body
        bodies: dict[str, list[Instruction | str]] = {}
        for name in sorted(needed):
            flat.body = bodies[name] = [f"{name}:enter"]
            self.expand(self.module.functions[name], f"{name}:", name)
        flat.body = kernel
        for name, body in bodies.items():  # each function returns to call sites in all of them
            flat.body += body
            self.emit_return(name)

    def allocates(self, name: str) -> bool:
        """Return True if a function allocates memory of the stack at run time."""
        body = self.module.functions[name].body
        return any(isinstance(item, Instruction) and item.op in STACK_OPERATIONS for item in body)

    # -- functions that are not inlined ---------------------------------------------------------

    def emit_call(
        self,
        names: list[str],
        arguments: tuple[str, ...],
        pointer: Operand | None,
        caller: str | None,
        line: int,
    ) -> None:
        """Emit a call of a function that is not inlined: a jump to it, and the site to which it returns.

        `pointer` selects one of `names`; without it there is only one name.

        A caller that the callee may call again saves its registers on the stack.
        """
        saved = self.saved_registers(names, caller)
        for register, ty in saved:
            self.push(self.as_word(register, ty, line), line)
        for name in names:
            self.pass_in(name, f"{name}:", arguments, line)

        self.copies += 1
        site = f"return@{self.copies}"
        for name in names:
            self.return_sites.setdefault(name, []).append(site)
        number = self.scratch("return site", "b64")
        self.emit("mov", "u64", number, Imm(self.copies), line=line)
        self.push(number, line)

        for name in names:
            predicate = None
            if pointer is not None:
                predicate = self.scratch(f"is {name}", "pred")
                address = function_address(self.module, name)
                assert address is not None
                self.emit("setp", "eq", "u64", predicate, pointer, Imm(address), line=line)
            self.flat.body.append(Instruction(("bra",), (Sym(f"{name}:enter"),), predicate, line))
        if pointer is not None:
            self.emit("trap", line=line)  # the pointer is not the address of a function

        self.flat.body.append(site)
        for register, ty in reversed(saved):
            word = self.scratch("popped", "b64")
            self.pop(word, line)
            self.from_word(register, ty, word, line)

    def saved_registers(self, names: list[str], caller: str | None) -> list[tuple[str, str]]:
        """Return the registers of a recursive caller, without the results of the call, and their types."""
        if caller is None or not any(caller in self.graph.reachable(n) | {n} for n in names):
            return []
        results = tuple(f"{n}:{r.name}+" for n in names for r in self.module.functions[n].results)
        registers = self.flat.registers.items()
        return [(r, t) for r, t in registers if r.startswith(f"{caller}:") and not r.startswith(results)]

    def emit_return(self, name: str) -> None:
        """Release the frame of a function and jump to the return site on the stack."""
        function = self.module.functions[name]
        if name in self.graph.address_taken:  # a call through a pointer expects the results here
            for position, formal in enumerate(function.results):
                self.copy_param(f"{name}:{formal.name}", f"returned {position}", 0, formal.type)
        self.close_frame(function)
        back = self.scratch("return to", "b64")
        self.pop(back, 0)
        sites = self.return_sites.get(name, [])
        for site in sites[:-1]:
            hit = self.scratch(f"to {site}", "pred")
            self.emit("setp", "eq", "u64", hit, back, Imm(int(site.split("@")[1])))
            self.flat.body.append(Instruction(("bra",), (Sym(site),), hit, 0))
        if sites:
            self.flat.body.append(Instruction(("bra",), (Sym(sites[-1]),), None, 0))
        else:
            self.emit("trap")

    # -- inlining -------------------------------------------------------------------------------

    def expand(self, function: Function, prefix: str, owner: str | None) -> None:
        """Append the body of a function with `prefix` before its names.

        `owner` is the function whose body receives these instructions: one that is not inlined, or None for
        the kernel.
        """
        copy = _Copy(function, prefix, owner, self.declare(function, prefix, owner))
        for item in function.body:
            if isinstance(item, str):
                self.flat.body.append(prefix + item)
            else:
                self.append(item, copy)
        if not function.entry:
            self.flat.body.append(f"{prefix}return")

    def declare(self, function: Function, prefix: str, owner: str | None) -> dict[str, Operand]:
        """Declare the registers, variables and tables of a copy; return what its own symbols become."""
        self.flat.registers.update({prefix + r: t for r, t in function.registers.items()})
        self.flat.tables.update(
            {prefix + t: [prefix + label for label in targets] for t, targets in function.tables.items()}
        )
        labels = {item for item in function.body if isinstance(item, str)}
        formals = {formal.name for formal in function.params + function.results}
        own: dict[str, Operand] = {n: Sym(prefix + n) for n in labels | formals | set(function.tables)}

        frame = self.open_frame(function, prefix) if owner == function.name else {}
        for variable in function.variables:
            # A shared variable of a function exists once, even if the function is inlined several times.
            once = variable.space == "shared" and not function.entry
            name = (f"{function.name}:" if once else prefix) + variable.name
            own[variable.name] = frame.get(variable.name, Sym(name))
            if variable.space != "param" and variable.name not in frame:
                self.flat.variables[name] = replace(variable, name=name)
        return own

    def append(self, item: Instruction, copy: _Copy) -> None:
        """Append an instruction of a copy; replace calls, returns, and accesses to parameters of calls."""
        predicate = item.predicate and self.rename(item.predicate, copy)
        assert predicate is None or isinstance(predicate, Reg)
        operands = tuple(self.rename(operand, copy) for operand in item.operands)
        renamed = Instruction(item.parts, operands, predicate, item.line, item.call, item.row)

        if item.call is not None:
            target = item.call.target
            target = target if isinstance(target, Sym) else self.rename(target, copy)
            self.call(replace(renamed, call=replace(item.call, target=target)), copy)
        elif item.op in STACK_OPERATIONS and item.predicate is None:
            self.stack_operation(renamed)
        elif item.op == "ret" and not copy.function.entry:
            label = Sym(f"{copy.prefix}return")
            self.flat.body.append(Instruction(("bra",), (label,), predicate, item.line))
        elif item.op in ("ld", "st") and "param" in item.parts and copy.is_call_param(renamed):
            self.flat.body += self.moves(renamed)
        else:
            self.flat.body.append(renamed)

    def rename(self, operand: Operand, copy: _Copy) -> Operand:
        """Return an operand of a copy with the names of the flat kernel."""
        match operand:
            case Reg(name) if name == RESERVED_REGISTER:
                self.flat.variables[RESERVED.name] = RESERVED
                return Sym(RESERVED.name)
            case Reg(name, negated) if copy.prefix and name in copy.function.registers:
                return Reg(copy.prefix + name, negated)
            case Sym(name) if name in copy.symbols:
                return copy.symbols[name]
            case Sym(name):
                address = function_address(self.module, name)
                return operand if address is None else Imm(address)
            case Mem(base, offset, rest, constant_index):
                renamed = tuple(self.rename(part, copy) for part in rest)
                return Mem(self.rename(base, copy), offset, renamed, constant_index)
            case Vec(parts):
                return Vec(tuple(self.rename(part, copy) for part in parts))
        return operand

    def moves(self, item: Instruction) -> list[Instruction]:
        """Replace `st.param.v2.f32 [p+8], {a, b}` by `mov p+8, a; mov p+12, b`."""
        load = item.op == "ld"
        memory, value = (item.operands[1], item.operands[0]) if load else item.operands
        assert isinstance(memory, Mem)
        assert isinstance(memory.base, Sym)
        assert isinstance(memory.offset, int)
        ty = item.parts[-1]
        moves = []
        for number, part in enumerate(vector_elements(value)):
            slot = Reg(f"{memory.base.name}+{memory.offset + number * type_size(ty)}")
            if load:
                self.flat.registers.setdefault(slot.name, ty)
            else:
                self.flat.registers[slot.name] = ty
            pair = (part, slot) if load else (slot, part)
            moves.append(
                Instruction(
                    self.filling_move(ty, part) if load else ("mov", ty), pair, item.predicate, item.line
                )
            )
        return moves

    def filling_move(self, ty: str, target: Operand) -> tuple[str, ...]:
        """Return the instruction that moves a parameter to a register; a narrow one is extended."""
        width = type_size(self.flat.registers.get(target.name, ty)) if isinstance(target, Reg) else 0
        if width <= type_size(ty) or ty[0] not in "sub":
            return ("mov", ty)
        letter = "s" if ty[0] == "s" else "u"
        return ("cvt", f"{letter}{8 * width}", f"{letter}{ty[1:]}")

    # -- calls ----------------------------------------------------------------------------------

    def call(self, item: Instruction, copy: _Copy) -> None:
        """Append a call."""
        call = item.call
        assert call is not None
        arguments = tuple(copy.prefix + a for a in call.arguments)
        results = tuple(copy.prefix + r for r in call.results)
        if isinstance(call.target, Sym) and call.target.name in BUILTINS:
            self.flat.body.append(replace(item, call=replace(call, results=results, arguments=arguments)))
            for result in results:
                self.flat.registers.setdefault(f"{result}+0", BUILTINS[call.target.name])
            return

        skip = None
        if item.predicate is not None:
            self.copies += 1
            skip = f"skip@{self.copies}"
            around = replace(item.predicate, negated=not item.predicate.negated)
            self.flat.body.append(Instruction(("bra",), (Sym(skip),), around, item.line))

        if isinstance(call.target, Sym):
            self.call_by_name(item, call.target.name, arguments, results, copy.owner)
        else:
            signature = (len(arguments), len(results))
            names = [n for n in sorted(self.graph.address_taken) if self.signature(n) == signature]
            if names:
                self.emit_call(names, arguments, call.target, copy.owner, item.line)
            else:  # no function has its address taken
                self.emit("trap", line=item.line)
            for position, outer in enumerate(results):
                ty = self.module.functions[names[0]].results[position].type if names else None
                self.copy_param(f"returned {position}", outer, item.line, ty)

        if skip is not None:
            self.flat.body.append(skip)

    def signature(self, name: str) -> tuple[int, int]:
        """Return the numbers of parameters and of results of a function."""
        function = self.module.functions[name]
        return len(function.params), len(function.results)

    def call_by_name(
        self,
        item: Instruction,
        name: str,
        arguments: tuple[str, ...],
        results: tuple[str, ...],
        owner: str | None,
    ) -> None:
        function = self.module.functions.get(name)
        if function is None or function.external:
            raise UnsupportedInstruction(
                f"call {name}", item.line, "a function that this module does not define"
            )
        if name in self.graph.not_inlined:
            self.emit_call([name], arguments, None, owner, item.line)
            self.pass_out(name, f"{name}:", results, item.line)
            return
        self.copies += 1
        # The prefix makes registers of an inlined function its caller's, which saves them across calls.
        inner = f"{owner}:" if owner is not None else ""
        inner += f"{name}@{self.copies}:"
        self.pass_in(name, inner, arguments, item.line)
        self.expand(function, inner, owner)
        self.pass_out(name, inner, results, item.line)

    def pass_in(self, name: str, inner: str, arguments: tuple[str, ...], line: int) -> None:
        for outer, formal in zip(arguments, self.module.functions[name].params, strict=True):
            self.copy_param(outer, inner + formal.name, line)

    def pass_out(self, name: str, inner: str, results: tuple[str, ...], line: int) -> None:
        for outer, formal in zip(results, self.module.functions[name].results, strict=True):
            self.copy_param(inner + formal.name, outer, line, formal.type)

    def copy_param(self, source: str, target: str, line: int, ty: str | None = None) -> None:
        slots = [(s, t) for s, t in self.flat.registers.items() if s.startswith(source + "+")]
        if not slots and ty is not None and "[" not in ty:  # stored by code that comes later
            slots = [(f"{source}+0", ty)]
            self.flat.registers.setdefault(*slots[0])
        for slot, slot_type in slots:
            copied = target + slot[len(source) :]
            self.flat.registers[copied] = slot_type
            self.flat.body.append(Instruction(("mov", slot_type), (Reg(copied), Reg(slot)), None, line))
