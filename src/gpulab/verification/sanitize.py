"""What a kernel does that it must not do, found by running it once under watch, as compute-sanitizer does.

`memcheck` and `synccheck` stop the launch at the first fault; `racecheck` and `initcheck` go on to its
end. Hazards that have one cause, a barrier that is missing for instance, show at several pairs of lines:
they are one finding, with a count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from gpulab.devices.argument_copies import copy_arguments, copy_back
from gpulab.devices.base import Dim3, Kernel
from gpulab.devices.launch_limits import dim3
from gpulab.errors import LaunchError
from gpulab.finding import Finding, Index3, index_text, unravel

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.instrument.racecheck.racecheck_recorder import AccessRecord, Hazard, RacecheckRecorder
    from gpulab.simt.runtime.allocation import Allocation, Memory

OTHER_POISON = 0x3F  # a float of it is 0.747, an index of it far outside

__all__ = ["sanitize"]


def sanitize(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    budget: int | None = None,
) -> list[Finding]:
    """Launch a kernel once on the simulator, watching every access; what was found, first things first.

    budget: instructions a warp may execute, where that is to be fewer than the simulator gives.

    The kernel runs: the arrays hold its results afterwards. On a CUDA GPU the simulator works on copies,
    and what it computed is copied back. An array is uninitialised where it comes from `dev.empty` and
    no launch has written it; a launch outside `sanitize` counts as writing everything.

    Raises `LaunchError` where the launch itself is impossible, and `UnsupportedInstruction` for what the
    simulator cannot execute.
    """
    device = kernel.device
    twin = kernel.on_simulator
    given = args if twin is kernel else copy_arguments(args, device, twin.device)
    found = _watched(twin, grid, block, given, shared_mem, budget)
    copy_back(given, args, twin.device, device)
    return found


def _watched(
    kernel: RecordableKernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int,
    budget: int | None,
) -> list[Finding]:
    from gpulab.simt.instrument.racecheck.racecheck_recorder import RacecheckRecorder

    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    watch = RacecheckRecorder(kernel.device.memory, prod(grid3))
    arrays = [a.allocation for a in args if hasattr(a, "allocation")]
    before = _State(kernel.device.memory, arrays)
    faults: list[Finding] = []
    try:
        kernel.record(watch, grid, block, args, shared_mem, budget=budget)
    except LaunchError as error:
        if not error.findings:
            raise
        faults = list(error.findings)
    names = [p.name for p in kernel.program.signatures[kernel.name]]
    words = _Words(watch, dict(zip(names, args, strict=False)), grid3, block3)
    hazards = watch.found()
    watch.finish()
    unwritten = [h for h in hazards if h.before is None]
    if unwritten and not faults:
        other = RacecheckRecorder(kernel.device.memory, prod(grid3), OTHER_POISON, deaf=True)
        if not before.differs(lambda: kernel.record(other, grid, block, args, shared_mem, budget=budget)):
            hazards = [h for h in hazards if h.before is not None]
    if hazards:  # whoever reads a wrong value may leave too early: one cause is enough
        faults = [fault for fault in faults if fault.kind != "exited_threads"]
    return faults + [words.finding(group) for group in _causes(hazards, words)]


class _State:
    """What arrays hold before a launch, so that it can be made again with other values in what nothing wrote.

    A value that nobody wrote may be read and thrown away, by threads outside the problem for instance.
    It is a mistake where it changes what the kernel leaves behind.
    """

    def __init__(self, memory: Memory, arrays: Sequence[Allocation]) -> None:
        self.memory = memory
        self.held = {
            a.address: (a.host, a.host.copy(), memory.unwritten_bytes(a.address))
            for a in arrays
            if a.host is not None
        }

    def differs(self, launch: Callable[[], object]) -> bool:
        """Whether the launch, made again, leaves something else than what is there now, which stays."""
        now = {address: host.copy() for address, (host, _, _) in self.held.items()}
        for host, before, unwritten in self.held.values():
            host[:] = before
            if unwritten is not None:
                host[unwritten] = OTHER_POISON
        try:
            launch()
            for address, (host, _, _) in self.held.items():
                still = self.memory.unwritten_bytes(address)
                same = host == now[address]
                if not (same if still is None else same | still).all():
                    return True
            return False
        except LaunchError:
            return True
        finally:
            for address, (host, _, _) in self.held.items():
                host[:] = now[address]


def _causes(hazards: Iterable[Hazard], words: _Words) -> list[list[Hazard]]:
    """Hazards of one array that share a line belong together.

    Where threads race for a cell, the one that comes too early reads what nobody has written yet: that is
    told as the race that it is.
    """
    groups: list[tuple[str, str, set[int], list[Hazard]]] = []
    for hazard in hazards:
        tool = "initcheck" if hazard.before is None else "racecheck"
        array, lines = words.array(hazard), set(words.lines(hazard))
        together = [g for g in groups if g[:2] == (tool, array) and g[2] & lines]
        merged = (tool, array, lines, [hazard])
        for group in together:
            merged = (tool, array, merged[2] | group[2], group[3] + merged[3])
            groups.remove(group)
        groups.append(merged)
    races = [(array, lines) for tool, array, lines, _ in groups if tool == "racecheck"]
    return [
        found
        for tool, array, lines, found in groups
        if tool == "racecheck" or not any(array == a and lines & those for a, those in races)
    ]


class _Words:
    """Puts hazards in the student's words."""

    def __init__(
        self, watch: RacecheckRecorder, arguments: Mapping[str, Any], grid: Index3, block: Index3
    ) -> None:
        self.watch, self.arguments, self.grid, self.block = watch, arguments, grid, block
        self.shared: Mapping[str, int] = watch.native.metadata["shared"]

    def lines(self, hazard: Hazard) -> list[int]:
        """The source lines of the two accesses, the later one first."""
        parties = [hazard.now, hazard.before] if hazard.before else [hazard.now]
        return [self.watch.sites[p.site].line for p in parties]

    def array(self, hazard: Hazard) -> str:
        """The array's name, where it has one."""
        return self._place(hazard)[0]

    def _place(self, hazard: Hazard) -> tuple[str, int]:
        if hazard.shared:
            below = [(at, name) for name, at in self.shared.items() if at <= hazard.address]
            at, symbol = max(below, default=(0, ""))
            return variable_name(symbol) or "shared memory", hazard.address - at
        for name, array in self.arguments.items():
            found = getattr(array, "allocation", None)
            if found is not None and 0 <= hazard.address - found.address < found.size:
                return name, hazard.address - found.address
        return "", hazard.address

    def element(self, hazard: Hazard) -> str:
        """`A0[17]`; an offset in bytes where the element's size is not known."""
        name, offset = self._place(hazard)
        if not name:
            return f"address {hazard.address:#x}"
        array = self.arguments.get(name)
        size = array.dtype.itemsize if array is not None and not hazard.shared else 0
        size = size or self.watch.sites[hazard.now.site].size
        index, rest = divmod(offset, size)
        return f"{name}[{index}]" + (f" (byte {rest})" if rest else "")

    def who(self, party: AccessRecord) -> str:
        if party.thread is None or party.block is None:
            return "another thread"
        thread, block = unravel(party.thread, self.block), unravel(party.block, self.grid)
        return f"thread {index_text(thread)} of block {index_text(block)}"

    def finding(self, hazards: list[Hazard]) -> Finding:
        """One cause: told by what was seen first of it, with the other lines that show it."""
        first = hazards[0]
        now = self.watch.sites[first.now.site]
        block, thread = first.now.block, first.now.thread
        assert block is not None
        assert thread is not None
        element = self.element(first)
        who = self.who(first.now)
        others = sorted({n for h in hazards for n in self.lines(h)} - set(self.lines(first)))
        if first.before is None:
            tool = "initcheck"
            text = f"{who} reads {element}, which nothing has written."
        else:
            tool = "racecheck"
            before = self.watch.sites[first.before.site]
            text = (
                f"{who} {now.action} {element}, which {self.who(first.before)} {before.action} in line "
                f"{before.line}, and nothing orders the two: {self.advice(first)}"
            )
        if others:
            text += f" The same shows in line{'s' * (len(others) > 1)} {', '.join(map(str, others))}."
        return Finding(
            tool,
            first.kind,
            now.line,
            unravel(block, self.grid),
            unravel(thread, self.block),
            text,
            sum(h.count for h in hazards),
        )

    def advice(self, hazard: Hazard) -> str:
        before = hazard.before
        assert before is not None
        if before.block is not None and before.block != hazard.now.block:
            return (
                "blocks run in any order; let another launch, an atomic operation, or a flag with a fence "
                "stand between them."
            )
        now_warp = (hazard.now.thread or 0) // 32
        if before.thread is not None and before.thread // 32 == now_warp:
            if before.site == hazard.now.site:
                return "both write in one instruction, and whose value stays is not defined."
            return (
                "lanes of a warp do not run in step; a __syncwarp() or __syncthreads() has to stand between."
            )
        return "a __syncthreads() has to stand between."


def variable_name(symbol: str) -> str:
    """A shared variable's own name: of `_ZZ6kernelE4tile` it is `tile`."""
    found = re.match(r"_ZZ.*?E(?:\d+_?)?(\d+)([A-Za-z_]\w*)$", symbol)
    if not found:
        return re.sub(r"_\d+$", "", symbol.rsplit("$", maxsplit=1)[-1])
    return found[2][: int(found[1])] if int(found[1]) <= len(found[2]) else found[2]
