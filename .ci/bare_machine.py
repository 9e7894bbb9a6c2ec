#!/usr/bin/env python3
"""Run the first commands of README on a bare Debian, in states of machines that grade; print a table.

    sudo .ci/bare_machine.py                 # make demo as root and as a user, in every state
    sudo .ci/bare_machine.py --lab --test    # also make lab and make test, where namespaces are allowed

The Debian system is made with debootstrap in --root (default: a folder that is removed at the end) and has
python3, python3-venv and make. It gets clones of this repository's last commit.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = "python3,python3-venv,make,ca-certificates"
USER = 1000
CLONES = {"root": "srv/gpulab", "user": "home/student/gpulab"}
# The capabilities of Docker's containers.
DOCKER = (
    "chown dac_override fsetid fowner mknod net_raw setgid setuid setfcap setpcap net_bind_service "
    "sys_chroot kill audit_write"
)
# The masked files of Docker's containers. One is enough for the kernel to refuse another /proc.
MASKED = ("keys", "timer_list", "kcore", "interrupts")

# Starts a command with a filter of system calls. The first argument: `namespaces` refuses what Docker's
# filter refuses to processes without CAP_SYS_ADMIN; `all` refuses Landlock, too, as Docker before version 23.
FILTER = """
import ctypes, os, struct, sys
refused = [155, 165, 166, 248, 249, 250, 272, 308] + [444, 445, 446] * (sys.argv[1] == "all")
program = [(0x20, 0, 0, 0), (0x15, 0, 1, 435), (6, 0, 0, 0x50026)]  # clone3: ENOSYS
for number in refused: program += [(0x15, 0, 1, number), (6, 0, 0, 0x50001)]
program += [(0x15, 0, 3, 56), (0x20, 0, 0, 16), (0x45, 0, 1, 0x7e020000), (6, 0, 0, 0x50001)]  # clone
program += [(6, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("=HBBI", *i) for i in program)
text = ctypes.create_string_buffer(code, len(code))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, ctypes.c_ulong(2), struct.pack("@HP", len(program), ctypes.addressof(text))) == 0
os.execvp(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class State:
    """A state of a machine."""

    name: str
    refused: str = ""  # the first argument of FILTER
    masked: bool = False  # some files of /proc are covered
    capabilities: str = ""  # root has these; all if empty
    users: tuple[str, ...] = ("root", "user")
    refuses: bool = False  # no sandbox is possible: the command must name a cure


STATES = (
    State("namespaces allowed"),
    State("namespaces forbidden", refused="namespaces"),
    State("masked /proc", masked=True),
    State("Docker", refused="namespaces", masked=True, capabilities=DOCKER),
    State("Docker with seccomp=unconfined", masked=True, capabilities=DOCKER, users=("root",)),
    State("no namespaces, no Landlock", refused="all", capabilities=DOCKER, refuses=True),
)


def main() -> int:
    """Print a row for each command; return 1 if one did not do what it should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--root", type=Path, help="folder of the Debian system; one that is there is used again"
    )
    parser.add_argument(
        "--mirror", default=first_mirror(), help="Debian mirror (default: that of this machine)"
    )
    parser.add_argument("--lab", action="store_true", help="also run make lab")
    parser.add_argument("--test", action="store_true", help="also run make test")
    parser.add_argument("--users", nargs="+", choices=list(CLONES), default=list(CLONES))
    options = parser.parse_args()
    if os.geteuid() != 0 or platform.machine() != "x86_64":
        parser.error("needs root, on x86-64")

    with tempfile.TemporaryDirectory(prefix="gpulab-bare-") as scratch:
        root = options.root or Path(scratch, "debian")
        make_system(root, options.mirror)
        failed = False
        for state in STATES:
            for user in (name for name in options.users if name in state.users):
                failed |= not try_state(root, state, user)
        for user in options.users:
            for name, wanted in (("lab", options.lab), ("test", options.test)):
                if wanted:
                    command = "python3 .ci/open_lab.py" if name == "lab" else "make test"
                    failed |= not report(
                        f"make {name}", user, "", run(root, STATES[0], user, command), refuses=False
                    )
    return int(failed)


def first_mirror() -> str:
    """Return the address of this machine's first package source."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return (listed.stdout.splitlines() or [""])[0]


def make_system(root: Path, mirror: str) -> None:
    """Make the Debian system, with clones of the repository that root and a user own."""
    if not (root / "usr/bin/make").exists():
        if shutil.which("debootstrap") is None:
            sys.exit("debootstrap is not installed (Debian: apt install debootstrap)")
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root), mirror]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for name in (
        "pip.conf",
        "xdg/pip",
        "ssl/certs/ca-certificates.crt",
        "resolv.conf",
        "hosts",
    ):  # how this machine reaches packages
        source, target = Path("/etc", name), root / "etc" / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True, ignore_dangling_symlinks=True)
        elif source.exists():
            shutil.copyfile(source, target)
    for user, folder in CLONES.items():
        clone = root / folder
        if clone.exists():
            shutil.rmtree(clone)
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(REPOSITORY), str(clone)], check=True)
        if user == "user":
            subprocess.run(["chown", "-R", f"{USER}:{USER}", str(clone.parent)], check=True)


def try_state(root: Path, state: State, user: str) -> bool:
    """Run `make demo`, and print which sandbox `gpulab doctor` reports."""
    result = run(root, state, user, "make demo")
    doctor = run(root, state, user, ".venv/bin/gpulab doctor")[1]
    sandbox = next((line for line in doctor.splitlines() if "Sandbox" in line), "no line about a sandbox")
    return report(state.name, user, sandbox, result, refuses=state.refuses)


def report(name: str, user: str, sandbox: str, result: tuple[int, str, float], *, refuses: bool) -> bool:
    """Print a row of the table; return True if the command did what it should."""
    code, text, seconds = result
    last = (text.strip().splitlines() or [""])[-1]
    good = (code != 0 and "seccomp=unconfined" in text and "Traceback" not in text) if refuses else code == 0
    outcome = "ok " if good else "BAD"
    print(f"{outcome} | {name} | {user} | {' '.join(sandbox.split())} | exit {code}, {seconds:.0f} s")
    if not good or refuses:
        print(f"      {text.strip()[-3000:] if not good else last}")
    sys.stdout.flush()
    return good


def run(root: Path, state: State, user: str, command: str) -> tuple[int, str, float]:
    """Run a command of a shell in the clone of a user; return its exit code, output and seconds."""
    masks = "\n".join(
        f"[ ! -e proc/{name} ] || mount --bind dev/null proc/{name}" for name in MASKED if state.masked
    )
    privileges = "--inh-caps=-all"
    if user == "user":
        privileges += f" --reuid {USER} --regid {USER} --clear-groups"
    elif state.capabilities:
        privileges += " --bounding-set=-all," + ",".join(f"+{name}" for name in state.capabilities.split())
    filtered = ["python3", "-c", FILTER, state.refused] if state.refused else []
    home = "/root" if user == "root" else "/home/student"
    kept = {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_"))
    }
    variables = {**kept, "HOME": home, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
    inside = [
        *(
            "setpriv",
            *privileges.split(),
            "env",
            "-i",
            *(f"{name}={value}" for name, value in variables.items()),
        ),
        *filtered,
        *("sh", "-c", f"cd /{CLONES[user]} && {command}"),
    ]
    # A user namespace cannot be made in a chroot, so the system becomes the root of a mount namespace.
    setup = f"""
        mount --make-rprivate /
        mount --bind {root} {root}
        cd {root}
        mount -t proc proc proc
        mount -t tmpfs tmpfs dev
        for device in null:3 zero:5 full:7 random:8 urandom:9; do
            mknod -m 666 "dev/${{device%:*}}" c 1 "${{device#*:}}"
        done
        mknod -m 666 dev/tty c 5 0
        mkdir -m 1777 dev/shm
        ln -s /proc/self/fd dev/fd
        if [ -d /opt ]; then mount --rbind /opt opt; fi
        {masks}
        pivot_root . mnt
        umount -l /mnt
        exec {shlex.join(inside)}
    """
    start = time.monotonic()
    ended = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", setup],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return ended.returncode, ended.stdout, time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())
