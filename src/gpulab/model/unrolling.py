"""CUDA source with the loop unrolling of a compiler of 2008.

NVRTC unrolls loops by four on its own, so that four loads are in flight at once. nvcc 2.0, with which GPUs of
compute capability 1.x were programmed, unrolled only short loops with a known trip count (NVIDIA CUDA
Programming Guide 2.0, section 4.2.5.2, `#pragma unroll`).
"""

from __future__ import annotations

import re

__all__ = ["without_unrolling"]

LONGEST_UNROLLED = 16  # iterations of a loop that nvcc 2.0 unrolled

_LOOP = re.compile(
    r"(?P<before>(?:^|[;{})]|\belse\b|\bdo\b)[ \t]*)(?P<loop>(?:for|while)[ \t]*\((?P<head>[^{}]*?)\))",
    re.MULTILINE,
)
_BOUND = re.compile(r"[<>]=?\s*(?P<bound>\d+|TILE_[XYZ]|BLOCK_[XYZ])\s*;")


def without_unrolling(source: str) -> str:
    """Return the source with `#pragma unroll 1` before every long loop that has no pragma of its own."""

    def with_pragma(match: re.Match[str]) -> str:
        before = source[: match.start("loop")].rstrip()
        has_directive = before.rsplit("\n", 1)[-1].strip().startswith("#")
        ends_do_loop = before.endswith("}") and match["loop"].startswith("while")
        bound = _BOUND.search(match["head"])
        is_short = bound is not None and (
            not bound["bound"].isdigit() or int(bound["bound"]) <= LONGEST_UNROLLED
        )
        if has_directive or is_short or ends_do_loop:
            return match[0]
        return f"{match['before']}\n#pragma unroll 1\n{match['loop']}"

    return _LOOP.sub(with_pragma, source)
