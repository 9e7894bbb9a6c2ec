"""`gpulab device-query`: print the properties of a GPU."""

from __future__ import annotations

import argparse
import json

from gpulab.cli.options import add_command, add_device, add_json
from gpulab.views.terminal import say

__all__ = ["add_commands"]


def add_commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of `gpulab device-query`."""
    query = add_command(
        subparsers, "device-query", "print the limits, memory sizes and clocks of a GPU", run_device_query
    )
    add_device(query)
    add_json(query)


def run_device_query(args: argparse.Namespace) -> int:
    from gpulab.devices import open_device
    from gpulab.devices.listing import listing_lines

    properties = open_device(args.device).properties()
    say(json.dumps(properties.as_dict(), indent=2) if args.json else "\n".join(listing_lines(properties)))
    return 0
