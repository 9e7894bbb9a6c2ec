"""Findings of racecheck and initcheck: one sentence for what happened, and one for how to correct it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from gpulab.compiler.statements import end_inside, lines_between
from gpulab.devices.simulator.shared_arrays import array_at, shared_arrays
from gpulab.finding import Finding, Index3, index_text, unravel
from gpulab.verification.access_order import AccessOrder, order_of

if TYPE_CHECKING:
    from gpulab.compiler.statements import Loop
    from gpulab.devices.base import RecordableKernel
    from gpulab.devices.simulator.shared_arrays import SharedArray
    from gpulab.simt.codegen.memory_access import AccessSite
    from gpulab.simt.instrument.racecheck.hazards import AccessRecord, Hazard
    from gpulab.simt.instrument.racecheck.racecheck_recorder import RacecheckRecorder

__all__ = ["HazardMessages"]


class HazardMessages:
    """Converter of hazards to findings.

    Parameters
    ----------
    kernel : RecordableKernel
        The kernel.
    recorder : RacecheckRecorder
        The recorder of the launch.
    arguments : mapping
        The kernel's arguments by parameter name, and the variables of its module by theirs.
    grid, block : Index3
        Shape of the launch.
    """

    def __init__(
        self,
        kernel: RecordableKernel,
        recorder: RacecheckRecorder,
        arguments: Mapping[str, Any],
        grid: Index3,
        block: Index3,
    ) -> None:
        self.kernel, self.source = kernel, kernel.program.source
        self.arguments, self.grid, self.block = arguments, grid, block
        self.sites: Sequence[AccessSite] = recorder.native.sites
        self.metadata: Mapping[str, Any] = recorder.native.metadata

    @cached_property
    def shared(self) -> list[SharedArray]:
        return shared_arrays(self.kernel)

    # -- places ---------------------------------------------------------------------------------

    def lines(self, hazard: Hazard) -> list[int]:
        """Return the source lines of the two accesses, that of the later access first."""
        records = [hazard.now, hazard.before] if hazard.before else [hazard.now]
        return [self.sites[record.site].line for record in records]

    def array(self, hazard: Hazard) -> str:
        """Return the name of the array, or an empty string if it is not known."""
        return self._locate(hazard)[0]

    def is_guess(self, hazard: Hazard) -> bool:
        """Return True for a race of a global `atomicMin` or `atomicMax` with a read that is only compared."""
        if hazard.before is None or hazard.shared:
            return False
        return {hazard.now.site, hazard.before.site} <= set(self.metadata["guesses"])

    def _locate(self, hazard: Hazard) -> tuple[str, int]:
        """Return the name of the array and the offset in it in bytes."""
        if hazard.shared:
            shared = array_at(self.shared, hazard.address)
            return shared.name, hazard.address - shared.start
        for name, array in self.arguments.items():
            allocation = getattr(array, "allocation", None)
            if allocation is not None and 0 <= hazard.address - allocation.address < allocation.size:
                return name, hazard.address - allocation.address
        return "", hazard.address

    def element(self, hazard: Hazard) -> str:
        """Return the element, such as `A0[17]`."""
        name, offset = self._locate(hazard)
        if not name:
            return f"address {hazard.address:#x}"
        access_bytes = self.sites[hazard.now.site].size
        if hazard.shared:
            return array_at(self.shared, hazard.address).element(offset, access_bytes)
        array = self.arguments.get(name)
        size = array.dtype.itemsize if array is not None else access_bytes
        index, rest = divmod(offset, size)
        return f"{name}[{index}]" + (f" (byte {rest})" if rest else "")

    def thread(self, record: AccessRecord) -> str:
        if record.thread is None or record.block is None:
            is_copy = self.sites[record.site].op == "cp"
            return "an asynchronous copy" if is_copy else "another thread"
        thread, block = unravel(record.thread, self.block), unravel(record.block, self.grid)
        return f"thread {index_text(thread)} of block {index_text(block)}"

    # -- findings -------------------------------------------------------------------------------

    def finding(self, hazards: Sequence[Hazard]) -> Finding:
        """Return the finding for hazards of one cause: the first hazard, and the lines of the others."""
        hazards = self.clearest_first(hazards)
        first = hazards[0]
        assert first.now.block is not None
        assert first.now.thread is not None
        site = self.sites[first.now.site]
        other_lines = sorted({n for h in hazards for n in self.lines(h)} - set(self.lines(first)))

        text = self.uninitialized(first) if first.before is None else self.race(hazards)
        if other_lines:
            numbers = ", ".join(map(str, other_lines))
            text += f" Also affected: line{'s' * (len(other_lines) > 1)} {numbers}."
        return Finding(
            "initcheck" if first.before is None else "racecheck",
            first.kind,
            site.line,
            unravel(first.now.block, self.grid),
            unravel(first.now.thread, self.block),
            text,
            sum(hazard.count for hazard in hazards),
            "warning" if self.is_guess(first) else "error",
        )

    def clearest_first(self, hazards: Sequence[Hazard]) -> list[Hazard]:
        """Return hazards with errors before warnings, and those last whose read may be the writer's own.

        If several threads read an element, the record has the line of the last one. In `s[t] += v` it is that
        of the writer, and another thread has read the element in another line.
        """
        several_write = any(hazard.kind == "write_after_write" for hazard in hazards)

        def is_unclear(hazard: Hazard) -> bool:
            before = hazard.before
            return before is not None and before.thread is None and self.update_lines(hazard) is not None

        return sorted(hazards, key=lambda each: (self.is_guess(each), not several_write and is_unclear(each)))

    def update_lines(self, hazard: Hazard) -> tuple[int, ...] | None:
        """Return the lines of the read and the write of an update that both accesses are; None if not so."""
        assert hazard.before is not None
        sites = {hazard.now.site, hazard.before.site}
        update = next((pair for pair in self.metadata["updates"] if sites <= set(pair)), None)
        return None if update is None else tuple(self.sites[number].line for number in update)

    def uninitialized(self, hazard: Hazard) -> str:
        """Return the message for a read of an element that was never written."""
        name, action = self.array(hazard), self.sites[hazard.now.site].action
        text = f"{self.thread(hazard.now)} {action} {self.element(hazard)}, which has not been initialized. "
        if hazard.shared:
            text += "Shared memory has no initial values: every element must be written before it is read."
        elif name:
            text += f"Initialize `{name}` before the launch, or write the element in the kernel first."
        else:
            text += "Every element must be written before it is read."
        return text

    def race(self, hazards: Sequence[Hazard]) -> str:
        """Return the message for the first of the races of one cause."""
        hazard = hazards[0]
        before = hazard.before
        assert before is not None
        correction = self.correction(hazard, before)
        order = None if correction else self.order(hazard, before)
        if order is not None:
            return self.ordered_race(hazards, before, order)
        site, other = self.sites[hazard.now.site], self.sites[before.site]
        return (
            f"{self.thread(hazard.now)} {site.action} {self.element(hazard)}, which {self.thread(before)} "
            f"{other.action} in line {other.line}, without synchronization between the two accesses. "
            f"{correction or self.separation(hazard, before)}"
        )

    def separation(self, hazard: Hazard, before: AccessRecord) -> str:
        """Return the correction of a race whose two accesses are not known to be in one block."""
        barrier = self.barrier(hazard, before)
        if not hazard.shared and before.thread is None and prod(self.grid) > 1:
            return (
                "No barrier orders the threads of different blocks: if another block accesses the element, "
                "write to another array or use a second launch. Otherwise, separate the two accesses by "
                f"{barrier}."
            )
        return f"Separate the two accesses by {barrier}."

    def order(self, hazard: Hazard, before: AccessRecord) -> AccessOrder | None:
        """Return the order of the two accesses of a race in the program; None if it is not known."""
        if self.metadata["spins"]:
            return None
        site, other = self.sites[hazard.now.site], self.sites[before.site]
        same_warp = self.in_same_warp(hazard, before)
        return order_of(site, other, self.metadata, self.source, same_warp=same_warp)

    def in_same_warp(self, hazard: Hazard, before: AccessRecord) -> bool:
        """Return True if the two accesses are known to be those of lanes of one warp."""
        return before.thread is not None and before.thread // 32 == (hazard.now.thread or 0) // 32

    def copy_correction(self, hazard: Hazard, before: AccessRecord) -> str:
        """Return the correction of a race with an asynchronous copy; "" if only a barrier is missing.

        If the copy comes later, a wait for it does not help. If it comes earlier and no barrier is between
        the accesses of two threads, the barrier is missing whether or not the kernel waits.
        """
        site, other = self.sites[hazard.now.site], self.sites[before.site]
        order = self.order(hazard, before)
        early, late = (other, site) if order is not None and order.swapped else (site, other)
        if order is not None and early.op != "cp":
            return ""
        if order is not None and late.op != "cp" and before.thread not in (None, hazard.now.thread):
            return (
                f"No barrier separates the asynchronous copy of line {early.line} from line {late.line}. "
                "A wait covers only the copies of the thread that calls it: call __syncthreads() after the "
                f"wait for the copy and before line {late.line}."
            )
        return (
            f"The asynchronous copy of line {self.copy_line(site, other)} may not have finished. Wait "
            "for it, and then call __syncthreads(), before other threads use its data. "
            "__pipeline_wait_prior(N) and cp.async.wait_group N do not wait for the N latest groups of "
            "copies; consumer_wait of a cuda::pipeline waits for the oldest one."
        )

    def correction(self, hazard: Hazard, before: AccessRecord) -> str:
        """Return a sentence that says how to correct a race, or "" if a barrier is missing."""
        now = hazard.now
        site, other = self.sites[now.site], self.sites[before.site]

        if self.is_guess(hazard):
            return (
                "In CUDA's memory model, a plain read that is concurrent with an atomic operation is a data "
                "race, and it may return an old value. Read the element through a volatile pointer or by a "
                "relaxed load of a cuda::atomic_ref, or leave out the comparison. The results must be right "
                "with any earlier value of the element."
            )

        if "cp" in (site.op, other.op) and (copy := self.copy_correction(hazard, before)):
            return copy

        lines = self.update_lines(hazard)
        if lines is not None:
            return self.lost_update(*lines)

        both_write = hazard.kind == "write_after_write" and "updates" not in (site.action, other.action)
        if both_write and site.line == other.line:
            return (
                "Both threads write this element in the same line with different values: check the index and "
                "the array dimensions, or let only one of them write."
            )
        if {site.action, other.action} == {"writes", "updates"} and site.line == other.line:
            return (
                "The write can overwrite an update by another thread. Remove the write: the atomic operation "
                "stores the new value."
            )
        if both_write and before.block is not None and before.block != now.block:
            return (
                "Two blocks write this element: check the index, and the condition of the store. If both "
                "have to change the element, use an atomic operation."
            )
        if before.block is not None and before.block != now.block:
            return (
                "Blocks run in any order, and __syncthreads() does not synchronize them. Use an atomic "
                "operation, a second kernel launch, or a flag together with __threadfence()."
            )
        if both_write:
            return (
                "Check the index if only one of the threads should write the element. Otherwise, separate "
                f"the two writes by {self.barrier(hazard, before)}."
            )
        if {site.action, other.action} == {"reads", "updates"}:
            return (
                "If each thread needs its own value, use the one that the atomic operation returns. "
                f"Otherwise, separate the two accesses by {self.barrier(hazard, before)}."
            )
        return ""

    def lost_update(self, read: int, write: int) -> str:
        """Return the correction of a race between updates, each of which reads and writes in some lines."""
        also = "" if read == write else f" line {write}"
        lock = " or a lock that is released after a __threadfence()" if self.metadata["spins"] else ""
        return (
            f"Line {read} reads the element and{also} writes it back, so updates by other threads can be "
            f"lost. If several threads update it, use an atomic operation such as atomicAdd(){lock}."
        )

    def copy_line(self, site: AccessSite, other: AccessSite) -> int:
        """Return the line of the asynchronous copy, the earlier one if both accesses are copies."""
        return other.line if other.op == "cp" else site.line

    def barrier(self, hazard: Hazard, before: AccessRecord) -> str:
        """Return the synchronization that is missing between two accesses."""
        barrier = "a __syncthreads()"
        if self.in_same_warp(hazard, before):
            barrier += ", or a __syncwarp() if only one warp uses the element"
        if self.metadata["spins"]:
            barrier += ", or by a volatile or atomic flag together with __threadfence_block()"
        return barrier

    # -- races in the order of the program --------------------------------------------------------

    def ordered_race(self, hazards: Sequence[Hazard], before: AccessRecord, order: AccessOrder) -> str:
        """Return the order of events of a race, and the lines between which a barrier is missing."""
        hazard = hazards[0]
        first, then = (before, hazard.now) if order.swapped else (hazard.now, before)
        early, late = self.sites[first.site], self.sites[then.site]
        same_warp = self.in_same_warp(hazard, before)
        element = self.element(hazard)

        one, here = self.actor(first, same_warp)
        other, there = self.actor(then, same_warp)
        if same_warp and first.thread is not None:
            one = f"{self.thread(first).partition(' of ')[0]} of the same warp"
        round_before = " in the round before" if order.loop else ""
        event = f"{other} {late.action} {element} {there} "
        if early.action == "reads":
            event += f"while {one} still reads it{round_before} {here}"
        else:
            event += f"although {one} may not have written it{round_before} yet {here}"

        if order.loop is not None:
            lines = [early.line, *self.early_lines(hazards, order.loop)]
            last = max(end_inside(self.source, line, order.loop) for line in lines)
            return (
                f"in the next round of {order.loop.text}, {event}: a barrier is missing after the last "
                f"{'read' if early.action == 'reads' else 'write'}. "
                + self.advice(f"after line {last}, at the end of {order.loop.text}", hazard, same_warp)
            )
        if early.line == late.line:
            place = "after this read, and write after the barrier"
            return f"{event}. First read into a variable. " + self.advice(place, hazard, same_warp)
        place = "between line {} and line {}".format(*lines_between(self.source, early.line, late.line))
        if order.branch is not None:
            place += (
                f". Every thread of the block must reach it: end the branch of line "
                f"{order.branch.first_line} before it, and begin another one after it"
            )
        if order.both_ways is not None:
            place += (
                f", and another one at the end of {order.both_ways.text}, whose next round begins before all "
                "warps have finished this one"
            )
        return f"{event}: a barrier is missing. {self.advice(place, hazard, same_warp)}"

    def advice(self, place: str, hazard: Hazard, same_warp: bool) -> str:
        """Return a sentence that says where to add a barrier, and when another one is right."""
        if not hazard.shared and prod(self.grid) > 1:
            return (
                "No barrier orders the threads of different blocks: if they access the array too, write to "
                f"another array or use a second launch. Otherwise, add a __syncthreads() {place}."
            )
        text = f"Add a __syncthreads() {place}."
        if same_warp:
            text += (
                " The lanes of a warp do not run in lockstep; a __syncwarp() is enough if no other warp uses "
                "the element."
            )
        return text

    def early_lines(self, hazards: Sequence[Hazard], loop: Loop) -> list[int]:
        """Return the lines of a loop with the accesses that come first in the races of one cause."""
        lines = []
        for hazard in hazards:
            if hazard.before is None:
                continue
            order = self.order(hazard, hazard.before)
            if order is not None and order.loop == loop:
                lines.append(self.sites[(hazard.before if order.swapped else hazard.now).site].line)
        return lines

    def actor(self, record: AccessRecord, same_warp: bool) -> tuple[str, str]:
        """Return who makes an access, and where: the warp, or for lanes of one warp the thread."""
        line = self.sites[record.site].line
        if record.thread is None:
            return self.thread(record), f"(line {line})"
        if same_warp:
            return self.thread(record), f"(line {line})"
        return f"warp {record.thread // 32}", f"(line {line}, {self.thread(record)})"
