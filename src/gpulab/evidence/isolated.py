"""A cell checked in a process of its own: on a GPU an endless kernel can only be ended with its process."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from gpulab.cell import Cell
from gpulab.evidence.outcome import Outcome, outcome_of
from gpulab.problems import Shape

__all__ = ["outcome_in_process"]

TIME_LIMIT_S = 60.0


def outcome_in_process(
    cell: Cell,
    device: str | None,
    device_name: str,
    shapes: Sequence[Shape] | None = None,
    *,
    time_at: Shape | None = None,
    timed: bool = False,
    limit_s: float = TIME_LIMIT_S,
) -> Outcome:
    """`outcome_of` in a new process, which is ended after `limit_s` seconds.

    device: as `open_device` takes it. device_name: for the outcome of a process that says nothing.
    """
    context = multiprocessing.get_context("spawn")  # a forked process cannot use CUDA
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_work, args=(sender, cell, device, shapes, time_at, timed), name="gpulab check", daemon=True
    )
    process.start()
    sender.close()
    try:
        if not receiver.poll(limit_s):
            stopped = (
                f"the kernel did not end within {limit_s:g} seconds and was stopped; does every loop end?"
            )
            return Outcome(cell, device_name, stopped=stopped)
        received = receiver.recv()
    except EOFError:
        process.join(5)
        stopped = f"the process that ran the kernel died (exit code {process.exitcode})"
        return Outcome(cell, device_name, stopped=stopped)
    finally:
        if process.is_alive():
            process.join(0.5)
        with contextlib.suppress(ValueError):
            process.kill()
            process.join(5)
        receiver.close()
    if isinstance(received, Outcome):
        return received
    raise RuntimeError(f"the check failed in its process: {received}")


def _work(
    sender: Connection[Any, Any],
    cell: Cell,
    device: str | None,
    shapes: Sequence[Shape] | None,
    time_at: Shape | None,
    timed: bool,
) -> None:
    """What the new process does."""
    from gpulab.devices import open_device

    try:
        outcome: Outcome | str = outcome_of(cell, open_device(device), shapes, time_at=time_at, timed=timed)
    except Exception as error:  # noqa: BLE001  (it is told to the process that waits)
        outcome = f"{type(error).__name__}: {error}"
    sender.send(outcome)
    sender.close()
