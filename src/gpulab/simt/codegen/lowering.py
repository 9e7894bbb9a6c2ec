"""A kernel's control flow as LLVM IR: one function that runs one warp from barrier to barrier.

    i32 warp(context, warp number, resume)

`resume` is 0 at the start and afterwards what the last call returned: the block behind the barrier
where the warp stopped. DONE and FAULT end it. Registers are stack slots here; LLVM's own pass turns
them into SSA values. How single instructions are made is in `arithmetic`, `memory` and `exchange`.
"""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis import basic_blocks
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.analysis.reconvergence import deferred_blocks, rendezvous_blocks, resume_order, target_sets
from gpulab.simt.codegen import special_registers, suspension
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import HANDLERS
from gpulab.simt.codegen.ir import vector
from gpulab.simt.codegen.jit import IN_MEMORY
from gpulab.simt.runtime.layout import PATIENCE, SLICE

__all__ = ["DONE", "FAULT", "Lowering"]

DONE, FAULT = -1, -2
LONG = 8  # blocks that are tried one after the other; where lanes may wait in more, `pick` can choose
TRIALS = 256  # of such long rows in one kernel; with more of them it does
MERGED = 1 << 13  # blocks times registers that may come together at `pick` as values, not in memory
# What a handler runs into when an instruction is not of the form that the PTX manual gives it.
MALFORMED = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)


class Lowering(CodegenContext):
    """A kernel on its way to LLVM IR."""

    # -- the function ---------------------------------------------------------------------------

    def function(self) -> str:
        """The text of `@warp`, with the declarations it needs."""
        b = self.b
        frontier = self.analysis.frontier
        self.past = rendezvous_blocks(self.flow.blocks)
        self.picks = self.trials() > TRIALS
        self.pickers: dict[frozenset[int], str] = {}  # by the stops that they try last: labels
        if self.picks:
            self.place_board()
        else:
            for number in sorted({n for f in frontier for n in f}):
                self.suspended[number] = b.alloca("i32", "waiting", 4)
        self.fuel_slot = b.alloca("i64", "fuel", 8)
        self.patience_slot = b.alloca("i64", "patience", 8)
        b.open("start")
        self.prologue()
        for block in self.flow.blocks:
            self.block(block)
        if self.pickers:
            self.pick()
        b.open("fault")
        b.line(f"ret i32 {FAULT}")
        # Every value that is alive anywhere would meet itself behind `pick`, from every block.
        in_memory = self.picks and len(self.flow.blocks) * len(self.slots) > MERGED
        registers = f' "{IN_MEMORY}"' if in_memory else ""
        head = [
            f"define i32 @warp(ptr %ctx, i32 %warp, i32 %resume) #0{registers} {{",
            "entry:",
            *b.entry,
            "  br label %start",
        ]
        return "\n".join([*head, *b.lines, "}", *b.functions.values(), *sorted(b.declared)])

    def prologue(self) -> None:
        b = self.b
        b.line(f"store i64 {SLICE}, ptr {self.fuel_slot}")
        b.line(f"store i64 {PATIENCE}, ptr {self.patience_slot}")
        if self.picks:
            b.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
            b.line(
                f"call void @llvm.memset.p0.i64(ptr {self.board}, i8 0, i64 {4 * self.board_slots}, i1 false)"
            )
        for slot in self.suspended.values() if not self.picks else ():
            b.line(f"store i32 0, ptr {slot}")
        self.site_caches = self.load_field("slots", "ptr")
        self.instrumentation.on_entry(self)
        first = b.value("shl i32 %warp, 5")
        special_registers.thread_indices(self, first)
        if self.local_bytes:
            self.find_local(first)
        everyone = "-1"
        if self.threads % WARP:
            behind = b.value("add i32 %warp, 1")
            last = b.value(f"icmp eq i32 {behind}, {self.constant('i32', 'warp_count')}")
            everyone = b.value(f"select i1 {last}, i32 {self.constant('i32', 'last_lanes')}, i32 -1")
        b.line(f"store i32 {everyone}, ptr {self.mask_slot}")
        for name in sorted(self.flow.live_in[0]):  # read before it is written: 0, not what the host has there
            register = self.slot(name)
            full = vector(register.ty) if register.kind == "varying" else register.ty
            for ref in register.refs:
                b.line(f"store {full} zeroinitializer, ptr {ref}")
        self.suspend_points = suspension.plan(self)
        cases = " ".join(f"i32 {p.number}, label %resume{p.number}" for p in self.suspend_points)
        b.line(f"switch i32 %resume, label %block0 [ {cases} ]")
        for point in self.suspend_points:
            self.invalidate_cache()
            b.open(f"resume{point.number}")
            suspension.resume(self, point)

    def find_local(self, first: str) -> None:
        """Where each lane's local memory lies on the host."""
        b = self.b
        ty = vector("i64")
        base = self.load_field("local")
        number = b.value(f"zext i32 {first} to i64")
        offset = b.value(f"mul i64 {number}, {self.local_bytes}")
        start = b.value(f"add i64 {base}, {offset}")
        steps = "<" + ", ".join(f"i64 {i * self.local_bytes}" for i in range(WARP)) + ">"
        self.local_addresses = b.value(f"add {ty} {b.splat('i64', start)}, {steps}")

    # -- blocks ---------------------------------------------------------------------------------

    def block(self, block: basic_blocks.Block) -> None:
        b = self.b
        self.block_number = block.number
        self.invalidate_cache()
        b.open(f"block{block.number}")
        if block.warp_sync is not None:
            suspension.converge(self, block)
        self.instrumentation.on_block(self, block)
        entered = {
            p.index: p.number for p in self.suspend_points if p.target == block.number and p.index is not None
        }
        for self.instruction_index, item in enumerate(block.code):
            self.line = item.line
            if self.instruction_index in entered:
                b.jump(f"at{entered[self.instruction_index]}")
                b.open(f"at{entered[self.instruction_index]}")
                self.invalidate_cache()
            handler = HANDLERS.get(item.op)
            if handler is None:
                raise UnsupportedInstruction(item.text, item.line)
            try:
                handler(self, item)
            except MALFORMED as error:
                why = "its operands are not what this instruction takes"
                raise UnsupportedInstruction(item.text, item.line, why) from error
        self.line = block.line
        if block.end == "barrier":
            point = next(p for p in self.suspend_points if p.barrier is block.barrier)
            suspension.barrier(self, block, point)
        elif block.end == "trap":
            self.fail("trap", "trap")
        elif block.end == "exit":
            self.dispatch(block, {})
        elif block.end == "jump" or len(set(block.targets)) == 1:
            self.dispatch(block, {block.targets[0]: self.mask()})
        else:
            self.branch(block)

    def branch(self, block: basic_blocks.Block) -> None:
        b = self.b
        assert block.condition is not None
        yes, no = block.targets
        if block.condition.negated:
            yes, no = no, yes
        condition = self.read(block.condition.name)
        if block.number not in self.analysis.divergent:
            mask = self.mask()  # here, where it holds for both ways
            labels = b.new_label("yes"), b.new_label("no")
            b.branch(condition.ref, *labels)
            for label, target in zip(labels, (yes, no), strict=True):
                b.open(label)
                self.dispatch(block, {target: mask})
            return
        taken = self.pack_mask(self.to_vector(condition))
        mask = self.mask()
        here = b.value(f"and i32 {mask}, {taken}")
        there = b.value(f"and i32 {mask}, {b.value(f'xor i32 {taken}, -1')}")
        self.instrumentation.on_branch(self, block, here, there)
        self.dispatch(block, {yes: here, no: there})

    def dispatch(self, block: basic_blocks.Block, sent: dict[int, str]) -> None:
        """Send lanes to their targets and go on with the lowest block that holds any."""
        b = self.b
        frontier = self.analysis.frontier[block.number]
        exits = self.analysis.exits
        order, occupied = resume_order(frontier, tuple(sent), exits, self.past)
        stays = [n for n in sent if n not in exits]  # who is sent to an exit has left
        picks = self.picks and len(order) > LONG
        lanes: dict[int, str] = {}
        for number in stays if picks else occupied:
            mask = sent.get(number)
            if number in frontier:
                waiting = b.value(f"load i32, ptr {self.suspended[number]}")
                mask = waiting if mask is None else b.value(f"or i32 {mask}, {waiting}")
            assert mask is not None
            lanes[number] = mask
        if picks:
            for number in stays:
                b.line(f"store i32 {lanes[number]}, ptr {self.suspended[number]}")
            held = deferred_blocks(frontier, set(stays), self.past)
            b.jump(self.pickers.setdefault(held, f"pick{len(self.pickers)}"))
            return
        for place, number in enumerate(order):
            # The lanes of this block are not none, and nobody has left.
            surely = number in sent and len(stays) == len(sent) and (len(sent) == 1 or number == order[-1])
            go, skip = b.new_label("go"), b.new_label("skip")
            if surely:
                b.jump(go)
            else:
                b.branch(b.value(f"icmp ne i32 {lanes[number]}, 0"), go, skip)
            b.open(go)
            for other in stays:
                if other not in order[: place + 1]:
                    b.line(f"store i32 {lanes[other]}, ptr {self.suspended[other]}")
            if number in frontier:
                b.line(f"store i32 0, ptr {self.suspended[number]}")
            b.line(f"store i32 {lanes[number]}, ptr {self.mask_slot}")
            if number <= block.number:
                self.spend(number, block.number)
            b.jump(f"block{number}")
            if surely:
                return
            b.open(skip)
        b.line(f"ret i32 {DONE}")

    # -- kernels whose lanes may wait in very many places ---------------------------------------

    def trials(self) -> int:
        """How many blocks `dispatch` would try, over the whole kernel, where it would try many."""
        tried = [
            len(
                resume_order(self.analysis.frontier[block.number], targets, self.analysis.exits, self.past)[0]
            )
            for block in self.flow.blocks
            for targets in target_sets(block, self.analysis.divergent)
        ]
        return sum(count for count in tried if count > LONG)

    def place_board(self) -> None:
        """One array of masks in place of a slot for each: `pick` looks at 32 of them at a time."""
        b = self.b
        count = len(self.flow.blocks)
        self.board_slots = -(-count // WARP) * WARP
        self.board = b.alloca(f"[{self.board_slots} x i32]", "board")
        for number in range(count):
            self.suspended[number] = name = b.name("waiting")
            b.entry.append(f"  {name} = getelementptr i32, ptr {self.board}, i64 {number}")

    def pick(self) -> None:
        """Go on with the lowest block that holds lanes, from wherever they were sent.

        A loop that gives way makes every block behind it a place to wait. To try each of them after each
        block is code that grows with the square of the kernel, and seconds of compiling.
        """
        b = self.b
        self.invalidate_cache()
        found: list[tuple[str, str]] = []
        for held, label in self.pickers.items():
            b.open(label)
            for first in range(0, self.board_slots, WARP):
                place = b.value(f"getelementptr i32, ptr {self.board}, i64 {first}")
                # volatile: so that the array stays in memory, and is not taken apart into registers
                masks = b.value(f"load volatile {vector('i32')}, ptr {place}, align 4")
                some = self.pack_mask(b.value(f"icmp ne {vector('i32')} {masks}, zeroinitializer"))
                last = sum(1 << n - first for n in held if first <= n < first + WARP)
                if last:
                    some = b.value(f"and i32 {some}, {~last & 0xFFFFFFFF}")
                lowest = b.call("llvm.cttz.i32", "i32", ("i32", some), ("i1", "false"))
                self.picked(found, some, b.value(f"add i32 {lowest}, {first}"))
            for number in sorted(held):
                self.picked(found, b.value(f"load i32, ptr {self.suspended[number]}"), str(number))
            b.line(f"ret i32 {DONE}")
        b.open("picked")
        chosen = b.phi("i32", *found)
        place = b.value(f"getelementptr i32, ptr {self.board}, i32 {chosen}")
        b.line(f"store i32 {b.value(f'load i32, ptr {place}')}, ptr {self.mask_slot}")
        b.line(f"store i32 0, ptr {place}")
        cases = " ".join(f"i32 {n}, label %take{n}" for n in range(1, len(self.flow.blocks)))
        b.line(f"switch i32 {chosen}, label %take0 [ {cases} ]")
        for target in range(len(self.flow.blocks)):
            self.invalidate_cache()
            b.open(f"take{target}")
            last = max((x.number for x in self.flow.blocks if target in x.targets), default=0)
            if last >= target:
                self.line = self.flow.blocks[last].line
                self.spend(target, last)
            b.jump(f"block{target}")

    def picked(self, found: list[tuple[str, str]], lanes: str, number: str) -> None:
        """Where there are any of `lanes`, go on with the block `number`."""
        some, none = self.b.new_label("some"), self.b.new_label("none")
        self.b.branch(self.b.value(f"icmp ne i32 {lanes}, 0"), some, none)
        self.b.open(some)
        self.b.jump("picked")
        found.append((number, some))
        self.b.open(none)

    def spend(self, first: int, last: int) -> None:
        """Going back costs the instructions of the loop; without any left, ask for more."""
        b = self.b
        cost = sum(len(x.code) + 1 for x in self.flow.blocks[first : last + 1])
        left = b.value(f"sub i64 {b.value(f'load i64, ptr {self.fuel_slot}')}, {cost}")
        b.line(f"store i64 {left}, ptr {self.fuel_slot}")
        empty, on = b.new_label("empty"), b.new_label("on")
        b.branch(b.value(f"icmp slt i64 {left}, 0"), empty, on, likely=False)
        b.open(empty)
        access = self.loop_site(first)
        more = b.call(
            "sim_refuel",
            "i64",
            ("ptr", "%ctx"),
            ("i32", "%warp"),
            ("i32", self.mask_now()),
            ("i64", str(access)),
        )
        b.line(f"store i64 {more}, ptr {self.fuel_slot}")
        b.branch(b.value(f"icmp slt i64 {more}, 0"), "fault", on, likely=False)
        b.open(on)
        if first in self.analysis.spin_loops:
            suspension.yield_lanes(
                self,
                next(
                    p
                    for p in self.suspend_points
                    if p.target == first and p.barrier is None and p.index is None
                ),
            )


HANDLERS["skip"] = lambda _cg, _item: None  # an instruction outside the slice of a tier that needs no values
