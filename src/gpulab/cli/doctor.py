"""`gpulab doctor`: what is here, what is not, and what to do about it."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from gpulab.cli.options import add_json
from gpulab.views.terminal import Bar, say

__all__ = ["add_commands"]

# What must be found for kernels to be compiled and run; the rest is for notebooks and grading.
NEEDED = frozenset({"Python", "NVRTC", "Device"})


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `doctor`."""
    doctor = subparsers.add_parser("doctor", help="what is here, what is not, and what to do about it")
    add_json(doctor)
    doctor.set_defaults(run=run_doctor)


def run_doctor(args: argparse.Namespace) -> int:
    """Exit code 1 when kernels cannot be compiled and run here."""
    from gpulab.doctor import diagnose

    with Bar("looking"):
        items = diagnose()
    works = all(item.ok for item in items if item.name in NEEDED)
    if args.json:
        say(json.dumps({"works": works, "items": [asdict(item) for item in items]}, indent=2))
        return 0 if works else 1
    for item in items:
        say(f"{'ok' if item.ok else '--'}  {item.name:<10}{item.detail}", "green" if item.ok else "yellow")
        if item.remedy:
            say(f"{'':14}what to do: {item.remedy}")
    if works:
        say("Kernels can be compiled and run here.", "bold green")
    else:
        say("Kernels cannot be compiled and run here yet.", "bold red")
    return 0 if works else 1
