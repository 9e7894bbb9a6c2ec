"""Findings of racecheck and initcheck: one sentence for what happened, and one for how to correct it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpulab.finding import Finding, Index3, index_text, unravel
from gpulab.simt.ptx.symbols import variable_name
from gpulab.verification.barrier_paths import has_unsynchronized_path

if TYPE_CHECKING:
    from gpulab.simt.codegen.memory_access import AccessSite
    from gpulab.simt.instrument.racecheck.hazards import AccessRecord, Hazard
    from gpulab.simt.instrument.racecheck.racecheck_recorder import RacecheckRecorder

__all__ = ["HazardMessages"]


class HazardMessages:
    """Converter of hazards to findings.

    Parameters
    ----------
    recorder : RacecheckRecorder
        The recorder of the launch.
    arguments : mapping
        The kernel's arguments by parameter name.
    grid, block : Index3
        Shape of the launch.
    faults : sequence of Finding
        Faults of the launch, of which a hazard can be a consequence.
    """

    def __init__(
        self,
        recorder: RacecheckRecorder,
        arguments: Mapping[str, Any],
        grid: Index3,
        block: Index3,
        faults: Sequence[Finding] = (),
    ) -> None:
        self.arguments, self.grid, self.block, self.faults = arguments, grid, block, faults
        self.sites: Sequence[AccessSite] = recorder.native.sites
        self.metadata: Mapping[str, Any] = recorder.native.metadata

    # -- places ---------------------------------------------------------------------------------

    def lines(self, hazard: Hazard) -> list[int]:
        """Return the source lines of the two accesses, that of the later access first."""
        records = [hazard.now, hazard.before] if hazard.before else [hazard.now]
        return [self.sites[record.site].line for record in records]

    def array(self, hazard: Hazard) -> str:
        """Return the name of the array, or an empty string if it is not known."""
        return self._locate(hazard)[0]

    def _locate(self, hazard: Hazard) -> tuple[str, int]:
        """Return the name of the array and the offset in it in bytes."""
        if hazard.shared:
            shared: Mapping[str, int] = self.metadata["shared"]
            start, symbol = max(
                ((at, name) for name, at in shared.items() if at <= hazard.address), default=(0, "")
            )
            return variable_name(symbol) or "shared memory", hazard.address - start
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
        array = self.arguments.get(name)
        size = array.dtype.itemsize if array is not None and not hazard.shared else 0
        size = size or self.sites[hazard.now.site].size
        index, rest = divmod(offset, size)
        return f"{name}[{index}]" + (f" (byte {rest})" if rest else "")

    def thread(self, record: AccessRecord) -> str:
        if record.thread is None or record.block is None:
            return "another thread"
        thread, block = unravel(record.thread, self.block), unravel(record.block, self.grid)
        return f"thread {index_text(thread)} of block {index_text(block)}"

    # -- findings -------------------------------------------------------------------------------

    def finding(self, hazards: Sequence[Hazard]) -> Finding:
        """Return the finding for hazards of one cause: the first hazard, and the lines of the others."""
        first = hazards[0]
        assert first.now.block is not None
        assert first.now.thread is not None
        site = self.sites[first.now.site]
        other_lines = sorted({n for h in hazards for n in self.lines(h)} - set(self.lines(first)))

        text = self.uninitialized(first) if first.before is None else self.race(first, first.before)
        if other_lines:
            numbers = ", ".join(map(str, other_lines))
            text += f" Also affected: line{'s' * (len(other_lines) > 1)} {numbers}."
        invalid = next((f for f in self.faults if f.kind.startswith(("out_of_bounds", "misaligned"))), None)
        if invalid is not None:
            text += f" The invalid access in line {invalid.line} may be the cause: correct it first."

        return Finding(
            "initcheck" if first.before is None else "racecheck",
            first.kind,
            site.line,
            unravel(first.now.block, self.grid),
            unravel(first.now.thread, self.block),
            text,
            sum(hazard.count for hazard in hazards),
        )

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
        exited = next((fault for fault in self.faults if fault.kind == "exited_threads"), None)
        if exited is not None:
            text += (
                f" Some threads returned before the __syncthreads() in line {exited.line}: if they have to "
                "write elements, let them reach the barrier and skip only the rest of their work."
            )
        return text

    def race(self, hazard: Hazard, before: AccessRecord) -> str:
        """Return the message for two accesses that race."""
        site, other = self.sites[hazard.now.site], self.sites[before.site]
        return (
            f"{self.thread(hazard.now)} {site.action} {self.element(hazard)}, which {self.thread(before)} "
            f"{other.action} in line {other.line}, without synchronization between the two accesses. "
            f"{self.correction(hazard, before)}"
        )

    def correction(self, hazard: Hazard, before: AccessRecord) -> str:
        """Return a sentence that says how to correct a race."""
        now = hazard.now
        site, other = self.sites[now.site], self.sites[before.site]
        if {"cp"} & {site.opcode, other.opcode}:
            return (
                "An asynchronous copy needs a wait (such as cp.async.wait_group or cuda::pipeline's "
                "consumer_wait) and then a __syncthreads() before other threads use its data."
            )
        if any({now.site, before.site} <= set(pair) for pair in self.metadata["updates"]):
            lock = " or a lock that is released after a __threadfence()" if self.metadata["spins"] else ""
            return (
                f"Line {site.line} reads the element and writes it back, so updates by other threads can be "
                f"lost. If several threads update it, use an atomic operation such as atomicAdd(){lock}."
            )
        both_write = hazard.kind == "write_after_write" and "updates" not in (site.action, other.action)
        if both_write and site.line == other.line:
            return (
                "Both threads write this element in the same line with different values: check the index and "
                "the array dimensions, or let only one of them write."
            )
        if before.block is not None and before.block != now.block:
            return (
                "Blocks run in any order, and __syncthreads() does not synchronize them. Use an atomic "
                "operation, a second kernel launch, or a flag together with __threadfence()."
            )
        same_warp = before.thread is not None and before.thread // 32 == (now.thread or 0) // 32
        barrier = self.barrier(site, other, same_warp)
        if both_write:
            return (
                f"Check the index if only one of the threads should write the element. Otherwise, {barrier}"
            )
        if {site.action, other.action} == {"reads", "updates"}:
            return (
                "If each thread needs its own value, use the one that the atomic operation returns. "
                f"Otherwise, {barrier}"
            )
        if same_warp:
            return f"The lanes of a warp do not run in lockstep: {barrier}"
        return barrier[0].upper() + barrier[1:]

    def barrier(self, site: AccessSite, other: AccessSite, same_warp: bool) -> str:
        """Return a clause that says where a barrier is missing."""
        barrier = "a __syncthreads()"
        if same_warp:
            barrier = "a __syncwarp(), or a __syncthreads() if other warps take part,"
        if self.metadata["spins"]:
            return (
                f"separate the accesses by {barrier} or by a volatile or atomic flag together with "
                "__threadfence_block()."
            )

        first, second = sorted((site, other), key=lambda s: s.line)
        if self.metadata["blocks"] is not None and min(first.block, second.block) >= 0:
            if first.line < second.line and self._is_open(first, second, same_warp):
                return f"add {barrier} between line {first.line} and line {second.line}."
            if first.line < second.line and self._is_open(second, first, same_warp):
                return (
                    f"add {barrier} after line {second.line}, because line {first.line} can follow without a "
                    "barrier, as in the next iteration of a loop."
                )
            reader, writer = (site, other) if site.action == "reads" else (other, site)
            if first.line == second.line and self._is_open(writer, reader, same_warp):
                return f"add {barrier} after this line, because it is executed again without a barrier."
        return f"separate the two accesses by {barrier.removesuffix(',')}."

    def _is_open(self, start: AccessSite, end: AccessSite, same_warp: bool) -> bool:
        return has_unsynchronized_path(
            self.metadata["blocks"],
            (start.block, start.index),
            (end.block, end.index),
            same_warp=same_warp,
        )
