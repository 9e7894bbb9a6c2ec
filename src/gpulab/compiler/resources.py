"""What the assembler says of each kernel: the log of `--ptxas-options=-v`, and the cubin's constant banks."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
    """`Resources` by PTX entry name.

    local_bytes is the stack frame with the frames of called functions. constant_bytes comes from the
    cubin, since ptxas 13 no longer prints `cmem`. Where an entry is reported twice the last one
    counts: the assembler speaks last, so no compiler message that looks like a report can outdo it.
    """
    found: dict[str, Resources] = {}
    entry = about = ""
    frame = spill = 0
    for line in log.splitlines():
        if match := _ENTRY.match(line):
            entry, about, frame, spill = match[1], match[1], 0, 0
        elif match := _PROPERTIES.match(line):
            about = match[1]
        elif (match := _FRAME.match(line)) and about == entry:
            frame, spill = int(match[1]), int(match[2])
        elif (match := _USED.match(line)) and entry:
            sizes = {kind: int(size) for size, kind in _BYTES.findall(match[2])}
            found[entry] = Resources(
                registers=int(match[1]),
                shared_bytes=sizes.get("smem", 0),
                local_bytes=max(frame, sizes.get("lmem", 0), sizes.get("cumulative stack size", 0)),
                constant_bytes=sum(size for kind, size in sizes.items() if kind.startswith("cmem")),
                spill_bytes=spill,
            )
            entry = ""
    banks = constant_bytes(cubin)
    return {name: _with_constants(known, banks.get(name)) for name, known in found.items()}


def _with_constants(known: Resources, size: int | None) -> Resources:
    if size is None:
        return known
    return Resources(known.registers, known.shared_bytes, known.local_bytes, size, known.spill_bytes)


def constant_bytes(cubin: bytes) -> Mapping[str, int]:
    """Bytes of constant memory by kernel: its own banks, and the `__constant__` variables of all.

    Bank 0 holds the launch's own data before the parameters (528 bytes on sm_90).
    """
    kernels: dict[str, int] = {}
    for_all = 0
    for section in sections(cubin):
        if match := _BANK.match(section.name):
            kernels[match[1]] = kernels.get(match[1], 0) + section.size
        elif section.name == ".nv.constant3":
            for_all += section.size
    return {name: size + for_all for name, size in kernels.items()}
