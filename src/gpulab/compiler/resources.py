"""Resource usage of kernels, read from the log of `--ptxas-options=-v` and the cubin's constant banks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gpulab.compiler.elf import sections
from gpulab.compiler.program import Resources

__all__ = ["constant_bytes", "parse_report"]

_ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"ptxas info\s*: Function properties for (\S+)")
_FRAME = re.compile(r"(?:ptxas\s*\.)?\s*(\d+) bytes stack frame, (\d+) bytes spill stores")
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers(.*)")
_BYTES = re.compile(r"(\d+)(?:\+\d+)? bytes (smem|cumulative stack size|lmem|cmem\[\d+\])")
_BANK = re.compile(r"\.nv\.constant\d+\.(.+)")


def parse_report(log: str, cubin: bytes = b"") -> dict[str, Resources]:
    """Return the resource usage by PTX entry.

    local_bytes includes the stack frames of called functions. constant_bytes comes from the cubin, because
    ptxas 13 no longer prints `cmem`. If an entry is reported twice, the last report counts: ptxas runs last,
    so that a compiler message that looks like a report has no effect.
    """
    resources: dict[str, Resources] = {}
    entry = function = ""
    frame = spill = 0
    for line in log.splitlines():
        if match := _ENTRY.match(line):
            entry, function, frame, spill = match[1], match[1], 0, 0
        elif match := _PROPERTIES.match(line):
            function = match[1]
        elif (match := _FRAME.match(line)) and function == entry:
            frame, spill = int(match[1]), int(match[2])
        elif (match := _USED.match(line)) and entry:
            sizes = {kind: int(size) for size, kind in _BYTES.findall(match[2])}
            resources[entry] = Resources(
                registers=int(match[1]),
                shared_bytes=sizes.get("smem", 0),
                local_bytes=max(frame, sizes.get("lmem", 0), sizes.get("cumulative stack size", 0)),
                constant_bytes=sum(size for kind, size in sizes.items() if kind.startswith("cmem")),
                spill_bytes=spill,
            )
            entry = ""

    banks = constant_bytes(cubin)
    return {
        entry: replace(usage, constant_bytes=banks[entry]) if entry in banks else usage
        for entry, usage in resources.items()
    }


def constant_bytes(cubin: bytes) -> Mapping[str, int]:
    """Return the bytes of constant memory by kernel: its own banks and all `__constant__` variables.

    Bank 0 starts with launch data of the driver, before the parameters (528 bytes on sm_90).
    """
    kernels: dict[str, int] = {}
    shared_by_all = 0
    for section in sections(cubin):
        if match := _BANK.match(section.name):
            kernels[match[1]] = kernels.get(match[1], 0) + section.size
        elif section.name == ".nv.constant3":
            shared_by_all += section.size
    return {name: size + shared_by_all for name, size in kernels.items()}
