"""Why nothing could be done, in one line and exit code 2."""

from __future__ import annotations

import json

from gpulab.views.terminal import say

__all__ = ["refuse"]


def refuse(message: str, *, as_json: bool) -> int:
    """Say in one line why nothing could be done; with --json also as an object on stdout."""
    line = " ".join(message.split())
    if as_json:
        data = {"correct": None, "error": line, "findings": [], "technique": None, "reasons": [line]}
        say(json.dumps(data, indent=2))
    say(f"gpulab: {line}", "red", error=True)
    return 2
