"""Lowering a kernel to LLVM IR: one function that runs a warp from one suspend point to the next.

    i32 warp(context, warp number, resume)

`resume` is 0 at first, and afterwards the result of the previous call: the number of the suspend point, DONE
or FAULT. One call can run several warps (see `warp_loop`). The module emits control flow; instructions are
lowered by the handlers in `gpulab.simt.instructions`.
"""

from __future__ import annotations

from gpulab.errors import UnsupportedInstruction
from gpulab.simt.analysis import basic_blocks
from gpulab.simt.analysis.divergence import WARP
from gpulab.simt.analysis.reconvergence import deferred_blocks, resume_order, target_sets
from gpulab.simt.codegen import barriers, special_registers, suspension, warp_loop, warp_pairs
from gpulab.simt.codegen.context import CodegenContext
from gpulab.simt.codegen.instruction_forms import MALFORMED, PSEUDO_HANDLERS, lower_instruction
from gpulab.simt.codegen.ir import BITS, vector
from gpulab.simt.codegen.jit import IN_MEMORY
from gpulab.simt.codegen.suspension import DONE, FAULT
from gpulab.simt.codegen.units import UNIT
from gpulab.simt.runtime.layout import PATIENCE

__all__ = ["Lowering"]

LONG_CHAIN = 8  # blocks; for fewer, a chain of comparisons finds the next block with lanes
MAX_COMPARISONS = 256  # comparisons in all long chains of a kernel; with more, `dispatcher` finds the block
MAX_MERGED = 1 << 13  # blocks times registers that `dispatcher` may merge as SSA values


class Lowering(CodegenContext):
    """The lowering of one kernel."""

    # -- the function ---------------------------------------------------------------------------

    def function(self) -> str:
        """Return the definition of `@warp`, with the helper functions and declarations that it needs."""
        b = self.b
        frontier = self.analysis.frontier
        self.uses_dispatcher = self.count_comparisons() > MAX_COMPARISONS
        self.dispatchers: dict[frozenset[int], str] = {}  # labels, by the blocks that are tried last
        if self.uses_dispatcher:
            self.allocate_masks()
        else:
            for number in sorted({n for f in frontier for n in f}):
                self.suspended[number] = b.alloca("i32", "suspended", 4)
        self.pairs: list[suspension.SuspendPoint] = []  # points from which two warps run at once
        self.fuel_slot = b.alloca("i32", "fuel", 4)
        self.patience_slot = b.alloca("i64", "patience", 8)
        self.prologue()
        for block in self.flow.blocks:
            self.block(block)
        for point in self.pairs:
            warp_pairs.emit_pair(self, point)
        if self.dispatchers:
            self.dispatcher()
        if self.leaving:
            suspension.leave(self)
        if self.arrivals:
            warp_loop.run_next_warp(self)
        b.open("fault")
        b.line(f"ret i32 {FAULT}")

        # Every live SSA value would need a phi with an entry per block after the dispatcher.
        in_memory = self.uses_dispatcher and len(self.flow.blocks) * len(self.slots) > MAX_MERGED
        registers = f' "{IN_MEMORY}"' if in_memory else ""
        parameters = warp_loop.PARAMETERS if self.arrivals else "i32 %warp, i32 %resume"
        head = [
            f"define i32 @warp(ptr %ctx, {parameters}) #0{registers} {{",
            "entry:",
        ]
        tables = [text for text in b.functions.values() if text.startswith("@")]
        helpers = [f"{UNIT}\n{text}" for text in b.functions.values() if not text.startswith("@")]
        body = self._without_unread_slots([*b.entry, *b.lines])
        return "\n".join([*head, *body, "}", *sorted(b.declared), *tables, *helpers])

    def _without_unread_slots(self, lines: list[str]) -> list[str]:
        """Remove the stack slots from which no register is read, and the stores to them."""
        unread = {ref for slot in self.slots.values() for ref in slot.refs} - self.loaded_slots

        def is_unread(line: str) -> bool:
            if line.startswith("  store "):
                return line[line.rindex(" ") + 1 :] in unread
            return " = alloca " in line and line.split(maxsplit=1)[0] in unread

        return [line for line in lines if not is_unread(line)] if unread else lines

    def prologue(self) -> None:
        """Emit the entry of the function: set up the warp and jump to the suspend point."""
        b = self.b
        b.line(f"store i64 {PATIENCE}, ptr {self.patience_slot}")
        if self.uses_dispatcher:
            b.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
            b.line(
                f"call void @llvm.memset.p0.i64(ptr {self.masks}, i8 0, i64 {4 * self.mask_count}, i1 false)"
            )
        for slot in self.suspended.values() if not self.uses_dispatcher else ():
            b.line(f"store i32 0, ptr {slot}")
        self.site_caches = self.load_field("site_caches", "ptr")
        self.instrumentation.on_entry(self)

        first = b.value("shl i32 %warp, 5")
        special_registers.thread_indices(self, first)
        if self.local_bytes:
            self.locate_local_memory(first)
        lanes = "-1"
        if self.threads % WARP:
            number = b.value("add i32 %warp, 1")
            last = b.value(f"icmp eq i32 {number}, {self.constant('i32', 'warp_count')}")
            lanes = b.value(f"select i1 {last}, i32 {self.constant('i32', 'last_lanes')}, i32 -1")
        b.line(f"store i32 {lanes}, ptr {self.mask_slot}")
        # Registers that are read before they are written have the bytes of unwritten memory: NaN, or -1.
        for name in sorted(self.flow.live_in[0]):
            register = self.slot(name)
            ty = f"i{BITS[register.ty]}"
            value = "0" if ty == "i1" else "-1"  # a predicate is false
            if register.kind == "varying":
                ty, value = vector(ty), f"splat ({ty} {value})"
            for ref in register.refs:
                b.line(f"store {ty} {value}, ptr {ref}")

        self.warp_state = suspension.locate_state(self)
        suspension.restore_fuel(self)
        self.suspend_points = suspension.plan_suspension(self)
        if self.suspend_points:
            self.save_area = suspension.locate_save_area(self)
        cases = " ".join(f"i32 {p.number}, label %resume{p.number}" for p in self.suspend_points)
        b.line(f"switch i32 %resume, label %block0 [ {cases} ]")
        for point in self.suspend_points:
            self.invalidate_cache()
            b.open(f"resume{point.number}")
            if warp_pairs.pairs_at(self, point):
                self.pairs.append(point)
                b.jump(f"pair{point.number}")
                b.open(f"alone{point.number}")
            if point.barrier is None:
                suspension.resume(self, point)
            else:
                barriers.resume_after_barrier(self, point)

    def locate_local_memory(self, first: str) -> None:
        """Compute the host address of each lane's local memory; `first` is the warp's first thread."""
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
        """Emit a basic block of the kernel."""
        b = self.b
        self.block_number = block.number
        self.invalidate_cache()
        b.open(f"block{block.number}")
        if block.warp_sync is not None:
            barriers.converge(self, block)
        self.instrumentation.on_block(self, block)

        entries = {
            p.index: p.number for p in self.suspend_points if p.target == block.number and p.index is not None
        }
        for self.instruction_index, item in enumerate(block.code):
            self.line = item.line
            if self.instruction_index in entries:
                b.jump(f"at{entries[self.instruction_index]}")
                b.open(f"at{entries[self.instruction_index]}")
                self.invalidate_cache()
            try:
                lower_instruction(self, item)
            except MALFORMED as error:
                reason = "its operands are not those of this instruction"
                raise UnsupportedInstruction(item.text, item.line, reason) from error

        self.line = block.line
        if block.end == "barrier":
            point = next(p for p in self.suspend_points if p.barrier is block.barrier)
            barriers.barrier(self, block, point)
        elif block.end == "trap":
            self.fail("trap", "trap")
        elif block.end == "exit":
            self.dispatch(block, {})
        elif block.end == "jump" or len(set(block.targets)) == 1:
            self.dispatch(block, {block.targets[0]: self.mask()})
        else:
            self.branch(block)

    def branch(self, block: basic_blocks.Block) -> None:
        """Emit a conditional branch at the end of a block."""
        b = self.b
        assert block.condition is not None
        yes, no = block.targets
        if block.condition.negated:
            yes, no = no, yes

        condition = self.read(block.condition.name)
        if block.number not in self.analysis.divergent:
            mask = self.mask()  # loaded before the branch, so that both sides can use it
            labels = b.new_label("yes"), b.new_label("no")
            b.branch(condition.ref, *labels)
            for label, target in zip(labels, (yes, no), strict=True):
                b.open(label)
                self.dispatch(block, {target: mask})
            return

        taken = self.pack_mask(self.to_vector(condition))
        mask = self.mask()
        true = b.value(f"and i32 {mask}, {taken}")
        false = b.value(f"and i32 {mask}, {b.value(f'xor i32 {taken}, -1')}")
        self.instrumentation.on_branch(self, block, true, false)
        self.dispatch(block, {yes: true, no: false})

    def dispatch(self, block: basic_blocks.Block, sent: dict[int, str]) -> None:
        """Send lanes to their targets, given as masks, and continue at the lowest block that has lanes."""
        b = self.b
        frontier = self.analysis.frontier[block.number]
        exits = self.analysis.exits
        order, occupied = resume_order(frontier, tuple(sent), exits, self.analysis.past)
        stays = [n for n in sent if n not in exits]
        use_dispatcher = self.uses_dispatcher and len(order) > LONG_CHAIN
        lanes: dict[int, str] = {}
        for number in stays if use_dispatcher else occupied:
            mask = sent.get(number)
            if number in frontier:
                others = b.value(f"load i32, ptr {self.suspended[number]}")
                mask = others if mask is None else b.value(f"or i32 {mask}, {others}")
            assert mask is not None
            lanes[number] = mask

        if use_dispatcher:
            for number in stays:
                b.line(f"store i32 {lanes[number]}, ptr {self.suspended[number]}")
            deferred = deferred_blocks(frontier, set(stays), self.analysis.past)
            b.jump(self.dispatchers.setdefault(deferred, f"dispatch{len(self.dispatchers)}"))
            return

        for position, number in enumerate(order):
            # If no lane exits, the only target, or the last one that is tried, has lanes.
            certain = number in sent and len(stays) == len(sent) and (len(sent) == 1 or number == order[-1])
            go, skip = b.new_label("go"), b.new_label("skip")
            if certain:
                b.jump(go)
            else:
                b.branch(b.value(f"icmp ne i32 {lanes[number]}, 0"), go, skip)
            b.open(go)
            for other in stays:
                if other not in order[: position + 1]:
                    b.line(f"store i32 {lanes[other]}, ptr {self.suspended[other]}")
            if number in frontier:
                b.line(f"store i32 0, ptr {self.suspended[number]}")
            b.line(f"store i32 {lanes[number]}, ptr {self.mask_slot}")
            if number <= block.number:
                self.spend(number, block.number)
            suspension.save_before_loop(self, block.number, number)
            b.jump(f"block{number}")
            if certain:
                return
            b.open(skip)
        self.end()

    def end(self) -> None:
        """Emit the end of a warp."""
        suspension.save_fuel(self)
        self.b.line(f"ret i32 {DONE}")

    # -- kernels with very many frontier blocks -------------------------------------------------

    def count_comparisons(self) -> int:
        """Return the number of comparisons in all long chains that `dispatch` would emit."""
        lengths = [
            len(
                resume_order(
                    self.analysis.frontier[block.number], targets, self.analysis.exits, self.analysis.past
                )[0]
            )
            for block in self.flow.blocks
            for targets in target_sets(block, self.analysis.divergent)
        ]
        return sum(length for length in lengths if length > LONG_CHAIN)

    def allocate_masks(self) -> None:
        """Allocate the masks of suspended lanes as one array, which `dispatcher` searches 32 at a time."""
        b = self.b
        count = len(self.flow.blocks)
        self.mask_count = -(-count // WARP) * WARP
        self.masks = b.alloca(f"[{self.mask_count} x i32]", "masks")
        for number in range(count):
            self.suspended[number] = name = b.name("suspended")
            b.entry.append(f"  {name} = getelementptr i32, ptr {self.masks}, i64 {number}")

    def dispatcher(self) -> None:
        """Emit shared code that continues at the lowest block that has lanes.

        A spin loop makes every later block a frontier block. A chain of comparisons after each block would be
        code that grows with the square of the kernel and takes seconds to compile.
        """
        b = self.b
        self.invalidate_cache()
        choices: list[tuple[str, str]] = []
        for deferred, label in self.dispatchers.items():
            b.open(label)
            for first in range(0, self.mask_count, WARP):
                pointer = b.value(f"getelementptr i32, ptr {self.masks}, i64 {first}")
                # The load is volatile so that SROA does not split the array.
                masks = b.value(f"load volatile {vector('i32')}, ptr {pointer}, align 4")
                occupied = self.pack_mask(b.value(f"icmp ne {vector('i32')} {masks}, zeroinitializer"))
                excluded = sum(1 << n - first for n in deferred if first <= n < first + WARP)
                if excluded:
                    occupied = b.value(f"and i32 {occupied}, {~excluded & 0xFFFFFFFF}")
                lowest = b.call("llvm.cttz.i32", "i32", ("i32", occupied), ("i1", "false"))
                self.choose(choices, occupied, b.value(f"add i32 {lowest}, {first}"))
            for number in sorted(deferred):
                self.choose(choices, b.value(f"load i32, ptr {self.suspended[number]}"), str(number))
            self.end()

        b.open("chosen")
        chosen = b.phi("i32", *choices)
        pointer = b.value(f"getelementptr i32, ptr {self.masks}, i32 {chosen}")
        b.line(f"store i32 {b.value(f'load i32, ptr {pointer}')}, ptr {self.mask_slot}")
        b.line(f"store i32 0, ptr {pointer}")
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

    def choose(self, choices: list[tuple[str, str]], lanes: str, number: str) -> None:
        """Choose the block `number` if the mask `lanes` is not 0."""
        some, none = self.b.new_label("some"), self.b.new_label("none")
        self.b.branch(self.b.value(f"icmp ne i32 {lanes}, 0"), some, none)
        self.b.open(some)
        self.b.jump("chosen")
        choices.append((number, some))
        self.b.open(none)

    def spend(self, first: int, last: int) -> None:
        """Charge a backward branch with the instructions of its loop, and let the warp yield in a spin loop.

        When the warp has used its time slice, the runtime grants another one or stops the launch.
        """
        b = self.b
        cost = sum(len(x.code) + 1 for x in self.flow.blocks[first : last + 1])
        left = b.value(f"sub i32 {b.value(f'load i32, ptr {self.fuel_slot}')}, {cost}")
        b.line(f"store i32 {left}, ptr {self.fuel_slot}")

        empty, on = b.new_label("empty"), b.new_label("on")
        b.branch(b.value(f"icmp slt i32 {left}, 0"), empty, on, likely=False)

        b.open(empty)
        site = self.loop_site(first)
        more = b.call(
            "sim_refuel",
            "i32",
            ("ptr", "%ctx"),
            ("i32", "%warp"),
            ("i32", self.mask_now()),
            ("i64", str(site)),
        )
        b.line(f"store i32 {more}, ptr {self.fuel_slot}")
        b.branch(b.value(f"icmp slt i32 {more}, 0"), "fault", on, likely=False)

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


PSEUDO_HANDLERS["skip"] = lambda _cg, _item: None  # see `gpulab.simt.analysis.slicing`
