"""The command line. One module per command; exit code 0 means success, 1 a wrong kernel, 2 a usage error."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import gpulab
from gpulab.cli.output import print_usage_error
from gpulab.errors import GpulabError

__all__ = ["main"]

# Each module has `add_commands(subparsers)`. It adds the parsers of its commands and sets `run` on each:
# a function that takes the parsed arguments and returns the exit code.
_COMMANDS = (
    "gpulab.cli.start",
    "gpulab.cli.doctor",
    "gpulab.cli.device_query",
    "gpulab.cli.check",
    "gpulab.cli.run",
    "gpulab.cli.sweep",
    "gpulab.cli.counters",
    "gpulab.cli.extract",
    "gpulab.cli.lint",
    "gpulab.cli.grade",
    "gpulab.cli.report",
)
_DESCRIPTION = "Compile, run, check, profile and grade CUDA C kernels, with or without a GPU."
_EPILOG = (
    "`gpulab COMMAND --help` describes a command. Exit codes: 0 success, 1 a kernel or a submission failed, "
    "2 the command could not be carried out as given."
)


class CommandParser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
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
    except SystemExit as stop:  # argparse exits with 0 after --help and with 2 after a wrong option
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:
        return 130  # as a shell reports SIGINT
    except BrokenPipeError:  # the reader of a pipe has closed it, as in `gpulab … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except GpulabError as error:
        return print_usage_error(str(error), as_json=as_json)
    except MemoryError:
        return print_usage_error("not enough memory; choose a smaller --size.", as_json=as_json)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of `gpulab` with the parsers of all commands."""
    parser = CommandParser(prog="gpulab", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"gpulab {gpulab.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=CommandParser)
    for module in _COMMANDS:
        importlib.import_module(module).add_commands(commands)
    return parser
