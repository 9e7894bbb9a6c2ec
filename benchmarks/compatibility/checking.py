"""One launch on the simulator, its values against NumPy's, and the reports of `gpulab.sanitize` on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compatibility.launches import (
    Array,
    Expected,
    Launch,
    New,
    Part,
    Surface,
    declarations,
)
from benchmarks.compatibility.listing import ListedKernel, cell_of
from benchmarks.compatibility.loaded_launch import LoadedLaunch
from gpulab.errors import (
    CompileError,
    GpulabError,
    LaunchError,
    LaunchWarning,
    MemoryFault,
    UnsupportedInstruction,
)

__all__ = ["STATUSES", "Outcome", "check_launch", "checker", "instances_of"]

# In the order in which the worse of two outcomes of a launch, plain and sanitized, is taken.
STATUSES = ("right", "explained", "alarm", "not declared", "refused", "stopped", "fault", "wrong")


@dataclass(frozen=True)
class Outcome:
    """The outcome of one launch.

    Attributes
    ----------
    status : str
        "right": the values are those of NumPy, and the sanitizer reports nothing; "explained": the values are
        right, and the declaration says why the reports are, too; "alarm": the sanitizer reports an error that
        is not explained; "refused": gpulab says that it cannot compile or run the kernel; "not declared": no
        launch is declared; "stopped": the time limit was reached, or the process ended; "fault": the launch
        ended with an error; "wrong": the values differ.
    message : str
        The message, or the largest difference.
    """

    status: str
    message: str = ""


def instances_of(kernel: ListedKernel) -> list[str]:
    """Return the instances that are declared for a kernel; [""] for one launch if it is no template.

    Several launches of one instance are one row with a number.
    """
    names = [launch.instance for launch in declarations[kernel.key].launches(1)]
    return [
        f"{name} #{names[:n].count(name) + 1}" if names.count(name) > 1 else name
        for n, name in enumerate(names)
    ]


def checker(folders: Mapping[str, Path]) -> Callable[[ListedKernel, int, str], Outcome]:
    """Return the function that checks one launch of a kernel, for a worker process."""
    import benchmarks.compatibility.declared  # noqa: F401

    return lambda kernel, number, tier: _check(folders[kernel.suite], kernel, number, tier)


def _check(folder: Path, kernel: ListedKernel, number: int, tier: str) -> Outcome:
    launch = declarations[kernel.key].launches(1)[number]
    try:
        source = cell_of(folder, kernel, launch.setup).source
    except GpulabError as error:
        return Outcome("refused", f"not extracted: {error}")
    return check_launch(source, kernel.name, launch, tier)


def check_launch(source: str, name: str, launch: Launch, tier: str) -> Outcome:
    """Return the outcome of one launch of a kernel of a cell; `tier` is "plain" or "sanitized"."""
    try:
        return _run(source, name, launch, tier)
    except MemoryFault as error:
        return Outcome("fault", _line(error))
    except (CompileError, UnsupportedInstruction) as error:
        return Outcome("refused", _line(error))
    except LaunchError as error:
        return Outcome("fault", _line(error))
    except GpulabError as error:
        return Outcome("refused", _line(error))


def _line(error: Exception) -> str:
    """Return the first line of a message that is not empty, without the source."""
    text = str(error)
    diagnostics = getattr(error, "diagnostics", ())
    if diagnostics:
        text = next(
            (each.message for each in diagnostics if each.severity == "error"), diagnostics[0].message
        )
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def _run(source: str, name: str, launch: Launch, tier: str) -> Outcome:
    from gpulab import sanitize

    loaded = LoadedLaunch(_simulator(), source, name, launch)
    kernel, device = loaded.kernel, loaded.device
    findings: list[Any] = []
    warnings.simplefilter("ignore", LaunchWarning)
    try:
        loaded.prepare()
        if tier == "sanitized":
            findings = sanitize(kernel, launch.grid, launch.block, loaded.args, launch.shared)
        else:
            kernel(launch.grid, launch.block, loaded.args, launch.shared)
    except LaunchError as error:
        if launch.assertion and "assert" in str(error):
            return Outcome("right")
        raise
    alarms = [str(each) for each in findings if each.severity == "error"]
    if launch.assertion:
        return Outcome(
            "right" if any("assert" in each for each in alarms) else "wrong", "no assertion failed"
        )
    if launch.printed is not None and not launch.printed(kernel.printed):
        return Outcome("wrong", f"printed {kernel.printed[:100]!r}")
    differences = [
        f"argument {index + 1}: {difference}"
        for index, (before, after) in enumerate(
            zip((*launch.args, *launch.memory), (*loaded.args, *loaded.memory), strict=True)
        )
        if isinstance(before, np.ndarray | New | Part | Surface)
        and (difference := _difference(before, device.asnumpy(after), launch, index))
    ]
    for variable, expected in launch.expect_variables.items():
        got = device.asnumpy(loaded.module.get_global(variable))
        if difference := _compare(got, expected, launch.rtol):
            differences.append(f"{variable}: {difference}")
    if differences and not (alarms and launch.true_alarms):  # the plain launch has shown the values
        return Outcome("wrong", "; ".join(differences))
    if alarms:
        return Outcome(
            "explained" if launch.true_alarms else "alarm", launch.true_alarms or "; ".join(alarms[:3])
        )
    return Outcome("right")


def _difference(before: Any, after: Array, launch: Launch, index: int) -> str:
    if index in launch.expect:
        return _compare(after, launch.expect[index], launch.rtol)
    if any((*launch.args, *launch.memory)[each] is before for each in launch.expect):
        return ""
    if isinstance(before, Part):
        before = before.array[before.start :]
    if isinstance(before, np.ndarray) and after.tobytes() != before.tobytes():
        return "changed"
    return ""


def _compare(got: Array, expected: Expected, rtol: float) -> str:
    """Return in what the values differ from the expected ones; "" if they do not."""
    if expected is None:
        return ""
    if callable(expected):
        verdict = expected(got)
        return "" if verdict else "not as expected"
    kept = ~np.ma.getmaskarray(np.ma.asarray(expected)).ravel()
    wanted, values = np.ma.getdata(expected).ravel()[kept], got.ravel()[kept]
    if wanted.dtype.kind not in "fc" or values.dtype.kind not in "fc":
        wrong = values != wanted
    else:
        finite = np.isfinite(wanted)
        limit = rtol * np.maximum(np.abs(wanted), np.abs(wanted[finite]).max(initial=0))
        with np.errstate(invalid="ignore"):
            wrong = ~(
                (np.abs(values - wanted) <= limit)
                | (values == wanted)
                | (np.isnan(wanted) & np.isnan(values))
            )
    if not wrong.any():
        return ""
    first = int(np.argmax(wrong))
    return f"{wrong.sum()} of {wrong.size} differ, the first at {first}: {values[first]} for {wanted[first]}"


@cache
def _simulator() -> Any:
    import gpulab

    return gpulab.device("sim")
