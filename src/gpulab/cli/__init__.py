"""`gpulab`: the terminal. Its commands by module, and their exit codes (0 right, 1 wrong, 2 unusable)."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import gpulab
from gpulab.cli.refusal import refuse
from gpulab.errors import GpulabError

__all__ = ["main"]

# A command is a module with `add_commands(subparsers)`, which adds its parsers and sets `run` on each:
# a function that takes the parsed arguments and returns the exit code. A new command is a new line here.
_COMMANDS = (
    "gpulab.cli.doctor",
    "gpulab.cli.device_query",
    "gpulab.cli.check",
    "gpulab.cli.run",
    "gpulab.cli.sweep",
    "gpulab.cli.counters",
)
# Rooms with commands of their own, in the same way; what they need may not be installed.
_ROOMS = ("gpulab.cli.grade",)


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        args = build_parser().parse_args(arguments)
        run = getattr(args, "run", None)
        if run is None:
            build_parser().print_help()
            return 2
        code: int = run(args)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse: --help ends with 0, a wrong option with 2
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:
        return 130  # as a shell reports SIGINT
    except BrokenPipeError:  # `gpulab … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except GpulabError as error:
        return refuse(str(error), as_json=as_json)
    except MemoryError:
        return refuse("there is not enough memory for this; take a smaller --size.", as_json=as_json)


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="gpulab", description="CUDA C labs with or without a GPU.")
    parser.add_argument("--version", action="version", version=f"gpulab {gpulab.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for module in _COMMANDS:
        importlib.import_module(module).add_commands(commands)
    for room in _ROOMS:
        with contextlib.suppress(ModuleNotFoundError):  # `gpulab doctor` says what is missing
            importlib.import_module(room).add_commands(commands)
    return parser
