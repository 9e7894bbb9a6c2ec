"""A slow, simple PTX interpreter that runs one thread after the other, each up to its next barrier.

It executes the functions as NVRTC emitted them: a call has a frame of its own, and warps matter only to
instructions that name lanes. There are no masks and no analysis of divergence. It shares only the parser
of PTX text with the simulator; the tests that compare kernels with NumPy check that parser.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from gpulab.simt.ptx.syntax import Function, Imm, Instruction, Mem, Module, Operand, Reg, Sym, Vec
from tests.fuzz import warps
from tests.fuzz.instructions import ATOMICS, NotInterpreted, Unspecified, bits_of, decode, encode, operation
from tests.fuzz.memory import LOCAL, SHARED, Fault, Memory, Thread

__all__ = ["InstructionLimitExceeded", "Interpreter", "ThreadFault"]

FUNCTION_BASE = 0x53 << 40  # first address of functions
# Instructions that a thread may execute after the first fault, since it may wait for the faulted thread.
GRACE_INSTRUCTIONS = 3_000
Index3 = tuple[int, int, int]


class InstructionLimitExceeded(Exception):
    """The threads have executed more instructions than the limit."""


@dataclass(frozen=True)
class ThreadFault:
    """A fault of one thread; for a divergent barrier, one for each barrier where threads wait."""

    kind: str
    line: int
    block: Index3
    thread: Index3


@dataclass
class Frame:
    """One call of a function by one thread."""

    code: Code
    thread: Thread
    special: dict[str, int]
    registers: dict[str, int]
    params: dict[str, bytearray]
    local_start: int
    places: dict[str, int] = field(default_factory=dict)  # addresses of local variables
    pc: int = 0
    results: tuple[str, ...] = ()  # the caller's parameters that receive the results


@dataclass
class CallRequest:
    """A step's request to call a function."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]


@dataclass
class WaitRequest:
    """A step's request to wait at `item` for other threads.

    Attributes
    ----------
    values : list of int
        The thread's operands.
    deliver : callable
        Takes the thread's results.
    mask : int
        Lanes that must arrive; 0 means the whole block.
    """

    item: Instruction
    values: list[int]
    deliver: Callable[[list[int]], None]
    mask: int = 0


RETURN, EXIT = object(), object()
Step = Callable[[Frame], Any]  # returns None, a label's index, CallRequest, WaitRequest, RETURN or EXIT


@dataclass
class Code:
    """A decoded function: one step and one source line for each instruction."""

    function: Function
    steps: list[Step]
    lines: list[int]
    widths: dict[str, int]


class Interpreter:
    """Interpreter of one kernel of a module.

    Parameters
    ----------
    dynamic : int
        Bytes of dynamic shared memory.
    limit : int
        Number of instructions that all threads together may execute.

    Attributes
    ----------
    faulted : bool
        A thread has faulted.
    cut_off : bool
        A thread was ended after another thread's fault, before it could reach a fault of its own.
    """

    def __init__(
        self, module: Module, entry: str, memory: Memory, dynamic: int = 0, limit: int = 3_000_000
    ) -> None:
        self.module, self.entry, self.memory = module, entry, memory
        self.left = limit
        self.faulted = self.cut_off = False
        self.codes: dict[str, Code] = {}
        self.numbers = {name: FUNCTION_BASE + 16 * n for n, name in enumerate(module.functions)}
        self.shared: dict[str, int] = {}
        at = 0
        variables = [*module.variables.values(), *(v for f in module.functions.values() for v in f.variables)]
        for variable in sorted(variables, key=lambda v: not v.size):  # unsized variables come last
            if variable.space == "shared":
                align = variable.align if variable.size else 16
                at = -(-at // align) * align
                self.shared[variable.name] = at
                at += variable.size
        self.shared_bytes = at + dynamic
        self.places: dict[str, int] = {}
        for variable in module.variables.values():
            if variable.space in ("global", "const"):
                self.places[variable.name] = memory.allocate(variable.initial or bytes(variable.size))
        for variable in module.variables.values():
            for offset, symbol, addend in variable.references:
                target = self.places.get(symbol, self.numbers.get(symbol, 0)) + addend
                data = memory.arrays[self.places[variable.name] >> 40].data
                data[offset : offset + 8] = target.to_bytes(8, "little")

    # -- the grid -------------------------------------------------------------------------------

    def run(self, grid: Index3, block: Index3, arguments: list[bytes]) -> list[ThreadFault]:
        """Run every block and return the threads' faults; `arguments` are the bytes of each parameter."""
        faults: list[ThreadFault] = []
        for number in range(grid[0] * grid[1] * grid[2]):
            self.memory.new_block(self.shared_bytes)
            faults += _Block(self, grid, block, number, arguments).run()
        return faults

    def code(self, name: str) -> Code:
        """Return a function's decoded body."""
        if name not in self.codes:
            function = self.module.functions.get(name)
            if function is None or function.external:
                raise NotInterpreted(f"call {name}")
            self.codes[name] = _Decoder(self, function).code()
        return self.codes[name]

    def enter(
        self, code: Code, thread: Thread, special: dict[str, int], params: dict[str, bytearray]
    ) -> Frame:
        # A register without a value is undefined; as in the simulator, all its bits are 1, a predicate's 0.
        registers = {name: 0 if width == 1 else (1 << width) - 1 for name, width in code.widths.items()}
        frame = Frame(code, thread, special, registers, params, len(thread.local))
        for variable in code.function.variables:
            if variable.space == "local":
                frame.places[variable.name] = thread.allocate_local(variable.size, variable.align)
            elif variable.space == "param":
                params[variable.name] = bytearray(variable.size)
        return frame


class _Block:
    """The threads of one block and the requests of those that wait."""

    def __init__(
        self, interpreter: Interpreter, grid: Index3, block: Index3, number: int, arguments: list[bytes]
    ) -> None:
        self.interpreter, self.block = interpreter, block
        self.index = _unravel(number, grid)
        self.faults: list[ThreadFault] = []
        count = block[0] * block[1] * block[2]
        self.threads = [Thread(number, n) for n in range(count)]
        self.waits: dict[int, WaitRequest] = {}
        self.runs: dict[int, Generator[WaitRequest]] = {}
        for thread in self.threads:
            special = _special_registers(grid, block, self.index, thread.number)
            self.runs[thread.number] = self.steps(thread, special, arguments)

    def run(self) -> list[ThreadFault]:
        try:
            self.run_threads()
        except Unspecified:
            if not self.interpreter.faulted:
                raise
            self.interpreter.cut_off = True  # a consequence of the fault: the faulted thread is missing
        return self.faults

    def run_threads(self) -> None:
        ready = list(self.runs)
        while ready:
            for number in ready:
                try:
                    self.waits[number] = next(self.runs[number])
                except StopIteration:
                    del self.runs[number]
            ready = self.release_waiting()

    def release_waiting(self) -> list[int]:
        """Release the threads whose wait is over: lanes of a warp first, then the block at its barrier."""
        released: list[int] = []
        for first in range(0, len(self.threads), 32):
            lanes = [n for n in self.runs if first <= n < first + 32 and self.waits[n].mask]
            for number in lanes:
                wait = self.waits.get(number)
                if wait is None:
                    continue
                named = [n for n in self.runs if first <= n < first + 32 and wait.mask >> (n - first) & 1]
                here = [n for n in named if n in self.waits and self.waits[n].item is wait.item]
                if number in named and here == named:
                    warps.complete_collective(wait.item, first, {n: self.waits[n].values for n in named},
                                   {n: self.waits[n].deliver for n in named})  # fmt: skip
                    released += named
                    for n in named:
                        del self.waits[n]
        if released or not self.runs:
            return released
        places = {id(wait.item): wait.item for wait in self.waits.values()}
        if any(wait.mask for wait in self.waits.values()):
            raise Unspecified("lanes named in a mask do not arrive")
        if len(places) > 1:
            self.faults += [
                ThreadFault("divergent_barrier", item.line, self.index, (0, 0, 0)) for item in places.values()
            ]
            return []
        (item,) = places.values()
        exited = next((n for n in range(len(self.threads)) if n not in self.runs), None)
        if exited is not None and not self.faults:  # a faulted thread is missing too
            thread = _unravel(exited, self.block)
            self.faults.append(ThreadFault("exited_threads", item.line, self.index, thread))
            return []
        warps.complete_barrier(list(self.waits.values()))
        released = list(self.waits)
        self.waits.clear()
        for thread in self.threads:
            thread.phase += 1
        return released

    def steps(
        self, thread: Thread, special: dict[str, int], arguments: list[bytes]
    ) -> Generator[WaitRequest]:
        """Run one thread from its start to its end; yield when it must wait."""
        interpreter = self.interpreter
        code = interpreter.code(interpreter.entry)
        params = {p.name: bytearray(a) for p, a in zip(code.function.params, arguments, strict=True)}
        frames = [interpreter.enter(code, thread, special, params)]
        grace = GRACE_INSTRUCTIONS
        while True:
            frame = frames[-1]
            pc = frame.pc
            frame.pc = pc + 1
            try:
                action = frame.code.steps[pc](frame)
                if action is None:
                    continue
                if isinstance(action, CallRequest):
                    frames.append(self.call(frame, action))
            except Fault as fault:
                index = _unravel(thread.number, self.block)
                self.faults.append(ThreadFault(fault.kind, frame.code.lines[pc], self.index, index))
                interpreter.faulted = True
                return
            if isinstance(action, int):
                frame.pc = action
                interpreter.left -= max(pc - action, 1)
                if interpreter.left < 0:
                    raise InstructionLimitExceeded
                if interpreter.faulted:
                    # The thread may wait for the faulted one; on a GPU the fault ends the whole grid.
                    grace -= max(pc - action, 1)
                    if grace < 0:
                        interpreter.cut_off = True
                        return
            elif isinstance(action, WaitRequest):
                yield action
            elif action is EXIT or len(frames) == 1:
                return
            elif action is RETURN:
                frames.pop()
                results = frame.code.function.results
                for formal, name in zip(results, frame.results, strict=True):
                    frames[-1].params[name] = frame.params[formal.name]
                del thread.local[frame.local_start :]

    def call(self, frame: Frame, calls: CallRequest) -> Frame:
        code = self.interpreter.code(calls.name)
        formals = code.function.params
        params = {f.name: bytearray(frame.params[a]) for f, a in zip(formals, calls.arguments, strict=True)}
        params |= {r.name: bytearray(r.size) for r in code.function.results}
        callee = self.interpreter.enter(code, frame.thread, frame.special, params)
        callee.results = calls.results
        self.interpreter.left -= len(code.steps)
        return callee


def _unravel(number: int, dims: Index3) -> Index3:
    return number % dims[0], number // dims[0] % dims[1], number // (dims[0] * dims[1])


def _special_registers(grid: Index3, block: Index3, index: Index3, number: int) -> dict[str, int]:
    registers = {"%laneid": number % 32, "%warpid": number // 32}
    for stem, sizes in (
        ("tid", _unravel(number, block)),
        ("ntid", block),
        ("ctaid", index),
        ("nctaid", grid),
    ):
        registers.update({f"%{stem}.{axis}": size for axis, size in zip("xyz", sizes, strict=True)})
    lane = 1 << number % 32
    full = (1 << 32) - 1
    below = lane - 1
    registers |= {"%lanemask_eq": lane, "%lanemask_lt": below, "%lanemask_le": below | lane}
    registers |= {"%lanemask_ge": full & ~below, "%lanemask_gt": full & ~(below | lane)}
    return registers


# -- instructions -------------------------------------------------------------------------------


class _Decoder:
    """Decoder of a function's body into steps."""

    def __init__(self, interpreter: Interpreter, function: Function) -> None:
        self.interpreter, self.function = interpreter, function
        self.widths = {n: 1 if t == "pred" else bits_of(t) for n, t in function.registers.items()}
        self.labels: dict[str, int] = {}

    def code(self) -> Code:
        items = []
        for item in self.function.body:
            if isinstance(item, str):
                self.labels[item] = len(items)
            else:
                items.append(item)
        items.append(Instruction(("ret",), (), None, 0))
        steps = [self.guarded(item, self.step(item)) for item in items]
        return Code(self.function, steps, [item.line for item in items], self.widths)

    def guarded(self, item: Instruction, step: Step) -> Step:
        """Return a step that runs only if the instruction's predicate is true."""
        if item.predicate is None:
            return step
        name, wanted = item.predicate.name, not item.predicate.negated
        return lambda f: step(f) if bool(f.registers[name]) == wanted else None

    # -- operands -------------------------------------------------------------------------------

    def read(self, operand: Operand, ty: str) -> Callable[[Frame], Any]:
        """Return a function that reads an operand as type `ty`."""
        width = bits_of(ty)
        mask = (1 << width) - 1
        if isinstance(operand, Imm):
            bits = operand.bits
            if bits is None and ty[0] == "f":
                value = float(operand.value)
                return lambda f: value
            constant = decode((int(operand.value) if bits is None else bits) & mask, ty)
            return lambda f: constant
        if isinstance(operand, Sym):
            return self.address(operand.name)
        if not isinstance(operand, Reg):
            raise NotInterpreted(f"operand {operand}")
        name = operand.name
        if name not in self.widths:
            return lambda f: f.special[name]
        if ty == "pred":
            flip = int(operand.negated)
            return lambda f: f.registers[name] ^ flip
        if ty[0] in "bu":
            if self.widths[name] <= width:
                return lambda f: f.registers[name]
            return lambda f: f.registers[name] & mask
        return lambda f: decode(f.registers[name] & mask, ty)

    def address(self, name: str) -> Callable[[Frame], int]:
        """Return a function that gives the address of a variable in its state space, or of a function."""
        fixed = {**self.interpreter.numbers, **self.interpreter.places, **self.interpreter.shared}.get(name)
        if fixed is not None:
            return lambda f: fixed
        if name == "WARP_SZ":
            return lambda f: 32
        return lambda f: f.places[name]

    def write(self, operand: Operand, ty: str) -> Callable[[Frame, Any], None]:
        """Return a function that writes a value of type `ty` to a register, extended to its width."""
        assert isinstance(operand, Reg), operand
        name = operand.name
        if name == "_":
            return lambda f, value: None
        mask = (1 << self.widths[name]) - 1
        width = bits_of(ty)
        if ty[0] == "s" and width < self.widths[name]:
            return lambda f, value: f.registers.__setitem__(name, decode(encode(value, ty), ty) & mask)
        return lambda f, value: f.registers.__setitem__(name, encode(value, ty))

    # -- one instruction ------------------------------------------------------------------------

    def step(self, item: Instruction) -> Step:
        op = item.op
        if item.call is not None:
            return self.call(item)
        special = {
            "bra": self.branch, "brx": self.switch, "ld": self.load, "ldu": self.load, "st": self.store,
            "mov": self.move, "cvta": self.convert_address, "atom": self.atomic, "red": self.atomic,
            "bar": self.barrier, "barrier": self.barrier, "shfl": self.warp, "vote": self.warp,
            "match": self.warp, "redux": self.warp, "isspacep": self.is_space, "testp": self.test,
        }.get(op)  # fmt: skip
        if special is not None:
            return special(item)
        if op == "ret":
            return lambda f: RETURN
        if op == "exit":
            return lambda f: EXIT
        if op == "trap":
            return self.trap
        if op in ("membar", "fence", "prefetch"):
            return lambda f: None
        return self.compute(item)

    @staticmethod
    def trap(frame: Frame) -> None:
        raise Fault("trap")

    @staticmethod
    def fail_assertion(frame: Frame) -> None:
        raise Fault("assert")

    def compute(self, item: Instruction) -> Step:
        function, types, result = operation(item)
        sources = [self.read(o, t) for o, t in zip(item.operands[1:], types, strict=False)]
        target = item.operands[0]
        if isinstance(target, Vec):  # setp p|q
            puts = [self.write(part, result) for part in target.parts]

            def both(f: Frame) -> None:
                for put, value in zip(puts, function(*[s(f) for s in sources]), strict=True):
                    put(f, value)

            return both
        put = self.write(target, result)
        if item.op == "setp":
            return lambda f: put(f, function(*[s(f) for s in sources])[0])
        if len(sources) == 2:
            first, second = sources
            return lambda f: put(f, function(first(f), second(f)))
        return lambda f: put(f, function(*[s(f) for s in sources]))

    def test(self, item: Instruction) -> Step:
        ty = item.parts[-1]
        exponent, fraction = (8, 23) if ty == "f32" else (11, 52)
        value = self.read(item.operands[1], f"b{bits_of(ty)}")
        put = self.write(item.operands[0], "pred")
        full = (1 << exponent) - 1

        def test(f: Frame) -> None:
            bits = value(f)
            e, m = bits >> fraction & full, bits & (1 << fraction) - 1
            put(f, {"finite": e < full, "infinite": e == full and not m, "number": e < full or not m,
                    "notanumber": e == full and m > 0, "normal": 0 < e < full or bits << 1 & (1 << exponent + fraction + 1) - 1 == 0,
                    "subnormal": e == 0 and m > 0}[item.parts[1]])  # fmt: skip

        return test

    def branch(self, item: Instruction) -> Step:
        target = item.operands[0]
        assert isinstance(target, Sym)
        labels, name = self.labels, target.name
        return lambda f: labels[name]

    def switch(self, item: Instruction) -> Step:
        index, table = item.operands
        assert isinstance(table, Sym)
        which, labels, names = self.read(index, "u32"), self.labels, self.function.tables[table.name]

        def jump(f: Frame) -> int:
            number = which(f)
            if number >= len(names):
                raise Unspecified("brx.idx outside its table")
            return labels[names[number]]

        return jump

    def call(self, item: Instruction) -> Step:
        call = item.call
        assert call is not None
        if call.target == Sym("__assertfail"):
            return self.fail_assertion
        if isinstance(call.target, Sym):
            calls = CallRequest(call.target.name, call.arguments, call.results)
            return lambda f: calls
        pointer = self.read(call.target, "u64")
        names = {number: name for name, number in self.interpreter.numbers.items()}

        def through(f: Frame) -> CallRequest:
            name = names.get(pointer(f))
            if name is None:
                raise Fault("trap")
            return CallRequest(name, call.arguments, call.results)

        return through

    # -- moves and memory -----------------------------------------------------------------------

    def move(self, item: Instruction) -> Step:
        target, source = item.operands
        ty = item.parts[-1]
        width = bits_of(ty)
        if isinstance(source, Vec):
            part = width // len(source.parts)
            reads = [self.read(p, f"b{part}") for p in source.parts]
            put = self.write(target, f"b{width}")
            return lambda f: put(f, sum(read(f) << n * part for n, read in enumerate(reads)))
        value = self.read(source, "pred" if ty == "pred" else f"b{width}")
        if isinstance(target, Vec):
            part = width // len(target.parts)
            puts = [self.write(p, f"b{part}") for p in target.parts]

            def split(f: Frame) -> None:
                whole = value(f)
                for n, put_one in enumerate(puts):
                    put_one(f, whole >> n * part)

            return split
        put = self.write(target, "pred" if ty == "pred" else f"b{width}")
        return lambda f: put(f, value(f))

    @staticmethod
    def space(item: Instruction) -> str:
        for part in item.parts[1:]:
            stem = part.split("::")[0]
            if stem in ("global", "shared", "local", "const", "param"):
                return stem
        return "generic"

    def place(self, operand: Operand, space: str) -> Callable[[Frame], int]:
        assert isinstance(operand, Mem)
        base, offset, full = self.read(operand.base, "u64"), operand.offset, (1 << 64) - 1
        window = 0
        if isinstance(operand.base, Sym) and space == "generic":
            shared = operand.base.name in self.interpreter.shared
            everywhere = operand.base.name in self.interpreter.places
            window = SHARED if shared else 0 if everywhere else LOCAL
        return lambda f: base(f) + offset + window & full

    def load(self, item: Instruction) -> Step:
        space, ty = self.space(item), item.parts[-1]
        size = bits_of(ty) // 8
        target = item.operands[0]
        parts = target.parts if isinstance(target, Vec) else (target,)
        narrow = ty if ty[0] == "s" else f"b{8 * size}"
        puts = [self.write(p, narrow) for p in parts]
        total = size * len(parts)
        fetch: Callable[[Frame], bytes]
        if space == "param":
            memory = item.operands[1]
            assert isinstance(memory, Mem)
            if not isinstance(memory.base, Sym):
                raise NotInterpreted(item.text)
            name, offset = memory.base.name, memory.offset
            fetch = lambda f: bytes(f.params[name][offset : offset + total])  # noqa: E731
        else:
            address, load = self.place(item.operands[1], space), self.interpreter.memory.load
            volatile = "volatile" in item.parts
            fetch = lambda f: load(f.thread, space, address(f), total, volatile)  # noqa: E731

        def take(f: Frame) -> None:
            data = fetch(f)
            for n, put in enumerate(puts):
                put(f, int.from_bytes(data[n * size : (n + 1) * size], "little"))

        return take

    def store(self, item: Instruction) -> Step:
        space, ty = self.space(item), item.parts[-1]
        size = bits_of(ty) // 8
        source = item.operands[1]
        reads = [
            self.read(p, f"b{8 * size}") for p in (source.parts if isinstance(source, Vec) else (source,))
        ]

        def data(f: Frame) -> bytes:
            return b"".join(read(f).to_bytes(size, "little") for read in reads)

        if space == "param":
            memory = item.operands[0]
            assert isinstance(memory, Mem)
            assert isinstance(memory.base, Sym)
            name, offset = memory.base.name, memory.offset

            def pass_on(f: Frame) -> None:
                value = data(f)
                f.params[name][offset : offset + len(value)] = value

            return pass_on
        address, store = self.place(item.operands[0], space), self.interpreter.memory.store
        volatile = "volatile" in item.parts
        return lambda f: store(f.thread, space, address(f), data(f), volatile)

    def convert_address(self, item: Instruction) -> Step:
        window = {"shared": SHARED, "local": LOCAL}.get(self.space(item), 0)
        window = -window if "to" in item.parts else window
        value, put = self.read(item.operands[1], "u64"), self.write(item.operands[0], "b64")
        return lambda f: put(f, value(f) + window)

    def is_space(self, item: Instruction) -> Step:
        window = {"shared": SHARED, "local": LOCAL}.get(self.space(item))
        value, put = self.read(item.operands[1], "u64"), self.write(item.operands[0], "pred")
        if window is None:
            return lambda f: put(f, value(f) >> 40 not in (SHARED >> 40, LOCAL >> 40))
        return lambda f: put(f, value(f) >> 40 == window >> 40)

    def atomic(self, item: Instruction) -> Step:
        space, ty = self.space(item), item.parts[-1]
        name = next((p for p in item.parts[1:] if p in ATOMICS), None)
        if name is None:
            raise NotInterpreted(item.text)
        combine, size = ATOMICS[name], bits_of(ty) // 8
        operands = item.operands[1:] if item.op == "atom" else item.operands
        address = self.place(operands[0], space)
        values = [self.read(o, ty) for o in operands[1:]]
        put = self.write(item.operands[0], f"b{8 * size}") if item.op == "atom" else None
        memory = self.interpreter.memory

        def update(f: Frame) -> None:
            data, at = memory.update(f.thread, space, address(f), size)
            old = int.from_bytes(data[at : at + size], "little")
            new = encode(combine(decode(old, ty), *(v(f) for v in values)), ty)
            data[at : at + size] = new.to_bytes(size, "little")
            if put is not None:
                put(f, old)

        return update

    # -- waiting for others ---------------------------------------------------------------------

    def barrier(self, item: Instruction) -> Step:
        """Return the step of `bar.sync 0`, `bar.red` at barrier 0, or `bar.warp.sync`."""
        if "warp" in item.parts:
            return self.warp(item)
        operands = list(item.operands)
        puts: list[Callable[[Frame, Any], None]] = []
        reads: list[Callable[[Frame], int]] = []
        if "red" in item.parts:
            target = operands.pop(0)
            puts = [self.write(target, "u32" if "popc" in item.parts else "pred")]
            reads = [self.read(operands.pop(), "pred")]
        if any(o != Imm(0) for o in operands) or "arrive" in item.parts:
            raise NotInterpreted(item.text)
        return self.waits(item, reads, puts, None)

    def warp(self, item: Instruction) -> Step:
        targets, types, mask_at = warps.collective_operands(item)
        puts = [self.write(o, t) for o, t in targets]
        reads = [self.read(o, t) for o, t in types]
        return self.waits(item, reads, puts, self.read(item.operands[mask_at], "u32"))

    @staticmethod
    def waits(
        item: Instruction,
        reads: list[Callable[[Frame], int]],
        puts: list[Callable[[Frame, Any], None]],
        mask: Callable[[Frame], int] | None,
    ) -> Step:
        def wait(f: Frame) -> WaitRequest:
            def deliver(values: list[int]) -> None:
                for put, value in zip(puts, values, strict=False):
                    put(f, value)

            return WaitRequest(item, [read(f) for read in reads], deliver, mask(f) if mask else 0)

        return wait
