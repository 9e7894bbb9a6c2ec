"""A kernel's text as a compiler of 2008 took it: loops that it did not unroll are not unrolled.

NVRTC of today unrolls loops by four of its own accord, so that four loads are on their way at once. nvcc 2.0,
which the GPUs of compute capability 1.x were programmed with, unrolled only short loops of a known length
(NVIDIA CUDA Programming Guide 2.0, section 4.2.5.2, `#pragma unroll`).
"""

from __future__ import annotations

import re

__all__ = ["without_unrolling"]

SHORT = 16  # rounds of a loop that was unrolled

_LOOP = re.compile(
    r"(?P<before>(?:^|[;{})]|\belse\b|\bdo\b)[ \t]*)(?P<loop>(?:for|while)[ \t]*\((?P<head>[^{}]*?)\))",
    re.MULTILINE,
)
_BOUND = re.compile(r"[<>]=?\s*(?P<bound>\d+|TILE_[XYZ]|BLOCK_[XYZ])\s*;")


def without_unrolling(source: str) -> str:
    """The text with `#pragma unroll 1` before every loop that has no pragma of its own and is not short."""

    def told(match: re.Match[str]) -> str:
        before = source[: match.start("loop")].rstrip()
        last = before.rsplit("\n", 1)[-1].strip()
        bound = _BOUND.search(match["head"])
        short = bound is not None and (not bound["bound"].isdigit() or int(bound["bound"]) <= SHORT)
        if (
            last.startswith("#")
            or (bound is not None and short)
            or (before.endswith("}") and match["loop"].startswith("while"))
        ):
            return match[0]
        return f"{match['before']}\n#pragma unroll 1\n{match['loop']}"

    return _LOOP.sub(told, source)
