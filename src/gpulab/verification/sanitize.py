"""`gpulab.sanitize`: one launch on the simulator under memcheck, racecheck, initcheck and synccheck.

memcheck and synccheck stop the launch at the first fault; racecheck, initcheck and warnings do not.
Hazards with one cause, such as a missing barrier, occur at several pairs of lines. They are one finding,
with a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from gpulab.devices.argument_copies import copy_arguments, copy_back, simulated_variables
from gpulab.devices.base import Dim3, Kernel, require_kernel
from gpulab.devices.launch_limits import dim3
from gpulab.devices.textures import DeviceTexture
from gpulab.errors import LaunchError
from gpulab.finding import Finding, Findings
from gpulab.verification.hazard_messages import HazardMessages
from gpulab.verification.local_reads import unwritten_local_reads

if TYPE_CHECKING:
    from gpulab.devices.base import RecordableKernel
    from gpulab.simt.instrument.racecheck.hazards import Hazard
    from gpulab.simt.instrument.recorder import Recorder
    from gpulab.simt.runtime.allocation import Allocation, Memory

OTHER_POISON = 0x3F  # value of unwritten bytes in a second launch: 0.747 as a float, a huge index as an int

__all__ = ["sanitize"]


def sanitize(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int = 0,
    *,
    budget: int | None = None,
) -> Findings:
    """Launch a kernel once on the simulator and check every access and every barrier.

    The launch has its usual effect: the arrays hold its results afterwards. For a kernel of a CUDA GPU, the
    simulator works on copies of the arrays and of the module's variables, and the results are copied back.

    Parameters
    ----------
    kernel : Kernel
        A kernel of any device.
    grid, block : int or tuple of int
        Number of blocks, and threads of a block, on up to three axes.
    args : sequence
        Arguments in the order of the parameters: arrays of the kernel's device, and numbers.
    shared_mem : int, optional
        Bytes of dynamic shared memory.
    budget : int, optional
        Number of instructions that a warp may execute before it counts as endless; all warps together may
        execute eight times as many. The defaults are the limits of the simulator; larger values have no
        effect. They are compared after every 65,536 instructions of a warp, and after every block.

    Returns
    -------
    Findings
        A list with one finding for each cause; faults first, then hazards in the order in which they were
        found. An empty list means that no error was found in this launch.

    Raises
    ------
    LaunchError
        The launch configuration is not possible.
    UnsupportedInstruction
        The simulator cannot execute an instruction of the kernel.

    Notes
    -----
    An array is uninitialized if it was allocated by `dev.empty` and no launch has written it. A launch
    outside `sanitize` counts as writing all arrays.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> kernel = dev.compile('extern "C" __global__ void k(float* x) { x[threadIdx.x + 1] = 0; }')
    >>> [finding.kind for finding in gpulab.sanitize(kernel, 1, 32, (dev.zeros(32),))]
    ['out_of_bounds_write']
    """
    require_kernel(kernel)
    device = kernel.device
    simulated = kernel.on_simulator
    launch_args = args if simulated is kernel else copy_arguments(args, device, simulated.device)
    with simulated_variables(kernel, keep=False):
        findings = _find(simulated, grid, block, launch_args, shared_mem, budget)
    copy_back(launch_args, args, simulated.device, device)
    return Findings(findings, kernel.program.source)


def _find(
    kernel: RecordableKernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_mem: int,
    budget: int | None,
) -> list[Finding]:
    from gpulab.simt.instrument.racecheck.racecheck_recorder import RacecheckRecorder

    grid3, block3 = dim3(grid, "grid"), dim3(block, "block")
    memory = kernel.device.memory
    values: list[Any] = [a.storage if isinstance(a, DeviceTexture) else a for a in args]
    arrays = [value.whole.allocation for value in values if hasattr(value, "allocation")]
    snapshot = _Snapshot(memory, [*arrays, *kernel.module.allocations.values()])

    def record(recorder: RacecheckRecorder) -> tuple[list[Finding], list[Finding]]:
        """Return the faults and the warnings of a launch."""
        try:
            kernel.record(recorder, grid, block, args, shared_mem, budget=budget)
        except LaunchError as error:
            if not error.findings:
                raise
            return list(error.findings), []
        return [], list(kernel.warned)

    recorder = RacecheckRecorder(memory, prod(grid3))
    faults, warnings = record(recorder)
    if recorder.wrote_read_only:
        snapshot.restore()
        recorder = RacecheckRecorder(memory, prod(grid3), record_all=True)
        faults, warnings = record(recorder)

    messages = HazardMessages(kernel, recorder, kernel.named_arrays(args), grid3, block3)
    hazards = recorder.hazards()
    recorder.finish()

    def repeat(recorder: Recorder) -> bool:
        """Repeat the launch with other values in unwritten elements. Return True if the results differ."""
        return snapshot.differs(lambda: kernel.record(recorder, grid, block, args, shared_mem, budget=budget))

    if (
        any(hazard.before is None for hazard in hazards)
        and not faults
        and not repeat(RacecheckRecorder(memory, prod(grid3), OTHER_POISON, values_only=True))
    ):
        hazards = [hazard for hazard in hazards if hazard.before is not None]
    if any(fault.space == "shared" or fault.kind == "divergent_barrier" for fault in faults):
        # An index outside an array in shared memory can also reach another element of it. Warps at different
        # barriers are in different rounds of a loop.
        hazards = [hazard for hazard in hazards if not hazard.shared]
    findings = [messages.finding(group) for group in _group_by_cause(hazards, messages)]

    # After a fault or another uninitialized read, results differ for that reason. Local memory that no thread
    # writes is not read, because the compiler replaces such reads.
    initialized = not faults and all(hazard.before is not None for hazard in hazards)
    if initialized and recorder.wrote_local:
        findings += unwritten_local_reads(kernel, repeat, OTHER_POISON, grid3, block3)
    return faults + warnings + findings


class _Snapshot:
    """The arrays before a launch, so that it can be repeated with other values in unwritten elements.

    Threads may read an uninitialized value and discard it, for example outside the problem. The read is an
    error only if it changes the results of the kernel.
    """

    def __init__(self, memory: Memory, arrays: Sequence[Allocation]) -> None:
        self.memory = memory
        self.saved = {a.address: (a.host, a.host.copy(), memory.unwritten_bytes(a.address)) for a in arrays}

    def restore(self) -> None:
        """Give the arrays the values that they had before the launch."""
        for host, before, _ in self.saved.values():
            host[:] = before

    def differs(self, launch: Callable[[], object]) -> bool:
        """Return True if the repeated launch gives other results than the current ones, which are kept."""
        now = {address: host.copy() for address, (host, _, _) in self.saved.items()}
        for host, before, unwritten in self.saved.values():
            host[:] = before
            if unwritten is not None:
                host[unwritten] = OTHER_POISON
        try:
            launch()
            for address, (host, _, _) in self.saved.items():
                unwritten = self.memory.unwritten_bytes(address)
                same = host == now[address]
                if not (same if unwritten is None else same | unwritten).all():
                    return True
            return False
        except LaunchError:
            return True
        finally:
            for address, (host, _, _) in self.saved.items():
                host[:] = now[address]


def _group_by_cause(hazards: Iterable[Hazard], messages: HazardMessages) -> list[list[Hazard]]:
    """Group the hazards of one array that share a line.

    If threads race for an element, one that is too early reads an element that has not been written yet. That
    is reported as the race only.
    """
    groups: list[tuple[str, str, set[int], list[Hazard]]] = []
    for hazard in hazards:
        tool = "initcheck" if hazard.before is None else "racecheck"
        array, lines = messages.array(hazard), set(messages.lines(hazard))
        related = [g for g in groups if g[:2] == (tool, array) and g[2] & lines]
        merged = (tool, array, lines, [hazard])
        for group in related:
            merged = (tool, array, merged[2] | group[2], group[3] + merged[3])
            groups.remove(group)
        groups.append(merged)

    races = [
        (array, lines)
        for tool, array, lines, members in groups
        if tool == "racecheck" and not all(map(messages.is_guess, members))
    ]
    return [
        members
        for tool, array, lines, members in groups
        if tool == "racecheck" or not any(array == a and lines & raced for a, raced in races)
    ]
