"""`gpulab doctor`: report which parts of gpulab work on this machine."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from gpulab.cli.options import add_command, add_json
from gpulab.views.terminal import Bar, say

__all__ = ["add_commands"]

REQUIRED = frozenset({"Python", "NVRTC", "Simulator", "Device"})  # needed to compile and run kernels
DETAILS = "Exit code 0 if kernels can be compiled and run here, else 1."


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `gpulab doctor`."""
    doctor = add_command(
        subparsers,
        "doctor",
        "report what works on this machine and what to install",
        run_doctor,
        DETAILS,
    )
    add_json(doctor)


def run_doctor(args: argparse.Namespace) -> int:
    """Print the state of each dependency; return 1 if kernels cannot be compiled and run here."""
    from gpulab.doctor import diagnose

    with Bar("examining the installation"):
        items = diagnose()
    works = all(item.ok for item in items if item.name in REQUIRED)

    if args.json:
        say(json.dumps({"works": works, "items": [asdict(item) for item in items]}, indent=2))
        return 0 if works else 1
    for item in items:
        say(f"{'ok' if item.ok else '--'}  {item.name:<10}{item.detail}", "green" if item.ok else "yellow")
        if item.remedy:
            say(f"{'':14}what to do: {item.remedy}")
    if works:
        say("Kernels can be compiled and run on this machine.", "bold green")
    else:
        say("Kernels cannot be compiled and run on this machine yet.", "bold red")
    return 0 if works else 1
