"""Exchange of values between the lanes of a warp and between the threads at a barrier."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpulab.simt.ptx.syntax import Instruction, Operand, Vec
from tests.fuzz.instructions import NotInterpreted, Unspecified

if TYPE_CHECKING:
    from tests.fuzz.interpreter import WaitRequest

__all__ = ["collective_operands", "complete_barrier", "complete_collective"]

Receiver = Callable[[list[int]], None]
Typed = list[tuple[Operand, str]]


def collective_operands(item: Instruction) -> tuple[Typed, Typed, int]:
    """Return an instruction's typed targets, its typed sources and the position of its lane mask."""
    target = item.operands[0]
    if item.op == "shfl":
        targets = target.parts if isinstance(target, Vec) else (target,)
        types = ("b32", "pred")
        sources = [(o, "u32") for o in item.operands[1:4]]
        return list(zip(targets, types, strict=False)), sources, 4
    if item.op == "vote":
        if len(item.operands) < 3:
            raise NotInterpreted(item.text)
        return [(target, "b32" if "ballot" in item.parts else "pred")], [(item.operands[1], "pred")], 2
    if item.op == "match":
        targets = target.parts if isinstance(target, Vec) else (target,)
        width = item.parts[-1]
        return list(zip(targets, ("b32", "pred"), strict=False)), [(item.operands[1], width)], 2
    if item.op == "redux":
        if item.parts[-1] not in ("u32", "s32", "b32"):
            raise NotInterpreted(item.text)
        return [(target, "b32")], [(item.operands[1], item.parts[-1])], 2
    return [], [], 0  # bar.warp.sync


def complete_collective(
    item: Instruction, first: int, values: dict[int, list[int]], receivers: dict[int, Receiver]
) -> None:
    """Execute a warp-level instruction once all lanes of its mask have reached it.

    `first` is the number of the warp's first thread; `values` and `receivers` are indexed by thread.
    """
    if item.op == "shfl":
        for number, (_, amount, control) in values.items():
            source, good = _source_lane(item, number - first, amount, control)
            if first + source not in values:
                raise Unspecified("a shuffle from a lane that does not take part")
            receivers[number]([values[first + source][0], int(good)])
    elif item.op == "vote":
        flags = {n: v[0] for n, v in values.items()}
        if "ballot" in item.parts:
            found = sum(flag << n - first for n, flag in flags.items())
        elif "any" in item.parts:
            found = int(any(flags.values()))
        elif "all" in item.parts:
            found = int(all(flags.values()))
        else:
            found = int(len(set(flags.values())) == 1)
        for deliver in receivers.values():
            deliver([found])
    elif item.op == "match":
        for number, (own,) in values.items():
            same = sum(1 << n - first for n, (other,) in values.items() if other == own)
            if "all" in item.parts:
                named = sum(1 << n - first for n in values)
                receivers[number]([named if same == named else 0, int(same == named)])
            else:
                receivers[number]([same])
    elif item.op == "redux":
        found = _reduced(next(p for p in item.parts[1:] if p != "sync"), [v[0] for v in values.values()])
        for deliver in receivers.values():
            deliver([found])


def _source_lane(item: Instruction, lane: int, amount: int, control: int) -> tuple[int, bool]:
    """Return the lane that a shuffle reads and whether it is in range (PTX ISA, "shfl.sync")."""
    clamp, segment = control & 31, control >> 8 & 31
    amount &= 31
    most = lane & segment | clamp & ~segment
    if "up" in item.parts:
        target = lane - amount
        good = target >= most
    elif "down" in item.parts:
        target = lane + amount
        good = target <= most
    elif "bfly" in item.parts:
        target = lane ^ amount
        good = target <= most
    else:
        target = lane & segment | amount & ~segment
        good = target <= most
    return (target if good else lane), good


def _reduced(name: str, values: list[int]) -> int:
    found = values[0]
    for value in values[1:]:
        found = {
            "add": found + value, "min": min(found, value), "max": max(found, value), "and": found & value,
            "or": found | value, "xor": found ^ value,
        }[name]  # fmt: skip
    return found


def complete_barrier(waits: list[WaitRequest]) -> None:
    """Execute a block-level reduction once all threads that have not exited wait at one barrier."""
    item = waits[0].item
    if "red" not in item.parts:
        return
    flags = [wait.values[0] for wait in waits]
    found = sum(flags) if "popc" in item.parts else int(any(flags) if "or" in item.parts else all(flags))
    for wait in waits:
        wait.deliver([found])
